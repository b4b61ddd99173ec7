//! `showdown tune`: try tunings on a server, and keep what fresh trials confirm; or on two, and then compare the best of both.

mod args;

use std::sync::atomic::Ordering;

use ::tune::{TuneError, TuneRequest, comparison_of_best, searches_of_two};
use archive::model::TuningRecord;
use load::engine::RunContext;
use runs::{Permissions, RunAnswer, RunRequest, RunResult};

pub use self::args::TuneArgs;
use super::bakeoff::end_trials;
use crate::answer::execute::{end, execute};
use crate::answer::of_run::{AnswerForm, TuneFormat, print_answer};
use crate::args::options::AnswerFormat;
use crate::exit::{CommandStatus, InterruptedError, usage};
use crate::interrupt;
use crate::print::{note, print_text};
use crate::show;

/// Runs the verb.
pub fn run(args: &TuneArgs) -> anyhow::Result<CommandStatus> {
    if let Some(own) = ::tune::own_folder() {
        note(&format!("using the tunings of ./{}", own.display()));
    }
    let request = args.request();
    if let [first, second] = &args.servers[..] {
        return tune_both(args, &request, [first, second]);
    }
    ::tune::check(std::slice::from_ref(&request)).map_err(why_not)?;
    let search = Searching { args, context: &interrupt::context()? };
    end(search.answer(request)?)
}

/// Tunes both, compares the best of both, and names what one got and the other did not. Each answer is printed at once.
fn tune_both(args: &TuneArgs, request: &TuneRequest, servers: [&str; 2]) -> anyhow::Result<CommandStatus> {
    let searches = searches_of_two(request, servers).map_err(why_not)?;
    let search = Searching { args, context: &interrupt::context()? };
    let mut records: Vec<TuningRecord> = Vec::new();
    for request in searches {
        let answer = search.answer(request)?;
        if let RunResult::Tuning(record) = &answer.result {
            records.push(record.clone());
        }
        let status = end(answer)?;
        if status != CommandStatus::Success {
            return Ok(status);
        }
        search.is_to_go_on()?;
    }
    let [first, second] = &records[..] else { anyhow::bail!("a search has no record: report this as a bug") };
    let plan = comparison_of_best(request, [first, second]).map_err(why_not)?;
    let one_sided = plan.one_sided.clone();
    let answer = search.execute(&RunRequest::Plan(Box::new(plan)))?;
    let is_json = args.format == TuneFormat::Json;
    print_answer(&answer, AnswerForm::Plain(if is_json { AnswerFormat::Json } else { AnswerFormat::Text }))?;
    let status = end_trials(answer)?;
    if !is_json {
        print_text(&show::tuning::of_both(&one_sided))?;
    }
    Ok(status)
}

/// What the runs of one command have in common.
struct Searching<'a> {
    args: &'a TuneArgs,
    context: &'a RunContext,
}

impl Searching<'_> {
    fn execute(&self, request: &RunRequest) -> anyhow::Result<RunAnswer> {
        let Self { args, context } = self;
        let permissions = Permissions { kernel: args.allow_kernel.clone(), ..Permissions::default() };
        execute(request, &permissions, &args.runs, &args.progress, context)
    }

    /// Searches, and prints what was found.
    fn answer(&self, request: TuneRequest) -> anyhow::Result<RunAnswer> {
        let answer = self.execute(&RunRequest::Tune(Box::new(request)))?;
        print_answer(&answer, self.args.format.into())?;
        Ok(answer)
    }

    /// Ends the command where the user interrupted it between two parts, such as while a report was written.
    fn is_to_go_on(&self) -> anyhow::Result<()> {
        if self.context.interrupted.load(Ordering::Relaxed) {
            return Err(InterruptedError("between two parts: what was found so far is kept").into());
        }
        Ok(())
    }
}

/// The error of a search that cannot begin.
fn why_not(error: TuneError) -> anyhow::Error {
    if error.is_usage() { usage(error) } else { error.into() }
}
