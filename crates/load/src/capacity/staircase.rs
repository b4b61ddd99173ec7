//! The capacities of one or several servers from many short slices of load: which rate each server gets next, and what the
//! outcomes say. Pure, so that tests run it against scripted servers.
//!
//! | stage | what happens |
//! |---|---|
//! | approach | each server's rate climbs while it meets the objective and falls while it misses it, in strides that are halved at each turn, and doubled where several lead in one direction (PEST: Taylor and Creelman, Journal of the Acoustical Society of America 41, 1967) |
//! | rounds | each round has one slice of every server. All rates follow the machine: together they climb where most servers met the objective, and fall where most missed it. A server whose outcome differs from the others' moves against them. One that has the same outcome several times in a row is not near its capacity: it is approached again |
//!
//! The capacity is the rate at which half of the slices miss the objective (an exceed ratio of 50 % in RFC 9971). Half,
//! because on a noisy machine a slice in which something else held up the server says nothing about its capacity, and up
//! to half of the slices may be such ones. [`stats::thresholds`] computes it from the rounds; the rounds only choose the rates.
//!
//! A slice in which the client was the limit says nothing about the server: its round does not count, and the rate is tried
//! again. A rate at which that happens several times in a row is one that the client cannot offer.

use stats::confidence::{Confidence, ConfidenceInterval};
use stats::describe::Sample;
use stats::thresholds::{Response, intervals, thresholds};

use super::evaluate::StepOutcome;
use crate::inputs::slo::Slo;

/// First rate, as a share of the throughput of a closed loop. It is under the capacity of most servers, so that a search does
/// not begin with an overload, and within one stride of it.
const FIRST_SHARE: f64 = 0.8;
/// There is no search for a capacity below this share of the first rate.
const LOWEST_SHARE: f64 = 1e-3;
/// Slices in a row in which the client was the limit, until the client cannot offer that rate.
const CLIENT_LIMITED_TRIES: usize = 3;
/// Factor between the first rates.
const STRIDE: f64 = 1.5;
/// Factor between the first rates where an earlier search of the same server has found its capacity.
const STRIDE_NEAR: f64 = 1.12;
/// The approach ends with this factor. It is about how far the speed of a shared machine is off from one slice to the next.
const FOLLOWING: f64 = 1.06;
/// From this many steps in one direction on, strides of the approach are doubled: something disturbed the slices before.
const LONG_WAY: u32 = 3;
/// A server whose slices have the same outcome this many times in a row is approached again. Where a disturbance has ended an
/// approach far off, the steps of the rounds are too short to get back in time: of blocks of 24 rounds in which one server was
/// disturbed at first, 18 % were wrong by more than a fifth in a simulation, with this rule 2 % (decision 0009).
const FAR: u32 = 5;
/// How far, as a logarithm, a server moves against the others at first, and at the least. Wide steps scatter the rates, so
/// that the rounds tell more.
const APART_FIRST: f64 = 0.1;
const APART_LEAST: f64 = 0.05;
/// After about this many rounds the steps apart are half as wide.
const APART_ROUNDS: f64 = 4.0;
/// Rounds whose level is further from the median one, as a logarithm, do not count.
const NEARBY: f64 = 0.5;
/// A capacity needs this many rounds.
const FEWEST_ROUNDS: usize = 6;

/// Where the rates of a server begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FirstGuess {
    /// Throughput of a closed loop with the same connections, operations a second.
    ClosedLoop(f64),
    /// Capacity of an earlier trial of the same server, operations a second. The rates change in smaller strides.
    EarlierTrial(f64),
}

/// What the slices of a server say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlicedCapacity {
    /// The highest rate that meets the objective, operations a second.
    Found(f64),
    /// The same, but mostly the client was the limit: the capacity is at least this.
    AtLeast(f64),
    /// No rate that was tried met the objective.
    NoRateMeets,
    /// Too few slices say something: in the others, the client was the limit.
    Unknown,
}

/// The reason that is reported where the client set the highest rate.
const CLIENT_WAS_THE_LIMIT: &str = "the client was the limit of the search: the server's capacity is at least this: give the client more threads and cores";

