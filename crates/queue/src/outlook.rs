//! Why an entry waits, and about how long. It decides nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::entry::{Entry, EntryId, EntryState};
use crate::host_row::{ControllerRow, HostRow, HostState};

/// What is known of an entry that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Outlook {
    /// The entry.
    pub entry: EntryId,
    /// Why it waits, in a sentence.
    pub reason: String,
    /// About when it begins: seconds from now. None where an entry before it has no estimate.
    pub starts_in_s: Option<f64>,
    /// About how long it takes, from former runs of its question.
    pub takes_s: Option<f64>,
}

/// Why each waiting entry waits.
///
/// `entries` are those that wait, in their order, and those that controllers have; `durations_s` has former runs by their question;
/// `heard` says whether a controller has asked for work within the length of a lease.
pub fn outlook(
    entries: &[Entry],
    hosts: &[HostRow],
    controllers: &[ControllerRow],
    heard: &dyn Fn(&str) -> bool,
    durations_s: &BTreeMap<String, f64>,
    unix_ms: u64,
) -> Vec<Outlook> {
    let live: Vec<&ControllerRow> = controllers.iter().filter(|row| heard(&row.id)).collect();
    let mut before = left_of_running(entries, durations_s, unix_ms);
    let mut ahead: Option<EntryId> = None;
    let mut outlooks = Vec::new();
    for entry in entries.iter().filter(|entry| entry.state == EntryState::Waiting) {
        let takes_s = durations_s.get(&entry.question).copied();
        let obstacle = obstacle(entry, hosts, controllers, &live);
        let is_stuck = obstacle.as_ref().is_some_and(|obstacle| obstacle.lasts);
        let reason = if let Some(ahead) = ahead
            && !is_stuck
        {
            format!("entry {ahead} is before it")
        } else if let Some(Obstacle { sentence, .. }) = obstacle {
            sentence
        } else {
            "it is next: a controller takes it within seconds".to_owned()
        };
        let starts_in_s = if is_stuck { None } else { before };
        outlooks.push(Outlook { entry: entry.id, reason, starts_in_s, takes_s });
        if !is_stuck {
            before = before.zip(takes_s).map(|(before, takes)| before + takes);
            ahead = Some(entry.id);
        }
    }
    outlooks
}

/// Seconds until the runs that go on have ended; none where one has no estimate.
fn left_of_running(entries: &[Entry], durations_s: &BTreeMap<String, f64>, unix_ms: u64) -> Option<f64> {
    let mut left = 0.0_f64;
    for entry in entries.iter().filter(|entry| entry.state.is_active()) {
        let takes = durations_s.get(&entry.question)?;
        let began = entry.began_unix_ms.unwrap_or(unix_ms);
        left = left.max(takes - unix_ms.saturating_sub(began) as f64 / 1000.0);
    }
    Some(left.max(0.0))
}

/// What keeps an entry from its hosts.
struct Obstacle {
    sentence: String,
    /// Whether it goes away only when a person does something.
    lasts: bool,
}

fn obstacle(
    entry: &Entry,
    hosts: &[HostRow],
    controllers: &[ControllerRow],
    live: &[&ControllerRow],
) -> Option<Obstacle> {
    if live.is_empty() {
        let sentence = "no controller asks for work: run `showdown controller`, or restart `showdown serve`";
        return Some(Obstacle { sentence: sentence.to_owned(), lasts: true });
    }
    let able: Vec<&&ControllerRow> = live.iter().filter(|row| entry.is_for(&row.id)).collect();
    if able.is_empty() {
        let id = entry.controller.as_deref().unwrap_or_default();
        let name = controllers.iter().find(|row| row.id == id).map_or(id, |row| &row.name);
        let sentence = format!(
            "its run goes on only with {name}, which has the files and does not ask for work: start it, or run the entry again"
        );
        return Some(Obstacle { sentence, lasts: true });
    }
    let accepting: Vec<&&ControllerRow> =
        able.into_iter().filter(|row| !entry.is_refused_by(&row.id)).collect();
    let Some(controller) = accepting.first() else {
        let reasons: Vec<String> =
            entry.refused_by.iter().map(|by| format!("{} refuses it: {}", by.name, by.reason)).collect();
        return Some(Obstacle { sentence: reasons.join("; "), lasts: true });
    };
    for name in entry.hosts.iter().chain([&controller.host]) {
        let state = hosts.iter().find(|host| host.name == *name).map(|host| &host.state);
        match state {
            Some(HostState::Quarantined { reason, .. }) => {
                let sentence = format!("{name} is in quarantine: {reason}");
                return Some(Obstacle { sentence, lasts: true });
            }
            Some(HostState::Leased(lease)) => {
                let sentence = format!("entry {} has {name}", lease.entry);
                return Some(Obstacle { sentence, lasts: false });
            }
            Some(HostState::Free) | None => {}
        }
    }
    let busy = controller.busy.as_ref()?;
    let sentence = format!("another showdown measures on {} {busy}", controller.host);
    Some(Obstacle { sentence, lasts: false })
}
