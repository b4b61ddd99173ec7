//! A lab of scripted servers for tests: settings have known effects, and what goes wrong is prescribed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;

use crate::candidate::{Candidate, one_at_a_time};
use crate::lab::{LabError, Settings, Stage, StageLoad, StageTrials, TrialReading, TuningLab};
use crate::tuning::{Durability, Level, Mechanism, Moves, Scope, Security, Tuning};

/// Servers whose settings have known effects.
pub(super) struct ScriptedLab {
    /// Logarithms of the gains of knobs.
    pub effects: BTreeMap<String, f64>,
    /// Standard deviation of a trial's logarithm within its block.
    pub noise: f64,
    /// The same of a stage whose servers run one at a time.
    pub noise_alone: f64,
    /// Knobs with which the server dies.
    pub deadly: BTreeSet<String>,
    /// Knobs with which it does not run together.
    pub deadly_pair: Option<[String; 2]>,
    /// Knobs with which it dies in every third block.
    pub fragile: BTreeSet<String>,
    /// Knobs that cannot be set at all.
    pub refused: BTreeSet<String>,
    /// Knobs that reach no configuration.
    pub without_effect: BTreeSet<String>,
    /// Factors of p99 by knob, in an open loop.
    pub pauses: BTreeMap<String, f64>,
    /// Figures that trials do not record; none where the user interrupts while they are read.
    pub watched: Option<BTreeMap<String, f64>>,
    /// The time in which they are read, seconds.
    pub watching_s: f64,
    /// The logarithm by which the second of two equal servers seems better.
    pub bias: f64,
    /// In this many stages of each name, no trial is valid.
    pub disturbed: usize,
    pub interrupted_at: Option<usize>,
    /// The names of the stages so far.
    pub stages: Vec<String>,
    pub trial_s: f64,
    pub elapsed: f64,
    pub higher_is_better: bool,
    pub rng: Pcg64,
    pub said: Vec<String>,
}

impl ScriptedLab {
    pub fn new(seed: u64, effects: &[(&str, f64)]) -> Self {
        Self {
            effects: effects.iter().map(|(name, gain)| ((*name).to_owned(), f64::ln_1p(*gain))).collect(),
            noise: 0.01,
            noise_alone: 0.01,
            deadly: BTreeSet::new(),
            deadly_pair: None,
            fragile: BTreeSet::new(),
            refused: BTreeSet::new(),
            without_effect: BTreeSet::new(),
            pauses: BTreeMap::new(),
            watched: Some(BTreeMap::new()),
            watching_s: 0.0,
            bias: 0.0,
            disturbed: 0,
            interrupted_at: None,
            stages: Vec::new(),
            trial_s: 4.0,
            elapsed: 0.0,
            higher_is_better: true,
            rng: Pcg64::seed_from_u64(seed),
            said: Vec::new(),
        }
    }

    /// The true gain of settings, as a ratio.
    pub fn truth(&self, settings: &Settings) -> f64 {
        settings.keys().filter_map(|knob| self.effects.get(knob)).sum::<f64>().exp()
    }
}

