//! Mean power from two readings of a counter of energy that wraps, such as RAPL's.
//!
//! The kernel's counter `energy_uj` is in µJ and starts again from zero after `max_energy_range_uj` (Documentation/power/powercap,
//! "Power Zone Attributes"). The hardware counts in 32 bits, mostly of 61 µJ (Intel's Software Developer's Manual, volume 3B,
//! "RAPL Interfaces"), so it wraps after 262 kJ: in a quarter of an hour at 300 W. Two readings tell one wrap from none. They do not
//! tell two wraps from one, so they must be closer together than that.

use std::time::Duration;

use crate::cost::quantity::Watts;

/// The increase between two readings of a counter that wraps after `range`, all in the same unit. None for a reading beyond
/// the range: it is not of this counter.
pub fn increase(before: u64, after: u64, range: u64) -> Option<u64> {
    if before > range || after > range {
        return None;
    }
    Some(if after >= before { after - before } else { range - before + after })
}

/// The mean power of an energy in µJ over a time. None for no time.
pub fn mean_power(microjoules: u64, elapsed: Duration) -> Option<Watts> {
    (!elapsed.is_zero()).then(|| Watts::new(microjoules as f64 / 1e6 / elapsed.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `max_energy_range_uj` of a package of Intel's: 2³² units of 2⁻¹⁴ J.
    const RANGE: u64 = 262_143_328_850;

    #[test]
    fn a_counter_gives_the_mean_power_also_across_a_wrap() {
        // Before the wrap 328,850 µJ are left, and after it 50,000,000 µJ were counted: 50.3 J.
        assert_eq!(increase(262_143_000_000, 50_000_000, RANGE), Some(50_328_850));
        assert_eq!(increase(1_000_000, 51_000_000, RANGE), Some(50_000_000));
        assert_eq!(increase(5, 5, RANGE), Some(0));
        assert_eq!(increase(RANGE + 1, 5, RANGE), None, "not of this counter");
        assert_eq!(mean_power(50_000_000, Duration::from_millis(500)), Some(Watts::new(100.0)));
        assert_eq!(mean_power(50_000_000, Duration::ZERO), None);
    }

    proptest! {
        #[test]
        fn what_was_added_is_found_wherever_the_counter_stood(
            range in 1_u64..=u64::MAX / 2, before in any::<u64>(), added in any::<u64>(),
        ) {
            let (before, added) = (before % range, added % range);
            let sum = before + added;
            let after = if sum >= range { sum - range } else { sum };
            prop_assert_eq!(increase(before, after, range), Some(added));
        }

        #[test]
        fn no_reading_gives_a_negative_or_endless_power(
            before in any::<u64>(), after in any::<u64>(), range in any::<u64>(), ns in any::<u64>(),
        ) {
            if let Some(energy) = increase(before, after, range) {
                prop_assert!(energy <= range);
                let power = mean_power(energy, Duration::from_nanos(ns));
                prop_assert!(power.is_none_or(|power| power.value() >= 0.0 && power.value().is_finite()));
            }
        }
    }
}
