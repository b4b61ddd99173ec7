//! What the transfers come from: a server of a workload that the run starts, or a URL. Both are on a machine that is reserved.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use archive::model::{Facts, FlatFacts, Plan, PlannedConcurrency};
use bakeoff::{CheckedHosts, CheckedPlan, PlanError, PreparedMachines, RunCpus};
use host::knobs::{KnobValues, Knobs};
use host::{CpuSet, Host};
use load::drivers::ProtocolSpec;
use load::drivers::http::{Expected, HttpOperation, HttpSpec, Statuses};
use load::drivers::target::Target;
use load::processes::connections_a_process;
use load::sources;
use load::spec::LoadSpec;
use load::transfers::{TransferSpec, TransferSpecError};
use machine::{Machine, ServerOrder, SystemUnderTest, check_is_one_machine};
use workload::{ServerVariant, VariantError, Workload};

use crate::announced_length::announced_length;
use crate::error::ConcurrencyError;
use crate::limits::Ends;
use crate::observed_server::ObservedServer;

/// The number of the server's only start.
const TRIAL: u32 = 1;

/// Ports for each transfer. The kernel looks for a free one in half of an address's ports first, one after the other: where most are
/// taken, that is half of the cost of a connection.
const SPARE_PORTS: u32 = 8;

/// How long the server may take to answer before the run.
const LOCATE: Duration = Duration::from_secs(5);

/// What is downloaded, and from where.
pub(crate) struct DownloadTarget<'m> {
    machine: &'m dyn Machine,
    sut: Option<Box<dyn SystemUnderTest>>,
    /// The server's machine, whose settings are put back after the server has ended.
    prepared: PreparedMachines<'m>,
    /// Settings that are changed for a URL; those for a server are changed with it. Dropping it puts them back.
    knobs: Option<Knobs>,
    /// Names and values of the server's knobs that the run has chosen.
    pub chosen: BTreeMap<String, String>,
    /// What the transfers are.
    pub spec: TransferSpec,
    /// The download in words.
    pub download: String,
    /// The size of the file.
    pub file_bytes: Option<u64>,
    /// Facts of the machine and the server.
    pub facts: Facts,
    /// CPUs of the server; none of a URL.
    pub server_cpus: Option<usize>,
    /// Whether the client has the same CPUs.
    shares_cpus: bool,
}

/// A server that is not started yet, or a URL.
pub(crate) enum Source<'p> {
    Server(Box<CheckedPlan<'p>>),
    Url(Box<UrlSource>),
}

/// A URL whose server answers, and what the plan says of this run's side.
pub(crate) struct UrlSource {
    target: Target,
    address: SocketAddr,
    hosts: CheckedHosts,
    cpus: RunCpus,
}

impl<'p> Source<'p> {
    /// Finds it. A URL must answer.
    pub fn find(
        plan: &'p Plan,
        steps: &PlannedConcurrency,
        target_is_mine: bool,
    ) -> Result<Self, ConcurrencyError> {
        if let Some(url) = &steps.url {
            let target = Target::parse(url)?;
            let address = target.locate(target_is_mine, LOCATE)?;
            let (hosts, cpus) = (CheckedHosts::read(plan)?, RunCpus::of(plan)?);
            check_is_one_machine(address.ip(), hosts.clients())?;
            return Ok(Self::Url(Box::new(UrlSource { target, address, hosts, cpus })));
        }
        let checked = bakeoff::check(plan)?;
        let names = &checked.workload.load.names;
        if plan.on_op.is_none() && names.len() != 1 {
            return Err(TransferSpecError::NoOperation(String::new(), names.join(", ")).into());
        }
        Ok(Self::Server(Box::new(checked)))
    }

    /// The hosts of the run.
    pub fn hosts(&self) -> &CheckedHosts {
        match self {
            Self::Server(checked) => &checked.hosts,
            Self::Url(url) => &url.hosts,
        }
    }

    /// The CPUs of this machine.
    pub fn cpus(&self) -> &RunCpus {
        match self {
            Self::Server(checked) => &checked.cpus,
            Self::Url(url) => &url.cpus,
        }
    }

    /// The ends of the transfers that are on this machine.
    pub fn ends(&self, plan: &Plan) -> Ends {
        let has_server = match self {
            Self::Server(_) => plan.is_here(&plan.variants[0]),
            Self::Url(url) => url.address.ip().is_loopback(),
        };
        match (has_server, plan.clients.is_empty()) {
            (true, true) => Ends::Loopback,
            (true, false) => Ends::Server,
            (false, true) => Ends::Clients,
            (false, false) => Ends::None,
        }
    }
}