impl TuningLab for ScriptedLab {
    fn blocks(&mut self, stage: Stage<'_>, of: &[Settings], blocks: u32) -> Result<StageTrials, LabError> {
        let Stage { name, load } = stage;
        let so_far = self.stages.iter().filter(|earlier| *earlier == name).count();
        let is_disturbed = so_far < self.disturbed;
        self.stages.push(name.to_owned());
        if self.interrupted_at == Some(self.stages.len()) {
            return Err(LabError::Interrupted);
        }
        if let Some(knob) = of.iter().flat_map(Settings::keys).find(|knob| self.refused.contains(*knob)) {
            return Err(LabError::Refused(format!("{knob} cannot be set")));
        }
        let is_alone = of.iter().any(one_at_a_time);
        let noise = Normal::new(0.0, if is_alone { self.noise_alone } else { self.noise }).unwrap();
        let mut trials = Vec::new();
        let mut stopped = None;
        for block in 1..=blocks {
            let drift: f64 = self.rng.random_range(-0.1..0.1);
            let mut is_cut = false;
            for (at, settings) in of.iter().enumerate() {
                self.elapsed += self.trial_s;
                let is_pair = |pair: &[String; 2]| pair.iter().all(|knob| settings.contains_key(knob));
                let is_cut_here = settings.keys().any(|knob| self.deadly.contains(knob))
                    || self.deadly_pair.as_ref().is_some_and(is_pair);
                is_cut |= is_cut_here;
                let is_fragile = settings.keys().any(|knob| self.fragile.contains(knob));
                let dies = is_cut_here || (is_fragile && block.is_multiple_of(3));
                let log = self.truth(settings).ln() + drift + noise.sample(&mut self.rng);
                let log = if of[0] == *settings && at > 0 { log + self.bias } else { log };
                let log = if self.higher_is_better { log } else { -log };
                let in_loop = load == StageLoad::Measure && self.higher_is_better;
                // A closed loop hardly sees a pause.
                let pauses = settings.keys().filter_map(|knob| self.pauses.get(knob)).product::<f64>();
                let p99 = if in_loop { 1.0 } else { pauses };
                trials.push(TrialReading {
                    block,
                    of: at,
                    value: (!dies && !is_disturbed).then(|| 1000.0 * log.exp()),
                    failed: dies.then(|| "exit status 1".to_owned()),
                    invalid: is_disturbed.then(|| "other programs used CPU time".to_owned()),
                    is_broken: dies,
                    loop_per_s: in_loop.then(|| 1000.0 * log.exp()),
                    p99_us: Some(900.0 * p99 * noise.sample(&mut self.rng).exp()),
                    p99_9_us: Some(1_900.0 * p99 * noise.sample(&mut self.rng).exp()),
                    errors: Some(0.0),
                    memory_bytes: Some(1e8),
                    figures: [("server.cpu_per_op".to_owned(), 100.0 / log.exp())].into(),
                });
            }
            if is_cut {
                stopped = Some("a server does not run".to_owned());
                break;
            }
        }
        let run = format!("stage-{}", self.stages.len());
        let (higher_is_better, sentence) = (self.higher_is_better, String::new());
        Ok(StageTrials { run, higher_is_better, sentence, stopped, trials })
    }

    fn watch_baseline(&mut self) -> Result<BTreeMap<String, f64>, LabError> {
        self.elapsed += self.watching_s;
        self.watched.clone().ok_or(LabError::Interrupted)
    }

    fn is_configured(&self, _: usize, text: &str) -> bool {
        !self.without_effect.contains(text)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs_f64(self.elapsed)
    }

    fn say(&mut self, what: &str) {
        self.said.push(what.to_owned());
    }
}

/// A tuning that sets one knob, whose name it has.
pub(super) fn candidate(knob: &str) -> Candidate {
    let level =
        Level { set: [(knob.to_owned(), "on".to_owned())].into(), verify: None, take_home: Vec::new() };
    let tuning = Tuning {
        id: knob.to_owned(),
        title: knob.to_owned(),
        about: String::new(),
        servers: Vec::new(),
        only_with: BTreeMap::new(),
        versions: String::new(),
        scope: Scope::Server,
        needs: Vec::new(),
        when: Vec::new(),
        unless: Vec::new(),
        avoid: String::new(),
        durability: Durability::None,
        security: Security::None,
        mechanism: Some(Mechanism { figure: "server.cpu_per_op".to_owned(), moves: Moves::Down }),
        expected: None,
        conflicts: Vec::new(),
        undo: String::new(),
        source: String::new(),
        levels: vec![level.clone()],
    };
    let verify = Some(knob.to_owned());
    Candidate { tuning, settings: level.set, take_home: Vec::new(), verify, reason: String::new() }
}
