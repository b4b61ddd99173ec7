//! Knobs: what a variant may set of a server, and which values they take.

use std::fmt;

use toml::Spanned;

use super::raw::RawKnob;
use super::source_text::{DefinitionError, SourceText};
use crate::render::{BUILT_IN, TemplateVariables};

/// The knob of every server: how many of it stand behind one load.
pub const INSTANCES: &str = "instances";

/// The knob of every server of a load over TLS: which certificate it has.
pub const CERTIFICATE: &str = "certificate";

/// The knob of every server of a load over TLS: whether it lets clients resume their sessions.
pub const RESUMPTION: &str = "resumption";

/// More of them on one machine were a mistake.
const MOST_INSTANCES: i64 = 64;

/// A knob's value.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedValue {
    /// `on` or `off`.
    Switch(bool),
    /// A whole number.
    Integer(i64),
    /// Any number.
    Number(f64),
    /// A word.
    Text(String),
}

impl fmt::Display for TypedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(value) => f.write_str(if *value { "on" } else { "off" }),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl From<&TypedValue> for minijinja::Value {
    fn from(value: &TypedValue) -> Self {
        match value {
            TypedValue::Switch(on) => Self::from(*on),
            TypedValue::Integer(number) => Self::from(*number),
            TypedValue::Number(number) => Self::from(*number),
            TypedValue::Text(text) => Self::from(text),
        }
    }
}

/// Which values a knob takes.
#[derive(Clone, Debug, PartialEq)]
pub enum KnobType {
    /// On or off.
    Switch,
    /// Whole numbers, both ends included.
    Integer {
        /// The least.
        from: i64,
        /// The greatest.
        to: i64,
    },
    /// Numbers, both ends included.
    Number {
        /// The least.
        from: f64,
        /// The greatest.
        to: f64,
    },
    /// One of these words.
    Choice(Vec<String>),
    /// Any text.
    Text,
}

/// Something of a server that a variant may set.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// Its name, also in templates.
    pub name: String,
    /// What it does.
    pub about: String,
    /// Which values it takes.
    pub kind: KnobType,
    /// The value if a variant does not say: as text, maybe a template such as `{{ cpus }}`.
    pub default: String,
    /// What its numbers count: `MB`, `s`; empty where that is plain.
    pub unit: String,
    /// Where the server's documentation describes it.
    pub source: String,
}

impl Knob {
    /// The knob [`INSTANCES`].
    pub(super) fn of_instances() -> Self {
        let about = "servers like this, each with all of the data, that share the connections of one load";
        Self::of_all(INSTANCES, about, KnobType::Integer { from: 1, to: MOST_INSTANCES }, "1")
    }

    /// The knobs [`CERTIFICATE`] and [`RESUMPTION`].
    pub(super) fn of_tls() -> [Self; 2] {
        let certificates = KnobType::Choice(vec!["rsa".to_owned(), "ecdsa".to_owned()]);
        let about = "the key of the certificate: RSA of 2048 bits, or ECDSA over P-256";
        let certificate = Self::of_all(CERTIFICATE, about, certificates, "rsa");
        let about = "sessions may be resumed, so that all but a client's first handshake are abbreviated";
        [certificate, Self::of_all(RESUMPTION, about, KnobType::Switch, "on")]
    }

    fn of_all(name: &str, about: &str, kind: KnobType, default: &str) -> Self {
        let (name, about, default) = (name.to_owned(), about.to_owned(), default.to_owned());
        Self { name, about, kind, default, unit: String::new(), source: String::new() }
    }

