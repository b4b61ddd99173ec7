//! The variants of runs with their performance, as the verdicts have it.

use archive::model::{Comparison, SweepPoint, VariantSummary, Verdict};
use archive::{Run, RunState};
use stats::bootstrap;
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::quantity::OperationsPerSecond;

use crate::figure::{Figure, interval_of};

/// Why the cost of a run cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It has no verdict yet.
    #[error("run {run} has no verdict, because it is {state}: {remedy}")]
    NoVerdict {
        /// The run.
        run: String,
        /// Its state.
        state: &'static str,
        /// What the user can do.
        remedy: String,
    },
    /// It compares nothing.
    #[error("run {0} has no trials, so nothing has a price: name a run of `showdown compare` or `sweep`")]
    NoTrials(String),
    /// It was given twice.
    #[error("run {0} is named twice: name each run once")]
    Twice(String),
}

/// A run with its verdict.
#[derive(Debug)]
pub(crate) struct MeasuredRun<'r> {
    pub run: &'r Run,
    pub id: &'r str,
    pub verdict: &'r Verdict,
    pub variants: Vec<MeasuredVariant<'r>>,
}

/// A variant of a run, in a sweep at one point.
#[derive(Debug)]
pub(crate) struct MeasuredVariant<'r> {
    pub summary: &'r VariantSummary,
    /// The valid values of its blocks.
    pub values: Vec<f64>,
    pub performance: Performance,
}

/// What a variant can do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Performance {
    /// Operations a second (or megabytes a second), in the unit of the verdict; `scale` makes it a rate per second.
    Rate { figure: Figure, scale: f64 },
    /// CPU time an operation, microseconds.
    CpuTime { figure: Figure },
    /// Nothing that a cost can be divided by.
    None { why: String },
}

impl Performance {
    /// Operations a second for a value in the verdict's unit.
    pub(crate) fn per_s(value: f64, scale: f64) -> OperationsPerSecond {
        OperationsPerSecond::new(value * scale)
    }

    pub(crate) fn figure(&self) -> Option<Figure> {
        match self {
            Self::Rate { figure, .. } | Self::CpuTime { figure } => Some(*figure),
            Self::None { .. } => None,
        }
    }
}

impl<'r> MeasuredRun<'r> {
    pub(crate) fn all(runs: &'r [Run]) -> Result<Vec<Self>, RunError> {
        for (number, run) in runs.iter().enumerate() {
            if runs[..number].iter().any(|other| other.id == run.id) {
                return Err(RunError::Twice(run.id.to_string()));
            }
        }
        runs.iter().map(Self::of).collect()
    }

    fn of(run: &'r Run) -> Result<Self, RunError> {
        let no_verdict = || {
            let id = run.id.to_string();
            let is_of_trials = run.plan.as_ref().is_none_or(|plan| plan.kind.has_trials());
            let remedy = match run.state {
                _ if !is_of_trials => return RunError::NoTrials(id),
                RunState::Running => "wait for its end".to_owned(),
                _ if run.is_resumable() => format!("`showdown resume {id}` goes on with it"),
                _ => format!("`showdown show {id}` says what cannot be read"),
            };
            RunError::NoVerdict { run: id, state: run.state.name(), remedy }
        };
        let verdict = run.verdict.as_ref().ok_or_else(no_verdict)?;
        let variants = verdict.variants.iter().map(|summary| MeasuredVariant::of(summary, verdict)).collect();
        Ok(Self { run, id: run.id.as_str(), verdict, variants })
    }

    /// The verdict's comparison of two of its variants at one point, and whether `a` is its denominator.
    fn comparison(&self, a: &VariantSummary, b: &VariantSummary) -> Option<(&Comparison, bool)> {
        let at_point =
            self.verdict.comparisons.iter().filter(|found| found.point == a.point && a.point == b.point);
        let mut both = at_point.filter_map(|found| match (found.a == a.name, found.b == a.name) {
            (true, _) if found.b == b.name => Some((found, false)),
            (_, true) if found.a == b.name => Some((found, true)),
            _ => None,
        });
        both.next()
    }

    /// The verdict's ratio of `a` to `b`, within blocks; none where it has none.
    pub(crate) fn ratio(&self, a: &VariantSummary, b: &VariantSummary) -> Option<Figure> {
        let (found, is_reversed) = self.comparison(a, b)?;
        let estimate = found.estimate.as_ref()?;
        let interval = ConfidenceInterval { low: estimate.low, high: estimate.high };
        let figure = Figure::new(estimate.ratio, Some(interval));
        Some(if is_reversed { figure.through(|ratio| 1.0 / ratio) } else { figure })
    }

    /// Why its values say nothing about those of another run: what they did is not the same. None if it is.
    pub(crate) fn other_work(&self, other: &Self) -> Option<&'static str> {
        let (own, others) = (self.run.plan.as_ref()?, other.run.plan.as_ref()?);
        match () {
            () if own.workload != others.workload => Some("workloads"),
            () if own.on_op != others.on_op => Some("operations (--on-op)"),
            () if own.background != others.background => Some("background loads"),
            () => None,
        }
    }

    /// Whether client and server shared a machine.
    pub(crate) fn is_on_one_machine(&self) -> bool {
        self.verdict.caveats.iter().any(|caveat| caveat.id == "one-machine")
    }
}

impl<'r> MeasuredVariant<'r> {
    fn of(summary: &'r VariantSummary, verdict: &Verdict) -> Self {
        let values: Vec<f64> =
            summary.values.iter().filter(|value| value.valid).map(|value| value.value).collect();
        let performance = performance(summary, verdict, &values);
        Self { summary, values, performance }
    }

    /// The ratio of its mean to that of a variant of another run; none with too few trials.
    pub(crate) fn ratio_to(&self, other: &Self) -> Option<Figure> {
        ratio_of_means(&self.values, &other.values)
    }

    /// Its name, with its point in a sweep.
    pub(crate) fn label(&self) -> String {
        label(&self.summary.name, &self.summary.point)
    }
}

/// The ratio of the means of values of two runs, by resampling; none with too few of them.
pub(crate) fn ratio_of_means(a: &[f64], b: &[f64]) -> Option<Figure> {
    let found = bootstrap::figure(&[a, b], |means| means[0] / means[1], Confidence::P95);
    found.map(|(ratio, interval)| Figure::new(ratio, Some(interval)))
}

/// The name of a variant at a point: `nginx threads=2`.
pub(crate) fn label(name: &str, point: &SweepPoint) -> String {
    let settings: Vec<String> = point.iter().map(|(axis, value)| format!(" {axis}={value}")).collect();
    name.to_owned() + &settings.concat()
}

fn performance(summary: &VariantSummary, verdict: &Verdict, values: &[f64]) -> Performance {
    let Some(median) = summary.median.filter(|median| *median > 0.0) else {
        return Performance::None { why: "no trial of it is valid, or its value is 0".to_owned() };
    };
    let of_verdict =
        summary.interval.map(|interval| ConfidenceInterval { low: interval.low, high: interval.high });
    let figure = Figure::new(median, interval_of(values, of_verdict));
    match (verdict.unit.as_str(), verdict.higher_is_better) {
        ("/s" | "MB/s", true) => Performance::Rate { figure, scale: 1.0 },
        ("/h", true) => Performance::Rate { figure, scale: 1.0 / 3600.0 },
        ("µs", false) if summary.cpu_time_us.is_some() => Performance::CpuTime { figure },
        _ => Performance::None {
            why: format!(
                "the run measured {}, which is no amount of work: measure a capacity",
                verdict.metric
            ),
        },
    }
}
