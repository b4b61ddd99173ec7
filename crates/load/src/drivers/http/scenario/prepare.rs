//! A scenario ready to be carried out: names became numbers, texts became searches, and everything that can be wrong before the
//! load was refused.

use std::path::Path;

use wire::http1::HeadCache;

use super::browser::Browsers;
use super::json::Pointer;
use super::names::{CHANCE, Names, PreparedCondition, interned, names_of};
use super::needle::Needle;
use super::request::{StepRequest, TemplateContext};
use super::search::BodySearch;
use super::sessions::Sessions;
use super::spec::{
    BrowserCache, Capture, Condition, CountRange, Each, HttpScenario, HttpStep, Pick, Repeat, Setting,
    ValueSlot,
};
use super::statics::StaticStep;
use crate::drivers::error::OperationError;
use crate::drivers::http::expected::Expected;
use crate::drivers::http::statuses;
use crate::drivers::protocol::WorkerShare;
use crate::inputs::template::{Template, USER_NUMBER, parse_literal};
use crate::inputs::values::{DeclaredValues, ValuePlace};

/// The value of the key `user` that ends a session.
const NEW_USER: &str = "new";
/// Most steps of an operation, and most searches of a step.
const MOST_STEPS: usize = 1_000;
const MOST_SEARCHES: usize = 16;
/// Most statics of a site.
const MOST_STATICS: usize = 256;
/// Largest memory of a user that a scenario may declare.
const MOST_USER_BYTES: usize = 64 << 10;

/// A step that is refused: its operation, its number from 0, and why. None for what is of all steps.
#[derive(Debug)]
pub(crate) struct StepError {
    pub step: Option<(usize, usize)>,
    pub error: OperationError,
}

/// Where a captured value comes from.
#[derive(Clone, Debug)]
pub(super) enum CaptureSource {
    /// A search of the step.
    Body(usize),
    /// A header field.
    Header { name: String, pick: Pick },
}

/// A value that a step captures.
#[derive(Clone, Debug)]
pub(super) struct PreparedCapture {
    pub value: u16,
    pub name: String,
    pub source: CaptureSource,
    pub is_optional: bool,
    /// What is searched for, in words.
    pub wanted: String,
    /// The room for it.
    pub slot: ValueSlot,
}

/// A step that is ready to be sent.
#[derive(Debug)]
pub(super) struct PreparedStep {
    /// Operation and step, for messages.
    pub name: String,
    pub request: StepRequest,
    pub expected: Expected,
    pub bytes: Option<CountRange>,
    pub searches: Vec<BodySearch>,
    /// Texts by their searches, with the numbers that are expected.
    pub counted: Vec<(usize, CountRange)>,
    pub captures: Vec<PreparedCapture>,
    pub conditions: Vec<PreparedCondition>,
    /// Values that are set before the request.
    pub texts: Vec<(u16, Template)>,
    pub flags: Vec<(u8, bool)>,
    /// Whether the session ends with it.
    pub ends_session: bool,
    /// The list for each of whose values it is sent, and whether each is sent once in a session.
    pub each: Option<(u16, bool)>,
    /// What it is, where it is a static that the browser asks for after the step before.
    pub of_static: Option<StaticStep>,
    pub most: u16,
    pub repeat_while: Option<PreparedCondition>,
    pub counter: Option<usize>,
    pub sources: Vec<usize>,
    pub cache: HeadCache,
    /// Length of the body of its last complete reply.
    pub usual_body: u64,
}

/// All operations of a scenario.
#[derive(Debug)]
pub(super) struct PreparedScenario {
    pub names: Vec<String>,
    pub steps: Vec<Vec<PreparedStep>>,
    pub sessions: Sessions,
    pub counters: &'static [&'static str],
    pub most_searches: usize,
    /// The names of the values of a session, with their bytes.
    pub values: Vec<(String, ValueSlot)>,
}

