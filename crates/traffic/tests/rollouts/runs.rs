//! Whole runs with simulated seconds: what is asked of the balancer until the end, and what the record says.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use traffic::live::LiveError;
use traffic::observation::{Action, MailWindow, ServerState, Window};
use traffic::ramp::RampRules;
use traffic::shift::{
    Acting, AnswerRecord, BeforeBreach, Question, Record, RunError, SessionsLeft, StepRecord, StoredShift,
    StoredState, folders, run,
};
use traffic::weights::Participants;

use crate::simulated::{Backend, Behaviour, name, participants};
use crate::{HARD, always, rules};

/// What a test changes in the window of a second.
type Difference = Box<dyn Fn(u64, &mut Window)>;

/// A backend without a clock, and what a test plants in it.
struct SimulatedActing<'a> {
    backend: Backend,
    seconds: u64,
    asked: Vec<Action>,
    /// What is different in a second.
    differs: Difference,
    /// The second in which somebody presses Ctrl-C.
    interrupts_at: u64,
    interrupted: &'a AtomicBool,
    /// Whether the balancer takes no weight above this one.
    highest_weight: u32,
}

impl Acting for SimulatedActing<'_> {
    fn renew(&mut self) {}

    fn observe(&mut self) -> Window {
        self.seconds += 1;
        if self.seconds == self.interrupts_at {
            self.interrupted.store(true, Ordering::Relaxed);
        }
        let mut window = self.backend.window();
        (self.differs)(self.seconds, &mut window);
        window
    }

    fn apply(&mut self, action: &Action) -> Result<(), LiveError> {
        if let Action::SetWeight { server, weight } = action
            && *weight > self.highest_weight
        {
            return Err(LiveError::NotRaised { server: server.to_string(), reason: "a test".to_owned() });
        }
        self.asked.push(action.clone());
        self.backend.apply(std::slice::from_ref(action));
        Ok(())
    }

    fn wait(&mut self, _: Duration) {}
}

/// The answer, what was asked, the seconds, and the record.
struct Ended {
    answer: AnswerRecord,
    asked: Vec<Action>,
    seconds: u64,
    runs: tempfile::TempDir,
}

