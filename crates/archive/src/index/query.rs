//! Queries of the index: which runs match, and what a list shows of each.

use super::entry::unix_ms;
use crate::{id::RunId, model::RunKind, run::RunState};
use rusqlite::{Connection, Row, named_params};
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

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
    /// Started at or after this time.
    pub since: Option<SystemTime>,
    /// Started before this time.
    pub before: Option<SystemTime>,
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

const SELECT: &str = "
SELECT id, started_unix_ms, state, kind, workload, sentence, valid, invalid, problems, series
FROM run
WHERE (:text IS NULL OR instr(lower(id), :text) OR instr(lower(sentence), :text))
  AND (:workload IS NULL OR workload = :workload)
  AND (:variant IS NULL
       OR EXISTS (SELECT 1 FROM variant WHERE run_id = id AND (name = :variant OR server = :variant)))
  AND NOT EXISTS (SELECT 1 FROM json_each(:tags) WHERE value NOT IN (SELECT tag FROM tag WHERE run_id = run.id))
  AND (:kind IS NULL OR kind = :kind)
  AND (:state IS NULL OR state = :state)
  AND (:series IS NULL OR series = :series)
  AND (:since IS NULL OR started_unix_ms >= :since)
  AND (:before IS NULL OR started_unix_ms < :before)
";

pub(super) fn select(db: &Connection, query: &Query) -> rusqlite::Result<Vec<ListedRun>> {
    let order = match query.order {
        RunOrder::Newest => "DESC",
        RunOrder::Oldest => "ASC",
    };
    let mut select = db.prepare_cached(&format!("{SELECT} ORDER BY id {order} LIMIT :limit"))?;
    let rows = select.query_map(
        named_params! {
            ":text": query.text.as_ref().map(|text| text.to_ascii_lowercase()),
            ":workload": query.workload,
            ":variant": query.variant,
            ":tags": serde_json::to_string(&query.tags).unwrap_or_default(),
            ":kind": query.kind.map(RunKind::name),
            ":state": query.state.map(RunState::name),
            ":series": query.series,
            ":since": query.since.map(unix_ms),
            ":before": query.before.map(unix_ms),
            // A negative limit means no limit.
            ":limit": query.limit.map_or(-1, i64::from),
        },
        listed,
    )?;
    let mut runs: Vec<ListedRun> = rows.collect::<rusqlite::Result<_>>()?;
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

/// Reads the names of all listed runs, the newest first, in one pass, because both are ordered by id. This is four times as fast as a
/// subquery for each run.
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
