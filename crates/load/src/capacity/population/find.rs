//! Loads a server that is already running with one population after the other.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::search::{Population, PopulationSearch};
use crate::capacity::budget::BudgetUse;
use crate::capacity::evaluate::evaluate;
use crate::engine;
use crate::inputs::limits::MOST_CONNECTIONS;
use crate::inputs::slo::Slo;
use crate::outcome::validity::BrokenRule;
use crate::outcome::{RunContext, RunError};
use crate::record::ErrorKind;
use crate::spans::Spans;
use crate::spec::{LoadSpec, Shape};
use crate::summary::Summary;

/// Most visits a second.
const MOST_VISITS_PER_S: f64 = 1e6;

/// One population, loaded once.
#[derive(Clone, Debug, PartialEq)]
pub struct PopulationStep {
    /// How many there were.
    pub population: Population,
    /// What was spent of the objective's budget.
    pub spent: BudgetUse,
    /// Why it was not carried, one line each; empty if it was.
    pub missed: Vec<String>,
    /// Why the client may be the reason.
    pub client_reasons: Vec<String>,
    /// Its numbers.
    pub summary: Summary,
    /// The same over time.
    pub spans: Spans,
}

impl PopulationStep {
    /// Whether the server carried them. A client that is slow makes an objective harder to meet, not easier.
    pub fn is_carried(&self) -> bool {
        self.missed.is_empty()
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct PopulationCapacity {
    /// The objective.
    pub slo: Slo,
    /// The largest population that was carried, twice; none if no one is, or if that is not known.
    pub carried: Option<Population>,
    /// The least that was not.
    pub missed: Option<Population>,
    /// Whether it is valid. It is not if the client was the limit, or the search was interrupted.
    pub valid: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// Each load, from the smallest population to the largest.
    pub steps: Vec<PopulationStep>,
}

/// What happens during a search.
#[derive(Debug)]
pub enum PopulationEvent<'a> {
    /// A load begins.
    Begins {
        /// With so many.
        population: Population,
        /// About how long the rest of the search takes.
        left: Duration,
    },
    /// It has ended.
    Ended(&'a PopulationStep),
}

/// Searches. `spec` has the first population, and the warm-up and the length of each load.
pub fn find(
    spec: &LoadSpec,
    slo: &Slo,
    context: &RunContext,
    observe: &mut dyn FnMut(PopulationEvent<'_>),
) -> Result<PopulationCapacity, RunError> {
    let (first, most) = match &spec.part.shape {
        Shape::Closed { .. } => (Population::Users(spec.connections), Population::Users(MOST_CONNECTIONS)),
        Shape::Open { rate, .. } => (Population::Visits(rate.peak()), Population::Visits(MOST_VISITS_PER_S)),
    };
    let length = spec.part.warmup + spec.part.duration.unwrap_or(LoadSpec::DURATION);
    let mut search = PopulationSearch::new(first, most);
    let mut steps = Vec::new();
    let mut client_limit = None;
    while let Some(population) = search.next() {
        observe(PopulationEvent::Begins { population, left: length * search.left() });
        let outcome = match engine::run(&with_population(spec, population), context, &mut |_| {}) {
            Ok(outcome) if outcome.interrupted => break,
            Err(RunError::Interrupted) if !steps.is_empty() => break,
            other => other?,
        };
        let summary = Summary::of(&outcome);
        let evaluation = evaluate(slo, &outcome, &summary);
        let step = PopulationStep {
            population,
            missed: missed(slo, &evaluation.spent, &summary),
            client_reasons: client_reasons(evaluation.client_reasons, &summary),
            spent: evaluation.spent,
            spans: Spans::of(&outcome),
            summary,
        };
        observe(PopulationEvent::Ended(&step));
        search.add(population, step.is_carried());
        if !step.is_carried() && !step.client_reasons.is_empty() {
            client_limit = Some((population, step.client_reasons.join("; ")));
        }
        steps.push(step);
    }
    steps.sort_by(|a: &PopulationStep, b| a.population.size().total_cmp(&b.population.size()));
    let mut reasons = Vec::new();
    if context.interrupted.load(Ordering::Relaxed) {
        reasons.push("interrupted before the search was over".to_owned());
    }
    if let Some((_, why)) = client_limit.filter(|(population, _)| search.missed() == Some(*population)) {
        reasons.push(format!(
            "the client was the limit of the search, and the capacity is at least this: {why}"
        ));
    }
    if search.is_at_most() {
        reasons.push("the search goes no further: the capacity is at least this".to_owned());
    }
    Ok(PopulationCapacity {
        slo: slo.clone(),
        carried: search.carried(),
        missed: search.missed(),
        valid: reasons.is_empty(),
        reasons,
        steps,
    })
}

/// The same load with so many.
fn with_population(spec: &LoadSpec, population: Population) -> LoadSpec {
    match (population, &spec.part.shape) {
        (Population::Visits(per_s), Shape::Open { rate, arrivals }) => {
            // As many more visits are there at once.
            let slots = f64::from(spec.connections) * (per_s / rate.peak()).max(1.0);
            let slots = (slots.ceil() as u32).min(MOST_CONNECTIONS);
            spec.clone().with_connections(slots).with_shape(Shape::open(per_s, *arrivals))
        }
        (Population::Users(users), _) => {
            spec.clone().with_connections(users).with_workers(spec.workers.min(users))
        }
        (Population::Visits(_), Shape::Closed { .. }) => unreachable!("visits arrive in an open loop"),
    }
}

/// Why the client may be the reason that a population was not carried: what it did, or that its host has no more connections.
fn client_reasons(of_objective: Vec<String>, summary: &Summary) -> Vec<String> {
    let mut reasons = of_objective;
    for (kind, what) in [
        (ErrorKind::NoDescriptors, "descriptors: raise the limit of open files (ulimit -n)"),
        (ErrorKind::NoPorts, "local ports: give it more addresses (--source)"),
    ] {
        if summary.errors.contains_key(&kind) {
            reasons.push(format!("this host ran out of {what}"));
        }
    }
    reasons
}

/// Why a population was not carried: the objective, a rule of its users, or a load that was smaller. That chance drew another mix or
/// shorter delays is no fault of the server.
fn missed(slo: &Slo, spent: &BudgetUse, summary: &Summary) -> Vec<String> {
    let mut missed = Vec::new();
    match spent.burn_rate() {
        Some(burn) if burn <= 1.0 => {}
        Some(_) => missed.push(format!("misses {slo}")),
        None => missed.push("nothing was measured".to_owned()),
    }
    for rule in &summary.rules_broken {
        let counts = match rule.kind() {
            BrokenRule::Mix { .. } | BrokenRule::DrawnDelay { .. } => false,
            BrokenRule::Achieved { .. }
            | BrokenRule::Connections { .. }
            | BrokenRule::SilentConnections { .. }
            | BrokenRule::ClientLost { .. } => true,
            _ => rule.is_of_users(),
        };
        if counts {
            missed.push(rule.to_string());
        }
    }
    missed
}
