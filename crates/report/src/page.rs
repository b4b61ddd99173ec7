//! The data of the page: the run, shortened, with telemetry and configurations.
//!
//! A page is for reading, not for computation: floats keep six digits, long timelines are shortened, and only the drawn
//! columns of the telemetry are included. Stacks of profiles become trees. The files that the page names have the rest.

use crate::{
    flame::{self, Flame},
    telemetry::{self, Drawn},
    timeline,
};
use archive::{
    Problem, Run, RunId, RunState,
    model::{Concurrency, CpuSplit, Explanation, Sessions, Tick, Trial, TuningRecord},
};
use cost::metered::{MeteredReport, metered};
use cost::pricing::CostReport;
use cost::published::{self, ListedResult, Published};
use serde::Serialize;
use std::collections::BTreeMap;

/// Points of all timelines together. This keeps a page under 2 MB and its charts fast.
const TICKS: usize = 12_000;
/// Maximum points of one timeline: a chart has no more pixels.
const MAX_TICKS: usize = 600;
/// Maximum rows of one trial's telemetry: ten minutes with a row every three seconds.
const MAX_ROWS: usize = 200;
/// Minimum points of a timeline: a shorter one is not readable.
const MIN_TICKS: usize = 40;
/// Maximum part of a configuration file, bytes.
const MAX_CONFIG_BYTES: u64 = 64 << 10;
/// Maximum functions of a profile's table or of a difference; those that cost the least are omitted.
const MAX_FUNCTIONS: usize = 1_000;
/// Maximum part of a file of folded stacks, bytes.
const MAX_FOLDED_BYTES: u64 = 16 << 20;
/// Maximum size of all configuration files together, bytes.
const MAX_CONFIGS_BYTES: usize = 512 << 10;

/// The data of the page.
#[derive(Debug, Serialize)]
pub(crate) struct Page<'a> {
    #[serde(flatten)]
    record: PageRecord<'a>,
    /// By the number of the trial.
    telemetry: BTreeMap<u32, Drawn>,
    /// Text of configuration files by their name in the run directory.
    configs: BTreeMap<&'a str, String>,
    /// Where the report is made with a file of targets.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<PageCost<'a>>,
    /// Watts beside the load, where the run has a meter.
    #[serde(skip_serializing_if = "Option::is_none")]
    power: Option<MeteredReport>,
    /// The readings of the meters by the number of the trial.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    watts: BTreeMap<u32, Drawn>,
    /// What limits the servers, in a run that explains; or in short, in a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
    /// How many functions the difference of the explanation has, with those that are omitted here.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_functions: Option<usize>,
    /// How many downloads are in progress at once, in a run of transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency: Option<&'a Concurrency>,
    /// What a search for tunings has tried and kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuning: Option<&'a TuningRecord>,
    /// The answer of all runs of the plan, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<&'a Sessions>,
    /// Profiles of the explanation by the name of their file.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    profiles: BTreeMap<String, Flame>,
    made_by: String,
}

/// What the variants cost, and published figures of the same workload for scale.
#[derive(Debug, Serialize)]
struct PageCost<'a> {
    #[serde(flatten)]
    report: &'a CostReport,
    published: Vec<ListedResult>,
}

#[derive(Debug, Serialize)]
struct PageRecord<'a> {
    run: PageHead<'a>,
    plan: Option<&'a archive::model::Plan>,
    facts: Option<&'a archive::model::Facts>,
    verdict: Option<&'a archive::model::Verdict>,
    trials: Vec<PageTrial<'a>>,
}

/// The run. Its problems include telemetry and configurations that cannot be read.
#[derive(Debug, Serialize)]
struct PageHead<'a> {
    id: &'a RunId,
    state: RunState,
    dir: String,
    tags: &'a [String],
    problems: Vec<Problem>,
    /// Left out where it is not: pages of before have no such field.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
}

/// A trial whose timeline may be shortened.
#[derive(Debug, Serialize)]
struct PageTrial<'a> {
    folder: &'a str,
    #[serde(flatten)]
    trial: Trial,
    /// Number of recorded points in each point of the timeline.
    ticks_merged: usize,
}

impl<'a> Page<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        let most = (TICKS / run.trials.len().max(1)).clamp(MIN_TICKS, MAX_TICKS);
        let mut unread = Vec::new();
        let telemetry = drawn(run, MAX_ROWS, &mut unread);
        let watts = watts(run, MAX_ROWS, &mut unread);
        let configs = configs(run, &mut unread);
        let profiles = profiles(run, &mut unread);
        let explanation = run.explanation.clone().map(shortened);
        let difference = run.explanation.as_ref().and_then(|explanation| explanation.difference.as_ref());
        let compared_functions = difference.map(|difference| difference.frames.len());
        let trials = run.trials.iter().map(|record| {
            let (timeline, ticks_merged) = timeline::shorten(&record.trial.timeline, most);
            let trial = with_timeline(&record.trial, timeline);
            PageTrial { folder: &record.folder, trial, ticks_merged }
        });
        let head = PageHead {
            id: &run.id,
            state: run.state,
            dir: run.dir.display().to_string(),
            tags: &run.tags,
            problems: run.problems.iter().cloned().chain(unread).collect(),
            imported: run.is_imported(),
        };
        let record = PageRecord {
            run: head,
            plan: run.plan.as_ref(),
            facts: run.facts.as_ref(),
            verdict: run.verdict.as_ref(),
            trials: trials.collect(),
        };
        let made_by = concat!("showdown ", env!("CARGO_PKG_VERSION")).to_owned();
        let power = metered(run);
        Self {
            record,
            telemetry,
            configs,
            cost: None,
            power,
            watts,
            explanation,
            compared_functions,
            concurrency: run.concurrency.as_ref(),
            tuning: run.tuning.as_ref(),
            sessions: run.sessions.as_ref(),
            profiles,
            made_by,
        }
    }

    pub(crate) fn with_cost(self, run: &Run, report: &'a CostReport) -> Self {
        let workload = run.plan.as_ref().map(|plan| plan.workload.as_str());
        let published = workload.map(|name| published::report(&Published::shipped(), Some(name)).results);
        Self { cost: Some(PageCost { report, published: published.unwrap_or_default() }), ..self }
    }
}

