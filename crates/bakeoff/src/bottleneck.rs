//! The bottleneck: which resource was saturated while a trial's value was measured, with the evidence.
//!
//! A resource is saturated from 90 % utilisation. A saturated client is reported first, because then nothing can be
//! concluded about the server; a gate makes such a trial invalid. Which code uses the CPU is a profiler's question.
//!
//! Servers in turns share their machine: what its telemetry says is of all of them. Only what a server used in its own slices is
//! then its utilisation.

use archive::model::{ResourceUse, SaturatedResource, plural};
use host::telemetry::Recording;

/// Utilisation from which a resource is saturated.
const SATURATED: f64 = 0.90;

/// The utilisation of client, server and host while the value was measured.
pub struct ResourceReadings<'a> {
    /// The host's telemetry.
    pub telemetry: &'a Recording,
    /// Begin and end of the measurement on the recording's time line, microseconds.
    pub window_us: (u64, u64),
    /// Whether other servers were loaded in the same time, in turns.
    pub is_in_turns: bool,
    /// CPUs of the server.
    pub server_cpus: &'a host::CpuSet,
    /// CPU time that the server's processes used while it was loaded, in cores.
    pub server_cores: f64,
    /// Share of its cores that the client used, 0 to 1; none where the program under test generates the load.
    pub client_utilisation: Option<f64>,
}

/// Finds the saturated resource.
pub fn find(readings: &ResourceReadings<'_>) -> SaturatedResource {
    let (from, to) = readings.window_us;
    if readings.is_in_turns {
        let used = readings.server_cores / readings.server_cpus.len().max(1) as f64;
        return among(readings, &[("server CPUs", used)], Vec::new());
    }
    let busy_of = |cpu: usize| -> Option<f64> {
        let idle =
            ["idle", "iowait"].map(|kind| readings.telemetry.mean(&format!("cpu.{cpu}.{kind}"), from..=to));
        Some(1.0 - idle[0]? - idle[1].unwrap_or(0.0))
    };
    let busy: Vec<f64> = readings.server_cpus.iter().filter_map(busy_of).map(|b| b.clamp(0.0, 1.0)).collect();
    let busy_mean = if busy.is_empty() { 0.0 } else { busy.iter().sum::<f64>() / busy.len() as f64 };
    let busiest = busy.iter().copied().fold(0.0, f64::max);
    let disk = readings
        .telemetry
        .columns
        .iter()
        .filter(|c| c.name.starts_with("disk.") && c.name.rsplit('.').next() == Some("busy"))
        .filter_map(|c| readings.telemetry.mean(&c.name, from..=to))
        .fold(0.0, f64::max);
    let pressure = readings.telemetry.mean("pressure.memory.full", from..=to).unwrap_or(0.0);
    let server = [
        ("server CPUs", busy_mean),
        ("one server CPU", busiest),
        ("disk", disk),
        ("memory pressure", pressure),
    ];
    let busy = format!(
        "the server's CPUs were {:.0} % busy on average, the busiest one {:.0} %",
        busy_mean * 100.0,
        busiest * 100.0
    );
    among(readings, &server, vec![busy])
}

/// The saturated one among the client and these resources of the server.
fn among(
    readings: &ResourceReadings<'_>,
    server: &[(&str, f64)],
    mut evidence: Vec<String>,
) -> SaturatedResource {
    let client = readings.client_utilisation.map(|utilisation| ("client CPU", utilisation));
    let candidates: Vec<(&str, f64)> = client.into_iter().chain(server.iter().copied()).collect();
    evidence.push(format!(
        "the server's processes used {:.2} of {}",
        readings.server_cores,
        plural(readings.server_cpus.len() as u64, "core")
    ));
    if let Some(utilisation) = readings.client_utilisation {
        evidence.push(format!("the client used {:.0} % of its cores", utilisation * 100.0));
    }
    let saturated = candidates.iter().find(|(_, utilisation)| *utilisation >= SATURATED);
    SaturatedResource {
        resource: saturated.map_or("none", |(name, _)| name).to_owned(),
        utilisation: saturated.map(|(_, utilisation)| *utilisation),
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

    fn with_idle(idle: f64, client_utilisation: f64, is_in_turns: bool) -> String {
        let telemetry = Recording {
            columns: vec![TelemetryColumn {
                name: "cpu.1.idle".to_owned(),
                unit: "cores".into(),
                help: "".into(),
            }],
            samples: vec![TelemetrySample { t_us: 1, unix_ms: 0, values: vec![Some(idle)] }],
            ..Recording::default()
        };
        let server_cpus = "1".parse().expect("a CPU");
        find(&ResourceReadings {
            telemetry: &telemetry,
            window_us: (0, 9),
            is_in_turns,
            server_cpus: &server_cpus,
            server_cores: 0.93,
            client_utilisation: Some(client_utilisation),
        })
        .resource
    }

    #[test]
    fn the_saturated_resource_is_named_and_the_client_first() {
        assert_eq!(with_idle(0.02, 0.5, false), "server CPUs");
        assert_eq!(with_idle(0.02, 0.95, false), "client CPU");
        assert_eq!(with_idle(0.6, 0.5, false), "none");
    }

    #[test]
    fn idle_time_between_the_slices_of_a_server_in_turns_is_not_its_own() {
        assert_eq!(with_idle(0.6, 0.5, true), "server CPUs");
        assert_eq!(with_idle(0.6, 0.95, true), "client CPU");
    }
}
