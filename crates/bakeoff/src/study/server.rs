//! Servers of a plan that are up and warm, for a study: the caller loads them with a closed loop in slices as it likes. There
//! are no trials and no verdict. What a study asks and concludes is left to its caller.

use std::cell::Cell;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use archive::model::{FORMAT, Facts, KnobValue, Plan, VariantFacts};
use host::CpuSet;
use load::engine::RunContext;
use load::record::SingleLimits;
use load::slices::{DrawnSlice, SETTLE_CLOSED};
use load::spec::{LoadSpec, Shape};
use load::users::UserPlan;
use machine::{
    CpuMeter, Machine, MachineError, Probing, RecordedServer, Recorder, Sampling, ServerObserver,
    ServerOrder, ServerSqueeze, SystemUnderTest,
};
use profile::{
    Activity, CpuSamplerOptions, Stacks, ThreadSamplerOptions, ThreadStates, WaitSamplerOptions, Waits,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use workload::{TypedValue, Workload};

use crate::event::{Event, Observer};
use crate::plan::variant_point::variant_points;
use crate::run::error::RunPlanError;
use crate::run::error::StudyError;
use crate::run::lab::Lab;
use crate::run::of_plan::{RunPermissions, on_its_machines};
use crate::study::slice::{SingledSlice, StudySlice};
use crate::trial::{LoadPhases, TrialError, WATCH, WarmUpGoal, warm_up, with_connections};
use crate::warm_up_loop::{WarmUpLoops, planned_loop};

/// The time at the beginning of a slice that is not measured, as a share of it.
const SETTLE_SHARE: f64 = 0.05;
/// An operation is waited for as long as this at least, and this many times as long as the median one takes.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const OVER_USUAL: u32 = 100;
/// The number of a second server is that of the first and a multiple of this.
const SECOND: u32 = 1000;
/// Libraries that the loader takes before the others.
const PRELOAD: &str = "LD_PRELOAD";

/// The servers of a plan, up at the same time, on machines that are prepared for them.
pub struct StudyServers<'a> {
    /// In the order of the plan.
    pub servers: Vec<StudyServer<'a>>,
    /// The facts of machines, client and servers.
    pub facts: Facts,
    /// The CPUs of the client, where it runs on the servers' machine.
    pub client_cpus: CpuSet,
}

/// A server that is up, with its load.
pub struct StudyServer<'a> {
    /// The variant's name in the plan.
    pub name: String,
    /// Its CPUs.
    pub cpus: CpuSet,
    machine: &'a dyn Machine,
    /// What it was started from.
    workload: Arc<Workload>,
    plan: &'a Plan,
    order: ServerOrder,
    /// Second servers so far.
    seconds: Cell<u32>,
    sut: Box<dyn SystemUnderTest>,
    meter: Box<dyn CpuMeter>,
    spec: LoadSpec,
    context: &'a RunContext,
    /// The load, with its connections open.
    loads: LoadPhases<'a>,
    seeds: Pcg64Mcg,
}

/// A knob that says how much there is of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceKnob {
    /// Its name.
    pub name: String,
    /// The resource.
    pub resource: String,
    /// Its value.
    pub value: i64,
    /// The values that it accepts.
    pub range: RangeInclusive<i64>,
}

/// What came of a study.
pub struct StudyEnd<T> {
    /// Its result.
    pub result: T,
    /// Kernel settings that could not be restored, one sentence each.
    pub unrestored: Vec<String>,
}

