//! One series of values over time: where it becomes steady, how many independent values it is worth, how long a slice of it
//! should be. Values without an order are left to [`sample`](crate::sample).

pub mod allan;
pub mod autocorrelation;
pub mod level;
pub mod mser;
pub mod steady;
