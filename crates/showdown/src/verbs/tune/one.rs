//! One search: the trials of a server, its record and its report. The options are in [`super`].

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use archive::Run;
use archive::model::TuningRecord;
use bakeoff::plan_request::{self, PlanRequest};
use bakeoff::{RunCpus, RunPermissions};
use host::Host;
use host::knobs::Knob;
use load::engine::RunContext;
use tune::bakeoff_lab::{self, BakeoffLab, TuneEvent};
use tune::record::{RecordContext, record};
use tune::search::{self, Found, SearchError, SearchLimits};
use tune::{LabError, Situation, Tuning, choose, knobs_as_tunings};
use workload::definition::ServerDefinition;
use workload::{Catalogue, VariantText, is_kernel_setting};

use super::args::{Allowed, TuneArgs, TuneFormat, request};
use crate::exit::{CommandStatus, InterruptedError, InvalidMeasurementError, usage};
use crate::print::{note, print, print_json, print_text};
use crate::show;
use crate::show::tune_progress::TuneProgress;

/// A search that has ended.
pub struct Tuned {
    /// What it has found.
    pub record: TuningRecord,
    /// The run that has its answer.
    pub run: Run,
    /// The path of its report, or why it could not be written: on a full disk there is an answer, too.
    report: Result<String, String>,
    /// Whether the user interrupted it.
    pub is_interrupted: bool,
    /// Kernel settings that could not be restored.
    unrestored: Vec<String>,
}

impl Tuned {
    /// The server as its best is written: the baseline where nothing is kept.
    pub fn best(&self) -> &str {
        self.record.tuned.as_ref().unwrap_or(&self.record.baseline)
    }

    /// Prints the answer.
    pub fn answer(&self, format: TuneFormat) -> anyhow::Result<()> {
        let Self { record, run, report, .. } = self;
        match format {
            TuneFormat::Text => {
                let report = report.as_deref().ok();
                print_text(&show::tuning::text(record, &run.dir.display().to_string(), report))
            }
            TuneFormat::Json => print_json(&(serde_json::to_string(record)? + "\n")),
            TuneFormat::Md => print(&report::markdown(run)?),
        }
    }

    /// How it ended.
    pub fn ended(&self) -> anyhow::Result<CommandStatus> {
        let dir = self.run.dir.display();
        if !self.unrestored.is_empty() {
            anyhow::bail!("{} (the run is kept in {dir})", self.unrestored.join("; "));
        }
        if let Some(why) = self.record.ended.as_ref().filter(|_| !self.is_interrupted) {
            anyhow::bail!("the search ended early: {why} (what was learnt is kept in {dir})");
        }
        if let Err(why) = &self.report {
            anyhow::bail!("cannot write the report (the run is kept in {dir}): {why}");
        }
        Ok(if self.is_interrupted { CommandStatus::Interrupted } else { CommandStatus::Success })
    }
}

/// A server that can be tuned.
pub struct TunableServer<'a> {
    /// As the user has written it.
    pub written: &'a str,
    /// What is known of its program.
    pub definition: ServerDefinition,
    baseline: VariantText,
}

/// Checks that a server can be tuned, and that what is asked of it can be planned.
pub fn check<'a>(args: &TuneArgs, written: &'a str) -> anyhow::Result<TunableServer<'a>> {
    let (workload, variants) =
        Catalogue::default().resolve(args.workload.as_deref(), &[written]).map_err(usage)?;
    let baseline: VariantText = written.parse().map_err(usage)?;
    if baseline.host.is_some() {
        return Err(usage("tune works on this machine only: name the server without a host"));
    }
    let equal = PlanRequest { variants: vec![written.to_owned(); 2], ..request(args) };
    plan_request::plan(&equal, &Host::local()).map_err(usage)?;
    let definition = workload.server(&variants[0].server)?.clone();
    Ok(TunableServer { written, definition, baseline })
}

