//! What a server costs over its life, for each operation, in money and carbon.

use crate::cost::quantity::{
    Grams, GramsPerKilowattHour, Hours, KilowattHours, Money, MoneyPerHour, Operations,
};

/// A million operations.
const MILLION: f64 = 1e6;

/// The cost of a server over its life.
///
/// Acquisition plus operation over the life, without interest, staff or resale: total cost of ownership in its simplest
/// form (Barroso, Hölzle & Ranganathan, *The Datacenter as a Computer*, 3rd ed., chapter 6).
///
/// A server for 3,446 that takes 210 of energy a year costs 4,286 in four years. At 1,000 operations/s all the time these are
/// 126.144 thousand million operations, 0.034 for a million.
///
/// ```
/// use stats::{cost::LifeCost, quantity::{Hours, Money, Operations, OperationsPerSecond, YEAR}};
/// let life = YEAR * 4.0;
/// let cost = LifeCost::bought(Money::new(3446.0), Money::new(210.0), life);
/// assert_eq!(cost.total(), Money::new(4286.0));
/// let million = cost.of_a_million(OperationsPerSecond::new(1000.0) * life);
/// assert!((million.value() - 0.033977).abs() < 1e-6);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LifeCost {
    server: Money,
    energy: Money,
}

impl LifeCost {
    /// A server that was bought, with its energy.
    pub fn bought(price: Money, energy_a_year: Money, life: Hours) -> Self {
        Self { server: price, energy: energy_a_year * (life / crate::cost::quantity::YEAR) }
    }

    /// A server that is rented. The rate includes its energy.
    pub fn rented(rate: MoneyPerHour, life: Hours) -> Self {
        Self { server: rate * life, energy: Money::new(0.0) }
    }

    /// Price or rent.
    pub fn server(self) -> Money {
        self.server
    }

    /// Energy that is paid for separately.
    pub fn energy(self) -> Money {
        self.energy
    }

    /// Both.
    pub fn total(self) -> Money {
        self.server + self.energy
    }

    /// The cost of a million operations, for the operations of the life.
    pub fn of_a_million(self, operations: Operations) -> Money {
        self.total() * (MILLION / operations.value())
    }
}

/// Carbon of a million operations: ((energy × grid intensity) + embodied) / operations, over the same time.
///
/// Source: Green Software Foundation, *Software Carbon Intensity* 1.1 (ISO/IEC 21031). 2,102.4 kWh at 380 g/kWh and
/// 300 kg embodied, over 31,536 million operations, are 34.8 g a million.
///
/// ```
/// use stats::{cost::carbon_of_a_million, quantity::{Grams, GramsPerKilowattHour, KilowattHours, Operations}};
/// let found = carbon_of_a_million(
///     KilowattHours::new(2102.4), GramsPerKilowattHour::new(380.0), Grams::new(300_000.0), Operations::new(31_536e6));
/// assert!((found.value() - 34.846).abs() < 1e-3);
/// ```
pub fn carbon_of_a_million(
    energy: KilowattHours,
    intensity: GramsPerKilowattHour,
    embodied: Grams,
    operations: Operations,
) -> Grams {
    (energy * intensity + embodied) * (MILLION / operations.value())
}

/// How many times faster a new server must be than an old one, so that an operation costs the same on both: the cost of
/// one new server over the cost of one old server, for the same time.
///
/// It compares servers that both must still be paid. An old server that is paid for costs only its energy: its price is 0.
/// A list price of 13,395 against one of 3,446, with 210 and 350 of energy a year over four years, needs a ratio of 2.94.
///
/// ```
/// use stats::{cost::{LifeCost, break_even_ratio}, quantity::{Money, YEAR}};
/// let new = LifeCost::bought(Money::new(13_395.0), Money::new(210.0), YEAR * 4.0);
/// let old = LifeCost::bought(Money::new(3_446.0), Money::new(350.0), YEAR * 4.0);
/// assert!((break_even_ratio(new, old).expect("the old one costs something") - 2.9375).abs() < 1e-4);
/// ```
pub fn break_even_ratio(new: LifeCost, old: LifeCost) -> Option<f64> {
    (old.total().value() > 0.0).then(|| new.total() / old.total())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::quantity::{OperationsPerSecond, YEAR};
    use proptest::prelude::*;

    #[test]
    fn a_free_server_has_no_ratio_to_it() {
        let free = LifeCost::bought(Money::new(0.0), Money::new(0.0), YEAR);
        assert_eq!(break_even_ratio(free, free), None);
    }

    #[test]
    fn a_rate_includes_the_energy() {
        let rented = LifeCost::rented(MoneyPerHour::new(0.40), YEAR);
        assert_eq!((rented.total(), rented.energy()), (Money::new(3504.0), Money::new(0.0)));
    }

    proptest! {
        /// At the break-even ratio, an operation costs the same on both; above it, the new server is cheaper.
        #[test]
        fn the_break_even_ratio_breaks_even(
            new in 1.0..1e6, old in 1.0..1e6, energy in 0.0..1e5, years in 0.5..10.0, rate in 1.0..1e6, more in 1.01..10.0,
        ) {
            let life = YEAR * years;
            let cost = |price| LifeCost::bought(Money::new(price), Money::new(energy), life);
            let (new, old) = (cost(new), cost(old));
            let ratio = break_even_ratio(new, old).expect("it costs something");
            let a_million = |cost: LifeCost, rate| cost.of_a_million(OperationsPerSecond::new(rate) * life).value();
            prop_assert!((a_million(new, rate * ratio) / a_million(old, rate) - 1.0).abs() < 1e-9);
            prop_assert!(a_million(new, rate * ratio * more) < a_million(old, rate));
        }

        #[test]
        fn carbon_falls_with_the_operations_and_grows_with_everything_else(
            energy in 0.0..1e6, intensity in 0.0..1000.0, embodied in 0.0..1e7, operations in 1e6..1e12, more in 1.0..10.0,
        ) {
            let of = |energy, intensity, embodied, operations| carbon_of_a_million(
                KilowattHours::new(energy), GramsPerKilowattHour::new(intensity), Grams::new(embodied), Operations::new(operations),
            ).value();
            let carbon = of(energy, intensity, embodied, operations);
            prop_assert!(of(energy * more, intensity, embodied, operations) >= carbon);
            prop_assert!(of(energy, intensity * more, embodied, operations) >= carbon);
            prop_assert!(of(energy, intensity, embodied * more, operations) >= carbon);
            prop_assert!(of(energy, intensity, embodied, operations * more) <= carbon);
        }
    }
}
