//! What the parts of a server of several processes used, over its valid trials: CPU time by part.

use archive::model::{CpuTimePerOperation, PartSummary, Trial};
use stats::describe::Sample;

/// The parts in the order of their start; empty for a server of one part.
pub fn summary(trials: &[&Trial]) -> Vec<PartSummary> {
    let valid: Vec<&Trial> = trials.iter().copied().filter(|trial| trial.valid_value().is_some()).collect();
    let mut names: Vec<&str> = Vec::new();
    for part in valid.iter().filter_map(|trial| trial.server.as_ref()).flat_map(|server| &server.parts) {
        if !names.contains(&part.part.as_str()) {
            names.push(&part.part);
        }
    }
    let cpu_s: Vec<f64> = names.iter().map(|name| cpu_s(&valid, name)).collect();
    let whole_s = cpu_s.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let each: Vec<f64> =
        valid.iter().filter_map(|trial| trial.cpu_time.as_ref()).map(CpuTimePerOperation::each_us).collect();
    // The median, as that of the whole server, divided as the CPU time of all trials is.
    let median_us = Sample::new(&each).ok().map(|sample| sample.median());
    let mut parts = Vec::new();
    for (name, used_s) in names.into_iter().zip(cpu_s) {
        let usage = valid.iter().filter_map(|trial| trial.server.as_ref()).flat_map(|server| &server.parts);
        let usage: Vec<_> = usage.filter(|part| part.part == name).collect();
        let cores: Vec<f64> = usage.iter().map(|part| part.cores).collect();
        let cpu_share = used_s / whole_s;
        parts.push(PartSummary {
            part: name.to_owned(),
            cpu_share,
            cpu_us: median_us.map(|us| us * cpu_share),
            cores: Sample::new(&cores).map_or(0.0, |sample| sample.median()),
            peak_rss_bytes: usage.iter().map(|part| part.peak_rss_bytes).max().unwrap_or(0),
        });
    }
    parts
}

/// The CPU time of a part: that of its operations where they were metered, and otherwise that of the telemetry.
fn cpu_s(trials: &[&Trial], name: &str) -> f64 {
    let is_metered =
        trials.iter().any(|trial| trial.cpu_time.as_ref().is_some_and(|cpu| !cpu.parts.is_empty()));
    let mut sum_s = 0.0;
    for trial in trials {
        if let Some(cpu) = &trial.cpu_time {
            let of_part = cpu.parts.iter().filter(|part| part.part == name);
            sum_s += of_part.map(|part| part.each_us).sum::<f64>() * cpu.operations as f64 / 1e6;
        }
        if !is_metered && let Some(server) = &trial.server {
            let of_part = server.parts.iter().filter(|part| part.part == name);
            sum_s += of_part.map(|part| part.user_cpu_s + part.system_cpu_s).sum::<f64>();
        }
    }
    sum_s
}
