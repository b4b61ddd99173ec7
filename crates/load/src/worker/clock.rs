//! A worker's clock: the processor's time-stamp counter, synchronized with `CLOCK_MONOTONIC`.
//!
//! An operation reads the clock three or four times. Cost of a reading:
//!
//! | clock | cycles |
//! |---|---|
//! | vDSO, warm | about 70 |
//! | vDSO after a system call, as here | about 140 |
//! | time-stamp counter | 20 |
//!
//! With the vDSO, the clock is a fifth of the engine's own cost of a request. Counter and kernel clock are synchronized
//! at least every tenth of a second. So they differ by the error of one synchronization, tens of nanoseconds, however long
//! a run is. Where the kernel does not trust the counter, every reading is the kernel's.
//!
//! Two readings before and after a synchronization may be in the wrong order by that error; spans saturate at zero.

use crate::clock::Nanos;

/// Longest time between two synchronizations with the kernel's clock.
const LONGEST_STRETCH_NS: u64 = 100_000_000;
/// The first; each is twice as long as the one before, because a longer stretch gives a more exact rate.
const FIRST_STRETCH_NS: u64 = 1_000_000;
/// A pair of readings is repeated if they are further apart than this: the thread was interrupted.
const WIDEST_PAIR_NS: u64 = 500;
/// Attempts at a pair of readings before the best of them is used.
const PAIR_ATTEMPTS: u32 = 8;
/// Binary digits of [`TickCounter::nanos_per_tick`] after the point.
const FRACTION_BITS: u32 = 32;

/// The clock of one worker.
#[derive(Debug)]
pub(super) struct Clock {
    counter: Option<TickCounter>,
}

impl Clock {
    /// Checks whether the counter can be used, and measures its rate (1 ms).
    pub fn new() -> Self {
        Self { counter: ticks::are_trusted().then(TickCounter::new) }
    }

    /// Now, on the scale of [`Nanos::now`].
    #[inline]
    pub fn now(&mut self) -> Nanos {
        match &mut self.counter {
            Some(counter) => counter.now(),
            None => Nanos::now(),
        }
    }
}

/// One instant on both clocks.
#[derive(Clone, Copy, Debug)]
struct ClockPair {
    ticks: u64,
    at: Nanos,
}

impl ClockPair {
    /// Reads both clocks as close together as possible.
    fn read() -> Self {
        let mut best = (u64::MAX, Self { ticks: 0, at: Nanos(0) });
        for _ in 0..PAIR_ATTEMPTS {
            let (before, ticks, after) = (Nanos::now(), ticks::read(), Nanos::now());
            let width = after.since(before).0;
            if width < best.0 {
                best = (width, Self { ticks, at: Nanos(before.0 + width / 2) });
            }
            if width <= WIDEST_PAIR_NS {
                break;
            }
        }
        best.1
    }
}

/// The time-stamp counter as a clock.
#[derive(Debug)]
struct TickCounter {
    last: ClockPair,
    /// Fixed point.
    nanos_per_tick: u64,
    /// Ticks from the last synchronization to the next.
    stretch: u64,
    stretch_ns: u64,
}

impl TickCounter {
    fn new() -> Self {
        let last = ClockPair::read();
        while Nanos::now().since(last.at).0 < FIRST_STRETCH_NS {
            std::hint::spin_loop();
        }
        let mut counter = Self { last, nanos_per_tick: 0, stretch: 0, stretch_ns: FIRST_STRETCH_NS };
        counter.synchronize();
        counter
    }

    #[inline]
    fn now(&mut self) -> Nanos {
        // If the counter of another core is behind the last synchronization, the difference wraps around and exceeds any
        // stretch.
        let since = ticks::read().wrapping_sub(self.last.ticks);
        if since >= self.stretch {
            return self.synchronize();
        }
        let nanos = (u128::from(since) * u128::from(self.nanos_per_tick)) >> FRACTION_BITS;
        Nanos(self.last.at.0 + nanos as u64)
    }

    /// Synchronizes the two clocks, and computes the rate from the time since the last synchronization.
    #[cold]
    fn synchronize(&mut self) -> Nanos {
        let pair = ClockPair::read();
        let (ticks, nanos) = (pair.ticks.wrapping_sub(self.last.ticks), pair.at.since(self.last.at).0);
        let rate = (u128::from(nanos) << FRACTION_BITS) / u128::from(ticks.max(1));
        self.nanos_per_tick = u64::try_from(rate).unwrap_or(u64::MAX).max(1);
        self.stretch_ns = (2 * self.stretch_ns).min(LONGEST_STRETCH_NS);
        let stretch = (u128::from(self.stretch_ns) << FRACTION_BITS) / u128::from(self.nanos_per_tick);
        self.stretch = u64::try_from(stretch).unwrap_or(u64::MAX);
        self.last = pair;
        pair.at
    }
}

/// The counter of x86-64 (Intel SDM, volume 3, 19.17, "invariant TSC").
#[cfg(target_arch = "x86_64")]
mod ticks {
    /// The kernel checks at boot and at run time that the counters of all cores run evenly and in step. If they do not, it
    /// uses another clock source.
    pub fn are_trusted() -> bool {
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|source| source.trim() == "tsc")
    }

    #[expect(unsafe_code, reason = "the standard library has no safe name for this instruction")]
    #[inline]
    pub fn read() -> u64 {
        // SAFETY: every x86-64 processor has RDTSC, and it touches no memory. Where the kernel forbids it
        // (prctl PR_SET_TSC), the process ends, as it would in the vDSO that reads the same counter.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

/// Other processors use the kernel's clock.
#[cfg(not(target_arch = "x86_64"))]
mod ticks {
    pub fn are_trusted() -> bool {
        false
    }

    pub fn read() -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_kernels_clock_over_many_synchronizations() {
        const ERROR: u64 = 5_000;
        let mut clock = Clock::new();
        let end = Nanos::now().0 + 4 * LONGEST_STRETCH_NS;
        let (mut readings, mut astray) = (0_u64, 0_u64);
        while Nanos::now().0 < end {
            let (before, now, after) = (Nanos::now(), clock.now(), Nanos::now());
            readings += 1;
            astray += u64::from(now.0 + ERROR < before.0 || now.0 > after.0 + ERROR);
        }
        // An interruption of this thread in the middle of a synchronization spoils one stretch.
        assert!(astray * 2 < readings, "{astray} of {readings} readings are off by more than {ERROR} ns");
    }
}
