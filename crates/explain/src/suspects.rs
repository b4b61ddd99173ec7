//! Suspects: what rules name, with the words that experiments give them, in the order of what is most likely.

use std::collections::BTreeSet;

use archive::model::{Elasticity, PerturbationOutcome, Suspect, SuspectWord};
use stats::confidence::ConfidenceInterval;

use crate::classify;
use crate::classify::HalfDose;
use crate::experiment::{Dose, Experiment, Tried};
use crate::figures::Figures;
use crate::resources;
use crate::rules::{Finding, Rule, RuleOutcome};

/// A rule that holds.
pub(crate) struct Suspicion<'a> {
    pub(crate) rule: &'a Rule,
    pub(crate) finding: Finding,
}

/// The suspects that these figures name, the one with the smallest rank first.
pub(crate) fn find<'a>(rules: &'a [Rule], figures: &Figures) -> Vec<Suspicion<'a>> {
    let holds = |rule: &'a Rule| match rule.evaluate(figures) {
        RuleOutcome::Holds(finding) => Some(Suspicion { rule, finding }),
        RuleOutcome::NotMet | RuleOutcome::NotKnown { .. } => None,
    };
    let mut suspicions: Vec<_> = rules.iter().filter_map(holds).collect();
    // Weak evidence of what is ruled out first comes after strong evidence of what is ruled out later.
    let order = |suspicion: &Suspicion<'_>| {
        f64::from(suspicion.rule.rank) + 20.0 * (1.0 - suspicion.finding.strength)
    };
    suspicions.sort_by(|a, b| order(a).total_cmp(&order(b)));
    suspicions
}

/// What an experiment has shown.
struct Shown {
    experiment: Experiment,
    outcome: PerturbationOutcome,
    half: HalfDose,
}

impl Shown {
    /// Of each experiment, with what half of its dose has shown in further starts of the server.
    fn of(tried: &[Tried]) -> Vec<Self> {
        Self::with(tried, |full| {
            let mut halves = tried.iter().filter(|tried| tried.dose == Dose::Half);
            match halves.find(|half| half.experiment == full.experiment) {
                Some(half) if half.is_confirmed() => HalfDose::Tried(half.interval()),
                None if full.is_confirmed() => HalfDose::NotPossible,
                Some(_) | None => HalfDose::Tried(None),
            }
        })
    }

    fn with(tried: &[Tried], half: impl Fn(&Tried) -> HalfDose) -> Vec<Self> {
        let full = tried.iter().filter(|tried| tried.dose == Dose::Full);
        full.map(|full| Self { experiment: full.experiment, outcome: full.outcome(), half: half(full) })
            .collect()
    }

    fn interval(&self) -> Option<ConfidenceInterval> {
        let found = self.outcome.elasticity?;
        Some(ConfidenceInterval { low: found.low, high: found.high })
    }

    /// The word for its resource beside the others.
    fn word(&self, all: &[Self]) -> SuspectWord {
        let is_rival = |rival: &&Self| {
            rival.experiment != self.experiment && !rival.experiment.overlaps(self.experiment)
        };
        let rivals: Vec<ConfidenceInterval> =
            all.iter().filter(is_rival).filter_map(Self::interval).collect();
        classify::word(self.interval(), self.half, &rivals)
    }

    /// Whether throughput follows the resource, alone or not.
    fn follows(&self) -> bool {
        self.interval().is_some_and(|interval| interval.low > classify::CLEARED_BELOW)
    }
}

/// The experiments whose resources limit, as far as a full dose in one start of the server tells.
pub(crate) fn limits(tried: &[Tried]) -> Vec<Experiment> {
    let all = Shown::with(tried, |_| HalfDose::NotPossible);
    let limits = all.iter().filter(|shown| shown.word(&all) == SuspectWord::Limits);
    limits.map(|shown| shown.experiment).collect()
}

