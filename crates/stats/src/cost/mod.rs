//! What performance costs: energy, space, money, carbon and the size of a fleet.
//!
//! Each formula has its source. Quantities have their units in their types ([`crate::cost::quantity`]).
//!
//! | question | function |
//! |---|---|
//! | how much work does a joule do? | [`operations_per_joule`], from CPU time [`operations_per_joule_of_cpu_time`] |
//! | how much work does a rack unit and a watt do? | [`swap`] |
//! | how much energy is a year? | [`energy_a_year`] |
//! | what does a server cost over its life? | [`LifeCost`] |
//! | what does a million operations cost, in money and carbon? | [`LifeCost::of_a_million`], [`carbon_of_a_million`] |
//! | how much faster must a new server be to pay? | [`break_even_ratio`] |
//! | from which load on is a kind of server cheaper? | [`ServerKind::cheaper_from`] |
//! | how much work does a joule do over all levels of load? | [`overall_operations_per_joule`] |
//! | how many servers carry a load? | [`FleetRule`] |
//!
//! Intervals: every figure here is a monotone function of one measured performance, so the bounds of its interval are the
//! figures of the bounds ([`crate::confidence::ConfidenceInterval::through`]). A figure of two independent samples has its interval from
//! [`crate::sample::bootstrap`].

mod crossover;
mod efficiency;
pub mod energy_counter;
mod fleet;
mod ownership;
pub mod quantity;

pub use crossover::ServerKind;
pub use efficiency::{
    DutyCycle, energy_a_year, implied_energy_price, operations_per_joule, operations_per_joule_of_cpu_time,
    overall_operations_per_joule, real_power, swap,
};
pub use fleet::{Fleet, FleetRule, FleetRuleError};
pub use ownership::{LifeCost, break_even_ratio, carbon_of_a_million};
