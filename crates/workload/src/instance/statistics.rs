//! What a server has counted by itself, to be held against what the client has counted.

use super::error::InstanceError;
use super::running::Instance;
use super::{counters, exchange};
use crate::definition::Ask;

/// A server's count of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// What it counts, in the server's words: `cmd_get + cmd_set`.
    pub what: String,
    /// How many since it was started.
    pub count: u64,
}

impl Instance {
    /// How many operations the server has counted since its start; none if it keeps no count.
    ///
    /// What we ask over HTTP is a request too. Our questions are left out, up to one: whether a server
    /// counts a question before it answers differs, but it is the same each time, so that the difference
    /// of two counts is exact.
    pub fn count(&mut self) -> Result<Option<Count>, InstanceError> {
        let Some(statistics) = self.server.statistics.clone() else { return Ok(None) };
        let text = self.ask(&statistics.ask)?;
        // A server may name a counter only once it has something to count.
        let sum: u64 = statistics.counters.iter().filter_map(|name| counters::read(&text, name)).sum();
        let count = sum.saturating_sub(self.asked);
        self.asked += u64::from(matches!(statistics.ask, Ask::Http(_)));
        Ok(Some(Count { what: statistics.counters.join(" + "), count }))
    }

    /// After every operation was carried out, every counter must be there.
    pub(super) fn check_counters(&mut self) -> Result<(), InstanceError> {
        let Some(statistics) = self.server.statistics.clone() else { return Ok(()) };
        let text = self.ask(&statistics.ask)?;
        self.asked += u64::from(matches!(statistics.ask, Ask::Http(_)));
        match statistics.counters.iter().find(|name| counters::read(&text, name).is_none()) {
            None => Ok(()),
            Some(missing) => Err(self.no_counts(format!(
                "there is no counter {missing:?} in what it says, which begins {:?}",
                text.chars().take(200).collect::<String>()
            ))),
        }
    }

    fn ask(&self, ask: &Ask) -> Result<String, InstanceError> {
        let answer = match ask {
            Ask::Http(path) => exchange::http_get(self.address, path).and_then(|reply| match reply.status {
                200..400 => Ok(reply.body),
                status => Err(format!("{path} is answered with status {status}")),
            }),
            Ask::Memcache(command) => {
                let request = format!("{command}\r\n");
                exchange::converse(self.address, request.as_bytes(), |text| text.ends_with(b"END\r\n"))
            }
            Ask::Redis(command) => {
                // Inline commands; QUIT makes the server close at the end of its answer.
                let auth = self.password.iter().map(|password| format!("AUTH {}\r\n", password.reveal()));
                let request = auth.chain([format!("{command}\r\nQUIT\r\n")]).collect::<String>();
                exchange::converse(self.address, request.as_bytes(), |_| false)
            }
        };
        answer.map_err(|what| self.no_counts(what))
    }

    fn no_counts(&self, what: String) -> InstanceError {
        InstanceError::Statistics { server: self.server.name.clone(), what }
    }
}
