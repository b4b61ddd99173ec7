//! What a keeper has said so far, followed by a thread so that whoever waits wakes at once.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use super::Ending;
use crate::keeper::protocol::Event;

/// The story so far.
#[derive(Debug, Default)]
pub(super) struct Story {
    pub(super) refused: Option<String>,
    /// The server's first process, and its keeper.
    pub(super) started: Option<(u32, u32)>,
    /// How the server ended, and whether it had to be killed.
    pub(super) exited: Option<(Ending, bool)>,
    /// Keeper and guard are gone, and no process of the server is left.
    pub(super) over: bool,
}

/// The story, and a bell that rings when it goes on.
#[derive(Debug, Default)]
pub(super) struct Events {
    story: Mutex<Story>,
    changed: Condvar,
}

impl Events {
    /// Follows the events of a guard, until it ends.
    pub(super) fn follow(mut guard: Child, pipe: ChildStdout, name: &str) -> io::Result<Arc<Self>> {
        let events = Arc::new(Self::default());
        let told = Arc::clone(&events);
        thread::Builder::new().name(format!("events of {name}")).spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                if let Ok(event) = serde_json::from_str(&line) {
                    told.change(|story| story.tell(event));
                }
            }
            // The pipe ends with the last of keeper and guard; this reaps the guard.
            let _ = guard.wait();
            told.change(|story| story.over = true);
        })?;
        Ok(events)
    }

    pub(super) fn story(&self) -> MutexGuard<'_, Story> {
        self.story.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the story has come to the wanted point, or the time is over.
    pub(super) fn wait(&self, at_most: Duration, wanted: impl Fn(&Story) -> bool) -> MutexGuard<'_, Story> {
        let result = self.changed.wait_timeout_while(self.story(), at_most, |story| !wanted(story));
        result.unwrap_or_else(PoisonError::into_inner).0
    }

    fn change(&self, change: impl FnOnce(&mut Story)) {
        change(&mut self.story());
        self.changed.notify_all();
    }
}

impl Story {
    fn tell(&mut self, event: Event) {
        match event {
            Event::Refused { reason } => self.refused = Some(reason),
            Event::Started { pid, keeper } => self.started = Some((pid, keeper)),
            Event::Daemonised { pid } => self.started = self.started.map(|(_, keeper)| (pid, keeper)),
            Event::Exited { ending, killed } => self.exited = Some((ending, killed)),
        }
    }
}
