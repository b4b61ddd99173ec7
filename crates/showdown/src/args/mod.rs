//! Options that several verbs share, and what they are made into. A verb's own options are in its file.

#![deny(clippy::cast_possible_truncation)] // a count of the user's that is cut asks for something else

pub mod clients;
pub mod meters;
pub mod options;
pub mod plan_trust;