/// Starts the servers of a plan, all at the same time, loads their data, warms them up, and gives them to `study`. They are
/// stopped when they are dropped.
pub fn run_study<T>(
    plan: &Plan,
    permissions: RunPermissions<'_>,
    context: &RunContext,
    observe: &mut Observer<'_>,
    study: impl FnOnce(StudyServers<'_>, &mut Observer<'_>) -> T,
) -> Result<StudyEnd<T>, RunPlanError> {
    let (result, unrestored) = on_its_machines(plan, permissions, context, observe, |lab, observe| {
        let mut facts = Facts { format: FORMAT, ..lab.facts(plan)? };
        let lab = &*lab;
        let (mut servers, workload) = (Vec::new(), Arc::new(lab.workload.clone()));
        for (index, point) in variant_points(plan).iter().enumerate() {
            let number = index as u32 + 1;
            let place = lab.machines.place_of(point.variant, 1);
            let order = lab.order(plan, place, index, point, number);
            observe(Event::Doing { what: format!("starting {}", order.name) });
            let machine = lab.machines.get(place.machine).machine;
            servers.push(StudyServer::start(machine, Arc::clone(&workload), plan, lab.context, order)?);
        }
        for server in &mut servers {
            server.prepare(plan, observe)?;
            facts.variants.push(server.facts()?);
        }
        Ok(study(StudyServers { servers, facts, client_cpus: lab.machines.client_cpus.clone() }, observe))
    })?;
    Ok(StudyEnd { result, unrestored })
}

impl<'a> StudyServer<'a> {
    fn start(
        machine: &'a dyn Machine,
        workload: Arc<Workload>,
        plan: &'a Plan,
        context: &'a RunContext,
        order: ServerOrder,
    ) -> Result<Self, MachineError> {
        let sut = machine.start(&workload, &order)?;
        let spec = with_connections(plan, sut.load_spec()?, plan.load.connections);
        Ok(Self {
            name: order.name.clone(),
            cpus: order.cpus.clone(),
            machine,
            workload,
            plan,
            seconds: Cell::new(0),
            meter: sut.cpu_meter(),
            sut,
            loads: LoadPhases::new(&order.name, spec.clone(), context, Instant::now()),
            spec,
            context,
            seeds: Pcg64Mcg::seed_from_u64(u64::from(plan.seed) << 32 | u64::from(order.trial)),
            order,
        })
    }

