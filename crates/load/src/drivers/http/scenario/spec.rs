//! A scenario of HTTP as plain data: the steps of each operation, and what a user keeps. Users write it in TOML files, and
//! plans record it. `docs/SCENARIOS.md` documents every key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::drivers::http::expected::Statuses;
use crate::inputs::template::Template;
use crate::inputs::values::{DeclaredValues, ValuePlace};

/// What the users of a load do and keep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HttpScenario {
    /// The cookies that each user has room for.
    pub cookies: CookieSlots,
    /// The values that each user has room for, with their bytes.
    pub values: BTreeMap<String, ValueSlot>,
    /// What the browser of a user keeps.
    #[serde(default)]
    pub cache: BrowserCache,
    /// The operations.
    pub operations: Vec<ScenarioOperation>,
}

impl HttpScenario {
    /// Declares the values of files that its steps use.
    pub(in crate::drivers::http) fn declare_values(&self, declared: &mut DeclaredValues) {
        let names: Vec<String> = self.values.keys().cloned().collect();
        for step in self.operations.iter().flat_map(|operation| &operation.steps) {
            let settings = step.set.values().filter_map(|setting| match setting {
                Setting::Text(text) => Some(text),
                Setting::Flag(_) => None,
            });
            let parts = step.multipart.iter().flat_map(BTreeMap::values).filter_map(|part| match part {
                FormPart::Text(text) => Some(text),
                FormPart::File(_) => None,
            });
            let fields = step.form.iter().flat_map(BTreeMap::values);
            let texts = step.headers.values().chain([&step.path]).chain(&step.body);
            for text in texts.chain(fields).chain(parts).chain(settings) {
                // What does not parse is refused where the requests are made.
                let _ = Template::parse_in_session(text, declared, ValuePlace::Body, &names);
            }
        }
    }

    /// Whether its steps send files.
    pub(in crate::drivers::http) fn has_files(&self) -> bool {
        let steps = self.operations.iter().flat_map(|operation| &operation.steps);
        let mut parts = steps.flat_map(|step| step.multipart.iter().flat_map(BTreeMap::values));
        parts.any(|part| matches!(part, FormPart::File(_)))
    }
}

/// The room for a value: its bytes, or also the length of a list of such values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RawValueSlot", into = "RawValueSlot")]
pub struct ValueSlot {
    /// Bytes of a value.
    pub bytes: u16,
    /// How many values of a reply are kept with `pick = "all"`; 0 for none.
    pub list: u16,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RawValueSlot {
    Bytes(u16),
    List(RawListSlot),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawListSlot {
    bytes: u16,
    list: u16,
}

impl From<RawValueSlot> for ValueSlot {
    fn from(slot: RawValueSlot) -> Self {
        match slot {
            RawValueSlot::Bytes(bytes) => Self { bytes, list: 0 },
            RawValueSlot::List(RawListSlot { bytes, list }) => Self { bytes, list },
        }
    }
}

impl From<ValueSlot> for RawValueSlot {
    fn from(ValueSlot { bytes, list }: ValueSlot) -> Self {
        if list == 0 { Self::Bytes(bytes) } else { Self::List(RawListSlot { bytes, list }) }
    }
}

/// What the browser of a user keeps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrowserCache {
    /// Per cent of the sessions that begin with all statics, and ask whether they have changed.
    #[serde(default)]
    pub warm: f64,
    /// How many items are known, so that they are not fetched again.
    #[serde(default = "items")]
    pub items: u16,
}

/// Items of a browser unless their number is given.
const fn items() -> u16 {
    64
}

impl Default for BrowserCache {
    fn default() -> Self {
        Self { warm: 0.0, items: items() }
    }
}

/// How many cookies a user keeps, and how long each may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CookieSlots {
    /// How many.
    pub slots: u16,
    /// Bytes of the name and the value of each.
    #[serde(default = "cookie_bytes")]
    pub bytes: u16,
}

/// Bytes of a cookie unless they are given.
const fn cookie_bytes() -> u16 {
    128
}

impl Default for CookieSlots {
    /// Two of them.
    fn default() -> Self {
        Self { slots: 2, bytes: cookie_bytes() }
    }
}

