//! `showdown load`: load a server that is already running, and measure it.

mod args;
mod protocol_options;
mod spec;
mod watts;

use std::io::{BufWriter, Write};

use load::capacity::{self, Capacity, population};
use load::drivers::options::POPULATE;
use load::drivers::{POPULATE_TIMEOUT, ProtocolSpec};
use load::engine::{self, RunContext, RunError};
use load::hlog::HlogError;
use load::inputs::slo::Slo;
use load::output::{CapacityOutput, LoadOutput, PopulationOutput};
use load::outside_load::{self, OutsideError, OutsideLoads};
use load::spans::Spans;
use load::spec::{LoadSpec, Shape};
use load::summary::Summary;

pub use self::args::LoadArgs;
use self::watts::MeteredOutput;
use crate::exit::{CommandStatus, InterruptedError, usage};
use crate::interrupt;
use crate::live::LiveExport;
use crate::output_file::OutputFile;
use crate::print::{OtherMeasurement, note};
use crate::show;
use crate::show::layout::units::plural;
use crate::show::progress::load_progress::LoadProgress;
use crate::show::progress::population_progress::PopulationProgress;
use crate::show::progress::search_progress::SearchProgress;

/// Runs the verb.
pub fn run(args: &LoadArgs) -> anyhow::Result<CommandStatus> {
    let clients = args.clients.named()?;
    let planned = spec::plan(args, clients.as_ref())?;
    let meters = watts::named(&args.power)?;
    let hlog = args.hlog.as_ref().map(|path| OutputFile::create("--hlog", path)).transpose()?;
    let context = interrupt::context()?;
    let mut other = OtherMeasurement::look();
    // Their agents end with it. The context, which refers to them, ends before.
    let clients =
        clients.map(|clients| clients.open(&context, planned.spec.addresses.first().copied())).transpose()?;
    let context = clients.as_ref().map_or_else(|| context.clone(), |clients| clients.context(&context));
    if args.protocol.0.contains_key(POPULATE.name) {
        populate(args, &planned.spec, &context)?;
    }
    let mut outside = outside_load::before(&planned.spec, &context).map_err(|error| match error {
        OutsideError::Run(error) => classify(error),
        failed @ OutsideError::Failed { .. } => failed.into(),
    })?;
    let beside = OutsideLoads::start(&planned.spec, &context);
    if let Some(slo) = &args.find_capacity {
        let status = match planned.spec.users {
            None => find_capacity(args, slo, &planned, &context, other),
            Some(_) => find_population(args, slo, &planned, &context, other),
        };
        beside.stop().map_err(classify)?;
        outside_load::after(&planned.spec, &context).map_err(classify)?;
        return status;
    }
    let recorder = watts::record(&meters)?;
    let live = live_export(args, &planned)?;
    let mut progress = LoadProgress::new(&planned.spec, "", args.progress.mode());
    let outcome = engine::run(&planned.spec, &context, &mut |event| {
        if let Some(live) = &live {
            live.observe(&event);
        }
        progress.observe(&event);
    });
    progress.finish();
    drop(live);
    // What is outside the mix ends also where the load failed.
    let beside = beside.stop();
    let after = outside_load::after(&planned.spec, &context);
    let outcome = outcome.map_err(classify)?;
    outside.extend(beside.map_err(classify)?.operations);
    outside.extend(after.map_err(classify)?);
    let (mut summary, spans) = (Summary::of(&outcome), Spans::of(&outcome));
    summary.add_outside(outside);
    let power = recorder.map(|recorder| watts::watts(&recorder, &outcome, &summary)).unwrap_or_default();
    other.look_again();
    let load = LoadOutput::of(&summary, &spans).with_other_measurement(other.holder());
    args.format.print(&MeteredOutput { load, power: &power }, || {
        show::load::summary(&planned.title, &summary, &spans, &outcome)
            + &show::costs::load_watts::lines(&power)
    })?;
    if let Some(mut file) = hlog {
        let mut buffered = BufWriter::new(&mut file);
        let written = load::hlog::write(&outcome, &mut buffered);
        let written = written.and_then(|()| Ok(buffered.flush()?));
        drop(buffered);
        written.map_err(|error| match error {
            HlogError::Io(error) => file.error(error).into(),
            other @ HlogError::Encode(_) => anyhow::Error::from(other),
        })?;
        file.commit()?;
    }
    let fails = args.fail_if.as_ref().and_then(|missed| missed.why(&outcome, &summary));
    if !outcome.interrupted
        && let Some(why) = fails.as_ref()
    {
        note(why);
    }
    Ok(match (outcome.interrupted, summary.valid) {
        (true, _) => CommandStatus::Interrupted,
        (false, true) if fails.is_some() => CommandStatus::FailsIf,
        (false, true) => CommandStatus::Success,
        (false, false) => CommandStatus::Invalid,
    })
}

