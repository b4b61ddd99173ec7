//! The three presets: how long a run takes, and the grounds for the numbers.
//!
//! | | quick | default | thorough |
//! |---|---|---|---|
//! | for two variants | about a minute | about five | about an hour |
//! | blocks | 7, and as many more where they settle nothing; 21 more where other programs disturb them | 20 | 40 |
//! | operations that are timed, where one takes minutes | 1 | 1 | 2 |
//!
//! - The signed-rank interval exists from six blocks on at 95 %, where it is the whole range of their ratios. From seven on it is
//!   not, and a quarter narrower (decision 0002). So `quick` has shorter trials rather than fewer blocks.
//! - `default` has short trials too: trials longer than a few seconds hardly vary less (decision 0006).
//! - Warm-up and closed loop give at least 60 observations: [`stats::steady`] does not evaluate fewer than 50.
//! - Servers in turns need no long phases: a block spends most of its time in slices, whose length follows from the load.
//!   Closed loops have more of it, because they need no search: as much as fits into a minute (decision 0009).
//!   A server that is up alone searches its capacity for as long as ten steps.
//! - Where a capacity is searched, the closed loop before it is a part of the measurement: it is as long in each block (decision 0061), and
//!   each third block has a lasting one (decision 0062).
//! - Users who wait between operations need a warm-up of two mean delays: all of them begin with the first operation, and before that
//!   a measurement has too much of it. They are then measured for one mean delay at least.

use std::time::Duration;

use archive::model::{PhaseLengths, PlannedPower, PlannedStudy, RunLength, WarmUpLimits};

use crate::limits::MOST_BLOCKS;
use crate::warm_up_loop::lasting_in_each_block;

/// The numbers of a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Trials of each variant.
    pub blocks: u32,
    /// Whether a comparison has as many blocks again where these settle nothing.
    pub goes_on: bool,
    /// Limits of the warm-up.
    pub warm_up: WarmUpLimits,
    /// Time of lasting loops that a block has on average; 0 where no capacity is searched.
    pub lasting: Duration,
    /// Length of each phase.
    pub phases: PhaseLengths,
    /// Time under load of each server in a block, where servers are loaded in turns.
    pub turns: Duration,
    /// Number of operations that are timed, where they are timed one at a time.
    pub operations: u32,
}

/// How long servers are studied that a run explains. The quick study of one server takes about a minute, the thorough one ten.
pub fn study(length: RunLength) -> PlannedStudy {
    let (slice, plain_slices, pairs, profiled_slice, profiled_rounds) = match length {
        RunLength::Quick => (250, 4, 6, 1_000, 4),
        RunLength::Default => (1_000, 5, 4, 2_000, 6),
        RunLength::Thorough => (1_000, 10, 10, 2_000, 12),
    };
    let ms = Duration::from_millis;
    let (slice, profiled_slice) = (ms(slice), ms(profiled_slice));
    PlannedStudy {
        slice,
        plain_slices,
        experiments: 3,
        pairs,
        profiled_slice,
        profiled_rounds,
        slow_requests: false,
    }
}

/// The levels of `SPECpower_ssj2008`: from the full load down in tenths. Active idle follows.
pub const LOAD_LEVELS: [f64; 10] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1];

/// The levels of load at which watts are measured, and their lengths. `SPECpower_ssj2008` measures each for 240 s; here the
/// trials repeat them. Meters of racks and machines average over some seconds, so the load settles before.
pub fn power(length: RunLength, all_levels: bool) -> PlannedPower {
    let (settle, measure) = match length {
        RunLength::Quick => (1, 4),
        RunLength::Default => (3, 7),
        RunLength::Thorough => (10, 30),
    };
    let levels = if all_levels { LOAD_LEVELS.to_vec() } else { vec![1.0] };
    PlannedPower { levels, settle: Duration::from_secs(settle), measure: Duration::from_secs(measure) }
}

/// Least number of observations of a closed loop.
const OBSERVATIONS: u32 = 60;
/// Telemetry period of the quick preset: a trial of a few seconds needs more than one sample per second.
const QUICK_TELEMETRY: Duration = Duration::from_millis(250);
/// Telemetry period of the other presets: 1 Hz.
const TELEMETRY: Duration = Duration::from_secs(1);

/// Warm-ups may be this much shorter than a closed loop, where a server has been seen to need no more.
const SHORTEST_WARM_UP: u32 = 2;

