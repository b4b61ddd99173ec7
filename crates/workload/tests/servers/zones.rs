//! Copies of a server with CPUs of their own.

use std::fs;

use host::Host;
use libtest_mimic::Failed;
use workload::{Instances, StartOptions};

use crate::test_directory::{TestDirectory, resolve};

/// A field of `/proc/PID/status`.
fn status_of(pid: u32, field: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(field)?.trim().to_owned()))
}

/// Each copy has one of two CPUs, and the kernel keeps it there where this user may have control groups.
pub fn own_cpus() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let (workload, variant) = resolve("memcached:instances=2,isolation=cpus")?;
    let host = Host::local();
    let cpus: host::CpuSet = host.allowed_cpus()?.iter().take(2).collect();
    let options = StartOptions { cpus: cpus.clone(), ..directory.options()? };
    if cpus.len() == 1 {
        let error = Instances::start(&workload, &variant, &options).expect_err("one CPU").to_string();
        assert!(error.starts_with("memcached: 2 instances cannot have CPUs of their own"), "{error}");
        return Ok(());
    }
    let mut both = Instances::start(&workload, &variant, &options)?;
    assert!(both.have_own_cpus());
    let mut zones = Vec::new();
    for (tree, cpu) in both.own_trees().iter().zip(cpus.iter()) {
        let pid = tree.processes().first().expect("a process").pid;
        assert_eq!(status_of(pid, "Cpus_allowed_list:"), Some(cpu.to_string()));
        zones.push(host.process_facts(pid).expect("it runs").zone);
        // A server may ask for other CPUs.
        let words = ["-pc", &cpus.to_string(), &pid.to_string()];
        let asked = std::process::Command::new("taskset").args(words).output()?;
        if zones[0].is_some() {
            let kept = status_of(pid, "Cpus_allowed_list:");
            assert_eq!(kept, Some(cpu.to_string()), "the kernel keeps it there: {asked:?}");
        }
    }
    assert_eq!(zones[0], zones[1]);
    both.stop()?;
    Ok(())
}
