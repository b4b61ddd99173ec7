//! What a fleet is asked to carry.

use archive::model::TrialPhase;
use stats::cost::FleetRule;
use stats::quantity::OperationsPerSecond;

/// How a run's objective compares with the one that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectiveMatch {
    /// It is the same.
    Same,
    /// Whoever meets the run's meets the one that is asked for.
    MeasuredIsStricter,
    /// Neither: only the measured curve can say.
    Other,
}

/// An objective on response time. Its parser is elsewhere, so it comes with the two questions that sizing asks.
pub struct Objective<'o> {
    /// As the user wrote it.
    pub text: String,
    /// How it compares with the objective of a run.
    pub compare: &'o dyn Fn(&str) -> ObjectiveMatch,
    /// Whether a phase of a trial met it.
    pub is_met: &'o dyn Fn(&TrialPhase) -> bool,
}

/// A load, its objective, and what the fleet must withstand.
pub struct SizeRequest<'o> {
    /// Operations per second at the peak.
    pub peak: OperationsPerSecond,
    /// The objective.
    pub objective: Objective<'o>,
    /// Headroom as a share, such as 0.3.
    pub headroom: f64,
    /// Spare servers.
    pub spares: u32,
    /// Zones.
    pub zones: u32,
    /// The same as a rule.
    pub rule: FleetRule,
}
