//! Runs steps until one of them says stop, and collects the result. The run directory, and where the server is from, are left to
//! the callers.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use archive::model::{Concurrency, ConcurrencyStep, FORMAT, PlannedConcurrency, RanOut, thousands};
use load::transfers::{TransferSpec, Transfers, TransfersError};

use crate::client::{client_was_the_limit, is_of_client};
use crate::error::ConcurrencyError;
use crate::ladder::{self, NextStep};
use crate::limits::{self, RESERVE};
use crate::observed_server::{ObservedServer, SERVER};
use crate::preflight::Preflight;
use crate::ran_out::{Setting, ran_out};
use crate::sentences;
use crate::sentences::Found;
use crate::step::{Baseline, Climb, StepEnd};

/// Keeps what was found, after each step.
pub(crate) type Keep<'k> = dyn FnMut(&Concurrency) -> Result<(), ConcurrencyError> + 'k;

/// What does not change from step to step.
pub(crate) struct Steps<'a> {
    pub plan: &'a PlannedConcurrency,
    pub preflight: &'a Preflight,
    /// The longest that the recovery is watched.
    pub longest_recovery: Duration,
}

/// What the transfers are, for the record.
pub(crate) struct Described<'a> {
    pub variant: &'a str,
    pub download: &'a str,
    pub file_bytes: Option<u64>,
    pub chosen: std::collections::BTreeMap<String, String>,
}

impl Steps<'_> {
    /// What is known before the first step.
    pub fn begin(&self, of: Described<'_>, spec: &TransferSpec, transfers: &Transfers) -> Concurrency {
        let began = SystemTime::now().duration_since(UNIX_EPOCH);
        Concurrency {
            format: FORMAT,
            made_unix_ms: began.map_or(0, |since| since.as_millis() as u64),
            sentence: String::new(),
            variant: of.variant.to_owned(),
            download: of.download.to_owned(),
            file_bytes: of.file_bytes,
            pace_bytes_per_s: self.plan.pace_bytes_per_s,
            read_interval_s: spec.interval().as_secs_f64(),
            processes: transfers.processes(),
            sources: spec.sources.len() as u32,
            ended: "it is running, or was killed".to_owned(),
            interrupted: false,
            breaking_point: None,
            comfortable_point: None,
            client_limit: None,
            limits: self.preflight.limits.clone(),
            settings: self.preflight.changed.clone(),
            chosen: of.chosen,
            steps: Vec::new(),
            recovery: None,
            ran_out: Vec::new(),
        }
    }

    /// All steps. An error ends them, too; what was found until then is in `found`.
    pub fn climb(
        &self,
        climb: &mut Climb<'_, '_>,
        found: &mut Concurrency,
        keep: &mut Keep<'_>,
    ) -> Result<(), ConcurrencyError> {
        let ended = match self.rise(climb, found, keep) {
            Err(ConcurrencyError::Transfers(TransfersError::Interrupted)) => {
                interrupted(found);
                Ok(())
            }
            ended => ended,
        };
        if let Err(error) = &ended {
            found.ended = error.to_string();
        }
        self.conclude(found);
        keep(found)?;
        ended
    }

    /// The steps, until there is a reason to end.
    fn rise(
        &self,
        climb: &mut Climb<'_, '_>,
        found: &mut Concurrency,
        keep: &mut Keep<'_>,
    ) -> Result<(), ConcurrencyError> {
        loop {
            let next = match ladder::next(self.plan, &found.steps) {
                NextStep::Rise(next) => next,
                NextStep::Finer(next) => {
                    self.recover(climb, found)?;
                    next
                }
                NextStep::Reached => {
                    "all transfers that were asked for are in progress".clone_into(&mut found.ended);
                    return Ok(());
                }
                NextStep::Found => {
                    self.recover(climb, found)?;
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
            let ended = climb.view.ended();
            let is_at_a_limit = ladder::is_broken(self.plan, &step)
                || is_out_of_memory
                || is_of_client(&step)
                || ended.is_some();
            if found.ran_out.is_empty() && is_at_a_limit {
                let setting = Setting {
                    server_cpus: climb.view.server_cpus,
                    shares_cpus: climb.view.shares_cpus,
                    tcp_pressure_bytes: limits::tcp_pressure_bytes(&self.preflight.facts, &found.settings),
                    last_words: climb.view.last_words(),
                    is_out_of_memory,
                    ended: ended.clone(),
                };
                found.ran_out = ran_out(&step, &setting);
            }
            if step.length_s > 0.0 {
                found.steps.push(step);
            }
            self.conclude(found);
            keep(found)?;
            if is_interrupted {
                interrupted(found);
                return Ok(());
            }
            if is_out_of_memory {
                "the machine's memory was nearly used up".clone_into(&mut found.ended);
                return Ok(());
            }
            if let Some(why) = found.steps.last().and_then(client_was_the_limit) {
                found.ended = why;
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
        found.breaking_point = ladder::breaking_point(self.plan, &found.steps);
        found.comfortable_point = ladder::comfortable_point(self.plan, &found.steps);
        found.client_limit = found.steps.iter().find(|step| is_of_client(step)).map(|step| step.transfers);
        found.sentence = sentences::sentence(&Found {
            variant: &found.variant,
            steps: &found.steps,
            breaking_point: found.breaking_point,
            comfortable_point: found.comfortable_point,
            ran_out: &found.ran_out,
            until_availability: self.plan.until_availability,
        });
    }

    /// Once, after the step that broke the server first.
    fn recover(&self, climb: &mut Climb<'_, '_>, found: &mut Concurrency) -> Result<(), ConcurrencyError> {
        let last = found.steps.last().filter(|_| found.recovery.is_none()).map(|step| step.transfers);
        if let Some(transfers) = last {
            found.recovery = Some(climb.recover(transfers, self.longest_recovery)?);
        } else {
            climb.transfers.maintain(0, Duration::ZERO);
        }
        Ok(())
    }
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
pub(crate) fn baseline(view: &ObservedServer<'_>) -> Result<Baseline, ConcurrencyError> {
    let recorder = view.record()?;
    let recording = recorder.stop()?;
    let last = |name: &str| recording.column(name).last().map(|(_, value)| value);
    let available = || view.available_share() * view.memory_bytes() as f64;
    Ok(Baseline {
        available_bytes: last("memory.available").unwrap_or_else(available),
        server_bytes: last(&format!("{SERVER}.rss")).unwrap_or_default(),
    })
}
