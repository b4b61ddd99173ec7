//! What the curve of [`error_budget`](super) is fitted to, and the saturation that it has from the closed loop.

/// What was spent of a budget at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spending {
    /// Natural logarithm of the rate.
    pub ln_rate: f64,
    /// What was spent, in the unit of the budget: operations that were late, for example.
    pub spent: f64,
    /// What might have been spent.
    pub budget: f64,
    /// How operations arrived.
    pub arrivals: Arrivals,
}

/// How the operations of a load arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// At their own times, whatever the server does: what falls due in a pause waits, and is caught up with.
    Open,
    /// When another has ended: a pause leaves no queue. What was spent are the standstills, and nothing else.
    Closed,
}

/// The curve of a server that saturates at this rate, operations a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BudgetCurve {
    pub(super) saturation: f64,
}

impl BudgetCurve {
    /// A server whose closed loop has this throughput, operations a second.
    pub fn of_closed_loop(per_s: f64) -> Self {
        Self { saturation: 1.1 * per_s.max(f64::MIN_POSITIVE) }
    }
}