impl PreparedScenario {
    /// Checks a scenario. Without a folder, the files of forms are not read.
    pub fn new(
        spec: &HttpScenario,
        authority: &str,
        share: WorkerShare,
        folder: Option<&Path>,
        declared: &mut DeclaredValues,
    ) -> Result<Self, StepError> {
        let of_all = |error: OperationError| StepError { step: None, error };
        let names = names_of(spec).map_err(of_all)?;
        let mut context = TemplateContext { names: &names.values, declared, share, folder, authority };
        let mut statics: Vec<String> = Vec::new();
        let mut all = Vec::new();
        let mut ends = vec![0; names.values.len()];
        for (at, operation) in spec.operations.iter().enumerate() {
            if operation.steps.len() > MOST_STEPS {
                let what = format!("{}: at most {MOST_STEPS} steps", operation.name);
                return Err(StepError { step: Some((at, 0)), error: OperationError(what) });
            }
            let mut steps = Vec::new();
            for (number, step) in operation.steps.iter().enumerate() {
                let name = if operation.steps.len() == 1 {
                    operation.name.clone()
                } else {
                    format!("{}, step {}", operation.name, number + 1)
                };
                let prepared = PreparedStep::new(step, &name, &names, &mut context);
                let prepared = prepared.map_err(|error| StepError {
                    step: Some((at, number)),
                    error: OperationError::about(&name, error),
                })?;
                for search in &prepared.searches {
                    if let BodySearch::Between { end, value, .. } = search {
                        let longest = &mut ends[usize::from(*value)];
                        *longest = end.len().max(*longest);
                    }
                }
                steps.push(prepared);
                for path in &step.statics {
                    let prepared = PreparedStep::of_static(path, &name, &mut statics, &names, &mut context);
                    steps.push(prepared.map_err(|error| StepError {
                        step: Some((at, number)),
                        error: OperationError::about(&name, error),
                    })?);
                }
            }
            if steps.len() > usize::from(u16::MAX) {
                let what = format!("{}: at most {} steps with their statics", operation.name, u16::MAX);
                return Err(StepError { step: Some((at, 0)), error: OperationError(what) });
            }
            let may_be_left_out = |step: &PreparedStep| {
                !step.conditions.is_empty() || step.each.is_some() || step.of_static.is_some()
            };
            if steps.iter().all(may_be_left_out) {
                let what = format!(
                    "{}: each of its steps has a condition, so that it may send nothing: give one step without `when`",
                    operation.name
                );
                return Err(StepError { step: Some((at, 0)), error: OperationError(what) });
            }
            all.push(steps);
        }
        let slots: Vec<(ValueSlot, usize)> = names.slots.iter().copied().zip(ends).collect();
        let mut steps = all.iter().flatten();
        let has_known_items = steps.any(|step: &PreparedStep| matches!(step.each, Some((_, true))));
        let items = if has_known_items { spec.cache.items } else { 0 };
        let browsers = Browsers::new(BrowserCache { items, ..spec.cache }, statics.len());
        let sessions = Sessions::new(&slots, spec.cookies, browsers, share.worker, share.workers);
        if sessions.bytes_of_user() > MOST_USER_BYTES {
            let what =
                format!("a user would take {} bytes: at most {MOST_USER_BYTES}", sessions.bytes_of_user());
            return Err(of_all(OperationError(what)));
        }
        Ok(Self {
            names: spec.operations.iter().map(|operation| operation.name.clone()).collect(),
            most_searches: all.iter().flatten().map(|step| step.searches.len()).max().unwrap_or(0),
            steps: all,
            sessions,
            counters: interned(&names.counters),
            values: names.values.into_iter().zip(names.slots).collect(),
        })
    }
}

