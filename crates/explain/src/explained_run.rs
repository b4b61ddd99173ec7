//! A run that explains: the servers of a plan are up together, loaded in plain slices, profiled in turns, watched, and tried with less of
//! what is suspected. What was found goes into a run directory. What a study and a profile are is left to
//! [`study`](mod@crate::study) and [`profiling`](crate::watching::profiling).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use archive::model::{
    CpuDifference, CpuProfile, ExplainedServer, Explanation, ExplanationBasis, Plan, PlannedStudy, Unknown,
    WaitProfile,
};
use archive::{ArchiveError, RunWriter};
use bakeoff::event::{Event, Observer};
use bakeoff::study_server::{StudyEnd, StudyServer, StudyServers, run_study};
use bakeoff::{PlanError, PlannedKind, RunPermissions, RunPlanError, StudyError};
use load::engine::RunContext;
use profile::Access;

use crate::perturbable_loop::LoopError;
use crate::profile_shares::Watched;
use crate::studied_server::StudiedServer;
use crate::study::{
    PlainFigures, StudyProgress, conclude, longest_experiments, longest_plain, plain_figures, plain_slices,
};
use crate::watching::profiling;
use crate::watching::profiling::ServerProfile;
use crate::watching::{slow_requests, waiting};

/// A run that has explained.
#[derive(Debug)]
pub struct ExplainedRun {
    /// Its directory.
    pub dir: PathBuf,
    /// What was found.
    pub explanation: Explanation,
    /// How a server ended while it was studied, if one did: less was found.
    pub ended: Option<StudyError>,
    /// Kernel settings that could not be restored, one sentence each.
    pub unrestored: Vec<String>,
}

