//! The files of a run: its plan, each second as plain data, its answer and its page. docs/LIVE-TRAFFIC.md has every key.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use archive::RunId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::before::{BeforeBreach, ServerBefore};
use super::decider::{Decider, Ending, EvidenceLogs, Question};
use super::programs::ProgramComparison;
use crate::observation::{Alarm, MailWindow, ServerState, ServerWindow, Window};
use crate::rollout::{Metric, ProofRecord};

/// The folder of all runs of this kind, in the directory of runs.
pub(super) const FOLDER: &str = "shift";
pub(super) const PLAN: &str = "plan.toml";
pub(super) const WINDOWS: &str = "windows.jsonl";
pub(super) const ANSWER: &str = "answer.json";
pub(super) const PAGE: &str = "report.html";

/// A file of the run cannot be written.
#[derive(Debug, Error)]
#[error("cannot write {}: {source}: free space or choose another directory with --runs", file.display())]
pub struct RecordError {
    file: PathBuf,
    source: io::Error,
}

/// What the log of a mail server says of a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct MailRecord {
    pub messages: u64,
    pub deferred: u64,
    pub rejected: u64,
    pub delivered_twice: u64,
    pub queued: u64,
    pub oldest_queued_s: u64,
    pub mail_log_arrived: bool,
}

impl From<MailWindow> for MailRecord {
    fn from(mail: MailWindow) -> Self {
        Self {
            messages: mail.messages,
            deferred: mail.deferred,
            rejected: mail.rejected,
            delivered_twice: mail.delivered_twice,
            queued: mail.queued,
            oldest_queued_s: mail.oldest_queued_s,
            mail_log_arrived: mail.log_arrived,
        }
    }
}

/// The sums of a mail server over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct MailSums {
    pub server: String,
    pub messages: u64,
    pub deferred: u64,
    pub rejected: u64,
    pub delivered_twice: u64,
    pub left_in_queue: u64,
}

impl MailSums {
    /// Of each server whose mail log was read.
    pub fn of(windows: &[WindowRecord]) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for server in windows.iter().flat_map(|window| &window.servers) {
            let Some(mail) = &server.mail else { continue };
            let at = sums.iter().position(|sum| sum.server == server.server).unwrap_or_else(|| {
                sums.push(Self { server: server.server.clone(), ..Self::default() });
                sums.len() - 1
            });
            let sum = &mut sums[at];
            sum.messages += mail.messages;
            sum.deferred += mail.deferred;
            sum.rejected += mail.rejected;
            sum.delivered_twice += mail.delivered_twice;
            sum.left_in_queue = mail.queued;
        }
        sums
    }

    /// In a sentence.
    pub fn in_words(&self) -> String {
        let Self { server, messages, deferred, rejected, delivered_twice, left_in_queue } = self;
        let mut text = format!(
            "{server}: {messages} messages, {deferred} deferred, {rejected} rejected, {delivered_twice} delivered twice"
        );
        if *left_in_queue > 0 {
            let _ =
                write!(text, "; {left_in_queue} are in its queue: do not stop it before they are delivered");
        }
        text
    }
}

/// A server in a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct ServerRecord {
    pub server: String,
    pub weight: Option<u32>,
    pub up: Option<bool>,
    pub requests: u64,
    pub in_progress: u64,
    pub refused: u64,
    pub reset: u64,
    pub status_5xx: u64,
    pub redispatched: u64,
    pub answered: u64,
    pub late: u64,
    pub p50_ms: Option<u32>,
    pub p99_ms: Option<u32>,
    pub counters_arrived: bool,
    pub log_arrived: bool,
    pub mail: Option<MailRecord>,
}

impl ServerRecord {
    fn of(server: &ServerWindow, objective_ms: u32) -> Self {
        let mut times = server.response_ms.clone();
        times.sort_unstable();
        Self {
            server: server.server.clone(),
            weight: server.weight,
            up: server.state.map(|state| state == ServerState::Up),
            requests: server.requests,
            in_progress: server.in_progress,
            refused: server.failed.refused,
            reset: server.failed.reset,
            status_5xx: server.failed.status_5xx,
            redispatched: server.failed.redispatched,
            answered: server.response_ms.len() as u64,
            late: server.late(objective_ms),
            p50_ms: percentile(&times, 0.5),
            p99_ms: percentile(&times, 0.99),
            counters_arrived: server.counters_arrived,
            log_arrived: server.log_arrived,
            mail: server.mail.map(MailRecord::from),
        }
    }

    /// Failures of all kinds.
    pub fn failed(&self) -> u64 {
        self.refused + self.reset + self.status_5xx + self.redispatched
    }
}

/// A percentile of sorted times; the share is 0 to 1.
fn percentile(times: &[u32], share: f64) -> Option<u32> {
    let rank = (share * times.len() as f64).ceil() as usize;
    times.get(rank.saturating_sub(1)).copied()
}

