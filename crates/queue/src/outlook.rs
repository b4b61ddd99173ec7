//! Why an entry waits, and about how long. It decides nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::entry::{Entry, EntryId, EntryState};
use crate::host_row::{ControllerRow, HostRow, HostState};
use crate::sequences::Predecessor;

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
/// `entries` are those that wait, in their order, those that controllers have, and those before them in their sequences; `durations_s` has
/// former runs by their question; `heard` says whether a controller has called within the length of a lease. Each host is a lane: an entry
/// begins when all lanes that it needs are free, with the controller that lets it begin first.
pub fn outlook(
    entries: &[Entry],
    hosts: &[HostRow],
    controllers: &[ControllerRow],
    heard: &dyn Fn(&str) -> bool,
    durations_s: &BTreeMap<String, f64>,
    unix_ms: u64,
) -> Vec<Outlook> {
    let live: Vec<&ControllerRow> = controllers.iter().filter(|row| heard(&row.id)).collect();
    let mut lanes = Lanes::of_running(entries, hosts, durations_s, unix_ms);
    let mut outlooks = Vec::new();
    for entry in entries.iter().filter(|entry| entry.state == EntryState::Waiting) {
        let takes_s = durations_s.get(&entry.question).copied();
        let before = entry.after.and_then(|before| entries.iter().find(|other| other.id == before));
        let before = before.map(|before| (before, Predecessor::of(before, entry)));
        let (reason, starts_in_s) = match (before, accepting(entry, controllers, &live)) {
            (Some((before, Predecessor::Lost)), _) => {
                let sentence = format!(
                    "entry {} before it in its sequence is lost: go on with that one, or kill this one",
                    before.id
                );
                (sentence, None)
            }
            (Some((before, Predecessor::Open)), Ok(accepting)) => {
                let lane = lanes.end_of(before);
                lanes.enter(entry, &accepting, takes_s, &lane)
            }
            (_, Ok(accepting)) => lanes.enter(entry, &accepting, takes_s, &Lane::FREE),
            (_, Err(sentence)) => (sentence, None),
        };
        outlooks.push(Outlook { entry: entry.id, reason, starts_in_s, takes_s });
    }
    outlooks
}

/// The controllers that would take an entry; why there is none.
fn accepting<'c>(
    entry: &Entry,
    controllers: &[ControllerRow],
    live: &[&'c ControllerRow],
) -> Result<Vec<&'c ControllerRow>, String> {
    if live.is_empty() {
        let sentence = "no controller asks for work: run `showdown controller`, or restart `showdown serve`";
        return Err(sentence.to_owned());
    }
    let mut able = live.to_vec();
    able.retain(|row| entry.is_for(&row.id));
    if able.is_empty() {
        let id = entry.controller.as_deref().unwrap_or_default();
        let name = controllers.iter().find(|row| row.id == id).map_or(id, |row| &row.name);
        return Err(format!(
            "its run goes on only with {name}, which has the files and does not ask for work: start it, or run the entry again"
        ));
    }
    able.retain(|row| !entry.is_refused_by(&row.id));
    if able.is_empty() {
        let reasons: Vec<String> =
            entry.refused_by.iter().map(|by| format!("{} refuses it: {}", by.name, by.reason)).collect();
        return Err(reasons.join("; "));
    }
    Ok(able)
}

/// When a host is free, and what has it until then.
#[derive(Clone)]
struct Lane {
    /// Seconds from now; infinite where nobody knows.
    free_in_s: f64,
    /// Why it is not free, in a sentence; none where it is.
    why: Option<String>,
    /// Whether only a person frees it.
    lasts: bool,
}

impl Lane {
    const FREE: Self = Self { free_in_s: 0.0, why: None, lasts: false };
}

/// The hosts that are not free now, or that an entry gets before others; and in how many seconds entries end.
struct Lanes {
    hosts: BTreeMap<String, Lane>,
    ends_in_s: BTreeMap<EntryId, f64>,
}

