//! The trash: a deleted run can be put back for 30 days.
//!
//! The row that says who has deleted a run is in the database, which several servers may share. The directory of the run is with one
//! server. The row comes first and goes last: a failure between the two hides no run, and a row without a directory is put right.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use archive::{ArchiveError, RunId};

use super::Harness;
use super::error::ServiceError;
use super::orders::printable;
use super::runs::blocking;
use crate::secrets::unix_ms;
use crate::store::Deletion;

/// How long a deleted run can be put back.
pub const TRASH: Duration = Duration::from_hours(30 * 24);

/// How long a row stays whose directory is not with this server: each other one has emptied its trash then.
const ELSEWHERE: Duration = Duration::from_hours(60 * 24);

impl Harness {
    /// Puts a run into the trash, with the reason.
    pub async fn delete_run(&self, id: RunId, reason: String, by: String) -> Result<(), ServiceError> {
        if printable(&reason)?.trim().is_empty() {
            return Err(ServiceError::Bad(format!("say why run {id} is deleted")));
        }
        let (from, to, moved) = (self.archive.dir(&id), self.in_trash(&id), id.clone());
        // The lock lasts until the run is moved.
        let directory = blocking(move || {
            let directory = fs::File::open(&from)
                .map_err(|_| ServiceError::NotFound(format!("there is no run {moved}")))?;
            // A run that is being written has locked its directory.
            if directory.try_lock().is_err() {
                return Err(ArchiveError::Running { id: moved }.into());
            }
            Ok((directory, from))
        });
        let (directory, from) = directory.await?;
        let deletion = Deletion { run: id.to_string(), author: by.clone(), unix_ms: unix_ms(), reason };
        self.store
            .transact(move |rows| {
                rows.remove_deletion(&deletion.run)?;
                rows.audit(unix_ms(), &by, &format!("delete run {}: {}", deletion.run, deletion.reason))?;
                Ok::<_, ServiceError>(rows.add_deletion(&deletion)?)
            })
            .await?;
        let moved = blocking(move || {
            fs::create_dir_all(to.parent().expect("it is in the trash"))?;
            fs::rename(&from, &to)?;
            drop(directory);
            Ok(())
        });
        let moved = moved.await;
        self.listed.changed(&id);
        if moved.is_err() {
            let run = id.to_string();
            self.store.transact(move |rows| Ok::<_, ServiceError>(rows.remove_deletion(&run)?)).await?;
        }
        moved
    }

    /// Takes a run out of the trash.
    pub async fn restore_run(&self, id: RunId, by: String) -> Result<(), ServiceError> {
        let (from, to, moved) = (self.in_trash(&id), self.archive.dir(&id), id.clone());
        let is_moved = blocking(move || {
            match (from.is_dir(), to.is_dir()) {
                (true, true) => return Err(ArchiveError::Exists { id: moved }.into()),
                (true, false) => fs::rename(&from, &to)?,
                (false, is_there) => return Ok(is_there),
            }
            Ok(true)
        });
        let is_there = is_moved.await?;
        self.listed.changed(&id);
        self.store
            .transact(move |rows| {
                if !is_there || !rows.remove_deletion(id.as_str())? {
                    return Err(ServiceError::NotFound(format!(
                        "run {id} is not in the trash of this server"
                    )));
                }
                Ok(rows.audit(unix_ms(), &by, &format!("restore run {id}"))?)
            })
            .await
    }

    /// The runs in the trash.
    pub async fn trash(&self) -> Result<Vec<Deletion>, ServiceError> {
        self.store.transact(|rows| Ok(rows.deletions()?)).await
    }

    /// Removes for good what was deleted more than 30 days ago, and secrets that are not valid any more.
    pub async fn empty_trash(&self) -> Result<(), ServiceError> {
        let now = unix_ms();
        self.store.transact(move |rows| rows.remove_lapsed_secrets(now)).await?;
        self.empty_trash_at(now).await
    }

    /// The same for the trash, at a time.
    async fn empty_trash_at(&self, now_unix_ms: u64) -> Result<(), ServiceError> {
        for deletion in self.trash().await? {
            let age = Duration::from_millis(now_unix_ms.saturating_sub(deletion.unix_ms));
            if age <= TRASH {
                continue;
            }
            let Ok(id) = deletion.run.parse::<RunId>() else { continue };
            let (in_trash, in_archive) = (self.in_trash(&id), self.archive.dir(&id));
            let is_own = blocking(move || {
                if in_trash.is_dir() {
                    fs::remove_dir_all(in_trash)?;
                    return Ok(true);
                }
                Ok(in_archive.is_dir())
            });
            if is_own.await? || age > ELSEWHERE {
                self.store
                    .transact(move |rows| Ok::<_, ServiceError>(rows.remove_deletion(&deletion.run)?))
                    .await?;
            }
        }
        Ok(())
    }

    fn in_trash(&self, id: &RunId) -> PathBuf {
        self.folder.trash().join(id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::super::tests::Home;
    use super::*;

    const DAY_MS: u64 = 24 * 3600 * 1000;

    async fn deleted(home: &Home) -> RunId {
        let id = archive::example::one_of_many(home.harness.archive().root(), 1).unwrap();
        home.harness.delete_run(id.clone(), "the test".to_owned(), "ada".to_owned()).await.unwrap();
        id
    }

    #[tokio::test]
    async fn another_server_of_the_database_leaves_the_trash_to_its_own() {
        let home = Home::new().await;
        let id = deleted(&home).await;
        let (other, _elsewhere) = home.server_elsewhere();
        other.empty_trash_at(unix_ms() + 31 * DAY_MS).await.unwrap();
        assert_eq!(home.harness.trash().await.unwrap().len(), 1, "the files are with the first server");
        home.harness.empty_trash_at(unix_ms() + 31 * DAY_MS).await.unwrap();
        assert!(home.harness.trash().await.unwrap().is_empty() && !home.harness.in_trash(&id).exists());
    }

    #[tokio::test]
    async fn a_run_that_cannot_be_moved_is_not_in_the_trash() {
        let home = Home::new().await;
        let id = archive::example::one_of_many(home.harness.archive().root(), 1).unwrap();
        fs::create_dir_all(home.harness.in_trash(&id).join("in the way")).unwrap();
        let failed = home.harness.delete_run(id.clone(), "the test".to_owned(), "ada".to_owned()).await;
        assert!(failed.is_err() && home.harness.archive().dir(&id).is_dir());
        assert!(home.harness.trash().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_run_is_not_put_back_over_another_one() {
        let home = Home::new().await;
        let id = deleted(&home).await;
        fs::create_dir_all(home.harness.archive().dir(&id).join("trials")).unwrap();
        let error = home.harness.restore_run(id.clone(), "ada".to_owned()).await.unwrap_err();
        assert_eq!(error.status(), StatusCode::CONFLICT);
        assert!(error.to_string().contains("already in the archive"), "{error}");
        fs::remove_dir_all(home.harness.archive().dir(&id)).unwrap();
        home.harness.restore_run(id, "ada".to_owned()).await.unwrap();
        assert!(home.harness.trash().await.unwrap().is_empty());
    }
}