impl PreparedStep {
    pub fn new(
        step: &HttpStep,
        name: &str,
        names: &Names,
        context: &mut TemplateContext<'_>,
    ) -> Result<Self, OperationError> {
        let refused = |what: String| Err(OperationError(what));
        let request = StepRequest::new(step, context)?;
        let (mut searches, mut counted) = (Vec::new(), Vec::new());
        let expect = &step.expect;
        let never = CountRange { from: 0, to: 0 };
        let some = CountRange { from: 1, to: u64::MAX };
        let texts = [
            ("contains", expect.contains.as_ref(), some),
            ("absent", expect.absent.as_ref(), never),
            (
                "count",
                expect.count.as_ref().map(|count| &count.text),
                expect.count.as_ref().map_or(some, |count| count.value),
            ),
        ];
        for (key, text, range) in texts {
            if let Some(text) = text {
                counted.push((searches.len(), range));
                searches.push(BodySearch::Text(needle(&format!("expect.{key}"), text)?));
            }
        }
        let mut captures = Vec::new();
        for (name, capture) in &step.capture {
            let Some(value) = names.value(name) else {
                return refused(format!(
                    "capture: there is no value {name:?}: give it bytes in [load.users], such as values = {{ {name} = 64 }}"
                ));
            };
            captures.push(prepare_capture(name, value, capture, names, &mut searches)?);
        }
        if searches.len() > MOST_SEARCHES {
            return refused(format!(
                "{} texts are searched in its reply: at most {MOST_SEARCHES}",
                searches.len()
            ));
        }
        let mut conditions = Vec::new();
        for (name, condition) in &step.when {
            conditions.push(match condition {
                Condition::Chance(percent) if name == CHANCE && (0.0..=100.0).contains(percent) => {
                    PreparedCondition::Chance(percent / 100.0)
                }
                Condition::Is(is) if name != CHANCE => names.condition("when", name, *is)?,
                _ => {
                    return refused(format!(
                        "when: {name}: write a chance in per cent, such as chance = 10, or whether a flag or a value is there, such as logged_in = true"
                    ));
                }
            });
        }
        // A chance is drawn only where the other conditions are met.
        conditions.sort_by_key(|condition| matches!(condition, PreparedCondition::Chance(_)));
        let Settings { flags, texts, ends_session } = Settings::of(step, names, context)?;
        let (most, repeat_while) = match &step.repeat {
            None => (1, None),
            Some(Repeat::Times(times)) => (*times, None),
            Some(Repeat::While(repeat)) => {
                (repeat.most, Some(names.condition("repeat", &repeat.condition, true)?))
            }
        };
        if most == 0 || usize::from(most) > MOST_STEPS {
            return refused(format!("repeat: give a number from 1 to {MOST_STEPS}"));
        }
        if step.repeat.is_some() && step.each.is_some() {
            return refused("give one of repeat and each".to_owned());
        }
        let each = step.each.as_ref().map(|each| list_of(each, names)).transpose()?;
        let mut sources = request.sources.clone();
        sources.extend(texts.iter().flat_map(|(_, template)| template.sources()));
        let own = |name: &String| names.counters.iter().position(|known| known == name);
        Ok(Self {
            name: name.to_owned(),
            request,
            expected: Expected { status: expect.status.clone(), ..Expected::default() },
            bytes: expect.bytes,
            searches,
            counted,
            captures,
            conditions,
            texts,
            flags,
            ends_session,
            each,
            of_static: None,
            most,
            repeat_while,
            counter: step.count.as_ref().and_then(own).map(|at| statuses::COUNTERS.len() + at),
            sources: sources.into_iter().collect(),
            cache: HeadCache::new(),
            usual_body: 0,
        })
    }

    /// The step of a static of the page of `page`. `known` has those before.
    fn of_static(
        path: &str,
        page: &str,
        known: &mut Vec<String>,
        names: &Names,
        context: &mut TemplateContext<'_>,
    ) -> Result<Self, OperationError> {
        let about = |error: OperationError| OperationError::about("statics", error);
        if context.parse(path, ValuePlace::TargetStart).map_err(about)?.as_literal().is_none() {
            return Err(OperationError(format!(
                "statics: {path:?} is a template: write a path that is always the same"
            )));
        }
        let number = known.iter().position(|other| other == path).unwrap_or_else(|| {
            known.push(path.to_owned());
            known.len() - 1
        });
        if number >= MOST_STATICS {
            return Err(OperationError(format!("statics: a site has at most {MOST_STATICS}")));
        }
        let number = u16::try_from(number).expect("at most 256");
        let step = HttpStep { path: path.to_owned(), ..HttpStep::default() };
        let mut prepared = Self::new(&step, &format!("{page}, {path}"), names, context).map_err(about)?;
        prepared.of_static = Some(StaticStep { number, path: path.to_owned(), revalidation: None });
        Ok(prepared)
    }