impl<'m> DownloadTarget<'m> {
    /// Reserves the machine, changes its settings, and starts the server.
    pub fn open(
        plan: &Plan,
        steps: &PlannedConcurrency,
        source: Source<'_>,
        settings: &BTreeMap<String, String>,
        (machine, cpus): (&'m dyn Machine, Option<CpuSet>),
        interrupted: &AtomicBool,
    ) -> Result<Self, ConcurrencyError> {
        let settings = knobs(settings);
        let client = source.cpus().client.clone();
        let mut target = match source {
            Source::Server(checked) => Self::of_server(*checked, steps, (machine, cpus), settings)?,
            Source::Url(url) => Self::of_url(steps, machine, &url, &settings, interrupted)?,
        };
        let taken = SystemTime::now().duration_since(UNIX_EPOCH);
        target.facts.format = archive::model::FORMAT;
        target.facts.taken_unix_ms = taken.map_or(0, |since| since.as_millis() as u64);
        target.facts.client = FlatFacts::from([
            ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("cpus".to_owned(), plan.cpus.client.clone()),
        ]);
        // The processes of the client inherit it.
        client
            .pin_this_thread()
            .map_err(|source| ConcurrencyError::System { what: "use the client's CPUs", source })?;
        target.spec = for_steps(target.spec, steps);
        Ok(target)
    }

    fn of_server(
        checked: CheckedPlan<'_>,
        steps: &PlannedConcurrency,
        (machine, cpus): (&'m dyn Machine, Option<CpuSet>),
        settings: KnobValues,
    ) -> Result<Self, ConcurrencyError> {
        let CheckedPlan { plan, workload, hosts, cpus: cpus_here, mut variants, .. } = checked;
        let shares_cpus = cpus_here.server == cpus_here.client;
        let cpus = cpus.unwrap_or(cpus_here.server);
        // The settings are of this machine. Those of another one stay as they are.
        let (of_server, knobs) = if plan.is_here(&plan.variants[0]) {
            (settings, None)
        } else {
            (KnobValues::default(), change(&settings)?)
        };
        // There is one server; its points of a sweep are not visited.
        variants.truncate(1);
        let chosen = fit(&workload, &mut variants[0], steps, cpus.len(), of_server)?;
        let mut prepared = PreparedMachines::default();
        prepared.open(machine, &[variants[0].kernel.clone()])?;
        machine.ensure_servers(&workload, &variants)?;
        let order = ServerOrder {
            trial: TRIAL,
            name: plan.variants[0].name.clone(),
            variant: variants.remove(0),
            cpus: cpus.clone(),
            address: hosts.address_of_server(plan),
            connections: steps.to,
            seed: plan.seed.into(),
            on_op: plan.on_op.clone(),
        };
        let mut sut = machine.start(&workload, &order)?;
        sut.prepare()?;
        let load = sut.load_spec()?;
        let spec = TransferSpec::of(&load, None, steps.pace_bytes_per_s)?;
        let file_bytes = spec.expect.bytes;
        check_file(steps, file_bytes)?;
        let facts = Facts {
            host: machine.facts()?.flat(),
            variants: vec![sut.facts()?],
            workload: workload.digests(),
            ..Facts::default()
        };
        let download = plan.on_op.clone().unwrap_or_else(|| workload.load.names.join(", "));
        Ok(Self {
            machine,
            sut: Some(sut),
            prepared,
            knobs,
            chosen,
            spec,
            download,
            file_bytes,
            facts,
            server_cpus: Some(cpus.len()),
            shares_cpus,
        })
    }

    fn of_url(
        steps: &PlannedConcurrency,
        machine: &'m dyn Machine,
        url: &UrlSource,
        settings: &KnobValues,
        interrupted: &AtomicBool,
    ) -> Result<Self, ConcurrencyError> {
        let UrlSource { target, address, .. } = url;
        let address = *address;
        let expect = Expected { status: Some(Statuses::One(200)), ..Expected::default() };
        let operation = HttpOperation { expect, ..HttpOperation::get(&target.path_and_query) };
        let protocol = ProtocolSpec::Http(HttpSpec::new(&target.authority(), vec![operation]));
        if target.scheme.is_tls {
            return Err(TransferSpecError::Protocol.into());
        }
        let load = LoadSpec::closed(protocol, address, 1);
        let spec = TransferSpec::of(&load, None, steps.pace_bytes_per_s)?;
        let asked = (target.authority(), target.path_and_query.as_str());
        let file_bytes = announced_length((&asked.0, asked.1), address, LOCATE, interrupted)?;
        check_file(steps, file_bytes)?;
        let knobs = change(settings)?;
        let facts = Facts { host: machine.facts()?.flat(), ..Facts::default() };
        let download = target.path_and_query.clone();
        Ok(Self {
            machine,
            sut: None,
            prepared: PreparedMachines::default(),
            knobs,
            chosen: BTreeMap::new(),
            spec,
            download,
            file_bytes,
            facts,
            server_cpus: None,
            shares_cpus: false,
        })
    }

    /// What the steps see of it.
    pub fn view(&self) -> ObservedServer<'_> {
        ObservedServer {
            machine: self.machine,
            sut: self.sut.as_deref(),
            trial: TRIAL,
            server_cpus: self.server_cpus,
            shares_cpus: self.shares_cpus,
        }
    }

    /// Stops the server and puts the settings back. Returns those that could not be, one sentence each.
    pub fn close(mut self) -> Vec<String> {
        if let Some(sut) = &mut self.sut {
            sut.stop();
        }
        let mut problems = self.prepared.close();
        if let Some(knobs) = &mut self.knobs {
            match knobs.restore() {
                Ok(restoration) => problems.extend(restoration.failures.iter().map(ToString::to_string)),
                Err(error) => problems.push(error.to_string()),
            }
        }
        problems
    }
}

/// Gives a variant the settings for so many transfers that the user has not set; returns the server's own.
pub(crate) fn fit(
    workload: &Workload,
    variant: &mut ServerVariant,
    steps: &PlannedConcurrency,
    server_cpus: usize,
    settings: KnobValues,
) -> Result<BTreeMap<String, String>, ConcurrencyError> {
    let definition =
        workload.server(&variant.server).map_err(|error| PlanError::from(VariantError::from(error)))?;
    let descriptors = connections_a_process();
    let mut chosen = BTreeMap::new();
    for (name, value) in
        definition.concurrency.values(&definition.knobs, steps.to, descriptors, server_cpus)?
    {
        variant.knobs.entry(name.clone()).or_insert_with(|| {
            chosen.insert(name, value.to_string());
            value
        });
    }
    for (knob, value) in settings {
        variant.kernel.entry(knob).or_insert(value);
    }
    Ok(chosen)
}

/// Kernel settings by their names.
pub(crate) fn knobs(settings: &BTreeMap<String, String>) -> KnobValues {
    settings.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.clone()))).collect()
}

