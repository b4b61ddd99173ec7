//! Sends the figures to a collector: OTLP 1.x over HTTP in JSON (<https://opentelemetry.io/docs/specs/otlp/>). JSON, because it
//! needs neither generated code nor a runtime: decision 0043. A collector that does not answer is named once, and the load goes on.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use ureq::Agent;
use url::Url;

use super::figures::{BOUNDS_S, LiveFigures, locked, unix_ns};
use super::listener::lowest_priority;
use crate::print::note;

/// How often the figures are sent.
const EVERY: Duration = Duration::from_secs(5);
/// A collector answers within this.
const PATIENCE: Duration = Duration::from_secs(3);
/// Counters count from the begin of the load (`AGGREGATION_TEMPORALITY_CUMULATIVE`).
const CUMULATIVE: u8 = 2;

/// An exporter. When it is dropped, it sends the last figures and ends.
pub(super) struct OtlpExporter {
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl OtlpExporter {
    pub(super) fn start(url: &Url, figures: Arc<Mutex<LiveFigures>>) -> anyhow::Result<Self> {
        let (ends, over) = mpsc::channel::<()>();
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .proxy(None)
            .user_agent("showdown");
        let agent: Agent = config.build().into();
        let url = url.clone();
        let builder = thread::Builder::new().name("otlp".to_owned());
        let thread =
            builder.spawn(move || send(&agent, &url, &figures, &over)).context("cannot start a thread")?;
        Ok(Self { ends: Some(ends), thread: Some(thread) })
    }
}

impl Drop for OtlpExporter {
    fn drop(&mut self) {
        drop(self.ends.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Sends the figures again and again, and a last time when the load is over.
fn send(agent: &Agent, url: &Url, figures: &Mutex<LiveFigures>, over: &Receiver<()>) {
    lowest_priority();
    let mut has_failed = false;
    loop {
        let is_last = over.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout);
        let body = document(&locked(figures).clone(), unix_ns()).to_string();
        let sent = agent.post(url.as_str()).header("Content-Type", "application/json").send(body);
        if let (Err(error), false) = (sent, has_failed) {
            note(&format!("--otlp {url}: {error}: check that a collector listens there for OTLP over HTTP"));
            has_failed = true;
        }
        if is_last {
            return;
        }
    }
}

/// A counter's point: 64-bit integers are texts in the JSON of protocol buffers.
fn counted(attributes: &Value, count: u64, (since, now): (&str, &str)) -> Value {
    json!({ "attributes": attributes, "startTimeUnixNano": since, "timeUnixNano": now, "asInt": count.to_string() })
}

/// A counter.
fn sum(name: &str, unit: &str, points: &[Value]) -> Value {
    let data = json!({ "aggregationTemporality": CUMULATIVE, "isMonotonic": true, "dataPoints": points });
    json!({ "name": name, "unit": unit, "sum": data })
}

/// An `ExportMetricsServiceRequest`.
fn document(figures: &LiveFigures, now_unix_ns: u128) -> Value {
    let (since, now) = (figures.since_unix_ns.to_string(), now_unix_ns.to_string());
    let span = (since.as_str(), now.as_str());
    let (mut operations, mut received, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for operation in &figures.operations {
        for (outcome, count) in [("succeeded", operation.succeeded), ("failed", operation.failed)] {
            let named = attributes(&[("operation", &operation.name), ("outcome", outcome)]);
            operations.push(counted(&named, count, span));
        }
        let name = attributes(&[("operation", &operation.name)]);
        received.push(counted(&name, operation.received_bytes, span));
        let classes: Vec<String> = operation.classes.iter().map(u64::to_string).collect();
        times.push(json!({
            "attributes": name, "startTimeUnixNano": since, "timeUnixNano": now, "count": operation.count().to_string(),
            "sum": operation.sum_s, "bucketCounts": classes, "explicitBounds": BOUNDS_S,
        }));
    }
    let mut failures = Vec::new();
    for (kind, count) in &figures.failures {
        failures.push(counted(&attributes(&[("kind", kind)]), *count, span));
    }
    let open = json!({ "timeUnixNano": now, "asInt": figures.open_connections.to_string() });
    let metrics = json!([
        sum("showdown.operations", "{operation}", &operations),
        sum("showdown.failures", "{operation}", &failures),
        sum("showdown.received", "By", &received),
        { "name": "showdown.response_time", "unit": "s", "histogram": { "aggregationTemporality": CUMULATIVE, "dataPoints": times } },
        { "name": "showdown.open_connections", "unit": "{connection}", "gauge": { "dataPoints": [open] } },
    ]);
    json!({ "resourceMetrics": [{
        "resource": { "attributes": attributes(&[("service.name", "showdown"), ("service.version", env!("CARGO_PKG_VERSION")), ("showdown.target", &figures.target)]) },
        "scopeMetrics": [{ "scope": { "name": "showdown" }, "metrics": metrics }],
    }] })
}

fn attributes(pairs: &[(&str, &str)]) -> Value {
    let each = pairs.iter().map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } }));
    Value::Array(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::figures::example;

    #[test]
    fn the_document_has_cumulative_sums_and_a_histogram() {
        let document = document(&example(), 1_700_000_005_000_000_000);
        let metrics = &document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let first = &metrics[0]["sum"]["dataPoints"][0];
        assert_eq!(
            (&first["asInt"], &first["startTimeUnixNano"]),
            (&json!("3"), &json!("1700000000000000000"))
        );
        let times = &metrics[3]["histogram"]["dataPoints"][0];
        let (counts, bounds) = (times["bucketCounts"].as_array(), times["explicitBounds"].as_array());
        assert_eq!(counts.map(Vec::len), bounds.map(|bounds| bounds.len() + 1));
        assert_eq!((&times["count"], &times["sum"]), (&json!("3"), &json!(12.006)));
    }
}
