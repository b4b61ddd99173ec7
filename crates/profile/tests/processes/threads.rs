//! States of threads.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use profile::threads::{ThreadGroup, ThreadStates, WaitKind};
use profile::{ProcessSet, ProfileError, ThreadSampler, ThreadSamplerOptions};

use super::program::{Program, Running};

/// Longest wait for samples on a machine whose CPUs are all busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// Samples a process for a second and until each thread that is listed then has samples.
fn states(running: &Running, threads: &[&str]) -> ThreadStates {
    let begin = Instant::now();
    loop {
        let set = ProcessSet::Roots(vec![running.pid()]);
        let sampler = ThreadSampler::start(set, &ThreadSamplerOptions::default()).expect("it runs");
        std::thread::sleep(Duration::from_secs(1));
        let states = sampler.stop().expect("states");
        let has_samples = |name: &&str| group(&states, name).is_some_and(|group| !group.waits.is_empty());
        if threads.iter().all(has_samples) || begin.elapsed() > PATIENCE {
            return states;
        }
    }
}

fn group<'a>(states: &'a ThreadStates, name: &str) -> Option<&'a ThreadGroup> {
    states.groups.iter().find(|group| group.name == name)
}

#[test]
fn threads_wait_for_a_lock_for_events_and_for_a_time() {
    let mut running = Program::build("waiter").start(&[]);
    let mut line = String::new();
    let output = running.0.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let states = states(&running, &["locked", "polling", "program"]);
    for (name, kind, call) in [
        ("locked", WaitKind::Futex, "futex"),
        ("polling", WaitKind::Events, "poll"),
        ("program", WaitKind::Sleep, "clock_nanosleep"),
    ] {
        let group = group(&states, name).expect(name);
        let longest = &group.waits[0];
        // A container may hide system calls even of a child.
        if longest.kind != WaitKind::Unknown {
            assert_eq!((longest.kind, longest.call.as_str()), (kind, call), "{group:?}");
        }
        let sum = group.running + group.runnable + group.waits.iter().map(|wait| wait.share).sum::<f64>();
        assert!((sum - 1.0).abs() < 1e-9, "{group:?}");
    }
    let stacks = states.to_stacks();
    assert!(stacks.threads.iter().any(|thread| thread.name == "locked"), "{stacks:?}");
}

#[test]
fn a_thread_that_burns_does_not_wait() {
    let running = Program::build("burner").start(&["0"]);
    std::thread::sleep(Duration::from_secs(1));
    let states = states(&running, &["program"]);
    let burner = group(&states, "burn-N").expect("the thread that burns");
    assert!(burner.running > 0.0, "{burner:?}");
    // On a busy machine it waits for a CPU, but for nothing else.
    let waits: f64 =
        burner.waits.iter().filter(|wait| wait.kind != WaitKind::Unknown).map(|wait| wait.share).sum();
    assert!(waits < burner.running + burner.runnable, "{burner:?}");
}

#[test]
fn a_process_that_ends_is_no_error() {
    let mut running = Program::build("burner").start(&["50"]);
    let set = ProcessSet::Roots(vec![running.pid()]);
    match ThreadSampler::start(set, &ThreadSamplerOptions::default()) {
        Ok(sampler) => {
            running.0.wait().expect("a child");
            assert!(!sampler.stop().expect("states").groups.is_empty());
        }
        Err(error) => assert!(matches!(error, ProfileError::NoProcesses)),
    }
}
