//! Queries of the index: which runs match, and what a list shows of each.

use super::entry::unix_ms;
use crate::{id::RunId, model::RunKind, run::RunState};
use rusqlite::{Connection, Row, ToSql, params_from_iter};
use serde::{Deserialize, Serialize};
use std::{fmt::Write, time::SystemTime};

/// The order of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOrder {
    /// The newest run first.
    #[default]
    Newest,
    /// The oldest run first.
    Oldest,
}

impl RunOrder {
    /// All orders.
    pub const ALL: [Self; 2] = [Self::Newest, Self::Oldest];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Oldest => "oldest",
        }
    }
}

/// Which runs to list: those that match all given filters, newest first unless another order is given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Part of the id or of the verdict's sentence; the case of ASCII letters is ignored.
    pub text: Option<String>,
    /// Name of the workload.
    pub workload: Option<String>,
    /// Name of a variant, or of its server.
    pub variant: Option<String>,
    /// Tags, all of which a run has.
    pub tags: Vec<String>,
    /// Comparison or sweep.
    pub kind: Option<RunKind>,
    /// State of the run.
    pub state: Option<RunState>,
    /// The series of a plan, as [`crate::series_key`] names it.
    pub series: Option<String>,
    /// The id of the run that they confirm.
    pub confirms: Option<String>,
    /// Started at or after this time.
    pub since: Option<SystemTime>,
    /// Started before this time.
    pub before: Option<SystemTime>,
    /// Runs that come after this one in the order: the next page of a list. It may have been deleted.
    pub after: Option<RunId>,
    /// Which run is first.
    pub order: RunOrder,
    /// Maximum number of runs.
    pub limit: Option<u32>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedRun {
    /// Its id.
    pub id: RunId,
    /// Unix time of its start, milliseconds.
    pub started_unix_ms: i64,
    /// Its state.
    pub state: RunState,
    /// `compare` or `sweep`; `None` where the plan cannot be read.
    pub kind: Option<String>,
    /// Name of the workload.
    pub workload: Option<String>,
    /// Names of the variants.
    pub variants: Vec<String>,
    /// The answer in a sentence.
    pub sentence: Option<String>,
    /// Number of valid trials.
    pub valid: u32,
    /// Number of trials that do not count.
    pub invalid: u32,
    /// Words to find the run by.
    pub tags: Vec<String>,
    /// Number of files that are missing or cannot be read, without those of trials.
    pub problems: u32,
    /// Its series: runs of one question at different times have the same; `None` where the plan cannot be read.
    pub series: Option<String>,
}

impl ListedRun {
    /// Whether `showdown resume` goes on with it.
    pub fn is_resumable(&self) -> bool {
        let kind = self.kind.as_deref();
        self.state.is_resumable(RunKind::ALL.into_iter().find(|known| Some(known.name()) == kind))
    }
}

const SELECT: &str =
    "SELECT id, started_unix_ms, state, kind, workload, sentence, valid, invalid, problems, series FROM run";

/// A filter that fewer runs match leads to them by its index. With more, a list is read in its order until it is full.
const FEW: u32 = 1000;

/// A list of at most this many runs looks the names of variants and tags up for each run. A longer list reads the names in one pass over a
/// range, which is four times as fast for a list of all runs.
const LOOKED_UP: usize = 500;

/// A condition for a value, and the condition that an index answers.
struct Condition {
    /// For runs that are read in the order of the list. `?` is the value.
    checked: &'static str,
    /// The ids of the runs that match; none where no index has such ids.
    ids: Option<&'static str>,
    value: Box<dyn ToSql>,
}

impl Condition {
    fn new(checked: &'static str, ids: Option<&'static str>, value: impl ToSql + 'static) -> Self {
        Self { checked, ids, value: Box::new(value) }
    }
}

/// A `+` keeps SQLite from an index that it would choose without knowing how many runs match.
fn conditions(query: &Query) -> Vec<Condition> {
    let mut all = Vec::new();
    if let Some(series) = &query.series {
        // Its index has the order of a list.
        all.push(Condition::new("series = ?", None, series.clone()));
    }
    if let Some(confirms) = &query.confirms {
        // So has this one.
        all.push(Condition::new("confirms = ?", None, confirms.clone()));
    }
    if let Some(workload) = &query.workload {
        let ids = Some("SELECT id FROM run WHERE workload = ?");
        all.push(Condition::new("+workload = ?", ids, workload.clone()));
    }
    if let Some(kind) = query.kind {
        all.push(Condition::new("+kind = ?", Some("SELECT id FROM run WHERE kind = ?"), kind.name()));
    }
    if let Some(state) = query.state {
        all.push(Condition::new("+state = ?", Some("SELECT id FROM run WHERE state = ?"), state.name()));
    }
    if let Some(variant) = &query.variant {
        let checked = "EXISTS (SELECT 1 FROM variant WHERE run_id = run.id AND ? IN (name, server))";
        all.push(Condition::new(checked, None, variant.clone()));
    }
    for tag in &query.tags {
        let checked = "EXISTS (SELECT 1 FROM tag WHERE run_id = run.id AND +tag = ?)";
        all.push(Condition::new(checked, Some("SELECT run_id FROM tag WHERE tag = ?"), tag.clone()));
    }
    if let Some(since) = query.since {
        all.push(Condition::new("started_unix_ms >= ?", None, unix_ms(since)));
    }
    if let Some(before) = query.before {
        all.push(Condition::new("started_unix_ms < ?", None, unix_ms(before)));
    }
    if let Some(after) = &query.after {
        let checked = match query.order {
            RunOrder::Newest => "id < ?",
            RunOrder::Oldest => "id > ?",
        };
        all.push(Condition::new(checked, None, after.clone()));
    }
    // The last one: it takes the longest.
    if let Some(text) = &query.text {
        let checked = "(instr(lower(id), ?) OR instr(lower(sentence), ?))";
        all.push(Condition::new(checked, None, text.to_ascii_lowercase()));
    }
    all
}

