//! `--power` and `--cost`: which meters measure the machines of a run, and which file says what its result costs. How meters are
//! read is left to `power`, and when to `bakeoff`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use archive::model::{Plan, Variant};
use bakeoff::plan_request::measuring_power;
use bakeoff::{MeteredServer, RunMeter, machines_of};
use cost::targets::TargetsFile;
use power::{NamedSource, SourceDescription, SourceKeys};
use runs::Prices;

use crate::exit::usage;
use crate::print::note;

/// Meters of a run, and prices.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct MeterArgs {
    /// Measure the power of the servers' machine with this meter: KIND=ADDRESS, such as apc-rpdu2=10.0.0.9,outlet=5, a meter
    /// of the --cost file, or one of this machine, such as rapl-package (see `showdown power`); may be repeated
    #[arg(long, value_name = "SOURCE")]
    pub power: Vec<String>,

    /// Print what the result costs by this file of targets, and measure with the meters that its targets name
    #[arg(long, value_name = "FILE")]
    pub cost: Option<PathBuf>,
}

/// The meters of a plan's variants, and the prices of their machines.
#[derive(Default)]
pub struct RunMeters {
    /// The meters.
    pub meters: Vec<RunMeter>,
    /// The prices.
    pub prices: Option<Prices>,
}

/// Whether a plan that measures no watts may be changed to measure them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PlanUse {
    /// It is run for the first time.
    New,
    /// It is that of an interrupted run.
    Resumed,
}

impl MeterArgs {
    /// The meters of a plan's variants, and the plan with levels of load at which they measure.
    pub fn of(&self, plan: &Plan, plan_use: PlanUse, load_levels: bool) -> anyhow::Result<(Plan, RunMeters)> {
        let mut meters = self.read(plan)?;
        let (has_meter, has_levels) = (!meters.meters.is_empty(), plan.power.is_some());
        let mut plan = plan.clone();
        match plan_use {
            PlanUse::New if load_levels && !has_meter => {
                return Err(usage(
                    "--load-levels needs a meter: name one with --power, or as the meter of a target with --cost",
                ));
            }
            PlanUse::New if has_meter && (load_levels || !has_levels) => {
                plan = measuring_power(&plan, load_levels).map_err(usage)?;
            }
            PlanUse::New if has_levels && !has_meter => {
                note(
                    "the plan measures watts, and no meter is named: without --power or --cost it measures none",
                );
                plan.power = None;
            }
            PlanUse::Resumed if has_meter && !has_levels && self.power.is_empty() => {
                note(
                    "the run measures no watts, and goes on as it began: the meters of the --cost file are not read",
                );
                meters.meters.clear();
            }
            PlanUse::Resumed if has_meter && !has_levels => {
                return Err(usage("the run measures no watts, and goes on as it began: leave --power out"));
            }
            PlanUse::Resumed if has_levels && !has_meter => {
                note("the run measured watts, and no meter is named: its other trials have none");
            }
            PlanUse::New | PlanUse::Resumed => {}
        }
        Ok((plan, meters))
    }

    fn read(&self, plan: &Plan) -> anyhow::Result<RunMeters> {
        let file = self.cost.as_deref().map(TargetsFile::read).transpose().map_err(usage)?;
        let (described, targets) = match file {
            Some(file) => (file.meters, Some(file.targets.map_err(usage)?)),
            None => (Vec::new(), None),
        };
        let mut found = Found { plan, meters: Vec::new() };
        for (index, variant) in plan.variants.iter().enumerate() {
            let Some(targets) = &targets else { break };
            let path = self.cost.as_deref().unwrap_or(std::path::Path::new("")).display();
            let target = targets.of("", &variant.name).map_err(|error| usage(format!("{path}: {error}")))?;
            if let Some(meter) = &target.meter {
                let refused = |why: String| usage(format!("{path}: target {}: {why}", target.name));
                let hosts: Vec<Option<&str>> =
                    machines_of(plan, variant).into_iter().map(|host| Some(host.name.as_str())).collect();
                for host in if hosts.is_empty() { vec![None] } else { hosts } {
                    let name = meter.of(host).map_err(refused)?;
                    let source = named(name, &described).map_err(refused)?;
                    found.add(source, index, host)?;
                }
            }
        }
        for argument in &self.power {
            let taken: Vec<&str> = found.meters.iter().map(|meter| meter.source.name()).collect();
            let source = of_argument(argument, &described, &taken);
            let source = source.map_err(|error| usage(format!("--power: {error}")))?;
            if found.machines().len() > 1 {
                return Err(usage(
                    "--power measures one machine, and the variants run on several: write the meter of each into its target (meter = \
                     \"NAME\"), and pass the file with --cost",
                ));
            }
            for index in 0..plan.variants.len() {
                found.add(source.clone(), index, None)?;
            }
        }
        let prices = self.cost.clone().zip(targets).map(|(file, targets)| Prices { file, targets });
        Ok(RunMeters { meters: found.meters, prices })
    }
}

