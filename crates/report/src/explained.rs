//! An explanation as Markdown, in the order of the page: the sentences, and for each server the suspects, what was tried, the
//! resources, the CPU time, the waits and what is unknown.

pub(crate) mod table;

use crate::{escape::plain, words};
use archive::model::{
    CpuDifference, CpuProfile, ExplainedServer, Explanation, Figure, FrameCost, SlowRequests, WaitProfile,
    thousands,
};
use std::fmt::Write;

/// Maximum functions of a table: too many rows are not read in a pull request.
const MAX_FUNCTIONS: usize = 20;
/// Maximum places of waits of a table.
const MAX_PLACES: usize = 12;
const NONE: &str = "–";

/// Writing to a string does not fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {{ let _ = writeln!($out, $($text)*); }};
}

pub(crate) fn render(out: &mut String, explanation: &Explanation) {
    for sentence in explanation.sentences() {
        line!(out, "**{}.**\n", plain(sentence.trim_end_matches('.')));
    }
    for server in &explanation.servers {
        line!(out, "### {}\n", plain(&server.variant));
        load(out, server);
        suspects(out, server);
        tried(out, server);
        resources(out, server);
        statistics(out, server);
        if let Some(profile) = &server.profile {
            functions(out, profile);
        }
        if let Some(found) = &server.waits {
            waits(out, found);
        }
        if let Some(found) = &server.slow_requests {
            slow_requests(out, found);
        }
        for unknown in &server.unknown {
            line!(out, "- unknown: {}: {}", plain(&unknown.what), plain(&unknown.why));
        }
        if !server.unknown.is_empty() {
            out.push('\n');
        }
    }
    if let Some(found) = &explanation.difference {
        difference(out, found);
    }
}

fn load(out: &mut String, server: &ExplainedServer) {
    let closed_loop = &server.closed_loop;
    line!(
        out,
        "Held with {} connections in a closed loop: {}/s, mean response time {}.\n",
        thousands(f64::from(closed_loop.connections)),
        thousands(closed_loop.throughput_per_s),
        words::quantity(closed_loop.mean_response_us, "µs")
    );
}

fn suspects(out: &mut String, server: &ExplainedServer) {
    for suspect in &server.suspects {
        line!(out, "- **{}**: {}", suspect.word.name(), plain(&suspect.sentence));
        for figure in &suspect.evidence {
            let Figure { text, about, source, .. } = figure;
            line!(out, "  - {}: {} (from {})", plain(text), plain(about), plain(source));
        }
        for remedy in &suspect.remedies {
            line!(out, "  - remedy: {}", plain(remedy));
        }
    }
    if !server.suspects.is_empty() {
        out.push('\n');
    }
}

fn tried(out: &mut String, server: &ExplainedServer) {
    if server.perturbations.is_empty() {
        return;
    }
    line!(
        out,
        "| what was tried | elasticity of throughput | interval | pairs | result |\n|---|--:|:-:|--:|---|"
    );
    for tried in &server.perturbations {
        let [value, interval] = tried.elasticity.map_or([NONE.to_owned(), NONE.to_owned()], |found| {
            [format!("{:.2}", found.value), format!("{:.2} to {:.2}", found.low, found.high)]
        });
        let [title, sentence] = [&tried.title, &tried.sentence].map(|text| plain(text));
        line!(out, "| {title} | {value} | {interval} | {} | {sentence} |", tried.pairs.len());
    }
    out.push('\n');
}

fn resources(out: &mut String, server: &ExplainedServer) {
    if server.resources.is_empty() {
        return;
    }
    let cell = |figure: &Option<Figure>| {
        figure.as_ref().map_or_else(
            || NONE.to_owned(),
            |figure| format!("{} ({})", plain(&figure.text), plain(&figure.source)),
        )
    };
    line!(out, "| resource | demand | in use | waiting | missing |\n|---|---|---|---|---|");
    for resource in &server.resources {
        let cells = [&resource.demand, &resource.utilisation, &resource.saturation].map(cell).join(" | ");
        let missing = plain(resource.missing.as_deref().unwrap_or_default());
        line!(out, "| {} | {cells} | {missing} |", plain(&resource.title));
    }
    out.push('\n');
}

fn statistics(out: &mut String, server: &ExplainedServer) {
    if server.statistics.is_empty() {
        return;
    }
    line!(
        out,
        "| the server's own statistics | value | an operation | limit | meaning |\n|---|--:|--:|--:|---|"
    );
    let amount = |value: Option<f64>| value.map_or_else(|| NONE.to_owned(), words::amount);
    for found in &server.statistics {
        line!(
            out,
            "| {} | {} | {} | {} | {} |",
            plain(&found.name),
            plain(&words::quantity(found.value, &found.unit)),
            amount(found.per_operation),
            amount(found.limit),
            plain(&found.about)
        );
    }
    out.push('\n');
}

