//! The server's own count of operations, which a trial compares with the client's count.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use host::regular_file;
use serde::{Deserialize, Serialize};

use crate::definition::{StatisticsQuery, StatisticsSource};
use crate::instance::error::{InstanceError, StatisticsError};
use crate::instance::replies::counters;
use crate::instance::replies::query::ServerQueryError;
use crate::instance::running::Instance;

/// How often the statistics of a server that counts late are read, at most, and the pause between.
const SETTLE_QUERIES: u32 = 20;
const SETTLE_PAUSE: Duration = Duration::from_millis(50);

/// A server's count of operations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationCount {
    /// The server's names for what it counts: `cmd_get + cmd_set`.
    pub what: String,
    /// The number of operations since it was started.
    pub count: u64,
    /// The client's counter to compare with; if none, the number of operations.
    pub client_counter: Option<String>,
}

impl Instance {
    /// How many operations the server has counted since its start; none if it has no statistics.
    ///
    /// Reading statistics over HTTP is a request too, which a server may count. While nothing else runs, its count then
    /// grows by one with each query, or not at all. All earlier queries are subtracted if it counts them. The last query
    /// may or may not be in the count; that is the same each time, so the difference of two counts is exact.
    pub fn count(&mut self) -> Result<Option<OperationCount>, InstanceError> {
        let Some(mut current) = self.read_count()? else { return Ok(None) };
        if let Some(StatisticsQuery { source: StatisticsSource::Http(_), .. }) = self.server.statistics {
            let mut per_query = None;
            for _ in 0..SETTLE_QUERIES {
                // Apache's workers count a request after they have sent its reply.
                sleep(SETTLE_PAUSE);
                let Some(next) = self.read_count()? else { return Ok(None) };
                let step = next.count.saturating_sub(current.count);
                current = next;
                if per_query.replace(step) == Some(step) && step <= 1 {
                    break;
                }
            }
            let earlier_queries = self.http_queries - 1;
            current.count = current.count.saturating_sub(per_query.unwrap_or(0).min(1) * earlier_queries);
        }
        Ok(Some(current))
    }

    /// The current count, which may include queries.
    fn read_count(&mut self) -> Result<Option<OperationCount>, InstanceError> {
        let Some((text, counters)) = self.read_statistics()? else { return Ok(None) };
        // Texts of a log may begin or end with blanks.
        let what = counters.iter().map(|name| name.trim()).collect::<Vec<_>>().join(" + ");
        // A server may list a counter only after the first operation that it counts.
        let mut count = 0;
        for name in &counters {
            count += self.counter(&text, name)?.unwrap_or(0);
        }
        let client_counter =
            self.server.statistics.as_ref().and_then(|statistics| statistics.client_counter.clone());
        Ok(Some(OperationCount { what, count, client_counter }))
    }

    /// Checks that the server has every counter. Call it after every operation has run once.
    pub(in crate::instance) fn check_counters(&mut self) -> Result<(), InstanceError> {
        let Some((text, counters)) = self.read_statistics()? else { return Ok(()) };
        for name in &counters {
            if self.counter(&text, name)?.is_none() {
                return Err(self.statistics_error(StatisticsError::NoCounter {
                    counter: name.clone(),
                    beginning: text.chars().take(200).collect(),
                }));
            }
        }
        Ok(())
    }

    /// A counter in the statistics, whole.
    fn counter(&self, text: &str, name: &str) -> Result<Option<u64>, InstanceError> {
        let source = self.server.statistics.as_ref().map(|statistics| &statistics.source);
        let value = match source {
            Some(StatisticsSource::Http(_)) => counters::of_page(text, name),
            _ => Ok(counters::value(text, name)),
        };
        Ok(value.map_err(|error| self.statistics_error(error.into()))?.map(|sum| sum as u64))
    }

    /// Reads the statistics, if the server has any with these knobs; returns the text and the names of its counters.
    fn read_statistics(&mut self) -> Result<Option<(String, Vec<String>)>, InstanceError> {
        let Some(statistics) = self.server.statistics.clone() else { return Ok(None) };
        let query =
            self.render_query(&statistics.source).map_err(|error| self.statistics_error(error.into()))?;
        if query.text.is_empty() {
            return Ok(None);
        }
        let access = self.access();
        let text = match &statistics.source {
            StatisticsSource::Http(_) => {
                self.http_queries += 1;
                access.ask(&statistics.source, &query)
            }
            StatisticsSource::Memcache(_) | StatisticsSource::Redis(_) => {
                access.ask(&statistics.source, &query)
            }
            StatisticsSource::Sql { .. } => until_stable(|| access.ask(&statistics.source, &query)),
            StatisticsSource::Log(_) => until_stable(|| {
                let path = Path::new(&query.text);
                open_log(self.directory(), path)
                    .and_then(|log| log.map_or(Ok(()), |log| self.log_counter.read_on(log)))
                    .map_err(|source| ServerQueryError::Log { path: path.to_owned(), source })?;
                Ok(self.log_counter.counts())
            }),
        };
        match text {
            Ok(text) => Ok(Some((text, statistics.counters))),
            Err(error) => Err(self.statistics_error(error.into())),
        }
    }

    fn statistics_error(&self, source: StatisticsError) -> InstanceError {
        InstanceError::Statistics { server: self.server.name.clone(), source }
    }
}

/// Opens a log that the server writes; none if there is no log yet. Below the server's directory no link is followed.
fn open_log(directory: &Path, path: &Path) -> io::Result<Option<File>> {
    let opened = match path.strip_prefix(directory) {
        Ok(below) => regular_file::open_below(directory, below),
        Err(_) => regular_file::open(path),
    };
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// Reads until two replies are equal. PostgreSQL adds the counts of a session when the session ends, and a separate
/// process may write a log with a delay.
fn until_stable(
    mut read: impl FnMut() -> Result<String, ServerQueryError>,
) -> Result<String, ServerQueryError> {
    let mut reply = read()?;
    for _ in 0..SETTLE_QUERIES {
        sleep(SETTLE_PAUSE);
        let next = read()?;
        if next == reply {
            break;
        }
        reply = next;
    }
    Ok(reply)
}