/// Searches for this share of the time, and writes what was found.
pub fn tune(
    args: &TuneArgs,
    tunings: &[Tuning],
    server: &TunableServer<'_>,
    share: f64,
    context: &RunContext,
) -> anyhow::Result<Tuned> {
    let time = args.time.mul_f64(share);
    let request = request(args);
    let permissions = RunPermissions { kernel: &args.allow_kernel, ..RunPermissions::default() };
    let runs = &args.runs.runs;
    std::fs::create_dir_all(runs)
        .with_context(|| format!("{}: choose another directory with --runs", runs.display()))?;
    let scratch =
        tempfile::Builder::new().prefix(archive::layout::TUNING_RUNS).tempdir_in(&args.runs.runs)?;
    // Other commands remove such a folder when it is old and nobody has locked it.
    let lock = File::open(scratch.path())?;
    lock.lock()?;
    let progress = TuneProgress::start(args.progress.mode());
    let memory = Host::local().facts().memory.total_bytes as f64;
    let limits = if args.quick { SearchLimits::quick(time, memory) } else { SearchLimits::of(time, memory) };
    let mut observe = |event: TuneEvent| progress.observe(event);
    let mut lab = BakeoffLab::new(
        request,
        server.baseline.clone(),
        args.quick,
        permissions,
        scratch.path().to_owned(),
        context,
        &mut observe,
    )
    .asking_server(depend_on_statistics(tunings, &server.definition));
    let found = search::search(&mut lab, &limits, &mut |equal, figures| {
        candidates(args, tunings, &server.definition, &scratch.path().join(&equal.run), figures)
    });
    let confirmed = found.as_ref().ok().and_then(|found| found.confirmation.as_ref());
    let tuned = confirmed.map(|confirmation| lab.written(&confirmation.settings));
    let (took, unrestored) = (tune::TuningLab::elapsed(&lab), std::mem::take(&mut lab.unrestored));
    drop(lab);
    progress.finish();
    // Other commands remove this folder if it cannot be moved.
    let scratch = scratch.keep();
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            match bakeoff_lab::first_run(&scratch) {
                None => std::fs::remove_dir_all(&scratch)?,
                Some(first) => {
                    if let Ok(dir) = bakeoff_lab::keep(&scratch, &first, &args.runs.runs) {
                        note(&format!("what was measured is kept in {}", dir.display()));
                    }
                }
            }
            for why in &unrestored {
                note(why);
            }
            return Err(why_not(error, args.time, share));
        }
    };
    let own_run = confirmed_or_equal(&found);
    let dir = bakeoff_lab::keep(&scratch, &own_run, &args.runs.runs)?;
    let mut run = Run::open(&dir)?;
    let verdict = run.verdict.as_ref();
    let context_of_record = RecordContext {
        command: host::secrets::mask(std::env::args().collect::<Vec<_>>().iter().map(String::as_str)),
        baseline: server.written.to_owned(),
        tuned,
        metric: verdict.map(|verdict| verdict.metric.clone()).unwrap_or_default(),
        unit: verdict.map(|verdict| verdict.unit.clone()).unwrap_or_default(),
        budget: time,
        took,
        allowed: args.allow.iter().map(|allowed| format!("{allowed:?}").to_lowercase()).collect(),
        own_run,
    };
    let record = record(&found, context_of_record);
    let report = reported(&mut run, record.clone());
    Ok(Tuned {
        record,
        run,
        report: report.map(|path| path.display().to_string()).map_err(|error| format!("{error:#}")),
        is_interrupted: found.is_interrupted,
        unrestored,
    })
}

/// Whether the server can be asked what it says of itself, and a tuning for it depends on the answer.
fn depend_on_statistics(tunings: &[Tuning], server: &ServerDefinition) -> bool {
    let for_it = tunings.iter().filter(|tuning| tune::why_not_fit(tuning, server).is_none());
    let mut conditions = for_it.flat_map(|tuning| tuning.when.iter().chain(&tuning.unless));
    !server.observe.is_empty() && conditions.any(|condition| explain::is_of_statistics(&condition.figure))
}