fn functions(out: &mut String, profile: &CpuProfile) {
    let us = |us: f64| words::quantity(us, "µs");
    let share = |us: f64| words::percent(us / profile.cpu_us.max(f64::MIN_POSITIVE));
    let cost = profile.throughput_ratio.map_or_else(String::new, |ratio| {
        format!("; throughput while profiling {:.0} % of that without", ratio * 100.0)
    });
    line!(
        out,
        "CPU time of an operation: {} ({} samples{cost}; {}).\n",
        us(profile.cpu_us),
        thousands(profile.samples as f64),
        plain(&profile.level)
    );
    line!(out, "| function | own | | with callees | |\n|---|--:|--:|--:|--:|");
    for frame in profile.frames.iter().take(MAX_FUNCTIONS) {
        let FrameCost { self_us, total_us, .. } = *frame;
        let name = plain(&frame.name());
        line!(
            out,
            "| {name} | {} | {} | {} | {} |",
            us(self_us),
            share(self_us),
            us(total_us),
            share(total_us)
        );
    }
    for (what, own) in profile.remainder(MAX_FUNCTIONS) {
        line!(out, "| {what} | {} | {} | | |", us(own), share(own));
    }
    out.push('\n');
}

fn waits(out: &mut String, found: &WaitProfile) {
    let us = |us: f64| words::quantity(us, "µs");
    line!(
        out,
        "Waits of an operation, all threads together: {} within operations, {} for work ({}).\n",
        us(found.blocked_us()),
        us(found.idle_us),
        plain(&found.basis())
    );
    line!(out, "| blocked on | an operation | times | where | woken by |\n|---|--:|--:|---|---|");
    for place in found.places.iter().take(MAX_PLACES) {
        let kind = if place.is_idle { format!("for work: {}", place.kind) } else { place.kind.clone() };
        let times = place.waits.map_or_else(|| NONE.to_owned(), words::amount);
        let [kind, at, waker] = [&kind, &place.place(), &place.woken_by()].map(|text| plain(text));
        line!(out, "| {kind} | {} | {times} | {at} | {waker} |", us(place.us));
    }
    out.push('\n');
}

fn slow_requests(out: &mut String, found: &SlowRequests) {
    let us = |us: f64| words::quantity(us, "µs");
    line!(
        out,
        "Slow requests: {}. 0.1 % of {} operations take longer than {}; the steps of {} are known ({}).\n",
        plain(&found.sentence),
        thousands(found.operations as f64),
        us(found.slow_us),
        thousands(found.traced as f64),
        plain(&found.basis())
    );
    line!(out, "| part of the response time | slow | median | more |\n|---|--:|--:|--:|");
    for part in &found.parts {
        let [slow, median, more] = [part.slow_us, part.median_us, part.slow_us - part.median_us].map(us);
        line!(out, "| {} | {slow} | {median} | {more} |", plain(&part.part));
    }
    out.push('\n');
    for request in &found.requests {
        let kind = if request.is_slow { "slow" } else { "median" };
        let took = us(request.response_us);
        line!(out, "A {kind} operation ({}) step by step, {took}:\n", plain(&request.operation));
        line!(out, "| at | for | step | thread | ended by |\n|--:|--:|---|---|---|");
        for step in &request.steps {
            let [at, long] = [step.from_us, step.us].map(us);
            let [words, thread, ended] =
                [&step.in_words(), &step.thread, &step.woken_by].map(|text| plain(text));
            line!(out, "| {at} | {long} | {words} | {thread} | {ended} |");
        }
        out.push('\n');
    }
}

fn difference(out: &mut String, found: &CpuDifference) {
    let [a, b] = [&found.a, &found.b].map(|name| plain(name));
    let significant: Vec<_> = found.frames.iter().filter(|frame| frame.is_significant).collect();
    line!(
        out,
        "### {b} against {a}\n\nOf {} functions, {} differ significantly.\n",
        found.frames.len(),
        significant.len()
    );
    if significant.is_empty() {
        return;
    }
    line!(out, "| function | {a}, µs | {b}, µs | difference, µs | 95 % CI, µs |\n|---|--:|--:|--:|:-:|");
    for frame in significant.iter().take(MAX_FUNCTIONS) {
        let [of_a, of_b] = [frame.a_us, frame.b_us].map(words::amount);
        let change = frame.b_us - frame.a_us;
        let name = plain(&frame.name());
        line!(
            out,
            "| {name} | {of_a} | {of_b} | {change:+.2} | {:.2} to {:.2} |",
            frame.low_us,
            frame.high_us
        );
    }
    let more = significant.len().saturating_sub(MAX_FUNCTIONS);
    if more > 0 {
        line!(out, "\n… and {more} more: `--format csv` has them all.");
    }
    out.push('\n');
}
