//! An explanation for a terminal: the sentences, what was tried, the resources, where the CPU time goes, and what cannot be told.

use std::fmt::Write as _;

use archive::model::{
    CpuDifference, CpuProfile, ExplainedServer, Explanation, Figure, SlowRequests, Suspect, SuspectWord,
    TracedRequest, WaitProfile, thousands,
};

use super::layout::sentence::capitalised;
use super::layout::table::table;
use super::layout::units::quantity;
use crate::color;

/// Functions of a profile that the terminal shows; the report has all.
const MOST_FRAMES: usize = 12;
/// Places of waits that the terminal shows.
const MOST_PLACES: usize = 8;
/// Steps of a slow operation that the terminal shows.
const MOST_STEPS: usize = 12;
/// Functions of a difference that the terminal shows.
const MOST_DIFFERENCES: usize = 12;

/// The whole answer.
pub fn text(explanation: &Explanation, dir: &str, report: Option<&str>) -> String {
    let mut out = String::new();
    for sentence in explanation.sentences() {
        let _ = writeln!(out, "{}", color::heading(capitalised(sentence)));
    }
    for server in &explanation.servers {
        out.push('\n');
        if explanation.servers.len() > 1 {
            let _ = writeln!(out, "{}\n", color::heading(&server.variant));
        }
        out.push_str(&of_server(server));
    }
    if let Some(found) = &explanation.difference {
        out.push('\n');
        out.push_str(&difference(found));
    }
    let _ = writeln!(out, "\nrun     {dir}");
    if let Some(report) = report {
        let _ = writeln!(out, "report  {report}");
    }
    out
}

fn of_server(server: &ExplainedServer) -> String {
    let closed_loop = &server.closed_loop;
    let mut out = format!(
        "Held with {} connections in a closed loop: {}/s, mean response time {}.\n",
        thousands(f64::from(closed_loop.connections)),
        thousands(closed_loop.throughput_per_s),
        quantity(closed_loop.mean_response_us, "µs"),
    );
    if !server.suspects.is_empty() {
        out.push('\n');
    }
    for suspect in &server.suspects {
        let _ = writeln!(out, "  {}  {}", word(suspect), suspect.sentence);
        for remedy in &suspect.remedies {
            let _ = writeln!(out, "             {remedy}");
        }
    }
    if !server.perturbations.is_empty() {
        out.push('\n');
        for tried in &server.perturbations {
            let _ = writeln!(out, "  {}", tried.sentence);
        }
    }
    let _ = write!(out, "\n{}", table(&resources(server)));
    if let Some(profile) = &server.profile {
        let _ = write!(out, "\n{}", profile_text(profile));
    }
    if let Some(waits) = &server.waits {
        let _ = write!(out, "\n{}", waits_text(waits));
    }
    if let Some(slow) = &server.slow_requests {
        let _ = write!(out, "\n{}", slow_requests_text(slow));
    }
    if !server.unknown.is_empty() {
        out.push('\n');
    }
    for unknown in &server.unknown {
        let _ = writeln!(out, "  {} {}: {}", color::caution("unknown:"), unknown.what, unknown.why);
    }
    out
}

/// The word of a suspect, as wide as the widest.
fn word(suspect: &Suspect) -> String {
    let word = format!("{:<9}", suspect.word.name());
    match suspect.word {
        SuspectWord::Limits | SuspectWord::Shared => color::bad(word),
        SuspectWord::Suspected => color::caution(word),
        SuspectWord::Cleared => color::good(word),
    }
}

fn resources(server: &ExplainedServer) -> Vec<Vec<String>> {
    let text =
        |figure: &Option<Figure>| figure.as_ref().map_or_else(String::new, |figure| figure.text.clone());
    let mut rows = vec![["resource", "demand", "in use", "waiting"].map(str::to_owned).to_vec()];
    for resource in server.resources.iter().filter(|resource| resource.has_figure()) {
        let cells = [&resource.demand, &resource.utilisation, &resource.saturation].map(text);
        rows.push([resource.title.clone()].into_iter().chain(cells).collect());
    }
    rows
}

fn profile_text(profile: &CpuProfile) -> String {
    let cost = profile.throughput_ratio.map_or_else(String::new, |ratio| {
        format!("; throughput while profiling {:.0} % of that without", ratio * 100.0)
    });
    let mut out = format!(
        "CPU time of an operation: {} ({} samples{cost}; {}).\n\n",
        quantity(profile.cpu_us, "µs"),
        thousands(profile.samples as f64),
        profile.level,
    );
    let share = |us: f64| format!("{:.1} %", 100.0 * us / profile.cpu_us.max(f64::MIN_POSITIVE));
    let mut rows = vec![["function", "own", "", "with callees", ""].map(str::to_owned).to_vec()];
    let shown = profile.frames.iter().take(MOST_FRAMES);
    rows.extend(shown.map(|frame| {
        let times = [frame.self_us, frame.total_us].map(|us| [quantity(us, "µs"), share(us)]).concat();
        [frame.name().into_owned()].into_iter().chain(times).collect()
    }));
    for (what, us) in profile.remainder(MOST_FRAMES) {
        rows.push(vec![what.to_owned(), quantity(us, "µs"), share(us), String::new(), String::new()]);
    }
    out.push_str(&table(&rows));
    out
}

