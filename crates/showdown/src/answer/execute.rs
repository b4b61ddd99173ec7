//! Executes what a verb asks for, with its progress, and says how it ended. What the answer looks like is left to
//! [`of_run`](super::of_run).

use load::engine::RunContext;
use runs::{FailureKind, Permissions, RunAnswer, RunFailure, RunRequest, RunStatus};

use crate::args::options::{ProgressArgs, RunsDir};
use crate::exit::{CommandStatus, InterruptedError, InvalidMeasurementError, usage};
use crate::print::note;
use crate::show::progress::event_stream::EventStream;
use crate::show::progress::run_progress::RunProgress;

/// Executes a request. The error says why there is no answer.
pub fn execute(
    request: &RunRequest,
    permissions: &Permissions,
    runs: &RunsDir,
    progress: &ProgressArgs,
    context: &RunContext,
) -> anyhow::Result<RunAnswer> {
    let mut stream = progress.progress_fd.map(|fd| EventStream::open(fd, request, context)).transpose()?;
    let mut progress = RunProgress::start(request, progress.progress.mode());
    let answer = runs::execute(request, permissions, &runs.runs, context, &mut |event| {
        progress.observe(&event.event);
        if let Some(stream) = &mut stream {
            stream.tell(&event.event);
        }
    });
    progress.finish();
    if let Some(stream) = &mut stream
        && let Ok(answer) = &answer
    {
        stream.end(answer);
    }
    answer.map_err(why_not)
}

/// How a run ended whose answer has been printed.
pub fn end(answer: RunAnswer) -> anyhow::Result<CommandStatus> {
    Ok(match answer.ended()? {
        RunStatus::Success => CommandStatus::Success,
        RunStatus::Invalid => CommandStatus::Invalid,
        RunStatus::Interrupted => CommandStatus::Interrupted,
    })
}

/// The error of a run without an answer.
pub fn why_not(failure: impl Into<RunFailure>) -> anyhow::Error {
    let failure = failure.into();
    failure.notes().iter().for_each(|text| note(text));
    match (failure.kind(), failure) {
        (_, RunFailure::Interrupted { when, .. }) => InterruptedError(when).into(),
        (FailureKind::Usage, failure) => usage(failure),
        (FailureKind::Invalid, failure) => InvalidMeasurementError(failure.to_string()).into(),
        (FailureKind::Interrupted | FailureKind::Failed, failure) => failure.into(),
    }
}
