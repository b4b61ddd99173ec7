//! The page of a run: one HTML file with charts in SVG, which needs nothing else. Its figures are those of `windows.jsonl`.

use std::fmt::Write;

use archive::model::thousands;

use super::before::ServerBefore;
use super::programs::ProgramComparison;
use super::record::{AnswerRecord, MailSums, ServerRecord, SessionsLeft, StepRecord, WindowRecord};
use crate::name::Name;
use crate::plan::PlannedNames;

/// Width and height of a chart's lines, in pixels.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 150.0;
/// A chart has at most this number of points; each is the mean of its seconds.
const MOST_POINTS: usize = 430;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}\
td:first-child,th:first-child{text-align:left}.scroll{overflow-x:auto}svg{width:100%;height:auto}\
.candidate{stroke:#c2410c;color:#c2410c}.control{stroke:#1d4ed8;color:#1d4ed8}.deferred{stroke:#15803d;color:#15803d}.rejected{stroke:#7e22ce;color:#7e22ce}.twice{stroke:#0e7490;color:#0e7490}\
.limit{stroke:#777;stroke-dasharray:5 4}\
polyline{fill:none;stroke-width:1.5}.axis{stroke:#bbb}.step{stroke:#e5e5e5}text{font-size:12px;fill:#555}";

/// A line of a chart.
struct Line {
    class: &'static str,
    name: String,
    /// A value for each second. None where there is none.
    values: Vec<Option<f64>>,
}

/// What the page says in words.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) sentence: &'a str,
    pub(super) steps: &'a [StepRecord],
    pub(super) programs: &'a [ProgramComparison],
    pub(super) before_breach: &'a [ServerBefore],
    pub(super) sessions_left: &'a [SessionsLeft],
}

impl<'a> From<&'a AnswerRecord> for Told<'a> {
    fn from(answer: &'a AnswerRecord) -> Self {
        let AnswerRecord { answer: sentence, steps, programs, before_breach, sessions_left, .. } = answer;
        Self { sentence, steps, programs, before_breach, sessions_left }
    }
}

/// The page of a run.
pub(super) fn page(names: &PlannedNames, told: Told<'_>, windows: &[WindowRecord]) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Live traffic: {0}</title><style>{STYLE}</style>\
         <h1>Live traffic: {0}</h1>{1}",
        escape(names.candidate.as_str()),
        body(names, told, windows)
    )
}

/// What is below the heading of the page. Its lines have classes, and whoever shows it gives them colours.
pub(super) fn body(names: &PlannedNames, told: Told<'_>, windows: &[WindowRecord]) -> String {
    let Told { sentence, steps, programs, before_breach, sessions_left } = told;
    let candidate = names.candidate.as_str();
    let control = names.control.as_ref().map(Name::as_str);
    let mut html = format!("<p><strong>{}</strong></p>", escape(sentence));
    for left in sessions_left {
        let _ = write!(html, "<p>{}", escape(&left.in_words()));
    }
    for compared in programs {
        let _ = write!(html, "<p>{}", escape(&compared.in_words()));
    }
    html.push_str(&list_of_servers(before_breach));
    html.push_str(&table_of_steps(steps));
    let share = Line {
        class: "candidate",
        name: candidate.to_owned(),
        values: windows.iter().map(|window| Some(100.0 * window.share)).collect(),
    };
    let begins: Vec<u64> = steps.iter().map(|step| step.began_s).collect();
    html.push_str(&chart("The candidate's share of all traffic, %", &[share], &begins));
    let has_mail = windows.iter().flat_map(|window| &window.servers).any(|server| server.mail.is_some());
    let figures_of_mail = if has_mail { FIGURES_OF_MAIL } else { &[] };
    for (title, value) in FIGURES.iter().chain(figures_of_mail) {
        let mut lines = vec![of_server(windows, candidate, "candidate", *value)];
        if let Some(control) = control {
            lines.push(of_server(windows, control, "control", *value));
        }
        html.push_str(&chart(title, &lines, &begins));
    }
    if control.is_some() {
        html.push_str(&evidence(windows, &begins));
    }
    html.push_str(&counters(windows));
    html.push_str(&list_of_mail(windows));
    html
}

