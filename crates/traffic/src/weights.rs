//! The weights that a run has set, and the only ways to change them: a rollback can only lower, and a rise needs a step that was earned.

use std::collections::BTreeMap;

use crate::name::Name;
use crate::observation::{Action, Window};

/// The servers of a run in their backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participants {
    /// The new server.
    pub candidate: Name,
    /// The old version, started at the same time as the candidate. A ramp has none.
    pub control: Option<Name>,
    /// The servers that carried the traffic before.
    pub old: Vec<Name>,
}

impl Participants {
    /// The candidate, and the control if there is one.
    pub fn added(&self) -> impl Iterator<Item = &Name> {
        std::iter::once(&self.candidate).chain(&self.control)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Name> {
        self.added().chain(&self.old)
    }
}

/// Weight 0. There is no way to make a rollback that raises a weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lower {
    server: Name,
}

impl Lower {
    fn action(self) -> Action {
        Action::SetWeight { server: self.server, weight: 0 }
    }
}

/// The weights as they are expected to be read back, and as they were before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    participants: Participants,
    before: BTreeMap<Name, u32>,
    expected: BTreeMap<Name, u32>,
}

impl Weights {
    /// The weights before the run.
    pub fn before(participants: Participants, window: &Window) -> Self {
        let before: BTreeMap<Name, u32> = participants
            .all()
            .map(|name| {
                (name.clone(), window.server(name.as_str()).and_then(|server| server.weight).unwrap_or(0))
            })
            .collect();
        Self { participants, expected: before.clone(), before }
    }

    /// The servers of the run.
    pub fn participants(&self) -> &Participants {
        &self.participants
    }

    /// The weight that a server has by this run.
    pub fn expected(&self, server: &str) -> Option<u32> {
        self.expected.get(server).copied()
    }

    /// The candidate's part of all traffic, 0 to 1.
    pub fn candidate_share(&self) -> f64 {
        let total: u32 = self.expected.values().sum();
        let candidate = self.expected(self.participants.candidate.as_str()).unwrap_or(0);
        f64::from(candidate) / f64::from(total.max(1))
    }

    /// Gives every old server the same weight: their parts of the traffic stay equal.
    pub(crate) fn scale_old(&mut self, weight: u32) -> Vec<Action> {
        let old = self.participants.old.clone();
        old.into_iter().map(|server| self.set(server, weight)).collect()
    }

    /// Gives the candidate and the control the weight of a step.
    pub(crate) fn rise(&mut self, weight: u32) -> Vec<Action> {
        let added: Vec<Name> = self.participants.added().cloned().collect();
        // The control first: no moment has a candidate without its control.
        added.into_iter().rev().map(|server| self.set(server, weight)).collect()
    }

    /// Candidate 0, then control 0, then the old servers as before. Sessions are waited for and not cut.
    pub(crate) fn roll_back(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        let added: Vec<Name> = self.participants.added().cloned().collect();
        for server in added {
            self.expected.insert(server.clone(), 0);
            actions.push(Lower { server }.action());
        }
        for server in self.participants.old.clone() {
            let before = self.before.get(&server).copied().unwrap_or(0);
            if self.expected(server.as_str()) != Some(before) {
                actions.push(self.set(server, before));
            }
        }
        actions
    }

    fn set(&mut self, server: Name, weight: u32) -> Action {
        self.expected.insert(server.clone(), weight);
        Action::SetWeight { server, weight }
    }
}
