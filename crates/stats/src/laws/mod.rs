//! Laws of a server under load, and fits of measurements to them: arrivals, queues, scalability, elasticity, and the rate at which
//! an error budget is spent. Which of two servers is better is left to [`comparison`](crate::comparison).

pub mod arrivals;
pub mod elasticity;
pub mod error_budget;
pub mod least_squares;
pub mod queueing;
pub mod usl;