/// Messages of each mail server over the run.
fn list_of_mail(windows: &[WindowRecord]) -> String {
    let sums = MailSums::of(windows);
    if sums.is_empty() {
        return String::new();
    }
    let mut html = "<h2>Mail</h2><ul>".to_owned();
    for sum in sums {
        let _ = write!(html, "<li>{}", escape(&sum.in_words()));
    }
    html + "</ul>"
}

/// A figure of a server in a second.
type FigureOf = fn(&ServerRecord) -> Option<f64>;

const FIGURES: &[(&str, FigureOf)] = &[
    ("Late answers, %", |server| share(server.late, server.answered)),
    ("Failed requests, %", |server| share(server.failed(), server.requests)),
    ("99th percentile of each second, ms", |server| server.p99_ms.map(f64::from)),
    ("Requests a second", |server| Some(server.requests as f64)),
    ("Sessions in progress", |server| Some(server.in_progress as f64)),
];

const FIGURES_OF_MAIL: &[(&str, FigureOf)] = &[
    ("Deferred messages, %", |server| {
        server.mail.as_ref().and_then(|mail| share(mail.deferred, mail.messages))
    }),
    ("Rejected messages, %", |server| {
        server.mail.as_ref().and_then(|mail| share(mail.rejected, mail.messages))
    }),
    ("Messages in the queue", |server| server.mail.as_ref().map(|mail| mail.queued as f64)),
    ("Age of the oldest message in the queue, s", |server| {
        server.mail.as_ref().map(|mail| mail.oldest_queued_s as f64)
    }),
];

fn share(events: u64, of: u64) -> Option<f64> {
    if of == 0 { None } else { Some(100.0 * events as f64 / of as f64) }
}

fn of_server(windows: &[WindowRecord], name: &str, class: &'static str, value: FigureOf) -> Line {
    let of_window =
        |window: &WindowRecord| window.servers.iter().find(|server| server.server == name).and_then(value);
    Line { class, name: name.to_owned(), values: windows.iter().map(of_window).collect() }
}

/// What each server did in the seconds before a breach.
fn list_of_servers(before_breach: &[ServerBefore]) -> String {
    if before_breach.is_empty() {
        return String::new();
    }
    let mut html = "<h2>In the seconds before the breach</h2><ul>".to_owned();
    for server in before_breach {
        let _ = write!(html, "<li>{}", escape(&server.in_words()));
    }
    html + "</ul>"
}

fn table_of_steps(steps: &[StepRecord]) -> String {
    let mut html =
        "<h2>Steps</h2><div id=\"steps\" class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Steps\"><table>\
                    <tr><th>step<th>begins at, s<th>share<th>response times"
            .to_owned();
    for step in steps {
        let _ = write!(
            html,
            "<tr><td>{}<td>{}<td>{:.2} %<td>{}",
            escape(&step.phase),
            step.began_s,
            100.0 * step.share,
            escape(&step.times_in_words().unwrap_or_else(|| "–".to_owned()))
        );
    }
    html + "</table></div>"
}

/// The evidence of a second.
type EvidenceOf = fn(&WindowRecord) -> Option<f64>;

const EVIDENCE: &[(&str, &str, EvidenceOf)] = &[
    ("candidate", "late", |window| window.late_log_e),
    ("control", "failed", |window| window.failed_log_e),
    ("deferred", "deferred", |window| window.deferred_log_e),
    ("rejected", "rejected", |window| window.rejected_log_e),
    ("twice", "delivered twice", |window| window.delivered_twice_log_e),
    ("limit", "here the run ends", |window| window.limit_log_e),
];

fn evidence(windows: &[WindowRecord], begins: &[u64]) -> String {
    let mut lines = Vec::new();
    for (class, name, value) in EVIDENCE {
        let values: Vec<Option<f64>> = windows.iter().map(value).collect();
        // Only runs before mail servers have all of them.
        if values.iter().any(Option::is_some) {
            lines.push(Line { class, name: (*name).to_owned(), values });
        }
    }
    chart("Evidence that the candidate does harm, ln E", &lines, begins)
}

