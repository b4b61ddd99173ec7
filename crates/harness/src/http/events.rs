//! The progress of an entry as server-sent events.
//!
//! | event | data | when |
//! |---|---|---|
//! | `reset` | – | at the beginning, with a new attempt, and when too much waits for a slow reader: forget what came before |
//! | `line` | a line of the run's progress, with the id `TOKEN-SEQ` | as it comes |
//! | `state` | the entry | when it changes |
//! | `ping` | – | after 15 s of silence: a dead stream is silent, and parsers drop comments |
//! | `end` | – | once, when nothing more comes |
//!
//! A reader that comes back says what it had last (`Last-Event-ID`), and gets the rest. A slow one gets each event of state and the
//! newest ticks.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use queue::{Entry, EntryId, Token};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

use super::guard::{ShownSecret, known};
use super::site::Shared;
use crate::service::error::ServiceError;
use crate::service::news::{EntryNews, NewLines};
use crate::store::EventLine;

/// The least time between two looks into the store.
const LOOK: Duration = Duration::from_millis(100);

/// A silent stream is a dead one.
const PING: Duration = Duration::from_secs(15);

/// Lines of one look. More than so many wait for slow readers only.
const MOST_LINES: u32 = 20_000;

/// How events are marked that come all the time.
const PERIODIC: [&str; 2] = [r#""event":"tick""#, r#""event":"host_cpu""#];

/// The ticks that a new reader or a slow one gets: two minutes of four a second.
const MOST_TICKS: usize = 480;

/// Where a page goes on that opens a stream itself: only the browser can send the header.
#[derive(serde::Deserialize)]
pub struct StreamQuery {
    last: Option<String>,
}

/// `GET entries/ID/events`
pub async fn stream(
    State(site): State<Shared>,
    Path(id): Path<EntryId>,
    Query(query): Query<StreamQuery>,
    Extension(shown): Extension<ShownSecret>,
    headers: HeaderMap,
) -> Result<Response, ServiceError> {
    // Before the first look, so that nothing comes between.
    let news = site.harness.news().watch(id);
    site.harness.entry(id).await?;
    let of_header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = of_header.or(query.last.as_deref()).and_then(place_of);
    let mut waiting = VecDeque::new();
    if last.is_none() {
        waiting.push_back(event("reset"));
    }
    let after = last.unwrap_or_default();
    let now = Instant::now();
    let (checked, looked, seen) = (now, now, None);
    let reader = Reader { site, id, shown, checked, after, waiting, news, looked, seen, is_over: false };
    let events = unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok::<_, Infallible>(event), reader))
    });
    let mut response = Sse::new(events).into_response();
    let headers = response.headers_mut();
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    // nginx would collect the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// `TOKEN-SEQ`
fn place_of(id: &str) -> Option<(Token, u64)> {
    let (token, seq) = id.split_once('-')?;
    Some((token.parse().ok()?, seq.parse().ok()?))
}

fn event(name: &str) -> Event {
    // An event without data is dropped by browsers.
    Event::default().event(name).data("{}")
}

struct Reader {
    site: Shared,
    id: EntryId,
    shown: ShownSecret,
    /// When the secret was valid.
    checked: Instant,
    after: (Token, u64),
    waiting: VecDeque<Event>,
    news: Receiver<EntryNews>,
    looked: Instant,
    seen: Option<Entry>,
    is_over: bool,
}

impl Reader {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.is_over || !self.is_admitted().await {
                return None;
            }
            // The first look has what came before.
            let news = if self.seen.is_none() { Ok(true) } else { timeout(PING, self.has_changed()).await };
            match news {
                Err(_) => return Some(event("ping")),
                Ok(false) => {}
                Ok(true) => {
                    if self.look().await.is_err() {
                        // The store does not answer: the reader comes back with what it has.
                        return None;
                    }
                }
            }
        }
    }

    /// Whether who reads still may: a closed account or an ended session reads no further.
    async fn is_admitted(&mut self) -> bool {
        if self.checked.elapsed() < PING {
            return true;
        }
        self.checked = Instant::now();
        matches!(known(&self.site, &self.shown).await, Ok(Some(_)))
    }

    /// Waits for news of this entry; whether the store has to be asked.
    async fn has_changed(&mut self) -> bool {
        match self.news.recv().await {
            Ok(EntryNews::Lines(new)) if self.add_next(&new) => return false,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            // The server ends.
            Err(RecvError::Closed) => sleep(PING).await,
        }
        // The first change after a pause is shown at once, what follows it together.
        sleep(LOOK.saturating_sub(self.looked.elapsed())).await;
        true
    }

    /// Adds lines that follow those that the reader has; false where some are missing between.
    fn add_next(&mut self, new: &NewLines) -> bool {
        if new.token != self.after.0 || new.first > self.after.1 + 1 {
            return false;
        }
        let mut lines = Vec::new();
        for (seq, line) in (new.first..).zip(&new.lines) {
            if seq > self.after.1 {
                lines.push(EventLine { token: new.token, seq, line: line.clone() });
            }
        }
        self.add(lines);
        true
    }

    async fn look(&mut self) -> Result<(), ServiceError> {
        self.looked = Instant::now();
        let (id, after) = (self.id, self.after);
        let (entry, lines) = self
            .site
            .harness
            .store()
            .transact(move |rows| {
                let entry = rows.entry(id)?.ok_or(queue::Refusal::NoEntry(id))?;
                Ok::<_, ServiceError>((entry, rows.lines_after(id, after, MOST_LINES)?))
            })
            .await?;
        let is_complete = lines.len() < MOST_LINES as usize;
        self.add(lines);
        if self.seen.as_ref().is_none_or(|seen| has_changed(seen, &entry)) {
            let data = serde_json::to_string(&entry).unwrap_or_default();
            self.waiting.push_back(Event::default().event("state").data(data));
        }
        if entry.state.is_ended() && is_complete {
            self.waiting.push_back(event("end"));
            self.is_over = true;
        }
        self.seen = Some(entry);
        Ok(())
    }

    fn add(&mut self, lines: Vec<EventLine>) {
        // Of each kind of line that comes all the time, the newest ones.
        let mut dropped = PERIODIC.map(|event| {
            lines.iter().filter(|line| line.line.contains(event)).count().saturating_sub(MOST_TICKS)
        });
        for EventLine { token, seq, line } in lines {
            if token != self.after.0 && self.after.0 != 0 {
                self.waiting.push_back(event("reset"));
            }
            self.after = (token, seq);
            let kind = PERIODIC.iter().position(|event| line.contains(event));
            if let Some(left) = kind.map(|kind| &mut dropped[kind])
                && *left > 0
            {
                *left -= 1;
                continue;
            }
            self.waiting.push_back(Event::default().event("line").id(format!("{token}-{seq}")).data(line));
        }
    }
}

/// Renewals of a lease are no news.
fn has_changed(seen: &Entry, now: &Entry) -> bool {
    Entry { counter: 0, ..seen.clone() } != Entry { counter: 0, ..now.clone() }
}
