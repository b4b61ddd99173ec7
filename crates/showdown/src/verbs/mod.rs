//! One file a verb.

pub mod load;
