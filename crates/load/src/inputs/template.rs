//! Text with values: `/items?page={{ uniform(1, 100) }}`.
//!
//! | function | result |
//! |---|---|
//! | `uniform(A, B)`, `sequential(A, B)` | a whole number from A to B |
//! | `zipf(A, B, S)` | the same, A most often |
//! | `alnum(N)` | N letters and digits |
//! | `lines("FILE", ORDER)`, `csv("FILE", COLUMN, ORDER)` | a line of a file, or a field of it |
//! | `user`, a value's name | the number of a user, and what the user's session has; in scenarios |
//! | `"TEXT"` | the text itself, for braces that are sent |
//!
//! Random values contain only letters and digits, and those of files are checked where they are used, so they cannot break
//! a request. Operations render templates on the hot path: text without values costs one copy.

use rand::{Rng, RngExt, distr::Alphanumeric};

use super::{
    keys::{KeySampler, Popularity},
    template_call::{Argument, Call},
    units::UnitError,
    values::{Column, DeclaredValues, LineOrder, ValuePlace, ValueRef, ValueRows},
};

const FUNCTIONS: &str = "uniform(A, B), zipf(A, B, S), sequential(A, B), alnum(N)";
const FILE_FUNCTIONS: &str = r#", lines("FILE") or csv("FILE", COLUMN)"#;
const ESCAPE: &str = r#"; write {{ "{{" }} for braces that are sent"#;
/// The longest random text.
const MOST_ALNUM: u64 = 1 << 20;

#[derive(Clone, Debug)]
enum TemplatePart {
    Literal(Vec<u8>),
    Number { from: u64, sampler: KeySampler },
    Alnum(usize),
    Value { at: ValueRef, place: ValuePlace },
    Session { value: u16, place: ValuePlace },
    UserNumber,
}

/// The session of a user, as templates use it.
pub(crate) trait Session {
    /// The number of the user, from 1.
    fn user(&self) -> u64;

    /// One of its values, if it is there.
    fn value(&self, value: u16) -> Option<&[u8]>;
}

/// The name of the user's number in templates.
pub(crate) const USER_NUMBER: &str = "user";

/// Text that is rendered for each operation.
#[derive(Clone, Debug)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

