//! Receive timestamps on the worker's clock: the kernel stamps by `CLOCK_REALTIME`, and every other time is of
//! `CLOCK_MONOTONIC`.
//!
//! The kernel slews both clocks alike, so their difference is constant until the wall clock is set. Then it jumps. The
//! difference is read again at least every [`CHECK_EVERY`] of a worker's turns. Where it has jumped, operations that were in
//! flight use the time at which they were handled, because their stamps may be from before the jump. A stamp from a jump
//! that was not noticed yet counts only if it lies between the send of its operation and now. So its error is at most the
//! length of that one operation.

use rustix::time::{ClockId, clock_gettime};

use super::stamp::Stamp;
use crate::clock::Nanos;

/// How often the difference is read. A reading takes about 100 ns, so this costs a thousandth of the CPU.
const CHECK_EVERY: u64 = 100_000;
/// A reading is repeated if its limits are further apart than this: the thread was interrupted.
const WIDEST_READING_NS: i64 = 500;
/// Attempts at a reading before the best of them is used.
const ATTEMPTS: u32 = 8;
/// A stamp may be this far before the send or after now, because the worker's clock has an error of its own.
const CLOCK_ERROR_NS: u64 = 2_000;

/// How far the wall clock is ahead of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Difference {
    ahead_ns: i64,
    /// The true value is within this much of it.
    error_ns: i64,
}

impl Difference {
    /// Reads the clocks as close together as possible.
    fn read() -> Self {
        let mut best = Self { ahead_ns: 0, error_ns: i64::MAX };
        for _ in 0..ATTEMPTS {
            let (before, wall, after) = (Nanos::now(), wall_ns(), Nanos::now());
            let width = after.since(before).0.cast_signed();
            // Half of the width, and a nanosecond for each rounding.
            let error_ns = width / 2 + 3;
            if error_ns < best.error_ns {
                best = Self { ahead_ns: wall - before.0.cast_signed() - width / 2, error_ns };
            }
            if width <= WIDEST_READING_NS {
                break;
            }
        }
        best
    }
}

fn wall_ns() -> i64 {
    let wall = clock_gettime(ClockId::Realtime);
    wall.tv_sec * 1_000_000_000 + wall.tv_nsec
}

/// Converts stamps.
#[derive(Debug)]
pub(super) struct WallClock {
    difference: Difference,
    /// When it was last read.
    checked: Nanos,
    /// The stamps of operations that were sent before this may be from before the clock was set.
    valid_from: Nanos,
}

impl WallClock {
    /// Reads the difference.
    pub fn new() -> Self {
        Self { difference: Difference::read(), checked: Nanos::now(), valid_from: Nanos(0) }
    }

    /// Reads the difference again if it is time. `now` is the last reading of the worker's clock.
    #[inline]
    pub fn check(&mut self, now: Nanos) {
        if now.since(self.checked).0 >= CHECK_EVERY {
            self.check_now();
        }
    }

    #[inline(never)]
    fn check_now(&mut self) {
        let difference = Difference::read();
        self.update(difference, Nanos::now());
    }

    /// A reading at `now`. Of two that agree the more exact one is kept.
    fn update(&mut self, read: Difference, now: Nanos) {
        let apart = (read.ahead_ns - self.difference.ahead_ns).abs();
        if apart > read.error_ns.saturating_add(self.difference.error_ns) {
            self.valid_from = now;
            self.difference = read;
        } else if read.error_ns < self.difference.error_ns {
            self.difference = read;
        }
        self.checked = now;
    }

    /// When the kernel received the reply of an operation that was sent at `sent` and is handled `now`. None where the
    /// clock was set meanwhile.
    #[inline]
    pub fn received(&self, stamp: Stamp, sent: Nanos, now: Nanos) -> Option<Nanos> {
        let at = stamp.0.get().cast_signed().checked_sub(self.difference.ahead_ns)?;
        let at = u64::try_from(at).ok()?;
        let is_between = at + CLOCK_ERROR_NS >= sent.0 && at <= now.0 + CLOCK_ERROR_NS;
        (is_between && sent >= self.valid_from).then(|| Nanos(at.min(now.0).max(sent.0)))
    }
}

/// How the last bytes of a connection came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// When the kernel received them; without its timestamp, when they were read.
    pub received: Nanos,
    /// How long they lay unread; without the timestamp, since the worker woke up.
    pub unread: Nanos,
    /// Whether the kernel's timestamp is known.
    pub is_stamped: bool,
}

