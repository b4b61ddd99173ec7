//! The report of `showdown hosts` on a terminal.

use std::fmt::Write;

use host::doctor::{HostFinding, Severity};
use machine::protocol::NetworkPath;
use machine::survey::{HostFound, HostReport, HostsReport, NetworkReport};

use super::layout::table::table;
use super::layout::units::{plural, rate, time};
use crate::color;

/// How many can be used, each host, the network between them, and the notes. Problems are printed elsewhere.
pub fn report(report: &HostsReport) -> String {
    let usable = report.hosts.iter().filter(|host| host.problems.is_empty()).count();
    let all = plural(report.hosts.len() as u64, "host");
    let answer = match usable {
        _ if usable == report.hosts.len() && usable == 1 => "The host can be used.".to_owned(),
        _ if usable == report.hosts.len() => format!("All {all} can be used."),
        usable => format!("{usable} of {all} can be used."),
    };
    let mut out = format!("{}\n", color::heading(answer));
    for host in &report.hosts {
        out.push('\n');
        out.push_str(&self::host(host));
    }
    if !report.network.is_empty() {
        out.push('\n');
        out.push_str(&network(&report.network));
    }
    for note in &report.notes {
        let _ = writeln!(out, "\nNote: {note}.");
    }
    out
}

fn host(host: &HostReport) -> String {
    let way = host.ssh.as_ref().map_or_else(|| "this machine".to_owned(), |ssh| format!("ssh {ssh}"));
    let kind = host.kind.as_ref().map_or(String::new(), |kind| format!(", kind {kind}"));
    let mut out = format!("{}  {}, {way}{kind}\n", color::heading(&host.name), host.address);
    match &host.found {
        _ if !host.reachable => {
            let _ = writeln!(out, "  {}", color::bad("not reachable"));
        }
        Some(found) => out.push_str(&self::found(found)),
        None => {}
    }
    for caution in &host.cautions {
        let _ = writeln!(out, "  {}  {caution}", color::caution("WARN"));
    }
    out
}

fn found(found: &HostFound) -> String {
    let mut out = format!("  {}\n", found.summary);
    let clock = found.clock;
    let direction = if clock.wall_ns < 0 { "behind" } else { "ahead" };
    let _ = writeln!(
        out,
        "  showdown {}, user {}, CPUs {} of {}",
        found.version, found.user_id, found.cpus, found.allowed_cpus
    );
    let _ = writeln!(
        out,
        "  clock {} {direction} ± {}, round trip {} by its connection",
        time(clock.wall_ns.unsigned_abs() as f64 / 1e3),
        time(clock.error_ns as f64 / 1e3),
        time(clock.round_trip_ns as f64 / 1e3),
    );
    let warnings: Vec<&HostFinding> =
        found.findings.iter().filter(|finding| finding.level == Severity::Warn).collect();
    let fitness = match warnings.len() {
        0 => color::good("fit for benchmarking"),
        count => color::caution(format!("fit with limits: {}", plural(count as u64, "warning"))),
    };
    let _ = writeln!(out, "  {fitness}");
    for finding in warnings {
        let _ = writeln!(out, "  {}  {}: {}", color::caution("WARN"), finding.id, finding.found);
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(out, "        → {remedy}");
        }
    }
    out
}

fn network(paths: &[NetworkReport]) -> String {
    let head = ["between hosts", "round trip", "p99", "1 stream", "and back", "8 streams", "and back"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut out = String::new();
    for NetworkReport { from, to, path, problems } in paths {
        let way = format!("{from} → {to}");
        rows.push(
            path.as_ref().map_or_else(|| vec![way.clone(), "–".to_owned()], |path| row(way.clone(), path)),
        );
        for problem in problems {
            let _ = writeln!(out, "  {}  {problem}", color::caution("WARN"));
        }
    }
    table(&rows) + &out
}

fn row(way: String, path: &NetworkPath) -> Vec<String> {
    // As all answers have bytes a second.
    let megabytes = |bytes_per_s: f64| format!("{} MB/s", rate(bytes_per_s / 1e6));
    vec![
        way,
        time(path.median_us),
        time(path.p99_us),
        megabytes(path.one_stream_bytes_per_s),
        megabytes(path.one_stream_back_bytes_per_s),
        megabytes(path.eight_streams_bytes_per_s),
        megabytes(path.eight_streams_back_bytes_per_s),
    ]
}

#[cfg(test)]
mod tests {
    use machine::clock::ClockOffset;

    use super::*;

    fn path() -> NetworkPath {
        NetworkPath {
            round_trips: 200,
            median_us: 85.0,
            p99_us: 240.0,
            one_stream_bytes_per_s: 1.25e9,
            one_stream_back_bytes_per_s: 1.2e9,
            eight_streams_bytes_per_s: 1.3e9,
            eight_streams_back_bytes_per_s: 1.29e9,
        }
    }

    #[test]
    fn the_text_has_each_host_and_the_network() {
        let finding = |level, id: &'static str| HostFinding {
            id: id.into(),
            level,
            found: "found".to_owned(),
            why: "why".into(),
            remedy: Some("do it".to_owned()),
        };
        let found = HostFound {
            version: "0.1.0".to_owned(),
            user_id: 1000,
            summary: "a CPU, 2 cores".to_owned(),
            facts: [].into(),
            cpus: "1".to_owned(),
            allowed_cpus: "0-1".to_owned(),
            clock: ClockOffset {
                monotonic_ns: 5,
                wall_ns: -240_000,
                error_ns: 100_000,
                round_trip_ns: 200_000,
            },
            findings: vec![finding(Severity::Warn, "governor"), finding(Severity::Note, "vm")],
        };
        let old = HostReport {
            name: "old".to_owned(),
            ssh: Some("ops@old".to_owned()),
            address: "10.1.0.5".to_owned(),
            kind: Some("T2000".to_owned()),
            reachable: true,
            problems: Vec::new(),
            cautions: vec!["its wall clock is off".to_owned()],
            found: Some(found),
        };
        let new = HostReport {
            name: "new".to_owned(),
            ssh: None,
            kind: None,
            reachable: false,
            problems: vec!["host new: gone".to_owned()],
            cautions: Vec::new(),
            found: None,
            ..old.clone()
        };
        let blocked = NetworkReport {
            from: "old".to_owned(),
            to: "new".to_owned(),
            path: None,
            problems: vec!["old cannot reach new".to_owned()],
        };
        let network =
            vec![NetworkReport { path: Some(path()), problems: vec![], ..blocked.clone() }, blocked];
        let notes = vec!["a note".to_owned()];
        let text = report(&HostsReport { hosts: vec![old, new], network, notes });
        let plain = anstream::adapter::strip_str(&text).to_string();
        let expected = "\
1 of 2 hosts can be used.

old  10.1.0.5, ssh ops@old, kind T2000
  a CPU, 2 cores
  showdown 0.1.0, user 1000, CPUs 1 of 0-1
  clock 240 µs behind ± 100 µs, round trip 200 µs by its connection
  fit with limits: 1 warning
  WARN  governor: found
        → do it
  WARN  its wall clock is off

new  10.1.0.5, this machine
  not reachable

  between hosts  round trip     p99    1 stream    and back   8 streams    and back
  old → new           85 µs  240 µs  1,250 MB/s  1,200 MB/s  1,300 MB/s  1,290 MB/s
  old → new               –
  WARN  old cannot reach new

Note: a note.
";
        assert_eq!(plain, expected);
    }
}
