//! Which machine of a kind a block uses. Machines of each kind are put in a random order; the first of each kind are one set,
//! the second the next. Blocks take the sets in turns. So each set has as many blocks, and the replicate of a verdict about
//! kinds is the set.

use std::collections::BTreeSet;

use archive::model::{FEWEST_OF_A_KIND, Plan, PlannedHost, Variant};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// The number of sets: machines of the smallest kind. None where no variant names a kind.
#[expect(clippy::cast_possible_truncation, reason = "the hosts of a plan are lines that a user wrote")]
pub fn sets(plan: &Plan) -> Option<u32> {
    let of_kinds = plan.variants.iter().filter(|variant| variant.kind().is_some());
    of_kinds.map(|variant| free(plan, variant).count() as u32).min()
}

/// The machines of a variant; of a kind, those that make no load.
fn free<'p>(plan: &'p Plan, variant: &Variant) -> impl Iterator<Item = &'p PlannedHost> {
    let has_kind = variant.kind().is_some();
    plan.hosts_of(variant).filter(move |host| !has_kind || !plan.clients.contains(&host.name))
}

/// The number of sets where the verdict of a plan is about kinds, because it has enough machines of each.
pub fn sets_of_kinds(plan: &Plan) -> Option<u32> {
    sets(plan).filter(|sets| *sets >= FEWEST_OF_A_KIND)
}

/// The set of a block, counted from 0.
pub fn set_of(block: u32, sets: u32) -> u32 {
    block.saturating_sub(1) % sets.max(1)
}

/// The machine of a variant in each set; one where it names a machine. Variants of the same kind have the same machine.
pub fn machines<'p>(plan: &'p Plan, variant: &Variant) -> Vec<&'p PlannedHost> {
    let mut of_variant: Vec<&PlannedHost> = free(plan, variant).collect();
    if let Some(kind) = variant.kind() {
        let kinds: BTreeSet<&str> = plan.variants.iter().filter_map(Variant::kind).collect();
        let place = kinds.iter().position(|other| *other == kind).unwrap_or_default();
        let seed = u64::from(plan.seed) << 32 | place as u64;
        of_variant.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
        of_variant.truncate(sets(plan).unwrap_or(1) as usize);
    }
    of_variant
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::{PLAN, planned_host};

    fn of_kinds(small: usize, large: usize) -> Plan {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        for (kind, count) in [("small", small), ("large", large)] {
            plan.hosts.extend((0..count).map(|at| PlannedHost {
                kind: Some(kind.to_owned()),
                ..planned_host(&format!("{kind}-{at}"), "10.1.0.5")
            }));
        }
        for (variant, kind) in plan.variants.iter_mut().zip(["small", "large"]) {
            variant.host = Some(format!("kind:{kind}"));
        }
        plan
    }

    #[test]
    fn each_set_has_another_machine_of_each_kind() {
        let plan = of_kinds(6, 8);
        assert_eq!((sets(&plan), sets_of_kinds(&plan)), (Some(6), Some(6)));
        for variant in &plan.variants[..2] {
            let names: BTreeSet<&String> = machines(&plan, variant).iter().map(|host| &host.name).collect();
            assert_eq!(names.len(), 6);
            assert!(names.iter().all(|name| name.starts_with(variant.kind().expect("a kind"))));
        }
        let sets_of_blocks: Vec<u32> = (1..=8).map(|block| set_of(block, 6)).collect();
        assert_eq!(sets_of_blocks, [0, 1, 2, 3, 4, 5, 0, 1]);
    }

    #[test]
    fn the_order_follows_from_the_seed_and_differs_by_kind() {
        let orders = |seed| {
            let plan = Plan { seed, ..of_kinds(8, 8) };
            let order = |variant: &Variant| {
                machines(&plan, variant).iter().map(|host| host.name[6..].to_owned()).collect::<Vec<_>>()
            };
            (order(&plan.variants[0]), order(&plan.variants[1]))
        };
        assert_eq!(orders(7), orders(7));
        assert!((0..20).any(|seed| orders(seed) != orders(seed + 1)));
        assert!((0..20).any(|seed| orders(seed).0 != orders(seed).1));
    }

    #[test]
    fn a_named_machine_is_in_every_set() {
        let mut plan = of_kinds(3, 1);
        plan.variants[1].host = Some("large-0".to_owned());
        assert_eq!((sets(&plan), sets_of_kinds(&plan)), (Some(3), None));
        assert_eq!(machines(&plan, &plan.variants[1]).len(), 1);
        plan.clients = vec!["small-2".to_owned(), "large-0".to_owned()];
        assert_eq!(sets(&plan), Some(2), "a client is not drawn");
        plan.variants[0].host = Some("small-1".to_owned());
        assert_eq!((sets(&plan), sets_of_kinds(&plan)), (None, None));
    }
}
