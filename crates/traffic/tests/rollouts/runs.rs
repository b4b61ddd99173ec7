//! Whole runs with simulated seconds: what is asked of the balancer until the end, and what the record says.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use traffic::live::LiveError;
use traffic::observation::{Action, Window};
use traffic::ramp::RampRules;
use traffic::shift::{
    Acting, AnswerRecord, BeforeBreach, Question, Record, StepRecord, StoredShift, StoredState, folders, run,
};
use traffic::weights::Participants;

use crate::simulated::{Backend, Behaviour, name, participants};
use crate::{HARD, always, rules};

/// A backend without a clock, and what a test plants in it.
struct SimulatedActing<'a> {
    backend: Backend,
    seconds: u64,
    asked: Vec<Action>,
    /// Sessions of the candidate that do not end for so many seconds.
    busy_for: u64,
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
        if self.seconds < self.busy_for {
            window.servers[3].in_progress = 1;
        }
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
    let runs = tempfile::tempdir().unwrap();
    let interrupted = AtomicBool::new(false);
    let mut acting = SimulatedActing {
        backend,
        seconds: 0,
        asked: Vec::new(),
        busy_for: 0,
        interrupts_at: 0,
        interrupted: &interrupted,
        highest_weight: 256,
    };
    plant(&mut acting);
    let plan = "[candidate]\nname = \"candidate\"\n[control]\nname = \"control\"\n";
    let mut record = Record::create(runs.path(), "candidate", plan).unwrap();
    let before = BeforeBreach::watch(&[]);
    let answer = run(question, &mut acting, before, &mut record, &interrupted, &mut |_| {}).unwrap();
    let (asked, seconds) = (acting.asked, acting.seconds);
    Ended { answer: answer.expect("an answer"), asked, seconds, runs }
}

fn lowers_candidate() -> Action {
    Action::SetWeight { server: name("candidate"), weight: 0 }
}

#[test]
fn the_windows_say_when_sessions_are_over() {
    let ended = run_with(|acting| (acting.interrupts_at, acting.busy_for) = (10, 40));
    assert_eq!(ended.answer.status, "stopped");
    assert_eq!((ended.seconds, ended.asked.last()), (40, Some(&Action::Done)));
    let lowered = ended.asked.iter().position(|action| *action == lowers_candidate());
    assert!(lowered < ended.asked.iter().position(|action| *action == Action::Done), "{:?}", ended.asked);
}

#[test]
fn sessions_that_do_not_end_are_waited_for_ten_minutes() {
    let ended = run_with(|acting| (acting.interrupts_at, acting.busy_for) = (10, u64::MAX));
    assert_eq!((ended.seconds, ended.asked.last()), (10 + 600, Some(&Action::Done)));
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