fn with_timeline(trial: &Trial, timeline: Vec<Tick>) -> Trial {
    Trial { timeline, ..trial.clone() }
}

/// An explanation with the functions that cost the most. Their order in the file is that of their cost.
fn shortened(mut explanation: Explanation) -> Explanation {
    for profile in explanation.servers.iter_mut().filter_map(|server| server.profile.as_mut()) {
        profile.frames.truncate(MAX_FUNCTIONS);
    }
    if let Some(difference) = &mut explanation.difference {
        // Their order is that of the size of the difference, which may be chance.
        difference.frames.sort_by_key(|frame| !frame.is_significant);
        difference.frames.truncate(MAX_FUNCTIONS);
    }
    explanation
}

/// The stacks of each profile of the explanation, and of its waits.
fn profiles(run: &Run, unread: &mut Vec<Problem>) -> BTreeMap<String, Flame> {
    let servers = run.explanation.iter().flat_map(|explanation| &explanation.servers);
    let mut profiles = BTreeMap::new();
    let files = servers.flat_map(|server| {
        let of_waits = server.waits.as_ref().map(|waits| &waits.folded);
        server.profile.as_ref().map(|profile| &profile.folded).into_iter().chain(of_waits)
    });
    for folded in files {
        let mut text = match run.text(folded, MAX_FOLDED_BYTES) {
            Ok(text) => text,
            Err(error) => {
                unread.push(Problem { file: folded.clone(), text: error.to_string() });
                continue;
            }
        };
        if text.len() as u64 >= MAX_FOLDED_BYTES {
            // The number of the last line may be cut.
            text.truncate(text.rfind('\n').unwrap_or_default());
            let text = "larger than 16 MiB: the flame graph has the first stacks only".to_owned();
            unread.push(Problem { file: folded.clone(), text });
        }
        let found = flame::of_folded(&text);
        if found.skipped > 0 {
            let text = format!("lines that are not stacks, and not in the flame graph: {}", found.skipped);
            unread.push(Problem { file: folded.clone(), text });
        }
        profiles.insert(folded.clone(), found);
    }
    profiles
}

fn drawn(run: &Run, most: usize, unread: &mut Vec<Problem>) -> BTreeMap<u32, Drawn> {
    let here = run.plan.as_ref().map(|plan| &plan.cpus);
    // The CPUs of the plan are those of this machine, and such a table is of the server's.
    let elsewhere = CpuSplit { server: String::new(), client: String::new() };
    let mut drawn = BTreeMap::new();
    for record in &run.trials {
        match run.telemetry(&record.trial) {
            Ok(Some(table)) => {
                let files = &record.trial.files;
                let is_elsewhere = files.client_telemetry.is_some() || !files.clients_telemetry.is_empty();
                let cpus = if is_elsewhere { Some(&elsewhere) } else { here };
                drawn.insert(record.trial.number, telemetry::drawn(&table, cpus, most));
            }
            Ok(None) => {}
            Err(error) => unread.push(Problem { file: record.folder.clone(), text: error.to_string() }),
        }
    }
    drawn
}

/// The readings of the meters of each trial.
fn watts(run: &Run, most: usize, unread: &mut Vec<Problem>) -> BTreeMap<u32, Drawn> {
    let mut watts = BTreeMap::new();
    for record in &run.trials {
        match run.power(&record.trial) {
            Ok(Some(table)) => _ = watts.insert(record.trial.number, telemetry::all_columns(&table, most)),
            Ok(None) => {}
            Err(error) => unread.push(Problem { file: record.folder.clone(), text: error.to_string() }),
        }
    }
    watts
}

/// The configurations that the facts name. All trials of a variant have the same.
fn configs<'a>(run: &'a Run, unread: &mut Vec<Problem>) -> BTreeMap<&'a str, String> {
    let mut configs = BTreeMap::new();
    let mut bytes = 0;
    let files = run.facts.iter().flat_map(|facts| &facts.variants).flat_map(|variant| &variant.config);
    for config in files {
        match run.text(&config.file, MAX_CONFIG_BYTES) {
            Ok(text) if bytes + text.len() <= MAX_CONFIGS_BYTES => {
                bytes += text.len();
                configs.insert(config.file.as_str(), text);
            }
            Ok(_) => unread.push(Problem {
                file: config.file.clone(),
                text: "omitted, because the page would be too large".to_owned(),
            }),
            Err(error) => unread.push(Problem { file: config.file.clone(), text: error.to_string() }),
        }
    }
    configs
}