/// One operation of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioOperation {
    /// Its name in tables.
    pub name: String,
    /// Its requests, one after the other; at least one.
    pub steps: Vec<HttpStep>,
}

/// One request of an operation. Texts are templates, in which a user's values are `{{ NAME }}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpStep {
    /// `GET`, or `POST` where there is a body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Path and query.
    pub path: String,
    /// Header fields.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body as it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The fields of a form, encoded as its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<BTreeMap<String, String>>,
    /// The parts of a multipart form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multipart: Option<BTreeMap<String, FormPart>>,
    /// The expected reply.
    #[serde(default)]
    pub expect: StepExpected,
    /// What is taken from the reply, by the value that it becomes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, Capture>,
    /// When it is sent: flags, values that are there, a chance.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Condition>,
    /// What it changes: texts become values before the request, flags are set after an expected reply.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Setting>,
    /// How often it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    /// The list for each of whose values it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
    /// Paths of the statics that its page needs, which the browser asks for after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statics: Vec<String>,
    /// The counter that an expected reply adds one to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<String>,
}

/// A part of a multipart form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FormPart {
    /// A field, a template.
    Text(String),
    /// A file.
    File(FormFile),
}

/// A file of a multipart form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormFile {
    /// Its path, relative to the scenario. The server gets the name without folders.
    pub file: String,
    /// Its media type.
    #[serde(default = "any_type", rename = "type")]
    pub media_type: String,
}

fn any_type() -> String {
    "application/octet-stream".to_owned()
}

/// What a step's reply must have to count as a success.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepExpected {
    /// The status, or one of several; by default any from 200 to 399.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Statuses>,
    /// The length of the body: a number, or a range such as `15000..` or `1..500`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<CountRange>,
    /// A text that the body contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// A text that the body does not contain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// How often the body contains a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<TextCount>,
}

/// How often a text is in a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextCount {
    /// The text.
    pub text: String,
    /// How often.
    pub value: CountRange,
}

/// A number, or a range of numbers: `3`, `"15000.."`, `"1..5"`. Both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CountText", into = "String")]
pub struct CountRange {
    /// The lowest.
    pub from: u64,
    /// The highest.
    pub to: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CountText {
    Number(u64),
    Text(String),
}

impl TryFrom<CountText> for CountRange {
    type Error = String;

    fn try_from(text: CountText) -> Result<Self, String> {
        let text = match text {
            CountText::Number(number) => return Ok(Self { from: number, to: number }),
            CountText::Text(text) => text,
        };
        let number = |part: &str, open: u64| {
            let part = part.trim();
            if part.is_empty() { Some(open) } else { part.parse().ok() }
        };
        let range = match text.split_once("..") {
            Some((from, to)) => number(from, 0).zip(number(to, u64::MAX)),
            None => text.trim().parse().ok().map(|number| (number, number)),
        };
        let range = range.filter(|(from, to)| from <= to);
        range
            .map(|(from, to)| Self { from, to })
            .ok_or_else(|| format!("{text:?} is not a number or a range such as \"15000..\" or \"1..5\""))
    }
}

impl From<CountRange> for String {
    fn from(range: CountRange) -> Self {
        match range {
            CountRange { from, to } if from == to => from.to_string(),
            CountRange { from, to: u64::MAX } => format!("{from}.."),
            CountRange { from, to } => format!("{from}..{to}"),
        }
    }
}

impl CountRange {
    /// Whether it has this number.
    pub(super) fn contains(self, number: u64) -> bool {
        (self.from..=self.to).contains(&number)
    }
}

/// Where in a reply a value is. Exactly one of `between`, `header` and `json` is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Between these two texts of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<(String, String)>,
    /// The value of this header field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The scalar at this JSON pointer (RFC 6901), in which `*` is any item or member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// Which of several.
    #[serde(default)]
    pub pick: Pick,
    /// Whether a reply without it is a success; the value is then not there.
    #[serde(default)]
    pub optional: bool,
}

/// Which of several places: `"first"`, `"last"`, `"random"`, a number from 1, or `"all"` for a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PickText", into = "PickText")]
pub enum Pick {
    /// The first.
    #[default]
    First,
    /// The last.
    Last,
    /// Any, all equally likely.
    Random,
    /// The one of this number, from 1.
    Nth(u32),
    /// All, as a list.
    All,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PickText {
    Number(u32),
    Text(String),
}

impl TryFrom<PickText> for Pick {
    type Error = String;

