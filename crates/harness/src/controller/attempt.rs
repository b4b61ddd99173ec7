//! One attempt, from the claim to the end: the rules, the beginning, the child, its progress, and what becomes of it when the server is
//! away.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use queue::api::{AttemptAnswer, AttemptCall, Work};
use queue::{Attempt, Outcome, TRUST};

use super::child::RunningChild;
use super::client::CallError;
use super::host_cpu::HostCpu;
use super::progress::Progress;
use super::quarantine::RUN_MARK;
use super::workplace::Workplace;
use crate::plan_text::PlanText;
use crate::store::address::SECRET_VARIABLES;

/// The least time between two calls: lines of this time go together, because the controller shares the machine with what is measured.
/// A line after a pause is sent at once.
const BETWEEN_CALLS: Duration = Duration::from_millis(100);

/// How often the run and the signals are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The pause after a call that failed.
const AFTER_FAILURE: Duration = Duration::from_millis(250);

/// Without lines, the server is called so often: its answer says whether a person wants the run stopped.
const RENEWAL: Duration = Duration::from_millis(500);

/// The longest call with news of an attempt: between two calls, the run, the signals and the trust in the server are looked at.
const LONGEST_NEWS: Duration = Duration::from_secs(5);

/// The shortest limit of a call, when the trust is about to end.
const SHORTEST_CALL: Duration = Duration::from_millis(500);

/// How long the end of an attempt is told again to a server that does not answer.
const LAST_WORDS: Duration = Duration::from_mins(30);

/// What an attempt has and knows.
struct Attempted<'c> {
    place: &'c Workplace,
    attempt: Attempt,
    run: Option<String>,
    /// When the last call began that was answered: the server counts the lease from later on.
    trusted: Instant,
    /// Why the run is stopped, once it is.
    stopped: Option<String>,
    /// The server has given the entry away: nothing more is told.
    is_fenced: bool,
}

/// Does the work. Whatever happens, the child has ended when this returns.
pub fn execute(place: &Workplace, work: Work) {
    let Work { attempt, plan, resumes, .. } = work;
    let mut attempted = Attempted {
        place,
        attempt,
        run: resumes.clone(),
        trusted: Instant::now(),
        stopped: None,
        is_fenced: false,
    };
    let command = match attempted.prepare(&plan, resumes.as_deref()) {
        Ok(command) => command,
        Err(refusal) => {
            let _ = attempted.insist(&AttemptCall { refuses: Some(refusal), ..attempted.news() });
            return attempted.clean();
        }
    };
    // From here on, the server takes the run for begun: it is never repeated by itself.
    let begins = AttemptCall { begins: true, ..attempted.news() };
    if attempted.insist(&begins).is_err() {
        return attempted.clean();
    }
    let outcome = match RunningChild::start(command, &attempted.folder()) {
        Ok((child, pipe)) => attempted.follow(child, &Progress::read(pipe)),
        Err(error) => Outcome::Failed { reason: format!("cannot start showdown: {error}") },
    };
    attempted.end(&outcome);
    attempted.clean();
}