    /// Checks a knob as written.
    pub(super) fn check(
        name: &str,
        raw: Spanned<RawKnob>,
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let span = raw.span();
        let refuse = |what: &str| source.error(&span, format!("knob {name:?}: {what}"));
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
            return Err(refuse("a name is of small letters, digits and underscores, for templates use it"));
        }
        if BUILT_IN.contains(&name) {
            return Err(refuse("templates have another variable of that name: choose another"));
        }
        if [INSTANCES, CERTIFICATE, RESUMPTION].contains(&name) {
            return Err(refuse("every server has a knob of that name, or has it over TLS: choose another"));
        }
        let raw = raw.into_inner();
        let (range, choices) = (raw.range.as_ref(), raw.choices.as_ref());
        let default_span = raw.default.span();
        let number = |is_whole: bool| match range {
            Some(range) => read_range(range.get_ref(), is_whole)
                .map_err(|why| source.error(&range.span(), format!("knob {name:?}: range {why}"))),
            None => Err(refuse("a number needs a range, such as range = \"1..64\"")),
        };
        let (kind, default) = match raw.default.into_inner() {
            toml::Value::Boolean(on) => (KnobType::Switch, TypedValue::Switch(on).to_string()),
            toml::Value::Integer(value) => (number(true)?, value.to_string()),
            toml::Value::Float(value) => (number(false)?, value.to_string()),
            toml::Value::String(text) => match (choices, range) {
                (Some(choices), None) => (KnobType::Choice(choices.clone()), text),
                (None, Some(_)) => (number(true).or_else(|error| number(false).map_err(|_| error))?, text),
                (None, None) => (KnobType::Text, text),
                (Some(_), Some(_)) => return Err(refuse("it has a range and choices: give one of them")),
            },
            other => {
                let what = format!("default is {}: give a number, a text or a boolean", other.type_str());
                return Err(source.error(&default_span, format!("knob {name:?}: {what}")));
            }
        };
        let fits = match kind {
            KnobType::Integer { .. } | KnobType::Number { .. } => choices.is_none(),
            KnobType::Switch | KnobType::Text => choices.is_none() && range.is_none(),
            KnobType::Choice(_) => true,
        };
        if !fits {
            return Err(refuse("the default decides the type: numbers have a range, words have choices"));
        }
        let knob = Self {
            name: name.to_owned(),
            about: raw.about,
            kind,
            default,
            unit: raw.unit,
            source: raw.source,
        };
        Ok(knob)
    }

    /// The default where the variables of `scope` have their values. The error goes on from the knob's name.
    pub fn default_value(&self, scope: &TemplateVariables) -> Result<TypedValue, String> {
        let text =
            scope.render(&self.default).map_err(|e| format!("default {:?}: {}", self.default, e.message))?;
        self.parse(&text).map_err(|why| format!("default {why}"))
    }

    /// Reads a value. The error goes on from the knob's name: `65 is not a whole number from 1 to 64`.
    pub fn parse(&self, text: &str) -> Result<TypedValue, String> {
        let value = match &self.kind {
            KnobType::Switch => match text {
                "on" | "true" => Some(TypedValue::Switch(true)),
                "off" | "false" => Some(TypedValue::Switch(false)),
                _ => None,
            },
            KnobType::Integer { from, to } => {
                text.parse().ok().filter(|n| (from..=to).contains(&n)).map(TypedValue::Integer)
            }
            KnobType::Number { from, to } => {
                text.parse().ok().filter(|n| (from..=to).contains(&n)).map(TypedValue::Number)
            }
            KnobType::Choice(words) => words.iter().find(|word| *word == text).cloned().map(TypedValue::Text),
            KnobType::Text => Some(TypedValue::Text(text.to_owned())),
        };
        value.ok_or_else(|| format!("{text:?} is not {}", self.allowed()))
    }

    /// What it takes, in words: `a whole number from 1 to 64 (MB)`.
    pub fn allowed(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
        match &self.kind {
            KnobType::Switch => "on or off".to_owned(),
            KnobType::Integer { from, to } => format!("a whole number from {from} to {to}{unit}"),
            KnobType::Number { from, to } => format!("a number from {from} to {to}{unit}"),
            KnobType::Choice(words) => format!("one of {}", words.join(", ")),
            KnobType::Text => "a text".to_owned(),
        }
    }
}

