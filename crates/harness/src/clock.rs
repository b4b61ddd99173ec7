//! The monotonic clock of a server, from its start on. Tests let time pass on it.

use std::time::{Duration, Instant};

/// The clock.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    #[cfg(test)]
    passed: std::sync::Mutex<Duration>,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            #[cfg(test)]
            passed: std::sync::Mutex::default(),
        }
    }
}

impl Clock {
    /// The time since the start of the server.
    pub fn now(&self) -> Duration {
        let now = self.started.elapsed();
        #[cfg(test)]
        let now = now + *self.passed.lock().unwrap();
        now
    }

    /// Lets time pass.
    #[cfg(test)]
    pub fn pass(&self, time: Duration) {
        *self.passed.lock().unwrap() += time;
    }
}
