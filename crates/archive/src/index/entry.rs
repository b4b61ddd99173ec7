//! What the index holds of one run, read from its directory.

use crate::{
    error::{ArchiveError, Result},
    id::RunId,
    model::{Kind, Variant, Verdict},
    run::{Head, RunState},
};
use rusqlite::{Transaction, params};
use stats::confidence::ConfidenceInterval;
use std::{
    fs::{self, Metadata},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// A run and what a list or a filter needs of it.
#[derive(Debug)]
pub(super) struct Entry {
    id: RunId,
    changed_ns: i64,
    state: RunState,
    kind: Option<Kind>,
    workload: Option<String>,
    showdown: Option<String>,
    answer: Option<Answer>,
    variants: Vec<VariantRow>,
    tags: Vec<String>,
    problems: u32,
}

/// What the verdict adds.
#[derive(Debug)]
struct Answer {
    sentence: String,
    measure: String,
    unit: String,
    valid: u32,
    invalid: u32,
}

/// A variant and, in a comparison, its value.
#[derive(Debug)]
struct VariantRow {
    name: String,
    server: String,
    median: Option<f64>,
    interval: Option<ConfidenceInterval>,
}

/// The time of change of a run directory: every file that is written below passes through it.
pub(super) fn changed_ns(directory: &Metadata) -> i64 {
    let since = directory.modified().ok().and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

impl Entry {
    /// Reads the run `id` under `root`.
    pub(super) fn read(root: &Path, id: RunId) -> Result<Self> {
        let dir = root.join(id.as_str());
        // Before the files: what changes while they are read is read again.
        let changed_ns = changed_ns(&fs::metadata(&dir).map_err(ArchiveError::io(&dir))?);
        let Head { state, plan, verdict, tags, problems } = Head::read(&dir);
        Ok(Self {
            changed_ns,
            state,
            kind: plan.as_ref().map(|plan| plan.kind),
            workload: plan.as_ref().map(|plan| plan.workload.clone()),
            showdown: plan.as_ref().map(|plan| plan.showdown.clone()),
            variants: plan.map_or_else(Vec::new, |plan| variants(plan.variants, verdict.as_ref())),
            answer: verdict.map(|verdict| Answer {
                valid: verdict.variants.iter().map(|variant| variant.valid).sum(),
                invalid: verdict.variants.iter().map(|variant| variant.invalid).sum(),
                sentence: verdict.sentence,
                measure: verdict.measure,
                unit: verdict.unit,
            }),
            tags,
            problems: problems.len() as u32,
            id,
        })
    }

    /// Puts the entry in the place of the one that was there.
    pub(super) fn store(&self, change: &Transaction<'_>) -> rusqlite::Result<()> {
        let answer = self.answer.as_ref();
        change.prepare_cached("DELETE FROM run WHERE id = ?1")?.execute([&self.id])?;
        change
            .prepare_cached(
                "INSERT INTO run (id, changed_ns, started_unix_ms, state, kind, workload, showdown, sentence,
                                  measure, unit, valid, invalid, problems)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?
            .execute(params![
                self.id,
                self.changed_ns,
                unix_ms(self.id.started()),
                self.state.name(),
                self.kind.map(Kind::name),
                self.workload,
                self.showdown,
                answer.map(|answer| &answer.sentence),
                answer.map(|answer| &answer.measure),
                answer.map(|answer| &answer.unit),
                answer.map_or(0, |answer| answer.valid),
                answer.map_or(0, |answer| answer.invalid),
                self.problems,
            ])?;
        let mut insert = change.prepare_cached(
            "INSERT INTO variant (run_id, place, name, server, median, low, high)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for (place, VariantRow { name, server, median, interval }) in (0_i64..).zip(&self.variants) {
            let (low, high) = (interval.map(|interval| interval.low), interval.map(|interval| interval.high));
            insert.execute(params![self.id, place, name, server, median, low, high])?;
        }
        let mut insert = change.prepare_cached("INSERT INTO tag (run_id, place, tag) VALUES (?1, ?2, ?3)")?;
        for (place, tag) in (0_i64..).zip(&self.tags) {
            insert.execute(params![self.id, place, tag])?;
        }
        Ok(())
    }
}

/// The plan's variants with the verdict's values. A sweep has a value a point and none as a whole.
fn variants(planned: Vec<Variant>, verdict: Option<&Verdict>) -> Vec<VariantRow> {
    let row = |Variant { name, server, .. }| {
        let summaries = verdict.iter().flat_map(|verdict| &verdict.variants);
        let whole = summaries.into_iter().find(|summary| summary.name == name && summary.point.is_empty());
        VariantRow {
            median: whole.and_then(|summary| summary.median),
            interval: whole.and_then(|summary| summary.interval),
            name,
            server,
        }
    };
    planned.into_iter().map(row).collect()
}

/// Milliseconds since 1970, as the index has every time.
pub(super) fn unix_ms(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
