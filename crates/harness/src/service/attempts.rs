//! What controllers ask.

use std::path::PathBuf;
use std::pin::pin;
use std::time::{Duration, Instant};

use archive::Archive;
use queue::api::{AttemptAnswer, AttemptCall, ClaimAnswer, ClaimCall, Work};
use queue::{
    Attempt, Entry, EntryId, EntryState, HostState, NewController, Outcome, Refusal, begin, claim, finish,
    host_identity, note_run, refuse, register, renew,
};
use serde::Deserialize;
use tokio::time::{sleep, timeout};

use super::Harness;
use super::error::ServiceError;
use super::news::NewLines;
use super::runs::blocking;
use crate::secrets::unix_ms;
use crate::store::Transaction;

/// The longest wait for work, seconds: proxies cut connections that are silent for a minute.
const MOST_WAIT_S: u32 = 25;

/// The least time between two looks for work of one controller: much may change at once.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// How often the lease is renewed while a run is sent and stored.
const RENEWAL: Duration = Duration::from_secs(5);

/// The longest line of progress.
const MOST_LINE_BYTES: usize = 64 << 10;

/// What is read of a line of progress; the rest is only kept.
#[derive(Deserialize)]
struct LineHead {
    seq: u64,
    event: String,
    #[serde(default)]
    run: Option<String>,
}

impl Harness {
    /// A controller has started. The secret with which it comes the first time is its own from then on.
    pub async fn register(&self, new: NewController, owner: String) -> Result<(), ServiceError> {
        let id = new.id.clone();
        // One that has no run is idle, or was shut down and has another name now: whoever calls is there.
        let is_heard = self.is_heard(&id);
        let ended = self.store.transact(move |rows| {
            match rows.controller_owner(&new.id)? {
                Some(other) if other != owner => return Err(not_own(&new.id)),
                Some(_) => {}
                None => rows.put_controller_owner(&new.id, &owner)?,
            }
            if is_heard
                && let Some(known) = rows.controller(&new.id)?
                && host_identity(&known.host) != host_identity(&new.host)
            {
                return Err(Refusal::other_machine(&known).into());
            }
            Ok(register(rows, &new, unix_ms())?)
        });
        for entry in ended.await? {
            self.tell_of(&entry);
        }
        self.hear(&id);
        Ok(())
    }