impl Arrival {
    /// Of bytes that were read `now`, for an operation that was sent at `sent`. The worker had woken up at `woken`.
    #[inline]
    pub fn of(stamp: Option<Stamp>, clock: &WallClock, sent: Nanos, woken: Nanos, now: Nanos) -> Self {
        match stamp.and_then(|stamp| clock.received(stamp, sent, now)) {
            Some(received) => Self { received, unread: now.since(received), is_stamped: true },
            None => Self { received: now, unread: now.since(woken.max(sent)), is_stamped: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use proptest::prelude::*;

    use super::*;

    const US: u64 = 1_000;
    const DAY_NS: i64 = 86_400_000_000_000;

    fn clock(ahead_ns: i64, error_ns: i64) -> WallClock {
        let difference = Difference { ahead_ns, error_ns };
        WallClock { difference, checked: Nanos(0), valid_from: Nanos(0) }
    }

    /// A stamp that the kernel takes at this monotonic time.
    fn stamp(at: u64, ahead_ns: i64) -> Stamp {
        let wall = u64::try_from(at.cast_signed() + ahead_ns).expect("a time after 1970");
        Stamp(NonZeroU64::new(wall).expect("later than that"))
    }

    #[test]
    fn a_stamp_is_converted_to_the_monotonic_clock() {
        let clock = clock(DAY_NS, 30);
        let (sent, now) = (Nanos(100 * US), Nanos(300 * US));
        assert_eq!(clock.received(stamp(150 * US, DAY_NS), sent, now), Some(Nanos(150 * US)));
        assert_eq!(clock.received(stamp(99 * US, DAY_NS), sent, now), Some(sent), "an error of the clock");
        assert_eq!(clock.received(stamp(301 * US, DAY_NS), sent, now), Some(now), "an error of the clock");
    }

    #[test]
    fn operations_in_flight_when_the_clock_was_set_have_no_stamp() {
        let mut clock = clock(DAY_NS, 30);
        // Set back by 50 µs at 200 µs; noticed at 290 µs.
        let ahead_ns = DAY_NS - 50_000;
        clock.update(Difference { ahead_ns, error_ns: 40 }, Nanos(290 * US));
        let (sent, now) = (Nanos(100 * US), Nanos(300 * US));
        assert_eq!(clock.received(stamp(150 * US, DAY_NS), sent, now), None);
        assert_eq!(clock.received(stamp(250 * US, ahead_ns), sent, now), None);
        let (sent, now) = (Nanos(310 * US), Nanos(400 * US));
        assert_eq!(clock.received(stamp(350 * US, ahead_ns), sent, now), Some(Nanos(350 * US)));
    }

    #[test]
    fn before_it_is_noticed_a_step_that_is_longer_than_an_operation_leaves_no_stamp() {
        let clock = clock(DAY_NS, 30);
        let (sent, now) = (Nanos(100 * US), Nanos(300 * US));
        for set in [DAY_NS - 1_000_000, DAY_NS + 1_000_000, DAY_NS - 50 * DAY_NS, 50 * DAY_NS] {
            let received = u64::try_from((150 * US).cast_signed() + set).ok().and_then(NonZeroU64::new);
            assert_eq!(received.and_then(|at| clock.received(Stamp(at), sent, now)), None, "{set}");
        }
    }

    #[test]
    fn without_a_stamp_a_reply_ends_when_it_is_read() {
        let (sent, woken, now) = (Nanos(100 * US), Nanos(250 * US), Nanos(300 * US));
        let clock = clock(DAY_NS, 30);
        let stamped = Arrival::of(Some(stamp(150 * US, DAY_NS)), &clock, sent, woken, now);
        assert_eq!((stamped.received, stamped.unread), (Nanos(150 * US), Nanos(150 * US)));
        let unstamped = Arrival::of(None, &clock, sent, woken, now);
        assert_eq!(
            (unstamped.received, unstamped.unread, unstamped.is_stamped),
            (now, Nanos(50 * US), false)
        );
    }

    #[test]
    fn readings_that_agree_keep_the_more_exact_one() {
        let mut clock = clock(DAY_NS, 30);
        clock.update(Difference { ahead_ns: DAY_NS + 9_000, error_ns: 10_000 }, Nanos(5));
        assert_eq!(
            (clock.difference, clock.valid_from),
            (Difference { ahead_ns: DAY_NS, error_ns: 30 }, Nanos(0))
        );
        clock.update(Difference { ahead_ns: DAY_NS + 20, error_ns: 20 }, Nanos(6));
        assert_eq!((clock.difference.error_ns, clock.checked), (20, Nanos(6)));
    }

    #[test]
    fn the_difference_of_the_clocks_is_read() {
        let before = wall_ns() - Nanos::now().0.cast_signed();
        let read = Difference::read();
        // The clock may be set in between, by less than a day.
        assert!((read.ahead_ns - before).abs() < DAY_NS && read.error_ns > 0, "{read:?}");
    }

    proptest! {
        /// Whatever the stamp says, and however the clock was set, an operation ends between its send and now.
        #[test]
        fn an_operation_ends_between_its_send_and_now(
            wall in 1..u64::MAX,
            ahead in any::<i64>(),
            sent in 0..1_u64 << 60,
            took in 0_u64..1 << 40,
        ) {
            let now = Nanos(sent + took);
            let stamp = Stamp(NonZeroU64::new(wall).expect("at least one"));
            if let Some(received) = clock(ahead, 30).received(stamp, Nanos(sent), now) {
                prop_assert!((Nanos(sent)..=now).contains(&received));
            }
        }
    }
}