/// A second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct WindowRecord {
    pub second: u64,
    pub phase: String,
    pub share: f64,
    pub late_log_e: Option<f64>,
    pub failed_log_e: Option<f64>,
    pub deferred_log_e: Option<f64>,
    pub rejected_log_e: Option<f64>,
    pub delivered_twice_log_e: Option<f64>,
    pub limit_log_e: Option<f64>,
    pub alarms: Vec<String>,
    pub servers: Vec<ServerRecord>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct StepRecord {
    pub began_s: u64,
    pub share: f64,
    pub phase: String,
    pub percentile: Option<f64>,
    pub candidate_ms: Option<u32>,
    pub old_ms: Option<u32>,
}

impl StepRecord {
    /// A step whose response times are not known.
    pub(super) fn new(began_s: u64, share: f64, phase: String) -> Self {
        Self { began_s, share, phase, percentile: None, candidate_ms: None, old_ms: None }
    }

    /// The response times of both sides: "p99 31 ms, of the old servers 28 ms". None in a canary.
    pub fn times_in_words(&self) -> Option<String> {
        let (percentile, candidate) = (self.percentile?, self.candidate_ms?);
        let old = self.old_ms.map_or_else(|| "not known".to_owned(), |ms| format!("{ms} ms"));
        Some(format!("p{percentile} {candidate} ms, of the old servers {old}"))
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct AnswerRecord {
    pub question: String,
    pub status: String,
    pub answer: String,
    pub carried: Option<f64>,
    #[serde(default)]
    pub as_fast_up_to: Option<f64>,
    #[serde(default)]
    pub proofs: Vec<ProofRecord>,
    pub seconds: u64,
    pub requests: u64,
    pub steps: Vec<StepRecord>,
    #[serde(default)]
    pub programs: Vec<ProgramComparison>,
    pub before_breach: Vec<ServerBefore>,
    #[serde(default)]
    pub mail: Vec<MailSums>,
    #[serde(default)]
    pub sessions_left: Vec<SessionsLeft>,
    pub directory: String,
}

/// Sessions of a server that the run has added, in progress when the run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "docs/LIVE-TRAFFIC.md has every key, and a test compares")]
pub struct SessionsLeft {
    pub server: String,
    pub sessions: Option<u64>,
}

impl SessionsLeft {
    /// Of the servers that were added, in the last second. After a reload the process of before has their sessions.
    fn of(question: &Question, last: Option<&WindowRecord>, has_old_process: bool) -> Vec<Self> {
        let mut left = Vec::new();
        for name in question.participants().added() {
            let found = last.and_then(|last| last.servers.iter().find(|server| server.server == *name));
            let sessions = found.map_or(0, |server| server.in_progress);
            if sessions > 0 || has_old_process {
                let sessions = (!has_old_process).then_some(sessions);
                left.push(Self { server: name.to_string(), sessions });
            }
        }
        left
    }

    /// In a sentence.
    pub fn in_words(&self) -> String {
        let server = &self.server;
        match self.sessions {
            Some(sessions) => {
                format!("{server} has {sessions} sessions in progress: do not stop it before they end")
            }
            None => format!(
                "{server} may have sessions of HAProxy's process before the reload, which still runs: do not stop it before that process ends"
            ),
        }
    }
}

/// The record of a run that goes on.
#[derive(Debug)]
pub struct Record {
    directory: PathBuf,
    lines: BufWriter<File>,
    windows: Vec<WindowRecord>,
    steps: Vec<StepRecord>,
    programs: Vec<ProgramComparison>,
    seconds: u64,
    /// Whether HAProxy's process of before a reload ran in the last second.
    has_old_process: bool,
}

impl Record {
    /// Makes the folder of a run of this candidate that begins now, with the plan in it, below the directory of runs.
    pub fn create(runs: &Path, candidate: &str, plan: &str) -> Result<Self, RecordError> {
        let directory = new_folder(&runs.join(FOLDER), candidate)?;
        let plan_file = directory.join(PLAN);
        fs::write(&plan_file, plan).map_err(failed(&plan_file))?;
        let file = directory.join(WINDOWS);
        let windows = File::create(&file).map_err(failed(&file))?;
        // The lock ends with this process: a record without an answer and without it is of a run that was killed.
        windows.lock().map_err(failed(&file))?;
        let lines = BufWriter::new(windows);
        Ok(Self {
            directory,
            lines,
            windows: Vec::new(),
            steps: Vec::new(),
            programs: Vec::new(),
            seconds: 0,
            has_old_process: false,
        })
    }

    /// The folder of the run.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Takes how the programs of candidate and another server differ.
    pub fn programs(&mut self, programs: Option<ProgramComparison>) {
        self.programs.extend(programs);
    }

    /// Writes a second with the step that it belongs to, after the decision on it.
    pub fn second(
        &mut self,
        window: &Window,
        (phase, share): (String, f64),
        decider: &Decider,
        objective_ms: u32,
    ) -> Result<&WindowRecord, RecordError> {
        self.seconds += 1;
        self.has_old_process = window.old_process.is_some();
        if self.steps.last().is_none_or(|step| step.phase != phase) {
            self.steps.push(StepRecord::new(self.seconds, share, phase.clone()));
        }
        if share > 0.0
            && let (Some(times), Some(step)) = (decider.times(), self.steps.last_mut())
        {
            step.percentile = Some(times.percentile);
            (step.candidate_ms, step.old_ms) = (times.candidate_ms, times.old_ms);
        }
        let evidence = decider.evidence();
        let record = WindowRecord {
            second: window.second,
            phase,
            share,
            late_log_e: log_e(evidence.as_ref(), Metric::Late),
            failed_log_e: log_e(evidence.as_ref(), Metric::Failed),
            deferred_log_e: log_e(evidence.as_ref(), Metric::Deferred),
            rejected_log_e: log_e(evidence.as_ref(), Metric::Rejected),
            delivered_twice_log_e: log_e(evidence.as_ref(), Metric::DeliveredTwice),
            limit_log_e: evidence.as_ref().map(|evidence| evidence.limit),
            alarms: window.alarms.iter().map(Alarm::to_string).collect(),
            servers: window.servers.iter().map(|server| ServerRecord::of(server, objective_ms)).collect(),
        };
        let file = self.directory.join(WINDOWS);
        let written = serde_json::to_writer(&mut self.lines, &record).map_err(io::Error::from);
        written
            .and_then(|()| self.lines.write_all(b"\n"))
            .and_then(|()| self.lines.flush())
            .map_err(failed(&file))?;
        self.windows.push(record);
        Ok(&self.windows[self.windows.len() - 1])
    }

    /// Writes the answer.
    pub fn end(
        &self,
        question: &Question,
        decider: &Decider,
        before: BeforeBreach,
    ) -> Result<Option<AnswerRecord>, RecordError> {
        let Some(found) = decider.found() else { return Ok(None) };
        let record = AnswerRecord {
            question: question.word().to_owned(),
            status: found.ending.word().to_owned(),
            answer: found.sentence,
            carried: found.carried,
            as_fast_up_to: found.as_fast_up_to,
            proofs: found.proofs,
            seconds: self.seconds,
            requests: found.requests,
            steps: self.steps.clone(),
            programs: self.programs.clone(),
            before_breach: if decider.is_breach() { before.result() } else { Vec::new() },
            mail: MailSums::of(&self.windows),
            sessions_left: SessionsLeft::of(question, self.windows.last(), self.has_old_process),
            directory: self.directory.display().to_string(),
        };
        self.write_answer(&record)?;
        Ok(Some(record))
    }

    /// Writes that the run has ended before its first step: nobody was sent to the candidate.
    pub fn end_before_start(&self, question: &Question, reason: &str) -> Result<AnswerRecord, RecordError> {
        let record = AnswerRecord {
            question: question.word().to_owned(),
            status: Ending::Stopped.word().to_owned(),
            answer: format!("stopped before the first step: {reason}"),
            carried: None,
            as_fast_up_to: None,
            proofs: Vec::new(),
            seconds: 0,
            requests: 0,
            steps: Vec::new(),
            programs: self.programs.clone(),
            before_breach: Vec::new(),
            mail: Vec::new(),
            sessions_left: Vec::new(),
            directory: self.directory.display().to_string(),
        };
        self.write_answer(&record)?;
        Ok(record)
    }

    fn write_answer(&self, record: &AnswerRecord) -> Result<(), RecordError> {
        let file = self.directory.join(ANSWER);
        let text = serde_json::to_string_pretty(record).map_err(io::Error::from).map_err(failed(&file))?;
        fs::write(&file, text + "\n").map_err(failed(&file))
    }

    /// The seconds so far.
    pub fn windows(&self) -> &[WindowRecord] {
        &self.windows
    }

    /// Writes the page.
    pub fn page(&self, html: &str) -> Result<(), RecordError> {
        let file = self.directory.join(PAGE);
        fs::write(&file, html).map_err(failed(&file))
    }
}

/// ln E of a metric. None if it is not compared.
fn log_e(evidence: Option<&EvidenceLogs>, metric: Metric) -> Option<f64> {
    evidence?.of(metric)
}

fn new_folder(parent: &Path, candidate: &str) -> Result<PathBuf, RecordError> {
    fs::create_dir_all(parent).map_err(failed(parent))?;
    // Two processes differ in it, and so do two runs of one.
    let mut salt = std::process::id() as u16;
    loop {
        let id = RunId::new(SystemTime::now(), [candidate], salt);
        let directory = parent.join(id.as_str());
        match fs::create_dir(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => salt = salt.wrapping_add(1),
            Err(error) => return Err(failed(&directory)(error)),
        }
    }
}

fn failed(file: &Path) -> impl FnOnce(io::Error) -> RecordError {
    let file = file.to_owned();
    move |source| RecordError { file, source }
}
