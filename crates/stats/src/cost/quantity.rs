//! Quantities of power, energy, space, money and carbon. The unit is in the type, so a wrong unit does not compile.
//!
//! Only products and quotients that mean something exist: power by time is energy, energy by its price is money. Texts such
//! as `0.4 kW` are parsed elsewhere; the currency is also known there, and one calculation has one currency.
//!
//! ```
//! use stats::quantity::{Hours, MoneyPerKilowattHour, Watts};
//! let a_day = Watts::new(250.0) * Hours::new(24.0);
//! let cost = a_day * MoneyPerKilowattHour::new(0.10);
//! assert!((a_day.value() - 6.0).abs() < 1e-12 && (cost.value() - 0.60).abs() < 1e-12);
//! ```
//!
//! Kilowatts where watts belong, and a price an hour where a price belongs, are errors of the compiler:
//!
//! ```compile_fail
//! use stats::quantity::{KilowattHours, Watts};
//! let wrong: Watts = KilowattHours::new(1.0);
//! ```
//!
//! ```compile_fail
//! use stats::quantity::{Money, MoneyPerHour};
//! let wrong = Money::new(100.0) + MoneyPerHour::new(0.40);
//! ```
//!
//! ```compile_fail
//! use stats::quantity::{MoneyPerHour, Watts};
//! let wrong = MoneyPerHour::new(0.40) * Watts::new(250.0);
//! ```

use std::ops::{Add, Div, Mul};

/// Hours of a year of 365 days.
pub const YEAR: Hours = Hours(8760.0);

/// Defines a quantity: a number of this unit, with the operations that keep the unit.
macro_rules! quantity {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// This many of the unit that the type names.
            pub const fn new(value: f64) -> Self {
                Self(value)
            }

            /// How many of the unit that the type names.
            pub const fn value(self) -> f64 {
                self.0
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self {
                Self(self.0 / divisor)
            }
        }

        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }
    };
}

/// Defines a product of two quantities, in both orders. The scale converts the units.
macro_rules! product {
    ($left:ident * $right:ident = $product:ident, scale $scale:expr) => {
        impl Mul<$right> for $left {
            type Output = $product;
            fn mul(self, other: $right) -> $product {
                $product(self.0 * other.0 * $scale)
            }
        }

        impl Mul<$left> for $right {
            type Output = $product;
            fn mul(self, other: $left) -> $product {
                other * self
            }
        }
    };
}

quantity!(
    /// Power, watts.
    Watts
);
quantity!(
    /// Electric current, amperes (root mean square).
    Amperes
);
quantity!(
    /// Voltage, volts (root mean square).
    Volts
);
quantity!(
    /// Energy, kilowatt-hours: 1 kWh is 3.6 MJ.
    KilowattHours
);
quantity!(
    /// Time, hours.
    Hours
);
quantity!(
    /// Operations per second.
    OperationsPerSecond
);
quantity!(
    /// A number of operations.
    Operations
);
quantity!(
    /// Height in a rack: one unit is 44.45 mm.
    RackUnits
);
quantity!(
    /// An amount of money, in the currency of the calculation.
    Money
);
quantity!(
    /// A price for an hour.
    MoneyPerHour
);
quantity!(
    /// A price of energy.
    MoneyPerKilowattHour
);
quantity!(
    /// A mass of carbon dioxide equivalents, grams.
    Grams
);
quantity!(
    /// Carbon dioxide equivalents of generated energy.
    GramsPerKilowattHour
);

product!(Amperes * Volts = Watts, scale 1.0);
product!(Watts * Hours = KilowattHours, scale 1e-3);
product!(KilowattHours * MoneyPerKilowattHour = Money, scale 1.0);
product!(KilowattHours * GramsPerKilowattHour = Grams, scale 1.0);
product!(MoneyPerHour * Hours = Money, scale 1.0);
product!(OperationsPerSecond * Hours = Operations, scale 3600.0);

/// Power usage effectiveness: the energy of the whole site over that of its computers, 1 or more. Cooling enters a
/// calculation here and nowhere else. Source: ISO/IEC 30134-2.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct PowerUsageEffectiveness(f64);

impl PowerUsageEffectiveness {
    /// `None` below 1, or above 10, which no site has.
    pub fn new(value: f64) -> Option<Self> {
        (1.0..=10.0).contains(&value).then_some(Self(value))
    }

    /// The ratio.
    pub const fn value(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn products_convert_their_units() {
        assert_eq!(Watts::new(1000.0) * Hours::new(1.0), KilowattHours::new(1.0));
        assert_eq!(Hours::new(1.0) * Watts::new(1000.0), KilowattHours::new(1.0));
        assert_eq!(OperationsPerSecond::new(2.0) * Hours::new(1.0), Operations::new(7200.0));
        assert_eq!(Amperes::new(2.0) * Volts::new(120.0), Watts::new(240.0));
    }

    #[test]
    fn a_site_cannot_use_less_than_its_computers() {
        assert!(PowerUsageEffectiveness::new(1.54).is_some());
        for wrong in [0.99, 54.0, f64::NAN] {
            assert_eq!(PowerUsageEffectiveness::new(wrong), None);
        }
    }

    proptest! {
        #[test]
        fn a_quotient_undoes_a_factor(value in 1e-6..1e9, factor in 1e-3..1e3) {
            let power = Watts::new(value);
            let error: f64 = power * factor / power / factor - 1.0;
            prop_assert!(error.abs() < 1e-9);
        }
    }
}