/// Writes what was found into the run, and its report.
fn reported(run: &mut Run, record: TuningRecord) -> anyhow::Result<PathBuf> {
    if let Some(explanation) = explain::explain_trials(run) {
        run.explain(explanation)?;
    }
    run.tune(record)?;
    crate::verbs::archive::write_report(run, None)
}

/// The candidates for a server with these figures, from the trials of equal servers in this run directory.
fn candidates(
    args: &TuneArgs,
    tunings: &[Tuning],
    server: &ServerDefinition,
    equal_run: &std::path::Path,
    figures: BTreeMap<String, f64>,
) -> (Vec<tune::Candidate>, Vec<tune::NotTried>) {
    let host = Host::local();
    let facts = host.facts();
    let run = Run::open(equal_run).ok();
    let variant = run.as_ref().and_then(|run| run.facts.as_ref()?.variants.first());
    let knobs = variant.into_iter().flat_map(|variant| &variant.knobs);
    let mut values: BTreeMap<String, String> =
        knobs.map(|(name, value)| (name.clone(), value.written())).collect();
    let levels = tunings.iter().flat_map(|tuning| &tuning.levels);
    // A setting that may not be tried is not read either: reading some files of the kernel has effects.
    let is_allowed = |knob: &Knob| {
        host::knobs::usual_purpose(knob).is_some() || args.allow_kernel.iter().any(|allowed| allowed == knob)
    };
    for name in levels.flat_map(|level| level.set.keys()).filter(|name| is_kernel_setting(name)) {
        let knob = name.parse().ok().filter(is_allowed);
        let value = knob.and_then(|knob| host.kernel_setting(&knob).ok());
        values.extend(value.map(|value| (name.clone(), value)));
    }
    let plan = run.as_ref().and_then(|run| run.plan.as_ref());
    let cpus = plan.and_then(|plan| RunCpus::of(plan).ok()).map(|cpus| cpus.server);
    let is_own = tunings.iter().all(|tuning| !tuning.servers.contains(&server.name));
    let own = if is_own && args.only.is_empty() { knobs_as_tunings(server, &values) } else { Vec::new() };
    let all: Vec<Tuning> = tunings.iter().cloned().chain(own).collect();
    let situation = Situation {
        server,
        values,
        figures,
        cpu_mask: cpus.as_ref().and_then(tune::candidate::cpu_mask),
        cpus: cpus.map_or(1, |cpus| cpus.len().max(1)),
        memory_mb: facts.memory.total_bytes / (1 << 20),
        nodes: facts.cpu.numa_nodes,
        can_reserve_huge_pages: facts.memory.huge_page_bytes == Some(2 << 20)
            && facts.memory.huge_pages == Some(0),
        is_root: rustix::process::geteuid().is_root(),
        may_weaken_durability: args.allow.contains(&Allowed::Durability),
        may_weaken_security: args.allow.contains(&Allowed::Security),
        allowed_kernel: args.allow_kernel.iter().map(ToString::to_string).collect(),
    };
    choose(&all, &situation)
}

/// The run of a search that answers its question: the confirmation, or equal servers where there is none.
fn confirmed_or_equal(found: &Found) -> String {
    let confirmed = found.confirmation.as_ref().map(|confirmation| confirmation.trials.run.clone());
    confirmed.unwrap_or_else(|| found.equal.trials.run.clone())
}

/// Why nothing was found out. A time that is too short is that of the whole command.
fn why_not(error: SearchError, time: Duration, share: f64) -> anyhow::Error {
    match error {
        SearchError::Lab(LabError::Interrupted) => InterruptedError("before anything was learnt").into(),
        SearchError::TooShort { needed_s, .. } => {
            #[expect(clippy::cast_possible_truncation, reason = "seconds that a person could wait")]
            let needed_s = (needed_s as f64 / share).ceil() as u64;
            usage(SearchError::TooShort { budget_s: time.as_secs(), needed_s })
        }
        SearchError::Invalid(_) => InvalidMeasurementError(error.to_string()).into(),
        SearchError::NoBaseline(_) | SearchError::Lab(_) => error.into(),
    }
}
