//! Telemetry of this machine and of a server that has something to do.

use std::time::Duration;

use crate::common::{eventually, local, perl};
use host::telemetry::{Recording, Sampler, Watch};

/// Two processes: one that computes, and one that waits with a file open.
const BUSY: &str = r#"
    if (fork) { while (1) { $x++ } }
    open F, "<", "/dev/null"; select undef, undef, undef, 0.001 while 1;
"#;

/// A recording with at least so many samples.
fn record(sampler: Sampler, count: usize) -> Recording {
    eventually("there are samples", || sampler.so_far().samples.len() >= count);
    sampler.stop()
}

fn mean(recording: &Recording, column: &str) -> Option<f64> {
    recording.mean(column, 0..=u64::MAX)
}

#[test]
fn a_server_s_processes_are_seen_in_all_columns() -> Result<(), Box<dyn std::error::Error>> {
    let (dir, host) = (tempfile::tempdir()?, local());
    let server = host.start(&perl(BUSY, dir.path()))?;
    eventually("it has forked", || server.tree().processes().len() == 2);
    let watch = Watch { name: "server".into(), trees: vec![server.tree()] };
    let recording = record(host.sample(vec![watch], Duration::from_millis(100))?, 5);

    assert_eq!(mean(&recording, "server.processes"), Some(2.0));
    assert_eq!(mean(&recording, "server.threads"), Some(2.0));
    assert!(mean(&recording, "server.cpu.user") > Some(0.0), "the one that computes takes CPU time");
    assert!(mean(&recording, "server.switches.voluntary") > Some(0.0), "the one that waits waits");
    assert!(mean(&recording, "server.descriptors") > Some(6.0), "standard streams, twice, and a file");
    assert!(mean(&recording, "server.rss") > Some(1e6));
    assert!(server.tree().pss_bytes() > Some(100_000));
    Ok(())
}

#[test]
fn this_machine_has_the_columns_that_every_linux_has() -> std::io::Result<()> {
    let recording = record(local().sample(Vec::new(), Duration::from_millis(50))?, 3);
    for name in ["cpu.user", "cpu.idle", "cpu.steal", "context_switches", "interrupts", "runnable", "load1"] {
        assert!(mean(&recording, name).is_some(), "{name} is missing");
    }
    for name in
        ["memory.available", "swap.out", "tcp.retransmits", "tcp.listen_overflows", "softnet.squeezed"]
    {
        assert!(mean(&recording, name).is_some(), "{name} is missing");
    }
    let mut names: Vec<_> = recording.columns.iter().map(|column| &column.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), recording.columns.len(), "no name stands for two columns");
    Ok(())
}

/// CPU time of all kinds that the kernel has accounted for since the machine began, in seconds of one CPU.
fn accounted_s() -> Result<f64, Box<dyn std::error::Error>> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    // proc(5): the first eight are the kinds; guests' time, the ninth and tenth, is in the first two.
    let kinds = stat.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
    let ticks = kinds.map(str::parse::<u64>).sum::<Result<u64, std::num::ParseIntError>>()?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[test]
fn all_kinds_of_cpu_time_together_are_what_the_kernel_accounts_for() -> Result<(), Box<dyn std::error::Error>>
{
    let before = accounted_s()?;
    let recording = record(local().sample(Vec::new(), Duration::from_millis(200))?, 5);
    // Not the time that has passed: what a hypervisor took is accounted for when it is over, at once.
    let accounted = accounted_s()? - before;
    let kinds = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let cores: f64 = kinds.iter().filter_map(|kind| mean(&recording, &format!("cpu.{kind}"))).sum();
    let recorded = cores * recording.samples.last().map_or(0.0, |sample| sample.t_us as f64 / 1e6);
    assert!((recorded / accounted - 1.0).abs() < 0.3, "{recorded} s recorded of {accounted} s");
    Ok(())
}

#[test]
fn samples_come_on_the_grid_of_the_start_and_time_only_grows() -> std::io::Result<()> {
    let period_us = 20_000;
    let recording = record(local().sample(Vec::new(), Duration::from_micros(period_us))?, 20);
    let times: Vec<u64> = recording.samples.iter().map(|sample| sample.t_us).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    // One that comes late does not make the next late: no two are in the same stretch of the grid. The last
    // one is the stop's.
    let stretches: Vec<u64> = times[..times.len() - 1].iter().map(|t_us| t_us / period_us).collect();
    assert!(stretches.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    assert!(recording.samples.iter().all(|sample| sample.values.len() == recording.columns.len()));
    assert!(recording.cost > Duration::ZERO);
    Ok(())
}

#[test]
fn a_period_that_makes_no_sense_is_refused() {
    for period in [Duration::ZERO, Duration::from_micros(1), Duration::MAX] {
        let error = local().sample(Vec::new(), period).expect_err("refused").to_string();
        assert!(error.contains("give 10ms to 3600s"), "{error}");
    }
}

#[test]
fn cpus_that_are_kept_busy_say_what_the_hypervisor_takes() -> std::io::Result<()> {
    let host = local();
    let cpus = host.allowed_cpus()?;
    let busy = |recording: &Recording| mean(recording, "cpu.user").unwrap_or(0.0);
    let sampler = host.sample(Vec::new(), Duration::from_millis(50))?;
    let stolen = host.stolen_under_load(&cpus, Duration::from_millis(300))?.expect("the kernel says");
    let recording = sampler.stop();
    assert!(stolen >= 0.0, "{stolen}");
    // What it takes, and what other tests do meanwhile, is not ours; the rest we keep busy.
    assert!(busy(&recording) > 0.2, "{} cores were busy", busy(&recording));
    Ok(())
}
