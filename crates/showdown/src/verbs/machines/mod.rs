//! Verbs about machines: whether they are fit to measure, their facts, their power, their settings, and the far end of a connection to one.

pub mod agent;
pub mod doctor;
pub mod facts;
pub mod hosts;
pub mod power;
pub mod undo;