/// Reads `1..64`; the error goes on from the word "range".
fn read_range(text: &str, is_whole: bool) -> Result<KnobType, String> {
    let malformed = || format!("{text:?} is not two numbers: write it as 1..64");
    let (from, to) = text.split_once("..").ok_or_else(malformed)?;
    let (from, to) = (from.trim(), to.trim());
    let goes_down = || format!("{text:?} goes down: write it as {to}..{from}");
    if is_whole {
        let (from, to): (i64, i64) = from.parse().ok().zip(to.parse().ok()).ok_or_else(malformed)?;
        if from <= to { Ok(KnobType::Integer { from, to }) } else { Err(goes_down()) }
    } else {
        let (from, to): (f64, f64) = from.parse().ok().zip(to.parse().ok()).ok_or_else(malformed)?;
        if from <= to { Ok(KnobType::Number { from, to }) } else { Err(goes_down()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(toml: &str) -> Result<Knob, String> {
        let knob = read(toml)?;
        let mut scope = TemplateVariables::default();
        scope.set("cpus", 1);
        knob.default_value(&scope)?;
        Ok(knob)
    }

    fn read(toml: &str) -> Result<Knob, String> {
        #[derive(serde::Deserialize)]
        struct File {
            knob: Spanned<RawKnob>,
        }
        let text = format!("[knob]\n{toml}");
        let source = SourceText { file: "w.toml", text: &text };
        let file: File = toml::from_str(&text).map_err(|e| source.toml_error(&e).to_string())?;
        Knob::check("workers", file.knob, source).map_err(|e| e.to_string())
    }

    #[test]
    fn the_default_decides_the_type() -> Result<(), String> {
        assert_eq!(check("default = 2\nrange = \"1..64\"")?.kind, KnobType::Integer { from: 1, to: 64 });
        assert_eq!(check("default = 0.5\nrange = \"0..1\"")?.kind, KnobType::Number { from: 0.0, to: 1.0 });
        assert_eq!(check("default = true")?.kind, KnobType::Switch);
        assert_eq!(check("default = \"x\"")?.kind, KnobType::Text);
        let mpm = check("default = \"event\"\nchoices = [\"event\", \"worker\"]")?;
        assert_eq!(mpm.parse("worker"), Ok(TypedValue::Text("worker".into())));
        let workers = check("default = \"{{ cpus }}\"\nrange = \"1..1024\"")?;
        assert_eq!(workers.parse("8"), Ok(TypedValue::Integer(8)));
        Ok(())
    }

    #[test]
    fn a_knob_that_makes_no_sense_is_refused_with_the_mend() {
        let refused = |toml: &str| check(toml).expect_err(toml);
        assert_eq!(
            refused("default = 2\nrange = \"64..1\""),
            "w.toml:3: knob \"workers\": range \"64..1\" goes down: write it as 1..64"
        );
        assert!(refused("default = 2").contains("needs a range"));
        assert!(refused("default = 2\nrange = \"1-64\"").contains("write it as 1..64"));
        assert_eq!(
            refused("default = 65\nrange = \"1..64\""),
            "default \"65\" is not a whole number from 1 to 64"
        );
        assert!(refused("default = \"no\"\nchoices = [\"event\"]").contains("is not one of event"));
        assert!(refused("default = true\nrange = \"0..1\"").contains("decides the type"));
        assert!(refused("default = [1]").contains("default is array"));
    }

    #[test]
    fn a_value_that_it_does_not_take_is_refused_with_what_it_takes() -> Result<(), String> {
        let memory = check("default = 64\nrange = \"1..1024\"\nunit = \"MB\"")?;
        assert_eq!(memory.parse("1g"), Err("\"1g\" is not a whole number from 1 to 1024 (MB)".into()));
        let log = check("default = false")?;
        assert_eq!(log.parse("yes"), Err("\"yes\" is not on or off".into()));
        assert_eq!(log.parse("on"), Ok(TypedValue::Switch(true)));
        Ok(())
    }
}
