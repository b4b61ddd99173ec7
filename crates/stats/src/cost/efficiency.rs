//! Work for each joule, watt and rack unit, and the energy of a year.

use crate::cost::quantity::{
    Amperes, Hours, KilowattHours, Money, MoneyPerKilowattHour, OperationsPerSecond, PowerUsageEffectiveness,
    RackUnits, Volts, Watts, YEAR,
};

/// The real power of an alternating current: amperes × volts × power factor (IEEE 1459). With a factor of 1 it is the
/// apparent power, an upper bound.
///
/// A Sun Fire T2000 took 1.0 A at 240 V on a metered power distribution unit (2006): 240 W at most.
///
/// ```
/// use stats::{cost::real_power, quantity::{Amperes, Volts, Watts}};
/// assert_eq!(real_power(Amperes::new(1.0), Volts::new(240.0), 1.0), Watts::new(240.0));
/// ```
pub fn real_power(current: Amperes, voltage: Volts, power_factor: f64) -> Watts {
    current * voltage * power_factor
}

/// Operations for each joule: operations per second over watts, because a watt is a joule per second.
///
/// Source: the performance to power ratio of `SPECpower_ssj2008`, at one level of load. 5,718 requests/s with 240 W are 23.8
/// requests a joule.
///
/// ```
/// use stats::{cost::operations_per_joule, quantity::{OperationsPerSecond, Watts}};
/// let found = operations_per_joule(OperationsPerSecond::new(5718.0), Watts::new(240.0));
/// assert!((found - 23.825).abs() < 1e-9);
/// ```
pub fn operations_per_joule(performance: OperationsPerSecond, power: Watts) -> f64 {
    performance.value() / power.value()
}

/// Operations for each joule over all levels of load: the sum of the performances over the sum of the watts, with active idle as a
/// level of no operations. None without watts.
///
/// Source: overall `ssj_ops/watt` of `SPECpower_ssj2008` ("Design Document", "Metric"). 1,000/s at 200 W, 500/s at 150 W and idle at
/// 50 W are 3.75 operations a joule.
///
/// ```
/// use stats::{cost::overall_operations_per_joule, quantity::{OperationsPerSecond, Watts}};
/// let levels = [(1000.0, 200.0), (500.0, 150.0), (0.0, 50.0)]
///     .map(|(per_s, watts)| (OperationsPerSecond::new(per_s), Watts::new(watts)));
/// assert_eq!(overall_operations_per_joule(&levels), Some(3.75));
/// ```
pub fn overall_operations_per_joule(levels: &[(OperationsPerSecond, Watts)]) -> Option<f64> {
    let operations: f64 = levels.iter().map(|(performance, _)| performance.value()).sum();
    let watts: f64 = levels.iter().map(|(_, power)| power.value()).sum();
    (watts > 0.0).then(|| operations / watts)
}

/// Operations for each joule, estimated from the CPU time of an operation where no capacity was measured: an operation that takes
/// `us` microseconds of one of `cpus` CPUs takes this share of the power of the whole machine.
///
/// It assumes that all CPUs are busy and share the power evenly, so it leaves out what the machine takes when idle and whatever
/// limits it before its CPUs do. 100 µs on one of 4 CPUs of a machine that takes 200 W at load are 5 mJ: 200 operations a joule.
///
/// ```
/// use stats::{cost::operations_per_joule_of_cpu_time, quantity::Watts};
/// assert!((operations_per_joule_of_cpu_time(100.0, 4, Watts::new(200.0)) - 200.0).abs() < 1e-9);
/// ```
pub fn operations_per_joule_of_cpu_time(us: f64, cpus: u32, at_load: Watts) -> f64 {
    operations_per_joule(OperationsPerSecond::new(f64::from(cpus) * 1e6 / us), at_load)
}

/// Space, watts and performance: performance / (rack units × watts).
///
/// Source: Sun Microsystems, "SWaP (Space, Watts and Performance) metric", 2005. A secondary figure: it hides which of
/// the three differs, and a server of half the height and equal power has twice the value. 5,718 requests/s in 2 rack units with
/// 240 W give 11.9.
///
/// ```
/// use stats::{cost::swap, quantity::{OperationsPerSecond, RackUnits, Watts}};
/// let found = swap(OperationsPerSecond::new(5718.0), RackUnits::new(2.0), Watts::new(240.0));
/// assert!((found - 11.9125).abs() < 1e-9);
/// ```
pub fn swap(performance: OperationsPerSecond, space: RackUnits, power: Watts) -> f64 {
    performance.value() / (space.value() * power.value())
}

/// How a server spends its day: some hours at load, the others idle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DutyCycle(f64);

impl DutyCycle {
    /// At load all day.
    pub const ALL_DAY: Self = Self(1.0);

    /// So many hours a day at load; `None` outside 0 (excluded) to 24.
    pub fn hours_a_day(hours: Hours) -> Option<Self> {
        (hours.value() > 0.0 && hours.value() <= 24.0).then(|| Self(hours.value() / 24.0))
    }

    /// Whether the server is never idle.
    pub fn is_all_day(self) -> bool {
        self.0 >= 1.0
    }

