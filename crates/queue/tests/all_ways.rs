//! All ways that two controllers, two hosts and two entries can go, with crashes, silence and repeated calls: every state that can be
//! reached is visited once, and checked.
#![expect(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use std::collections::HashSet;

use queue::memory::MemoryRows;
use queue::{
    Attempt, ControllerCall, ControllerRow, Entry, EntryState, HostRow, HostState, NewController, NewEntry,
    Outcome, Rows,
};

/// How many tokens a way has at most: each claim takes one.
const MOST_TOKENS: u64 = 2;

fn controller(which: usize) -> NewController {
    NewController {
        id: format!("c{which}"),
        boot: "b".to_owned(),
        name: format!("c{which}"),
        host: format!("m{which}"),
        version: String::new(),
        rules: String::new(),
    }
}

fn start() -> MemoryRows {
    let mut rows = MemoryRows::default();
    for which in 0..2 {
        queue::register(&mut rows, &controller(which), 0).unwrap();
    }
    for hosts in [vec!["h".to_owned()], Vec::new()] {
        let new = NewEntry {
            title: String::new(),
            question: String::new(),
            submitter: String::new(),
            priority: 0,
            hosts,
            parent: None,
            key: None,
            is_paused: false,
            ..NewEntry::default()
        };
        queue::submit(&mut rows, &new, 0).unwrap();
    }
    rows
}

/// Every state that one step leads to.
fn next_states(rows: &MemoryRows) -> Vec<MemoryRows> {
    let mut next = Vec::new();
    let entries = rows.clone().entries(&EntryState::ALL).unwrap();
    let tokens = entries.iter().map(|entry| entry.token).max();
    for which in 0..2 {
        let mut claimed = rows.clone();
        let call = ControllerCall { id: format!("c{which}"), boot: "b".to_owned() };
        if tokens.is_some_and(|token| token < MOST_TOKENS) {
            queue::claim(&mut claimed, &call, None, 0).unwrap();
            next.push(claimed);
        }
        // It is killed, and starts again with the same id.
        let mut again = rows.clone();
        queue::lost_controller(&mut again, &call.id, 0).unwrap();
        next.push(again);
    }
    for entry in 1..=2 {
        // Also tokens of claims that are over: a controller that was cut off wakes up and calls.
        for token in 1..=MOST_TOKENS {
            let attempt = Attempt { entry, token };
            let reason = "why".to_owned();
            let outcomes = [
                Outcome::Answered,
                Outcome::Stored,
                Outcome::Failed { reason: reason.clone() },
                Outcome::Stopped { reason },
            ];
            for outcome in &outcomes {
                let mut rows = rows.clone();
                let _ = queue::finish(&mut rows, attempt, outcome, 0);
                next.push(rows);
            }
            let mut begun = rows.clone();
            if queue::begin(&mut begun, attempt, 0).is_ok() {
                next.push(begun.clone());
                queue::note_run(&mut begun, attempt, "run").unwrap();
                next.push(begun);
            }
            let mut refused = rows.clone();
            let _ = queue::refuse(&mut refused, attempt, "no", 0);
            next.push(refused);
            let mut lapsed = rows.clone();
            let _ = queue::lapse(&mut lapsed, attempt, 0);
            next.push(lapsed);
        }
        let mut killed = rows.clone();
        let _ = queue::kill(&mut killed, entry, "bob", 0);
        next.push(killed);
        let mut resumed = rows.clone();
        let _ = queue::resume(&mut resumed, entry);
        next.push(resumed);
    }
    for host in ["h", "m0", "m1"] {
        let mut cleaned = rows.clone();
        let _ = queue::clean_host(&mut cleaned, host, "bob", "rebooted");
        next.push(cleaned);
    }
    for state in &mut next {
        without_words(state);
    }
    next
}

/// Leaves out what no rule looks at: counters of calls, reasons, what was said of a host.
fn without_words(state: &mut MemoryRows) {
    for row in state.controllers().unwrap() {
        state.put_controller(&ControllerRow { counter: 0, ..row }).unwrap();
    }
    for entry in state.entries(&EntryState::ALL).unwrap() {
        // The run of an entry that is at its end is not looked at.
        let run = entry.run.clone().filter(|_| !entry.state.is_ended() || entry.state == EntryState::Lost);
        let attempt = entry.attempt.min(1);
        state.put_entry(&Entry { reason: None, counter: 0, run, attempt, ..entry }).unwrap();
    }
    for host in state.hosts().unwrap() {
        state.put_host(&HostRow { cleaned: None, last_token: 0, ..host }).unwrap();
    }
}

fn check(rows: &MemoryRows, before: &MemoryRows) {
    let mut rows = rows.clone();
    let entries = rows.entries(&EntryState::ALL).unwrap();
    assert_eq!(entries.len(), 2, "no entry vanishes");
    for host in rows.hosts().unwrap() {
        if let HostState::Leased(lease) = &host.state {
            let owner = &entries[entries.iter().position(|entry| entry.id == lease.entry).unwrap()];
            assert!(owner.token == lease.token && owner.state.is_active());
        }
    }
    for entry in &entries {
        let was = before.clone().entry(entry.id).unwrap().unwrap();
        let has_begun = matches!(was.state, EntryState::Running | EntryState::Storing);
        assert!(!has_begun || entry.state != EntryState::Waiting, "nobody has asked for it: {entry:?}");
        let is_killed = was.is_killed && was.state.is_active();
        assert!(
            !is_killed || entry.is_killed && entry.state != EntryState::Waiting,
            "a kill stays: {entry:?}"
        );
        assert!(!was.resumes || was.controller == entry.controller, "its files are elsewhere: {entry:?}");
        assert!(entry.token >= was.token);
    }
}

#[test]
fn every_state_that_can_be_reached_keeps_the_rules() {
    let mut seen = HashSet::new();
    let mut open = vec![start()];
    while let Some(state) = open.pop() {
        for next in next_states(&state) {
            check(&next, &state);
            if !seen.contains(&next) {
                seen.insert(next.clone());
                open.push(next);
            }
        }
    }
    assert!(seen.len() > 300, "{} states", seen.len());
}
