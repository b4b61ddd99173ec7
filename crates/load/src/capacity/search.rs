//! Which rate to try next: bracket, bisect on a logarithmic scale, confirm. Pure, so that it is tested
//! against made-up servers.
//!
//! The search assumes that a higher rate never meets an objective that a lower one misses. Near the limit
//! measurements contradict that now and then; so the rate that is found is measured a second time, and
//! gives way to the next lower one that was met if it fails then.
//!
//! A client that was held up for a moment says nothing of the server: what it spoiled is tried again. Only a rate at
//! which it is too late time after time is one that it cannot offer.

/// How a rate fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The objective was met.
    Met,
    /// The objective was missed.
    Missed,
    /// The client was the limit: no word about the server.
    ClientLimited,
}

/// What the search wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Try this rate, operations a second.
    Try(f64),
    /// Over: the highest rate that met the objective twice, if any did.
    Found(Option<f64>),
}

/// Rates within this factor of each other count as the same.
pub const PRECISION: f64 = 1.02;
/// A capacity below this share of the first rate tried is not looked for.
const LOWEST_SHARE: f64 = 1e-3;
/// However the measurements contradict each other, the search ends.
const MOST_TRIES: usize = 32;
/// A rate at which the client was the limit so many times is one that it cannot offer.
const PATIENCE: usize = 3;
/// How far a step goes up or down while one side of the bracket is open.
const STRIDE: f64 = 1.5;

/// The state of a search.
#[derive(Clone, Debug)]
pub struct Search {
    first: f64,
    stride: f64,
    tried: Vec<(f64, StepOutcome)>,
    /// Lowest rate that is taken as missed, or as too much for the client.
    ceiling: Option<f64>,
}

impl Search {
    /// A search that begins at `first`, best a little under the capacity that is guessed.
    pub fn new(first: f64) -> Self {
        Self::near(first, STRIDE)
    }

    /// A search that begins at `first` and strides by this factor while one side is open: small where an
    /// earlier search has told about where the capacity lies.
    pub fn near(first: f64, stride: f64) -> Self {
        Self { first, stride, tried: Vec::new(), ceiling: None }
    }

    /// Tells how `rate` fared.
    pub fn record(&mut self, rate: f64, outcome: StepOutcome) {
        self.tried.push((rate, outcome));
        let is_too_high = match outcome {
            StepOutcome::Met => false,
            StepOutcome::Missed => true,
            StepOutcome::ClientLimited => self.times(rate, StepOutcome::ClientLimited) >= PATIENCE,
        };
        if is_too_high {
            self.ceiling = Some(self.ceiling.map_or(rate, |ceiling| ceiling.min(rate)));
        }
    }

    /// The highest rate so far that met the objective, below those that are taken as missed.
    pub fn best(&self) -> Option<f64> {
        let met =
            self.tried.iter().filter(|(rate, outcome)| *outcome == StepOutcome::Met && self.is_open(*rate));
        met.map(|(rate, _)| *rate).max_by(f64::total_cmp)
    }

    /// Whether it lies below those that are taken as missed.
    fn is_open(&self, rate: f64) -> bool {
        self.ceiling.is_none_or(|ceiling| rate < ceiling)
    }

    fn times(&self, rate: f64, outcome: StepOutcome) -> usize {
        self.tried.iter().filter(|tried| **tried == (rate, outcome)).count()
    }

    /// What is to be tried next.
    pub fn next(&self) -> Next {
        let floor = self.best();
        if self.tried.len() >= MOST_TRIES {
            return Next::Found(floor);
        }
        if let Some(&(rate, StepOutcome::ClientLimited)) = self.tried.last()
            && self.is_open(rate)
        {
            return Next::Try(rate);
        }
        match (floor, self.ceiling) {
            (None, None) => Next::Try(self.first),
            (None, Some(ceiling)) if ceiling / 2.0 < self.first * LOWEST_SHARE => Next::Found(None),
            (None, Some(ceiling)) => Next::Try(ceiling / self.stride),
            (Some(floor), None) => Next::Try(floor * self.stride),
            (Some(floor), Some(ceiling)) if ceiling / floor > PRECISION => {
                Next::Try((floor * ceiling).sqrt())
            }
            (Some(floor), _) if self.times(floor, StepOutcome::Met) < 2 => Next::Try(floor),
            (Some(floor), _) => Next::Found(Some(floor)),
        }
    }

    /// Was it the client that set the ceiling?
    pub fn is_client_limited(&self) -> bool {
        let ceiling = self.ceiling.unwrap_or(f64::INFINITY);
        let at_ceiling = |outcome: StepOutcome| self.tried.contains(&(ceiling, outcome));
        at_ceiling(StepOutcome::ClientLimited) && !at_ceiling(StepOutcome::Missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(first: f64, mut fares: impl FnMut(f64, usize) -> StepOutcome) -> (Option<f64>, Search) {
        let mut search = Search::new(first);
        for count in 0.. {
            match search.next() {
                Next::Try(rate) => search.record(rate, fares(rate, count)),
                Next::Found(found) => return (found, search),
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
    fn a_lucky_measurement_does_not_decide() {
        // Met once at a rate that it cannot hold.
        let (found, _) = find(8_000.0, |rate, count| {
            if rate <= 10_000.0 || count == 1 { StepOutcome::Met } else { StepOutcome::Missed }
        });
        assert!(found.is_some_and(|found| found <= 10_000.0), "{found:?}");
    }

    #[test]
    fn an_objective_that_no_rate_meets_is_told_as_that() {
        assert_eq!(find(1_000.0, |_, _| StepOutcome::Missed).0, None);
    }

    #[test]
    fn a_client_that_cannot_show_more_is_named() {
        let (found, search) =
            find(
                1_000.0,
                |rate, _| if rate <= 5_000.0 { StepOutcome::Met } else { StepOutcome::ClientLimited },
            );
        assert!(found.is_some() && search.is_client_limited());
        assert!(!find(1_000.0, up_to(5_000.0)).1.is_client_limited());
    }

    #[test]
    fn a_client_that_is_held_up_now_and_then_is_not_the_limit() {
        for every in [2, 3, 5] {
            let mut fares = up_to(10_000.0);
            let disturbed = |rate, count| {
                if count % every == 1 { StepOutcome::ClientLimited } else { fares(rate, count) }
            };
            let (found, search) = find(4_000.0, disturbed);
            assert!(!search.is_client_limited());
            let found = found.expect("a capacity");
            assert!(found <= 10_000.0 && found > 10_000.0 / PRECISION, "{every}: {found}");
        }
    }

    #[test]
    fn contradictions_end_the_search_all_the_same() {
        let (_, search) =
            find(1_000.0, |_, count| if count % 2 == 0 { StepOutcome::Met } else { StepOutcome::Missed });
        assert!(search.tried.len() <= MOST_TRIES);
    }
}
