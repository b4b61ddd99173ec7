//! The capacities of one or several servers from many short slices of load: which rate each server gets next, and what the
//! outcomes say. Pure, so that tests run it against scripted servers.
//!
//! | stage | what happens |
//! |---|---|
//! | approach | each server's rate climbs while it meets the objective and falls while it misses it, in strides that are halved at each turn, and doubled where several lead in one direction (PEST: Taylor and Creelman, Journal of the Acoustical Society of America 41, 1967) |
//! | rounds | a round has one slice of every server. It counts for those near their capacities: two at least, if there are two. Their rates follow the machine: together they climb where most met the objective, and fall where most missed it. A server whose outcome differs from the others' moves against them. One that has the same outcome several times in a row is not near its capacity: it is approached again, while the others go on |
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
/// Factor between the first rates near a capacity.
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
/// What a server does further from its median level, as a logarithm, does not count.
const NEARBY: f64 = 0.5;
/// A capacity needs this many rounds.
const FEWEST_ROUNDS: usize = 6;

/// Where the rates of a server begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FirstGuess {
    /// Throughput of a closed loop with the same connections, operations a second. 0 where nothing succeeded: no rate is tried.
    ClosedLoop(f64),
    /// About the capacity, operations a second: the strides are smaller. 0 as before.
    Near(f64),
}

