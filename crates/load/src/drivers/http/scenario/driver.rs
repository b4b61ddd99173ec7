//! The driver of HTTP for users: the steps of an operation one after the other, with the session of the user.

use std::path::Path;

use rand_pcg::Pcg64Mcg;
use wire::http1::{Event, ResponseDecoder};

use super::cookies::{JarError, SetCookie};
use super::prepare::{CaptureSource, PreparedScenario, PreparedStep, StepError};
use super::request::Scratch;
use super::search::{BodySearch, SearchState};
use super::sessions::Sessions;
use super::spec::{HttpScenario, Pick, ValueSlot};
use crate::driver::{Demand, Driver, Fault, OperationId, Step, Turn};
use crate::drivers::error::OperationError;
use crate::drivers::http::coding::ContentCoding;
use crate::drivers::http::reply::{demand_of, longer_than_announced};
use crate::drivers::http::statuses;
use crate::drivers::protocol::{ALONE, DriverNames, WorkerShare};
use crate::inputs::values::{DeclaredValues, ValueRows};

/// Bytes of the beginning of a reply, for messages.
const BEGINNING_BYTES: usize = 60;

/// Drives HTTP/1.1 for the users of one worker.
#[derive(Debug)]
pub struct HttpUserDriver {
    scenario: PreparedScenario,
    rows: ValueRows,
    scratch: Scratch,
    authority: Vec<u8>,
}

/// The state of one connection: the step in flight, and how far its reply is.
#[derive(Debug)]
pub struct HttpUserDialogue {
    slot: u32,
    operation: OperationId,
    step: u16,
    /// How often the step was sent in this operation.
    sent: u16,
    status: u16,
    body_bytes: u64,
    beginning: [u8; BEGINNING_BYTES],
    decoder: ResponseDecoder,
    coding: ContentCoding,
    /// What is wrong although the reply goes on.
    problem: Option<Box<str>>,
    searches: Box<[SearchState]>,
}

// With the connection's own state a user stays below 2 KiB.
const _: () = assert!(size_of::<HttpUserDialogue>() <= 208);

impl HttpUserDriver {
    /// A driver for a worker's share of the users of a server with this authority. Reads the files in the folder that the steps use.
    pub fn new(
        authority: &str,
        folder: &Path,
        scenario: &HttpScenario,
        share: WorkerShare,
    ) -> Result<Self, OperationError> {
        let mut declared = DeclaredValues::default();
        let scenario = PreparedScenario::new(scenario, authority, share, Some(folder), &mut declared);
        let scenario = scenario.map_err(|StepError { error, .. }| error)?;
        let rows = declared.open(folder, share.worker, share.workers);
        let rows = rows.map_err(|error| OperationError(error.to_string()))?;
        let authority = authority.as_bytes().to_vec();
        Ok(Self { scenario, rows, scratch: Scratch::default(), authority })
    }

    /// The names of a scenario, without reading a file.
    pub(in crate::drivers::http) fn names(
        authority: &str,
        scenario: &HttpScenario,
    ) -> Result<DriverNames, OperationError> {
        check(scenario, authority)
            .map(|scenario| (scenario.names, scenario.counters))
            .map_err(|error| error.error)
    }

    /// The first step from `from` on that this user sends.
    fn next_step(&mut self, dialogue: &HttpUserDialogue, from: usize, rng: &mut Pcg64Mcg) -> Option<u16> {
        let PreparedScenario { steps, sessions, .. } = &mut self.scenario;
        let (steps, slot) = (&steps[usize::from(dialogue.operation)], dialogue.slot);
        // A page that is not sent needs no statics.
        let mut has_page = true;
        for (at, step) in steps.iter().enumerate().skip(from) {
            let is_sent = if let Some(of_static) = &step.of_static {
                has_page && sessions.browsers.wants_static(slot, of_static.number, rng)
            } else {
                has_page = step.conditions.iter().all(|condition| condition.holds(sessions, slot, rng))
                    && step.each.is_none_or(|(list, once)| sessions.take_item(slot, list, once));
                has_page
            };
            if is_sent {
                return Some(u16::try_from(at).expect("an operation has at most 65,535 steps"));
            }
        }
        None
    }

