//! Knobs: the settings of a server that a variant may change. The types of their values are in `knob_type`.

use std::ops::RangeInclusive;

use toml::Spanned;

use crate::definition::source::raw::RawKnob;
use crate::definition::values::knob_type::{InvalidValue, KnobEffect, KnobType, TypedValue};
use crate::definition::values::text_form::TextRule;
use crate::render::{BUILT_IN, TemplateVariables};
use notation::source_text::{FileError, SourceText};

/// A knob of every server but a runner: how many copies of the server share one load.
pub const INSTANCES: &str = "instances";

/// A knob of the same servers: what each of these copies has for itself.
pub const ISOLATION: &str = "isolation";

/// The value of [`ISOLATION`] with which each copy has a share of the CPUs for itself.
pub const ISOLATED_CPUS: &str = "cpus";

/// A knob of every server of a load over TLS: the type of its certificate's key.
pub const CERTIFICATE: &str = "certificate";

/// A knob of every server of a load over TLS: whether clients may resume their sessions.
pub const RESUMPTION: &str = "resumption";

/// A larger number on one machine is most likely a mistake.
const MOST_INSTANCES: i64 = 64;

/// A default that has no value. A message about it begins with the knob's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefaultValueError {
    /// It is a template that cannot be rendered.
    #[error("default {template:?}: {message}")]
    Template {
        /// The default as written.
        template: String,
        /// What is wrong with it.
        message: String,
    },
    /// The knob does not accept it.
    #[error("default {0}")]
    Value(#[from] InvalidValue),
}

/// A setting of a server that a variant may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Knob {
    /// Its name, also in templates.
    pub name: String,
    /// What it does.
    pub about: String,
    /// The values that it accepts.
    pub knob_type: KnobType,
    /// The value where a variant does not set it, as text. It may be a template such as `{{ cpus }}`.
    pub default: String,
    /// The unit of its numbers, such as `MB` or `s`; may be empty.
    pub unit: String,
    /// Whether a lower value makes the server take less memory.
    pub is_memory: bool,
    /// What another value changes beside the speed, if it does: such a value is no tuning, or one with consent.
    pub changes: Option<KnobEffect>,
    /// The resource of `showdown explain` of which it says how much there is; empty if none.
    pub resource: String,
    /// Where the server's documentation describes it.
    pub source: String,
}

impl Knob {
    /// The knobs [`INSTANCES`] and [`ISOLATION`].
    pub(in crate::definition) fn of_instances() -> [Self; 2] {
        let about =
            "copies of the server, each with all of the data; the load's connections are divided among them";
        let instances =
            Self::built_in(INSTANCES, about, KnobType::Integer { from: 1, to: MOST_INSTANCES }, "1");
        let kinds = KnobType::Choice(vec!["none".to_owned(), ISOLATED_CPUS.to_owned()]);
        let about =
            "cpus: each copy has a share of the server's CPUs, and the memory of their nodes, for itself";
        [instances, Self::built_in(ISOLATION, about, kinds, "none")]
    }

    /// The knobs [`CERTIFICATE`] and [`RESUMPTION`].
    pub(in crate::definition) fn of_tls() -> [Self; 2] {
        let key_types = KnobType::Choice(vec!["rsa".to_owned(), "ecdsa".to_owned()]);
        let about = "the key of the certificate: RSA of 2048 bits, or ECDSA over P-256";
        let certificate = Self::built_in(CERTIFICATE, about, key_types, "rsa");
        let about = "clients may resume sessions: only the first handshake of each client is a full one";
        [certificate, Self::built_in(RESUMPTION, about, KnobType::Switch, "on")]
    }

    /// A knob that Showdown adds.
    pub(in crate::definition) fn built_in(
        name: &str,
        about: &str,
        knob_type: KnobType,
        default: &str,
    ) -> Self {
        let (name, about, default) = (name.to_owned(), about.to_owned(), default.to_owned());
        let (unit, resource, source) = (String::new(), String::new(), String::new());
        Self { name, about, knob_type, default, unit, is_memory: false, changes: None, resource, source }
    }

