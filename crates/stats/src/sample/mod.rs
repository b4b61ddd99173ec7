//! A few values of one thing, without an order: their centre, their scatter, their modes, and intervals of what is computed from
//! them. Values that belong to two sides are left to [`comparison`](crate::comparison).

pub mod bootstrap;
pub mod describe;
pub mod location;
pub mod moderated;
pub mod modes;
pub mod odd_starts;
pub mod one_sided;
pub mod proportion;
pub mod times;