    /// Sends the dialogue's step.
    fn send(&mut self, dialogue: &mut HttpUserDialogue, rng: &mut Pcg64Mcg, out: &mut Vec<u8>) {
        let PreparedScenario { steps, sessions, values, .. } = &mut self.scenario;
        let step = &mut steps[usize::from(dialogue.operation)][usize::from(dialogue.step)];
        dialogue.begin_reply(step);
        for source in &step.sources {
            self.rows.advance(*source, rng);
        }
        for (value, template) in &mut step.texts {
            let text = &mut self.scratch.text;
            text.clear();
            template.render_in_session(rng, &self.rows, &sessions.of(dialogue.slot), text);
            if !sessions.set_value(dialogue.slot, *value, text) {
                let (name, slot) = &values[usize::from(*value)];
                let (length, bytes) = (text.len(), slot.bytes);
                dialogue.note(|| {
                    format!("set.{name}: a text of {length} bytes: its slot has {bytes}: raise values.{name}")
                });
            }
        }
        let is_warm = step.of_static.is_some() && sessions.browsers.is_warm(dialogue.slot);
        let request = step.request_for(is_warm);
        let session = (&*sessions, dialogue.slot);
        let missing = request.render(rng, &self.rows, session, &mut self.scratch, out);
        if let Some(missing) = missing {
            let name = &values[usize::from(missing)].0;
            dialogue.note(|| {
                format!("the user has no {name:?} yet: let an earlier operation capture it, or give the step when = {{ {name} = true }}")
            });
        }
    }

    /// The head of the reply has come.
    fn take_head(&mut self, dialogue: &mut HttpUserDialogue, status: u16, rng: &mut Pcg64Mcg) {
        dialogue.status = status;
        let PreparedScenario { steps, sessions, .. } = &mut self.scenario;
        let step = &mut steps[usize::from(dialogue.operation)][usize::from(dialogue.step)];
        if let Some(of_static) = &mut step.of_static
            && of_static.revalidation.is_none()
            && let Some(last_modified) = step.cache.values("last-modified").next()
        {
            of_static.learn(last_modified, &String::from_utf8_lossy(&self.authority));
        }
        for field in step.cache.values("set-cookie") {
            let Some(cookie) = SetCookie::parse(field) else { continue };
            if let Err(error) = sessions.set_cookie(dialogue.slot, &cookie) {
                dialogue.note(|| cookie_problem(&cookie, error));
            }
        }
        for capture in &step.captures {
            // What a user does not get again is not there.
            sessions.remove_value(dialogue.slot, capture.value);
            let CaptureSource::Header { name, pick } = &capture.source else { continue };
            let mut fields = step.cache.values(name);
            let found = match pick {
                Pick::First => fields.next(),
                Pick::Last => fields.last(),
                Pick::Nth(number) => fields.nth(*number as usize - 1),
                // Refused when the scenario was read.
                Pick::All => None,
                Pick::Random => rand::seq::IteratorRandom::choose(fields, rng),
            };
            let Some(mut value) = found else { continue };
            if name == "location" {
                match path_of(value, &self.authority) {
                    Some(path) => value = path,
                    None => dialogue.note(|| {
                        let shown = String::from_utf8_lossy(&value[..value.len().min(80)]).into_owned();
                        format!(
                            "capture.{}: {shown:?} is on another host: a user talks to one server",
                            capture.name
                        )
                    }),
                }
            }
            if !sessions.set_value(dialogue.slot, capture.value, value) {
                dialogue.note(|| too_long(&capture.name, capture.slot));
            }
        }
        if !step.searches.is_empty() {
            dialogue.coding = ContentCoding::of(&step.cache);
        }
    }

    /// A piece of the body has come.
    fn take_body(&mut self, dialogue: &mut HttpUserDialogue, data: &[u8], rng: &mut Pcg64Mcg) {
        let step = &self.scenario.steps[usize::from(dialogue.operation)][usize::from(dialogue.step)];
        let sessions = &mut self.scenario.sessions;
        let received = usize::try_from(dialogue.body_bytes).unwrap_or(usize::MAX);
        dialogue.body_bytes += data.len() as u64;
        if step.searches.is_empty() {
            return dialogue.keep_beginning(received, data);
        }
        let mut coding = std::mem::take(&mut dialogue.coding);
        let mut text_bytes = received;
        coding.decode(data, |text| {
            dialogue.keep_beginning(text_bytes, text);
            text_bytes = text_bytes.saturating_add(text.len());
            for (search, state) in step.searches.iter().zip(&mut dialogue.searches) {
                state.advance(search, text, (&mut *sessions, dialogue.slot), rng);
            }
        });
        dialogue.coding = coding;
    }

