//! The study of one server under load: plain slices, suspects, experiments, words. What a slice is made of is left to [`PerturbableLoop`];
//! writing and printing the result to others.
//!
//! Slices of different experiments alternate, and each pair of an experiment has the other order than the one before (ABBA). So
//! a server or a machine that drifts favours none of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use archive::model::{ExaminedResource, ExplainedServer, LoopLoad, PerturbedPair, PlannedStudy, Unknown};
use stats::describe::Sample;
use stats::elasticity::ElasticityEstimate;

use crate::experiment::{Dose, Experiment, LEAST_STARTS, LOOKS, PlainRates, Tried, USUAL};
use crate::figures::{Figures, Plain, statistics};
use crate::perturbable_loop::{LoopError, LoopFacts, PerturbableLoop, Perturbation, SliceReading};
use crate::profile_shares::Watched;
use crate::rules::Rule;
use crate::suspects::{self, Suspicion};
use crate::{figures, resources, unknown};

/// Experiments that take this many times as long as planned do not go on. Slices can be longer than planned, and what lies between
/// those of some experiments takes longer than they do.
const MOST_TIMES: u32 = 8;

/// A slice of an experiment has this many operations at least: with 15, one more or less is as much as what is looked for.
const LEAST_OPERATIONS: f64 = 100.0;

/// The throughput of plain slices scatters by this share of its mean at most, as a standard deviation: 18 pairs of slices then give an
/// elasticity to about ±0.3. Where it scatters more, as with swapping or garbage collection, slices are longer.
const MOST_SCATTER: f64 = 0.08;

/// Slices get this many times longer at most, for all reasons together.
const LONGEST_TIMES: f64 = 8.0;

/// Half the width of an interval that decides most words: the bounds of the words are this far apart, and from an elasticity of 0.
const PRECISE: f64 = 0.25;

/// Slices of an experiment whose pairs scatter get this many times longer at most.
const LONGEST_BY_PAIRS: f64 = 4.0;

/// A slice in which another program takes memory or a disk's time has this length at least: before and after it, the server gets
/// used to it for as long.
const SHORTEST_SQUEEZED: Duration = Duration::from_secs(1);

/// The share of a resource that an experiment takes: enough to be seen above the noise of a slice, little enough to change
/// nothing else.
const SHARE: f64 = 0.2;

/// The longest that experiments load a server in slices of the planned length, without what lies between them. One of them limits,
/// and half of its dose is tried.
pub fn longest_experiments(lengths: &PlannedStudy) -> Duration {
    let experiments = lengths.experiments.saturating_add(Dose::Half.times_the_pairs());
    let pairs = experiments.saturating_mul(lengths.pairs).saturating_mul(LOOKS);
    lengths.slice.saturating_mul(pairs.saturating_mul(2))
}

/// The same of plain slices.
pub fn longest_plain(lengths: &PlannedStudy) -> Duration {
    lengths.slice.saturating_mul(lengths.plain_slices)
}

/// What a study does next, for a display of progress.
#[derive(Debug, Clone, PartialEq)]
pub enum StudyProgress {
    /// A plain slice of so many.
    Plain {
        /// Its number, from 1.
        slice: u32,
        /// The number of plain slices.
        of: u32,
    },
    /// What an experiment needs is made ready, such as a second server.
    Preparing {
        /// The resource of the experiment, such as `the server's workers`.
        of: String,
    },
    /// The server is started once more.
    Restarting,
    /// A pair of slices of a perturbation.
    Pair {
        /// The perturbation in words, such as `20 % less of the server's CPUs`.
        perturbation: String,
        /// Its number, from 1.
        pair: u32,
        /// The most pairs that this perturbation can have.
        of: u32,
    },
}

/// The plain slices of a server, with what ended them early.
#[derive(Debug)]
pub struct PlainSlices {
    readings: Vec<SliceReading>,
    unknown: Vec<Unknown>,
}