/// The sums of the balancer's counters over the run.
fn counters(windows: &[WindowRecord]) -> String {
    let mut html =
        "<h2>The balancer's counters</h2><div id=\"counters\" class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Counters\"><table><tr><th>server<th>requests<th>refused<th>reset<th>status 5xx\
                    <th>sent to another<th>answered<th>late"
            .to_owned();
    let names = windows.first().map(|window| window.servers.as_slice()).unwrap_or_default();
    for name in names.iter().map(|server| &server.server) {
        let mut sums = [0; 7];
        let of_server =
            windows.iter().flat_map(|window| &window.servers).filter(|server| server.server == *name);
        for server in of_server {
            let values = [
                server.requests,
                server.refused,
                server.reset,
                server.status_5xx,
                server.redispatched,
                server.answered,
                server.late,
            ];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        }
        let _ = write!(html, "<tr><td>{}", escape(name));
        for sum in sums {
            let _ = write!(html, "<td>{sum}");
        }
    }
    html + "</table></div>"
}

/// Means of so many seconds that a chart has few points.
fn thinned(values: &[Option<f64>]) -> Vec<(f64, f64)> {
    let seconds = values.len().div_ceil(MOST_POINTS).max(1);
    let mut points = Vec::new();
    for (number, part) in values.chunks(seconds).enumerate() {
        let known: Vec<f64> = part.iter().copied().flatten().filter(|value| value.is_finite()).collect();
        if !known.is_empty() {
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            points.push(((number * seconds) as f64, mean));
        }
    }
    points
}

/// The number at the end of an axis, with about three digits.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size < 0.005 => "0".to_owned(),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => thousands(value),
    }
}

/// Lines over the seconds of the run, with a mark where each step begins.
fn chart(title: &str, lines: &[Line], begins: &[u64]) -> String {
    let thinned: Vec<Vec<(f64, f64)>> = lines.iter().map(|line| thinned(&line.values)).collect();
    let (mut low, mut high) = (0.0_f64, f64::MIN_POSITIVE);
    for (_, value) in thinned.iter().flatten() {
        (low, high) = (low.min(*value), high.max(*value));
    }
    let seconds = lines.iter().map(|line| line.values.len()).max().unwrap_or(0).max(2) as f64 - 1.0;
    let mut html = format!("<h2>{}</h2><p>", escape(title));
    for line in lines {
        let _ = write!(html, "<span class=\"{}\">— {}</span> ", line.class, escape(&line.name));
    }
    let _ = write!(
        html,
        "</p><svg viewBox=\"-60 -10 {} {}\" role=\"img\" aria-label=\"{}\">",
        WIDTH + 70.0,
        HEIGHT + 35.0,
        escape(title)
    );
    for begin in begins {
        let x = (WIDTH * *begin as f64 / seconds).min(WIDTH);
        let _ = write!(html, "<path class=\"step\" d=\"M{x:.1} 0V{HEIGHT}\"/>");
    }
    let _ = write!(
        html,
        "<path class=\"axis\" fill=\"none\" d=\"M0 0V{HEIGHT}H{WIDTH}\"/>\
         <text x=\"-6\" y=\"4\" text-anchor=\"end\">{}</text><text x=\"-6\" y=\"{HEIGHT}\" text-anchor=\"end\">{}</text>\
         <text x=\"{WIDTH}\" y=\"{}\" text-anchor=\"end\">{seconds:.0} s</text>",
        figure(high),
        figure(low),
        HEIGHT + 18.0
    );
    for (line, points) in lines.iter().zip(&thinned) {
        let _ = write!(html, "<polyline class=\"{}\" points=\"", line.class);
        for (second, value) in points {
            let (x, y) = (WIDTH * second / seconds, HEIGHT * (1.0 - (value - low) / (high - low)));
            let _ = write!(html, "{x:.1},{y:.1} ");
        }
        html.push_str("\"/>");
    }
    html + "</svg>"
}

/// Names come from a balancer: they are text and no markup.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn an_axis_has_about_three_digits() {
        let values = [0.0, f64::MIN_POSITIVE, 0.28, 27.273, 148.0, 4_949.0, -4.6];
        assert_eq!(values.map(figure), ["0", "0", "0.28", "27.3", "148", "4,949", "-4.60"]);
    }
}
