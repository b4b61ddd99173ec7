//! What must hold for every codec, on bytes made up at random: see "How a codec is written here" in the
//! crate's guide. What single replies mean is shown by the unit tests beside the code.

mod codecs;
mod harness;
mod http1;
mod memcache;
mod memory;
mod mutation;
mod mysql;
mod postgres;
mod resp;
mod smtp;
