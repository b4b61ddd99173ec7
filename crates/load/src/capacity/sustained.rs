//! What a search for a capacity says in the end: a rate, a bound, or why there is none. How it searches is left to
//! [`levels`](super::levels).

use std::time::Duration;

use super::budget::BudgetUse;
use crate::inputs::slo::Slo;
use crate::outcome::validity::BUSY;

/// A rate at which soaks spend more than this many budgets is not sustained: they would miss the objective.
const SUSTAINED: f64 = 1.0;

/// Loads at a capacity that was found, each without a break.
#[derive(Clone, Debug, PartialEq)]
pub struct Soak {
    /// Operations a second.
    pub rate_per_s: f64,
    /// How long they were together, in the server's own time.
    pub own_time: Duration,
    /// What they spent of the budget.
    pub spent: BudgetUse,
    /// Number of loads, one after the other.
    pub soaks: u32,
}

impl Soak {
    /// Whether they spent the budget at most.
    pub fn is_sustained(&self) -> bool {
        self.spent.burn_rate().is_some_and(|burn| burn <= SUSTAINED)
    }
}

/// What is known of a capacity of which a rate is only a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityBound {
    /// The capacity is at least the rate.
    Lower,
    /// The capacity is lower than the rate.
    Upper,
}

/// What the slices of a server say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SustainedCapacity {
    /// The highest rate that is sustained within the objective, operations a second.
    Found(f64),
    /// The same, but the client could not offer more: the capacity is at least this.
    AtLeast(f64),
    /// The highest rate that was offered, at which the budget was not spent: the capacity is at least this. With few connections, they
    /// are the limit of the closed loop from which the rates follow.
    AllCarried(f64),
    /// No rate that was tried met the objective, or there was none to try.
    NoRateMeets,
    /// Too few slices say something: in the others, the client was the limit.
    Unknown,
}

impl SustainedCapacity {
    /// Why it is not known, or not exactly; none if it is. `client_use` is the mean share of its CPUs that the client used in the
    /// slices in which it was the limit.
    pub fn reason(self, slo: &Slo, client_use: Option<f64>) -> Option<String> {
        let remedy = against_client_limit(client_use);
        match self {
            Self::Found(_) | Self::AllCarried(_) => None,
            Self::AtLeast(_) => Some(format!(
                "the client was the limit of the search: the server's capacity is at least this: {remedy}"
            )),
            Self::NoRateMeets => Some(format!("no rate that was tried meets {slo}: relax the objective")),
            Self::Unknown => Some(format!(
                "the search found no capacity: in most slices the client was the limit: {remedy}"
            )),
        }
    }

    /// The rate that was found, also where the client was the limit.
    pub fn rate_per_s(self) -> Option<f64> {
        match self {
            Self::Found(rate) | Self::AtLeast(rate) | Self::AllCarried(rate) => Some(rate),
            Self::NoRateMeets | Self::Unknown => None,
        }
    }
}

/// What helps a client that was the limit. One with little to do was kept from its CPUs: more of them would not help.
fn against_client_limit(client_use: Option<f64>) -> String {
    match client_use.filter(|share| *share <= BUSY) {
        Some(share) => format!(
            "other programs or the hypervisor kept the client from its CPUs, of which it used {:.0} % itself: stop them, or use a \
             quieter machine",
            share * 100.0
        ),
        None => "give the client more threads and cores".to_owned(),
    }
}