impl SlicedCapacity {
    /// Why it is not known, or not exactly; none if it is.
    pub fn reason(self, slo: &Slo) -> Option<String> {
        match self {
            Self::Found(_) => None,
            Self::AtLeast(_) => Some(CLIENT_WAS_THE_LIMIT.to_owned()),
            Self::NoRateMeets => Some(format!("no rate that was tried meets {slo}: relax the objective")),
            Self::Unknown => Some(
                "the search found no capacity: in most rounds the client was the limit: give it more threads and cores"
                    .to_owned(),
            ),
        }
    }

    /// The rate that was found, also where the client was the limit.
    pub fn rate_per_s(self) -> Option<f64> {
        match self {
            Self::Found(rate) | Self::AtLeast(rate) => Some(rate),
            Self::NoRateMeets | Self::Unknown => None,
        }
    }
}

/// The rates of servers that are loaded in turns.
#[derive(Clone, Debug)]
pub struct Staircase {
    servers: Vec<ServerRate>,
    rounds: Vec<Vec<Option<Response>>>,
}

#[derive(Clone, Debug)]
struct ServerRate {
    /// Logarithms.
    rate: f64,
    lowest: f64,
    stride: f64,
    /// Of the slices that say something: whether the last one missed the objective, whether the one before did not do the same,
    /// and how many in a row did.
    last_missed: Option<bool>,
    turned: bool,
    in_row: u32,
    given_up: bool,
    client_limited_in_row: usize,
    /// Slices that missed the objective, and those in which the client was the limit: of the rounds, once there are any.
    misses: u32,
    client_limited: u32,
}

impl Staircase {
    /// One server for each guess.
    pub fn new(guesses: &[FirstGuess]) -> Self {
        let server = |guess: &FirstGuess| {
            let (rate, stride) = match *guess {
                FirstGuess::ClosedLoop(throughput) => (FIRST_SHARE * throughput, STRIDE),
                FirstGuess::EarlierTrial(capacity) => (capacity, STRIDE_NEAR),
            };
            let rate = rate.max(f64::MIN_POSITIVE).ln();
            ServerRate {
                rate,
                lowest: rate + LOWEST_SHARE.ln(),
                stride: stride.ln(),
                last_missed: None,
                turned: false,
                in_row: 0,
                given_up: false,
                client_limited_in_row: 0,
                misses: 0,
                client_limited: 0,
            }
        };
        Self { servers: guesses.iter().map(server).collect(), rounds: Vec::new() }
    }

    /// The rate of each server in the next round, operations a second. None for one that meets the objective at no rate.
    pub fn rates(&self) -> Vec<Option<f64>> {
        self.servers.iter().map(|server| (!server.given_up).then(|| server.rate.exp())).collect()
    }

    /// Whether every server is near its capacity, so that the rounds count.
    pub fn is_near(&self) -> bool {
        self.servers.iter().all(ServerRate::is_near)
    }

    /// Rounds that count so far.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// Records a round at [`Staircase::rates`]: an outcome for each server that has a rate.
    pub fn record(&mut self, outcomes: &[Option<StepOutcome>]) {
        let is_counting = self.is_near();
        if is_counting && self.rounds.is_empty() {
            self.servers.iter_mut().for_each(|server| (server.misses, server.client_limited) = (0, 0));
        }
        let missed: Vec<Option<bool>> = self
            .servers
            .iter_mut()
            .zip(outcomes)
            .map(|(server, outcome)| server.missed((*outcome)?))
            .collect();
        if is_counting {
            self.record_round(&missed);
            self.servers.iter_mut().for_each(ServerRate::approach_again_if_far);
        } else {
            for (server, missed) in self.servers.iter_mut().zip(missed) {
                server.approach(missed);
            }
        }
    }

    fn record_round(&mut self, missed: &[Option<bool>]) {
        let taking_part = self.servers.iter().filter(|server| !server.given_up).count();
        let known: Vec<f64> = missed.iter().flatten().map(|missed| f64::from(u8::from(*missed))).collect();
        if known.len() < taking_part || known.is_empty() {
            return;
        }
        let share = known.iter().sum::<f64>() / known.len() as f64;
        let after = self.rounds.len() as f64;
        let apart = (APART_FIRST * APART_ROUNDS / (APART_ROUNDS + after)).max(APART_LEAST);
        let mut round = Vec::with_capacity(missed.len());
        for (server, missed) in self.servers.iter_mut().zip(missed) {
            round.push(missed.map(|failed| Response { level: server.rate, failed }));
            if let Some(missed) = missed {
                let against_others = share - f64::from(u8::from(*missed));
                server.rate += FOLLOWING.ln() * (1.0 - 2.0 * share) + apart * against_others;
                server.rate = server.rate.max(server.lowest);
            }
        }
        self.rounds.push(round);
    }