/// Loads a server that is warm in plain slices.
///
/// A slice that fails ends them; the result then has those before it, and says why. An error is returned only where the first
/// one fails.
pub fn plain_slices(
    server: &mut dyn PerturbableLoop,
    lengths: &PlannedStudy,
    progress: &mut dyn FnMut(&StudyProgress),
) -> Result<PlainSlices, LoopError> {
    let of = lengths.plain_slices;
    let mut slices = PlainSlices { readings: Vec::new(), unknown: Vec::new() };
    for slice in 1..=of {
        progress(&StudyProgress::Plain { slice, of });
        match server.slice(None, lengths.slice) {
            Ok(reading) if reading.operations == 0 && slices.readings.is_empty() => {
                return Err(LoopError::NoOperation);
            }
            Ok(reading) => slices.readings.push(reading),
            Err(error) if slices.readings.is_empty() => return Err(error),
            Err(error) => {
                slices.unknown.push(ended_by("the rest of the study", &error));
                break;
            }
        }
    }
    Ok(slices)
}

/// Figures of plain slices.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainFigures {
    /// Their values by name.
    pub values: BTreeMap<String, f64>,
    /// Why the server's own statistics could not be read; none where they were, or where there are none.
    pub statistics_problem: Option<String>,
}

/// The figures of a server that is warm, from plain slices. Nothing is suspected or tried.
pub fn plain_figures(
    server: &mut dyn PerturbableLoop,
    lengths: &PlannedStudy,
) -> Result<PlainFigures, LoopError> {
    let readings = plain_slices(server, lengths, &mut |_| ())?.readings;
    Ok(PlainFigures {
        values: figures::of_slices(&server.facts(), &readings).values(),
        statistics_problem: readings.into_iter().find_map(|reading| reading.statistics_problem),
    })
}

/// Finds suspects in plain slices and in what was watched since, and tries them. A slice that fails ends the experiments, and the
/// result says why.
pub fn conclude(
    server: &mut dyn PerturbableLoop,
    slices: PlainSlices,
    watched: &Watched,
    lengths: &PlannedStudy,
    progress: &mut dyn FnMut(&StudyProgress),
) -> ExplainedServer {
    let PlainSlices { readings, unknown } = slices;
    let facts = server.facts();
    let slice = long_enough(lengths.slice, &readings);
    let is_over = !unknown.is_empty();
    let mut study = Study { facts: facts.clone(), server, lengths, slice, progress, unknown, is_over };
    let plain = Plain { facts: &facts, readings: &readings, watched };
    let figures = figures::of(&plain);
    let rules = Rule::all();
    let suspicions = suspects::find(&rules, &figures);
    let mut tried = study.choose(&suspicions, &figures);
    study.run_experiments(&mut tried);
    let limits = suspects::limits(&tried);
    study.confirm(&mut tried, &limits, facts.connections);
    let mut unknown = study.unknown;
    unknown.extend(unknown::of(&rules, &figures, &plain));
    explained(&plain, &figures, suspicions, &tried, unknown)
}

/// The length of the experiments' slices: as planned, or longer where operations are slow, or slices scatter. The scatter of slices
/// without a trend falls with the root of their length.
fn long_enough(planned: Duration, readings: &[SliceReading]) -> Duration {
    let operations: u64 = readings.iter().map(|reading| reading.operations).sum();
    let in_one = operations as f64 / readings.len().max(1) as f64;
    let throughputs: Vec<f64> = readings.iter().map(|reading| reading.throughput_per_s).collect();
    let scatter = Sample::new(&throughputs).ok().and_then(|sample| sample.coefficient_of_variation());
    let times =
        (LEAST_OPERATIONS / in_one.max(1.0)).max((scatter.unwrap_or_default() / MOST_SCATTER).powi(2));
    planned.mul_f64(times.clamp(1.0, LONGEST_TIMES))
}

