//! The figures as text that Prometheus and others scrape: OpenMetrics 1.0
//! (<https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md>).

use std::fmt::Write;

use super::figures::{BOUNDS_S, LiveFigures};

/// The type of the document.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The document.
pub(super) fn render(figures: &LiveFigures) -> String {
    let mut out = String::new();
    let target = escaped(&figures.target);
    family(&mut out, "showdown_load", "info", None, "What is loaded, and by which version.");
    let _ = writeln!(
        out,
        "showdown_load_info{{target=\"{target}\",version=\"{}\"}} 1",
        env!("CARGO_PKG_VERSION")
    );
    family(&mut out, "showdown_operations", "counter", None, "Operations that ended in the measured time.");
    for operation in &figures.operations {
        let name = escaped(&operation.name);
        for (outcome, count) in [("succeeded", operation.succeeded), ("failed", operation.failed)] {
            let _ = writeln!(
                out,
                "showdown_operations_total{{operation=\"{name}\",outcome=\"{outcome}\"}} {count}"
            );
        }
    }
    family(&mut out, "showdown_failures", "counter", None, "Failed operations by kind.");
    for (kind, count) in &figures.failures {
        let _ = writeln!(out, "showdown_failures_total{{kind=\"{kind}\"}} {count}");
    }
    family(
        &mut out,
        "showdown_received_bytes",
        "counter",
        Some("bytes"),
        "Bytes received, payload and framing.",
    );
    for operation in &figures.operations {
        let name = escaped(&operation.name);
        let _ = writeln!(
            out,
            "showdown_received_bytes_total{{operation=\"{name}\"}} {}",
            operation.received_bytes
        );
    }
    response_times(&mut out, figures);
    family(
        &mut out,
        "showdown_open_connections",
        "gauge",
        None,
        "Most connections that were open in the last interval.",
    );
    let _ = writeln!(out, "showdown_open_connections {}", figures.open_connections);
    out.push_str("# EOF\n");
    out
}

fn response_times(out: &mut String, figures: &LiveFigures) {
    let about = "From the intended start of an operation to the end of its reply, or to the moment at which the client gave up.";
    family(out, "showdown_response_time_seconds", "histogram", Some("seconds"), about);
    for operation in &figures.operations {
        let name = escaped(&operation.name);
        let mut up_to = 0;
        for (class, bound_s) in operation.classes.iter().zip(BOUNDS_S) {
            up_to += class;
            let _ = writeln!(
                out,
                "showdown_response_time_seconds_bucket{{operation=\"{name}\",le=\"{bound_s:?}\"}} {up_to}"
            );
        }
        let count = operation.count();
        let _ = writeln!(
            out,
            "showdown_response_time_seconds_bucket{{operation=\"{name}\",le=\"+Inf\"}} {count}"
        );
        let _ = writeln!(out, "showdown_response_time_seconds_count{{operation=\"{name}\"}} {count}");
        let _ =
            writeln!(out, "showdown_response_time_seconds_sum{{operation=\"{name}\"}} {}", operation.sum_s);
    }
}

fn family(out: &mut String, name: &str, kind: &str, unit: Option<&str>, about: &str) {
    let _ = writeln!(out, "# TYPE {name} {kind}");
    if let Some(unit) = unit {
        let _ = writeln!(out, "# UNIT {name} {unit}");
    }
    let _ = writeln!(out, "# HELP {name} {about}");
}

/// A value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::figures::example;

    #[test]
    fn classes_add_up_and_names_are_escaped() {
        let text = render(&example());
        for line in [
            "showdown_operations_total{operation=\"GET /\",outcome=\"failed\"} 1",
            "showdown_operations_total{operation=\"say \\\"hi\\\"\",outcome=\"succeeded\"} 0",
            "showdown_response_time_seconds_bucket{operation=\"GET /\",le=\"0.001\"} 1",
            "showdown_response_time_seconds_bucket{operation=\"GET /\",le=\"1.0\"} 2",
            "showdown_response_time_seconds_bucket{operation=\"GET /\",le=\"+Inf\"} 3",
            "showdown_response_time_seconds_sum{operation=\"GET /\"} 12.006",
            "showdown_failures_total{kind=\"timeout\"} 1",
            "# UNIT showdown_response_time_seconds seconds",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