/// Where threads wait within operations, and how long for work.
fn waits_text(waits: &WaitProfile) -> String {
    let mut out = format!(
        "Waits an operation, all threads together: {} within operations, {} for work ({}).\n\n",
        quantity(waits.blocked_us(), "µs"),
        quantity(waits.idle_us, "µs"),
        waits.basis(),
    );
    let mut rows =
        vec![["blocked on", "an operation", "times", "where", "woken by"].map(str::to_owned).to_vec()];
    let places = waits.places.iter().filter(|place| !place.is_idle);
    rows.extend(places.clone().take(MOST_PLACES).map(|place| {
        let times = place.waits.map_or_else(String::new, |waits| quantity(waits, ""));
        vec![place.kind.clone(), quantity(place.us, "µs"), times, place.place(), place.woken_by()]
    }));
    let others: f64 = places.skip(MOST_PLACES).map(|place| place.us).sum();
    if others > 0.0 {
        rows.push(["other places", &quantity(others, "µs"), "", "", ""].map(str::to_owned).to_vec());
    }
    if rows.len() == 1 {
        return out + "No wait within an operation was seen.\n";
    }
    out.push_str(&table(&rows));
    out
}

/// What slow operations consist of, and one step by step.
fn slow_requests_text(slow: &SlowRequests) -> String {
    let mut out = format!(
        "{}\n0.1 % of {} operations take longer than {}; the steps of {} are known ({}).\n\n",
        color::heading(capitalised(&slow.sentence)),
        thousands(slow.operations as f64),
        quantity(slow.slow_us, "µs"),
        thousands(slow.traced as f64),
        slow.basis(),
    );
    let mut rows = vec![["part of the response time", "slow", "median", "more"].map(str::to_owned).to_vec()];
    rows.extend(slow.parts.iter().map(|part| {
        let us = [part.slow_us, part.median_us, part.slow_us - part.median_us];
        [part.part.clone()].into_iter().chain(us.map(|us| quantity(us, "µs"))).collect()
    }));
    out.push_str(&table(&rows));
    if let Some(request) = slow.requests.iter().find(|request| request.is_slow) {
        let _ = write!(out, "\n{}", steps_text(request));
    }
    out
}

fn steps_text(request: &TracedRequest) -> String {
    let mut out = format!(
        "A slow operation ({}) step by step, {}:\n\n",
        request.operation,
        quantity(request.response_us, "µs")
    );
    let mut rows = vec![["at", "for", "step", "thread", "ended by"].map(str::to_owned).to_vec()];
    let mut steps: Vec<_> = request.steps.iter().collect();
    steps.sort_by(|a, b| b.us.total_cmp(&a.us));
    steps.truncate(MOST_STEPS);
    steps.sort_by(|a, b| a.from_us.total_cmp(&b.from_us));
    rows.extend(steps.iter().map(|step| {
        let times = [step.from_us, step.us].map(|us| quantity(us, "µs"));
        times.into_iter().chain([step.in_words(), step.thread.clone(), step.woken_by.clone()]).collect()
    }));
    let others: f64 = request.response_us - steps.iter().map(|step| step.us).sum::<f64>();
    if request.steps.len() > steps.len() {
        rows.push(["", &quantity(others, "µs"), "other steps", "", ""].map(str::to_owned).to_vec());
    }
    out.push_str(&table(&rows));
    out
}

fn difference(found: &CpuDifference) -> String {
    let CpuDifference { a, b, frames, .. } = found;
    let significant: Vec<_> = frames.iter().filter(|frame| frame.is_significant).collect();
    let mut out = format!(
        "{}\n\nOf {} functions, {} differ significantly.\n\n",
        color::heading(format!("{b} against {a}")),
        frames.len(),
        significant.len(),
    );
    if significant.is_empty() {
        return out.trim_end().to_owned() + " More samples may show some: pass --thorough.\n";
    }
    let mut rows = vec![["function", a, b, "difference", "95 % CI"].map(str::to_owned).to_vec()];
    rows.extend(significant.iter().take(MOST_DIFFERENCES).map(|frame| {
        vec![
            frame.name().into_owned(),
            quantity(frame.a_us, "µs"),
            quantity(frame.b_us, "µs"),
            quantity(frame.b_us - frame.a_us, "µs"),
            format!("{:.2} to {:.2}", frame.low_us, frame.high_us),
        ]
    }));
    out.push_str(&table(&rows));
    out
}