    /// The reply is complete: checks it, and goes on with the next step.
    fn finish(&mut self, dialogue: &mut HttpUserDialogue, keep_alive: bool, turn: &mut Turn<'_>) -> Step {
        let PreparedScenario { steps, sessions, .. } = &mut self.scenario;
        let step = &mut steps[usize::from(dialogue.operation)][usize::from(dialogue.step)];
        step.usual_body = dialogue.body_bytes;
        if let Some(what) = dialogue.failure(step, sessions) {
            return Step::Failed(Fault::unexpected(format!("{}: {what}", step.name), keep_alive));
        }
        for (flag, is_set) in &step.flags {
            sessions.set_flag(dialogue.slot, *flag, *is_set);
        }
        if let Some(counter) = step.counter {
            turn.counters[counter] += 1;
        }
        let mut keep_alive = keep_alive;
        if step.ends_session {
            sessions.reset(dialogue.slot);
            keep_alive = false;
        }
        if let Some(of_static) = &step.of_static {
            sessions.browsers.keep_static(dialogue.slot, of_static.number);
        }
        let is_repeated = match step.each {
            Some((list, once)) => sessions.take_item(dialogue.slot, list, once),
            None => {
                dialogue.sent < step.most
                    && step
                        .repeat_while
                        .is_none_or(|condition| condition.holds(sessions, dialogue.slot, turn.rng))
            }
        };
        if !is_repeated {
            let Some(next) = self.next_step(dialogue, usize::from(dialogue.step) + 1, turn.rng) else {
                return Step::Done { reuse: keep_alive };
            };
            (dialogue.step, dialogue.sent) = (next, 0);
        }
        if !keep_alive {
            return Step::Reconnect;
        }
        self.send(dialogue, turn.rng, turn.out);
        Step::Wait
    }
}

/// Checks a scenario before a load.
pub(super) fn check(scenario: &HttpScenario, authority: &str) -> Result<PreparedScenario, StepError> {
    PreparedScenario::new(scenario, authority, ALONE, None, &mut DeclaredValues::default())
}

impl Driver for HttpUserDriver {
    type Dialogue = HttpUserDialogue;

    fn operations(&self) -> Vec<String> {
        self.scenario.names.clone()
    }

    fn counters(&self) -> &'static [&'static str] {
        self.scenario.counters
    }

    fn dialogue(&mut self, slot: u32) -> HttpUserDialogue {
        self.scenario.sessions.make_room(slot);
        HttpUserDialogue {
            slot,
            operation: 0,
            step: 0,
            sent: 0,
            status: 0,
            body_bytes: 0,
            beginning: [0; BEGINNING_BYTES],
            decoder: ResponseDecoder::new(),
            coding: ContentCoding::default(),
            problem: None,
            searches: vec![SearchState::default(); self.scenario.most_searches].into(),
        }
    }

    fn arrive(&mut self, slot: u32, _rng: &mut Pcg64Mcg) {
        self.scenario.sessions.make_room(slot);
        self.scenario.sessions.reset(slot);
    }

    fn operations_left(&self) -> u64 {
        self.rows.left()
    }

    /// Users say what is next; without them, every load begins with the first.
    fn choose(&mut self, _rng: &mut Pcg64Mcg) -> OperationId {
        0
    }

    fn begin(&mut self, dialogue: &mut HttpUserDialogue, operation: OperationId, turn: Turn<'_>) {
        (dialogue.operation, dialogue.sent) = (operation, 0);
        let first = self.next_step(dialogue, 0, turn.rng);
        dialogue.step = first.expect("an operation has a step without a condition");
        self.send(dialogue, turn.rng, turn.out);
    }

    fn reconnected(&mut self, dialogue: &mut HttpUserDialogue, turn: Turn<'_>) -> Step {
        dialogue.decoder = ResponseDecoder::new();
        self.send(dialogue, turn.rng, turn.out);
        Step::Wait
    }

    fn receive(&mut self, dialogue: &mut HttpUserDialogue, mut input: &[u8], mut turn: Turn<'_>) -> Step {
        loop {
            let step = &mut self.scenario.steps[usize::from(dialogue.operation)][usize::from(dialogue.step)];
            match dialogue.decoder.decode(&mut step.cache, &mut input) {
                Ok(Some(Event::Head(head))) => {
                    turn.counters[statuses::place(head.status)] += 1;
                    self.take_head(dialogue, head.status, turn.rng);
                }
                Ok(Some(Event::Body(data))) => self.take_body(dialogue, data, turn.rng),
                Ok(Some(Event::End { keep_alive })) => {
                    if !input.is_empty() {
                        return Step::Failed(longer_than_announced(input));
                    }
                    return self.finish(dialogue, keep_alive, &mut turn);
                }
                Ok(None) => return Step::Wait,
                Err(error) => return Step::Failed(Fault::protocol(error.to_string())),
            }
        }
    }

    fn demand(&self, dialogue: &HttpUserDialogue) -> Demand {
        let step = &self.scenario.steps[usize::from(dialogue.operation)][usize::from(dialogue.step)];
        demand_of(&dialogue.decoder, !step.searches.is_empty(), step.usual_body)
    }

    fn skip(&mut self, dialogue: &mut HttpUserDialogue, bytes: u64) {
        dialogue.decoder.skip(bytes);
        dialogue.body_bytes += bytes;
    }

    fn closed(&mut self, dialogue: &mut HttpUserDialogue, mut turn: Turn<'_>) -> Step {
        match dialogue.decoder.eof() {
            Ok(_) => self.finish(dialogue, false, &mut turn),
            Err(error) => Step::Failed(Fault::closed(error.to_string())),
        }
    }
}