impl Template {
    /// Parses a template without values of files. The error contains the wrong part and the existing functions.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        Self::parse_parts(text, |_, _| None, &format!("{FUNCTIONS}{ESCAPE}"))
    }

    /// Parses a template. Values of files, which stand at this place, are declared in `values`.
    pub(crate) fn parse_with(
        text: &str,
        values: &mut DeclaredValues,
        place: ValuePlace,
    ) -> Result<Self, UnitError> {
        let of_file = |call: &Call, is_first: bool| {
            let place =
                if place == ValuePlace::TargetStart && !is_first { ValuePlace::Target } else { place };
            let (file, column, order) = file_call(call)?;
            Some(TemplatePart::Value { at: values.declare(file, order, column, place), place })
        };
        Self::parse_parts(text, of_file, &format!("{FUNCTIONS}{FILE_FUNCTIONS}{ESCAPE}"))
    }

    /// Parses a template of a scenario: the values of a user's session have these names.
    pub(crate) fn parse_in_session(
        text: &str,
        values: &mut DeclaredValues,
        place: ValuePlace,
        names: &[String],
    ) -> Result<Self, UnitError> {
        let part = |call: &Call, is_first: bool| {
            let place =
                if place == ValuePlace::TargetStart && !is_first { ValuePlace::Target } else { place };
            if call.arguments.is_empty() {
                if call.name == USER_NUMBER {
                    return Some(TemplatePart::UserNumber);
                }
                let value = names.iter().position(|name| name == call.name)?;
                return Some(TemplatePart::Session { value: u16::try_from(value).ok()?, place });
            }
            let (file, column, order) = file_call(call)?;
            Some(TemplatePart::Value { at: values.declare(file, order, column, place), place })
        };
        let session = match names {
            [] => String::new(),
            names => format!(", {USER_NUMBER} or a value of [load.users] ({})", names.join(", ")),
        };
        Self::parse_parts(text, part, &format!("{FUNCTIONS}{FILE_FUNCTIONS}{session}{ESCAPE}"))
    }

    fn parse_parts(
        text: &str,
        mut of_file: impl FnMut(&Call, bool) -> Option<TemplatePart>,
        known: &str,
    ) -> Result<Self, UnitError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once("{{") {
            check_literal(literal)?;
            let (call, after) = Call::take(after).ok_or_else(|| {
                UnitError::new(text, format!("a template: a \"{{{{\" has no \"}}}}\"{ESCAPE}"))
            })?;
            push_literal(&mut parts, literal);
            if let Some(text) = call.text() {
                push_literal(&mut parts, text);
            } else {
                if is_falling_range(&call) {
                    return Err(UnitError::new(call.source, "possible: A must not be above B"));
                }
                let part = random_part(&call).or_else(|| of_file(&call, parts.is_empty()));
                parts.push(part.ok_or_else(|| UnitError::new(call.source, known))?);
            }
            rest = after;
        }
        check_literal(rest)?;
        push_literal(&mut parts, rest);
        if parts.is_empty() {
            parts.push(TemplatePart::Literal(Vec::new()));
        }
        Ok(Self { parts })
    }

    /// The text itself, if it has no value.
    pub fn as_literal(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [TemplatePart::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The same for one of several workers: each begins `sequential` at its own part.
    #[must_use]
    pub fn for_worker(mut self, worker: u32, workers: u32) -> Self {
        for part in &mut self.parts {
            if let TemplatePart::Number { sampler, .. } = part {
                let start = sampler.count() / u64::from(workers) * u64::from(worker);
                *sampler = sampler.clone().from(start);
            }
        }
        self
    }

    /// The sources of the values of files that it has.
    pub(crate) fn sources(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Value { at, .. } => Some(at.source),
            _ => None,
        })
    }

    /// Appends one rendering to `out`, with the values of the lines that were taken last.
    pub(crate) fn render_with(&mut self, rng: &mut impl Rng, values: &ValueRows, out: &mut Vec<u8>) {
        for part in &mut self.parts {
            match part {
                TemplatePart::Value { at, .. } => out.extend_from_slice(values.value(*at)),
                part => part.render(rng, out),
            }
        }
    }

    /// Appends one rendering to `out` for a user. Returns a value that its session does not have, if there is one: nothing
    /// stands in its place.
    pub(crate) fn render_in_session(
        &mut self,
        rng: &mut impl Rng,
        values: &ValueRows,
        session: &impl Session,
        out: &mut Vec<u8>,
    ) -> Option<u16> {
        let mut missing = None;
        for part in &mut self.parts {
            match part {
                TemplatePart::Value { at, .. } => out.extend_from_slice(values.value(*at)),
                TemplatePart::Session { value, place } => {
                    let text = session.value(*value);
                    missing = if text.is_none() { Some(*value) } else { missing };
                    place.write(text.unwrap_or_default(), out);
                }
                TemplatePart::UserNumber => {
                    out.extend_from_slice(itoa::Buffer::new().format(session.user()).as_bytes());
                }
                part => part.render(rng, out),
            }
        }
        missing
    }

    /// Appends one rendering to `out`. A value of a file is an example that can stand at its place.
    pub fn render(&mut self, rng: &mut impl Rng, out: &mut Vec<u8>) {
        self.parts.iter_mut().for_each(|part| part.render(rng, out));
    }
}

impl TemplatePart {
    #[inline]
    fn render(&mut self, rng: &mut impl Rng, out: &mut Vec<u8>) {
        match self {
            Self::Literal(text) => out.extend_from_slice(text),
            Self::Number { from, sampler } => {
                let mut buffer = itoa::Buffer::new();
                out.extend_from_slice(buffer.format(*from + sampler.sample(rng)).as_bytes());
            }
            Self::Alnum(count) => out.extend((0..*count).map(|_| rng.sample(Alphanumeric))),
            Self::Value { place, .. } | Self::Session { place, .. } => out.extend_from_slice(place.example()),
            Self::UserNumber => out.push(b'1'),
        }
    }
}

