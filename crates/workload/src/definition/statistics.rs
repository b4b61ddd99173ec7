//! How a server's own statistics are asked for, and which of them are its count of operations. What else it says of itself is in
//! [`super::observation`].

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;

use super::probe::HttpProbe;
use super::source::raw::RawStatistics;
use super::templates::TemplateCheck;
use notation::source_text::{FileError, SourceText};

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
    /// A GET. Where its URL becomes empty, the server has no statistics.
    Http(HttpProbe),
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
            Self::Http(probe) => &probe.url,
            Self::Memcache(template) | Self::Redis(template) | Self::Log(template) => template,
            Self::Sql { statement, .. } => statement,
        }
    }
}

/// The keys of which one says where statistics come from.
#[derive(Default)]
pub(super) struct SourceKeys {
    pub http: Option<HttpProbe>,
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
            (Some(probe), None, None, None, None) => Some(StatisticsSource::Http(probe)),
            (None, Some(command), None, None, None) => Some(StatisticsSource::Memcache(command)),
            (None, None, Some(command), None, None) => Some(StatisticsSource::Redis(command)),
            (None, None, None, Some(statement), None) => Some(StatisticsSource::Sql { statement, database }),
            (None, None, None, None, Some(path)) => Some(StatisticsSource::Log(path)),
            _ => None,
        }
    }
}

/// Checks the GET of a source, if it has one.
pub(super) fn check_probe(
    what: &str,
    (url, headers): (Option<String>, Option<BTreeMap<String, String>>),
    span: &Range<usize>,
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<Option<HttpProbe>, FileError> {
    match (url, headers) {
        (Some(url), headers) => HttpProbe::check(what, (url, headers), span, source, templates).map(Some),
        (None, Some(_)) => Err(source.error(span, format!("{what}: headers: they are for http"))),
        (None, None) => Ok(None),
    }
}

/// Checks `statistics` as it is written in the file.
pub(super) fn check(
    raw: Spanned<RawStatistics>,
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<StatisticsQuery, FileError> {
    let span = raw.span();
    let refuse = |what: &str| source.error(&span, format!("statistics: {what}"));
    let RawStatistics { http, headers, memcache, redis, sql, log, database, counters, client_counter } =
        raw.into_inner();
    if counters.is_empty() || counters.iter().any(String::is_empty) {
        return Err(refuse("counters: give the names of the counters whose sum is the number of operations"));
    }
    let http = check_probe("statistics", (http, headers), &span, source, templates)?;
    let keys = SourceKeys { http, memcache, redis, sql, log, database };
    let statistics_source = keys.source().ok_or_else(|| {
        refuse(
            "give one of http = \"/path\", memcache = \"stats\", redis = \"INFO\", sql = \"SHOW STATUS\" and \
             log = \"{{ dir }}/log\"",
        )
    })?;
    templates.word(statistics_source.template(), &span)?;
    Ok(StatisticsQuery { source: statistics_source, counters, client_counter })
}