    /// Checks a knob as it is written in the file.
    pub(in crate::definition) fn check(
        name: &str,
        raw: Spanned<RawKnob>,
        source: SourceText<'_>,
    ) -> Result<Self, FileError> {
        let span = raw.span();
        let refuse = |what: &str| source.error(&span, format!("knob {name:?}: {what}"));
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
            return Err(refuse(
                "write its name in small letters, digits and underscores, with a letter first",
            ));
        }
        if BUILT_IN.contains(&name) {
            return Err(refuse("templates have a variable of that name already: choose another name"));
        }
        if [INSTANCES, ISOLATION, CERTIFICATE, RESUMPTION].contains(&name) {
            return Err(refuse("showdown adds a knob of that name: choose another name"));
        }
        let raw = raw.into_inner();
        let (range, choices) = (raw.range.as_ref(), raw.choices.as_ref());
        let default_span = raw.default.span();
        let number = |is_whole: bool| match range {
            Some(range) => KnobType::from_range(range.get_ref(), is_whole)
                .map_err(|why| source.error(&range.span(), format!("knob {name:?}: range {why}"))),
            None => Err(refuse("a number needs a range, such as range = \"1..64\"")),
        };
        let (knob_type, default) = match raw.default.into_inner() {
            toml::Value::Boolean(on) => (KnobType::Switch, TypedValue::Switch(on).to_string()),
            toml::Value::Integer(value) => (number(true)?, value.to_string()),
            toml::Value::Float(value) => (number(false)?, value.to_string()),
            toml::Value::String(text) => match (choices, range) {
                (Some(choices), None) => (KnobType::Choice(choices.clone()), text),
                (None, Some(_)) => (number(true).or_else(|error| number(false).map_err(|_| error))?, text),
                (None, None) => {
                    let pattern = raw.pattern.as_ref().map(|pattern| pattern.get_ref().clone());
                    let rule = TextRule::new(raw.form, pattern);
                    let rule = rule.map_err(|why| refuse(&format!("pattern {why}")))?;
                    (KnobType::Text(rule), text)
                }
                (Some(_), Some(_)) => return Err(refuse("it has a range and choices: give one of the two")),
            },
            other => {
                let what = format!("default is {}: give a number, a text or a boolean", other.type_str());
                return Err(source.error(&default_span, format!("knob {name:?}: {what}")));
            }
        };
        let fits = match knob_type {
            KnobType::Integer { .. } | KnobType::Number { .. } => choices.is_none(),
            KnobType::Switch | KnobType::Text(_) => choices.is_none() && range.is_none(),
            KnobType::Choice(_) => true,
        };
        if !fits {
            return Err(refuse(
                "the default decides the type: only numbers have a range, only words have choices",
            ));
        }
        if !matches!(knob_type, KnobType::Text(_)) && (raw.form.is_some() || raw.pattern.is_some()) {
            return Err(refuse("form and pattern are for a text without choices: leave them out"));
        }
        if !raw.resource.is_empty() && !matches!(knob_type, KnobType::Integer { .. }) {
            return Err(refuse("only a whole number says how much there is of a resource"));
        }
        let knob = Self {
            name: name.to_owned(),
            about: raw.about,
            knob_type,
            default,
            unit: raw.unit,
            is_memory: raw.memory,
            changes: raw.changes,
            resource: raw.resource,
            source: raw.source,
        };
        Ok(knob)
    }

    /// The smallest and the largest value of a knob of whole numbers.
    pub fn whole_range(&self) -> Option<RangeInclusive<i64>> {
        match self.knob_type {
            KnobType::Integer { from, to } => Some(from..=to),
            _ => None,
        }
    }

    /// The default, rendered with these variables.
    pub fn default_value(&self, variables: &TemplateVariables) -> Result<TypedValue, DefaultValueError> {
        let text = variables.render(&self.default).map_err(|error| DefaultValueError::Template {
            template: self.default.clone(),
            message: error.message,
        })?;
        match self.knob_type {
            // The text of a template such as `{{ dir }}` has only Showdown's own values. A path may have a blank.
            KnobType::Text(_) if text != self.default => Ok(TypedValue::Text(text)),
            _ => Ok(self.parse(&text)?),
        }
    }

    /// Reads a value that a variant has, which may name a file of this machine: that file must exist.
    pub fn parse_here(&self, text: &str) -> Result<TypedValue, InvalidValue> {
        let value = self.parse(text)?;
        self.knob_type.check_here(&value)?;
        Ok(value)
    }

    /// Reads a value.
    pub fn parse(&self, text: &str) -> Result<TypedValue, InvalidValue> {
        self.knob_type.parse(text, &self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::values::text_form::TextForm;

    fn check(toml: &str) -> Result<Knob, String> {
        let knob = read(toml)?;
        let mut variables = TemplateVariables::default();
        variables.set("cpus", 1);
        knob.default_value(&variables).map_err(|e| e.to_string())?;
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
        assert_eq!(check("default = 2\nrange = \"1..64\"")?.knob_type, KnobType::Integer { from: 1, to: 64 });
        assert_eq!(
            check("default = 0.5\nrange = \"0..1\"")?.knob_type,
            KnobType::Number { from: 0.0, to: 1.0 }
        );
        assert_eq!(check("default = true")?.knob_type, KnobType::Switch);
        let word = TextRule { form: Some(TextForm::Word), pattern: None };
        assert_eq!(check("default = \"x\"")?.knob_type, KnobType::Text(word));
        let directory = check("default = \"/x\"\nform = \"directory\"")?;
        assert_eq!(directory.parse("/y"), Ok(TypedValue::Text("/y".into())));
        let list = check("default = \"a\"\npattern = \"[a-z](,[a-z])*\"")?;
        assert_eq!(list.parse("a,b"), Ok(TypedValue::Text("a,b".into())));
        let mpm = check("default = \"event\"\nchoices = [\"event\", \"worker\"]")?;
        assert_eq!(mpm.parse("worker"), Ok(TypedValue::Text("worker".into())));
        let workers = check("default = \"{{ cpus }}\"\nrange = \"1..1024\"")?;
        assert_eq!(workers.parse("8"), Ok(TypedValue::Integer(8)));
        Ok(())
    }

    #[test]
    fn an_inconsistent_knob_is_refused_with_the_remedy() {
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
        assert!(refused("default = \"a b\"").contains("\"a b\" is not a word of letters, digits"));
        assert!(refused("default = \"/x\"").contains("is not a word"));
        assert!(refused("default = \"x\"\nform = \"path\"").contains("unknown value \"path\""));
        assert!(
            refused("default = \"x\"\npattern = \"(\"").contains("pattern \"(\" is not a regular expression")
        );
        assert!(refused("default = true\nform = \"word\"").contains("are for a text without choices"));
    }

    #[test]
    fn a_value_outside_the_type_is_refused_with_the_accepted_values() -> Result<(), String> {
        let refused = |knob: &Knob, value: &str| knob.parse(value).expect_err(value).to_string();
        let memory = check("default = 64\nrange = \"1..1024\"\nunit = \"MB\"")?;
        assert_eq!(refused(&memory, "1g"), "\"1g\" is not a whole number from 1 to 1024 (MB)");
        let log = check("default = false")?;
        assert_eq!(refused(&log, "maybe"), "\"maybe\" is not on or off");
        assert_eq!(log.parse("on"), Ok(TypedValue::Switch(true)));
        let directory = check("default = \"/nowhere\"\nform = \"directory\"")?;
        let error = directory.parse_here("/nowhere").expect_err("it is not there").to_string();
        assert_eq!(error, "\"/nowhere\" is not a directory that exists");
        assert!(refused(&directory, "/$(shell id)").contains("is not the absolute path of a directory"));
        Ok(())
    }
}