/// How long a slice of an experiment is, where others have this length.
fn length_of(tried: &Tried, usual: Duration) -> Duration {
    match tried.perturbation {
        Perturbation::Squeeze(_) => usual.max(SHORTEST_SQUEEZED),
        _ => usual,
    }
}

/// How many times longer the slices of the pairs that are left are to be, so that the interval gets precise enough: the few plain
/// slices before do not show how much pairs scatter, for example where a server swaps. Its width decides, never its place, so the
/// elasticity is not biased.
fn times_longer(found: &ElasticityEstimate, all_pairs: u32) -> f64 {
    let pairs = found.pairs as f64;
    let left = f64::from(all_pairs) - pairs;
    let half_width = (found.interval.high - found.interval.low) / 2.0;
    let needed = pairs * (half_width / PRECISE).powi(2);
    if left > 0.0 { ((needed - pairs) / left).clamp(1.0, LONGEST_BY_PAIRS) } else { 1.0 }
}

/// What a slice that failed has ended.
fn ended_by(what: &str, error: &LoopError) -> Unknown {
    Unknown { what: what.to_owned(), why: error.to_string() }
}

/// Suspects of readings that there are anyway, without an experiment: nothing is more than suspected. What they do not tell, a
/// study does.
pub fn suspects_only(facts: &LoopFacts, readings: &[SliceReading]) -> ExplainedServer {
    let watched = Watched::default();
    let plain = Plain { facts, readings, watched: &watched };
    let figures = figures::of(&plain);
    let rules = Rule::all();
    let mut glimpsed = explained(&plain, &figures, suspects::find(&rules, &figures), &[], Vec::new());
    glimpsed.sentence = suspects::likely(&facts.variant, &glimpsed.suspects);
    glimpsed.resources.retain(ExaminedResource::has_figure);
    glimpsed
}

fn explained(
    plain: &Plain<'_>,
    figures: &Figures,
    suspicions: Vec<Suspicion<'_>>,
    tried: &[Tried],
    unknown: Vec<Unknown>,
) -> ExplainedServer {
    let suspects = suspects::explain(suspicions, tried);
    ExplainedServer {
        variant: plain.facts.variant.clone(),
        sentence: suspects::sentence(&plain.facts.variant, &suspects),
        closed_loop: closed_loop(plain, figures),
        resources: resources::table(figures),
        suspects,
        perturbations: tried.iter().map(Tried::outcome).collect(),
        statistics: statistics::of(plain),
        unknown,
        profile: None,
        waits: None,
        slow_requests: None,
    }
}

/// The closed loop over the plain slices.
fn closed_loop(plain: &Plain<'_>, figures: &Figures) -> LoopLoad {
    let value = |name: &str| figures.value(name).unwrap_or_default();
    LoopLoad {
        connections: value("loop.connections").round() as u32,
        server_cpus: plain.facts.server_cpus.to_string(),
        slices: plain.readings.len() as u32,
        length_s: plain.length_s(),
        throughput_per_s: value("loop.throughput"),
        mean_response_us: value("loop.response"),
        loop_share: value("loop.share"),
        cpu_us_per_operation: figures.value(figures::CPU_PER_OPERATION),
        client_utilisation: figures.value("client.utilisation"),
    }
}

/// The pairs of an experiment until it is looked at again.
#[derive(Clone, Copy)]
struct NextPairs {
    /// Of each slice.
    length: Duration,
    count: u32,
}

struct Study<'a> {
    facts: LoopFacts,
    server: &'a mut dyn PerturbableLoop,
    lengths: &'a PlannedStudy,
    /// How long slices of experiments are: longer than planned where that is too short to decide.
    slice: Duration,
    progress: &'a mut dyn FnMut(&StudyProgress),
    unknown: Vec<Unknown>,
    /// Whether no slice is possible any more: the server does not answer, or the time is over.
    is_over: bool,
}