impl HttpUserDialogue {
    fn begin_reply(&mut self, step: &PreparedStep) {
        self.sent = self.sent.saturating_add(1);
        (self.status, self.body_bytes, self.problem) = (0, 0, None);
        self.coding = ContentCoding::default();
        for state in self.searches.iter_mut().take(step.searches.len()) {
            *state = SearchState::default();
        }
        self.decoder.expect(step.request.is_head);
    }

    /// Keeps the first problem.
    #[cold]
    fn note(&mut self, what: impl FnOnce() -> String) {
        self.problem.get_or_insert_with(|| what().into());
    }

    fn keep_beginning(&mut self, at: usize, data: &[u8]) {
        if let Some(room) = self.beginning.get_mut(at..) {
            let length = room.len().min(data.len());
            room[..length].copy_from_slice(&data[..length]);
        }
    }

    /// What is wrong with the reply, if something is.
    fn failure(&self, step: &PreparedStep, sessions: &Sessions) -> Option<String> {
        let with_beginning =
            |what: String| format!("{what}: the reply begins with {:?}", self.shown_beginning());
        if let Some(problem) = &self.problem {
            return Some(problem.to_string());
        }
        if !step.expected.accepts(self.status) {
            let wanted = step.expected.wanted_status();
            return Some(with_beginning(format!("status {} where {wanted} is expected", self.status)));
        }
        if let Some(range) = step.bytes.filter(|range| !range.contains(self.body_bytes)) {
            let wanted = String::from(range);
            return Some(with_beginning(format!(
                "a body of {} bytes where {wanted} are expected",
                self.body_bytes
            )));
        }
        for (search, range) in &step.counted {
            let found = self.searches[*search].found;
            if !range.contains(found.into()) {
                let BodySearch::Text(needle) = &step.searches[*search] else { continue };
                let what = self.coding.why_not_found().unwrap_or_else(|| {
                    let wanted = String::from(*range);
                    format!("{:?} is {found} times in the body where {wanted} is expected", needle.text())
                });
                return Some(with_beginning(what));
            }
        }
        for capture in &step.captures {
            if let CaptureSource::Body(search) = &capture.source
                && (self.searches[*search].is_too_long || self.searches[*search].is_list_full)
            {
                let is_full = self.searches[*search].is_list_full;
                let why = if is_full { too_many } else { too_long };
                return Some(why(&capture.name, capture.slot));
            }
            if !capture.is_optional && !sessions.has_value(self.slot, capture.value) {
                let why = self.coding.why_not_found();
                let why = why.unwrap_or_else(|| format!("there is no {}", capture.wanted));
                return Some(with_beginning(format!("capture.{}: {why}", capture.name)));
            }
        }
        None
    }

    fn shown_beginning(&self) -> String {
        let length = usize::try_from(self.body_bytes).unwrap_or(usize::MAX).min(BEGINNING_BYTES);
        let text = String::from_utf8_lossy(&self.beginning[..length]);
        text.trim_end_matches('\0').split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn too_many(name: &str, slot: ValueSlot) -> String {
    let list = slot.list;
    format!(
        "capture.{name}: the reply has more than the {list} values of its list: raise the list of values.{name}"
    )
}

fn too_long(name: &str, slot: ValueSlot) -> String {
    let bytes = slot.bytes;
    format!("capture.{name}: the value is longer than its slot of {bytes} bytes: raise values.{name}")
}

fn cookie_problem(cookie: &SetCookie<'_>, error: JarError) -> String {
    let name = String::from_utf8_lossy(&cookie.name()[..cookie.name().len().min(40)]).into_owned();
    match error {
        JarError::Full => {
            format!("cookie {name:?}: the jar is full of other cookies: raise cookies in [load.users]")
        }
        JarError::TooLong(bytes) => format!(
            "cookie {name:?} has {bytes} bytes, more than its slot: give longer ones, such as cookies = {{ slots = 2, bytes = 512 }}"
        ),
        JarError::BadByte => format!("cookie {name:?} has a byte that no header may have"),
    }
}

/// The path and query of a URL of this server; none where it leads to another one.
fn path_of<'a>(url: &'a [u8], authority: &[u8]) -> Option<&'a [u8]> {
    let Some(after) = url.strip_prefix(b"http://").or_else(|| url.strip_prefix(b"https://")) else {
        return Some(url);
    };
    let end = after.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(after.len());
    let (host, path) = after.split_at(end);
    host.eq_ignore_ascii_case(authority).then_some(if path.is_empty() { b"/" } else { path })
}
