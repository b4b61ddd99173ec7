//! `--power` and `--cost`: which meters measure the machines of a run, and which file says what its result costs. How meters are
//! read is left to `power`, and when to `bakeoff`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use archive::Run;
use archive::model::{Plan, Variant};
use bakeoff::RunMeter;
use bakeoff::plan_request::measuring_power;
use cost::Targets;
use cost::pricing::CostReport;
use cost::targets::TargetsFile;
use power::{NamedSource, SourceDescription, SourceKeys};

use super::cost::costs_by;
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

/// A file of targets with its name.
pub struct NamedTargets {
    path: PathBuf,
    targets: Targets,
}

/// The meters of a plan's variants, and the prices of their machines.
#[derive(Default)]
pub struct RunMeters {
    /// The meters.
    pub meters: Vec<RunMeter>,
    /// The prices.
    pub targets: Option<NamedTargets>,
}

/// Whether a plan that measures no watts may be changed to measure them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PlanUse {
    /// It is run for the first time.
    New,
    /// It is that of an interrupted run.
    Resumed,
}

impl NamedTargets {
    /// What a run costs.
    pub fn costs(&self, run: &Run) -> anyhow::Result<CostReport> {
        costs_by(std::slice::from_ref(run), &self.path, &self.targets)
    }
}

impl MeterArgs {
    /// The meters of a plan's variants, and the plan with levels of load at which they measure.
    pub fn of(&self, plan: &Plan, plan_use: PlanUse, load_levels: bool) -> anyhow::Result<(Plan, RunMeters)> {
        let meters = self.read(plan)?;
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
            if let Some(name) = &target.meter {
                let source = named(name, &described).map_err(|why| usage(format!("{path}: {why}")))?;
                found.add(source, index)?;
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
                found.add(source.clone(), index)?;
            }
        }
        let targets = self.cost.clone().zip(targets).map(|(path, targets)| NamedTargets { path, targets });
        Ok(RunMeters { meters: found.meters, targets })
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

    fn add(&mut self, source: NamedSource, variant: usize) -> anyhow::Result<()> {
        let of_plan = &self.plan.variants[variant];
        if source.is_local() && !self.plan.is_here(of_plan) {
            let host = of_plan.host.as_deref().unwrap_or_default();
            return Err(usage(format!(
                "{} measures this machine, and {} runs on host {host}: name a meter on the network",
                source.name(),
                of_plan.name
            )));
        }
        if self.plan.hosts_of(of_plan).count() > 1 {
            return Err(usage(format!(
                "{} takes several hosts in turns, and a meter measures one of them: name the hosts, such as {}@HOST",
                of_plan.name, of_plan.server
            )));
        }
        match self.meters.iter_mut().find(|meter| meter.source.name() == source.name()) {
            Some(meter) if !meter.variants.contains(&variant) => meter.variants.push(variant),
            Some(_) => {}
            None => self.meters.push(RunMeter { source, variants: vec![variant] }),
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
    let keys = SourceKeys::from_argument(argument)?;
    let name = free_name(keys.kind.as_deref().unwrap_or_default(), |name| {
        described.iter().any(|other| other.about().name == name) || taken.contains(&name)
    });
    keys.check(&name).map(|described| NamedSource::Network(Box::new(described)))
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

/// The kind, with a number if a source has that name already.
pub fn free_name(kind: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{kind}-{number}"));
    std::iter::once(kind.to_owned()).chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}