/// Why nothing was explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The servers could not be loaded.
    #[error(transparent)]
    Run(#[from] RunPlanError),
    /// A server could not be studied.
    #[error("{variant}: {source}")]
    Study {
        /// The variant.
        variant: String,
        /// Why.
        source: LoopError,
    },
    /// The run directory cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// Explains the servers of a plan. The run directory is created in `root` when there is something to keep.
pub fn explain(
    plan: &Plan,
    permissions: RunPermissions<'_>,
    root: &Path,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<ExplainedRun, ExplainError> {
    let lengths = lengths_of(plan)?;
    let end = run_study(plan, permissions, context, observe, |study, observe| {
        explain_servers(plan, study, root, &lengths, observe)
    })?;
    Ok(ExplainedRun { unrestored: end.unrestored, ..end.result? })
}

/// The figures of each server in the order of the plan; or why one could not be loaded.
pub type LoopFigures = Result<Vec<PlainFigures>, LoopError>;

/// Loads the servers of a plan that explains, and returns their figures of plain slices. Nothing is written.
pub fn figures_under_load(
    plan: &Plan,
    permissions: RunPermissions<'_>,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<StudyEnd<LoopFigures>, RunPlanError> {
    let lengths = lengths_of(plan)?;
    run_study(plan, permissions, context, observe, |study, observe| {
        let StudyServers { mut servers, client_cpus, .. } = study;
        let figures = servers.iter_mut().map(|server| {
            observe(Event::Doing { what: format!("{}: what it says of itself", server.name) });
            plain_figures(&mut StudiedServer::new(server, &client_cpus), &lengths)
        });
        figures.collect()
    })
}

/// The lengths of a plan that explains.
pub(crate) fn lengths_of(plan: &Plan) -> Result<PlannedStudy, RunPlanError> {
    match PlannedKind::of(plan)? {
        PlannedKind::Explain(lengths) => Ok(*lengths),
        PlannedKind::Compare | PlannedKind::Sweep | PlannedKind::Concurrency(_) => {
            Err(PlanError::NoExplanation.into())
        }
    }
}

fn explain_servers(
    plan: &Plan,
    study: StudyServers<'_>,
    root: &Path,
    lengths: &PlannedStudy,
    observe: &mut Observer<'_>,
) -> Result<ExplainedRun, ExplainError> {
    let StudyServers { mut servers, facts, client_cpus } = study;
    let began = SystemTime::now();
    let count = servers.len();
    let mut slices = Vec::new();
    for (at, server) in servers.iter_mut().enumerate() {
        let until = Instant::now() + longest_left(lengths, count, count - at);
        let variant = server.name.clone();
        let studied = StudiedServer::new(server, &client_cpus);
        let found = with_progress(&variant, studied, until, observe, |studied, progress| {
            plain_slices(studied, lengths, progress)
        });
        slices.push(found.map_err(|source| ExplainError::Study { variant, source })?);
    }
    // What the slices have shown is kept, whatever happens from here on.
    let access = Access::probe();
    let profiles = profiling::profile(&mut servers, lengths, access.level(), observe);
    let profiles = profiles.unwrap_or_else(|error| refused(count, &error));
    let waits = waiting::watch(&mut servers, lengths, observe);
    let waits = waits.unwrap_or_else(|error| refused(count, &error));
    let mut explained = Vec::new();
    for (at, (server, slices)) in servers.iter_mut().zip(slices).enumerate() {
        let until = Instant::now()
            + longest_experiments(lengths).saturating_mul((count - at) as u32)
            + slow_requests::longest(lengths, count);
        let watched = Watched {
            cpu: profiles[at].as_ref().ok().map(|found| found.watched.clone()),
            waits: waits[at].as_ref().ok().map(|found| found.watched.clone()),
        };
        let variant = server.name.clone();
        let studied = StudiedServer::new(server, &client_cpus).unobserved();
        explained.push(with_progress(&variant, studied, until, observe, |studied, progress| {
            conclude(studied, slices, &watched, lengths, progress)
        }));
    }
    let slow = lengths.slow_requests.then(|| {
        let slow = slow_requests::trace(&mut servers, lengths, observe);
        slow.unwrap_or_else(|error| refused(count, &error))
    });
    let ended = servers.iter().find_map(StudyServer::ended);
    drop(servers);
    let writer = RunWriter::create(root, plan, began)?;
    writer.facts(&facts)?;
    for (server, profile) in explained.iter_mut().zip(&profiles) {
        match profile {
            Ok(found) => {
                let folded = writer.profile(&server.variant, &found.folded)?;
                server.profile = Some(CpuProfile { folded, ..found.profile.clone() });
                let named =
                    |why: &String| Unknown { what: "functions of the profile".to_owned(), why: why.clone() };
                server.unknown.extend(found.notes.iter().map(named));
            }
            Err(why) => {
                server.unknown.push(Unknown { what: "where the CPU time goes".to_owned(), why: why.clone() });
            }
        }
    }
    for (server, waits) in explained.iter_mut().zip(waits) {
        match waits {
            Ok(found) => {
                let folded = writer.waits(&server.variant, &found.folded)?;
                server.waits = Some(WaitProfile { folded, ..found.profile });
                server.unknown.extend(found.unknown);
            }
            Err(why) => {
                server.unknown.push(Unknown { what: "where time goes off the CPU".to_owned(), why });
            }
        }
    }
    for (server, slow) in explained.iter_mut().zip(slow.into_iter().flatten()) {
        match slow {
            Ok(found) => server.slow_requests = Some(found),
            Err(why) => server.unknown.push(Unknown { what: "what makes requests slow".to_owned(), why }),
        }
    }
    if let Some(last) = explained.last_mut() {
        // The machine is the same for all.
        last.unknown.extend(profiling::not_seen(&access));
    }
    let difference = difference(&mut explained, &profiles);
    let made_unix_ms = began.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let explanation =
        Explanation::new(&plan.workload, ExplanationBasis::Study, made_unix_ms, explained, difference);
    writer.explanation(&explanation)?;
    Ok(ExplainedRun { dir: writer.dir().to_owned(), explanation, ended, unrestored: Vec::new() })
}

/// A part of the study of a server, whose progress is shown; the whole run ends by `until`.
fn with_progress<T>(
    variant: &str,
    mut studied: StudiedServer<'_, '_>,
    until: Instant,
    observe: &mut Observer<'_>,
    study: impl FnOnce(&mut StudiedServer<'_, '_>, &mut dyn FnMut(&StudyProgress)) -> T,
) -> T {
    study(&mut studied, &mut |progress| {
        observe(Event::Doing { what: format!("{variant}: {} ({})", in_words(progress), left_until(until)) });
    })
}

/// How long the rest of a run takes at most, without what lies between the slices: `left` servers have no plain slice yet.
fn longest_left(lengths: &PlannedStudy, count: usize, left: usize) -> Duration {
    longest_plain(lengths).saturating_mul(left as u32)
        + longest_experiments(lengths).saturating_mul(count as u32)
        + profiling::longest(lengths, count)
        + waiting::longest(lengths, count)
        + slow_requests::longest(lengths, count)
}

/// Why none of the servers was watched, for each of them.
fn refused<T>(servers: usize, error: &LoopError) -> Vec<Result<T, String>> {
    (0..servers).map(|_| Err(error.to_string())).collect()
}

/// The difference of two servers' profiles, where both have one.
fn difference(
    explained: &mut [ExplainedServer],
    profiles: &[Result<ServerProfile, String>],
) -> Option<CpuDifference> {
    let ([a, b], [Ok(of_a), Ok(of_b)]) = (explained, profiles) else { return None };
    match profiling::compare((&a.variant, of_a), (&b.variant, of_b)) {
        Ok(difference) => Some(difference),
        Err(why) => {
            b.unknown.push(Unknown { what: "the difference of the profiles".to_owned(), why });
            None
        }
    }
}

fn in_words(progress: &StudyProgress) -> String {
    match progress {
        StudyProgress::Plain { slice, of } => format!("slice {slice} of {of}"),
        StudyProgress::Preparing { of } => format!("preparing less of {of}"),
        StudyProgress::Restarting => "starting it once more".to_owned(),
        StudyProgress::Pair { perturbation, pair, of } => {
            format!("{perturbation}, pair {pair} of at most {of}")
        }
    }
}

fn left_until(until: Instant) -> String {
    let seconds = until.saturating_duration_since(Instant::now()).as_secs();
    match seconds {
        0..60 => format!("at most {seconds} s left"),
        _ => format!("at most {} min left", seconds.div_ceil(60)),
    }
}
