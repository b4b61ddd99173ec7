//! Telemetry of this machine and of a busy server.

use std::time::Duration;

use procfs::{CurrentSI, KernelStats};

use crate::common::{eventually, local, perl};
use host::telemetry::{Recording, SampledServer, Sampler};

/// Two processes: one that computes, and one that waits with a file open.
const BUSY: &str = r#"
    if (fork) { while (1) { $x++ } }
    open F, "<", "/dev/null"; select undef, undef, undef, 0.001 while 1;
"#;

/// A recording with at least this many samples.
fn record(sampler: Sampler, count: usize) -> Recording {
    eventually("the recording has enough samples", || sampler.so_far().samples.len() >= count);
    sampler.stop()
}

fn mean(recording: &Recording, column: &str) -> Option<f64> {
    recording.mean(column, 0..=u64::MAX)
}

#[test]
fn a_server_has_values_in_all_its_columns() -> Result<(), Box<dyn std::error::Error>> {
    let (dir, host) = (tempfile::tempdir()?, local());
    let server = host.start(&perl(BUSY, dir.path()))?;
    eventually("the server has forked", || server.tree().processes().len() == 2);
    let sampled = SampledServer { name: "server".into(), trees: vec![server.tree()] };
    let recording = record(host.sample(vec![sampled], Duration::from_millis(100))?, 5);

    assert_eq!(mean(&recording, "server.processes"), Some(2.0));
    assert_eq!(mean(&recording, "server.threads"), Some(2.0));
    assert!(mean(&recording, "server.cpu.user") > Some(0.0), "one process computes");
    assert!(mean(&recording, "server.switches.voluntary") > Some(0.0), "one process waits");
    assert!(
        mean(&recording, "server.descriptors") > Some(6.0),
        "the standard streams of two processes, and a file"
    );
    assert!(mean(&recording, "server.rss") > Some(1e6));
    assert!(server.tree().pss_bytes() > Some(100_000));
    Ok(())
}

/// 16 processes that wait for a file, compute for some milliseconds, less than a clock tick each, and wait.
const SHORT: &str = r#"
    select undef, undef, undef, 0.02 until -e "$ARGV[0]/go";
    for (1 .. 15) { last unless fork }
    $x++ for 1 .. 50_000;
    select undef, undef, undef, 60 while 1;
"#;

/// The sum of a rate over the time of a recording.
fn total(recording: &Recording, column: &str) -> f64 {
    let at = recording.columns.iter().position(|known| known.name == column).expect("a column");
    let ends_s = recording.samples.iter().map(|sample| sample.t_us as f64 / 1e6);
    let begins_s = std::iter::once(0.0).chain(ends_s.clone());
    let rates = recording.samples.iter().map(|sample| sample.values[at].unwrap_or(0.0));
    begins_s.zip(ends_s).zip(rates).map(|((begin, end), rate)| rate * (end - begin)).sum()
}

#[test]
fn the_time_of_processes_that_compute_for_less_than_a_clock_tick_is_recorded()
-> Result<(), Box<dyn std::error::Error>> {
    let (dir, host) = (tempfile::tempdir()?, local());
    let server = host.start(&perl(SHORT, dir.path()))?;
    let tree = server.tree();
    let all = SampledServer { name: "server".into(), trees: vec![tree.clone()] };
    let sampler = host.sample(vec![all], Duration::from_millis(50))?;
    let before = tree.cpu_time();
    std::fs::write(dir.path().join("go"), "")?;
    eventually("all processes wait", || {
        let until_now = tree.cpu_time();
        std::thread::sleep(Duration::from_millis(200));
        tree.processes().len() == 16 && tree.cpu_time() == until_now
    });
    let used = tree.cpu_time().saturating_sub(before).as_secs_f64();
    let recorded = total(&sampler.stop(), "server.cpu.time");
    assert!(recorded > 0.9 * used, "{recorded} s recorded of {used} s");
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
    assert_eq!(names.len(), recording.columns.len(), "column names are unique");
    Ok(())
}

/// CPU time in all states since boot, as the kernel accounts for it, in seconds of one CPU.
fn accounted_s() -> Result<f64, Box<dyn std::error::Error>> {
    // proc(5): the time of guests is part of user and nice.
    let time = KernelStats::current()?.total;
    let optional = [time.iowait, time.irq, time.softirq, time.steal].into_iter().flatten().sum::<u64>();
    let ticks = time.user + time.nice + time.system + time.idle + optional;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[test]
fn the_sum_of_all_states_is_the_cpu_time_that_the_kernel_accounts_for()
-> Result<(), Box<dyn std::error::Error>> {
    let before = accounted_s()?;
    let recording = record(local().sample(Vec::new(), Duration::from_millis(200))?, 5);
    // Not the elapsed time: the kernel accounts for steal later, at once.
    let accounted = accounted_s()? - before;
    let states = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let cores: f64 = states.iter().filter_map(|state| mean(&recording, &format!("cpu.{state}"))).sum();
    let recorded = cores * recording.samples.last().map_or(0.0, |sample| sample.t_us as f64 / 1e6);
    // The recording begins and ends within the other, which a busy machine makes longer.
    let share = recorded / accounted;
    assert!((0.3..1.5).contains(&share), "{recorded} s recorded of {accounted} s");
    Ok(())
}

#[test]
fn samples_are_on_the_grid_of_the_start_and_time_increases() -> std::io::Result<()> {
    let period_us = 20_000;
    let recording = record(local().sample(Vec::new(), Duration::from_micros(period_us))?, 20);
    let times: Vec<u64> = recording.samples.iter().map(|sample| sample.t_us).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    // A late sample does not delay the next one, so no two are in the same period. The last sample is the one
    // of the stop.
    let periods: Vec<u64> = times[..times.len() - 1].iter().map(|t_us| t_us / period_us).collect();
    assert!(periods.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    assert!(recording.samples.iter().all(|sample| sample.values.len() == recording.columns.len()));
    assert!(recording.cost > Duration::ZERO);
    Ok(())
}

#[test]
fn an_invalid_period_is_an_error() {
    for period in [Duration::ZERO, Duration::from_micros(1), Duration::MAX] {
        let error = local().sample(Vec::new(), period).expect_err("an invalid period").to_string();
        assert!(error.contains("give 10ms to 3600s"), "{error}");
    }
}

#[test]
fn steal_is_measured_on_busy_cpus() -> std::io::Result<()> {
    let host = local();
    let cpus = host.allowed_cpus()?;
    // Where the tests run with a niceness, their time is in another column.
    let of = |recording: &Recording, column| mean(recording, column).unwrap_or(0.0);
    let busy = |recording: &Recording| of(recording, "cpu.user") + of(recording, "cpu.nice");
    let sampler = host.sample(Vec::new(), Duration::from_millis(50))?;
    let stolen =
        host.stolen_under_load(&cpus, Duration::from_millis(300))?.expect("the kernel reports steal");
    let recording = sampler.stop();
    assert!(stolen >= 0.0, "{stolen}");
    // The hypervisor and other tests take some CPU time; the measurement uses the rest.
    assert!(busy(&recording) > 0.2, "{} cores were busy", busy(&recording));
    Ok(())
}
