//! The rate at which CPU time an operation is measured, where the plan leaves it open: by what the closed loops carried.

use archive::model::{PhaseKind, Trial};
use load::inputs::limits::is_rate;

/// Share of the slowest server's throughput in the closed loop. Client and server carry that: where they have no CPU to spare,
/// they work in batches, as they do in the closed loop. Below that, an operation costs more the lower the rate, because both
/// sleep and wake up between operations (decision 0011). A third is a load at which servers are used.
const SHARE: f64 = 1.0 / 3.0;

/// The rate for servers with these throughputs in a closed loop, operations per second: two digits, rounded down. None
/// where one of them had no operation.
pub fn for_closed_loops(per_s: impl IntoIterator<Item = f64>) -> Option<f64> {
    let rate = per_s.into_iter().min_by(f64::total_cmp)? * SHARE;
    if !is_rate(rate) {
        return None;
    }
    let digits = 1 - rate.log10().floor() as i32;
    let scale = 10_f64.powi(digits.abs());
    // A division by a power of ten gives the nearest number to a short decimal, a multiplication by 0.1 does not.
    let rounded = if digits > 0 { (rate * scale).floor() / scale } else { (rate / scale).floor() * scale };
    Some(rounded).filter(|rate| is_rate(*rate))
}

/// Throughput of the last closed loop of a trial, operations a second.
pub fn closed_loop_per_s(trial: &Trial) -> Option<f64> {
    let last = trial.phases.iter().rev().find(|phase| phase.kind == PhaseKind::ClosedLoop);
    last.map(|phase| phase.throughput_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_a_third_of_the_slowest_closed_loop_in_two_digits() {
        assert_eq!(for_closed_loops([90_000.0, 52_345.0]), Some(17_000.0));
        assert_eq!(for_closed_loops([300.0]), Some(100.0));
        assert_eq!(for_closed_loops([16.1]), Some(5.3));
        assert_eq!(for_closed_loops([0.5]), Some(0.16));
        assert_eq!(for_closed_loops([1_000.0, 0.0]), None);
        assert_eq!(for_closed_loops([]), None);
    }
}
