//! What stays true of a queue whatever happens to it, in random order: seven invariants of docs/decisions/0039-the-harness.md.
#![expect(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use queue::memory::MemoryRows;
use queue::{
    Attempt, ControllerCall, Entry, EntryState, HostState, NewController, NewEntry, Outcome, Place,
    QueueError, Refusal, Rows, Token,
};

/// What can happen. Numbers choose among what is there.
#[derive(Clone, Debug)]
enum Step {
    Submit { priority: i32, hosts: u8, is_paused: bool },
    Register(usize),
    Claim { controller: usize, is_busy: bool },
    Begin(usize),
    Finish(usize, u8),
    Renew(usize),
    Refuse(usize),
    Lapse(usize),
    Pause(usize),
    Release(usize),
    Kill(usize),
    Resume(usize),
    Move(usize, usize),
    Clean(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..3, 0_u8..4, any::<bool>()).prop_map(|(priority, hosts, is_paused)| Step::Submit { priority, hosts, is_paused: is_paused && hosts == 3 }),
        2 => (0_usize..2).prop_map(Step::Register),
        6 => (0_usize..2, 0..8).prop_map(|(controller, busy)| Step::Claim { controller, is_busy: busy == 0 }),
        4 => (0_usize..9).prop_map(Step::Begin),
        4 => (0_usize..9, 0_u8..4).prop_map(|(which, how)| Step::Finish(which, how)),
        1 => (0_usize..9).prop_map(Step::Renew),
        1 => (0_usize..9).prop_map(Step::Refuse),
        2 => (0_usize..9).prop_map(Step::Lapse),
        1 => (0_usize..9).prop_map(Step::Pause),
        1 => (0_usize..9).prop_map(Step::Release),
        1 => (0_usize..9).prop_map(Step::Kill),
        1 => (0_usize..9).prop_map(Step::Resume),
        1 => (0_usize..9, 0_usize..9).prop_map(|(which, before)| Step::Move(which, before)),
        2 => (0_usize..4).prop_map(Step::Clean),
    ];
    prop::collection::vec(step, 1..60)
}

/// A queue, and what its past allows.
#[derive(Default)]
struct Watched {
    rows: MemoryRows,
    /// All attempts that there were, also old ones: what a controller that was cut off may still show.
    attempts: Vec<Attempt>,
    submitted: usize,
    boots: u32,
    highest_token: Token,
    /// The entries that have begun, with the number of persons' orders to go on.
    begun: BTreeMap<u64, (u32, u32)>,
}

fn call(controller: usize) -> ControllerCall {
    ControllerCall { id: format!("controller-{controller}"), boot: "first".to_owned() }
}

impl Watched {
    fn pick<T: Clone>(list: &[T], which: usize) -> Option<T> {
        if list.is_empty() { None } else { Some(list[which % list.len()].clone()) }
    }

    fn ids(&mut self) -> Vec<u64> {
        all(&mut self.rows).iter().map(|entry| entry.id).collect()
    }

