//! Waits with their stacks.

use std::time::{Duration, Instant};

use profile::threads::WaitKind;
use profile::waits::{WaitSource, WaitStack, WakerKind};
use profile::{ProcessSet, ProfileError, WaitSampler, WaitSamplerOptions, Waits};

use super::program::{Program, Running, skip};

/// Longest time until everything was seen on a machine whose CPUs are all busy.
const PATIENCE: Duration = Duration::from_mins(2);

/// As many stacks as there are, whatever that costs.
fn all_stacks() -> WaitSamplerOptions {
    WaitSamplerOptions { stacks_per_s: 10_000, most_cpu: 1.0, ..WaitSamplerOptions::default() }
}

/// Watches until everything that is wanted was seen.
fn watch(running: &Running, options: &WaitSamplerOptions, has_all: impl Fn(&Waits) -> bool) -> Waits {
    let begin = Instant::now();
    loop {
        let sampler = WaitSampler::start(ProcessSet::Roots(vec![running.pid()]), options).expect("it runs");
        std::thread::sleep(Duration::from_secs(1));
        let waits = sampler.stop().expect("waits");
        if has_all(&waits) || begin.elapsed() > PATIENCE {
            return waits;
        }
    }
}

/// The waits of a thread with this function on their stack.
fn of<'w>(waits: &'w Waits, thread: &str, function: &str) -> Option<&'w WaitStack> {
    waits
        .stacks
        .iter()
        .find(|wait| wait.thread == thread && wait.frames.iter().any(|frame| frame.name == function))
}

const WAITS: [(&str, &str, WaitKind); 4] = [
    ("locked", "wait_for_lock", WaitKind::Lock),
    ("holder", "hold_lock", WaitKind::Sleep),
    ("sleeper", "sleep_a_while", WaitKind::Sleep),
    ("reader", "read_pipe", WaitKind::Pipe),
];

fn has_all(waits: &Waits) -> bool {
    WAITS.iter().all(|(thread, function, kind)| {
        waits.stacks.iter().any(|wait| {
            wait.thread == *thread
                && wait.kind == *kind
                && wait.frames.iter().any(|frame| frame.name == *function)
        })
    })
}

/// Time of a thread but for a CPU.
fn blocked(waits: &Waits, thread: &str) -> Duration {
    let of_thread = waits.stacks.iter().filter(|wait| wait.thread == thread && wait.kind != WaitKind::Cpu);
    of_thread.map(|wait| wait.time).sum()
}

fn assert_found(waits: &Waits) {
    assert!(has_all(waits), "{:#?}", waits.stacks);
    assert!(blocked(waits, "busy") * 4 < waits.length, "{:#?}", waits.stacks);
    // A wait for a lock is in an operation; the times at which work is awaited come after it.
    let lock = of(waits, "locked", "wait_for_lock").expect("it was found");
    assert!(!lock.is_idle);
    let first_idle = waits.stacks.iter().position(|wait| wait.is_idle).unwrap_or(waits.stacks.len());
    assert!(waits.stacks[first_idle..].iter().all(|wait| wait.is_idle));
    let stacks = waits.to_stacks();
    assert!(stacks.samples() > 0 && stacks.time() <= waits.stacks.iter().map(|wait| wait.time).sum());
}

#[test]
fn switches_tell_for_what_where_and_how_long_threads_wait() {
    // Its file is there as long as functions need names.
    let program = Program::build("waits");
    let running = program.start(&[]);
    let woken = |waits: &Waits| {
        let lock = of(waits, "locked", "wait_for_lock");
        lock.is_some_and(|lock| lock.wakers.iter().any(|waker| waker.kind == WakerKind::Thread))
    };
    let has_wakers = |waits: &Waits| waits.notes.iter().all(|note| !note.starts_with("who woke"));
    let waits = watch(&running, &all_stacks(), |waits| {
        waits.source == WaitSource::Samples || has_all(waits) && (woken(waits) || !has_wakers(waits))
    });
    if waits.source == WaitSource::Samples {
        // This user may not see switches, which is said.
        assert!(waits.notes[0].starts_with("switches cannot be recorded"), "{:?}", waits.notes);
        return skip(&waits.notes[0]);
    }
    assert_found(&waits);
    // It only sleeps, and another thread only reads: whatever else runs, both are off their CPU.
    assert!(blocked(&waits, "sleeper") * 2 > blocked(&waits, "reader"), "{:#?}", waits.stacks);
    let lock = of(&waits, "locked", "wait_for_lock").expect("it was found");
    assert!(lock.waits.is_some_and(|count| count >= 1.0), "{lock:#?}");
    if has_wakers(&waits) {
        let waker = lock.wakers.iter().find(|waker| waker.kind == WakerKind::Thread).expect("it was woken");
        assert_eq!(waker.thread, "holder");
        assert!(waker.frames.iter().any(|frame| frame.name == "hold_lock"), "{waker:#?}");
    }
}

#[test]
fn samples_tell_for_what_and_where_threads_wait() {
    let program = Program::build("waits");
    let running = program.start(&[]);
    let options = WaitSamplerOptions { use_records: false, ..all_stacks() };
    let waits = watch(&running, &options, has_all);
    assert_eq!(waits.source, WaitSource::Samples);
    if waits.notes.iter().any(|note| note.starts_with("stacks of some threads could not be read")) {
        return skip("this user is forbidden to read the memory even of a child");
    }
    assert_found(&waits);
    assert!(waits.stacks.iter().all(|wait| wait.waits.is_none() && wait.wakers.is_empty()));
}

#[test]
fn watching_ends_by_itself_where_it_costs_too_much() {
    let program = Program::build("waits");
    let running = program.start(&["often"]);
    let options = WaitSamplerOptions { most_cpu: 0.001, ..WaitSamplerOptions::default() };
    let is_over = |waits: &Waits| waits.stopped_after.is_some() || waits.source == WaitSource::Samples;
    let waits = watch(&running, &options, is_over);
    assert!(is_over(&waits), "{waits:#?}");
    assert!(waits.stopped_after.is_none_or(|after| after == waits.length && after > Duration::ZERO));
}

#[test]
fn a_process_that_ends_is_no_error() {
    let mut running = Program::build("burner").start(&["50"]);
    match WaitSampler::start(ProcessSet::Roots(vec![running.pid()]), &WaitSamplerOptions::default()) {
        Ok(sampler) => {
            running.0.wait().expect("a child");
            sampler.stop().expect("waits");
        }
        Err(error) => assert!(matches!(error, ProfileError::NoProcesses)),
    }
    let started = WaitSampler::start(ProcessSet::Roots(vec![u32::MAX]), &WaitSamplerOptions::default());
    assert!(matches!(started, Err(ProfileError::NoProcesses)));
}