/// The suspects with their words, the most likely first.
pub(crate) fn explain(suspicions: Vec<Suspicion<'_>>, tried: &[Tried]) -> Vec<Suspect> {
    let all = Shown::of(tried);
    let shown = |experiment: Experiment| all.iter().find(|shown| shown.experiment == experiment);
    let word_of = |shown: Option<&Shown>| shown.map_or(SuspectWord::Suspected, |shown| shown.word(&all));
    let mut suspects: Vec<Suspect> = suspicions
        .into_iter()
        .map(|Suspicion { rule, finding }| {
            let shown = rule.experiment.and_then(shown);
            let word = word_of(shown);
            Suspect {
                rule: rule.id.clone(),
                resource: rule.resource.clone(),
                title: rule.title.clone(),
                word,
                sentence: suspect_sentence(&rule.title, word, &finding.sentence, shown),
                evidence: finding.evidence,
                tried: shown.map(|shown| shown.outcome.id.clone()),
                remedies: rule.remedies.clone(),
                source: rule.source.clone(),
            }
        })
        .collect();
    // What an experiment finds needs no rule.
    for shown in all.iter().filter(|shown| shown.follows()) {
        let is_named = suspects.iter().any(|suspect| suspect.tried.as_deref() == Some(&shown.outcome.id));
        if !is_named {
            let word = word_of(Some(shown));
            let title = resources::title(shown.experiment.resource());
            let sentence = "no figure alone names it";
            suspects.push(Suspect {
                rule: "experiment".to_owned(),
                resource: shown.experiment.resource().to_owned(),
                title: title.to_owned(),
                word,
                sentence: suspect_sentence(title, word, sentence, Some(shown)),
                evidence: Vec::new(),
                tried: Some(shown.outcome.id.clone()),
                remedies: Vec::new(),
                source: "the experiment itself".to_owned(),
            });
        }
    }
    let follows = |suspect: &Suspect| {
        all.iter().any(|shown| suspect.tried.as_deref() == Some(&shown.outcome.id) && shown.follows())
    };
    let order = |suspect: &Suspect| match suspect.word {
        SuspectWord::Limits => 0,
        SuspectWord::Shared => 1,
        // Throughput follows it, and a rival is not excluded.
        SuspectWord::Suspected if follows(suspect) => 2,
        SuspectWord::Suspected => 3,
        SuspectWord::Cleared => 4,
    };
    // Stable: suspects with the same word keep the order of their evidence.
    suspects.sort_by_key(order);
    // Two rules may name one cause from different figures.
    let mut titles = BTreeSet::new();
    suspects.retain(|suspect| titles.insert(suspect.title.clone()));
    suspects
}

/// The cause with its figures. The word stands beside it.
fn suspect_sentence(title: &str, word: SuspectWord, evidence: &str, shown: Option<&Shown>) -> String {
    let Some(shown) = shown else { return format!("{title}: {evidence}; not tried") };
    let Some(found) = shown.outcome.elasticity else {
        return format!("{title}: {evidence}; tried, without a result");
    };
    let follows = match word {
        SuspectWord::Cleared => "throughput does not follow it",
        SuspectWord::Suspected if shown.interval().is_some_and(|full| shown.half.shows_slack(full)) => {
            "it has slack, for half of the dose costs less than in proportion"
        }
        SuspectWord::Suspected => "whether throughput follows it alone is not decided",
        SuspectWord::Limits | SuspectWord::Shared => "throughput follows it",
    };
    let Elasticity { value, low, high, .. } = found;
    format!("{title}: {evidence}; {follows} (elasticity {value:.2}, {low:.2} to {high:.2})")
}

/// What probably limits a variant in the closed loop that its trials begin with, in one sentence, where nothing was tried.
pub(crate) fn likely(variant: &str, suspects: &[Suspect]) -> String {
    match suspects.first() {
        Some(first) => format!(
            "in a closed loop, {variant} was probably limited by {}: {}",
            first.title,
            evidence(first)
        ),
        None => format!("what limited {variant} is not in the record of its trials"),
    }
}

/// The evidence of a suspect, without its title and without what was tried.
fn evidence(suspect: &Suspect) -> &str {
    let after = suspect.sentence.split_once(": ").map_or(suspect.sentence.as_str(), |(_, after)| after);
    after.rsplit_once("; ").map_or(after, |(first, _)| first)
}

/// What limits a variant, in one sentence.
pub(crate) fn sentence(variant: &str, suspects: &[Suspect]) -> String {
    // Suspects of one experiment are one limit, which the first of them names.
    let mut shared: Vec<&Suspect> = Vec::new();
    for suspect in suspects.iter().filter(|suspect| suspect.word == SuspectWord::Shared) {
        if shared.iter().all(|other| other.tried != suspect.tried) {
            shared.push(suspect);
        }
    }
    match suspects.first() {
        Some(first) if first.word == SuspectWord::Limits => {
            format!("{variant} is limited by {}: {}", first.title, evidence(first))
        }
        Some(first) if first.word == SuspectWord::Shared && shared.len() > 1 => {
            let titles: Vec<&str> = shared.iter().map(|suspect| suspect.title.as_str()).collect();
            format!("{variant} is limited by {} together", titles.join(" and "))
        }
        Some(first) if first.word == SuspectWord::Shared => {
            let (title, why) = (&first.title, evidence(first));
            format!("{variant} is limited by {title}, and perhaps by something else as well: {why}")
        }
        Some(first) if first.word != SuspectWord::Cleared => {
            format!(
                "what limits {variant} is not certain; suspected: {}, because {}",
                first.title,
                evidence(first)
            )
        }
        _ => format!(
            "nothing that was examined limits {variant}: what could not be told, and a profile of its waits, come next"
        ),
    }
}
