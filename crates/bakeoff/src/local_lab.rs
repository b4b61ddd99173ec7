//! Runs trials on this machine: the CPUs are split between server and client, and a workload starts the servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use archive::ArchiveError;
use archive::model::{self, Facts, FlatFacts, Measure, Plan, TrialStatus, TrialTurns, VariantFacts};
use host::knobs::{self, Knob};
use host::lock::HostLock;
use host::process::{LogText, ProcessTree};
use host::scratch::ScratchDirectory;
use host::{CpuSet, Host, secrets};
use load::engine::RunContext;
use load::spec::LoadSpec;
use workload::{Catalogue, Instances, LookupError, OperationCount, ServerVariant, StartOptions, Workload};

use crate::caveats::{MADE_BY, MADE_BY_SERVER};
use crate::event::{Event, Observer};
use crate::gates;
use crate::interrupted_run::InterruptedRun;
use crate::kernel_settings::KernelSettings;
use crate::plan_check::{check, check_kernel_settings};
use crate::plan_error::PlanError;
use crate::plan_variant::{knob_value, server_variant};
use crate::run::{FinishedRun, Lab, TrialSlot, resume_blocks, run_blocks};
use crate::run_plan_error::RunPlanError;
use crate::system_under_test::{SutError, SystemUnderTest};
use crate::trial::{self, FinishedTrial, OneAtATime, TrialSetup, TrialStart, TurnsEnd};
use crate::trial_order::ScheduledTrial;
use crate::variant_point::{VariantPoint, variant_points};