    fn try_from(text: PickText) -> Result<Self, String> {
        match text {
            PickText::Number(number) if number > 0 => Ok(Self::Nth(number)),
            PickText::Text(text) if text == "first" => Ok(Self::First),
            PickText::Text(text) if text == "last" => Ok(Self::Last),
            PickText::Text(text) if text == "random" => Ok(Self::Random),
            PickText::Text(text) if text == "all" => Ok(Self::All),
            PickText::Number(_) | PickText::Text(_) => {
                Err("pick: write \"first\", \"last\", \"random\", \"all\" or a number from 1".to_owned())
            }
        }
    }
}

impl From<Pick> for PickText {
    fn from(pick: Pick) -> Self {
        match pick {
            Pick::First => Self::Text("first".to_owned()),
            Pick::Last => Self::Text("last".to_owned()),
            Pick::Random => Self::Text("random".to_owned()),
            Pick::All => Self::Text("all".to_owned()),
            Pick::Nth(number) => Self::Number(number),
        }
    }
}

/// A condition of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Condition {
    /// Whether a flag is set, or a value is there.
    Is(bool),
    /// Per cent; for `chance`.
    Chance(f64),
}

/// What a step sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// A flag.
    Flag(bool),
    /// A value, a template; or `user = "new"`.
    Text(String),
}

/// The list for each of whose values a step is sent: its name, or also whether values that the user's browser knows are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RawEach")]
pub struct Each {
    /// The list.
    pub value: String,
    /// Whether each value is sent once in a session.
    pub once: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawEach {
    Name(String),
    Whole(WholeEach),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeEach {
    value: String,
    #[serde(default)]
    once: bool,
}

impl From<RawEach> for Each {
    fn from(each: RawEach) -> Self {
        match each {
            RawEach::Name(value) => Self { value, once: false },
            RawEach::Whole(WholeEach { value, once }) => Self { value, once },
        }
    }
}

/// How often a step is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Repeat {
    /// This often.
    Times(u16),
    /// While a flag is set or a value is there, and this often at most.
    While(RepeatWhile),
}

/// A repetition with an end of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatWhile {
    /// The flag or value.
    #[serde(rename = "while")]
    pub condition: String,
    /// How often at most.
    pub most: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_same_after_it_was_recorded() {
        let text = r#"
            path = "/events/{{ event }}"
            form = { token = "{{ token }}" }
            multipart = { image = { file = "event.jpg", type = "image/jpeg" }, title = "x" }
            expect = { status = [200, 303], bytes = "15000..", absent = "Log in", count = { text = "/media/", value = "1..5" } }
            capture = { token = { between = ["value=\"", "\""], pick = "last" }, place = { header = "Location", optional = true }, id = { json = "/items/*/id", pick = 3 } }
            when = { logged_in = true, chance = 10 }
            set = { logged_in = false, user = "new" }
            repeat = { while = "more", most = 5 }
        "#;
        let step: HttpStep = toml::from_str(text).expect("a step");
        assert_eq!(step.expect.bytes, Some(CountRange { from: 15_000, to: u64::MAX }));
        assert_eq!(step.when["chance"], Condition::Chance(10.0));
        assert_eq!(step.capture["id"].pick, Pick::Nth(3));
        let recorded = serde_json::to_string(&step).expect("plain data");
        assert_eq!(serde_json::from_str::<HttpStep>(&recorded).expect("the same"), step);
    }

    #[test]
    fn a_wrong_range_or_pick_is_refused() {
        for (text, why) in [
            ("path = \"/\"\nexpect = { bytes = \"5..1\" }", "is not a number or a range"),
            ("path = \"/\"\ncapture = { x = { header = \"A\", pick = \"any\" } }", "pick: write"),
            ("path = \"/\"\ncapture = { x = { header = \"A\", pick = 0 } }", "pick: write"),
            ("path = \"/\"\nwehn = { chance = 1 }", "unknown field"),
        ] {
            let error = toml::from_str::<HttpStep>(text).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