/// Gives this machine these settings until the value is dropped; none where there is nothing to change.
fn change(settings: &KnobValues) -> Result<Option<Knobs>, ConcurrencyError> {
    if settings.is_empty() {
        return Ok(None);
    }
    let (mut opened, _) = Host::local().knobs(&host::knobs::default_journal_dir()?)?;
    opened.set_all(settings)?;
    Ok(Some(opened))
}

/// Transfers with local addresses for all of them.
pub(crate) fn for_steps(spec: TransferSpec, steps: &PlannedConcurrency) -> TransferSpec {
    let sources = sources::for_connections(steps.to.saturating_mul(SPARE_PORTS), spec.addresses[0]);
    // Those that fail try again no faster than clients begin: the client would measure its own retries.
    let all = Duration::from_secs_f64(f64::from(steps.to) / steps.begin_per_s);
    TransferSpec { sources, retry_after: spec.retry_after.max(all), ..spec }
}

/// A transfer lasts longer than a step is maintained, or there would be none in progress but new ones.
pub(crate) fn check_file(
    steps: &PlannedConcurrency,
    file_bytes: Option<u64>,
) -> Result<(), ConcurrencyError> {
    let Some(file_bytes) = file_bytes else { return Ok(()) };
    let pace_bytes_per_s = steps.pace_bytes_per_s;
    let length_s = file_bytes as f64 / pace_bytes_per_s;
    let needed_s = steps.step_length.as_secs();
    if length_s < needed_s as f64 {
        return Err(ConcurrencyError::ShortFile { file_bytes, pace_bytes_per_s, length_s, needed_s });
    }
    Ok(())
}
