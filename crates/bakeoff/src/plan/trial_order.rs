//! The order of trials. A block has one trial of every variant (in a sweep: of every variant at every point). The run's
//! seed determines a random order for each block.
//!
//! For two variants the order within a block is a fair coin toss, independent of the other blocks. The verdict's error
//! rate depends on that (decision 0002): do not alternate or balance the order.

use archive::model::Plan;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::plan::variant_point::VariantPoint;

/// A trial that is still to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledTrial {
    /// Its number in the order of time, from 1.
    pub number: u32,
    /// Its block, from 1.
    pub block: u32,
    /// Its place in the block, from 1.
    pub position: u32,
    /// Index of its variant and point, from 0.
    pub variant_point: usize,
}

/// Draws the order of a run's trials, block by block.
#[derive(Clone, Debug)]
pub struct TrialOrder {
    rng: Pcg64Mcg,
    trials: u32,
    blocks: u32,
}

impl TrialOrder {
    /// The order that a seed determines.
    pub fn new(seed: u32) -> Self {
        Self { rng: Pcg64Mcg::seed_from_u64(u64::from(seed)), trials: 0, blocks: 0 }
    }

    /// The next block: one trial of each of these.
    pub fn next_block(&mut self, variant_points: &[usize]) -> Vec<ScheduledTrial> {
        let mut permutation = variant_points.to_vec();
        permutation.shuffle(&mut self.rng);
        self.blocks += 1;
        let before = self.trials;
        self.trials += u32::try_from(permutation.len()).expect("a plan limits variants and points");
        let block = self.blocks;
        let trial = |(position, variant_point)| ScheduledTrial {
            number: before + position,
            block,
            position,
            variant_point,
        };
        (1..).zip(permutation).map(trial).collect()
    }
}

/// Most servers that are up together.
const MOST_TOGETHER: usize = 8;

/// The trials of a block in groups whose servers are up together. One trial each, where the plan has no turns. In a sweep
/// with many points, the variants at one point stay together, and the groups are about equal.
pub fn up_together(
    plan: &Plan,
    variant_points: &[VariantPoint],
    block: &[ScheduledTrial],
) -> Vec<Vec<ScheduledTrial>> {
    if plan.turns.is_none() {
        return block.iter().map(|scheduled| vec![*scheduled]).collect();
    }
    let point = |scheduled: &ScheduledTrial| &variant_points[scheduled.variant_point].point;
    let mut points: Vec<Vec<ScheduledTrial>> = Vec::new();
    for scheduled in block {
        match points.iter_mut().find(|group| point(&group[0]) == point(scheduled)) {
            Some(group) => group.push(*scheduled),
            None => points.push(vec![*scheduled]),
        }
    }
    in_groups(&points)
}

/// Joins the trials of points to groups of at most [`MOST_TOGETHER`], which differ by one point at most: nine points of one variant
/// are four and five. If the first groups were filled up, the ninth server would be up alone, with no neighbour that meets
/// the same state of the machine.
fn in_groups(points: &[Vec<ScheduledTrial>]) -> Vec<Vec<ScheduledTrial>> {
    let largest = points.iter().map(Vec::len).max().unwrap_or(1);
    let in_one = (MOST_TOGETHER / largest).max(1);
    let groups = points.len().div_ceil(in_one);
    let begin = |group: usize| group * points.len() / groups;
    (0..groups).map(|group| points[begin(group)..begin(group + 1)].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(variant_points: &[usize], blocks: usize, seed: u32) -> Vec<ScheduledTrial> {
        let mut order = TrialOrder::new(seed);
        (0..blocks).flat_map(|_| order.next_block(variant_points)).collect()
    }

    #[test]
    fn every_block_has_one_trial_of_each() {
        let trials = order(&[0, 1, 2], 5, 7);
        assert_eq!(trials.len(), 15);
        for block in 1..=5 {
            let in_block = trials.iter().filter(|trial| trial.block == block);
            let mut drawn: Vec<usize> = in_block.map(|trial| trial.variant_point).collect();
            drawn.sort_unstable();
            assert_eq!(drawn, [0, 1, 2]);
        }
        assert!(trials.iter().zip(1..).all(|(trial, number)| trial.number == number));
    }

    #[test]
    fn the_seed_alone_determines_the_order() {
        assert_eq!(order(&[0, 1], 20, 1), order(&[0, 1], 20, 1));
        assert_ne!(order(&[0, 1], 20, 1), order(&[0, 1], 20, 2));
    }

    #[test]
    fn each_variant_is_first_in_about_half_of_the_blocks() {
        let trials = order(&[0, 1], 1_000, 3);
        let firsts = trials.iter().filter(|trial| trial.position == 1 && trial.variant_point == 0).count();
        assert!((440..560).contains(&firsts), "{firsts}");
    }

    /// A plan over one axis with this many values, for two variants.
    fn sweep(values: usize, turns: &str) -> Plan {
        let values: Vec<String> = (1..=values).map(|value| value.to_string()).collect();
        format!(
            r#"
            format = 2
            showdown = "0.1.0"
            command = []
            kind = "sweep"
            workload = "static-web"
            length = "quick"
            seed = 1
            blocks = 3
            measure = {{ metric = "max_throughput" }}
            load = {{ connections = 64, threads = 1 }}
            cpus = {{ server = "0", client = "1" }}
            warm_up = {{ min = "1s", max = "10s" }}
            phases = {{ closed_loop = "1s", search_step = "1s", measure = "1s", curve_step = "1s" }}
            {turns}
            variants = [{{ name = "a", server = "nginx" }}, {{ name = "b", server = "nginx" }}]
            sweep = [{{ vary = "connections", values = [{}] }}]
            "#,
            values.join(", ")
        )
        .parse()
        .expect("a plan")
    }

    #[test]
    fn servers_of_a_block_are_up_together_in_groups_that_keep_a_point_together() {
        let plan = sweep(6, r#"turns = { load = "1s" }"#);
        let points = crate::plan::variant_point::variant_points(&plan);
        let block = order(&(0..12).collect::<Vec<_>>(), 1, 9);
        let groups = up_together(&plan, &points, &block);
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [6, 6]);
        for group in &groups {
            for scheduled in group {
                let point = |other: &ScheduledTrial| &points[other.variant_point].point;
                let together = group.iter().filter(|other| point(other) == point(scheduled)).count();
                assert_eq!(together, 2, "both variants at one point");
            }
        }
        assert_eq!(up_together(&sweep(6, ""), &points, &block).len(), 12, "without turns one at a time");
    }

    #[test]
    fn no_server_is_up_alone_because_the_others_fill_their_groups() {
        let cases: [(usize, &[usize]); 5] =
            [(2, &[2]), (8, &[8]), (9, &[4, 5]), (17, &[5, 6, 6]), (25, &[6, 6, 6, 7])];
        for (values, expected) in cases {
            let plan = sweep(values, r#"turns = { load = "1s" }"#);
            let points = crate::plan::variant_point::variant_points(&plan);
            // The trials of the first variant: those of a sweep with one.
            let block = order(&(0..values).collect::<Vec<_>>(), 1, 9);
            let groups = up_together(&plan, &points, &block);
            assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), expected);
            assert_eq!(groups.concat(), block, "each trial once, in its order");
        }
    }
}
