//! How many servers carry a load.

use crate::cost::quantity::OperationsPerSecond;
use thiserror::Error;

/// Most servers of a fleet: beyond it, one server's capacity says nothing about the fleet's.
const MOST_SERVERS: f64 = 1e6;

/// What a fleet must withstand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetRule {
    headroom: f64,
    spares: u32,
    zones: u32,
}

/// Why there is no fleet.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FleetRuleError {
    /// The share of capacity that stays free.
    #[error("a headroom of {0} is not a share from 0 to below 1")]
    Headroom(f64),
    /// No zone.
    #[error("a fleet has at least 1 zone")]
    NoZone,
    /// A load or a capacity without meaning.
    #[error("{0} operations/s is not above 0: a fleet needs a load and a capacity")]
    NotPositive(f64),
    /// Too many servers.
    #[error("more than a million servers: check the load and the measured capacity")]
    TooMany,
}

/// The servers of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fleet {
    /// All of them.
    pub servers: u64,
    /// Those that carry the load, in each zone.
    pub in_a_zone: u64,
}

impl FleetRule {
    /// Headroom is the share of the measured capacity that stays free. With two zones or more, the fleet withstands the
    /// loss of one. Spares come on top, for all zones together.
    pub fn new(headroom: f64, spares: u32, zones: u32) -> Result<Self, FleetRuleError> {
        match () {
            () if !(0.0..1.0).contains(&headroom) => Err(FleetRuleError::Headroom(headroom)),
            () if zones == 0 => Err(FleetRuleError::NoZone),
            () => Ok(Self { headroom, spares, zones }),
        }
    }

    /// The operations per second that one server is given of this capacity.
    pub fn usable(&self, capacity: OperationsPerSecond) -> OperationsPerSecond {
        capacity * (1.0 - self.headroom)
    }

    /// The fleet that carries `peak`: ⌈peak / (zones − 1) / (capacity × (1 − headroom))⌉ servers in each zone, and the spares. With one
    /// zone, the divisor zones − 1 is 1.
    ///
    /// `capacity` is the lower confidence bound of what one server sustained within the objective, never a figure derived from CPU
    /// utilisation, to which throughput is not proportional. Source of the zones: B. Weiss & M. Furr, "Static stability using
    /// Availability Zones", Amazon Builders' Library. 120,000/s with 30 % headroom, 1 spare and 3 zones on servers of 13,000/s:
    /// 60,000 / 9,100 = 6.6, so 7 in each zone, 22 in all.
    ///
    /// ```
    /// use stats::{cost::{Fleet, FleetRule}, quantity::OperationsPerSecond};
    /// let rule = FleetRule::new(0.30, 1, 3)?;
    /// let fleet = rule.servers(OperationsPerSecond::new(120_000.0), OperationsPerSecond::new(13_000.0))?;
    /// assert_eq!(fleet, Fleet { servers: 22, in_a_zone: 7 });
    /// # Ok::<(), stats::cost::FleetRuleError>(())
    /// ```
    pub fn servers(
        &self,
        peak: OperationsPerSecond,
        capacity: OperationsPerSecond,
    ) -> Result<Fleet, FleetRuleError> {
        for rate in [peak.value(), capacity.value()] {
            if rate.is_nan() || rate <= 0.0 {
                return Err(FleetRuleError::NotPositive(rate));
            }
        }
        let carrying = f64::from(self.zones.max(2) - 1);
        let exact = peak / self.usable(capacity) / carrying;
        if exact > MOST_SERVERS {
            return Err(FleetRuleError::TooMany);
        }
        // A quotient that is a whole number but for rounding is that number.
        let in_a_zone = ((exact * (1.0 - 1e-12)).ceil() as u64).max(1);
        Ok(Fleet { servers: in_a_zone * u64::from(self.zones) + u64::from(self.spares), in_a_zone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: OperationsPerSecond = OperationsPerSecond::new(1.0);

    #[test]
    fn mistakes_are_refused() {
        for wrong in [1.0, -0.1, f64::NAN] {
            assert!(matches!(FleetRule::new(wrong, 0, 1), Err(FleetRuleError::Headroom(_))));
        }
        assert_eq!(FleetRule::new(0.3, 0, 0), Err(FleetRuleError::NoZone));
        let rule = FleetRule::new(0.0, 0, 1).unwrap();
        assert_eq!(rule.servers(ONE, ONE * 0.0), Err(FleetRuleError::NotPositive(0.0)));
        assert_eq!(rule.servers(ONE * 1e9, ONE), Err(FleetRuleError::TooMany));
    }

    #[test]
    fn whole_quotients_need_no_extra_server() {
        let rule = FleetRule::new(0.3, 0, 1).unwrap();
        // 0.7 × 10 is 7.000000000000001 or 6.999999999999999, by the order of the multiplication.
        assert_eq!(rule.servers(ONE * 21.0, ONE * 10.0).map(|fleet| fleet.servers), Ok(3));
    }

    proptest! {
        /// After the loss of a zone, the servers that are left carry the peak within their usable capacity, and one server
        /// less in each zone would not.
        #[test]
        fn the_fleet_is_enough_and_no_larger(
            peak in 1.0..1e6, capacity in 100.0..1e5, headroom in 0.0..0.9, spares in 0..5_u32, zones in 1..6_u32,
        ) {
            let rule = FleetRule::new(headroom, spares, zones).expect("a rule");
            let (peak, capacity) = (OperationsPerSecond::new(peak), OperationsPerSecond::new(capacity));
            let fleet = rule.servers(peak, capacity).expect("a fleet");
            let left = f64::from(if zones > 1 { zones - 1 } else { 1 });
            let carried = |in_a_zone: u64| rule.usable(capacity).value() * left * in_a_zone as f64;
            prop_assert!(carried(fleet.in_a_zone) >= peak.value() * (1.0 - 1e-9));
            prop_assert!(fleet.in_a_zone == 1 || carried(fleet.in_a_zone - 1) < peak.value());
            prop_assert_eq!(fleet.servers, fleet.in_a_zone * u64::from(zones) + u64::from(spares));
        }
    }
}
