//! The loop of a run: once a second it observes, decides, acts and writes. What it asks of the balancer is a trait, so that tests need none.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use thiserror::Error;

use super::before::BeforeBreach;
use super::decider::{Decider, Question};
use super::page::page;
use super::record::{AnswerRecord, Record, RecordError, WindowRecord};
use crate::guard::Stop;
use crate::live::{LiveBalancer, LiveError};
use crate::name::Name;
use crate::observation::{Action, Alarm, ServerState, Window};
use crate::rollout::StepLacks;

/// How often the lease is renewed.
const RENEWAL_INTERVAL: Duration = Duration::from_millis(200);
/// Seconds until a server that was added must be up.
const MOST_SECONDS_UNTIL_UP: u32 = 30;
/// Seconds that sessions of the candidate and of the control are waited for.
const MOST_SECONDS_OF_DRAINING: u32 = 600;
/// Seconds in which a weight must have been lowered. Then the run gives up its lease, and the balancer stops sending by itself.
const MOST_SECONDS_OF_LOWERING: u32 = 3;

/// The part that observes and acts.
pub trait Acting {
    /// Renews the lease.
    fn renew(&mut self);
    /// What happened since the last call.
    fn observe(&mut self) -> Window;
    /// Does what is asked, and reads it back.
    fn apply(&mut self, action: &Action) -> Result<(), LiveError>;
    /// Waits for a part of a second.
    fn wait(&mut self, time: Duration) {
        thread::sleep(time);
    }
}

impl Acting for LiveBalancer {
    fn renew(&mut self) {
        Self::renew(self);
    }

    fn observe(&mut self) -> Window {
        Self::observe(self)
    }

    fn apply(&mut self, action: &Action) -> Result<(), LiveError> {
        Self::apply(self, action)
    }
}

/// Why a run has no answer.
#[derive(Debug, Error)]
pub enum RunError {
    /// A server that was added does not come up. Nobody was sent to it.
    #[error(
        "{server} is not up after {MOST_SECONDS_UNTIL_UP} s: check that it listens and answers, and [candidate] or [control] in the plan"
    )]
    NotUp {
        /// The server.
        server: Name,
    },
    /// Something is wrong before the first step.
    #[error("{0}")]
    Alarm(Alarm),
    /// The balancer does not do what it is asked.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// A second of a run, for whoever follows it.
#[derive(Debug)]
pub struct Second<'a> {
    /// The record of the second.
    pub window: &'a WindowRecord,
    /// Whether a step has begun in it.
    pub begins_step: bool,
    /// What the step of a canary still lacks.
    pub lacks: Option<StepLacks>,
}

