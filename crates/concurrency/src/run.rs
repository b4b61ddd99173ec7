//! A whole run: checks, the server, the steps, and the run directory after each step.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use archive::RunWriter;
use archive::model::{Concurrency, Plan, PlannedConcurrency};
use bakeoff::RunHosts;
use bakeoff::event::{Event, Observer};
use load::engine::RunContext;
use load::transfers::Transfers;
use machine::{LocalMachine, Machine, MachineError};

use crate::error::ConcurrencyError;
use crate::plan;
use crate::preflight::Preflight;
use crate::step::{Climb, PROBES_PER_S};
use crate::steps::{Described, Steps, baseline};
use crate::target::{DownloadTarget, Source};

/// The longest that the recovery is watched. Published machines took 5 and 20 minutes.
const LONGEST_RECOVERY: Duration = Duration::from_mins(5);

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

/// What a user allows a run, and gives it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConcurrencyPermissions<'a> {
    /// A URL may have a public address.
    pub target_is_mine: bool,
    /// Builds of this program for hosts of other architectures, as `ARCHITECTURE=PATH`.
    pub programs: &'a [String],
}

/// Runs a plan of transfers. The run directory is created in `root` when the server is up.
pub fn run(
    plan: &Plan,
    permissions: ConcurrencyPermissions<'_>,
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedConcurrency, ConcurrencyError> {
    let steps = plan::check(plan)?;
    let source = Source::find(plan, steps, permissions.target_is_mine)?;
    let (run_hosts, run_cpus) = (source.hosts().clone(), source.cpus().clone());
    let preflight = Preflight::of(steps, source.ends(plan))?;
    // This machine is reserved for its part, also where all of the load is elsewhere.
    let here = LocalMachine::reserve(context).map_err(MachineError::from)?;
    let hosts = RunHosts::open(plan, &run_hosts, &run_cpus, &here, permissions.programs, context, observe)?;
    let context = &hosts.context(context);
    observe(Event::Doing { what: format!("starting {}", plan.variants[0].name) });
    let on = hosts.machine(plan);
    let machine = on.as_ref().map_or(&here as &dyn Machine, |(machine, _)| *machine);
    let cpus = on.as_ref().map(|(_, cpus)| cpus.clone());
    let preflight = match plan.host_of(&plan.variants[0]).zip(on.as_ref()) {
        Some((host, (machine, _))) => preflight.with_server_on(&host.name, *machine, steps)?,
        None => preflight,
    };
    let on = (machine, cpus);
    let target = DownloadTarget::open(plan, steps, source, &preflight.settings, on, &context.interrupted)?;
    let finished = climb(plan, steps, &preflight, &target, root, context, observe);
    let unrestored = target.close();
    finished.map(|finished| FinishedConcurrency { unrestored, ..finished })
}

fn climb(
    plan: &Plan,
    steps: &PlannedConcurrency,
    preflight: &Preflight,
    target: &DownloadTarget<'_>,
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedConcurrency, ConcurrencyError> {
    if context.interrupted.load(Ordering::Relaxed) {
        return Err(ConcurrencyError::Interrupted);
    }
    let began = SystemTime::now();
    let view = &target.view();
    let baseline = baseline(view)?;
    let mut transfers = Transfers::start(&target.spec, steps.to, context)?;
    transfers.probe(PROBES_PER_S);
    let writer = RunWriter::create(root, plan, began)?;
    writer.facts(&target.facts)?;
    let described = Described {
        variant: &plan.variants[0].name,
        download: &target.download,
        file_bytes: target.file_bytes,
        chosen: target.chosen.clone(),
    };
    let all = Steps { plan: steps, preflight, longest_recovery: LONGEST_RECOVERY };
    let mut found = all.begin(described, &target.spec, &transfers);
    let interval = target.spec.interval();
    let mut climb =
        Climb { plan: steps, view, interval, transfers: &mut transfers, context, observe, baseline };
    let keep = &mut |found: &Concurrency| Ok(writer.concurrency(found)?);
    let stopped = all.climb(&mut climb, &mut found, keep).err();
    let dir = writer.dir().to_owned();
    Ok(FinishedConcurrency { dir, concurrency: found, stopped, unrestored: Vec::new() })
}