    /// The request for this user.
    pub fn request_for(&mut self, is_warm: bool) -> &mut StepRequest {
        let revalidation = self.of_static.as_mut().and_then(|of| of.revalidation.as_mut());
        revalidation.filter(|_| is_warm).unwrap_or(&mut self.request)
    }
}

/// The list of a step that is sent for each value.
fn list_of(each: &Each, names: &Names) -> Result<(u16, bool), OperationError> {
    let value = names.value(&each.value).filter(|value| names.slots[usize::from(*value)].list > 0);
    let name = &each.value;
    let value = value.ok_or_else(|| {
        OperationError(format!(
            "each: {name:?} is no list: give it room in [load.users], such as values = {{ {name} = {{ bytes = 64, list = 16 }} }}"
        ))
    })?;
    Ok((value, each.once))
}

/// What a step sets.
#[derive(Default)]
struct Settings {
    flags: Vec<(u8, bool)>,
    texts: Vec<(u16, Template)>,
    ends_session: bool,
}

impl Settings {
    fn of(step: &HttpStep, names: &Names, context: &mut TemplateContext<'_>) -> Result<Self, OperationError> {
        let refused = |what: String| Err(OperationError(what));
        let mut settings = Self::default();
        for (name, setting) in &step.set {
            match setting {
                Setting::Flag(is_set) => match names.condition("set", name, true)? {
                    PreparedCondition::Flag(flag, _) => settings.flags.push((flag, *is_set)),
                    _ => return refused(format!("set: {name} is a value: give it a text")),
                },
                Setting::Text(text) if name == USER_NUMBER && text == NEW_USER => {
                    settings.ends_session = true;
                }
                Setting::Text(text) => {
                    let Some(value) = names.value(name) else {
                        return refused(format!(
                            "set: there is no value {name:?}: give it bytes in [load.users], such as values = {{ {name} = 64 }}"
                        ));
                    };
                    settings.texts.push((value, context.parse(text, ValuePlace::Body)?));
                }
            }
        }
        Ok(settings)
    }
}

fn needle(key: &str, text: &str) -> Result<Needle, OperationError> {
    let text = parse_literal(text).map_err(|error| OperationError::about(key, error))?;
    if text.is_empty() || text.len() > Needle::LONGEST {
        return Err(OperationError(format!("{key}: give a text of 1 to {} bytes", Needle::LONGEST)));
    }
    Ok(Needle::new(&text))
}

fn prepare_capture(
    name: &str,
    value: u16,
    capture: &Capture,
    names: &Names,
    searches: &mut Vec<BodySearch>,
) -> Result<PreparedCapture, OperationError> {
    let pick = capture.pick;
    let key = format!("capture.{name}");
    let slot = names.slots[usize::from(value)];
    if pick == Pick::All && (slot.list == 0 || capture.header.is_some()) {
        return Err(OperationError(format!(
            "{key}: all values of a body need a list: give it room in [load.users], such as values = {{ {name} = {{ bytes = 64, list = 16 }} }}"
        )));
    }
    let (source, wanted) = match (&capture.between, &capture.header, &capture.json) {
        (Some((begin, end)), None, None) => {
            let wanted = format!("text between {begin:?} and {end:?}");
            let (begin, end) = (needle(&key, begin)?, needle(&key, end)?);
            searches.push(BodySearch::Between { begin, end, value, pick });
            (CaptureSource::Body(searches.len() - 1), wanted)
        }
        (None, Some(header), None) => {
            (CaptureSource::Header { name: header.to_ascii_lowercase(), pick }, format!("header {header}"))
        }
        (None, None, Some(pointer)) => {
            let wanted = format!("scalar at {pointer}");
            let pointer = Pointer::parse(pointer).map_err(|error| OperationError::about(&key, error))?;
            searches.push(BodySearch::Json { pointer, value, pick });
            (CaptureSource::Body(searches.len() - 1), wanted)
        }
        _ => {
            return Err(OperationError(format!(
                "{key}: give one of between = [\"…\", \"…\"], header = \"…\" and json = \"/…\""
            )));
        }
    };
    let is_optional = capture.optional;
    Ok(PreparedCapture { value, name: name.to_owned(), source, is_optional, wanted, slot })
}

#[cfg(test)]
mod tests;
