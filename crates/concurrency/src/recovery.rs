//! After the break: all clients leave, and new ones come to see how long it takes until they are answered in under a second.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use archive::model::Recovery;
use bakeoff::event::Event;

use crate::error::ConcurrencyError;
use crate::step::{Climb, PROBES_PER_S};

/// A new client is answered if its first byte comes within this time.
const ANSWERED_US: u64 = 1_000_000;

/// This many seconds in a row, all new clients must be answered.
const IN_A_ROW: u32 = 2;

/// Fewer new clients of a second tell nothing.
const FEWEST: u64 = (PROBES_PER_S / 4.0) as u64;

impl Climb<'_, '_> {
    /// Lets all clients go, and watches until new ones are answered again, for this long at most.
    pub fn recover(&mut self, after_transfers: u32, longest: Duration) -> Result<Recovery, ConcurrencyError> {
        let began = Instant::now();
        self.transfers.maintain(0, Duration::ZERO);
        let mut good = 0;
        loop {
            let second = self.transfers.next_second()?;
            let watched = began.elapsed();
            let is_good = second.probes >= FEWEST
                && second.probes_failed == 0
                && second.times.probe.max() <= ANSWERED_US
                && second.wanted == 0;
            good = if is_good { good + 1 } else { 0 };
            let what = format!("watching the recovery for {} s", watched.as_secs());
            (self.observe)(Event::Doing { what });
            let answered = (good >= IN_A_ROW).then(|| watched.as_secs_f64() - f64::from(good));
            let is_over = watched > longest || self.context.interrupted.load(Ordering::Relaxed);
            if answered.is_some() || is_over {
                let answered_after_s = answered.map(|seconds| seconds.max(0.0));
                return Ok(Recovery { after_transfers, answered_after_s, watched_s: watched.as_secs_f64() });
            }
        }
    }
}
