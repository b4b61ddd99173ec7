//! Profiles a process with its descendants: `cargo run -p profile --example profile -- PID [SECONDS]` prints folded stacks,
//! and on standard error what is missing in them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::time::Duration;

use profile::{CpuSampler, CpuSamplerOptions, ProcessSet, folded};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let pid: u32 = arguments.next().ok_or("give a process ID")?.parse()?;
    let seconds: f64 = arguments.next().map_or(Ok(5.0), |text| text.parse())?;
    let sampler = CpuSampler::start(ProcessSet::Roots(vec![pid]), &CpuSamplerOptions::default())?;
    std::thread::sleep(Duration::try_from_secs_f64(seconds)?);
    let stacks = sampler.stop()?;
    print!("{}", folded::write(&stacks));
    eprintln!(
        "{} samples stand for {:?} in {:?} ({:?}); {:?}; the sampler used {:?}",
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
