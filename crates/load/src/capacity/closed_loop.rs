//! The closed loop before a search: its throughput is where the search begins, and its standstills count.

use stats::error_budget::{Arrivals, Spending};

use super::budget::BudgetUse;
use crate::outcome::LoadOutcome;

/// What is known of a server from the closed loop before its search.
#[derive(Clone, Debug, PartialEq)]
pub struct StartingLoop {
    /// Operations a second that succeeded in it. 0 where none did.
    pub per_s: f64,
    /// What the standstills of the loop spent of the objective's budget ([`BudgetUse::of_standstills`]); none where that is not known.
    pub standstills: Option<BudgetUse>,
}

impl StartingLoop {
    /// A closed loop of which the throughput is known, operations a second, and nothing else.
    pub fn at(per_s: f64) -> Self {
        Self { per_s, standstills: None }
    }

    /// What its standstills spent of each bound.
    pub(super) fn spendings(&self) -> Vec<Spending> {
        match &self.standstills {
            Some(spent) => spent.spendings(self.per_s, Arrivals::Closed),
            None => Vec::new(),
        }
    }
}

/// No operation succeeded in the closed loop, so that no rate is known to begin with. It has the first error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no capacity to search: in a closed loop no operation succeeded ({0})")]
pub struct NothingSucceeds(String);

impl NothingSucceeds {
    /// Checks a closed loop that had this throughput, operations a second, in the part that counts. None where an operation
    /// succeeded in it.
    pub fn of(closed: &LoadOutcome, throughput_per_s: f64) -> Option<Self> {
        if throughput_per_s > 0.0 {
            return None;
        }
        let errors = closed.total.errors();
        let example = errors.examples.into_values().next();
        let kind = || errors.counts.into_keys().next().map(|kind| kind.to_string());
        // Operations that take longer than the loop end after it.
        let without_error = || "none ended while it ran".to_owned();
        Some(Self(example.or_else(kind).unwrap_or_else(without_error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;
    use crate::record::{ErrorKind, Interval};

    fn reason(total: Interval) -> Option<String> {
        let throughput_per_s = total.succeeded() as f64 / 10.0;
        let closed = LoadOutcome { total, ..example::outcome() };
        NothingSucceeds::of(&closed, throughput_per_s).map(|nothing| nothing.to_string())
    }

    #[test]
    fn a_loop_without_success_has_its_first_error_as_the_reason() {
        let mut refused = Interval::new(1, 0);
        refused.operations[0].errors.add(ErrorKind::UnexpectedReply, 9, "status 503");
        let why = "no capacity to search: in a closed loop no operation succeeded (status 503)";
        assert_eq!(reason(refused).as_deref(), Some(why));
        let mut without_example = Interval::new(1, 0);
        without_example.connections.errors.add(ErrorKind::Timeout, 9, "");
        assert!(reason(without_example).is_some_and(|why| why.ends_with("(timeout)")));
        assert!(reason(Interval::new(1, 0)).is_some_and(|why| why.ends_with("(none ended while it ran)")));
    }

    #[test]
    fn errors_beside_successes_are_no_reason() {
        let mut total = example::outcome().total;
        total.operations[0].errors.add(ErrorKind::Timeout, 9, "no reply within 1s");
        assert_eq!(reason(total), None);
    }
}
