//! Two servers, tuned with the same time and the same tunings: then the best of one is compared with the best of the other.

use std::sync::atomic::Ordering;
use std::time::Duration;

use archive::model::{RunKind, RunLength};
use bakeoff::plan_request::{self, PlanRequest};
use bakeoff::{PlanError, RunPermissions, run_plan};
use host::Host;
use load::engine::RunContext;
use tune::bakeoff_lab;
use tune::{Tuning, one_sided};

use super::args::{TuneArgs, TuneFormat, request};
use super::one::{self, TunableServer, Tuned};
use crate::exit::{CommandStatus, InterruptedError, usage};
use crate::interrupt;
use crate::print::print_text;
use crate::show;
use crate::verbs::options::AnswerFormat;
use crate::verbs::run_report::{ShownRun, report_on};

/// The share of the time that each search has. The comparison has the rest, up to the length of an ordinary one.
const SEARCH: f64 = 0.4;

/// Tunes both, compares the best of both, and names what one got and the other did not.
pub fn tune_both(
    args: &TuneArgs,
    tunings: &[Tuning],
    servers: [&TunableServer<'_>; 2],
) -> anyhow::Result<CommandStatus> {
    if servers[0].written == servers[1].written {
        let twice = servers[0].written;
        return Err(usage(format!("{twice} is given twice: give two servers, or tune {twice} alone")));
    }
    let usual = Duration::from_mins(if args.quick { 1 } else { 5 });
    let plan_of = |best: [&str; 2]| {
        let request = PlanRequest {
            variants: best.map(str::to_owned).to_vec(),
            length: Some(if args.quick { RunLength::Quick } else { RunLength::Default }),
            time: Some(args.time.mul_f64(1.0 - 2.0 * SEARCH).min(usual)),
            ..request(args)
        };
        let plan = match plan_request::plan(&request, &Host::local()) {
            // Operations one at a time take as long as they take: the preset has a number of blocks.
            Err(PlanError::NoTimeLimit) => {
                plan_request::plan(&PlanRequest { time: None, ..request }, &Host::local())
            }
            planned => planned,
        };
        let mut plan = plan.map_err(usage)?;
        if args.quick {
            bakeoff_lab::shorten(&mut plan);
        }
        anyhow::Ok(plan)
    };
    plan_of(servers.map(|server| server.written))?;
    let context = interrupt::context()?;
    let first = search(args, tunings, servers[0], &context)?;
    if first.is_interrupted {
        return first.ended();
    }
    is_to_go_on(&context)?;
    let second = search(args, tunings, servers[1], &context)?;
    if second.is_interrupted {
        return second.ended();
    }
    is_to_go_on(&context)?;
    let mut plan = plan_of([first.best(), second.best()])?;
    let [a, b] = [0, 1].map(|at| plan.variants[at].name.clone());
    plan.one_sided = one_sided([&first.record, &second.record], [&a, &b]);
    let shown = ShownRun {
        format: if args.format == TuneFormat::Json { AnswerFormat::Json } else { AnswerFormat::Text },
        progress: args.progress,
    };
    let permissions = RunPermissions { kernel: &args.allow_kernel, ..RunPermissions::default() };
    let status = report_on(RunKind::Compare, shown, None, None, |observe| {
        run_plan(&plan, permissions, &args.runs.runs, &context, observe)
    })?;
    if args.format != TuneFormat::Json {
        print_text(&show::tuning::of_both(&plan.one_sided))?;
    }
    Ok(status)
}

/// Tunes one of them, and prints its answer at once: it is an answer of its own.
fn search(
    args: &TuneArgs,
    tunings: &[Tuning],
    server: &TunableServer<'_>,
    context: &RunContext,
) -> anyhow::Result<Tuned> {
    let tuned = one::tune(args, tunings, server, SEARCH, context)?;
    tuned.answer(args.format)?;
    tuned.ended()?;
    Ok(tuned)
}

/// Ends the command where the user interrupted it between two parts, such as while a report was written.
fn is_to_go_on(context: &RunContext) -> anyhow::Result<()> {
    if context.interrupted.load(Ordering::Relaxed) {
        return Err(InterruptedError("between two parts: what was found so far is kept").into());
    }
    Ok(())
}
