//! `showdown load` from end to end: real servers, misbehaving servers, and mistakes on the command line.
//!
//! A busy machine can make any measurement invalid, so no test asserts that one is valid. The tests assert what is
//! invalid on every machine; the rules of validity have their own tests in `load`.

mod bad_input;
mod bad_servers;
mod client;
mod escapes;
mod exact;
mod examples;
mod limits;
mod live;
mod mail;
mod misbehaving;
mod output;
mod passwords;
mod populations;
mod scenarios;
mod servers;
mod tls;
mod truth;
mod unix_sockets;
