//! A whole run: checks, the server, the steps, the recovery, and the run directory after each step.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use archive::RunWriter;
use archive::model::{
    ChangedSetting, Concurrency, ConcurrencyLimit, ConcurrencyStep, FORMAT, Plan, PlannedConcurrency, RanOut,
    thousands,
};
use bakeoff::event::{Event, Observer};
use host::Host;
use load::engine::RunContext;
use load::transfers::Transfers;

use crate::error::ConcurrencyError;
use crate::ladder::{self, NextStep};
use crate::limits::{self, Demand, RESERVE, RoomFacts};
use crate::plan;
use crate::ran_out::{Setting, ran_out};
use crate::step::{Baseline, Climb, PROBES_PER_S, StepEnd};
use crate::target::{DownloadTarget, SERVER, Source};
use crate::words::{self, Found};

/// A run of transfers that has ended.
#[derive(Debug)]
pub struct FinishedConcurrency {
    /// Its directory.
    pub dir: PathBuf,
    /// What was found.
    pub concurrency: Concurrency,
    /// Why it ended before its steps had, if it did.
    pub stopped: Option<ConcurrencyError>,
    /// Kernel settings that could not be restored, one sentence each.
    pub unrestored: Vec<String>,
}

/// Runs a plan of transfers. The run directory is created in `root` when the server is up. With `target_is_mine`, a URL may have
/// a public address.
pub fn run(
    plan: &Plan,
    target_is_mine: bool,
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedConcurrency, ConcurrencyError> {
    let steps = plan::check(plan)?;
    let host = Host::local();
    let source = Source::find(plan, steps, target_is_mine)?;
    let facts = RoomFacts::of(&host.facts(), host.available_memory_share());
    let demand = Demand {
        transfers: steps.to,
        is_loopback: source.is_loopback(),
        begin_per_s: steps.begin_per_s,
        pace_bytes_per_s: steps.pace_bytes_per_s,
    };
    let may_change = !steps.keep_settings && rustix::process::geteuid().is_root();
    let bounds = limits::room(&facts, &demand, may_change);
    if let Some(limit) = limits::refusing(&bounds.limits, steps.to) {
        return Err(refused(steps.to, limit));
    }
    observe(Event::Doing { what: format!("starting {}", plan.variants[0].name) });
    let target = DownloadTarget::open(plan, steps, source, &bounds.settings, context)?;
    let run = Run {
        plan,
        steps,
        facts: &facts,
        limits: bounds.limits,
        settings: changed(&facts, &bounds.settings),
    };
    let finished = run.climb(&target, root, context, observe);
    let unrestored = target.close();
    finished.map(|finished| FinishedConcurrency { unrestored, ..finished })
}

fn refused(wanted: u32, limit: &ConcurrencyLimit) -> ConcurrencyError {
    ConcurrencyError::Limit {
        wanted,
        name: limit.name.clone(),
        value: limit.value.clone(),
        allows: limit.allows.unwrap_or_default(),
        remedy: limit.remedy.clone(),
    }
}

fn changed(facts: &RoomFacts, settings: &std::collections::BTreeMap<String, String>) -> Vec<ChangedSetting> {
    let from = |name: &String| facts.sysctls.get(name).cloned().unwrap_or_default();
    settings
        .iter()
        .map(|(name, to)| ChangedSetting { name: name.clone(), from: from(name), to: to.clone() })
        .collect()
}

/// What does not change during a run.
struct Run<'a> {
    plan: &'a Plan,
    steps: &'a PlannedConcurrency,
    facts: &'a RoomFacts,
    limits: Vec<ConcurrencyLimit>,
    settings: Vec<ChangedSetting>,
}