impl Study<'_> {
    /// The experiments of the strongest suspects, and then the usual ones.
    fn choose(&mut self, suspicions: &[Suspicion], figures: &Figures) -> Vec<Tried> {
        if self.is_over {
            return Vec::new();
        }
        let plain = PlainRates {
            busiest_cpu: figures.text("server_cpus.busiest_name").and_then(|cpu| cpu.parse().ok()),
            operation: Duration::from_secs_f64(figures.value("loop.throughput").map_or(0.0, f64::recip)),
            read_bytes_per_s: figures.value("disk.read_bytes"),
        };
        let wanted = suspicions.iter().filter_map(|suspicion| suspicion.rule.experiment).chain(USUAL);
        let mut chosen: Vec<Tried> = Vec::new();
        let mut asked: Vec<Experiment> = Vec::new();
        for experiment in wanted {
            if chosen.len() >= self.lengths.experiments as usize {
                break;
            }
            if asked.contains(&experiment) {
                continue;
            }
            asked.push(experiment);
            let prepared = experiment.perturbation(&self.facts, plain, SHARE).and_then(|planned| {
                (self.progress)(&StudyProgress::Preparing { of: experiment.resource_title().to_owned() });
                self.server.prepare(&planned).map(|()| planned).map_err(|error| error.to_string())
            });
            match prepared {
                Ok(perturbation) => chosen.push(Tried::new(experiment, Dose::Full, perturbation)),
                Err(why) => {
                    let what = format!("whether throughput follows {}", experiment.resource_title());
                    self.unknown.push(Unknown { what, why });
                }
            }
        }
        chosen
    }

    /// Pairs of slices until each word is decided, or the last look.
    fn run_experiments(&mut self, tried: &mut [Tried]) {
        let deadline = self.deadline(tried);
        for _ in 0..LOOKS {
            let next: Vec<Option<NextPairs>> = tried.iter().map(|tried| self.next(tried)).collect();
            if !self.look(tried, &next, deadline) {
                return;
            }
        }
    }

    /// Tries again what seems to limit the server, in further starts of it: a start has properties of its own, such as where its memory
    /// lies. Half of the dose is tried where it can be taken, and the whole dose elsewhere. What was not confirmed
    /// in [`LEAST_STARTS`] starts does not limit.
    fn confirm(&mut self, tried: &mut Vec<Tried>, limits: &[Experiment], connections: u32) {
        if limits.is_empty() || self.is_over {
            return;
        }
        let first = tried.len();
        let limiting = (0..first).filter(|at| limits.contains(&tried[*at].experiment));
        let (mut again, mut halves) = (Vec::new(), Vec::new());
        for at in limiting {
            match tried[at].half(connections) {
                Some(half) => halves.push(half),
                None => again.push(at),
            }
        }
        again.extend(first..first + halves.len());
        tried.append(&mut halves);
        let of_these: Vec<Tried> = again.iter().map(|at| tried[*at].clone()).collect();
        let deadline = self.deadline(&of_these);
        let needed: Vec<Perturbation> = of_these.into_iter().map(|tried| tried.perturbation).collect();
        for _ in 1..LEAST_STARTS {
            (self.progress)(&StudyProgress::Restarting);
            if let Err(error) = self.server.restart(&needed) {
                return self.note("whether what limits one start limits another", &error);
            }
            // All starts together have the pairs of one look at half of a dose.
            let in_a_start =
                |tried: &Tried| NextPairs { length: self.length_of_next(tried), count: self.lengths.pairs };
            let next: Vec<Option<NextPairs>> =
                (0..tried.len()).map(|at| again.contains(&at).then(|| in_a_start(&tried[at]))).collect();
            if !self.look(tried, &next, deadline) {
                return;
            }
            for at in &again {
                tried[*at].starts += 1;
            }
        }
        for _ in 1..LOOKS {
            let next: Vec<Option<NextPairs>> =
                (0..tried.len()).map(|at| if at < first { None } else { self.next(&tried[at]) }).collect();
            if !self.look(tried, &next, deadline) {
                return;
            }
        }
    }

    /// When these experiments end at the latest.
    fn deadline(&self, tried: &[Tried]) -> Instant {
        let slices = |tried: &Tried| self.all_pairs(tried.dose) * 2;
        let planned: Duration =
            tried.iter().map(|tried| length_of(tried, self.lengths.slice) * slices(tried)).sum();
        Instant::now() + planned.saturating_mul(MOST_TIMES)
    }

    /// The next pairs of each experiment; none of one that is not tried now. Returns whether the experiments go on.
    fn look(&mut self, tried: &mut [Tried], next: &[Option<NextPairs>], deadline: Instant) -> bool {
        let rounds = next.iter().flatten().map(|next| next.count).max().unwrap_or_default();
        for round in 0..rounds {
            for (at, tried) in tried.iter_mut().enumerate() {
                let Some(NextPairs { length, .. }) = next[at].filter(|next| round < next.count) else {
                    continue;
                };
                if Instant::now() > deadline {
                    self.note_lateness();
                    return false;
                }
                let pair = tried.pairs.len() as u32 + 1;
                let of = self.all_pairs(tried.dose).max(pair);
                (self.progress)(&StudyProgress::Pair { perturbation: tried.title(), pair, of });
                // Neighbours in a round have different orders too.
                let plain_first = (pair as usize + at) % 2 == 1;
                match self.pair(tried, length, plain_first) {
                    Ok(pair) => tried.pairs.push(pair),
                    Err(error) => {
                        self.note("the rest of the experiments", &error);
                        return false;
                    }
                }
            }
        }
        true
    }

    /// The most pairs of an experiment.
    fn all_pairs(&self, dose: Dose) -> u32 {
        self.lengths.pairs * dose.times_the_pairs() * LOOKS
    }

    /// The next pairs of this experiment; none if its word is decided.
    fn next(&self, tried: &Tried) -> Option<NextPairs> {
        let is_decided = tried.interval().is_some_and(|interval| tried.is_decided(interval));
        let count = self.lengths.pairs * tried.dose.times_the_pairs();
        (!is_decided).then(|| NextPairs { length: self.length_of_next(tried), count })
    }

    /// How long they are, decided or not.
    fn length_of_next(&self, tried: &Tried) -> Duration {
        let usual = length_of(tried, self.slice);
        let Some(found) = tried.estimate() else { return usual };
        let longest = length_of(tried, self.lengths.slice).mul_f64(LONGEST_TIMES);
        usual.mul_f64(times_longer(&found, self.all_pairs(tried.dose))).min(longest)
    }

    fn pair(
        &mut self,
        tried: &Tried,
        length: Duration,
        plain_first: bool,
    ) -> Result<PerturbedPair, LoopError> {
        let mut slice = |perturbation| self.server.slice(perturbation, length);
        let without = tried.perturbation.plain();
        let (plain, perturbed) = if plain_first {
            let plain = slice(without.as_ref())?;
            (plain, slice(Some(&tried.perturbation))?)
        } else {
            let perturbed = slice(Some(&tried.perturbation))?;
            (slice(without.as_ref())?, perturbed)
        };
        Ok(PerturbedPair {
            plain_per_s: plain.throughput_per_s,
            perturbed_per_s: perturbed.throughput_per_s,
            resource_left: tried.perturbation.left(&plain, &perturbed),
            plain_first,
        })
    }

    /// Slices take long where operations are slow, or do not end: each slice waits for them until their timeout.
    fn note_lateness(&mut self) {
        let why = format!(
            "slices took {MOST_TIMES} times as long as planned: operations are slow here, or do not end before their timeout; \
             without --quick there is more time"
        );
        self.unknown.push(Unknown { what: "the rest of the experiments".to_owned(), why });
        self.is_over = true;
    }

    fn note(&mut self, what: &str, error: &LoopError) {
        self.unknown.push(ended_by(what, error));
        self.is_over = true;
    }
}

#[cfg(test)]
pub(crate) mod tests;