/// The meters so far.
struct Found<'p> {
    plan: &'p Plan,
    meters: Vec<RunMeter>,
}

impl Found<'_> {
    /// The machines with servers; none is this one.
    fn machines(&self) -> BTreeSet<Option<&String>> {
        let place = |variant: &'_ Variant| self.plan.is_here(variant);
        self.plan.variants.iter().map(|v| if place(v) { None } else { v.host.as_ref() }).collect()
    }

    /// Adds the meter of a variant; on this host, if it takes several in turns.
    fn add(&mut self, source: NamedSource, variant: usize, host: Option<&str>) -> anyhow::Result<()> {
        let of_plan = &self.plan.variants[variant];
        if source.is_local() && !self.plan.is_here(of_plan) {
            let host = host.or(of_plan.host.as_deref()).unwrap_or_default();
            return Err(usage(format!(
                "{} measures this machine, and {} runs on host {host}: name a meter on the network",
                source.name(),
                of_plan.name
            )));
        }
        let hosts: Vec<&str> =
            machines_of(self.plan, of_plan).into_iter().map(|host| host.name.as_str()).collect();
        let is_one = hosts.len() <= 1;
        let known = self.meters.iter().position(|meter| meter.source.name() == source.name());
        let measures_another = |meter: &RunMeter| {
            meter.servers.iter().any(|server| server.variant == variant && server.host.as_deref() != host)
        };
        if !is_one && (host.is_none() || known.is_some_and(|at| measures_another(&self.meters[at]))) {
            let meters: Vec<String> = hosts.iter().map(|host| format!("{host} = \"METER\"")).collect();
            return Err(usage(format!(
                "{} takes the hosts {} in turns, and {} measures one of them: write the meter of each into the target of the --cost \
                 file, as meter = {{ {} }}",
                of_plan.name,
                hosts.join(", "),
                source.name(),
                meters.join(", ")
            )));
        }
        let server = MeteredServer { variant, host: host.filter(|_| !is_one).map(str::to_owned) };
        match known.map(|at| &mut self.meters[at]) {
            Some(meter) if !meter.servers.contains(&server) => meter.servers.push(server),
            Some(_) => {}
            None => self.meters.push(RunMeter { source, servers: vec![server] }),
        }
        Ok(())
    }
}

/// The source of a value of `--power`.
pub fn of_argument(
    argument: &str,
    described: &[SourceDescription],
    taken: &[&str],
) -> Result<NamedSource, String> {
    if !argument.contains('=') {
        return named(argument, described);
    }
    let is_taken =
        |name: &str| described.iter().any(|other| other.about().name == name) || taken.contains(&name);
    described_by(argument, is_taken).map(|described| NamedSource::Network(Box::new(described)))
}

/// The source of `KIND=ADDRESS`. Its name is its kind, with a number if a source has that name already.
pub fn described_by(argument: &str, is_taken: impl Fn(&str) -> bool) -> Result<SourceDescription, String> {
    let keys = SourceKeys::from_argument(argument)?;
    let kind = keys.kind.clone().unwrap_or_default();
    let numbered = (2..).map(|number| format!("{kind}-{number}"));
    let mut names = std::iter::once(kind.clone()).chain(numbered);
    let name = names.find(|name| !is_taken(name)).unwrap_or_default();
    keys.check(&name)
}

/// A meter of the file, or one of this machine.
fn named(name: &str, described: &[SourceDescription]) -> Result<NamedSource, String> {
    if let Some(found) = described.iter().find(|known| known.about().name == name) {
        return Ok(NamedSource::Network(Box::new(found.clone())));
    }
    if NamedSource::is_local_name(name) {
        return Ok(NamedSource::Local(name.to_owned()));
    }
    Err(format!(
        "there is no meter {name}: write KIND=ADDRESS, such as shelly=http://10.0.0.31, or a name that `showdown power` prints"
    ))
}
