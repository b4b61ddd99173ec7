//! How a server's own statistics are asked for, and which of them are its count of operations. What else it says of itself is in
//! [`super::observation`].

use std::ops::Range;

use toml::Spanned;

use super::raw::RawStatistics;
use super::source_text::{DefinitionError, SourceText};
use super::templates::TemplateCheck;

/// How to read a server's count of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsQuery {
    /// Where the statistics come from.
    pub source: StatisticsSource,
    /// The names of the counters whose sum is the number of operations.
    pub counters: Vec<String>,
    /// The client's counter to compare with; if none, the number of operations.
    pub client_counter: Option<String>,
}

/// Where a server's statistics come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatisticsSource {
    /// GET of a path, a template. Where it becomes empty, the server has no statistics.
    Http(String),
    /// A memcached command, a template, whose reply ends with a line `END`, such as `stats`.
    Memcache(String),
    /// A Redis command, a template, whose reply is a bulk string, such as `INFO commandstats`.
    Redis(String),
    /// A statement, a template, whose rows have a name and a number.
    Sql {
        /// The statement.
        statement: String,
        /// The database in which it runs, if not that of the load.
        database: Option<String>,
    },
    /// A log that the server writes, a template of its path. A counter is the number of occurrences of its name.
    Log(String),
}

impl StatisticsSource {
    /// The path, command or statement, a template.
    pub fn template(&self) -> &str {
        match self {
            Self::Http(template) | Self::Memcache(template) | Self::Redis(template) | Self::Log(template) => {
                template
            }
            Self::Sql { statement, .. } => statement,
        }
    }
}

/// The keys of which one says where statistics come from.
#[derive(Default)]
pub(super) struct SourceKeys {
    pub http: Option<String>,
    pub memcache: Option<String>,
    pub redis: Option<String>,
    pub sql: Option<String>,
    pub log: Option<String>,
    /// The database of `sql`.
    pub database: Option<String>,
}

impl SourceKeys {
    /// The source of the one key that is given; none unless it is one.
    pub fn source(self) -> Option<StatisticsSource> {
        let Self { http, memcache, redis, sql, log, database } = self;
        match (http, memcache, redis, sql, log) {
            (Some(path), None, None, None, None) => Some(StatisticsSource::Http(path)),
            (None, Some(command), None, None, None) => Some(StatisticsSource::Memcache(command)),
            (None, None, Some(command), None, None) => Some(StatisticsSource::Redis(command)),
            (None, None, None, Some(statement), None) => Some(StatisticsSource::Sql { statement, database }),
            (None, None, None, None, Some(path)) => Some(StatisticsSource::Log(path)),
            _ => None,
        }
    }
}

/// Checks the template of a source.
pub(super) fn check_template(
    statistics_source: &StatisticsSource,
    span: &Range<usize>,
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<(), DefinitionError> {
    let query = templates.word(statistics_source.template(), span)?;
    if let (StatisticsSource::Http(_), false) = (statistics_source, query.is_empty()) {
        http_path(&query, span, source)?;
    }
    Ok(())
}

/// Checks `statistics` as it is written in the file.
pub(super) fn check(
    raw: Spanned<RawStatistics>,
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<StatisticsQuery, DefinitionError> {
    let span = raw.span();
    let refuse = |what: &str| source.error(&span, format!("statistics: {what}"));
    let RawStatistics { http, memcache, redis, sql, log, database, counters, client_counter } =
        raw.into_inner();
    if counters.is_empty() || counters.iter().any(String::is_empty) {
        return Err(refuse("counters: give the names of the counters whose sum is the number of operations"));
    }
    let keys = SourceKeys { http, memcache, redis, sql, log, database };
    let statistics_source = keys.source().ok_or_else(|| {
        refuse(
            "give one of http = \"/path\", memcache = \"stats\", redis = \"INFO\", sql = \"SHOW STATUS\" and \
             log = \"{{ dir }}/log\"",
        )
    })?;
    check_template(&statistics_source, &span, source, templates)?;
    Ok(StatisticsQuery { source: statistics_source, counters, client_counter })
}

/// Checks that a text is the path of a GET.
pub(super) fn http_path(
    path: &str,
    span: &Range<usize>,
    source: SourceText<'_>,
) -> Result<String, DefinitionError> {
    let is_path = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    let what = || format!("{path:?} is not a path: write it as /path, with %20 for a blank");
    if is_path { Ok(path.to_owned()) } else { Err(source.error(span, what())) }
}
