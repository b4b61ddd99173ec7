//! A run: its blocks one after the other, what the first block decides, when it ends, how it is resumed, and what it reports
//! meanwhile. What one block does is left to [`trial`](crate::trial), what the trials say to [`verdict`](crate::verdict).

pub mod another_session;
pub mod changes;
pub mod error;
pub mod execute;
pub mod first_block;
pub mod hosts;
pub mod interrupted;
pub mod lab;
pub mod machine_lab;
pub mod of_plan;
pub mod progress;
pub mod so_far;
pub mod stopping;