/// What shows the load to other programs, if that is asked for.
fn live_export(args: &LoadArgs, planned: &spec::PlannedLoad) -> anyhow::Result<Option<LiveExport>> {
    if args.metrics_listen.is_none() && args.otlp.is_none() {
        return Ok(None);
    }
    let (operations, _) = planned.spec.protocol.names()?;
    LiveExport::start(&planned.title, &operations, args.metrics_listen, args.otlp.as_ref()).map(Some)
}

/// The hidden verb of a load process.
pub fn process() -> anyhow::Result<CommandStatus> {
    // A Ctrl-C on the terminal reaches the whole process group, but the parent decides when the load ends.
    let _ignored = interrupt::flag()?;
    load::load_process_main()?;
    Ok(CommandStatus::Success)
}

/// Stores every key once, or creates the tables, at full speed. Every operation must succeed.
fn populate(args: &LoadArgs, spec: &LoadSpec, context: &RunContext) -> anyhow::Result<()> {
    let stages = spec.protocol.populate();
    if stages.is_empty() {
        return Err(usage("--populate is for targets with keys or tables: leave it out"));
    }
    for (protocol, operations) in stages {
        populate_stage(args, protocol, operations, spec, context)?;
    }
    Ok(())
}

fn populate_stage(
    args: &LoadArgs,
    protocol: ProtocolSpec,
    operations: u64,
    spec: &LoadSpec,
    context: &RunContext,
) -> anyhow::Result<()> {
    let connections = u32::try_from(operations).unwrap_or(u32::MAX).min(spec.connections);
    let populate = spec
        .clone()
        .with_protocol(protocol)
        .with_connections(connections)
        .with_workers(spec.workers.min(connections))
        .with_shape(Shape::closed())
        .with_users(None)
        .with_warmup(std::time::Duration::ZERO)
        .with_duration(None)
        .with_requests(operations)
        .with_timeout(spec.timeout.max(POPULATE_TIMEOUT))
        .with_requests_per_connection(None);
    let mut progress = LoadProgress::new(&populate, "populating", args.progress.mode());
    let outcome = engine::run(&populate, context, &mut |event| progress.observe(&event));
    progress.finish();
    let outcome = outcome.map_err(classify)?;
    if outcome.interrupted {
        return Err(InterruptedError("while populating").into());
    }
    let errors = outcome.total.errors();
    if let Some((kind, example)) = errors.examples.iter().next() {
        anyhow::bail!(
            "populating: {} of {} failed: {kind}: {example}",
            errors.total(),
            plural(operations, "operation")
        );
    }
    Ok(())
}

fn find_capacity(
    args: &LoadArgs,
    slo: &Slo,
    planned: &spec::PlannedLoad,
    context: &RunContext,
    mut other: OtherMeasurement,
) -> anyhow::Result<CommandStatus> {
    let progress = SearchProgress::new(args.progress.mode());
    let found = capacity::find(&planned.spec, slo, context, &mut |event| progress.observe(&event));
    progress.finish();
    let found: Capacity = found.map_err(|error| match error {
        capacity::CapacityError::Run(error) => classify(error),
        other @ capacity::CapacityError::NothingSucceeds(_) => other.into(),
    })?;
    other.look_again();
    let searched = planned.spec.part.duration.unwrap_or(LoadSpec::DURATION);
    let output = CapacityOutput::from(&found).with_other_measurement(other.holder());
    args.format.print(&output, || show::load::capacity::answer(&planned.title, &found, searched))?;
    Ok(status_of_search(context, found.valid))
}

/// The most users, or visits a second, at which an objective is met.
fn find_population(
    args: &LoadArgs,
    slo: &Slo,
    planned: &spec::PlannedLoad,
    context: &RunContext,
    mut other: OtherMeasurement,
) -> anyhow::Result<CommandStatus> {
    let progress = PopulationProgress::new(args.progress.mode());
    let found = population::find(&planned.spec, slo, context, &mut |event| progress.observe(&event));
    progress.finish();
    let found = found.map_err(classify)?;
    other.look_again();
    let output = PopulationOutput::from(&found).with_other_measurement(other.holder());
    args.format.print(&output, || show::load::population::answer(&planned.title, &found))?;
    Ok(status_of_search(context, found.valid))
}

fn status_of_search(context: &RunContext, is_valid: bool) -> CommandStatus {
    let interrupted = context.interrupted.load(std::sync::atomic::Ordering::Relaxed);
    match (interrupted, is_valid) {
        (true, _) => CommandStatus::Interrupted,
        (false, true) => CommandStatus::Success,
        (false, false) => CommandStatus::Invalid,
    }
}

/// A request for too many threads is a usage error, and an interruption is no failure.
fn classify(error: RunError) -> anyhow::Error {
    match error {
        RunError::Threads(error) => usage(error),
        RunError::Interrupted => InterruptedError("before the load began").into(),
        RunError::TooFewConnections { .. } | RunError::RunnerWithClients | RunError::SocketWithClients => {
            usage(error)
        }
        other => other.into(),
    }
}
