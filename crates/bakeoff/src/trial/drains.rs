//! How long servers answer the operations that are in flight when their slices end. Nothing is sent during such a drain, so a pause that
//! is longer than a slice is mostly in drains: without an account of drains it would be in no figure (coordinated omission by the turns).
//!
//! In an open loop in the server's own time, drains are charged already: what falls due in a drain is sent afterwards. In a
//! closed loop, drains beyond the usual one count as measured time. Both accounts are wrong by up to a factor of two where a server
//! pauses by the clock, and not by its work: such a server pauses while other servers are loaded, too. So servers whose drains show such
//! pauses run one at a time.

use std::time::Duration;

use stats::describe::Sample;

/// A drain is long if it takes this many times as long as the usual one, and at least [`LONG`].
const OVER_USUAL: f64 = 5.0;
const LONG: Duration = Duration::from_millis(5);
/// Largest share of the time that long drains may take in turns, beyond the usual.
const MAX_SHARE: f64 = 0.01;
/// A server is loaded alone for at least this many times its longest drain.
pub const LOOP_OVER_DRAIN: u32 = 20;

/// The drains of one server.
#[derive(Clone, Debug, Default)]
pub struct Drains {
    each: Vec<Duration>,
    under_load: Duration,
}

impl Drains {
    /// Adds a slice that loaded the server for this long, with its drain.
    pub fn add(&mut self, under_load: Duration, drain: Duration) {
        self.under_load += under_load;
        self.each.push(drain);
    }

    /// What long drains took beyond the usual one.
    pub fn beyond_usual(&self) -> Duration {
        let usual = self.usual();
        let long = LONG.max(usual.mul_f64(OVER_USUAL));
        self.each.iter().filter(|drain| **drain > long).map(|drain| drain.saturating_sub(usual)).sum()
    }

    /// The longest one.
    pub fn longest(&self) -> Duration {
        self.each.iter().copied().max().unwrap_or_default()
    }

    /// Why the server must run alone; none if its drains are short.
    pub fn why_alone(&self, name: &str) -> Option<String> {
        let share = self.beyond_usual().div_duration_f64(self.under_load.max(Duration::from_nanos(1)));
        (share > MAX_SHARE).then(|| {
            format!(
                "{name} took up to {:.0} ms to answer what was left when a slice ended, {:.1} % of its time (at most {:.0} %): it pauses",
                self.longest().as_secs_f64() * 1e3,
                share * 100.0,
                MAX_SHARE * 100.0
            )
        })
    }

    fn usual(&self) -> Duration {
        let seconds: Vec<f64> = self.each.iter().map(Duration::as_secs_f64).collect();
        Sample::new(&seconds).map_or(Duration::ZERO, |sample| Duration::from_secs_f64(sample.median()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn drains(each_ms: impl IntoIterator<Item = u32>) -> Drains {
        let mut drains = Drains::default();
        each_ms.into_iter().for_each(|ms| drains.add(50 * MS, ms * MS));
        drains
    }

    #[test]
    fn short_drains_are_no_reason_and_are_not_charged() {
        let usual = drains([1, 2, 1, 3, 2, 1, 2, 4]);
        assert_eq!((usual.why_alone("nginx"), usual.beyond_usual()), (None, Duration::ZERO));
        assert_eq!(Drains::default().why_alone("nginx"), None);
    }

    #[test]
    fn a_server_that_pauses_runs_alone_and_its_pauses_are_charged() {
        let pausing = drains((0..40).map(|slice| if slice % 20 == 7 { 200 } else { 1 }));
        assert_eq!(pausing.beyond_usual(), 398 * MS);
        let why = pausing.why_alone("java").unwrap_or_default();
        assert_eq!(
            why,
            "java took up to 200 ms to answer what was left when a slice ended, 19.9 % of its time (at most 1 %): it pauses"
        );
    }
}
