//! What a server says of itself, for an explanation of what limits it: counters and gauges by name. Its count of operations, which
//! every trial compares, is in [`super::statistics`].

use toml::Spanned;

use super::source::raw::{RawObservation, RawObserved};
use super::statistics::{self, SourceKeys, StatisticsSource};
use super::templates::TemplateCheck;
use notation::source_text::{FileError, SourceText};

/// A query of a server's statistics, and the values that are read from its reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Where the statistics come from. It is not a log.
    pub source: StatisticsSource,
    /// The values, by name.
    pub values: Vec<ObservedDefinition>,
}

/// A value of a server's statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedDefinition {
    /// Its name in explanations. Rules know some names: `docs/WORKLOAD.md` lists them.
    pub name: String,
    /// Its name in the server's reply.
    pub field: String,
    /// Whether it only grows, so that its increase is of interest. Otherwise it is a current value.
    pub is_counter: bool,
    /// What it is multiplied by.
    pub scale: f64,
    /// Its unit after that; empty for a plain number.
    pub unit: String,
    /// Its meaning, in a few words.
    pub about: String,
    /// The largest value that the configuration permits, a template of a number. Where it becomes empty there is none.
    pub limit: Option<String>,
}

impl Observation {
    /// Checks it as it is written in the file.
    pub(super) fn check(
        raw: Spanned<RawObservation>,
        source: SourceText<'_>,
        templates: &mut TemplateCheck<'_>,
    ) -> Result<Self, FileError> {
        let span = raw.span();
        let refuse = |what: &str| source.error(&span, format!("observe: {what}"));
        let RawObservation { http, headers, memcache, redis, sql, database, values } = raw.into_inner();
        let http = statistics::check_probe("observe", (http, headers), &span, source, templates)?;
        let keys = SourceKeys { http, memcache, redis, sql, database, ..SourceKeys::default() };
        let statistics_source = keys.source().ok_or_else(|| {
            refuse("give one of http = \"/path\", memcache = \"stats\", redis = \"INFO\" and sql = \"SHOW STATUS\"")
        })?;
        templates.word(statistics_source.template(), &span)?;
        if values.is_empty() {
            return Err(refuse("values: name one at least"));
        }
        let values = values.into_iter().map(|(name, raw)| {
            let limit_span = raw.span();
            let definition = ObservedDefinition::check(&name, raw, source)?;
            if let Some(limit) = &definition.limit {
                let text = templates.word(limit, &limit_span)?;
                if !text.trim().is_empty() && number(&text).is_none() {
                    let what =
                        format!("observe: {name}: limit {limit:?} becomes {text:?}, which is not a number");
                    return Err(source.error(&limit_span, what));
                }
            }
            Ok(definition)
        });
        Ok(Self { source: statistics_source, values: values.collect::<Result<_, _>>()? })
    }
}

impl ObservedDefinition {
    fn check(name: &str, raw: Spanned<RawObserved>, source: SourceText<'_>) -> Result<Self, FileError> {
        let span = raw.span();
        let refuse = |what: &str| source.error(&span, format!("observe: {name}: {what}"));
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(refuse("write its name in small letters, digits and _"));
        }
        let RawObserved { counter, gauge, scale, unit, about, limit } = raw.into_inner();
        let is_counter = counter.is_some();
        let field = match (counter, gauge) {
            (Some(field), None) | (None, Some(field)) if !field.is_empty() => field,
            _ => {
                return Err(refuse(
                    "give one of counter = \"name\" and gauge = \"name\", the server's name for it",
                ));
            }
        };
        let scale = scale.unwrap_or(1.0);
        if !scale.is_finite() || scale <= 0.0 {
            return Err(refuse("scale: give a number above 0"));
        }
        if is_counter && limit.is_some() {
            return Err(refuse("limit: a counter has none; give a gauge"));
        }
        Ok(Self { name: name.to_owned(), field, is_counter, scale, unit, about, limit })
    }
}

/// The number that a template of a limit became.
pub fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}
