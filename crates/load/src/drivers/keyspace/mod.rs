//! Keys and values of key-value stores: which commands, over which keys, with which values. The bytes that a store's
//! protocol makes of them are its driver's.
//!
//! Keys and values follow from the seed: key number n always has the same bytes, and so has its value. After a populate
//! run, a hit can therefore be compared with the stored value byte by byte, and two stores have the same data.
//!
//! | file | what it holds |
//! |---|---|
//! | [`spec`](KeyspaceSpec) | a mix of commands as plain data |
//! | `registration` | the mix as a workload and the command line describe it |
//! | `exchange` | one worker's keys, and the check of a reply |

mod exchange;
mod registration;
mod spec;

pub(super) use exchange::{COUNTERS, KeyAnswer, KeyExchange, Keyspace, conclude};
pub use registration::KeyspaceSection;
pub use spec::{KeyCommand, KeyspaceSpec, default_prefix};

#[cfg(test)]
pub(super) use exchange::tests::sample;