/// The condition that the fewest runs match, if they are few.
fn leading(db: &Connection, conditions: &[Condition]) -> rusqlite::Result<Option<usize>> {
    let mut fewest = None;
    let mut most = FEW;
    for (place, condition) in conditions.iter().enumerate() {
        let Some(ids) = condition.ids else { continue };
        let mut count = db.prepare_cached(&format!("SELECT count(*) FROM ({ids} LIMIT {FEW})"))?;
        let matching = count.query_row([&condition.value], |row| row.get(0))?;
        if matching < most {
            (fewest, most) = (Some(place), matching);
        }
    }
    Ok(fewest)
}

pub(super) fn select(db: &Connection, query: &Query) -> rusqlite::Result<Vec<ListedRun>> {
    let order = match query.order {
        RunOrder::Newest => "DESC",
        RunOrder::Oldest => "ASC",
    };
    let conditions = conditions(query);
    let leading = leading(db, &conditions)?;
    let mut statement = SELECT.to_owned();
    for (place, Condition { checked, ids, .. }) in conditions.iter().enumerate() {
        let word = if place == 0 { "WHERE" } else { "AND" };
        // A condition may have its value twice, so it has a number.
        let value = format!("?{}", place + 1);
        let text = match ids {
            Some(ids) if leading == Some(place) => format!("id IN ({})", ids.replace('?', &value)),
            _ => checked.replace('?', &value),
        };
        let _ = write!(statement, " {word} {text}");
    }
    // A negative limit means no limit.
    let limit = query.limit.map_or(-1, i64::from);
    let mut select = db.prepare_cached(&format!("{statement} ORDER BY id {order} LIMIT {limit}"))?;
    let rows =
        select.query_map(params_from_iter(conditions.iter().map(|condition| &condition.value)), listed)?;
    let mut runs: Vec<ListedRun> = rows.collect::<rusqlite::Result<_>>()?;
    if runs.len() <= LOOKED_UP {
        look_up(db, "SELECT name FROM variant", &mut runs, |run| &mut run.variants)?;
        look_up(db, "SELECT tag FROM tag", &mut runs, |run| &mut run.tags)?;
        return Ok(runs);
    }
    if query.order == RunOrder::Oldest {
        runs.reverse();
    }
    attach(db, "SELECT run_id, name FROM variant", &mut runs, |run| &mut run.variants)?;
    attach(db, "SELECT run_id, tag FROM tag", &mut runs, |run| &mut run.tags)?;
    if query.order == RunOrder::Oldest {
        runs.reverse();
    }
    Ok(runs)
}

/// Reads the names of each run.
fn look_up(
    db: &Connection,
    select: &str,
    runs: &mut [ListedRun],
    names: fn(&mut ListedRun) -> &mut Vec<String>,
) -> rusqlite::Result<()> {
    let mut select = db.prepare_cached(&format!("{select} WHERE run_id = ?1 ORDER BY position"))?;
    for run in runs {
        let mut rows = select.query([&run.id])?;
        while let Some(row) = rows.next()? {
            names(run).push(row.get(0)?);
        }
    }
    Ok(())
}

/// Reads the names of all listed runs, the newest first, in one pass, because both are ordered by id.
fn attach(
    db: &Connection,
    select: &str,
    runs: &mut [ListedRun],
    names: fn(&mut ListedRun) -> &mut Vec<String>,
) -> rusqlite::Result<()> {
    let (Some(newest), Some(oldest)) = (runs.first(), runs.last()) else { return Ok(()) };
    let range = [oldest.id.to_string(), newest.id.to_string()];
    let mut select =
        db.prepare_cached(&format!("{select} WHERE run_id BETWEEN ?1 AND ?2 ORDER BY run_id, position"))?;
    let mut rows = select.query(range)?;
    let mut runs = runs.iter_mut().rev().peekable();
    while let Some(row) = rows.next()? {
        let id = row.get_ref(0)?.as_str()?;
        while runs.next_if(|run| run.id.as_str() < id).is_some() {}
        if let Some(run) = runs.peek_mut().filter(|run| run.id.as_str() == id) {
            names(run).push(row.get(1)?);
        }
    }
    Ok(())
}

/// A row with the columns of [`SELECT`]. They are read by number: by name, a list takes a tenth longer.
fn listed(row: &Row<'_>) -> rusqlite::Result<ListedRun> {
    Ok(ListedRun {
        id: row.get(0)?,
        started_unix_ms: row.get(1)?,
        state: RunState::from_name(row.get_ref(2)?.as_str()?).unwrap_or(RunState::Damaged),
        kind: row.get(3)?,
        workload: row.get(4)?,
        variants: Vec::new(),
        sentence: row.get(5)?,
        valid: row.get(6)?,
        invalid: row.get(7)?,
        tags: Vec::new(),
        problems: row.get(8)?,
        series: row.get(9)?,
    })
}
