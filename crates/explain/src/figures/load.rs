//! Figures of the load: the closed loop and the client.

use super::plain::Plain;
use super::set::{Figures, Kind, NUMBER, PER_SECOND, SHARE};
use crate::perturbable_loop::SliceReading;

const SOURCE: &str = "load engine";

/// Adds them.
pub(super) fn add(plain: &Plain<'_>, figures: &mut Figures) {
    let kind = |unit| Kind { unit, source: SOURCE };
    let operations = plain.total(|reading| reading.operations as f64);
    // Failed operations have no response time. Where all fail, none is known.
    let succeeded = |reading: &SliceReading| (reading.operations - reading.failed) as f64;
    let response =
        plain.total(|reading| reading.mean_response_s * succeeded(reading)) / plain.total(succeeded);
    let in_progress = plain.ended_per_s() * response;
    // A program that makes its own load has as many as it has operations in progress, by Little's law.
    let connections = if plain.facts.makes_own_load {
        Some(in_progress)
    } else {
        plain.mean(|reading| Some(reading.connections.into()))
    };
    figures.add(
        "loop.connections",
        connections,
        kind(NUMBER),
        "connections, each with one operation at a time",
    );
    let delay = Some(plain.facts.mean_delay_s);
    figures.add(
        "loop.delay",
        delay,
        kind("s"),
        "mean delay between the operations of a user; 0 without users who wait",
    );
    let throughput = plain.mean(|reading| Some(reading.throughput_per_s));
    figures.add("loop.throughput", throughput, kind(PER_SECOND), "operations per second that succeeded");
    figures.add("loop.response", Some(response * 1e6), kind("µs"), "mean response time");
    // Little's law: in a closed loop without think time, throughput times response time is the number of connections.
    let share =
        connections.filter(|_| !plain.facts.makes_own_load).map(|connections| in_progress / connections);
    figures.add("loop.share", share, kind(SHARE), "connections with an operation in progress, X·R/N");
    let failed = plain.total(|reading| reading.failed as f64) / operations;
    figures.add("loop.failed", Some(failed), kind(SHARE), "operations that failed");
    let client = plain.mean(|reading| reading.client_utilisation);
    let client_kind = Kind { unit: SHARE, source: "CPU clocks of the client's threads" };
    figures.add("client.utilisation", client, client_kind, "share of its cores that the client used");
}
