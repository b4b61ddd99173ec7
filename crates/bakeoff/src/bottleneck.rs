//! Which resource was full while a trial's value was measured, with the evidence.
//!
//! Full means over nine tenths. A client that is full makes the trial invalid elsewhere; here it is named
//! first, because then nothing else can be said. Which code takes the CPU is left to a profiler.

use archive::model::{ResourceUse, SaturatedResource};
use host::telemetry::Recording;

/// A resource counts as full from here on.
const FULL: f64 = 0.90;

/// What is looked at.
pub struct Situation<'a> {
    /// The host while measuring.
    pub telemetry: &'a Recording,
    /// The measured stretch, in the recording's microseconds.
    pub window_us: (u64, u64),
    /// CPUs of the server.
    pub server_cpus: &'a host::CpuSet,
    /// CPU time a second that the server's own processes took.
    pub server_cores: f64,
    /// Share of its cores that the client needed, 0 to 1; none where the server makes its load by itself.
    pub client_utilisation: Option<f64>,
}

/// Names the resource that was full.
pub fn find(situation: &Situation<'_>) -> SaturatedResource {
    let cpus = situation.server_cpus.len().max(1) as f64;
    let (from, to) = situation.window_us;
    let busy_of = |cpu: usize| -> Option<f64> {
        let idle =
            ["idle", "iowait"].map(|kind| situation.telemetry.mean(&format!("cpu.{cpu}.{kind}"), from..=to));
        Some(1.0 - idle[0]? - idle[1].unwrap_or(0.0))
    };
    let busy: Vec<f64> =
        situation.server_cpus.iter().filter_map(busy_of).map(|b| b.clamp(0.0, 1.0)).collect();
    let busy_mean = if busy.is_empty() { 0.0 } else { busy.iter().sum::<f64>() / busy.len() as f64 };
    let busiest = busy.iter().copied().fold(0.0, f64::max);
    let disk = situation
        .telemetry
        .columns
        .iter()
        .filter(|c| c.name.starts_with("disk.") && c.name.rsplit('.').next() == Some("busy"))
        .filter_map(|c| situation.telemetry.mean(&c.name, from..=to))
        .fold(0.0, f64::max);
    let pressure = situation.telemetry.mean("pressure.memory.full", from..=to).unwrap_or(0.0);
    let client = situation.client_utilisation.map(|utilisation| ("client CPU", utilisation));
    let server = [
        ("server CPUs", busy_mean),
        ("one server CPU", busiest),
        ("disk", disk),
        ("memory pressure", pressure),
    ];
    let candidates: Vec<(&str, f64)> = client.into_iter().chain(server).collect();
    let mut evidence = vec![format!(
        "the server's CPUs were busy {:.0} % (busiest {:.0} %), its own processes took {:.2} of {cpus} cores",
        busy_mean * 100.0,
        busiest * 100.0,
        situation.server_cores
    )];
    if let Some(utilisation) = situation.client_utilisation {
        evidence.push(format!("the client needed {:.0} % of its cores", utilisation * 100.0));
    }
    let full = candidates.iter().find(|(_, utilisation)| *utilisation >= FULL);
    SaturatedResource {
        resource: full.map_or("none", |(name, _)| name).to_owned(),
        utilisation: full.map(|(_, utilisation)| *utilisation),
        evidence,
        candidates: candidates
            .iter()
            .map(|(name, utilisation)| ResourceUse {
                resource: (*name).to_owned(),
                utilisation: *utilisation,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use host::telemetry::{TelemetryColumn, TelemetrySample};

    use super::*;

    fn with_idle(idle: f64, client_utilisation: f64) -> String {
        let telemetry = Recording {
            columns: vec![TelemetryColumn { name: "cpu.1.idle".to_owned(), unit: "cores", help: "" }],
            samples: vec![TelemetrySample { t_us: 1, unix_ms: 0, values: vec![Some(idle)] }],
            ..Recording::default()
        };
        let server_cpus = "1".parse().expect("a CPU");
        find(&Situation {
            telemetry: &telemetry,
            window_us: (0, 9),
            server_cpus: &server_cpus,
            server_cores: 0.9,
            client_utilisation: Some(client_utilisation),
        })
        .resource
    }

    #[test]
    fn the_full_resource_is_named_and_the_client_first() {
        assert_eq!(with_idle(0.02, 0.5), "server CPUs");
        assert_eq!(with_idle(0.02, 0.95), "client CPU");
        assert_eq!(with_idle(0.6, 0.5), "none");
    }
}
