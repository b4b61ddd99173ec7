//! Verbs about machines: whether they are fit to measure, their facts, their power, their settings, what is left on them, and the far end of
//! a connection to one.

pub mod agent;
pub mod clean;
pub mod doctor;
pub mod facts;
pub mod hosts;
pub mod power;
pub mod undo;
