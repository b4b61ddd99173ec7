//! A whole search: the trials of a server in a folder of their own, what is found, and the run that keeps it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use archive::Run;
use archive::layout::TUNING_RUNS;
use archive::model::TuningRecord;
use bakeoff::RunPermissions;
use bakeoff::event::Observer;
use host::Host;
use load::engine::RunContext;

use crate::bakeoff_lab::{self, BakeoffLab};
use crate::error::TuneError;
use crate::lab::TuningLab;
use crate::record::{RecordContext, record};
use crate::request::{TuneRequest, Weakened};
use crate::search::{self, Found, SearchError, SearchLimits};
use crate::situation_here::candidates;
use crate::tunable::TunableServer;

/// A search that has ended.
#[derive(Debug)]
pub struct FinishedSearch {
    /// The directory of the run that has its answer: the confirmation, or equal servers where there is none.
    pub dir: PathBuf,
    /// What was found.
    pub record: TuningRecord,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Kernel settings that could not be restored, one sentence each.
    pub unrestored: Vec<String>,
}

/// Searches what makes a server faster. The directory of the run that answers is moved to `root` when the search has ended.
pub fn tune(
    request: &TuneRequest,
    permissions: RunPermissions<'_>,
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<FinishedSearch, TuneError> {
    let server = TunableServer::of(request)?;
    fs::create_dir_all(root).map_err(|source| TuneError::Runs { root: root.to_owned(), source })?;
    let scratch = tempfile::Builder::new().prefix(TUNING_RUNS).tempdir_in(root)?;
    // Other commands remove such a folder when it is old and nobody has locked it.
    let lock = File::open(scratch.path())?;
    lock.lock()?;
    let budget = request.budget();
    let memory = Host::local().facts().memory.total_bytes as f64;
    let limits =
        if request.is_quick { SearchLimits::quick(budget, memory) } else { SearchLimits::of(budget, memory) };
    let mut lab = BakeoffLab::new(
        request.of_trials(),
        server.baseline.clone(),
        request.is_quick,
        permissions,
        scratch.path().to_owned(),
        context,
        observe,
    )
    .asking_server(server.depends_on_statistics());
    let found = search::search(&mut lab, &limits, &mut |equal, figures| {
        candidates(request, &server, permissions.kernel, &scratch.path().join(&equal.run), figures)
    });
    let confirmed = found.as_ref().ok().and_then(|found| found.confirmation.as_ref());
    let tuned = confirmed.map(|confirmation| lab.written(&confirmation.settings));
    let (took, unrestored) = (lab.elapsed(), std::mem::take(&mut lab.unrestored));
    drop(lab);
    // Other commands remove this folder if it cannot be moved.
    let scratch = scratch.keep();
    let found = match found {
        Ok(found) => found,
        Err(error) => return Err(nothing_found(request, error, &scratch, root, unrestored)),
    };
    let own_run = confirmed_or_equal(&found);
    let dir = bakeoff_lab::keep(&scratch, &own_run, root)?;
    let verdict = Run::open(&dir)?.verdict;
    let context_of_record = RecordContext {
        command: host::secrets::mask(request.command.iter().map(String::as_str)),
        baseline: request.server.clone(),
        tuned,
        metric: verdict.as_ref().map(|verdict| verdict.metric.clone()).unwrap_or_default(),
        unit: verdict.map(|verdict| verdict.unit).unwrap_or_default(),
        budget,
        took,
        allowed: request.may_weaken.iter().copied().map(Weakened::name).map(str::to_owned).collect(),
        own_run,
    };
    let record = record(&found, context_of_record);
    Ok(FinishedSearch { dir, record, interrupted: found.is_interrupted, unrestored })
}

/// The run of a search that answers its question: the confirmation, or equal servers where there is none.
fn confirmed_or_equal(found: &Found) -> String {
    let confirmed = found.confirmation.as_ref().map(|confirmation| confirmation.trials.run.clone());
    confirmed.unwrap_or_else(|| found.equal.trials.run.clone())
}

/// The error of a search that has found nothing out. What it has measured is kept.
fn nothing_found(
    request: &TuneRequest,
    error: SearchError,
    scratch: &Path,
    root: &Path,
    unrestored: Vec<String>,
) -> TuneError {
    let kept = match bakeoff_lab::first_run(scratch) {
        Some(first) => bakeoff_lab::keep(scratch, &first, root).ok(),
        None => match fs::remove_dir_all(scratch) {
            Ok(()) => None,
            Err(error) => return error.into(),
        },
    };
    TuneError::Search { error: of_the_whole_time(error, request.time, request.share), kept, unrestored }
}

/// A time that is too short is that of the whole command.
fn of_the_whole_time(error: SearchError, time: Duration, share: f64) -> SearchError {
    match error {
        SearchError::TooShort { needed_s, .. } => {
            #[expect(clippy::cast_possible_truncation, reason = "seconds that a person could wait")]
            let needed_s = (needed_s as f64 / share).ceil() as u64;
            SearchError::TooShort { budget_s: time.as_secs(), needed_s }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_too_short_for_one_of_two_is_said_of_both() {
        let error = SearchError::TooShort { budget_s: 40, needed_s: 61 };
        let whole = of_the_whole_time(error, Duration::from_secs(100), 0.4);
        assert_eq!(whole, SearchError::TooShort { budget_s: 100, needed_s: 153 });
        assert_eq!(
            of_the_whole_time(SearchError::NoBaseline("x".to_owned()), Duration::from_secs(1), 1.0),
            SearchError::NoBaseline("x".to_owned())
        );
    }
}
