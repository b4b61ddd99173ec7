//! The clocks of a session's clients: compared before a part of the load, and again at its end, so that a clock that ran away
//! meanwhile is noticed. How much it may is left to [`validity`](crate::outcome::validity).

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::clock::{ClientClock, ClockDrift};
use crate::outcome::RunError;
use crate::session::processes::lost;
use crate::worker_groups::client::LoadClient;

/// Clocks are compared again before a part when that was done longer ago: they drift by up to 50 µs a second.
const OLDEST: Duration = Duration::from_secs(10);
/// The same in multiples of the time that it takes: on a slow link, seconds. At the end of a part, this alone decides.
const OLDEST_OVER_COST: u32 = 20;

/// The clocks of all clients at the last comparison.
pub(crate) struct ClientClocks {
    clocks: Vec<ClientClock>,
    compared: Instant,
    /// How long comparing took.
    cost: Duration,
}

impl ClientClocks {
    /// Before the clients are ready.
    pub fn none() -> Self {
        Self { clocks: Vec::new(), compared: Instant::now(), cost: Duration::ZERO }
    }

    /// Compares the clocks of all clients at the same time.
    pub fn compare(clients: &[Arc<dyn LoadClient>]) -> Result<Self, RunError> {
        let begun = Instant::now();
        let clocks: Result<Vec<ClientClock>, RunError> = thread::scope(|scope| {
            let ask =
                |client: &Arc<dyn LoadClient>| client.clock().map_err(|error| lost(client.name(), &error));
            let threads: Vec<_> = clients.iter().map(|client| scope.spawn(move || ask(client))).collect();
            let joined = threads.into_iter().map(|thread| thread.join().expect("a clock does not panic"));
            joined.collect()
        });
        Ok(Self { clocks: clocks?, compared: Instant::now(), cost: begun.elapsed() })
    }

    /// The clocks at the last comparison, in the order of the clients.
    pub fn all(&self) -> &[ClientClock] {
        &self.clocks
    }

    /// Compares again if the last time is too long ago for the begin of a part.
    pub fn refresh(&mut self, clients: &[Arc<dyn LoadClient>]) -> Result<(), RunError> {
        if !clients.is_empty() && self.compared.elapsed() > OLDEST.max(self.cost * OLDEST_OVER_COST) {
            *self = Self::compare(clients)?;
        }
        Ok(())
    }

    /// How far the clocks drifted until the end of a part. None where there are no clients, where comparing would take more
    /// than a small share of the time since the last one, and where a client does not answer: the next part names it.
    pub fn drifts(&mut self, clients: &[Arc<dyn LoadClient>]) -> Option<Vec<ClockDrift>> {
        if clients.is_empty() || self.compared.elapsed() < self.cost * OLDEST_OVER_COST {
            return None;
        }
        let now = Self::compare(clients).ok()?;
        let drifts = self.clocks.iter().zip(&now.clocks).map(|(then, now)| then.drift_to(now)).collect();
        *self = now;
        Some(drifts)
    }
}