    /// Hours at load in this time.
    pub fn at_load(self, time: Hours) -> Hours {
        time * self.0
    }

    /// Hours at load of a day.
    pub fn of_a_day(self) -> Hours {
        self.at_load(Hours::new(24.0))
    }
}

/// The energy of a server and its share of the site in a year of 8,760 hours: Σ hours × watts / 1000 × PUE.
///
/// Source: ISO/IEC 30134-2 for the use of PUE. 240 W all year at a PUE of 1 are 2,102.4 kWh.
///
/// ```
/// use stats::cost::{DutyCycle, energy_a_year};
/// use stats::quantity::{PowerUsageEffectiveness, Watts};
/// let pue = PowerUsageEffectiveness::new(1.0).expect("1 or more");
/// let energy = energy_a_year(Watts::new(240.0), Watts::new(0.0), DutyCycle::ALL_DAY, pue);
/// assert!((energy.value() - 2102.4).abs() < 1e-9);
/// ```
pub fn energy_a_year(
    at_load: Watts,
    idle: Watts,
    cycle: DutyCycle,
    pue: PowerUsageEffectiveness,
) -> KilowattHours {
    let loaded = cycle.at_load(YEAR);
    let rest = Hours::new(YEAR.value() - loaded.value());
    (at_load * loaded + idle * rest) * pue.value()
}

/// The price of energy that a printed cost implies. 210 € for the 2,102.4 kWh of 240 W over a year imply 0.0999 €/kWh.
///
/// ```
/// use stats::{cost::implied_energy_price, quantity::{KilowattHours, Money}};
/// let price = implied_energy_price(Money::new(210.0), KilowattHours::new(2102.4));
/// assert!((price.value() - 0.09989).abs() < 1e-5);
/// ```
pub fn implied_energy_price(cost: Money, energy: KilowattHours) -> MoneyPerKilowattHour {
    MoneyPerKilowattHour::new(cost.value() / energy.value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_server_that_is_idle_at_night_takes_the_idle_power_there() {
        let cycle = DutyCycle::hours_a_day(Hours::new(8.0)).unwrap();
        let pue = PowerUsageEffectiveness::new(1.5).unwrap();
        let energy = energy_a_year(Watts::new(300.0), Watts::new(150.0), cycle, pue);
        // (8 h × 300 W + 16 h × 150 W) × 365 × 1.5 = 2,628 kWh
        assert!((energy.value() - 2628.0).abs() < 1e-9);
        assert!(!cycle.is_all_day() && DutyCycle::ALL_DAY.is_all_day());
    }

    #[test]
    fn a_day_has_24_hours() {
        for wrong in [0.0, -1.0, 24.1, f64::NAN] {
            assert_eq!(DutyCycle::hours_a_day(Hours::new(wrong)), None);
        }
    }

    proptest! {
        #[test]
        fn figures_scale_with_performance_and_against_power(
            rate in 1.0..1e7, watts in 1.0..1e4, units in 1.0..20.0, factor in 1.1..100.0,
        ) {
            let (rate, watts) = (OperationsPerSecond::new(rate), Watts::new(watts));
            let units = RackUnits::new(units);
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            prop_assert!(close(operations_per_joule(rate * factor, watts), operations_per_joule(rate, watts) * factor));
            prop_assert!(close(swap(rate, units * factor, watts), swap(rate, units, watts) / factor));
            prop_assert!(close(operations_per_joule_of_cpu_time(factor, 8, watts), operations_per_joule_of_cpu_time(1.0, 8, watts) / factor));
            prop_assert!(close(swap(rate, units, watts), operations_per_joule(rate, watts) / units.value()));
        }

        #[test]
        fn overall_is_between_the_worst_and_the_best_level(
            levels in proptest::collection::vec((0.0..1e6, 1.0..1e4), 1..12),
        ) {
            let typed: Vec<_> =
                levels.iter().map(|(rate, watts)| (OperationsPerSecond::new(*rate), Watts::new(*watts))).collect();
            let each = || typed.iter().map(|(rate, watts)| operations_per_joule(*rate, *watts));
            let (least, most) = (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max));
            let overall = overall_operations_per_joule(&typed).expect("watts");
            prop_assert!(least * (1.0 - 1e-9) <= overall && overall <= most * (1.0 + 1e-9));
        }

        #[test]
        fn energy_lies_between_that_of_idle_and_of_load(
            idle in 0.0..500.0, more in 0.0..500.0, hours in 0.1..24.0, pue in 1.0..3.0,
        ) {
            let pue = PowerUsageEffectiveness::new(pue).expect("in range");
            let cycle = DutyCycle::hours_a_day(Hours::new(hours)).expect("in range");
            let (idle, load) = (Watts::new(idle), Watts::new(idle + more));
            let of = |load, idle, cycle| energy_a_year(load, idle, cycle, pue).value();
            let energy = of(load, idle, cycle);
            prop_assert!(of(idle, idle, cycle) <= energy * (1.0 + 1e-12));
            prop_assert!(energy <= of(load, load, cycle) * (1.0 + 1e-12));
        }
    }
}
