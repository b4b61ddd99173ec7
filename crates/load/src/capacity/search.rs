//! Which rate to try next: bracket, bisect on a logarithmic scale, repeat. Pure, so that tests run it against scripted
//! servers.
//!
//! The search assumes that a rate above one that misses the objective misses it too. Near the limit, measurements
//! sometimes contradict this. So the search tries its best rate a second time; if that misses, the next lower rate that
//! met the objective is the best.
//!
//! A step in which the client was the limit says nothing about the server, so its rate is tried again. A rate at which
//! the client is the limit several times is one that it cannot offer.

/// The outcome of a run at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The objective was met.
    Met,
    /// The objective was missed.
    Missed,
    /// The client was the limit: nothing is known about the server.
    ClientLimited,
}

/// What the search needs next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NextRate {
    /// Try this rate, operations a second.
    Try(f64),
    /// The search is over: the highest rate that met the objective twice, if one did.
    Found(Option<f64>),
}

/// Rates within this factor of each other count as the same.
pub const PRECISION: f64 = 1.02;
/// The search does not look for a capacity below this share of the first rate.
pub(super) const LOWEST_SHARE: f64 = 1e-3;
/// The search ends after this many steps, even if measurements contradict each other.
const MOST_TRIES: usize = 32;
/// Steps at one rate in which the client was the limit, until the client cannot offer that rate.
pub(super) const CLIENT_LIMITED_TRIES: usize = 3;
/// Factor between rates while one side of the bracket is open.
pub(super) const STRIDE: f64 = 1.5;
/// The state of a search.
#[derive(Clone, Debug)]
pub(super) struct Search {
    first: f64,
    tried: Vec<(f64, StepOutcome)>,
    /// Lowest rate that counts as missed, or as too high for the client.
    ceiling: Option<f64>,
}

impl Search {
    /// A search that begins at `first`, best a little under the expected capacity.
    pub fn new(first: f64) -> Self {
        Self { first, tried: Vec::new(), ceiling: None }
    }

    /// Records the outcome of a run at `rate`.
    pub fn record(&mut self, rate: f64, outcome: StepOutcome) {
        self.tried.push((rate, outcome));
        let is_too_high = match outcome {
            StepOutcome::Met => false,
            StepOutcome::Missed => true,
            StepOutcome::ClientLimited => {
                self.times(rate, StepOutcome::ClientLimited) >= CLIENT_LIMITED_TRIES
            }
        };
        if is_too_high {
            self.ceiling = Some(self.ceiling.map_or(rate, |ceiling| ceiling.min(rate)));
        }
    }

    /// The highest rate so far that met the objective, below those that count as missed.
    pub fn best(&self) -> Option<f64> {
        let met =
            self.tried.iter().filter(|(rate, outcome)| *outcome == StepOutcome::Met && self.is_open(*rate));
        met.map(|(rate, _)| *rate).max_by(f64::total_cmp)
    }

    /// Whether a rate is below those that count as missed.
    fn is_open(&self, rate: f64) -> bool {
        self.ceiling.is_none_or(|ceiling| rate < ceiling)
    }

    fn times(&self, rate: f64, outcome: StepOutcome) -> usize {
        self.tried.iter().filter(|tried| **tried == (rate, outcome)).count()
    }

    /// What to try next.
    pub fn next(&self) -> NextRate {
        let floor = self.best();
        if self.tried.len() >= MOST_TRIES {
            return NextRate::Found(floor);
        }
        if let Some(&(rate, StepOutcome::ClientLimited)) = self.tried.last()
            && self.is_open(rate)
        {
            return NextRate::Try(rate);
        }
        match (floor, self.ceiling) {
            (None, None) => NextRate::Try(self.first),
            (None, Some(ceiling)) if ceiling / 2.0 < self.first * LOWEST_SHARE => NextRate::Found(None),
            (None, Some(ceiling)) => NextRate::Try(ceiling / STRIDE),
            (Some(floor), None) => NextRate::Try(floor * STRIDE),
            (Some(floor), Some(ceiling)) if ceiling / floor > PRECISION => {
                NextRate::Try((floor * ceiling).sqrt())
            }
            (Some(floor), _) if self.times(floor, StepOutcome::Met) < 2 => NextRate::Try(floor),
            (Some(floor), _) => NextRate::Found(Some(floor)),
        }
    }

    /// Did the client set the ceiling?
    pub fn is_client_limited(&self) -> bool {
        let ceiling = self.ceiling.unwrap_or(f64::INFINITY);
        let at_ceiling = |outcome: StepOutcome| self.tried.contains(&(ceiling, outcome));
        at_ceiling(StepOutcome::ClientLimited) && !at_ceiling(StepOutcome::Missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(first: f64, mut outcome: impl FnMut(f64, usize) -> StepOutcome) -> (Option<f64>, Search) {
        let mut search = Search::new(first);
        for count in 0.. {
            match search.next() {
                NextRate::Try(rate) => search.record(rate, outcome(rate, count)),
                NextRate::Found(found) => return (found, search),
            }
        }
        unreachable!("a search ends")
    }

    fn up_to(capacity: f64) -> impl FnMut(f64, usize) -> StepOutcome {
        move |rate, _| if rate <= capacity { StepOutcome::Met } else { StepOutcome::Missed }
    }

    #[test]
    fn finds_a_capacity_from_either_side() {
        for first in [1_000.0, 9_000.0, 60_000.0] {
            let (found, search) = find(first, up_to(10_000.0));
            let found = found.expect("a capacity");
            assert!(found <= 10_000.0 && found > 10_000.0 / PRECISION, "{first}: {found}");
            assert!(search.tried.len() <= 16, "{first}: {} tries", search.tried.len());
        }
    }

    #[test]
    fn one_lucky_measurement_does_not_decide() {
        // Meets the objective once at a rate above the capacity.
        let (found, _) = find(8_000.0, |rate, count| {
            if rate <= 10_000.0 || count == 1 { StepOutcome::Met } else { StepOutcome::Missed }
        });
        assert!(found.is_some_and(|found| found <= 10_000.0), "{found:?}");
    }

    #[test]
    fn an_objective_that_no_rate_meets_has_no_capacity() {
        assert_eq!(find(1_000.0, |_, _| StepOutcome::Missed).0, None);
    }

    #[test]
    fn a_client_that_cannot_offer_more_is_the_limit() {
        let (found, search) =
            find(
                1_000.0,
                |rate, _| if rate <= 5_000.0 { StepOutcome::Met } else { StepOutcome::ClientLimited },
            );
        assert!(found.is_some() && search.is_client_limited());
        assert!(!find(1_000.0, up_to(5_000.0)).1.is_client_limited());
    }

    #[test]
    fn a_client_that_is_disturbed_now_and_then_is_not_the_limit() {
        for every in [2, 3, 5] {
            let mut outcome = up_to(10_000.0);
            let disturbed = |rate, count| {
                if count % every == 1 { StepOutcome::ClientLimited } else { outcome(rate, count) }
            };
            let (found, search) = find(4_000.0, disturbed);
            assert!(!search.is_client_limited());
            let found = found.expect("a capacity");
            assert!(found <= 10_000.0 && found > 10_000.0 / PRECISION, "{every}: {found}");
        }
    }

    #[test]
    fn contradicting_measurements_still_end_the_search() {
        let (_, search) =
            find(1_000.0, |_, count| if count % 2 == 0 { StepOutcome::Met } else { StepOutcome::Missed });
        assert!(search.tried.len() <= MOST_TRIES);
    }
}