/// What the slices of a server say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlicedCapacity {
    /// The highest rate that meets the objective, operations a second.
    Found(f64),
    /// The same, but mostly the client was the limit: the capacity is at least this.
    AtLeast(f64),
    /// No rate that was tried met the objective, or there was none to try.
    NoRateMeets,
    /// Too few slices say something: in the others, the client was the limit.
    Unknown,
    /// Too few rounds count, for other reasons: the rates did not settle near the capacities.
    Unsettled,
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
            Self::Unsettled => Some(format!(
                "the search did not settle: fewer than {FEWEST_ROUNDS} of its rounds were near the capacity: measure for longer, or on a quieter machine"
            )),
        }
    }

    /// The rate that was found, also where the client was the limit.
    pub fn rate_per_s(self) -> Option<f64> {
        match self {
            Self::Found(rate) | Self::AtLeast(rate) => Some(rate),
            Self::NoRateMeets | Self::Unknown | Self::Unsettled => None,
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
    /// Whether it has been near its capacity.
    has_counted: bool,
    /// Slices that missed the objective, and those in which the client was the limit: since it was near, once it has been.
    misses: u32,
    client_limited: u32,
}

impl Staircase {
    /// One server for each guess.
    pub fn new(guesses: &[FirstGuess]) -> Self {
        let server = |guess: &FirstGuess| {
            let (first, stride) = match *guess {
                FirstGuess::ClosedLoop(throughput) => (FIRST_SHARE * throughput, STRIDE),
                FirstGuess::Near(capacity) => (capacity, STRIDE_NEAR),
            };
            let rate = first.max(f64::MIN_POSITIVE).ln();
            ServerRate {
                rate,
                lowest: rate + LOWEST_SHARE.ln(),
                stride: stride.ln(),
                last_missed: None,
                turned: false,
                in_row: 0,
                // Without a rate to begin with there is nothing to try.
                given_up: first <= 0.0,
                client_limited_in_row: 0,
                has_counted: false,
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

    /// Whether every server is near its capacity, so that the rounds count for all.
    pub fn is_near(&self) -> bool {
        self.servers.iter().all(ServerRate::is_near)
    }

    /// Rounds so far that count for each server.
    pub fn rounds(&self) -> usize {
        let rounds = self.rounds_nearby();
        let taking_part = self.servers.iter().enumerate().filter(|(_, server)| !server.given_up);
        taking_part.map(|(index, _)| responses(&rounds, index)).min().unwrap_or(0)
    }

    /// Records a round at [`Staircase::rates`]: an outcome for each server that has a rate.
    pub fn record(&mut self, outcomes: &[Option<StepOutcome>]) {
        let is_counting: Vec<bool> = self.servers.iter_mut().map(ServerRate::begins_to_count).collect();
        let missed: Vec<Option<bool>> = self
            .servers
            .iter_mut()
            .zip(outcomes)
            .map(|(server, outcome)| server.missed((*outcome)?))
            .collect();
        self.record_round(&is_counting, &missed);
        for ((server, is_counting), missed) in self.servers.iter_mut().zip(is_counting).zip(missed) {
            if is_counting {
                server.approach_again_if_far();
            } else {
                server.approach(missed);
            }
        }
    }

    /// Leaves out a server that has failed: the others go on as if it had not been there.
    pub fn give_up(&mut self, index: usize) {
        self.servers[index].given_up = true;
        self.rounds.iter_mut().for_each(|round| round[index] = None);
    }

    /// Records what the servers near their capacities did, and moves these. A slice that says nothing ends the round for all of
    /// them.
    fn record_round(&mut self, is_counting: &[bool], missed: &[Option<bool>]) {
        let of_round = || missed.iter().zip(is_counting).filter(|(_, is_counting)| **is_counting);
        let known: Vec<f64> =
            of_round().filter_map(|(missed, _)| *missed).map(|missed| f64::from(u8::from(missed))).collect();
        if known.is_empty() || known.len() < of_round().count() {
            return;
        }
        let share = known.iter().sum::<f64>() / known.len() as f64;
        let after = self.rounds.len() as f64;
        let apart = (APART_FIRST * APART_ROUNDS / (APART_ROUNDS + after)).max(APART_LEAST);
        let mut round = vec![None; missed.len()];
        for (index, server) in self.servers.iter_mut().enumerate().filter(|(index, _)| is_counting[*index]) {
            let Some(failed) = missed[index] else { continue };
            round[index] = Some(Response { level: server.rate, failed });
            let against_others = share - f64::from(u8::from(failed));
            server.rate += FOLLOWING.ln() * (1.0 - 2.0 * share) + apart * against_others;
            server.rate = server.rate.max(server.lowest);
        }
        if self.compares(&round) {
            self.rounds.push(round);
        }
    }

    /// What the rounds say of each server.
    pub fn capacities(&self) -> Vec<SlicedCapacity> {
        let rounds = self.rounds_nearby();
        let found = thresholds(&rounds);
        let enough = |index: usize| responses(&rounds, index) >= FEWEST_ROUNDS;
        let found = |index: usize| found.get(index).copied().flatten().filter(|_| enough(index));
        let of_server = |(index, server): (usize, &ServerRate)| match found(index) {
            _ if server.given_up && server.client_limited > server.misses => SlicedCapacity::Unknown,
            _ if server.given_up => SlicedCapacity::NoRateMeets,
            Some(rate) if server.client_limited > server.misses => SlicedCapacity::AtLeast(rate.exp()),
            Some(rate) => SlicedCapacity::Found(rate.exp()),
            None if server.client_limited > server.misses => SlicedCapacity::Unknown,
            None => SlicedCapacity::Unsettled,
        };
        self.servers.iter().enumerate().map(of_server).collect()
    }

    /// The rounds without what servers did far from where they were in most rounds, and without those that then compare nothing. A
    /// disturbance may end an approach far off; what the slices there say is not of the capacity, and two servers with different
    /// outcomes there would weigh much.
    fn rounds_nearby(&self) -> Vec<Vec<Option<Response>>> {
        let median = |server: usize| {
            let levels = self.rounds.iter().filter_map(|round| Some(round[server]?.level));
            Some(Sample::new(&levels.collect::<Vec<f64>>()).ok()?.median())
        };
        let medians: Vec<Option<f64>> = (0..self.servers.len()).map(median).collect();
        let nearby = |(response, median): (&Option<Response>, &Option<f64>)| {
            let median = (*median)?;
            response.filter(|response| (response.level - median).abs() <= NEARBY)
        };
        let of_round = |round: &Vec<Option<Response>>| -> Vec<Option<Response>> {
            round.iter().zip(&medians).map(nearby).collect()
        };
        self.rounds.iter().map(of_round).filter(|round| self.compares(round)).collect()
    }

    /// Whether a round compares servers, if there are several.
    fn compares(&self, round: &[Option<Response>]) -> bool {
        let taking_part = self.servers.iter().filter(|server| !server.given_up).count();
        round.iter().flatten().count() >= taking_part.clamp(1, 2)
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

    /// Whether the next slice counts, as the server is near its capacity and takes part.
    fn begins_to_count(&mut self) -> bool {
        let counts = !self.given_up && self.is_near();
        if counts && !self.has_counted {
            (self.misses, self.client_limited, self.has_counted) = (0, 0, true);
        }
        counts
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

/// Rounds that have a response of this server.
fn responses(rounds: &[Vec<Option<Response>>], index: usize) -> usize {
    rounds.iter().filter(|round| round[index].is_some()).count()
}

#[cfg(test)]
mod tests;
