//! A load balancer whose weights are set while it runs, and what is seen of it.
//!
//! | module | content |
//! |---|---|
//! | [`interface`] | the trait [`Balancer`]: what is asked of a balancer of any make |
//! | [`haproxy`] | HAProxy by its admin socket; what is refused before it is touched |
//! | [`log`] | the lines that a balancer logs, counted by server |
//! | [`watch`] | what has changed since the run looked last: a reload, a restart, somebody else's hand |
//! | [`observer`] | one second of all that, as a [`crate::observation::Window`] |
//! | [`lock`] | one run at a time at a balancer |

pub mod haproxy;
pub mod interface;
pub mod lock;
pub mod log;
pub mod observer;
pub mod watch;

pub use haproxy::client::Haproxy;
pub use interface::{Balancer, BalancerError, NewServer};