    #[expect(clippy::too_many_lines, reason = "one verb after the other")]
    fn take(&mut self, step: &Step) {
        let before = all(&mut self.rows);
        let rows = &mut self.rows;
        match step {
            Step::Submit { priority, hosts, is_paused } => {
                let hosts = ["h0", "h1"].iter().enumerate().filter(|(bit, _)| hosts & (1 << bit) != 0);
                let new = NewEntry {
                    title: "compare".to_owned(),
                    question: "q".to_owned(),
                    submitter: "alice".to_owned(),
                    priority: *priority,
                    hosts: hosts.map(|(_, name)| (*name).to_owned()).collect(),
                    parent: None,
                    key: None,
                    is_paused: *is_paused,
                    ..NewEntry::default()
                };
                queue::submit(rows, &new, 0).unwrap();
                self.submitted += 1;
            }
            Step::Register(which) => {
                self.boots += 1;
                let ControllerCall { id, boot } = call(*which);
                let host = format!("machine-{which}");
                let new = NewController {
                    id,
                    boot,
                    name: "c".to_owned(),
                    host,
                    version: String::new(),
                    rules: String::new(),
                };
                queue::register(rows, &new, 0).unwrap();
            }
            Step::Claim { controller, is_busy } => self.claim(*controller, *is_busy),
            Step::Begin(which) => {
                if let Some(attempt) = Self::pick(&self.attempts, *which)
                    && let Ok(entry) = queue::begin(rows, attempt, 0)
                {
                    queue::note_run(rows, attempt, "run").unwrap();
                    let was = before.iter().find(|before| before.id == entry.id).unwrap().state;
                    if was == EntryState::Claimed {
                        self.begun.entry(entry.id).or_default().0 += 1;
                    }
                }
            }
            Step::Finish(which, how) => {
                if let Some(attempt) = Self::pick(&self.attempts, *which) {
                    let reason = "because".to_owned();
                    let outcome = match how {
                        0 => Outcome::Answered,
                        1 => Outcome::Stored,
                        2 => Outcome::Failed { reason },
                        _ => Outcome::Stopped { reason },
                    };
                    let once = queue::finish(rows, attempt, &outcome, 0);
                    if once.is_ok() {
                        let twice = rows.clone();
                        queue::finish(rows, attempt, &outcome, 9).unwrap();
                        assert_eq!(*rows, twice, "an answer that was lost is asked for again");
                    }
                }
            }
            Step::Renew(which) => {
                let _ = Self::pick(&self.attempts, *which).map(|attempt| queue::renew(rows, attempt));
            }
            Step::Refuse(which) => {
                let _ =
                    Self::pick(&self.attempts, *which).map(|attempt| queue::refuse(rows, attempt, "no", 0));
            }
            Step::Lapse(which) => {
                let _ = Self::pick(&self.attempts, *which).map(|attempt| queue::lapse(rows, attempt, 0));
            }
            Step::Pause(which) => {
                let _ = Self::pick(&self.ids(), *which).map(|id| queue::pause(&mut self.rows, id, None));
            }
            Step::Release(which) => {
                let _ = Self::pick(&self.ids(), *which).map(|id| queue::release(&mut self.rows, id));
            }
            Step::Kill(which) => {
                let _ = Self::pick(&self.ids(), *which).map(|id| queue::kill(&mut self.rows, id, "bob", 0));
            }
            Step::Resume(which) => {
                if let Some(id) = Self::pick(&self.ids(), *which)
                    && queue::resume(&mut self.rows, id).is_ok()
                {
                    self.begun.entry(id).or_default().1 += 1;
                }
            }
            Step::Move(which, to) => {
                let ids = self.ids();
                if let Some((id, to)) = Self::pick(&ids, *which).zip(Self::pick(&ids, *to)) {
                    let place = if id == to { Place::First } else { Place::Before(to) };
                    if queue::place(&mut self.rows, id, place).is_ok() && place != Place::First {
                        let states = [EntryState::Waiting, EntryState::Paused];
                        let order = self.rows.entries(&states).unwrap();
                        let at = order.iter().position(|entry| entry.id == id).unwrap();
                        assert_eq!(order[at + 1].id, to, "it is directly before the other one");
                    }
                }
            }
            Step::Clean(which) => {
                let hosts = rows.hosts().unwrap();
                if let Some(host) = Self::pick(&hosts, *which) {
                    let cleaned = queue::clean_host(rows, &host.name, "bob", "rebooted").is_ok();
                    assert_eq!(cleaned, matches!(host.state, HostState::Quarantined { .. }));
                }
            }
        }
        self.check(&before);
    }