impl Run<'_> {
    fn climb(
        self,
        target: &DownloadTarget,
        root: &Path,
        context: &RunContext,
        observe: &mut Observer<'_>,
    ) -> Result<FinishedConcurrency, ConcurrencyError> {
        if context.interrupted.load(Ordering::Relaxed) {
            return Err(ConcurrencyError::Interrupted);
        }
        let began = SystemTime::now();
        let baseline = baseline(target)?;
        let mut transfers = Transfers::start(&target.spec, self.steps.to, context)?;
        transfers.probe(PROBES_PER_S);
        let writer = RunWriter::create(root, self.plan, began)?;
        writer.facts(&target.facts)?;
        let mut found = self.begin(target, &transfers, began);
        let mut climb =
            Climb { plan: self.steps, target, transfers: &mut transfers, context, observe, baseline };
        let stopped = self.steps(&mut climb, &mut found, &writer).err();
        if let Some(error) = &stopped {
            found.ended = error.to_string();
        }
        self.conclude(&mut found);
        writer.concurrency(&found)?;
        let dir = writer.dir().to_owned();
        Ok(FinishedConcurrency { dir, concurrency: found, stopped, unrestored: Vec::new() })
    }

    fn begin(&self, target: &DownloadTarget, transfers: &Transfers, began: SystemTime) -> Concurrency {
        Concurrency {
            format: FORMAT,
            made_unix_ms: began.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64),
            sentence: String::new(),
            variant: self.plan.variants[0].name.clone(),
            download: target.download.clone(),
            file_bytes: target.file_bytes,
            pace_bytes_per_s: self.steps.pace_bytes_per_s,
            read_interval_s: target.spec.interval().as_secs_f64(),
            processes: transfers.processes(),
            sources: target.spec.sources.len() as u32,
            ended: "it is running, or was killed".to_owned(),
            interrupted: false,
            breaking_point: None,
            comfortable_point: None,
            client_limit: None,
            limits: self.limits.clone(),
            settings: self.settings.clone(),
            chosen: target.chosen.clone(),
            steps: Vec::new(),
            recovery: None,
            ran_out: Vec::new(),
        }
    }

    /// The steps, until there is a reason to end.
    fn steps(
        &self,
        climb: &mut Climb<'_, '_>,
        found: &mut Concurrency,
        writer: &RunWriter,
    ) -> Result<(), ConcurrencyError> {
        loop {
            let next = match ladder::next(self.steps, &found.steps) {
                NextStep::Rise(next) => next,
                NextStep::Finer(next) => {
                    recover(climb, found)?;
                    next
                }
                NextStep::Reached => {
                    "all transfers that were asked for are in progress".clone_into(&mut found.ended);
                    return Ok(());
                }
                NextStep::Found => {
                    recover(climb, found)?;
                    "the break is known".clone_into(&mut found.ended);
                    return Ok(());
                }
            };
            if climb.context.interrupted.load(Ordering::Relaxed) {
                interrupted(found);
                return Ok(());
            }
            if let Some(short) = forecast(found.steps.last(), next, climb.baseline) {
                found.ended.clone_from(&short.sentence);
                found.ran_out.push(short);
                return Ok(());
            }
            let StepEnd { step, is_interrupted, is_out_of_memory } = climb.step(next)?;
            let ended = climb.target.ended();
            let is_at_a_limit = ladder::is_broken(self.steps, &step)
                || is_out_of_memory
                || ladder::is_of_client(&step)
                || ended.is_some();
            if found.ran_out.is_empty() && is_at_a_limit {
                let setting = Setting {
                    server_cpus: climb.target.server_cpus,
                    tcp_pressure_bytes: limits::tcp_pressure_bytes(self.facts, &self.settings),
                    last_words: climb.target.last_words(),
                    is_out_of_memory,
                    ended: ended.clone(),
                };
                found.ran_out = ran_out(&step, &setting);
            }
            if step.hold_s > 0.0 {
                found.steps.push(step);
            }
            self.conclude(found);
            writer.concurrency(found)?;
            if is_interrupted {
                interrupted(found);
                return Ok(());
            }
            if is_out_of_memory {
                "the machine's memory was nearly used up".clone_into(&mut found.ended);
                return Ok(());
            }
            if let Some(late) = found.steps.last().filter(|step| ladder::is_of_client(step)) {
                found.ended = words::client_was_the_limit(late);
                return Ok(());
            }
            if let Some(why) = ended {
                found.ended = format!("the server ended: {why}");
                return Ok(());
            }
        }
    }

    /// The points and the sentence, from the steps so far.
    fn conclude(&self, found: &mut Concurrency) {
        found.breaking_point = ladder::breaking_point(self.steps, &found.steps);
        found.comfortable_point = ladder::comfortable_point(self.steps, &found.steps);
        found.client_limit = found.steps.iter().find(|step| ladder::is_of_client(step)).map(|step| step.transfers);
        found.sentence = words::sentence(&Found {
            variant: &found.variant,
            steps: &found.steps,
            breaking_point: found.breaking_point,
            comfortable_point: found.comfortable_point,
            ran_out: &found.ran_out,
            until_availability: self.steps.until_availability,
        });
    }
}

/// Once, after the step that broke the server first.
fn recover(climb: &mut Climb<'_, '_>, found: &mut Concurrency) -> Result<(), ConcurrencyError> {
    let last = found.steps.last().filter(|_| found.recovery.is_none()).map(|step| step.transfers);
    if let Some(transfers) = last {
        found.recovery = Some(climb.recover(transfers)?);
    } else {
        climb.transfers.hold(0, std::time::Duration::ZERO);
    }
    Ok(())
}

/// The memory that more transfers would take, by those in progress; something if there is not so much.
fn forecast(last: Option<&ConcurrencyStep>, next: u32, baseline: Baseline) -> Option<RanOut> {
    /// Fewer tell little of a transfer: processes have memory of their own.
    const FEWEST: u64 = 1_000;
    let last = last.filter(|step| step.in_progress >= FEWEST)?;
    let each = last.all_bytes() as f64 / last.in_progress as f64;
    let needed = each * f64::from(next);
    let usable = baseline.available_bytes * (1.0 - RESERVE);
    if needed <= usable {
        return None;
    }
    let mib = |bytes: f64| format!("{} MiB", thousands((bytes / f64::from(1 << 20)).round()));
    Some(RanOut {
        what: "memory".to_owned(),
        sentence: format!(
            "{} transfers were not tried: they would take {} of {}",
            thousands(next.into()),
            mib(needed),
            mib(usable)
        ),
        evidence: vec![format!(
            "{each:.0} B of this machine for each of {} transfers",
            thousands(last.in_progress as f64)
        )],
        remedy: "add memory, or run clients and server on two machines".to_owned(),
    })
}

fn interrupted(found: &mut Concurrency) {
    found.interrupted = true;
    "it was interrupted".clone_into(&mut found.ended);
}

/// The memory of the machine and of the idle server.
fn baseline(target: &DownloadTarget) -> Result<Baseline, ConcurrencyError> {
    let recorder = target.record()?;
    let recording = recorder.stop()?;
    let last = |name: &str| recording.column(name).last().map(|(_, value)| value);
    let available = || target.available_share() * target.memory_bytes() as f64;
    Ok(Baseline {
        available_bytes: last("memory.available").unwrap_or_else(available),
        server_bytes: last(&format!("{SERVER}.rss")).unwrap_or_default(),
    })
}