/// A text that is sent as it stands. One that looks like a template is refused; [`ESCAPE`] is the way to send braces.
pub fn parse_literal(text: &str) -> Result<String, UnitError> {
    let none = format!("a value that changes here{ESCAPE}");
    let template = Template::parse_parts(text, |_, _| None, &none)?;
    let literal = template.as_literal().ok_or_else(|| UnitError::new(text, none))?;
    Ok(String::from_utf8_lossy(literal).into_owned())
}

fn push_literal(parts: &mut Vec<TemplatePart>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(TemplatePart::Literal(before)) => before.extend_from_slice(text.as_bytes()),
        _ => parts.push(TemplatePart::Literal(text.as_bytes().to_vec())),
    }
}

/// Statements of the templates of commands and configuration files do nothing here.
fn check_literal(literal: &str) -> Result<(), UnitError> {
    let statement = literal.split_once("{%").and_then(|(_, after)| after.split_once("%}"));
    match statement {
        None => Ok(()),
        Some((statement, _)) => Err(UnitError::new(
            &format!("{{%{statement}%}}"),
            r#"possible in operations, which have no statements; write {{ "{%" }} for a text that is sent"#,
        )),
    }
}

/// Whether a function from A to B has an A above its B.
fn is_falling_range(call: &Call<'_>) -> bool {
    let is_range = ["uniform", "sequential", "zipf"].contains(&call.name);
    is_range && matches!((number(call, 0), number(call, 1)), (Some(from), Some(to)) if from > to)
}

/// The argument at this place, if it is a whole number.
fn number(call: &Call<'_>, at: usize) -> Option<u64> {
    match call.arguments.get(at)? {
        Argument::Word(word) => word.parse::<u64>().ok(),
        Argument::Text(_) => None,
    }
}

fn random_part(call: &Call<'_>) -> Option<TemplatePart> {
    let arguments = &call.arguments;
    if call.name == "alnum" {
        let count = number(call, 0).filter(|n| *n <= MOST_ALNUM && arguments.len() == 1)?;
        return Some(TemplatePart::Alnum(usize::try_from(count).ok()?));
    }
    let (popularity, arity) = match call.name {
        "uniform" => (Popularity::Uniform, 2),
        "sequential" => (Popularity::Sequential, 2),
        "zipf" => match arguments.get(2)? {
            Argument::Word(s) => (format!("zipf:{s}").parse().ok()?, 3),
            Argument::Text(_) => return None,
        },
        _ => return None,
    };
    let (from, to) = (number(call, 0)?, number(call, 1)?);
    let fits = arguments.len() == arity && from <= to && to < u64::MAX;
    fits.then(|| TemplatePart::Number { from, sampler: KeySampler::new(popularity, to - from + 1, 0) })
}

