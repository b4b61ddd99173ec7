//! Runs on live traffic among the others: which one a name means, how `list` shows them, and what `show` and `report` print of one.
//! Their records are in the folder `shift` of the directory of runs.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use archive::{Archive, ArchiveError, ListedRun, NameRule, Query, RunId, RunState};
use serde::Serialize;
use traffic::shift::{AnswerRecord, StoredShift, StoredState, folders, is_record};

use crate::args::options::AnswerFormat;
use crate::exit::{CommandStatus, usage};
use crate::print::{print, print_json};
use crate::show::shift::answer_text;

/// A run that a name means.
#[derive(Debug, PartialEq, Eq)]
pub enum NamedRun {
    /// A run of the archive.
    Archived(RunId),
    /// A run on live traffic, with its folder.
    Shift(RunId, PathBuf),
}

/// The run that a name means, among those of the archive and those on live traffic. None if it means none.
fn named(rule: NameRule, name: &str, archive: &Archive) -> anyhow::Result<Option<NamedRun>> {
    let shifts = folders(archive.root());
    let mut ids = archive.ids()?;
    ids.extend(shifts.iter().map(|(id, _)| id.clone()));
    let Some(chosen) = rule.choose(&ids, name)? else { return Ok(None) };
    let shift = shifts.into_iter().find(|(id, _)| *id == chosen);
    Ok(Some(shift.map_or(NamedRun::Archived(chosen), |(id, directory)| NamedRun::Shift(id, directory))))
}

/// The run on live traffic that a name or a path means. None if it means another run, or none.
pub fn find(name: &str, archive: &Archive) -> anyhow::Result<Option<StoredShift>> {
    let path = Path::new(name);
    if path.components().count() > 1 || is_record(path) {
        return Ok(if is_record(path) { Some(StoredShift::open(path)?) } else { None });
    }
    let shifts = folders(archive.root());
    let Some((newest, directory)) = shifts.first() else { return Ok(None) };
    if name == "latest" {
        let is_another = archive.find(name).is_ok_and(|other| other > *newest);
        return Ok(if is_another { None } else { Some(StoredShift::open(directory)?) });
    }
    match named(NameRule::AnyPart, name, archive)? {
        Some(NamedRun::Shift(_, directory)) => Ok(Some(StoredShift::open(&directory)?)),
        Some(NamedRun::Archived(_)) | None => Ok(None),
    }
}

/// Finds a run that is to be removed: by its id or a unique beginning of its id, nothing looser.
pub fn find_to_remove(name: &str, archive: &Archive) -> anyhow::Result<NamedRun> {
    Ok(named(NameRule::Beginning, name, archive)?.ok_or_else(|| archive.nothing_to_remove(name))?)
}

/// Refuses to export a run on live traffic, and says what to do instead.
pub fn refuse_export(name: &str, archive: &Archive) -> anyhow::Result<()> {
    let Some(shift) = find(name, archive)? else { return Ok(()) };
    let StoredShift { id, directory, .. } = shift;
    let folder = directory.display();
    Err(usage(format!(
        "{id} is a run on live traffic, and has no export: pack its folder {folder}; after unpacking, `showdown show FOLDER` reads it"
    )))
}

/// Refuses a plan of live traffic where another plan is expected.
pub fn refuse_plan(text: &str) -> anyhow::Result<()> {
    if text.lines().any(|line| line.trim() == "[balancer]") {
        return Err(usage(
            "this is a plan of live traffic, run it on the machine of its balancer: `showdown shift PLAN`",
        ));
    }
    Ok(())
}

/// What a command has found that takes no run on live traffic: such a run is named as one, and not as missing.
pub fn name_shift(result: anyhow::Result<CommandStatus>) -> anyhow::Result<CommandStatus> {
    let error = match result {
        Err(error) => error,
        done => return done,
    };
    let missing = error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(ArchiveError::NoSuchRun { name, root }) => Some((name, root)),
        _ => None,
    });
    if let Some((name, root)) = missing
        && let Ok(Some(shift)) = find(name, &Archive::new(root))
    {
        let id = shift.id;
        return Err(usage(format!(
            "{id} is a run on live traffic, which this command does not take: `showdown show {id}` and `showdown report {id}` have its answer"
        )));
    }
    Err(error)
}

/// All runs that match a query, the newest first: those of the archive, and those on live traffic.
pub fn list(archive: &Archive, query: &Query) -> anyhow::Result<Vec<ListedRun>> {
    let mut listed = archive.list(query)?;
    for (_, directory) in folders(archive.root()) {
        // A record that cannot be read is named by `show`.
        let Ok(shift) = StoredShift::open(&directory) else { continue };
        let run = listed_run(&shift);
        if matches(&run, query) {
            listed.push(run);
        }
    }
    listed.sort_by(|one, other| other.id.cmp(&one.id));
    listed.truncate(query.limit.map_or(usize::MAX, |limit| limit as usize));
    Ok(listed)
}

fn matches(run: &ListedRun, query: &Query) -> bool {
    query.text.as_ref().is_none_or(|text| has_text(run, &text.to_ascii_lowercase()))
        && query.workload.is_none()
        && query.tags.is_empty()
        && query.variant.as_ref().is_none_or(|variant| run.variants.contains(variant))
        && query.state.is_none_or(|state| run.state == state)
}

fn has_text(run: &ListedRun, text: &str) -> bool {
    let sentence = run.sentence.as_deref().unwrap_or_default().to_ascii_lowercase();
    run.id.as_str().contains(text) || sentence.contains(text)
}

fn listed_run(shift: &StoredShift) -> ListedRun {
    let started = shift.id.started().duration_since(UNIX_EPOCH).unwrap_or_default();
    let names = std::iter::once(&shift.names.candidate).chain(&shift.names.control);
    ListedRun {
        id: shift.id.clone(),
        started_unix_ms: i64::try_from(started.as_millis()).unwrap_or(i64::MAX),
        state: match shift.state {
            StoredState::Answered => RunState::Finished,
            StoredState::Stopped => RunState::Interrupted,
            StoredState::Running => RunState::Running,
            StoredState::Killed => RunState::Unfinished,
        },
        kind: Some("shift".to_owned()),
        workload: None,
        variants: names.map(ToString::to_string).collect(),
        sentence: Some(shift.sentence()),
        valid: 0,
        invalid: 0,
        tags: Vec::new(),
        problems: 0,
        series: None,
    }
}

/// What `show --format json` and `report --format json` print.
#[derive(Serialize)]
struct ShiftOutput<'a> {
    run: &'a str,
    state: &'static str,
    sentence: String,
    answer: Option<&'a AnswerRecord>,
    directory: String,
}

/// All that is known of such a run, for programs.
pub fn json(shift: &StoredShift) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&ShiftOutput {
        run: shift.id.as_str(),
        state: listed_run(shift).state.name(),
        sentence: shift.sentence(),
        answer: shift.answer.as_ref(),
        directory: shift.directory.display().to_string(),
    })?)
}

/// `showdown show` of such a run.
pub fn show(shift: &StoredShift, format: AnswerFormat) -> anyhow::Result<()> {
    match (format, &shift.answer) {
        (AnswerFormat::Json, _) => print_json(&json(shift)?),
        (AnswerFormat::Text, Some(answer)) => print(&answer_text(answer, &shift.directory)),
        (AnswerFormat::Text, None) => {
            print(&format!("{}: {}\n\nrun     {}\n", shift.id, shift.sentence(), shift.directory.display()))
        }
    }
}