    /// Work for a controller, once there is some; none after its wait.
    pub async fn claim(&self, call: ClaimCall, owner: &str) -> Result<ClaimAnswer, ServiceError> {
        let until = Instant::now() + Duration::from_secs(u64::from(call.wait_s.min(MOST_WAIT_S)));
        let mut changes = self.news.watch_all();
        loop {
            let looked = Instant::now();
            let (controller, busy, owner) = (call.controller.clone(), call.busy.clone(), owner.to_owned());
            let answer = self.store.transact(move |rows| {
                check_owner(rows, &controller.id, &owner)?;
                let claim = claim(rows, &controller, busy.as_deref(), unix_ms())?;
                let host = rows.controller(&controller.id)?.map(|row| row.host).unwrap_or_default();
                let mut quarantined = Vec::new();
                for row in rows.hosts()? {
                    if row.name == host && matches!(row.state, HostState::Quarantined { .. }) {
                        quarantined.push(row.name);
                    }
                }
                let Some(claim) = claim else { return Ok(ClaimAnswer { work: None, quarantined }) };
                let attempt = Attempt { entry: claim.entry.id, token: claim.entry.token };
                let resumes = if claim.entry.resumes { claim.entry.run } else { None };
                let plan = rows.plan(attempt.entry)?.unwrap_or_default();
                Ok::<_, ServiceError>(ClaimAnswer {
                    work: Some(Work { attempt, plan, resumes, hosts: claim.hosts }),
                    quarantined,
                })
            });
            let answer = answer.await?;
            self.hear(&call.controller.id);
            if let Some(work) = &answer.work {
                self.tell(work.attempt.entry);
                return Ok(answer);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !answer.quarantined.is_empty() || call.busy.is_some() {
                return Ok(answer);
            }
            // Whatever changes may free a host. Between a change that was not seen and the next look are five seconds at most.
            let _ = timeout(left.min(Duration::from_secs(5)), changes.recv()).await;
            sleep(BETWEEN_LOOKS.saturating_sub(looked.elapsed())).await;
        }
    }

    /// News of an attempt: lines of its progress, that it begins, refuses or ends. Each renews its lease.
    pub async fn attempt(
        &self,
        id: EntryId,
        call: AttemptCall,
        owner: String,
    ) -> Result<AttemptAnswer, ServiceError> {
        let attempt = Attempt { entry: id, token: call.token };
        let heads = call.lines.iter().map(|line| head(line)).collect::<Result<Vec<_>, _>>()?;
        let run = named_run(&heads).or_else(|| call.run.clone());
        let is_stored = match run.clone() {
            Some(run) => has_run(&self.archive, &run),
            None => false,
        };
        // A run that has begun must not begin again after a power cut; how it ended is not forgotten either.
        let is_turn = call.begins || call.ends.is_some();
        let may_change = is_turn || call.refuses.is_some();
        let named = run.clone();
        let answer = self.store.transact(move |rows| {
            let controller = check_attempt(rows, id, &owner)?;
            let is_end_repeated = call.ends.is_some()
                && rows
                    .entry(id)?
                    .is_some_and(|entry| entry.token == attempt.token && !entry.state.is_active());
            let mut entry = if is_end_repeated {
                rows.entry(id)?.ok_or(Refusal::NoEntry(id))?
            } else {
                renew(rows, attempt)?
            };
            if let Some(reason) = &call.refuses {
                let refused = refuse(rows, attempt, reason, unix_ms())?;
                return Ok((controller, AttemptAnswer::default(), true, None, Some(refused)));
            }
            let mut is_changed = may_change;
            let mut told = None;
            if call.begins {
                entry = begin(rows, attempt, unix_ms())?;
            }
            let mut next = rows.last_seq(id, attempt.token)? + 1;
            // Lines that came before are repeated when their answer was lost; the controller sends again what is missing.
            let known = heads.iter().take_while(|head| head.seq < next).count();
            if heads.get(known).is_some_and(|head| head.seq == next) {
                let new = &call.lines[known..];
                if heads[known..].iter().zip(next..).any(|(head, seq)| head.seq != seq) {
                    return Err(ServiceError::Bad(
                        "the numbers of the lines have a gap: send them in order".to_owned(),
                    ));
                }
                rows.append_lines(id, attempt.token, next, new)?;
                told = Some(NewLines { token: attempt.token, first: next, lines: new.to_vec() });
                next += new.len() as u64;
            }
            if let Some(run) = &run
                && entry.run.as_ref() != Some(run)
                && !is_end_repeated
            {
                entry = note_run(rows, attempt, run)?;
                is_changed = true;
            }
            // Also of a run that was stopped or has failed: its files say what was measured, and why it ended.
            let mut wants_bundle = call.ends.is_some() && run.is_some() && !is_stored;
            let mut ended = None;
            match &call.ends {
                Some(Outcome::Answered | Outcome::Stored) if !is_stored => {
                    // Without a name, too: an answer without a run is none, which the controller finds when it packs the run.
                    wants_bundle = true;
                    finish(rows, attempt, &Outcome::Answered, unix_ms())?;
                }
                Some(Outcome::Answered) => ended = Some(finish(rows, attempt, &Outcome::Stored, unix_ms())?),
                Some(outcome) => ended = Some(finish(rows, attempt, outcome, unix_ms())?),
                None => {}
            }
            let answer = AttemptAnswer { kill: entry.is_killed, next_seq: next, wants_bundle };
            Ok((controller, answer, is_changed, told, ended))
        });
        let (controller, answer, is_changed, told, ended) = answer.await?;
        self.hear(&controller);
        if is_turn {
            self.store.make_durable().await?;
        }
        if may_change && let Some(id) = named.and_then(|run| run.parse().ok()) {
            self.listed.changed(&id);
        }
        // Who watches lines gets them from here; a look of each watcher into the store would cost more than all else.
        if let Some(entry) = &ended {
            self.tell_of(entry);
        } else if is_changed {
            self.tell(id);
        } else if let Some(lines) = told {
            self.news.tell_lines(id, lines);
        }
        Ok(answer)
    }

    /// Whether a controller may send the run of an attempt; renews its lease. An entry that has ended without an answer has no lease, and
    /// its run is taken once.
    pub async fn check_bundle(&self, attempt: Attempt, owner: String) -> Result<(), ServiceError> {
        let archive = self.archive.clone();
        let controller = self
            .store
            .transact(move |rows| {
                let controller = check_attempt(rows, attempt.entry, &owner)?;
                let entry = rows.entry(attempt.entry)?.ok_or(Refusal::NoEntry(attempt.entry))?;
                let is_missing = entry.run.as_deref().is_some_and(|run| !has_run(&archive, run));
                if is_without_answer(&entry, attempt) && is_missing {
                    return Ok(controller);
                }
                renew(rows, attempt)?;
                Ok::<_, ServiceError>(controller)
            })
            .await?;
        self.hear(&controller);
        Ok(())
    }

    /// Renews the lease of an attempt whose run is being sent or stored, if it was not renewed for a while.
    pub async fn keep_lease(&self, renewed: &mut Instant, of: (Attempt, &str)) -> Result<(), ServiceError> {
        if renewed.elapsed() < RENEWAL {
            return Ok(());
        }
        match self.check_bundle(of.0, of.1.to_owned()).await {
            // No lease ends without its database.
            Ok(()) | Err(ServiceError::Store(_)) => *renewed = Instant::now(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// A controller sends the run of an attempt that is not in this archive.
    pub async fn take_bundle(
        &self,
        attempt: Attempt,
        owner: &str,
        file: PathBuf,
    ) -> Result<(), ServiceError> {
        let archive = self.archive.clone();
        let import = blocking(move || match archive.import(&file) {
            Ok(id) | Err(archive::ArchiveError::Exists { id }) => Ok(id),
            Err(error) => Err(error.into()),
        });
        let mut import = pin!(import);
        let mut renewed = Instant::now();
        let run = loop {
            match timeout(RENEWAL, &mut import).await {
                Ok(run) => break run?,
                Err(_) => self.keep_lease(&mut renewed, (attempt, owner)).await?,
            }
        };
        self.listed.changed(&run);
        self.store
            .transact(move |rows| {
                if rows.entry(attempt.entry)?.is_some_and(|entry| is_without_answer(&entry, attempt)) {
                    return Ok(());
                }
                note_run(rows, attempt, run.as_str())?;
                finish(rows, attempt, &Outcome::Stored, unix_ms())?;
                Ok::<_, ServiceError>(())
            })
            .await?;
        self.tell(attempt.entry);
        Ok(())
    }
}

fn has_run(archive: &Archive, run: &str) -> bool {
    run.parse().is_ok_and(|id| archive.dir(&id).join(archive::layout::PLAN).is_file())
}

/// Whether the entry has ended without an answer in this attempt: its run is stored, and changes nothing of it.
fn is_without_answer(entry: &Entry, attempt: Attempt) -> bool {
    entry.token == attempt.token && matches!(entry.state, EntryState::Failed | EntryState::Cancelled)
}

/// The controller of an entry. Tokens are small numbers, so a secret reaches the attempts of its own controllers only.
fn check_attempt(rows: &mut dyn Transaction, id: EntryId, owner: &str) -> Result<String, ServiceError> {
    let entry = rows.entry(id)?.ok_or(Refusal::NoEntry(id))?;
    let controller = entry.controller.ok_or(Refusal::OldToken(id))?;
    check_owner(rows, &controller, owner)?;
    Ok(controller)
}

fn check_owner(rows: &mut dyn Transaction, controller: &str, owner: &str) -> Result<(), ServiceError> {
    match rows.controller_owner(controller)? {
        Some(other) if other != owner => Err(not_own(controller)),
        // One that has never registered is refused by the rules of the queue.
        _ => Ok(()),
    }
}

fn not_own(controller: &str) -> ServiceError {
    ServiceError::Forbidden(format!(
        "controller {controller} has registered with another secret: use that one, or give this machine's controller another directory of runs"
    ))
}

/// The run that the last of these lines names that name it.
fn named_run(heads: &[LineHead]) -> Option<String> {
    let naming = heads
        .iter()
        .rev()
        .find(|head| matches!(head.event.as_str(), "run_begins" | "stream_ends") && head.run.is_some());
    naming.and_then(|head| head.run.clone())
}

fn head(line: &str) -> Result<LineHead, ServiceError> {
    if line.len() > MOST_LINE_BYTES || line.contains('\n') {
        return Err(ServiceError::Bad(format!(
            "a line of progress is longer than {MOST_LINE_BYTES} bytes, or several"
        )));
    }
    serde_json::from_str(line)
        .map_err(|error| ServiceError::Bad(format!("a line of progress is no event: {error}")))
}