impl Attempted<'_> {
    fn folder(&self) -> PathBuf {
        self.place.folder.attempts().join(self.attempt.token.to_string())
    }

    /// Removes its folder.
    fn clean(&self) {
        let _ = fs::remove_dir_all(self.folder());
    }

    /// Checks the plan; returns the command that runs it. The error is why the rules refuse it.
    fn prepare(&self, text: &str, resumes: Option<&str>) -> Result<Command, String> {
        let plan = PlanText::read(text).map_err(|error| error.to_string())?.plan;
        let Workplace { rules, showdown, runs, .. } = self.place;
        rules.check(&plan)?;
        let mut command = Command::new(showdown);
        if let Some(run) = resumes {
            command.args(["resume", run, "--accept-changes"]);
        } else {
            let file = self.folder().join("plan.toml");
            let written = fs::create_dir_all(self.folder()).and_then(|()| fs::write(&file, text));
            written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            command.arg("run").arg(file);
        }
        command.env(RUN_MARK, runs);
        // The run starts programs that the plan names: the secrets of the controller are not for them.
        for name in SECRET_VARIABLES {
            command.env_remove(name);
        }
        command.args(["--yes", "--format", "json", "--progress", "none", "--runs"]).arg(runs);
        if plan.kind != archive::model::RunKind::Concurrency {
            for setting in &rules.kernel_settings {
                command.args(["--allow-kernel", setting]);
            }
        }
        Ok(command)
    }

    /// A call without news: it renews the lease.
    fn news(&self) -> AttemptCall {
        AttemptCall {
            token: self.attempt.token,
            lines: Vec::new(),
            begins: false,
            refuses: None,
            run: self.run.clone(),
            ends: None,
        }
    }

    /// Calls the server, and does what it says.
    fn call(&mut self, call: &AttemptCall) -> Result<AttemptAnswer, CallError> {
        let began = Instant::now();
        let path = format!("attempts/{}", self.attempt.entry);
        let left = TRUST.saturating_sub(self.trusted.elapsed());
        // An end is told also when the trust is over.
        let longest = if left.is_zero() { LONGEST_NEWS } else { left.clamp(SHORTEST_CALL, LONGEST_NEWS) };
        let answer = self.place.client.post_within::<_, AttemptAnswer>(&path, call, longest);
        match &answer {
            Ok(answer) => {
                self.trusted = began;
                if answer.is_some_and(|answer| answer.kill) {
                    self.stop("stopped by a person");
                }
            }
            Err(CallError::Refused { status: 404 | 409, .. }) => {
                self.is_fenced = true;
                self.stop("another claim has the entry");
            }
            Err(_) => {}
        }
        answer.map(Option::unwrap_or_default)
    }

    /// Calls until the server answers, or its lease may have ended: an answer that was lost is asked for again.
    fn insist(&mut self, call: &AttemptCall) -> Result<AttemptAnswer, CallError> {
        loop {
            match self.call(call) {
                Err(CallError::Unreachable(_))
                    if !self.place.is_stopped() && self.trusted.elapsed() < TRUST =>
                {
                    std::thread::sleep(AFTER_FAILURE);
                }
                answer => return answer,
            }
        }
    }

    fn stop(&mut self, why: &str) {
        self.stopped.get_or_insert_with(|| why.to_owned());
    }

    /// Follows the child to its end, and tells the server.
    fn follow(&mut self, mut child: RunningChild, progress: &Progress) -> Outcome {
        let began = Instant::now();
        let mut called = Instant::now();
        let mut cpu = HostCpu::new(&self.place.host);
        let status = loop {
            if let Some(line) = cpu.line() {
                progress.add(line);
            }
            let until_call = BETWEEN_CALLS.saturating_sub(called.elapsed());
            if self.is_fenced {
                std::thread::sleep(LOOK);
            } else if until_call.is_zero() {
                progress.wait(LOOK);
                let lines = progress.next();
                if !lines.is_empty() || called.elapsed() >= RENEWAL {
                    called = Instant::now();
                    self.send(progress, lines);
                }
            } else {
                std::thread::sleep(until_call.min(LOOK));
            }
            if self.trusted.elapsed() >= TRUST {
                self.stop("the server did not answer for longer than its lease");
            }
            if began.elapsed() >= self.place.rules.longest {
                self.stop("it took longer than the rules of its controller allow (`longest`)");
            }
            if self.place.is_stopped() {
                self.stop("its controller was stopped");
            }
            if self.stopped.is_some() {
                child.stop();
            }
            match child.ended() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(error) => {
                    return Outcome::Failed { reason: format!("cannot wait for showdown: {error}") };
                }
            }
        };
        // What is in the pipe yet. A server of the run that has kept it open ends nothing.
        let until = Instant::now() + Duration::from_secs(2);
        while !self.is_fenced && !progress.is_done() && Instant::now() < until {
            let lines = progress.next();
            self.send(progress, lines);
            progress.wait(LOOK);
        }
        self.run = progress.run().or_else(|| self.run.take());
        child.outcome(status, self.stopped.as_deref())
    }

    fn send(&mut self, progress: &Progress, lines: Vec<String>) {
        match self.call(&AttemptCall { lines, ..self.news() }) {
            Ok(answer) => progress.acknowledge(answer.next_seq),
            // They are sent again; a server that is away is not asked all the time.
            Err(_) => std::thread::sleep(AFTER_FAILURE),
        }
    }

    /// Tells how the run ended, also to a server that is away for a while.
    fn end(&mut self, outcome: &Outcome) {
        let until = Instant::now() + LAST_WORDS;
        while !self.is_fenced && Instant::now() < until {
            match self.call(&AttemptCall { ends: Some(outcome.clone()), ..self.news() }) {
                Ok(answer) if answer.wants_bundle => return self.send_run(),
                Ok(_) | Err(CallError::Refused { .. }) => return,
                Err(CallError::Unreachable(_)) if self.place.is_stopped() => return,
                Err(CallError::Unreachable(_)) => std::thread::sleep(Duration::from_millis(500)),
            }
        }
    }

    /// Sends the run to a server that has another archive, also to one that is away for a while.
    fn send_run(&mut self) {
        let sent = self.packed().and_then(|mut file| {
            let Attempt { entry, token } = self.attempt;
            let path = format!("attempts/{entry}/bundle?token={token}");
            let until = Instant::now() + LAST_WORDS;
            loop {
                std::io::Seek::rewind(&mut file).map_err(|error| error.to_string())?;
                match self.place.client.put(&path, &mut file) {
                    Err(CallError::Unreachable(_)) if !self.place.is_stopped() && Instant::now() < until => {
                        std::thread::sleep(AFTER_FAILURE);
                    }
                    sent => return sent.map_err(|error| error.to_string()),
                }
            }
        });
        if let Err(reason) = sent {
            let reason = format!("its run is not stored: {reason}");
            let _ = writeln!(std::io::stderr(), "showdown: entry {}: {reason}", self.attempt.entry);
            // An entry that has ended without an answer keeps its own reason.
            let _ = self.call(&AttemptCall { ends: Some(Outcome::Failed { reason }), ..self.news() });
        }
    }

    fn packed(&self) -> Result<fs::File, String> {
        let runs = archive::Archive::new(&self.place.runs);
        let id = self.run.as_deref().and_then(|run| run.parse().ok()).ok_or("it has no directory")?;
        let mut file = tempfile::tempfile().map_err(|error| error.to_string())?;
        runs.export(&id, &mut file).map_err(|error| error.to_string())?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests;
