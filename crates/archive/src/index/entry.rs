//! The index entry of one run, read from its directory.

use crate::{
    error::{ArchiveError, Result},
    id::RunId,
    model::{Concurrency, ConfidenceInterval, Explanation, RunKind, TuningRecord, Variant, Verdict},
    run::{RunHead, RunState},
    series::series_key,
};
use rusqlite::{Transaction, params};
use std::{
    fs::{self, Metadata},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// What a list or a filter needs of a run.
#[derive(Debug)]
pub(super) struct IndexedRun {
    id: RunId,
    changed_ns: i64,
    state: RunState,
    kind: Option<RunKind>,
    workload: Option<String>,
    showdown: Option<String>,
    series: Option<String>,
    confirms: Option<String>,
    result: Option<IndexedResult>,
    variants: Vec<VariantRow>,
    tags: Vec<String>,
    problems: u32,
}

/// What the verdict or the explanation adds.
#[derive(Debug)]
struct IndexedResult {
    sentence: String,
    metric: String,
    unit: String,
    valid: u32,
    invalid: u32,
}

impl From<Verdict> for IndexedResult {
    fn from(verdict: Verdict) -> Self {
        Self {
            valid: verdict.variants.iter().map(|variant| variant.valid).sum(),
            invalid: verdict.variants.iter().map(|variant| variant.invalid).sum(),
            sentence: verdict.sentence,
            metric: verdict.metric,
            unit: verdict.unit,
        }
    }
}

impl From<Explanation> for IndexedResult {
    fn from(explanation: Explanation) -> Self {
        let (metric, unit) = ("what limits".to_owned(), String::new());
        Self { sentence: explanation.sentence, metric, unit, valid: 0, invalid: 0 }
    }
}

impl From<Concurrency> for IndexedResult {
    fn from(concurrency: Concurrency) -> Self {
        let (metric, unit) = ("downloads in progress".to_owned(), String::new());
        Self { sentence: concurrency.sentence, metric, unit, valid: 0, invalid: 0 }
    }
}

/// The result of a run, with the answer of a search for tunings if it is one: its verdict is that of the last step.
fn with_answer(result: Option<IndexedResult>, tuning: Option<TuningRecord>) -> Option<IndexedResult> {
    let result = result?;
    Some(match tuning {
        Some(TuningRecord { sentence, .. }) => IndexedResult { sentence, ..result },
        None => result,
    })
}

/// A variant and, in a comparison, its median.
#[derive(Debug)]
struct VariantRow {
    name: String,
    server: String,
    median: Option<f64>,
    interval: Option<ConfidenceInterval>,
}

/// The modification time of a run directory. Every write to a file of the run changes it.
pub(super) fn changed_ns(directory: &Metadata) -> i64 {
    let since = directory.modified().ok().and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

impl IndexedRun {
    /// Reads the run `id` under `root`.
    pub(super) fn read(root: &Path, id: RunId) -> Result<Self> {
        let dir = root.join(id.as_str());
        // Before the files: a change while they are read causes another read.
        let changed_ns = changed_ns(&fs::metadata(&dir).map_err(ArchiveError::io(&dir))?);
        let RunHead { state, plan, verdict, explanation, concurrency, tuning, tags, problems } =
            RunHead::read(&dir);
        Ok(Self {
            changed_ns,
            state,
            kind: plan.as_ref().map(|plan| plan.kind),
            workload: plan.as_ref().map(|plan| plan.workload.clone()),
            showdown: plan.as_ref().map(|plan| plan.showdown.clone()),
            series: plan.as_ref().map(series_key),
            confirms: plan.as_ref().and_then(|plan| plan.confirms.clone()),
            variants: plan.map_or_else(Vec::new, |plan| variants(plan.variants, verdict.as_ref())),
            result: with_answer(verdict.map(IndexedResult::from), tuning)
                .or(explanation.map(IndexedResult::from))
                .or(concurrency.map(IndexedResult::from)),
            tags,
            problems: problems.len() as u32,
            id,
        })
    }

    /// Replaces the entry of this run in the index.
    pub(super) fn store(&self, change: &Transaction<'_>) -> rusqlite::Result<()> {
        let result = self.result.as_ref();
        change.prepare_cached("DELETE FROM run WHERE id = ?1")?.execute([&self.id])?;
        change
            .prepare_cached(
                "INSERT INTO run (id, changed_ns, started_unix_ms, state, kind, workload, showdown, series,
                                  sentence, metric, unit, valid, invalid, problems, confirms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            )?
            .execute(params![
                self.id,
                self.changed_ns,
                unix_ms(self.id.started()),
                self.state.name(),
                self.kind.map(RunKind::name),
                self.workload,
                self.showdown,
                self.series,
                result.map(|result| &result.sentence),
                result.map(|result| &result.metric),
                result.map(|result| &result.unit),
                result.map_or(0, |result| result.valid),
                result.map_or(0, |result| result.invalid),
                self.problems,
                self.confirms,
            ])?;
        let mut insert = change.prepare_cached(
            "INSERT INTO variant (run_id, position, name, server, median, low, high)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for (position, VariantRow { name, server, median, interval }) in (0_i64..).zip(&self.variants) {
            let (low, high) = (interval.map(|interval| interval.low), interval.map(|interval| interval.high));
            insert.execute(params![self.id, position, name, server, median, low, high])?;
        }
        let mut insert =
            change.prepare_cached("INSERT INTO tag (run_id, position, tag) VALUES (?1, ?2, ?3)")?;
        for (position, tag) in (0_i64..).zip(&self.tags) {
            insert.execute(params![self.id, position, tag])?;
        }
        Ok(())
    }
}

/// The variants of the plan with their medians. A sweep has a median for each point and none for the variant.
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

/// Milliseconds since 1970, the unit of every time in the index.
pub(super) fn unix_ms(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
