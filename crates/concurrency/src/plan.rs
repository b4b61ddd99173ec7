//! From a request, as given on a command line, to a plan that leaves no default open.

use std::time::Duration;

use archive::model::{
    ClientLoad, CpuSplit, FORMAT, LookSpending, Measure, PhaseLengths, Plan, PlannedConcurrency, RunKind,
    RunLength, Variant, WarmUpLimits,
};
use bakeoff::plan_request::{self, DOWNLOAD, MeasureRequest, PlanRequest};
use bakeoff::{PlanError, PlannedKind, RunCpus};
use host::Host;
use host::knobs::{Knob, usual_purpose};
use load::drivers::target::Target;
use machine::HostEntry;

use crate::error::ConcurrencyError;

/// The most transfers that can be asked for: a mistake beyond that.
const MOST: u32 = 10_000_000;

/// The most bytes a second of a client: 1 GiB.
const MOST_PACE: f64 = (1_u32 << 30) as f64;

/// A client with fewer CPUs of its own shares those of the server.
const OWN_CPUS: usize = 4;

/// A step is not smaller than this factor.
const SMALLEST_STEP: f64 = 1.05;

/// A request for a run of transfers.
#[derive(Clone, Debug)]
pub struct ConcurrencyRequest {
    /// The command line, program name first.
    pub command: Vec<String>,
    /// A variant as written, or a URL.
    pub target: String,
    /// Name or path of the workload.
    pub workload: Option<String>,
    /// The operation that is downloaded.
    pub on_op: Option<String>,
    /// The steps. `url` is set here.
    pub steps: PlannedConcurrency,
    /// The seed; a random one if none is given.
    pub seed: Option<u32>,
    /// Tags to find the run by.
    pub tags: Vec<String>,
    /// The machine of a variant that names none.
    pub on: Option<String>,
    /// The machines that the user has.
    pub hosts: Vec<HostEntry>,
    /// The names of those that make the load; empty for this machine.
    pub clients: Vec<String>,
}

/// Makes the plan of a run of transfers and checks it.
pub fn plan(request: &ConcurrencyRequest, host: &Host) -> Result<Plan, ConcurrencyError> {
    let plan =
        if request.target.contains("://") { of_url(request, host)? } else { of_server(request, host)? };
    check(&plan)?;
    Ok(plan)
}

fn of_server(request: &ConcurrencyRequest, host: &Host) -> Result<Plan, ConcurrencyError> {
    let explaining = PlanRequest {
        command: request.command.clone(),
        transfers: Some(request.steps.clone()),
        variants: vec![request.target.clone()],
        workload: Some(request.workload.clone().unwrap_or_else(|| DOWNLOAD.to_owned())),
        measure: MeasureRequest::Throughput,
        on_op: request.on_op.clone(),
        seed: request.seed,
        tags: request.tags.clone(),
        on: request.on.clone(),
        hosts: request.hosts.clone(),
        clients: request.clients.clone(),
        ..PlanRequest::default()
    };
    let plan = plan_request::plan(&explaining, host)?;
    let allowed =
        host.allowed_cpus().map_err(|source| ConcurrencyError::System { what: "read the CPUs", source })?;
    let client = RunCpus::of(&plan)?.client;
    let shares = plan.clients.is_empty() && plan.is_here(&plan.variants[0]);
    let all = || CpuSplit { server: allowed.to_string(), client: allowed.to_string() };
    Ok(Plan {
        // The kernel's work for both ends is the client's, mostly: where it has few CPUs, those of the server would be idle.
        cpus: if client.len() < OWN_CPUS && shares { all() } else { plan.cpus.clone() },
        ..plan
    })
}