    /// What the rounds say of each server.
    pub fn capacities(&self) -> Vec<SlicedCapacity> {
        let rounds = self.rounds_nearby();
        let found = if rounds.len() >= FEWEST_ROUNDS { thresholds(&rounds) } else { Vec::new() };
        let of_server = |(index, server): (usize, &ServerRate)| match found.get(index).copied().flatten() {
            _ if server.given_up && server.client_limited > server.misses => SlicedCapacity::Unknown,
            _ if server.given_up => SlicedCapacity::NoRateMeets,
            Some(rate) if server.client_limited > server.misses => SlicedCapacity::AtLeast(rate.exp()),
            Some(rate) => SlicedCapacity::Found(rate.exp()),
            None => SlicedCapacity::Unknown,
        };
        self.servers.iter().enumerate().map(of_server).collect()
    }

    /// The rounds at whose levels most others were too. A disturbance may end an approach far off; what the slices there say is
    /// not of the capacity, and two servers with different outcomes there would weigh much.
    fn rounds_nearby(&self) -> Vec<Vec<Option<Response>>> {
        let median = |server: usize| {
            let levels = self.rounds.iter().filter_map(|round| Some(round[server]?.level));
            Some(Sample::new(&levels.collect::<Vec<f64>>()).ok()?.median())
        };
        let medians: Vec<Option<f64>> = (0..self.servers.len()).map(median).collect();
        let is_nearby = |(response, median): (&Option<Response>, &Option<f64>)| {
            response.zip(*median).is_none_or(|(response, median)| (response.level - median).abs() <= NEARBY)
        };
        let rounds = self.rounds.iter().filter(|round| round.iter().zip(&medians).all(is_nearby));
        rounds.cloned().collect()
    }

    /// The 95 % interval of each capacity, operations a second: how far it scatters over the parts of the search. None where
    /// there are too few rounds.
    pub fn intervals(&self) -> Vec<Option<ConfidenceInterval>> {
        let found = intervals(&self.rounds_nearby(), Confidence::P95);
        let rates = |interval: ConfidenceInterval| ConfidenceInterval {
            low: interval.low.exp(),
            high: interval.high.exp(),
        };
        (0..self.servers.len()).map(|index| found.get(index).copied().flatten().map(rates)).collect()
    }
}

impl ServerRate {
    fn is_near(&self) -> bool {
        self.given_up || self.stride <= FOLLOWING.ln()
    }

    /// Whether a slice missed the objective. None where it says nothing.
    fn missed(&mut self, outcome: StepOutcome) -> Option<bool> {
        let is_client_limited = outcome == StepOutcome::ClientLimited;
        self.client_limited_in_row = if is_client_limited { self.client_limited_in_row + 1 } else { 0 };
        if is_client_limited && self.client_limited_in_row < CLIENT_LIMITED_TRIES {
            return None;
        }
        self.client_limited += u32::from(is_client_limited);
        self.misses += u32::from(outcome == StepOutcome::Missed);
        let missed = outcome != StepOutcome::Met;
        self.turned = self.last_missed.is_some_and(|last| last != missed);
        self.in_row = if self.turned { 1 } else { self.in_row + 1 };
        self.last_missed = Some(missed);
        Some(missed)
    }

    fn approach(&mut self, missed: Option<bool>) {
        let Some(missed) = missed.filter(|_| !self.given_up) else { return };
        if self.turned {
            self.stride /= 2.0;
        } else if self.in_row >= LONG_WAY && !self.is_near() {
            self.stride = (self.stride * 2.0).min(STRIDE.ln());
        }
        let stride = self.stride.max(FOLLOWING.ln());
        self.rate += if missed { -stride } else { stride };
        self.given_up = self.rate < self.lowest;
    }