fn run_with(plant: impl FnOnce(&mut SimulatedActing<'_>)) -> Ended {
    let backend = Backend::new(2000.0, Behaviour::default(), always(Behaviour::default()), 1);
    run_at(backend, &Question::Canary(participants(), rules()), plant)
}

fn run_at(backend: Backend, question: &Question, plant: impl FnOnce(&mut SimulatedActing<'_>)) -> Ended {
    let (answer, asked, seconds, runs) = try_run(backend, question, plant);
    Ended { answer: answer.unwrap().expect("an answer"), asked, seconds, runs }
}

fn try_run(
    backend: Backend,
    question: &Question,
    plant: impl FnOnce(&mut SimulatedActing<'_>),
) -> (Result<Option<AnswerRecord>, RunError>, Vec<Action>, u64, tempfile::TempDir) {
    let runs = tempfile::tempdir().unwrap();
    let interrupted = AtomicBool::new(false);
    let mut acting = SimulatedActing {
        backend,
        seconds: 0,
        asked: Vec::new(),
        differs: Box::new(|_, _| {}),
        interrupts_at: 0,
        interrupted: &interrupted,
        highest_weight: 256,
    };
    plant(&mut acting);
    let plan = "[candidate]\nname = \"candidate\"\n[control]\nname = \"control\"\n";
    let mut record = Record::create(runs.path(), "candidate", plan).unwrap();
    let before = BeforeBreach::watch(&[]);
    let answer = run(question, &mut acting, before, &mut record, &interrupted, &mut |_| {});
    (answer, acting.asked, acting.seconds, runs)
}

/// A difference in the seconds before this one.
fn until(end: u64, differs: impl Fn(&mut Window) + 'static) -> Difference {
    Box::new(move |second, window| {
        if second < end {
            differs(window);
        }
    })
}

/// The process of the balancer before a reload still has sessions.
fn has_old_process(window: &mut Window) {
    window.old_process = Some(7);
}

fn lowers_candidate() -> Action {
    Action::SetWeight { server: name("candidate"), weight: 0 }
}

#[test]
fn the_windows_say_when_sessions_are_over() {
    let ended = run_with(|acting| {
        acting.interrupts_at = 10;
        acting.differs = until(40, |window| window.servers[3].in_progress = 1);
    });
    assert_eq!(ended.answer.status, "stopped");
    assert_eq!((ended.seconds, ended.asked.last()), (40, Some(&Action::Done)));
    let lowered = ended.asked.iter().position(|action| *action == lowers_candidate());
    assert!(lowered < ended.asked.iter().position(|action| *action == Action::Done), "{:?}", ended.asked);
}

#[test]
fn sessions_that_do_not_end_are_waited_for_ten_minutes() {
    let ended = run_with(|acting| {
        acting.interrupts_at = 10;
        acting.differs = until(u64::MAX, |window| window.servers[3].in_progress = 3);
    });
    assert_eq!((ended.seconds, ended.asked.last()), (10 + 600, Some(&Action::Done)));
    let [left] = ended.answer.sessions_left.try_into().expect("those of the candidate");
    assert_eq!(left.in_words(), "candidate has 3 sessions in progress: do not stop it before they end");
    let [(_, directory)] = folders(ended.runs.path()).try_into().expect("one run");
    let page = std::fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(page.contains("candidate has 3 sessions in progress"), "{page}");
}

#[test]
fn sessions_of_the_process_before_a_reload_are_waited_for() {
    let ended = run_with(|acting| {
        acting.interrupts_at = 10;
        acting.differs = until(40, has_old_process);
    });
    assert_eq!((ended.seconds, ended.answer.sessions_left.len()), (40, 0));
    let ended = run_with(|acting| {
        acting.interrupts_at = 10;
        acting.differs = until(u64::MAX, has_old_process);
    });
    assert_eq!(ended.seconds, 10 + 600, "ten minutes at most");
    let words: Vec<String> = ended.answer.sessions_left.iter().map(SessionsLeft::in_words).collect();
    assert!(words[0].contains("may have sessions of HAProxy's process before the reload"), "{words:?}");
}

#[test]
fn mail_in_the_queue_is_waited_for_also_after_a_reload_has_removed_the_server() {
    let ended = run_with(|acting| {
        acting.interrupts_at = 10;
        acting.differs = Box::new(|second, window| {
            if second > 10 {
                let queued = u64::from(second < 40);
                window.servers[3].state = Some(ServerState::Absent);
                window.servers[3].mail =
                    Some(MailWindow { log_arrived: true, queued, ..MailWindow::default() });
            }
        });
    });
    assert_eq!(ended.seconds, 40);
}

#[test]
fn a_run_that_ends_before_its_first_step_is_stopped_and_not_killed() {
    let ended = run_with(|acting| acting.interrupted.store(true, Ordering::Relaxed));
    assert_eq!((ended.answer.status.as_str(), ended.asked), ("stopped", vec![Action::Done]));
    assert_eq!(ended.answer.answer, "stopped before the first step: Ctrl-C");
    let [(_, directory)] = folders(ended.runs.path()).try_into().expect("one run");
    assert_eq!(StoredShift::open(&directory).unwrap().state, StoredState::Stopped);
    assert!(directory.join("report.html").is_file());

    let backend = Backend::new(2000.0, Behaviour::default(), always(Behaviour::default()), 1);
    let question = Question::Canary(participants(), rules());
    let (answer, asked, _, runs) = try_run(backend, &question, |acting| {
        acting.differs = until(u64::MAX, |window| window.servers[3].state = Some(ServerState::Down));
    });
    let error = answer.unwrap_err().to_string();
    assert!(error.starts_with("candidate is not up after 30 s") && asked.is_empty(), "{error} {asked:?}");
    let [(_, directory)] = folders(runs.path()).try_into().expect("one run");
    let stored = StoredShift::open(&directory).unwrap();
    assert_eq!(stored.state, StoredState::Stopped);
    assert_eq!(stored.sentence(), format!("stopped before the first step: {error}"));
}

#[test]
fn a_weight_that_cannot_be_raised_ends_the_run_with_a_rollback() {
    let ended = run_with(|acting| acting.highest_weight = 64);
    // The last step of these rules has the weight of an old server, so nothing was refused.
    assert_eq!(ended.answer.status, "no_worse", "{}", ended.answer.answer);
    let ended = run_with(|acting| acting.highest_weight = 63);
    assert_eq!(ended.answer.status, "stopped");
    assert!(ended.answer.answer.contains("is not raised: a test"), "{}", ended.answer.answer);
    assert!(ended.asked.contains(&lowers_candidate()));
}

#[test]
fn a_ramp_has_the_response_times_of_candidate_and_old_servers_in_each_step() {
    let late = Behaviour { late: 0.02, ..Behaviour::default() };
    let backend = Backend::new(2000.0, late, always(Behaviour::default()), 1);
    let without_control = Participants { control: None, ..participants() };
    let multiples = vec![1.0, 2.0];
    let rules = RampRules { multiples, dwell_s: 30, longest_s: 60, quantile: 99.0, alpha: 0.01, hard: HARD };
    let ended = run_at(backend, &Question::Ramp(without_control, rules), |_| {});
    let words: Vec<Option<String>> = ended.answer.steps.iter().map(StepRecord::times_in_words).collect();
    let both = Some("p99 20 ms, of the old servers 400 ms".to_owned());
    assert_eq!(words[..2], [both.clone(), both], "{:?}", ended.answer.steps);
    assert!(words[2..].iter().all(Option::is_none), "{:?}", ended.answer.steps);
    let [(_, directory)] = folders(ended.runs.path()).try_into().expect("one run");
    let page = std::fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(page.contains("<td>p99 20 ms, of the old servers 400 ms"), "{page}");
    assert_eq!(ended.answer.as_fast_up_to, Some(2.0));
    let expected = "the candidate carried 2 × the share of one old server, as fast as the old servers up to 2 ×; \
                    that is the largest share of this plan (3, 4, 6, 8 × left out by `max_share`)";
    assert!(ended.answer.answer.starts_with(expected), "{}", ended.answer.answer);
}

#[test]
fn a_ramp_of_a_slower_candidate_says_so() {
    let slow = Behaviour { late: 0.02, ..Behaviour::default() };
    let backend = Backend::new(2000.0, Behaviour::default(), always(slow), 1);
    let without_control = Participants { control: None, ..participants() };
    let hard = traffic::guard::HardLimits { objective_ms: 500, ..HARD };
    let rules =
        RampRules { multiples: vec![1.0], dwell_s: 30, longest_s: 60, quantile: 99.0, alpha: 0.01, hard };
    let ended = run_at(backend, &Question::Ramp(without_control, rules), |_| {});
    assert_eq!((ended.answer.carried, ended.answer.as_fast_up_to), (Some(1.0), None));
    let expected =
        "carried 1 × the share of one old server, slower than the old servers already at 1 × (p99 400 ms";
    assert!(ended.answer.answer.contains(expected), "{}", ended.answer.answer);
}

#[test]
fn a_record_is_read_again_and_says_how_its_run_stands() {
    let ended = run_with(|acting| acting.interrupts_at = 10);
    let [(id, directory)] = folders(ended.runs.path()).try_into().expect("one run");
    let stored = StoredShift::open(&directory).unwrap();
    assert_eq!(
        (&stored.id, stored.state, stored.answer.as_ref()),
        (&id, StoredState::Stopped, Some(&ended.answer))
    );
    let page = stored.page().unwrap();
    assert_eq!(page, std::fs::read_to_string(directory.join("report.html")).unwrap());

    // As after SIGKILL in the middle of a line.
    std::fs::remove_file(directory.join("answer.json")).unwrap();
    let windows = std::fs::read_to_string(directory.join("windows.jsonl")).unwrap();
    std::fs::write(directory.join("windows.jsonl"), &windows[..windows.len() - 30]).unwrap();
    let killed = StoredShift::open(&directory).unwrap();
    assert_eq!((killed.state, killed.answer.is_none()), (StoredState::Killed, true));
    assert_eq!(killed.windows().unwrap().len(), windows.lines().count() - 1);
    assert!(killed.page().unwrap().contains("was killed before it had an answer"));
    let goes_on = std::fs::File::open(directory.join("windows.jsonl")).unwrap();
    goes_on.lock().unwrap();
    assert_eq!(StoredShift::open(&directory).unwrap().state, StoredState::Running);
}
