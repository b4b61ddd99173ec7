//! Prints the answer of a run, in the form that was asked for.

use std::path::Path;
use std::time::Duration;

use archive::Run;
use archive::model::{ExplainedServer, Explanation, Sessions, Verdict};
use clap::ValueEnum;
use cost::metered::MeteredReport;
use cost::pricing::CostReport;
use profile::stacks::SampleSource;
use profile::{Stacks, firefox, folded};
use runs::{RunAnswer, RunResult};
use serde::Serialize;

use crate::args::options::AnswerFormat;
use crate::print::print;
use crate::show;

/// The form of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplanationFormat {
    /// For people.
    Text,
    /// One object on standard output, see docs/FORMATS.md.
    Json,
    /// The stacks of the profiles, a line each with the number of samples; flame graph programs read it.
    Folded,
    /// The stacks of waits within operations and for work, a line each with the microseconds that threads waited there.
    FoldedWaits,
    /// A profile that Firefox Profiler (profiler.firefox.com) opens; of one server.
    Firefox,
}

/// The form of what a search has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TuneFormat {
    /// For people
    Text,
    /// The object of tuning.json, see docs/FORMATS.md
    Json,
    /// Markdown, for a pull request
    Md,
}

/// The form of any answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// For people, or for programs.
    Plain(AnswerFormat),
    /// Markdown.
    Markdown,
    /// The profiles of an explanation.
    Profile(ProfileForm),
}

/// The form of profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileForm {
    /// Stacks with samples.
    Folded,
    /// Stacks of waits with microseconds.
    FoldedWaits,
    /// For Firefox Profiler.
    Firefox,
}

impl From<ExplanationFormat> for AnswerForm {
    fn from(format: ExplanationFormat) -> Self {
        match format {
            ExplanationFormat::Text => Self::Plain(AnswerFormat::Text),
            ExplanationFormat::Json => Self::Plain(AnswerFormat::Json),
            ExplanationFormat::Folded => Self::Profile(ProfileForm::Folded),
            ExplanationFormat::FoldedWaits => Self::Profile(ProfileForm::FoldedWaits),
            ExplanationFormat::Firefox => Self::Profile(ProfileForm::Firefox),
        }
    }
}

impl From<TuneFormat> for AnswerForm {
    fn from(format: TuneFormat) -> Self {
        match format {
            TuneFormat::Text => Self::Plain(AnswerFormat::Text),
            TuneFormat::Json => Self::Plain(AnswerFormat::Json),
            TuneFormat::Md => Self::Markdown,
        }
    }
}

/// The verdict for a program, and what meters, prices and other sessions add to it.
#[derive(Serialize)]
struct VerdictDocument<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    power: Option<&'a MeteredReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'a CostReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<&'a Sessions>,
}

/// Prints an answer.
pub fn print_answer(answer: &RunAnswer, form: AnswerForm) -> anyhow::Result<()> {
    match form {
        AnswerForm::Plain(format) => print_plain(answer, format),
        AnswerForm::Markdown => print(&report::markdown(&answer.run)?),
        AnswerForm::Profile(form) => print_profiles(&answer.run, form),
    }
}

fn print_plain(answer: &RunAnswer, format: AnswerFormat) -> anyhow::Result<()> {
    let RunAnswer { run, result, costs, report, .. } = answer;
    let path = |path: &Path| path.display().to_string();
    let (dir, report) = (path(&run.dir), report.as_deref().ok().map(path));
    let report = report.as_deref();
    match result {
        // Its only line is that of the error.
        RunResult::Trials { .. } if format == AnswerFormat::Text && answer.stopped_without_value() => Ok(()),
        RunResult::Trials { verdict, .. } => {
            let (metered, costs) = (cost::metered::metered(run), costs.as_ref());
            let (power, sessions) = (metered.as_ref(), run.sessions.as_ref());
            let document = VerdictDocument { verdict, power, cost: costs, sessions };
            format.print(&document, || show::verdict::answer(verdict, run, power, costs, &dir, report))
        }
        RunResult::Explanation(found) => format.print(found, || show::explanation::text(found, &dir, report)),
        RunResult::Concurrency(found) => format.print(found, || show::concurrency::text(found, &dir, report)),
        RunResult::Tuning(record) => format.print(record, || show::tuning::text(record, &dir, report)),
    }
}

fn print_profiles(run: &Run, form: ProfileForm) -> anyhow::Result<()> {
    let Some(explanation) = &run.explanation else { anyhow::bail!("{} has no profiles", run.id) };
    match form {
        ProfileForm::Folded => {
            let texts: Vec<String> = profiles(run, explanation)?.into_iter().map(|(_, text)| text).collect();
            print(&texts.concat())
        }
        ProfileForm::FoldedWaits => print(&waits(run, explanation)?.concat()),
        ProfileForm::Firefox => {
            let (variant, text) = profiles(run, explanation)?.remove(0);
            let profile = explanation.servers[0].profile.as_ref().expect("it has a profile");
            let period = Duration::from_secs_f64(profile.period_us.max(0.0) / 1e6);
            let stacks: Stacks = folded::parse(&text, SampleSource::CpuClock, period)?;
            print(&firefox::write(&stacks, &variant, run.id.started()))
        }
    }
}

/// Name and folded stacks of each server; an error if one has none.
fn profiles(run: &Run, explanation: &Explanation) -> anyhow::Result<Vec<(String, String)>> {
    let of = |server: &ExplainedServer| {
        let Some(profile) = &server.profile else {
            anyhow::bail!(
                "{} has no profile: {}",
                server.variant,
                why_missing(server, "where the CPU time goes")
            );
        };
        Ok((server.variant.clone(), run.text(&profile.folded, u64::MAX)?))
    };
    explanation.servers.iter().map(of).collect()
}

/// The folded stacks of each server's waits; an error if one has none.
fn waits(run: &Run, explanation: &Explanation) -> anyhow::Result<Vec<String>> {
    let of = |server: &ExplainedServer| {
        let Some(waits) = &server.waits else {
            let why = why_missing(server, "where time goes off the CPU");
            anyhow::bail!("the waits of {} were not watched: {why}", server.variant);
        };
        Ok(run.text(&waits.folded, u64::MAX)?)
    };
    explanation.servers.iter().map(of).collect()
}

/// Why something could not be told of a server.
fn why_missing<'e>(server: &'e ExplainedServer, what: &str) -> &'e str {
    let unknown = server.unknown.iter().find(|unknown| unknown.what == what);
    unknown.map_or("no sample was taken", |unknown| unknown.why.as_str())
}
