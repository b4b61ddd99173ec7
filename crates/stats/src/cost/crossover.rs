//! From which load on one kind of server is cheaper than another, where servers come whole.

use crate::cost::quantity::{Money, OperationsPerSecond};

/// What one server of a kind costs over some time, and what it carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerKind {
    /// Its cost.
    pub cost: Money,
    /// What it carries.
    pub capacity: OperationsPerSecond,
}

/// Steps of a fleet that are looked at. Kinds whose costs for each operation differ by less than a part in so many are alike.
const MOST_STEPS: f64 = 100_000.0;

impl ServerKind {
    /// The least load above which the fleet of this kind never costs more than that of the other kind; 0 if it never does at all.
    /// `None` if there is no such load: an operation costs at least as much, or nearly as much.
    ///
    /// The fleet of n servers costs n × cost and carries n × capacity, so its cost over the load is a staircase. Above
    /// cost / (difference of the costs for each operation), even one server too many is cheaper; below, each step is looked at.
    ///
    /// A server of 300 that carries 1,000/s against one of 200 that carries 300/s: up to 300/s, one of the others is enough and
    /// cheaper; above, two of them cost 400.
    ///
    /// ```
    /// use stats::{cost::ServerKind, quantity::{Money, OperationsPerSecond}};
    /// let kind = |cost, per_s| ServerKind { cost: Money::new(cost), capacity: OperationsPerSecond::new(per_s) };
    /// let (large, small) = (kind(300.0, 1000.0), kind(200.0, 300.0));
    /// assert_eq!(large.cheaper_from(&small), Some(OperationsPerSecond::new(300.0)));
    /// assert_eq!(small.cheaper_from(&large), None);
    /// ```
    pub fn cheaper_from(&self, other: &Self) -> Option<OperationsPerSecond> {
        let of_one = |kind: &Self| kind.cost.value() / kind.capacity.value();
        let saved = of_one(other) - of_one(self);
        let steps = of_one(self) / saved;
        if !(0.0..MOST_STEPS).contains(&steps) {
            return None;
        }
        let mut from = 0.0_f64;
        for servers in 1..=steps.ceil() as u64 + 1 {
            let servers = servers as f64;
            // Between one server less and so many, the others are cheaper while fewer of them than this do.
            let alike = servers * self.cost.value() / other.cost.value();
            let others = (alike * (1.0 - 1e-12)).ceil() - 1.0;
            let last = (others * other.capacity.value()).min(servers * self.capacity.value());
            if last > (servers - 1.0) * self.capacity.value() {
                from = from.max(last);
            }
        }
        Some(OperationsPerSecond::new(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind(cost: f64, per_s: f64) -> ServerKind {
        ServerKind { cost: Money::new(cost), capacity: OperationsPerSecond::new(per_s) }
    }

    /// What the fleet costs that carries this load: whole servers.
    fn fleet_cost(kind: &ServerKind, load: OperationsPerSecond) -> Money {
        kind.cost * (load / kind.capacity).ceil().max(1.0)
    }

    #[test]
    fn a_kind_that_costs_less_and_carries_more_is_cheaper_at_any_load() {
        let none = OperationsPerSecond::new(0.0);
        assert_eq!(kind(100.0, 500.0).cheaper_from(&kind(200.0, 300.0)), Some(none));
        assert_eq!(kind(100.0, 300.0).cheaper_from(&kind(100.0, 300.0)), None, "alike");
        assert_eq!(kind(0.0, 300.0).cheaper_from(&kind(100.0, 300.0)), Some(none), "it is paid for");
    }

    #[test]
    fn a_later_step_may_be_the_last_one_that_is_dearer() {
        // 2 of the first carry 200 for 2,000; 1 of the others carries 110 for 1,150, 2 carry 220 for 2,300.
        let (a, b) = (kind(1000.0, 100.0), kind(1150.0, 110.0));
        let from = a.cheaper_from(&b).unwrap();
        assert!(fleet_cost(&a, from) > fleet_cost(&b, from), "{from:?}");
    }

    proptest! {
        #[test]
        fn above_it_the_kind_is_never_dearer_and_at_it_the_last_time(
            cost in 1.0..1e4, per_s in 1.0..1e5, other_cost in 1.0..1e4, other_per_s in 1.0..1e5, share in 0.0001..3.0,
        ) {
            let (a, b) = (kind(cost, per_s), kind(other_cost, other_per_s));
            if let Some(from) = a.cheaper_from(&b) {
                let load = OperationsPerSecond::new(from.value() * (1.0 + 1e-9) + share * per_s);
                prop_assert!(fleet_cost(&a, load).value() <= fleet_cost(&b, load).value() * (1.0 + 1e-9));
                if from.value() > 0.0 {
                    let at = OperationsPerSecond::new(from.value() * (1.0 - 1e-9));
                    prop_assert!(fleet_cost(&a, at).value() > fleet_cost(&b, at).value() * (1.0 - 1e-9));
                }
            }
        }
    }
}
