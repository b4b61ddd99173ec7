//! The load of one server, part by part: its connections open with the first part, and can be opened anew between two.

use std::time::{Duration, Instant};

use super::merged::{DrawnSlice, Slice};
use crate::outcome::{LoadObserver, LoadOutcome, RunContext, RunError};
use crate::session::LoadSession;
use crate::spec::{LoadPart, LoadSpec, Shape};

/// Largest share of the time for opening connections anew, and fewest rounds in between.
const MAX_CONNECTING: f64 = 0.05;
const FEWEST_BETWEEN: u32 = 4;

/// Whether to reopen the connections now, after `rounds` rounds of the length `round`; opening those of a round takes `connecting`. Which thread of a server has which connections, and how large their windows have grown, lasts as long as the connections
/// do: a measurement should not be a sample of one such state.
pub fn is_renewal_due(rounds: u32, connecting: Duration, round: Duration) -> bool {
    rounds > 0 && rounds.is_multiple_of(rounds_between_renewals(connecting, round))
}

/// How many rounds of slices use the same connections.
fn rounds_between_renewals(connecting: Duration, round: Duration) -> u32 {
    let rounds = connecting.as_secs_f64() / (round.as_secs_f64() * MAX_CONNECTING);
    (rounds.ceil() as u32).max(FEWEST_BETWEEN)
}

/// The load of one server.
pub struct LoadedServer<'a> {
    /// What the load is. Parts differ in shape, length and seed.
    pub spec: LoadSpec,
    session: Option<LoadSession>,
    context: &'a RunContext,
    began: Instant,
    connecting: Option<Duration>,
}

impl<'a> LoadedServer<'a> {
    /// Opens no connection yet; times count from `began`.
    pub fn new(spec: LoadSpec, context: &'a RunContext, began: Instant) -> Self {
        Self { spec, session: None, context, began, connecting: None }
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// How long it took to open the connections; none before that, and where each operation opens its own.
    pub fn connecting(&self) -> Option<Duration> {
        self.connecting
    }

    /// Closes the connections and opens others.
    pub fn reconnect(&mut self) -> Result<(), RunError> {
        self.session = None;
        self.session = Some(self.open()?);
        Ok(())
    }

    fn open(&mut self) -> Result<LoadSession, RunError> {
        let begun = Instant::now();
        let session = LoadSession::open(&self.spec, self.context)?;
        self.connecting = (session.opened() > 0).then(|| begun.elapsed());
        Ok(session)
    }

    /// Runs a part.
    pub fn run(&mut self, part: &LoadPart, observe: &mut LoadObserver<'_>) -> Result<LoadOutcome, RunError> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.open()?,
        };
        let outcome = session.run(part, self.context, observe);
        self.session = Some(session);
        outcome
    }

    /// The part of a slice.
    pub fn part_of(&self, shape: Shape, drawn: &DrawnSlice) -> LoadPart {
        let DrawnSlice { settle, length, seed, singles } = *drawn;
        let part = self.spec.part.clone();
        LoadPart { shape, warmup: settle, duration: Some(length), interval: length, seed, singles, ..part }
    }

    /// The part of a slice of one continuous load in the server's own time, whose operations have fallen due for this long
    /// while the slice before drained. All of it is measured. It ends when the server is idle, which leaves no drain; a server that is
    /// not idle soon drains.
    pub fn part_in_own_time(&self, shape: Shape, due_before: Duration, drawn: &DrawnSlice) -> LoadPart {
        let idle_within = drawn.length;
        let interval = drawn.length + idle_within;
        LoadPart { warmup: Duration::ZERO, due_before, idle_within, interval, ..self.part_of(shape, drawn) }
    }

    /// A slice that has just ended, with this outcome.
    pub fn slice_of(&self, outcome: LoadOutcome) -> Slice {
        let start = self.elapsed().saturating_sub(outcome.measured + outcome.draining);
        let under_load = outcome.spec.part.warmup + outcome.measured + outcome.draining;
        Slice { start, under_load, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewing_connections_takes_a_small_share_of_the_time() {
        let round = Duration::from_millis(100);
        assert_eq!(rounds_between_renewals(Duration::from_millis(1), round), FEWEST_BETWEEN);
        for connecting in [30, 100, 700].map(Duration::from_millis) {
            let share = connecting.div_duration_f64(round * rounds_between_renewals(connecting, round));
            assert!(share <= MAX_CONNECTING && share > MAX_CONNECTING / 2.0, "{share}");
        }
    }
}