/// Fewest blocks whose ranks give an interval of 95 % that is narrower than their range (decision 0002).
const BLOCKS_FOR_RANKS: u32 = 7;
/// About how long servers take to start, to load their data and to stop.
const START: Duration = Duration::from_secs(2);
/// Turns take this much longer than the time under load.
const TURN_COST: f64 = 1.25;
/// Closed loops load each server for this much longer: quick comparisons take about a minute with it.
const CLOSED_LOOP_TURNS: f64 = 1.4;
/// Shortest time under load of a server in a block.
const SHORTEST_TURNS: Duration = Duration::from_secs(1);

/// Warm-up of users who wait, in mean delays: the first one spreads them, in the second they reach the other operations.
const DELAYS_BEFORE_USERS: u32 = 2;
/// Longest warm-up that delays ask for.
const LONGEST_BEFORE_USERS: Duration = Duration::from_secs(30);

/// A sweep has fewer blocks: it has many points, and its curve is read as a whole.
const SWEEP_BLOCKS: u32 = 3;

impl Preset {
    /// The preset of a comparison.
    pub fn of(length: RunLength) -> Self {
        let ms = Duration::from_millis;
        let (blocks, most, phases, turns, operations) = match length {
            RunLength::Quick => (7, 10_000, [1_200, 250, 500, 200], 2_000, 1),
            RunLength::Default => (20, 60_000, [2_000, 1_000, 2_000, 1_000], 5_000, 1),
            RunLength::Thorough => (40, 180_000, [8_000, 2_000, 15_000, 2_000], 15_000, 2),
        };
        let [closed_loop, search_step, measure, curve_step] = phases.map(ms);
        Self {
            blocks,
            goes_on: length == RunLength::Quick,
            warm_up: WarmUpLimits { min: closed_loop / SHORTEST_WARM_UP, max: ms(most) },
            lasting: Duration::ZERO,
            phases: PhaseLengths { closed_loop, search_step, measure, curve_step },
            turns: ms(turns),
            operations,
        }
    }

    /// The same for closed loops.
    #[must_use]
    pub fn of_closed_loops(self) -> Self {
        Self { turns: self.turns.mul_f64(CLOSED_LOOP_TURNS), ..self }
    }

    /// The same for capacities. The closed loop before a search is as long in each block as in the first one: the standstills of the loop are
    /// a part of what is measured.
    #[must_use]
    pub fn of_capacities(self) -> Self {
        let lasting = lasting_in_each_block(self.phases.closed_loop);
        Self { warm_up: WarmUpLimits { min: self.phases.closed_loop, ..self.warm_up }, lasting, ..self }
    }

    /// The number of blocks, and the time under load of each server in a block, for a run of about this long with this many
    /// servers in a block. Blocks are restarts, on which the verdict rests: at least seven, and not more than it takes for a
    /// block to spend most of its time under load.
    pub fn blocks_for(&self, time: Duration, servers: u32) -> (u32, Duration) {
        let servers = servers.max(1);
        let before = self.before_turns(servers);
        let block = self.block(servers, self.turns);
        let blocks = time.as_nanos() / block.as_nanos().max(1);
        let blocks = u32::try_from(blocks).unwrap_or(MOST_BLOCKS).clamp(BLOCKS_FOR_RANKS, MOST_BLOCKS);
        let under_load = (time / blocks).saturating_sub(before).div_f64(TURN_COST) / servers;
        (blocks, under_load.max(SHORTEST_TURNS).min(self.turns))
    }

    /// About how long the shortest run takes that [`Preset::blocks_for`] has for this many servers in a block.
    pub fn shortest_run(&self, servers: u32) -> Duration {
        self.block(servers.max(1), SHORTEST_TURNS) * BLOCKS_FOR_RANKS
    }

    /// About how long a block takes, with each of these servers under load for this long.
    fn block(&self, servers: u32, turns: Duration) -> Duration {
        self.before_turns(servers) + (turns * servers).mul_f64(TURN_COST)
    }

    /// The same for users with this mean delay between their operations. Slices stay as short: users go on in the next one where they were.
    #[must_use]
    pub fn of_users(self, mean_delay: Duration) -> Self {
        // In whole tenths of a second, which are easier to read in a plan.
        let tenths = u32::try_from(mean_delay.as_millis().div_ceil(100)).unwrap_or(u32::MAX);
        let mean_delay = Duration::from_millis(100).saturating_mul(tenths);
        let before = mean_delay.saturating_mul(DELAYS_BEFORE_USERS).min(LONGEST_BEFORE_USERS);
        let least = self.warm_up.min.max(before);
        Self {
            warm_up: WarmUpLimits { min: least, max: self.warm_up.max.max(least * 2) },
            turns: self.turns.max(mean_delay.min(LONGEST_BEFORE_USERS)),
            ..self
        }
    }