/// The file, the column and the order of a call.
fn file_call<'t>(call: &Call<'t>) -> Option<(&'t str, Column, LineOrder)> {
    let Argument::Text(file) = *call.arguments.first()? else { return None };
    let (column, order) = match (call.name, &call.arguments[1..]) {
        ("lines", rest @ ([] | [_])) => (Column::Whole, rest.first()),
        ("csv", [column, rest @ ..]) if rest.len() <= 1 => {
            let column = match *column {
                Argument::Word(number) => Column::Number(number.parse().ok().filter(|n| *n > 0)?),
                Argument::Text(name) => Column::Name(name.to_owned()),
            };
            (column, rest.first())
        }
        _ => return None,
    };
    let order = match order {
        None | Some(Argument::Word("sequential")) => LineOrder::Sequential,
        Some(Argument::Word("random")) => LineOrder::Random,
        Some(Argument::Word("once")) => LineOrder::Once,
        Some(_) => return None,
    };
    (!file.is_empty()).then_some((file, column, order))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn render_template(mut template: Template) -> String {
        let mut out = Vec::new();
        template.render(&mut Pcg64Mcg::seed_from_u64(3), &mut out);
        String::from_utf8(out).expect("templates give text")
    }

    fn render(text: &str) -> String {
        render_template(Template::parse(text).expect("a template"))
    }

    #[test]
    fn draws_numbers_within_their_range() {
        for _ in 0..100 {
            let page: u64 = render("/items?page={{ uniform(1, 100) }}")[12..].parse().expect("a number");
            assert!((1..=100).contains(&page));
        }
        assert_eq!(render("{{sequential(5, 9)}}/{{ uniform(7,7) }}"), "5/7");
        assert_eq!(render("x{{ alnum(8) }}").len(), 9);
        assert_eq!(render(""), "");
        assert_eq!(render("{{ uniform(0, 18446744073709551614) }}").parse::<u64>().map(|_| ()), Ok(()));
    }

    #[test]
    fn workers_begin_a_sequence_at_their_own_parts() {
        let of_worker =
            |worker| Template::parse("{{ sequential(1, 100) }}").expect("one").for_worker(worker, 4);
        assert_eq!([0, 1, 3].map(|worker| render_template(of_worker(worker))), ["1", "26", "76"]);
    }

    #[test]
    fn the_same_seed_gives_the_same_text() {
        assert_eq!(
            render("{{ alnum(32) }}{{ zipf(1, 1000, 0.99) }}"),
            render("{{ alnum(32) }}{{ zipf(1, 1000, 0.99) }}")
        );
    }

    #[test]
    fn braces_can_be_sent() {
        for (text, sent) in [
            (r#"Hello {{ "{{" }}name}}!"#, "Hello {{name}}!"),
            ("{{ '{{ name }}' }}", "{{ name }}"),
            (r#"{{ "{%" }} raw %}"#, "{% raw %}"),
            (r#"{"a": {"b": {"c": 1}}}"#, r#"{"a": {"b": {"c": 1}}}"#),
            ("100 {%", "100 {%"),
        ] {
            assert_eq!(render(text), sent);
            let template = Template::parse(text).expect("a template");
            assert_eq!(template.as_literal(), Some(sent.as_bytes()), "it is ready before the load");
            assert_eq!(parse_literal(text).as_deref(), Ok(sent));
        }
    }

    #[test]
    fn a_text_that_looks_like_a_template_is_refused_where_none_is_rendered() {
        let error = parse_literal("{{ alnum(20) }}").expect_err("a template").to_string();
        assert!(error.contains(r#"write {{ "{{" }}"#), "{error}");
        assert!(parse_literal("{{ name }}").is_err());
    }

    #[test]
    fn the_error_of_a_template_lists_the_functions() {
        let error = Template::parse("/{{ unifrom(1, 2) }}").expect_err("no such function").to_string();
        assert!(error.contains("unifrom(1, 2)") && error.contains("uniform(A, B)"), "{error}");
        assert!(error.contains(r#"write {{ "{{" }} for braces"#), "{error}");
        for text in [
            "{{",
            "{{ uniform(2, 1) }}",
            "{{ uniform(1) }}",
            "{{ zipf(1, 2, 0) }}",
            "{{ alnum(99999999) }}",
            "{{ lines(\"f\") }}",
            "{% raw %}{{ uniform(1, 2) }}{% endraw %}",
        ] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_of_files_are_declared_with_their_place() {
        let mut values = DeclaredValues::default();
        let place = ValuePlace::TargetStart;
        let template =
            Template::parse_with("{{ lines(\"urls.txt\", once) }}", &mut values, place).expect("one");
        assert_eq!(render_template(template), "/");
        let text = "/a/{{ csv('ids.csv', 2) }}-{{ csv('ids.csv', 3, sequential) }}";
        let template = Template::parse_with(text, &mut values, place).expect("a template");
        assert_eq!(template.sources().collect::<Vec<_>>(), [1, 1], "one line for both");
        assert_eq!(render_template(template), "/a/0-0");
        assert_eq!(values.files_used_once().collect::<Vec<_>>(), ["urls.txt"]);
        for text in [
            "{{ csv('f') }}",
            "{{ csv('f', 0) }}",
            "{{ lines(f) }}",
            "{{ lines('f', twice) }}",
            "{{ lines('') }}",
        ] {
            assert!(Template::parse_with(text, &mut values, place).is_err(), "{text}");
        }
    }
}
