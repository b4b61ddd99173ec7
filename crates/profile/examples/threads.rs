//! Samples what the threads of a process and of its descendants wait for:
//! `cargo run -p profile --example threads -- PID [SECONDS]`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Duration;

use profile::{ProcessSet, ThreadSampler, ThreadSamplerOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let pid: u32 = arguments.next().ok_or("give a process ID")?.parse()?;
    let seconds: f64 = arguments.next().map_or(Ok(5.0), |text| text.parse())?;
    let sampler = ThreadSampler::start(ProcessSet::Roots(vec![pid]), &ThreadSamplerOptions::default())?;
    std::thread::sleep(Duration::try_from_secs_f64(seconds)?);
    let states = sampler.stop()?;
    for group in &states.groups {
        println!(
            "{} ({} threads, {} samples): running {:.1} %, waits for a CPU {:.1} %, busiest thread {:.1} %",
            group.name,
            group.threads,
            group.samples,
            100.0 * group.running,
            100.0 * group.runnable,
            100.0 * group.busiest_thread
        );
        for wait in &group.waits {
            let text = (wait.kind.name(), &wait.call, &wait.kernel_function);
            println!("  {:5.1} % {text:?}", 100.0 * wait.share);
        }
    }
    println!("{} rounds in {:?}; the sampler used {:?}", states.rounds, states.length, states.cost);
    Ok(())
}