fn of_url(request: &ConcurrencyRequest, host: &Host) -> Result<Plan, ConcurrencyError> {
    if request.workload.is_some() || request.on_op.is_some() {
        let why = "a URL names the file itself: leave --workload and --on-op out";
        return Err(ConcurrencyError::Request(why.to_owned()));
    }
    let target = Target::parse(&request.target)?;
    if request.on.is_some() {
        let why = "a URL names its host itself: leave --on out";
        return Err(ConcurrencyError::Request(why.to_owned()));
    }
    let cpus =
        host.allowed_cpus().map_err(|source| ConcurrencyError::System { what: "read the CPUs", source })?;
    Ok(Plan {
        format: FORMAT,
        showdown: env!("CARGO_PKG_VERSION").to_owned(),
        command: host::secrets::mask(request.command.iter().map(String::as_str)),
        kind: RunKind::Concurrency,
        workload: request.target.clone(),
        on_op: None,
        length: RunLength::Default,
        seed: request.seed.unwrap_or_else(rand::random),
        blocks: 1,
        spare_blocks: 0,
        looks: Vec::new(),
        interrupted_looks: Vec::new(),
        spending: LookSpending::Late,
        within: None,
        fail_if: None,
        tags: request.tags.clone(),
        confirms: None,
        fallback: None,
        measure: Measure::MaxThroughput,
        replaced: None,
        load: ClientLoad { connections: 1, threads: 1 },
        background: None,
        cpus: CpuSplit { server: String::new(), client: cpus.to_string() },
        warm_up: WarmUpLimits { min: Duration::ZERO, max: Duration::ZERO },
        phases: PhaseLengths {
            closed_loop: Duration::ZERO,
            search_step: Duration::ZERO,
            measure: Duration::ZERO,
            curve_step: Duration::ZERO,
        },
        turns: None,
        power: None,
        study: None,
        concurrency: Some(PlannedConcurrency { url: Some(request.target.clone()), ..request.steps.clone() }),
        like_with_like: false,
        quiet_host: false,
        one_sided: Vec::new(),
        hosts: plan_request::hosts_of_clients(&request.hosts, &request.clients)?,
        clients: request.clients.clone(),
        variants: vec![Variant {
            name: target.authority(),
            server: target.authority(),
            host: None,
            knobs: std::collections::BTreeMap::new(),
        }],
        sweep: Vec::new(),
    })
}

/// The steps of a plan, where they can be carried out. A plan may be written by hand.
pub(crate) fn check(plan: &Plan) -> Result<&PlannedConcurrency, ConcurrencyError> {
    let refuse = |why: &str| Err(ConcurrencyError::Request(why.to_owned()));
    let steps = match PlannedKind::of(plan)? {
        PlannedKind::Concurrency(steps) => steps,
        PlannedKind::Compare | PlannedKind::Sweep | PlannedKind::Explain(_) => {
            return Err(PlanError::NoSteps.into());
        }
    };
    if plan.variants.len() != 1 || plan.variants[0].kind().is_some() {
        return refuse("give one server, on one machine");
    }
    for name in plan.variants[0].knobs.keys().filter(|name| workload::is_kernel_setting(name)) {
        // A plan may come from somebody else.
        if name.parse::<Knob>().ok().is_none_or(|knob| usual_purpose(&knob).is_none()) {
            return refuse(&format!(
                "{name} is no setting that runs of transfers need: set it yourself before the run"
            ));
        }
    }
    check_steps(steps)?;
    Ok(steps)
}

/// Checks the numbers of steps.
pub(crate) fn check_steps(steps: &PlannedConcurrency) -> Result<(), ConcurrencyError> {
    let refuse = |why: &str| Err(ConcurrencyError::Request(why.to_owned()));
    let is_share = |share: f64| share > 0.0 && share <= 1.0;
    let is_length = |length: Duration| (Duration::from_secs(1)..=Duration::from_hours(24)).contains(&length);
    match steps {
        steps if steps.from == 0 || steps.to < steps.from || steps.to > MOST => {
            refuse("give --from and --to a number from 1 to 10,000,000, --from not above --to")
        }
        steps if !(SMALLEST_STEP..=1_000.0).contains(&steps.step) => {
            refuse("give --step a factor from 1.05x to 1000x")
        }
        steps if !is_share(steps.until_availability) || !is_share(steps.comfort_availability) => {
            refuse("give availabilities from 0 to 100 %")
        }
        steps if !(1.0..=MOST_PACE).contains(&steps.pace_bytes_per_s) => {
            refuse("give --client-rate from 1 to 1G")
        }
        steps if !is_length(steps.step_length) || !is_length(steps.last_step_length) => {
            refuse("give --hold from 1s to 24h")
        }
        steps if !(1.0..=1e6).contains(&steps.begin_per_s) => {
            refuse("give --begin-rate from 1/s to 1000000/s")
        }
        steps if steps.finer > 10 => refuse("give --finer a number from 0 to 10"),
        _ => Ok(()),
    }
}