/// Runs the trials of a plan on this machine; the run directory is created in `root`. The plan may set the usual kernel
/// settings of comparisons and these `allowed` ones.
pub fn run_plan(
    plan: &Plan,
    allowed: &[Knob],
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedRun, RunPlanError> {
    on_this_machine(plan, allowed, &[], context, observe, |lab, observe| {
        run_blocks(plan, lab, root, &context.interrupted, observe)
    })
}

/// Goes on with a run that was interrupted. With `accept_changes`, also where the host, the workload or a server is not
/// the one of its first trials.
pub fn resume_run(
    run: InterruptedRun,
    accept_changes: bool,
    allowed: &[Knob],
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedRun, RunPlanError> {
    let plan = run.plan().clone();
    // The search for capacity begins at the last value of each variant, as it does without an interruption.
    let last_value =
        |index| run.replay.kept.of(index).filter_map(|trial| Some(trial.measured.as_ref()?.value)).last();
    let hints: Vec<Option<f64>> = (0..run.variant_points.len()).map(last_value).collect();
    on_this_machine(&plan, allowed, &hints, context, observe, |lab, observe| {
        resume_blocks(run, accept_changes, lab, &context.interrupted, observe)
    })
}

/// Prepares this machine for the trials of a plan, runs them, and puts its settings back.
fn on_this_machine(
    plan: &Plan,
    allowed: &[Knob],
    hints: &[Option<f64>],
    context: &RunContext,
    observe: &mut Observer<'_>,
    run: impl FnOnce(&mut LocalLab<'_>, &mut Observer<'_>) -> Result<FinishedRun, RunPlanError>,
) -> Result<FinishedRun, RunPlanError> {
    check(plan)?;
    check_kernel_settings(plan, allowed)?;
    let _lock = HostLock::take()?;
    let workload = Catalogue::default().find(&plan.workload).map_err(|e: LookupError| PlanError::from(e))?;
    let host = Host::local();
    let system = |what| move |source| RunPlanError::System { what, source };
    let scratch = ScratchDirectory::create().map_err(system("create a temporary directory"))?;
    let variants: Vec<ServerVariant> = variant_points(plan)
        .iter()
        .map(|variant_point| server_variant(&workload, &variant_point.variant(plan)))
        .collect::<Result<_, _>>()
        .map_err(PlanError::from)?;
    let kernel_settings = KernelSettings::of(&host, knobs::default_journal_dir(), &variants, observe)?;
    let servers = plan.variants.iter().map(|variant| variant.server.as_str());
    servers.clone().try_for_each(|server| workload.check_rights(server))?;
    workload.ensure_programs(servers, &host, &scratch.path().join("packages.log"))?;
    let cpus = |text: &String| text.parse::<CpuSet>().map_err(|_| PlanError::CpuList(text.clone()));
    let (server_cpus, client_cpus) = (cpus(&plan.cpus.server)?, cpus(&plan.cpus.client)?);
    // The engine's threads inherit these CPUs; servers are started on their own.
    client_cpus.pin_this_thread().map_err(system("use the client's CPUs"))?;
    let mut lab = LocalLab {
        plan: plan.clone(),
        workload,
        host,
        kernel_settings,
        context,
        server_cpus,
        client_cpus,
        scratch,
        cache: workload::data::default_cache()
            .map_err(system("find a directory for the workload's files"))?,
        hints: hints.to_vec(),
        one_at_a_time: None,
    };
    let finished = run(&mut lab, observe);
    let unrestored = lab.kernel_settings.finish();
    for problem in &unrestored {
        observe(Event::KernelSettingNotRestored { problem: problem.clone() });
    }
    Ok(FinishedRun { unrestored, ..finished? })
}

struct LocalLab<'a> {
    /// With the measure of the next trials.
    plan: Plan,
    workload: Workload,
    host: Host,
    kernel_settings: KernelSettings,
    context: &'a RunContext,
    server_cpus: CpuSet,
    client_cpus: CpuSet,
    scratch: ScratchDirectory,
    cache: PathBuf,
    /// The last value of each variant at each point: its next search begins there.
    hints: Vec<Option<f64>>,
    /// Why servers of this run cannot be up together; none while they can, or where the plan has no turns.
    one_at_a_time: Option<String>,
}

impl LocalLab<'_> {
    /// The variant as the workload has it, after its kernel settings are applied.
    fn variant(&mut self, variant_point: &VariantPoint) -> Result<ServerVariant, SutError> {
        let variant = server_variant(&self.workload, &variant_point.variant(&self.plan))?;
        self.kernel_settings.apply(&variant)?;
        Ok(variant)
    }

    /// All connections to the server, with those of the background load.
    fn connections(&self, variant_point: &VariantPoint) -> u32 {
        let background = self.plan.background.map_or(0, |background| background.connections);
        variant_point.connections(&self.plan).saturating_add(background)
    }

    fn setup(&self) -> TrialSetup<'_> {
        TrialSetup {
            plan: &self.plan,
            host: &self.host,
            server_cpus: &self.server_cpus,
            client_cpus: &self.client_cpus,
            context: self.context,
        }
    }

    fn trial_start<'s>(
        &'s self,
        slot: &TrialSlot<'s>,
        variant: Result<ServerVariant, SutError>,
    ) -> TrialStart<'s> {
        let TrialSlot { scheduled, variant_point, writer } = *slot;
        let start = move || {
            let server = self.start(scheduled, variant_point, &variant?)?;
            Ok(Box::new(server) as Box<dyn SystemUnderTest>)
        };
        let hint = self.hints.get(scheduled.variant_point).copied().flatten();
        TrialStart { scheduled, variant_point, writer, hint, start: Box::new(start) }
    }

    /// Keeps the values of trials for the next ones, and removes their servers' data.
    fn after_trials(
        &mut self,
        trials: &[TrialSlot<'_>],
        mut finished: Vec<Result<FinishedTrial, ArchiveError>>,
    ) -> Vec<Result<FinishedTrial, ArchiveError>> {
        for (slot, finished) in trials.iter().zip(&mut finished) {
            let Ok(finished) = finished else { continue };
            // The messages of servers and their tools rarely say so, or not at their end.
            if finished.trial.status == TrialStatus::Failed
                && let Some(left) = little_room(self.scratch.path())
            {
                let (scratch, left) = (self.scratch.path().display(), left >> 20);
                let why = format!(
                    "the disk of {scratch} has {left} MB left: free some space, or set TMPDIR to another directory"
                );
                finished.trial.reasons.insert(0, why);
            }
            let index = slot.scheduled.variant_point;
            if self.hints.len() <= index {
                self.hints.resize(index + 1, None);
            }
            let value = finished.trial.measured.as_ref().map(|m| m.value);
            self.hints[index] = value.or(self.hints[index]);
        }
        self.remove_data(trials);
        finished
    }

    /// The run directory has everything that is kept; the data of all trials would fill the disk.
    fn remove_data(&self, trials: &[TrialSlot<'_>]) {
        for slot in trials {
            let _ = fs::remove_dir_all(self.scratch.path().join(slot.scheduled.number.to_string()));
        }
    }

    fn start(
        &self,
        scheduled: &ScheduledTrial,
        variant_point: &VariantPoint,
        variant: &ServerVariant,
    ) -> Result<RunningServer, SutError> {
        let stage = StartOptions {
            host: self.host.clone(),
            directory: self.scratch.path().join(scheduled.number.to_string()),
            cache: self.cache.clone(),
            cpus: self.server_cpus.clone(),
            port: None,
            connections: self.connections(variant_point),
            seed: u64::from(self.plan.seed),
            interrupted: Arc::clone(&self.context.interrupted),
        };
        let kernel_settings = self.kernel_settings.values()?;
        let instances = Instances::start(&self.workload, variant, &stage)?;
        let directory = instances.first().directory().display().to_string();
        let on_op = self.plan.on_op.clone();
        let name = self.plan.variants[variant_point.variant].name.clone();
        Ok(RunningServer { instances, kernel_settings, directory, host: self.host.clone(), name, on_op })
    }
}

impl Lab for LocalLab<'_> {
    fn facts(&mut self) -> Facts {
        let made_by = if self.workload.load.is_runner() { MADE_BY_SERVER } else { "client" };
        let client = FlatFacts::from([
            ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            (MADE_BY.to_owned(), made_by.to_owned()),
            ("threads".to_owned(), self.plan.load.threads.to_string()),
            ("cpus".to_owned(), self.plan.cpus.client.clone()),
        ]);
        let taken = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Facts {
            taken_unix_ms: taken.map_or(0, |d| d.as_millis() as u64),
            host: self.host.facts().flat(),
            client,
            workload: self.workload.digests(),
            ..Facts::default()
        }
    }

    fn run_trials(
        &mut self,
        trials: &[TrialSlot<'_>],
        observe: &mut Observer<'_>,
    ) -> Vec<Result<FinishedTrial, ArchiveError>> {
        if trials.len() > 1 && self.one_at_a_time.is_none() {
            let variants: Vec<_> = trials.iter().map(|slot| self.variant(slot.variant_point)).collect();
            let setup = self.setup();
            let starts = trials.iter().zip(variants).map(|(slot, variant)| self.trial_start(slot, variant));
            match trial::run_in_turns(&setup, starts.collect(), observe) {
                TurnsEnd::Finished(finished) => return self.after_trials(trials, finished),
                TurnsEnd::OneAtATime(OneAtATime { why, rate_per_s }) => {
                    observe(Event::OneAtATime { why: why.clone() });
                    self.remove_data(trials);
                    self.one_at_a_time = Some(why);
                    // All of them were warmed up: none of the trials to come knows as much.
                    if let Measure::CpuTime { rate_per_s: rate @ None } = &mut self.plan.measure {
                        *rate = rate_per_s;
                    }
                }
            }
        }
        let mut finished = Vec::new();
        for slot in trials {
            let variant = self.variant(slot.variant_point);
            let mut one = trial::run_alone(&self.setup(), self.trial_start(slot, variant), observe);
            if let (Ok(one), Some(why)) = (&mut one, &self.one_at_a_time) {
                one.trial.turns = Some(TrialTurns::OneAtATime { why: why.clone() });
            }
            let has_failed = one.is_err();
            finished.extend(self.after_trials(std::slice::from_ref(slot), vec![one]));
            if has_failed {
                break;
            }
        }
        finished
    }

    fn change_measure(&mut self, measure: &Measure) {
        self.plan.measure = measure.clone();
        // What was measured until now is no hint any more.
        self.hints.clear();
    }

    fn wait_for_cpus(&mut self, longest: Duration, observe: &mut Observer<'_>) {
        let cpus: CpuSet = self.server_cpus.iter().chain(self.client_cpus.iter()).collect();
        let until = Instant::now() + longest;
        while Instant::now() + STEAL_SAMPLE < until && !self.context.interrupted.load(Ordering::Relaxed) {
            match self.host.stolen_under_load(&cpus, STEAL_SAMPLE) {
                Ok(Some(share)) if share > gates::MAX_STEAL => {
                    let what =
                        format!("waiting: the hypervisor takes {:.0} % of the CPU time", share * 100.0);
                    observe(Event::Doing { what });
                    thread::sleep(PAUSE.min(until.saturating_duration_since(Instant::now())));
                }
                // No steal, or none is reported: the gate of the trial decides.
                _ => return,
            }
        }
    }
}

/// The room on the file system of a directory, where it is less than the files of a server may need at its start.
fn little_room(directory: &Path) -> Option<u64> {
    const ROOM: u64 = 64 << 20;
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize)).filter(|left| *left < ROOM)
}