    fn claim(&mut self, controller: usize, is_busy: bool) {
        let before = self.rows.clone();
        let busy = is_busy.then_some("(pid 812)");
        let claim = match queue::claim(&mut self.rows, &call(controller), busy, 0) {
            Ok(Some(claim)) => claim,
            Ok(None) => return,
            Err(QueueError::Refused(Refusal::NoController(_))) => return assert_eq!(self.rows, before),
            Err(QueueError::Refused(other)) => panic!("{other}"),
        };
        assert!(!is_busy, "a person measures there");
        assert!(claim.entry.token > self.highest_token, "3: tokens only grow");
        self.highest_token = claim.entry.token;
        let mut wanted: BTreeSet<String> = claim.entry.hosts.iter().cloned().collect();
        wanted.insert(format!("machine-{controller}"));
        assert_eq!(claim.hosts.iter().cloned().collect::<BTreeSet<_>>(), wanted, "2: all hosts or none");
        let first = before.clone().entries(&[EntryState::Waiting]).unwrap();
        let passed = first.iter().take_while(|entry| entry.id != claim.entry.id);
        for passed in passed {
            let hosts = before.clone().hosts().unwrap();
            let is_stuck = hosts.iter().any(|host| {
                passed.hosts.contains(&host.name) && matches!(host.state, HostState::Quarantined { .. })
            });
            let refused = passed.is_refused_by(&format!("controller-{controller}"));
            let is_elsewhere = !passed.is_for(&format!("controller-{controller}"));
            assert!(is_stuck || refused || is_elsewhere, "6: entry {} was passed over", passed.id);
        }
        let was = before.clone().entry(claim.entry.id).unwrap().unwrap();
        assert!(
            !was.resumes || was.controller == claim.entry.controller,
            "a run goes on where its files are"
        );
        self.attempts.push(Attempt { entry: claim.entry.id, token: claim.entry.token });
    }

    fn check(&mut self, before: &[Entry]) {
        let entries = all(&mut self.rows);
        assert_eq!(entries.len(), self.submitted, "5: no entry vanishes");
        let mut leased: BTreeMap<Token, usize> = BTreeMap::new();
        for host in self.rows.hosts().unwrap() {
            if let HostState::Leased(lease) = &host.state {
                *leased.entry(lease.token).or_default() += 1;
                let owner = entries.iter().find(|entry| entry.id == lease.entry).unwrap();
                assert!(
                    owner.token == lease.token && owner.state.is_active(),
                    "1: only who has an entry has its hosts"
                );
            }
        }
        for entry in &entries {
            let has = leased.get(&entry.token).copied().unwrap_or(0);
            let expected = match entry.state {
                EntryState::Claimed | EntryState::Running => entry.hosts.len() + 1,
                // The run has ended; its files are on their way.
                _ => 0,
            };
            assert_eq!(has, expected, "2: {entry:?}");
            let was = before.iter().find(|before| before.id == entry.id);
            assert!(was.is_none_or(|was| entry.token >= was.token), "3: tokens only grow");
            let (begun, resumed) = self.begun.get(&entry.id).copied().unwrap_or_default();
            assert!(begun <= resumed + 1, "4: entry {} began {begun} times, {resumed} by a person", entry.id);
        }
    }
}

fn all(rows: &mut MemoryRows) -> Vec<Entry> {
    rows.entries(&EntryState::ALL).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_no_run_is_lost_doubled_or_has_hosts_of_another(steps in steps()) {
        let mut watched = Watched::default();
        for step in &steps {
            watched.take(step);
        }
    }

    #[test]
    fn an_old_token_changes_nothing(steps in steps()) {
        let mut watched = Watched::default();
        for step in &steps {
            watched.take(step);
        }
        for attempt in watched.attempts.clone() {
            let entry = watched.rows.entry(attempt.entry).unwrap().unwrap();
            if entry.token == attempt.token && entry.state.is_active() {
                continue;
            }
            let before = watched.rows.clone();
            let rows = &mut watched.rows;
            let failed = Outcome::Failed { reason: String::new() };
            let refused = [
                queue::renew(rows, attempt).is_err(),
                queue::begin(rows, attempt, 1).is_err(),
                queue::note_run(rows, attempt, "other").is_err(),
                queue::refuse(rows, attempt, "no", 1).is_err(),
                matches!(queue::lapse(rows, attempt, 1), Ok(None)),
                queue::finish(rows, attempt, &failed, 1).is_err() || entry.state == EntryState::Failed,
            ];
            assert_eq!(refused, [true; 6], "{entry:?}");
            assert_eq!(*rows, before);
        }
    }
}