/// Runs a question to its end. The servers have joined with weight 0, and `before` watches them.
pub fn run(
    question: &Question,
    acting: &mut dyn Acting,
    mut before: BeforeBreach,
    record: &mut Record,
    interrupted: &AtomicBool,
    follow: &mut dyn FnMut(&Second<'_>),
) -> Result<Option<AnswerRecord>, RunError> {
    let first = match wait_until_up(question, acting, interrupted) {
        Ok(Some(first)) => first,
        Ok(None) => {
            let answer = end_before_start(question, record, "Ctrl-C")?;
            acting.apply(&Action::Done)?;
            return Ok(Some(answer));
        }
        Err(error) => {
            // The error says more than one of the record.
            let _ = end_before_start(question, record, &error.to_string());
            return Err(error);
        }
    };
    let (mut decider, actions) = Decider::start(question, &first);
    let mut pending = apply(acting, &mut decider, actions);
    let (mut seconds_pending, mut seconds_draining) = (0, 0);
    let mut phase = String::new();
    loop {
        wait_a_second(acting);
        let window = acting.observe();
        let step = (decider.phase_in_words(), decider.weights().candidate_share());
        let mut actions: Vec<Action> = pending.into_iter().map(|(action, _)| action).collect();
        if interrupted.load(Ordering::Relaxed) {
            actions.extend(decider.stop(Stop::Aborted("Ctrl-C".to_owned())));
        }
        actions.extend(decider.take(&window));
        seconds_draining += u32::from(decider.is_draining());
        if seconds_draining > MOST_SECONDS_OF_DRAINING && !actions.contains(&Action::Done) {
            actions.push(Action::Done);
        }
        let asks_for_the_end = actions.contains(&Action::Done);
        pending = apply(acting, &mut decider, actions);
        if decider.is_draining() {
            before.stop();
        }
        // Users come first: the record is written after the action, and a full disk stops the run but no rollback.
        match record.second(&window, step, &decider, question.objective_ms()) {
            Ok(window) => {
                let begins_step = window.phase != phase;
                phase.clone_from(&window.phase);
                follow(&Second { window, begins_step, lacks: decider.lacks() });
            }
            Err(error) => {
                let actions = decider.stop(Alarm::NotDone(error.to_string()).into());
                pending.extend(apply(acting, &mut decider, actions));
            }
        }
        if pending.is_empty() {
            seconds_pending = 0;
            if asks_for_the_end {
                let answer = record.end(question, &decider, before)?;
                if let Some(answer) = &answer {
                    write_page(question, record, answer)?;
                }
                return Ok(answer);
            }
            continue;
        }
        seconds_pending += 1;
        if seconds_pending >= MOST_SECONDS_OF_LOWERING
            && let Some((_, error)) = pending.pop()
        {
            // The error says more than one of the record.
            if let Ok(Some(answer)) = record.end(question, &decider, before) {
                let _ = write_page(question, record, &answer);
            }
            return Err(error.into());
        }
    }
}

/// Writes that nobody was sent to the candidate, and why: without an answer, the record would be of a run that was killed.
fn end_before_start(question: &Question, record: &Record, reason: &str) -> Result<AnswerRecord, RecordError> {
    let answer = record.end_before_start(question, reason)?;
    write_page(question, record, &answer)?;
    Ok(answer)
}

fn write_page(question: &Question, record: &Record, answer: &AnswerRecord) -> Result<(), RecordError> {
    record.page(&page(&question.names(), answer.into(), record.windows()))
}

/// Does what is asked; returns what must be tried again. Where a rise fails, the decider is told, and its rollback is done instead.
fn apply(acting: &mut dyn Acting, decider: &mut Decider, actions: Vec<Action>) -> Vec<(Action, LiveError)> {
    let mut failed = Vec::new();
    let mut queue = VecDeque::from(actions);
    while let Some(action) = queue.pop_front() {
        let Err(error) = acting.apply(&action) else { continue };
        if decider.is_in_step() {
            queue = decider.stop(Alarm::NotDone(error.to_string()).into()).into();
        } else {
            failed.push((action, error));
        }
    }
    failed
}

/// The first window in which all servers that were added are up. None if the run was interrupted.
fn wait_until_up(
    question: &Question,
    acting: &mut dyn Acting,
    interrupted: &AtomicBool,
) -> Result<Option<Window>, RunError> {
    let mut missing = None;
    for _ in 0..MOST_SECONDS_UNTIL_UP {
        wait_a_second(acting);
        if interrupted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let window = acting.observe();
        if let Some(alarm) = window.alarms.first() {
            return Err(RunError::Alarm(alarm.clone()));
        }
        missing = not_up(question, &window);
        if missing.is_none() {
            return Ok(Some(window));
        }
    }
    Err(RunError::NotUp { server: missing.unwrap_or_else(|| question.participants().candidate.clone()) })
}

/// A server that was added and is not up.
fn not_up(question: &Question, window: &Window) -> Option<Name> {
    for name in question.participants().added() {
        if window.server(name.as_str()).and_then(|server| server.state) != Some(ServerState::Up) {
            return Some(name.clone());
        }
    }
    None
}

/// Waits, and renews the lease meanwhile.
fn wait_a_second(acting: &mut dyn Acting) {
    let mut waited = Duration::ZERO;
    while waited < Duration::from_secs(1) {
        acting.wait(RENEWAL_INTERVAL);
        waited += RENEWAL_INTERVAL;
        acting.renew();
    }
}