/// How long steal is measured each time, while a trial waits for the CPUs.
const STEAL_SAMPLE: Duration = Duration::from_secs(1);
/// Pause between two such measurements.
const PAUSE: Duration = Duration::from_secs(3);

/// A server of a workload, in one or several instances.
struct RunningServer {
    instances: Instances,
    /// Names and values of the kernel settings that some variant of the plan has.
    kernel_settings: Vec<(String, String)>,
    directory: String,
    host: Host,
    name: String,
    on_op: Option<String>,
}

impl SystemUnderTest for RunningServer {
    fn prepare(&mut self, context: &RunContext) -> Result<(), SutError> {
        self.instances.populate(context)?;
        Ok(self.instances.check(context)?)
    }

    fn load_spec(&self) -> Result<LoadSpec, SutError> {
        Ok(self.instances.load_spec(self.on_op.as_deref())?)
    }

    fn count(&mut self) -> Result<Option<OperationCount>, SutError> {
        Ok(self.instances.count()?)
    }

    fn facts(&self) -> VariantFacts {
        let server = self.instances.first().facts();
        let of_tree = |tree: ProcessTree| {
            let first = tree.processes().first().and_then(|process| self.host.process_facts(process.pid));
            first.unwrap_or_default()
        };
        let mut processes = self.trees().into_iter().map(of_tree);
        let process = processes.next().unwrap_or_default();
        let mut facts = process.flat();
        // Instances should be alike: facts in which one differs are listed with its number.
        for (number, other) in (2..).zip(processes) {
            let own = other.flat().into_iter().filter(|(key, value)| facts.get(key) != Some(value));
            let own: Vec<_> = own.map(|(key, value)| (format!("instance {number}.{key}"), value)).collect();
            facts.extend(own);
        }
        // These have fields of their own, because a difference in them invalidates a comparison.
        facts
            .retain(|key, _| !key.starts_with("allocator") && key != "libc" && !key.contains("command_line"));
        facts.extend(server.further);
        for value in facts.values_mut() {
            *value = secrets::mask_text(value);
        }
        // Every trial has its own directory: a knob that contains its path is the same on all sides.
        // A default may contain a password.
        let to_record = |value: model::KnobValue| match value {
            model::KnobValue::Text(text) => {
                model::KnobValue::Text(secrets::mask_text(&text.replace(&self.directory, "{{ dir }}")))
            }
            other => other,
        };
        let kernel_settings =
            self.kernel_settings.iter().map(|(name, text)| (name.clone(), text.as_str().into()));
        VariantFacts {
            name: self.name.clone(),
            version: server.version,
            build: server.build,
            allocator: process.allocator.map(|allocator| allocator.name).unwrap_or_default(),
            libc: process.libc.unwrap_or_default(),
            knobs: self
                .instances
                .first()
                .knobs()
                .iter()
                .map(|(name, value)| (name.clone(), to_record(knob_value(value))))
                .chain(kernel_settings)
                .collect(),
            config: Vec::new(),
            facts,
        }
    }

    fn configuration(&self) -> Vec<(String, String)> {
        let files = self.instances.effective_configuration().into_iter();
        files.map(|file| (file.name, file.text)).collect()
    }

    fn trees(&self) -> Vec<ProcessTree> {
        self.instances.trees()
    }

    fn check_alive(&self) -> Result<(), SutError> {
        Ok(self.instances.check_alive()?)
    }

    fn logs(&self) -> Vec<(String, LogText)> {
        self.instances.logs()
    }

    fn stop(&mut self) {
        // If it does not stop on request, dropping it kills it.
        let _ = self.instances.stop();
    }
}
