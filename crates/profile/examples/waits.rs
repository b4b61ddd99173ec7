//! Watches the waits of a process with its descendants: `cargo run -p profile --example waits -- PID [SECONDS]`.
//! Folded stacks are on standard output, one sample for each µs, and the longest waits on standard error.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::time::Duration;

use profile::{ProcessSet, WaitSampler, WaitSamplerOptions, folded};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let pid: u32 = arguments.next().ok_or("give a process ID")?.parse()?;
    let seconds: f64 = arguments.next().map_or(Ok(5.0), |text| text.parse())?;
    let options = WaitSamplerOptions {
        use_records: std::env::var_os("SAMPLES").is_none(),
        ..WaitSamplerOptions::default()
    };
    let sampler = WaitSampler::start(ProcessSet::Roots(vec![pid]), &options)?;
    std::thread::sleep(Duration::try_from_secs_f64(seconds)?);
    let waits = sampler.stop()?;
    print!("{}", folded::write(&waits.to_stacks()));
    for wait in waits.stacks.iter().take(20) {
        let names: Vec<&str> = wait.frames.iter().map(|frame| frame.name.as_str()).collect();
        let idle = if wait.is_idle { ", for work" } else { "" };
        eprintln!(
            "{} {:?}{idle}: {:?} in {:?} waits: {}",
            wait.thread,
            wait.kind,
            wait.time,
            wait.waits,
            names.join(";")
        );
        for waker in wait.wakers.iter().take(3) {
            let names: Vec<&str> = waker.frames.iter().map(|frame| frame.name.as_str()).collect();
            eprintln!("    {} × {:?} {}: {}", waker.wakes, waker.kind, waker.thread, names.join(";"));
        }
    }
    eprintln!(
        "{:?} in {:?}, {} stacks (one in {:?}), {} lost, {} dropped, stopped {:?}; the sampler used {:?}",
        waits.source,
        waits.length,
        waits.sampled,
        waits.every,
        waits.lost,
        waits.dropped,
        waits.stopped_after,
        waits.cost
    );
    for note in &waits.notes {
        eprintln!("{note}");
    }
    Ok(())
}
