//! Checks the rules of every codec on random bytes: see "How a codec is written here" in the documentation of the crate.
//! The unit tests beside the code show the meaning of single replies.

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
