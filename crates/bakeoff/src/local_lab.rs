//! Where trials are held for real: this machine, its CPUs shared out, servers of a workload.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use archive::TrialWriter;
use archive::model::{self, Facts, FlatFacts, Plan, VariantFacts};
use host::process::ProcessTree;
use host::{CpuSet, Host};
use load::engine::RunContext;
use load::spec::LoadSpec;
use tempfile::TempDir;
use workload::{Catalogue, InstanceError, Instances, OperationCount, StartOptions, Workload};

use crate::caveats::{MADE_BY, MADE_BY_SERVER};
use crate::cell::{Cell, cells};
use crate::event::{Event, Observer};
use crate::gates;
use crate::kernel::Kernel;
use crate::lock::{HostLock, LockError};
use crate::order::Slot;
use crate::question::{QuestionError, check, knob_value_of, variant_of};
use crate::run::{Finished, Lab, run_blocks};
use crate::sut::{SutError, SystemUnderTest};
use crate::trial::{self, FinishedTrial, TrialSetup};

/// Why a plan was not finished.
#[derive(Debug, thiserror::Error)]
pub enum RunPlanError {
    /// The plan asks for what is not there.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// Somebody else is measuring.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A server that we may not run.
    #[error(transparent)]
    Rights(#[from] InstanceError),
    /// A server's program is missing.
    #[error(transparent)]
    Package(#[from] host::packages::Error),
    /// A setting of the kernel that this one does not have, or does not let us change.
    #[error(transparent)]
    Kernel(#[from] host::knobs::Error),
    /// The run directory.
    #[error(transparent)]
    Archive(#[from] archive::ArchiveError),
    /// CPUs or temporary files.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's words.
        source: std::io::Error,
    },
}

/// Holds the trials of a plan on this machine; `root` gets the run directory.
pub fn run_plan(
    plan: &Plan,
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<Finished, RunPlanError> {
    check(plan)?;
    let _alone = HostLock::take()?;
    let workload = Catalogue::default().find(&plan.workload).map_err(QuestionError::from)?;
    let host = Host::local();
    let system = |what| move |source| RunPlanError::System { what, source };
    // Servers may drop root's rights and must still get into their directories.
    let scratch = tempfile::Builder::new()
        .prefix("showdown-")
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()
        .map_err(system("a temporary directory"))?;
    let known: Vec<workload::ServerVariant> = cells(plan)
        .iter()
        .map(|cell| variant_of(&workload, &cell.variant(plan)))
        .collect::<Result<_, _>>()?;
    let (kernel, put_back) = Kernel::of(&host, &known)?;
    for change in put_back {
        observe(Event::SettingIsPutBack { setting: change.knob.to_string(), value: change.to });
    }
    let servers = plan.variants.iter().map(|variant| variant.server.as_str());
    servers.clone().try_for_each(|server| workload.check_rights(server))?;
    workload.ensure_programs(servers, &host, &scratch.path().join("packages.log"))?;
    let cpus = |text: &str| text.parse::<CpuSet>().map_err(|e| QuestionError::Plan(format!("cpus: {e}")));
    let (server_cpus, client_cpus) = (cpus(&plan.cpus.server)?, cpus(&plan.cpus.client)?);
    // The engine's threads inherit it; servers are given their own.
    client_cpus.pin_this_thread().map_err(system("the client's CPUs"))?;
    let mut lab = LocalLab {
        plan,
        workload,
        host,
        kernel,
        context,
        server_cpus,
        client_cpus,
        scratch,
        hints: Vec::new(),
    };
    Ok(run_blocks(plan, &mut lab, root, &context.interrupted, observe)?)
}

struct LocalLab<'a> {
    plan: &'a Plan,
    workload: Workload,
    host: Host,
    kernel: Kernel,
    context: &'a RunContext,
    server_cpus: CpuSet,
    client_cpus: CpuSet,
    scratch: TempDir,
    /// The last value of each cell: where its next search begins.
    hints: Vec<Option<f64>>,
}

impl LocalLab<'_> {
    /// The cell's variant as the workload has it, with the kernel set as it asks.
    fn variant(&mut self, cell: &Cell) -> Result<workload::ServerVariant, SutError> {
        let known = variant_of(&self.workload, &cell.variant(self.plan)).map_err(SutError::of)?;
        self.kernel.set(&known).map_err(SutError::of)?;
        Ok(known)
    }

    fn start(
        &self,
        slot: &Slot,
        cell: &Cell,
        variant: &workload::ServerVariant,
    ) -> Result<RunningServer, SutError> {
        let stage = StartOptions {
            host: self.host.clone(),
            directory: self.scratch.path().join(slot.number.to_string()),
            cache: workload::data::default_cache(),
            cpus: self.server_cpus.clone(),
            port: None,
            seed: u64::from(self.plan.seed),
            interrupted: Arc::clone(&self.context.interrupted),
        };
        let kernel = self.kernel.values().map_err(SutError::of)?;
        let instances = Instances::start(&self.workload, variant, &stage).map_err(SutError::of)?;
        let directory = stage.directory.display().to_string();
        let on_op = self.plan.on_op.clone();
        let name = self.plan.variants[cell.variant].name.clone();
        Ok(RunningServer { instances, kernel, directory, host: self.host.clone(), name, on_op })
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
            ..Facts::default()
        }
    }

    fn run_trial(
        &mut self,
        slot: &Slot,
        cell: &Cell,
        writer: &TrialWriter,
        observe: &mut Observer<'_>,
    ) -> Result<FinishedTrial, archive::ArchiveError> {
        let variant = self.variant(cell);
        let setup = TrialSetup {
            plan: self.plan,
            host: &self.host,
            server_cpus: &self.server_cpus,
            client_cpus: &self.client_cpus,
            context: self.context,
        };
        if self.hints.len() <= slot.cell {
            self.hints.resize(slot.cell + 1, None);
        }
        let hint = self.hints[slot.cell];
        let start = || {
            let server = self.start(slot, cell, &variant?)?;
            Ok(Box::new(server) as Box<dyn SystemUnderTest>)
        };
        let finished = trial::run(&setup, slot, cell, start, hint, writer, observe)?;
        self.hints[slot.cell] = finished.trial.measured.as_ref().map(|m| m.value).or(hint);
        // What a trial leaves behind is in the run directory; the rest would fill the disk.
        let _ = fs::remove_dir_all(self.scratch.path().join(slot.number.to_string()));
        Ok(finished)
    }

    fn wait_for_the_cpus(&mut self, patience: Duration, observe: &mut Observer<'_>) {
        let cpus: CpuSet = self.server_cpus.iter().chain(self.client_cpus.iter()).collect();
        let until = Instant::now() + patience;
        while Instant::now() + LOOK < until && !self.context.interrupted.load(Ordering::Relaxed) {
            match self.host.stolen_under_load(&cpus, LOOK) {
                Ok(Some(share)) if share > gates::MAX_STEAL => {
                    let what =
                        format!("waiting for the CPUs, of which the hypervisor takes {:.0} %", share * 100.0);
                    observe(Event::Doing { what });
                    thread::sleep(PAUSE.min(until.saturating_duration_since(Instant::now())));
                }
                // It leaves them alone, or cannot be watched: the trial's own gate has the last word.
                _ => return,
            }
        }
    }
}

/// How long the CPUs are watched before a trial that waits for them, and how often.
const LOOK: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_secs(3);

/// A server of a workload, or several instances of it.
struct RunningServer {
    instances: Instances,
    /// What those settings of the kernel are that some variant of the plan sets.
    kernel: Vec<(String, String)>,
    directory: String,
    host: Host,
    name: String,
    on_op: Option<String>,
}

impl SystemUnderTest for RunningServer {
    fn prepare(&mut self, context: &RunContext) -> Result<(), SutError> {
        self.instances.populate(context).map_err(SutError::of)?;
        self.instances.check(context).map_err(SutError::of)
    }