    fn approach_again_if_far(&mut self) {
        if self.in_row >= FAR {
            self.stride = STRIDE_NEAR.ln();
            self.in_row = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;

    use super::*;

    /// Runs rounds until this many count, against servers that meet the objective up to these rates.
    fn run(
        guesses: &[FirstGuess],
        rounds: usize,
        mut meets: impl FnMut(usize, f64) -> StepOutcome,
    ) -> Staircase {
        let mut staircase = Staircase::new(guesses);
        for _ in 0..10 * rounds + 100 {
            if staircase.rounds() == rounds || staircase.rates().iter().all(Option::is_none) {
                break;
            }
            let outcomes: Vec<_> = staircase
                .rates()
                .into_iter()
                .enumerate()
                .map(|(server, rate)| rate.map(|rate| meets(server, rate)))
                .collect();
            staircase.record(&outcomes);
        }
        staircase
    }

    fn up_to(capacity: f64, rate: f64) -> StepOutcome {
        if rate <= capacity { StepOutcome::Met } else { StepOutcome::Missed }
    }

    fn found(capacity: SlicedCapacity) -> f64 {
        match capacity {
            SlicedCapacity::Found(rate) => rate,
            other => panic!("no capacity: {other:?}"),
        }
    }

    #[test]
    fn the_capacities_of_servers_that_differ_by_far_are_found() {
        let capacities = [10_000.0, 2_500.0, 40_000.0];
        let guesses = [11_000.0, 30_000.0, 900.0].map(FirstGuess::ClosedLoop);
        let staircase = run(&guesses, 40, |server, rate| up_to(capacities[server], rate));
        for (capacity, is) in staircase.capacities().into_iter().zip(capacities) {
            let ratio = found(capacity) / is;
            assert!((0.96..1.04).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn the_ratio_is_right_on_a_machine_whose_speed_changes_by_far_more() {
        let rng = &mut Pcg64::seed_from_u64(4);
        let normal = |rng: &mut Pcg64| -> f64 { StandardNormal.sample(rng) };
        let mut errors = Vec::new();
        for _ in 0..60 {
            let mut machine = 0.1 * normal(rng);
            let staircase = run(&[FirstGuess::EarlierTrial(1_000.0); 2], 48, |server, rate| {
                machine = 0.9 * machine + 0.05 * normal(rng);
                let speed = (machine + 0.05 * normal(rng)).exp();
                if rng.random_bool(0.03) {
                    return StepOutcome::Missed;
                }
                up_to([1_000.0, 1_100.0][server] * speed, rate)
            });
            let capacities = staircase.capacities();
            errors.push((found(capacities[1]) / found(capacities[0]) / 1.1).ln());
        }
        let mean = errors.iter().sum::<f64>() / 60.0;
        let deviation = (errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / 59.0).sqrt();
        assert!(deviation < 0.04 && mean.abs() < 3.0 * deviation / 60_f64.sqrt(), "{mean} {deviation}");
    }

    #[test]
    fn an_objective_that_no_rate_meets_has_no_capacity_and_the_other_server_has_one() {
        let guesses = [FirstGuess::ClosedLoop(1_000.0); 2];
        let staircase = run(&guesses, 20, |server, rate| up_to([0.0, 900.0][server], rate));
        let capacities = staircase.capacities();
        assert_eq!(capacities[0], SlicedCapacity::NoRateMeets);
        assert!((found(capacities[1]) / 900.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_client_that_cannot_offer_more_is_the_limit() {
        let staircase = run(&[FirstGuess::ClosedLoop(5_000.0)], 20, |_, rate| {
            if rate <= 5_000.0 { StepOutcome::Met } else { StepOutcome::ClientLimited }
        });
        let capacity = staircase.capacities()[0];
        assert!(
            matches!(capacity, SlicedCapacity::AtLeast(rate) if (4_000.0..6_000.0).contains(&rate)),
            "{capacity:?}"
        );
    }

    #[test]
    fn a_client_that_is_late_now_and_then_does_no_harm() {
        let mut slices = 0;
        let staircase = run(&[FirstGuess::ClosedLoop(5_000.0); 2], 40, |_, rate| {
            slices += 1;
            if slices % 5 == 0 { StepOutcome::ClientLimited } else { up_to(5_000.0, rate) }
        });
        for capacity in staircase.capacities() {
            assert!((found(capacity) / 5_000.0 - 1.0).abs() < 0.04, "{capacity:?}");
        }
    }

    #[test]
    fn an_earlier_capacity_saves_rounds() {
        let slices = |guess| {
            let mut count = 0;
            let mut first = None;
            let staircase = run(&[guess], 20, |_, rate| {
                count += 1;
                first.get_or_insert(rate);
                up_to(10_000.0, rate)
            });
            assert!((found(staircase.capacities()[0]) / 10_000.0 - 1.0).abs() < 0.04);
            (count, first.expect("a slice"))
        };
        let (from_closed_loop, _) = slices(FirstGuess::ClosedLoop(20_000.0));
        let (from_earlier, first) = slices(FirstGuess::EarlierTrial(9_900.0));
        assert!((first - 9_900.0).abs() < 1e-6, "{first}");
        assert!(from_earlier < from_closed_loop, "{from_earlier} and {from_closed_loop}");
    }

    /// A block of 24 rounds in which a machine holds up one server, or all, for a while at its beginning.
    #[test]
    fn a_disturbance_at_the_beginning_does_not_spoil_the_block() {
        for first in [FirstGuess::ClosedLoop(1_200.0), FirstGuess::EarlierTrial(600.0)] {
            for disturbed in [&[0][..], &[1], &[0, 1]] {
                let rng = &mut Pcg64::seed_from_u64(9);
                let mut wrong = 0;
                for _ in 0..100 {
                    let (mut slices, mut machine) = (0, 0.0);
                    let (from, length) = (rng.random_range(0..15), rng.random_range(4..20));
                    let staircase = run(&[first; 2], 24, |server, rate| {
                        slices += 1;
                        let noise: f64 = StandardNormal.sample(rng);
                        machine = 0.9 * machine + 0.03 * noise;
                        let is_held_up =
                            (from..from + length).contains(&slices) && disturbed.contains(&server);
                        up_to(1_000.0 * (machine + 0.05 * noise - f64::from(is_held_up)).exp(), rate)
                    });
                    let capacities = staircase.capacities();
                    wrong += usize::from((found(capacities[1]) / found(capacities[0])).ln().abs() > 0.1);
                }
                assert!(wrong <= 8, "{first:?}, {disturbed:?}: {wrong} of 100 are off by more than a tenth");
            }
        }
    }

    #[test]
    fn a_client_that_is_the_limit_at_every_rate_says_nothing_of_the_server() {
        let staircase = run(&[FirstGuess::ClosedLoop(5_000.0)], 20, |_, _| StepOutcome::ClientLimited);
        assert_eq!(staircase.capacities(), [SlicedCapacity::Unknown]);
    }

    proptest::proptest! {
        /// Whatever the slices of the first seconds said, the rates come back to the capacity.
        #[test]
        fn every_beginning_is_recovered_from(
            begin in proptest::collection::vec(proptest::collection::vec(0_u8..3, 2), 0..20),
            guess in 50.0..20_000.0_f64,
        ) {
            let rng = &mut Pcg64::seed_from_u64(10);
            let mut begin = begin.into_iter();
            let mut now = begin.next();
            let mut asked = 0;
            let staircase = run(&[FirstGuess::ClosedLoop(guess); 2], 60, |server, rate| {
                let scripted = now.as_ref().map(|round| round[server]);
                asked += 1;
                if asked % 2 == 0 {
                    now = begin.next();
                }
                match scripted {
                    None => {
                        let noise: f64 = StandardNormal.sample(rng);
                        up_to(1_000.0 * (0.1 * noise).exp(), rate)
                    }
                    Some(0) => StepOutcome::Met,
                    Some(1) => StepOutcome::Missed,
                    Some(_) => StepOutcome::ClientLimited,
                }
            });
            for (capacity, rate) in staircase.capacities().into_iter().zip(staircase.rates()) {
                // A server that met the objective at no rate for so long was given up.
                if let Some(rate) = rate {
                    proptest::prop_assert!((rate / 1_000.0).ln().abs() < 0.25, "{rate}");
                    let found = capacity.rate_per_s().expect("a capacity");
                    proptest::prop_assert!((found / 1_000.0).ln().abs() < 0.25, "{found}");
                }
            }
        }
    }

    #[test]
    fn a_few_slices_say_nothing() {
        let staircase = run(&[FirstGuess::EarlierTrial(1.0)], 3, |_, rate| up_to(1.0, rate));
        assert_eq!(staircase.capacities(), [SlicedCapacity::Unknown]);
    }
}
