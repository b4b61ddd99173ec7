//! What happens in a run: one stream for all kinds.

use std::time::{SystemTime, UNIX_EPOCH};

use bakeoff::event::Event;
use serde::Serialize;

/// An event with its time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunEvent {
    /// When it happened: milliseconds since 1970.
    pub at_unix_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl RunEvent {
    /// It happens now.
    pub(crate) fn now(event: Event) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let at_unix_ms = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        Self { at_unix_ms, event }
    }
}

/// Receives the events. The thread that collects measurements calls it, too.
pub type RunObserver<'a> = dyn FnMut(RunEvent) + Send + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_data_with_a_time() -> serde_json::Result<()> {
        let event = RunEvent { at_unix_ms: 7, event: Event::Doing { what: "starting nginx".to_owned() } };
        let text = r#"{"at_unix_ms":7,"event":"doing","what":"starting nginx"}"#;
        assert_eq!(serde_json::to_string(&event)?, text);
        Ok(())
    }
}
