//! A worker's clock: the processor's time-stamp counter, held to `CLOCK_MONOTONIC`.
//!
//! An operation needs the time three or four times, and each call of the vDSO costs about 70 cycles when it is
//! warm and twice that behind a system call, which is when it is called here: a fifth of the engine's own cost of
//! a request. Reading the counter costs 20. Counter and kernel clock are brought together every tenth of a second
//! at the latest, so the two differ by the error of one such meeting, tens of nanoseconds, however long a run is.
//! Where the kernel itself does not trust the counter, the clock asks the kernel each time.
//!
//! Two readings around a meeting may stand in the wrong order by that error; spans saturate at zero.

use crate::clock::Nanos;

/// Longest time between two meetings with the kernel's clock.
const LONGEST_STRETCH_NS: u64 = 100_000_000;
/// The first; each is twice the one before, since a rate is as good as the stretch over which it was found is long.
const FIRST_STRETCH_NS: u64 = 1_000_000;
/// A meeting during which the thread was away for longer than this is no good.
const WIDEST_MEETING_NS: u64 = 500;
/// Attempts at a meeting before the best of them is taken.
const MEETING_ATTEMPTS: u32 = 8;
/// Binary digits of [`Counter::nanos_per_tick`] behind the point.
const FRACTION_BITS: u32 = 32;

/// The time, cheaply.
#[derive(Debug)]
pub(super) struct Clock {
    counter: Option<Counter>,
}

impl Clock {
    /// Finds out whether the counter may be used, and its rate (1 ms).
    pub fn new() -> Self {
        Self { counter: ticks::are_trusted().then(Counter::new) }
    }

    /// Now, on the number line of [`Nanos::now`].
    #[inline]
    pub fn now(&mut self) -> Nanos {
        match &mut self.counter {
            Some(counter) => counter.now(),
            None => Nanos::now(),
        }
    }
}

/// A moment on both number lines.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    ticks: u64,
    at: Nanos,
}

impl Meeting {
    /// Reads both clocks, as close together as can be had.
    fn hold() -> Self {
        let mut best = (u64::MAX, Self { ticks: 0, at: Nanos(0) });
        for _ in 0..MEETING_ATTEMPTS {
            let (before, ticks, after) = (Nanos::now(), ticks::read(), Nanos::now());
            let width = after.since(before).0;
            if width < best.0 {
                best = (width, Self { ticks, at: Nanos(before.0 + width / 2) });
            }
            if width <= WIDEST_MEETING_NS {
                break;
            }
        }
        best.1
    }
}

/// The time-stamp counter as a clock.
#[derive(Debug)]
struct Counter {
    last: Meeting,
    /// Fixed point.
    nanos_per_tick: u64,
    /// Ticks after the last meeting at which the next is due.
    stretch: u64,
    stretch_ns: u64,
}

impl Counter {
    fn new() -> Self {
        let last = Meeting::hold();
        while Nanos::now().since(last.at).0 < FIRST_STRETCH_NS {
            std::hint::spin_loop();
        }
        let mut counter = Self { last, nanos_per_tick: 0, stretch: 0, stretch_ns: FIRST_STRETCH_NS };
        counter.meet();
        counter
    }

    #[inline]
    fn now(&mut self) -> Nanos {
        // A counter that stands before the last meeting, on another core, is far beyond any stretch.
        let since = ticks::read().wrapping_sub(self.last.ticks);
        if since >= self.stretch {
            return self.meet();
        }
        let nanos = (u128::from(since) * u128::from(self.nanos_per_tick)) >> FRACTION_BITS;
        Nanos(self.last.at.0 + nanos as u64)
    }

    /// Brings the two together and finds the rate anew, from the time since the last meeting.
    #[cold]
    fn meet(&mut self) -> Nanos {
        let meeting = Meeting::hold();
        let (ticks, nanos) = (meeting.ticks.wrapping_sub(self.last.ticks), meeting.at.since(self.last.at).0);
        let rate = (u128::from(nanos) << FRACTION_BITS) / u128::from(ticks.max(1));
        self.nanos_per_tick = u64::try_from(rate).unwrap_or(u64::MAX).max(1);
        self.stretch_ns = (2 * self.stretch_ns).min(LONGEST_STRETCH_NS);
        let stretch = (u128::from(self.stretch_ns) << FRACTION_BITS) / u128::from(self.nanos_per_tick);
        self.stretch = u64::try_from(stretch).unwrap_or(u64::MAX);
        self.last = meeting;
        meeting.at
    }
}

/// The counter of x86-64 (Intel SDM, volume 3, 19.17, "invariant TSC").
#[cfg(target_arch = "x86_64")]
mod ticks {
    /// The kernel checks at boot and at run time that the counters of all cores run evenly and together, and drops
    /// them as its clock source when they do not.
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

/// Elsewhere the kernel is asked.
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
    fn agrees_with_the_kernels_clock_over_many_meetings() {
        const ERROR: u64 = 5_000;
        let mut clock = Clock::new();
        let end = Nanos::now().0 + 4 * LONGEST_STRETCH_NS;
        let (mut readings, mut astray) = (0_u64, 0_u64);
        while Nanos::now().0 < end {
            let (before, now, after) = (Nanos::now(), clock.now(), Nanos::now());
            readings += 1;
            astray += u64::from(now.0 + ERROR < before.0 || now.0 > after.0 + ERROR);
        }
        // A machine that stops this thread in the middle of a meeting spoils one stretch.
        assert!(astray * 2 < readings, "{astray} of {readings} readings are off by more than {ERROR} ns");
    }
}
