//! Run directories, their formats, and the index over them.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

pub mod model;