    /// Starts a second server like this one, but for the value of a knob, on the same CPUs, and warms it up.
    pub fn with_knob(
        &self,
        knob: &str,
        value: TypedValue,
        observe: &mut Observer<'_>,
    ) -> Result<StudyServer<'a>, StudyError> {
        let mut order = self.second(&format!("with {knob}={value}"));
        order.variant.knobs.insert(knob.to_owned(), value);
        self.start_second(Arc::clone(&self.workload), order, observe)
    }

    /// Starts this server once more, with data of its own, and warms it up. The one before ends.
    pub fn restart(&mut self, observe: &mut Observer<'_>) -> Result<(), StudyError> {
        let order = self.second("once more");
        let mut started = self.start_second(Arc::clone(&self.workload), order, observe)?;
        started.name.clone_from(&self.name);
        started.seconds.set(self.seconds.get());
        *self = started;
        Ok(())
    }

    /// Starts a second server like this one, but for a library that is loaded before its others, and variables of its
    /// environment.
    pub fn with_library(
        &self,
        library: &Path,
        variables: &[(&str, &Path)],
        observe: &mut Observer<'_>,
    ) -> Result<StudyServer<'a>, StudyError> {
        let order = self.second("with a library");
        let mut workload = Workload::clone(&self.workload);
        for server in workload.servers.iter_mut().filter(|server| server.name == order.variant.server) {
            let preload = server.environment.entry(PRELOAD.to_owned()).or_default();
            let others = if preload.is_empty() { String::new() } else { format!(":{preload}") };
            *preload = format!("{}{others}", library.display());
            let variables =
                variables.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string()));
            server.environment.extend(variables);
        }
        self.start_second(Arc::new(workload), order, observe)
    }

    /// Whether it makes its own load: the number of its connections means nothing.
    pub fn makes_own_load(&self) -> bool {
        self.workload.load.is_runner()
    }

    /// Mean delay between the operations of a user, seconds; 0 where a connection begins the next one at once.
    pub fn mean_delay_s(&self) -> f64 {
        self.spec.users.as_ref().map_or(0.0, UserPlan::mean_delay)
    }

    /// Whether it can be sampled, and resources can be taken from it: its machine is the one of this process.
    pub fn can_be_probed(&self) -> bool {
        self.machine.probing().is_some()
    }

    /// What only the machine of this process can do.
    fn probing(&self, what: &'static str) -> Result<&dyn Probing, MachineError> {
        let host = || {
            let variant = self.plan.variants.iter().find(|variant| variant.name == self.order.name);
            variant.and_then(|variant| variant.host.clone()).unwrap_or_default()
        };
        self.machine.probing().ok_or_else(|| MachineError::OnlyHere { host: host(), what })
    }

    fn second(&self, how: &str) -> ServerOrder {
        let trial = self.order.trial + SECOND * (1 + self.seconds.get());
        self.seconds.set(self.seconds.get() + 1);
        ServerOrder { trial, name: format!("{} {how}", self.name), ..self.order.clone() }
    }

    fn start_second(
        &self,
        workload: Arc<Workload>,
        order: ServerOrder,
        observe: &mut Observer<'_>,
    ) -> Result<StudyServer<'a>, StudyError> {
        observe(Event::Doing { what: format!("starting {}", order.name) });
        let started = Self::start(self.machine, workload, self.plan, self.context, order);
        let mut server = self.checked(started)?;
        server.prepare(self.plan, observe)?;
        Ok(server)
    }

    /// Its knobs that say how much there is of a resource, with their values.
    pub fn resource_knobs(&self) -> Result<Vec<ResourceKnob>, StudyError> {
        let values = self.facts()?.knobs;
        let Ok(definition) = self.workload.server(&self.order.variant.server) else { return Ok(Vec::new()) };
        let knobs = definition.knobs.iter().filter(|knob| !knob.resource.is_empty()).filter_map(|knob| {
            let KnobValue::Integer(value) = values.get(&knob.name)? else { return None };
            Some(ResourceKnob {
                name: knob.name.clone(),
                resource: knob.resource.clone(),
                value: *value,
                range: knob.whole_range()?,
            })
        });
        Ok(knobs.collect())
    }

    /// Loads its data, checks its replies and warms it up.
    fn prepare(&mut self, plan: &Plan, observe: &mut Observer<'_>) -> Result<(), StudyError> {
        observe(Event::Doing { what: format!("loading the data of {}", self.name) });
        self.begin_turn()?;
        let prepared = self.sut.prepare();
        self.checked(prepared)?;
        let (loops, loads) = (WarmUpLoops::only(planned_loop(plan)), &mut self.loads);
        let warmed = warm_up(plan, (&self.name, None), WarmUpGoal::Steady, loops, loads, observe);
        let usual = self.checked(warmed)?.pace().median;
        // A slice ends with its last operation. One that the server never begins would prolong each slice by the whole wait.
        // A program that makes its own load ends its operations itself, and may report late.
        if !self.makes_own_load() {
            let longest = usual.saturating_mul(OVER_USUAL).max(SHORTEST_WAIT).min(self.spec.timeout);
            self.spec = self.spec.clone().with_timeout(longest);
        }
        self.loads = LoadPhases::new(&self.name, self.spec.clone(), self.context, Instant::now());
        self.slice(SHORTEST_WAIT, observe).map(drop)
    }

    /// Its facts, with the values of its knobs.
    pub fn facts(&self) -> Result<VariantFacts, StudyError> {
        self.checked(self.sut.facts())
    }

    /// How it ended, if it does not run any more.
    pub fn ended(&self) -> Option<StudyError> {
        let source = self.sut.check_alive().err()?;
        Some(StudyError::Ended { name: self.name.clone(), source: Box::new(source) })
    }

    /// An error if the user has interrupted the study.
    pub fn check_interrupted(&self) -> Result<(), StudyError> {
        let is_interrupted = self.context.interrupted.load(Ordering::Relaxed);
        if is_interrupted { Err(StudyError::Interrupted) } else { Ok(()) }
    }

    /// Connections of the plan.
    pub fn connections(&self) -> u32 {
        self.spec.connections
    }

    /// Loads with this number of connections from now on; returns whether these are others than before.
    pub fn connect(&mut self, connections: u32) -> bool {
        let are_others = self.loads.spec().connections != connections;
        if are_others {
            self.reconnect(connections);
        }
        are_others
    }

    /// Loads with this number of new connections from now on.
    pub fn reconnect(&mut self, connections: u32) {
        let spec = with_connections(self.plan, self.spec.clone(), connections);
        self.loads = LoadPhases::new(&self.name, spec, self.context, Instant::now());
    }

    /// Loads it with a closed loop for this long.
    pub fn slice(&mut self, length: Duration, observe: &mut Observer<'_>) -> Result<StudySlice, StudyError> {
        Ok(self.slice_with(SingleLimits::default(), length, observe)?.slice)
    }

    /// The same; each worker of the client keeps single operations.
    pub fn slice_with(
        &mut self,
        singles: SingleLimits,
        length: Duration,
        observe: &mut Observer<'_>,
    ) -> Result<SingledSlice, StudyError> {
        let drawn = DrawnSlice {
            settle: SETTLE_CLOSED.max(length.mul_f64(SETTLE_SHARE)),
            length,
            seed: self.seeds.random(),
            singles,
        };
        self.begin_turn()?;
        let before = self.checked(self.meter.used())?.whole;
        let slice = self.loads.slice(Shape::closed(), &drawn, observe);
        let slice = self.checked(slice)?;
        let used = self.checked(self.meter.used())?.whole - before;
        Ok(SingledSlice::of(slice.outcome, &used))
    }

    /// Records the telemetry of its machine; its columns begin with [`WATCH`].
    pub fn record(&self, period: Duration) -> Result<Box<dyn Recorder>, StudyError> {
        let recorded = RecordedServer { name: WATCH.to_owned(), trial: self.order.trial };
        self.checked(self.machine.record(&[recorded], period))
    }

    /// Reads what the server says of itself, while it is loaded; none where its workload observes nothing.
    pub fn observer(&self) -> Result<Option<Box<dyn ServerObserver>>, StudyError> {
        self.checked(self.sut.observer())
    }

    /// Samples its CPU time.
    pub fn sample_cpu(&self, options: &CpuSamplerOptions) -> Result<Box<dyn Sampling<Stacks>>, MachineError> {
        self.probing("a profile")?.sample_cpu(self.order.trial, options)
    }

    /// Samples what its threads wait for.
    pub fn sample_threads(
        &self,
        options: &ThreadSamplerOptions,
    ) -> Result<Box<dyn Sampling<ThreadStates>>, MachineError> {
        self.probing("the states of threads")?.sample_threads(self.order.trial, options)
    }

    /// Watches where its threads wait, with their stacks.
    pub fn sample_waits(
        &self,
        options: &WaitSamplerOptions,
    ) -> Result<Box<dyn Sampling<Waits>>, MachineError> {
        self.probing("the waits of threads")?.sample_waits(self.order.trial, options)
    }

    /// Watches what its threads do, and which connections they serve, instant by instant.
    pub fn sample_activity(
        &self,
        options: &WaitSamplerOptions,
    ) -> Result<Box<dyn Sampling<Activity>>, MachineError> {
        let ports: Vec<u16> = self.spec.addresses.iter().map(SocketAddr::port).collect();
        self.probing("single requests")?.sample_activity(self.order.trial, options, &ports)
    }

    /// Takes this share of the time of CPUs of its machine; the result is the share that was left for others.
    pub fn burn(&self, cpus: &CpuSet, share: f64) -> Result<Box<dyn Sampling<f64>>, MachineError> {
        self.probing("a burner")?.burn(cpus, share)
    }

    /// Takes a share of what it has of a resource; the result is the share that it was left with.
    pub fn squeeze(&self, squeeze: ServerSqueeze) -> Result<Box<dyn Sampling<f64>>, MachineError> {
        self.probing("a squeezer")?.squeeze(self.order.trial, squeeze)
    }

    /// Gives its machine its kernel settings.
    fn begin_turn(&self) -> Result<(), StudyError> {
        self.checked(self.machine.set_kernel_settings(&self.order.variant.kernel))
    }

    /// Says why something failed: because of the user, because the server has ended, or for its own reason.
    fn checked<T>(&self, result: Result<T, impl Into<TrialError>>) -> Result<T, StudyError> {
        self.check_interrupted()?;
        let failed = |error: TrialError| StudyError::Failed { name: self.name.clone(), source: error };
        result.map_err(|error| self.ended().unwrap_or_else(|| failed(error.into())))
    }
}

impl Drop for StudyServer<'_> {
    fn drop(&mut self) {
        self.sut.stop();
        self.machine.remove_data(self.order.trial);
    }
}