    fn load_spec(&self) -> Result<LoadSpec, SutError> {
        self.instances.load_spec(self.on_op.as_deref()).map_err(SutError::of)
    }

    fn count(&mut self) -> Result<Option<OperationCount>, SutError> {
        self.instances.count().map_err(SutError::of)
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
        // Instances are alike: what one has otherwise is worth a look.
        for (number, other) in (2..).zip(processes) {
            let own = other.flat().into_iter().filter(|(key, value)| facts.get(key) != Some(value));
            let own: Vec<_> = own.map(|(key, value)| (format!("instance {number}.{key}"), value)).collect();
            facts.extend(own);
        }
        // Told apart from the rest, because it is what comparisons founder on.
        facts
            .retain(|key, _| !key.starts_with("allocator") && key != "libc" && !key.contains("command_line"));
        facts.extend(server.further);
        // Every trial has a directory of its own: a knob that points there is the same on all sides.
        let known_as = |value: model::KnobValue| match value {
            model::KnobValue::Text(text) => {
                model::KnobValue::Text(text.replace(&self.directory, "{{ dir }}"))
            }
            other => other,
        };
        let kernel = self.kernel.iter().map(|(name, text)| (name.clone(), text.as_str().into()));
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
                .map(|(name, value)| (name.clone(), known_as(knob_value_of(value))))
                .chain(kernel)
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

    fn check_alive(&self) -> Option<String> {
        self.instances.check_alive().err().map(|error| error.to_string())
    }

    fn logs(&self) -> Vec<(String, Vec<u8>)> {
        let logs = self.instances.logs().into_iter();
        logs.filter_map(|(name, path)| Some((name, fs::read(path).ok()?))).collect()
    }

    fn stop(&mut self) {
        // If it does not stop in good order, dropping it kills it.
        let _ = self.instances.stop();
    }
}
