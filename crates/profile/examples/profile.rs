//! Profiles a process with its descendants: `cargo run -p profile --example profile -- PID [SECONDS [SAMPLES_PER_S]]`.
//! Folded stacks are on standard output, and what is missing in them on standard error.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::time::Duration;

use profile::{CpuSampler, CpuSamplerOptions, ProcessSet, folded};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let pid: u32 = arguments.next().ok_or("give a process ID")?.parse()?;
    let seconds: f64 = arguments.next().map_or(Ok(5.0), |text| text.parse())?;
    let samples_per_s: u32 = arguments.next().map_or(Ok(99), |text| text.parse())?;
    let options = CpuSamplerOptions { samples_per_s, ..CpuSamplerOptions::default() };
    let processes = ProcessSet::Roots(vec![pid]);
    let sampler = CpuSampler::start(processes.clone(), &options)?;
    let before = cpu_time(&processes);
    std::thread::sleep(Duration::try_from_secs_f64(seconds)?);
    let measured = cpu_time(&processes).saturating_sub(before);
    let stacks = sampler.stop()?;
    print!("{}", folded::write(&stacks));
    eprintln!(
        "{} samples stand for {:?}, measured {measured:?} in {:?} ({:?}); {:?}; the sampler used {:?}",
        stacks.samples(),
        stacks.time(),
        stacks.length,
        stacks.source,
        stacks.losses,
        stacks.cost
    );
    for note in &stacks.notes {
        eprintln!("{note}");
    }
    Ok(())
}

/// The CPU time of the processes' first threads, from the scheduler.
fn cpu_time(processes: &ProcessSet) -> Duration {
    let of = |pid: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
        Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
    };
    processes.now().iter().filter_map(of).sum()
}
