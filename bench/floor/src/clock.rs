//! Measures the cycles in a second of CPU time: a chain of dependent instructions of known latency, timed.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A 64-bit multiplication takes 3 cycles and an exclusive or 1, on every Intel core since Nehalem and every
/// AMD core since Zen (Agner Fog, "Instruction tables", IMUL r64,r64 and XOR r,r). A chain of additions does not
/// work: cores since Golden Cove add small constants at register renaming, in zero cycles.
const CYCLES_A_LINK: f64 = 4.0;
const LINKS_A_TURN: u32 = 1_000_000;

/// Runs the chain for about `duration` of CPU time and returns the cycles in a second of it. The kernel counts the
/// time of an interrupt as the interrupted thread's, so a sampler affects this thread and the client alike.
pub fn cycles_per_second(duration: Duration) -> f64 {
    let factor = black_box(0x9E37_79B9_7F4A_7C15_u64);
    let mut link = black_box(1_u64);
    let mut turns = 0_u32;
    let start = cpu_time();
    while since(start) < duration {
        for _ in 0..LINKS_A_TURN {
            link = link.wrapping_mul(factor) ^ factor;
        }
        turns += 1;
    }
    let seconds = since(start).as_secs_f64();
    black_box(link);
    f64::from(turns) * f64::from(LINKS_A_TURN) * CYCLES_A_LINK / seconds
}

fn since(start: Duration) -> Duration {
    cpu_time().saturating_sub(start)
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().expect("CPU time is not negative")
}