impl Lanes {
    /// The hosts of the runs that go on, and those in quarantine.
    fn of_running(
        entries: &[Entry],
        hosts: &[HostRow],
        durations_s: &BTreeMap<String, f64>,
        unix_ms: u64,
    ) -> Self {
        let mut lanes = BTreeMap::new();
        let mut ends_in_s = BTreeMap::new();
        for entry in entries.iter().filter(|entry| entry.state.is_active()) {
            ends_in_s.insert(entry.id, left_s(entry, durations_s, unix_ms).unwrap_or(f64::INFINITY));
        }
        for HostRow { name, state, .. } in hosts {
            let lane = match state {
                HostState::Free => continue,
                HostState::Quarantined { reason, .. } => Lane {
                    free_in_s: f64::INFINITY,
                    why: Some(format!("{name} is in quarantine: {reason}")),
                    lasts: true,
                },
                HostState::Leased(lease) => Lane {
                    free_in_s: ends_in_s.get(&lease.entry).copied().unwrap_or(f64::INFINITY),
                    why: Some(format!("entry {} has {name}", lease.entry)),
                    lasts: false,
                },
            };
            lanes.insert(name.clone(), lane);
        }
        Self { hosts: lanes, ends_in_s }
    }

    /// The end of the entry before another one in its sequence.
    fn end_of(&self, before: &Entry) -> Lane {
        Lane {
            free_in_s: self.ends_in_s.get(&before.id).copied().unwrap_or(f64::INFINITY),
            why: Some(format!("entry {} is before it in its sequence", before.id)),
            lasts: false,
        }
    }

    /// When all hosts of an entry are free with one controller, and another lane: the last of them.
    fn last(&self, entry: &Entry, controller: &ControllerRow, other: &Lane) -> Lane {
        let mut last = other.clone();
        for name in entry.hosts.iter().chain([&controller.host]) {
            if let Some(lane) = self.hosts.get(name)
                && (last.why.is_none() || (lane.lasts, lane.free_in_s) > (last.lasts, last.free_in_s))
            {
                last = lane.clone();
            }
        }
        match &controller.busy {
            Some(busy) if !last.lasts => Lane {
                free_in_s: f64::INFINITY,
                why: Some(format!("another showdown measures on {} {busy}", controller.host)),
                lasts: false,
            },
            _ => last,
        }
    }

    /// Gives an entry its hosts with the best of these controllers, after another lane. Returns why it waits, and in how many seconds it begins.
    fn enter(
        &mut self,
        entry: &Entry,
        controllers: &[&ControllerRow],
        takes_s: Option<f64>,
        other: &Lane,
    ) -> (String, Option<f64>) {
        let found = controllers.iter().map(|controller| {
            let own_s = self.last(entry, controller, &Lane::FREE).free_in_s;
            (self.last(entry, controller, other), own_s, controller)
        });
        // Of several that let it begin at the same time, the one that is free the latest: another entry may go before it on the others.
        let best = found.min_by(|(a, own_a, _), (b, own_b, _)| {
            a.lasts.cmp(&b.lasts).then(a.free_in_s.total_cmp(&b.free_in_s)).then(own_b.total_cmp(own_a))
        });
        let Some((lane, _, controller)) = best else { return (String::new(), None) };
        let reason =
            lane.why.unwrap_or_else(|| "it is next: a controller takes it within seconds".to_owned());
        if lane.lasts {
            return (reason, None);
        }
        let next = Lane {
            free_in_s: lane.free_in_s + takes_s.unwrap_or(f64::INFINITY),
            why: Some(format!("entry {} is before it", entry.id)),
            lasts: false,
        };
        for name in entry.hosts.iter().chain([&controller.host]) {
            self.hosts.insert(name.clone(), next.clone());
        }
        self.ends_in_s.insert(entry.id, next.free_in_s);
        (reason, Some(lane.free_in_s).filter(|seconds| seconds.is_finite()))
    }
}

/// Seconds until a run has ended; none without an estimate.
fn left_s(entry: &Entry, durations_s: &BTreeMap<String, f64>, unix_ms: u64) -> Option<f64> {
    let takes = durations_s.get(&entry.question)?;
    let began = entry.began_unix_ms.unwrap_or(unix_ms);
    Some((takes - unix_ms.saturating_sub(began) as f64 / 1000.0).max(0.0))
}
