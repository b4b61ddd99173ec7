//! Runs of the archive, and what people say of them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use archive::{Archive, ListedRun, Query, Run, RunId};
use queue::Entry;
use queue::api::{Note, RunChange};

use super::Harness;
use super::error::ServiceError;
use super::orders::printable;
use crate::secrets::unix_ms;

/// The longest note, bytes, and the longest tag.
const MOST_NOTE_BYTES: usize = 16 << 10;
const MOST_TAG_BYTES: usize = 100;

/// The most of a text file of a run that a page shows.
const MOST_SHOWN_BYTES: u64 = 1 << 20;

/// A run with what people have written about it.
#[derive(Debug)]
pub struct KnownRun {
    /// Its files.
    pub run: Run,
    /// Notes, the oldest first.
    pub notes: Vec<Note>,
    /// The entry that made it; none of one that a person has run.
    pub entry: Option<Entry>,
}

impl Harness {
    /// Runs that match, the newest first. Not those in the trash: their directories are elsewhere.
    pub async fn runs(&self, query: Query) -> Result<Vec<ListedRun>, ServiceError> {
        let listed = Arc::clone(&self.listed);
        blocking(move || Ok(listed.list(&query)?)).await
    }

    /// Looks for runs that other programs have changed.
    pub async fn look_at_runs(&self) -> Result<(), ServiceError> {
        let listed = Arc::clone(&self.listed);
        blocking(move || Ok(listed.look()?)).await
    }

    /// A run by its id.
    pub async fn run(&self, id: RunId) -> Result<KnownRun, ServiceError> {
        let (archive, listed, name) = (self.archive.clone(), Arc::clone(&self.listed), id.to_string());
        let run = blocking(move || {
            dir_of(&archive, &id)?;
            Ok(listed.open(&id)?)
        });
        let run = run.await?;
        let (notes, entry) = self
            .store
            .transact(move |rows| Ok::<_, ServiceError>((rows.notes(&name)?, rows.entry_of_run(&name)?)))
            .await?;
        Ok(KnownRun { run, notes, entry })
    }

    /// Runs in this order, for a comparison.
    pub async fn runs_in_order(&self, ids: Vec<RunId>) -> Result<Vec<Run>, ServiceError> {
        let archive = self.archive.clone();
        blocking(move || {
            let mut runs = Vec::new();
            for id in ids {
                let dir = dir_of(&archive, &id)?;
                // Without its trials, and without the other runs of its plan: to find these, the whole archive is read.
                runs.push(Run::open_without_trials(&dir)?);
            }
            Ok(runs)
        })
        .await
    }

    /// Runs of a series without their trials, the newest first, `most` at most; those that began before this, in milliseconds since 1970.
    pub async fn series(
        &self,
        key: String,
        before_unix_ms: Option<u64>,
        most: u32,
    ) -> Result<Vec<Run>, ServiceError> {
        let (archive, listed) = (self.archive.clone(), Arc::clone(&self.listed));
        blocking(move || {
            let before = before_unix_ms.map(|before| UNIX_EPOCH + Duration::from_millis(before));
            let query = Query { series: Some(key.clone()), before, limit: Some(most), ..Query::default() };
            let mut runs = Vec::new();
            for run in listed.list(&query)? {
                // One that is deleted meanwhile is not there any more.
                runs.extend(Run::open_without_trials(&archive.dir(&run.id)).ok());
            }
            if runs.is_empty() {
                return Err(ServiceError::NotFound(format!(
                    "no run of the series {key:?} is in the archive: open a run, and its history from there"
                )));
            }
            Ok(runs)
        })
        .await
    }

    /// The report of a run, made from its files. An HTML file in the directory is never sent.
    pub async fn report(&self, id: RunId) -> Result<String, ServiceError> {
        let (archive, listed) = (self.archive.clone(), Arc::clone(&self.listed));
        blocking(move || {
            dir_of(&archive, &id)?;
            Ok(report::html(&listed.open(&id)?)?)
        })
        .await
    }

    /// A text file of a run, and the names of all its files.
    pub async fn file(&self, id: RunId, name: String) -> Result<String, ServiceError> {
        let archive = self.archive.clone();
        blocking(
            move || Ok(Run::open_without_trials(&dir_of(&archive, &id)?)?.text(&name, MOST_SHOWN_BYTES)?),
        )
        .await
    }

    /// A packed run, as a temporary file.
    pub async fn bundle(&self, id: RunId) -> Result<fs::File, ServiceError> {
        let archive = self.archive.clone();
        blocking(move || {
            let mut file = tempfile::tempfile()?;
            archive.export(&id, &mut file)?;
            std::io::Seek::rewind(&mut file)?;
            Ok(file)
        })
        .await
    }

    /// Changes tags, and adds a note.
    pub async fn change_run(
        &self,
        id: RunId,
        change: RunChange,
        by: String,
    ) -> Result<Vec<String>, ServiceError> {
        let RunChange { add_tags, remove_tags, note } = change;
        for tag in &add_tags {
            if tag.trim().is_empty() || tag.len() > MOST_TAG_BYTES || tag.chars().any(char::is_control) {
                return Err(ServiceError::Bad(format!(
                    "{tag:?} is no tag: use up to {MOST_TAG_BYTES} printable characters"
                )));
            }
        }
        if note.as_ref().is_some_and(|note| note.len() > MOST_NOTE_BYTES || note.trim().is_empty()) {
            return Err(ServiceError::Bad(format!("a note has 1 to {MOST_NOTE_BYTES} bytes")));
        }
        printable(note.as_deref().unwrap_or_default())?;
        let (archive, listed, run) = (self.archive.clone(), Arc::clone(&self.listed), id.to_string());
        let tags = blocking(move || {
            dir_of(&archive, &id)?;
            let tags = archive.tag(&id, &add_tags, &remove_tags)?;
            listed.changed(&id);
            Ok(tags)
        });
        let tags = tags.await?;
        let shown = tags.join(", ");
        self.store
            .transact(move |rows| {
                if let Some(text) = note {
                    rows.add_note(&run, &Note { author: by.clone(), unix_ms: unix_ms(), text })?;
                }
                Ok::<_, ServiceError>(rows.audit(
                    unix_ms(),
                    &by,
                    &format!("change run {run}: tags {shown}"),
                )?)
            })
            .await?;
        Ok(tags)
    }
}

/// The directory of a run that is in the archive.
fn dir_of(archive: &Archive, id: &RunId) -> Result<PathBuf, ServiceError> {
    let dir = archive.dir(id);
    if dir.is_dir() {
        return Ok(dir);
    }
    Err(ServiceError::NotFound(format!("there is no run {id}: see the archive, or the trash")))
}

/// Reads files without keeping connections waiting.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ServiceError> + Send + 'static,
) -> Result<T, ServiceError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(ServiceError::Bad(format!("it broke off: {error}"))))
}