    /// About how long these servers take before they are loaded in turns.
    fn before_turns(&self, servers: u32) -> Duration {
        START + (self.warm_up.min + self.lasting) * servers
    }

    /// The preset of a sweep.
    pub fn of_sweep(length: RunLength) -> Self {
        let preset = Self::of(length);
        Self { blocks: preset.blocks.min(SWEEP_BLOCKS), goes_on: false, ..preset }
    }
}

/// Length of a search step, in multiples of the time limit of the objective.
const STEP_OVER_LIMIT: f64 = 10.0;

/// These phases, made long enough for an objective with this time limit. In a step as short as the limit, even a queue
/// that grows without bound stays within it, and the search result is arbitrary: with steps of 250 ms, five of twelve
/// trials of mail servers found no rate. In a step of ten times the limit, a rate 10 % too high misses the objective.
pub fn long_enough_for(limit_us: f64, phases: &PhaseLengths) -> PhaseLengths {
    let least = Duration::from_secs_f64(limit_us / 1e6 * STEP_OVER_LIMIT);
    let search_step = phases.search_step.max(least);
    PhaseLengths { search_step, measure: phases.measure.max(2 * least), ..phases.clone() }
}

/// Length of one observation in a phase of this length.
pub fn interval_of(phase: Duration) -> Duration {
    (phase / OBSERVATIONS).clamp(Duration::from_millis(10), Duration::from_millis(100))
}

/// Time between two samples of telemetry.
pub fn telemetry_period(length: RunLength) -> Duration {
    if length == RunLength::Quick { QUICK_TELEMETRY } else { TELEMETRY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_objective_has_longer_steps() {
        let quick = Preset::of(RunLength::Quick).phases;
        assert_eq!(long_enough_for(5_000.0, &quick), quick);
        let of_mail = long_enough_for(200_000.0, &quick);
        assert_eq!((of_mail.search_step.as_secs(), of_mail.measure.as_secs()), (2, 4));
    }

    #[test]
    fn users_who_wait_walk_for_two_delays_before_they_are_measured() {
        let quick = || Preset::of(RunLength::Quick);
        let of_users = quick().of_users(Duration::from_millis(4_967));
        let lengths = [of_users.warm_up.min, of_users.warm_up.max, of_users.turns];
        assert_eq!(lengths.map(|length| length.as_secs()), [10, 20, 5]);
        assert_eq!(
            quick().of_users(Duration::from_millis(10)),
            quick(),
            "it is long enough for short delays"
        );
        let slow = quick().of_users(Duration::from_hours(1));
        assert_eq!((slow.warm_up.min, slow.turns), (LONGEST_BEFORE_USERS, LONGEST_BEFORE_USERS));
    }

    #[test]
    fn a_run_of_a_given_time_has_at_least_seven_blocks() {
        let default = Preset::of(RunLength::Default);
        let (blocks, turns) = default.blocks_for(Duration::from_mins(10), 2);
        assert!((30..50).contains(&blocks) && turns == default.turns, "{blocks} {turns:?}");
        let (blocks, turns) = default.blocks_for(Duration::from_mins(1), 2);
        assert!(blocks == 7 && turns < default.turns, "{turns:?}");
        assert_eq!(default.blocks_for(Duration::ZERO, 0), (7, SHORTEST_TURNS));
        assert_eq!(default.blocks_for(default.shortest_run(2), 2), (7, SHORTEST_TURNS));
    }

    #[test]
    fn closed_loops_load_their_servers_for_longer() {
        let quick = Preset::of(RunLength::Quick);
        let closed = quick.clone().of_closed_loops();
        assert!(closed.turns > quick.turns);
        assert_eq!(Preset { turns: quick.turns, ..closed }, quick, "all else is the same");
    }

    #[test]
    fn every_closed_loop_has_enough_observations_for_the_steady_state_check() {
        for length in [RunLength::Quick, RunLength::Default, RunLength::Thorough] {
            let preset = Preset::of(length);
            for phase in [preset.phases.closed_loop, preset.warm_up.min] {
                let observations = phase.as_nanos() / interval_of(phase).as_nanos();
                assert!(
                    observations >= stats::steady::FEWEST_OBSERVATIONS as u128,
                    "{length:?}: {observations}"
                );
            }
        }
    }
}
