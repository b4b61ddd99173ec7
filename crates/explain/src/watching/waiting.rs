//! Where the threads of servers under load wait: one slice of each with a watcher, a plain one beside it, and what follows from them.
//! Watching has a slice of its own because it costs time at each switch of a thread.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use archive::model::{PlannedStudy, Unknown, WaitKindTime, WaitPlace, WaitProfile, WaitWaker};
use bakeoff::event::{Event, Observer};
use bakeoff::study_server::StudyServer;
use profile::stacks::{Frame, FrameKind};
use profile::threads::WaitKind;
use profile::waits::{WaitSource, WaitStack, Waits, Waker, WakerKind};
use profile::{WaitSamplerOptions, folded};

use crate::perturbable_loop::LoopError;
use crate::profile_shares::WatchedWaits;

/// Functions that name a place.
const MOST_FUNCTIONS: usize = 3;

/// Places that are kept; the folded stacks have all.
const MOST_PLACES: usize = 100;

/// Wakers of a place that are kept.
const MOST_WAKERS: usize = 5;

/// Libraries whose functions wait on behalf of others, by the beginning of their names.
const LIBRARIES: [&str; 6] = ["libc.so", "libc-", "libpthread", "ld-linux", "ld-musl", "[vdso]"];

/// How long watching loads this number of servers.
pub fn longest(lengths: &PlannedStudy, servers: usize) -> Duration {
    lengths.profiled_slice.saturating_mul(2 * servers as u32)
}

/// The waits of a server.
#[derive(Debug)]
pub struct ServerWaits {
    /// Without the name of its file.
    pub profile: WaitProfile,
    /// Its stacks as folded lines, a sample for each microsecond.
    pub folded: String,
    /// What they tell a study.
    pub(crate) watched: WatchedWaits,
    /// What could not be determined, and why.
    pub unknown: Vec<Unknown>,
}

/// Watches servers one after the other. Of a server that cannot be watched, the error says why.
pub fn watch(
    servers: &mut [StudyServer<'_>],
    lengths: &PlannedStudy,
    observe: &mut Observer<'_>,
) -> Result<Vec<Result<ServerWaits, String>>, LoopError> {
    let each = servers.iter_mut().map(|server| {
        server.check_interrupted()?;
        observe(Event::Doing { what: format!("watching where {} waits", server.name) });
        server.connect(server.connections());
        watch_one(server, lengths.profiled_slice, observe)
    });
    each.collect()
}

/// A plain and a watched slice. The inner error says why the server cannot be watched.
fn watch_one(
    server: &mut StudyServer<'_>,
    length: Duration,
    observe: &mut Observer<'_>,
) -> Result<Result<ServerWaits, String>, LoopError> {
    let plain = server.slice(length, observe)?;
    let options = WaitSamplerOptions { cpus: Some(server.cpus.clone()), ..WaitSamplerOptions::default() };
    let sampler = match server.sample_waits(&options) {
        Ok(sampler) => sampler,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let began = Instant::now();
    let watched = server.slice(length, observe)?;
    let took = began.elapsed();
    let waits = match sampler.stop() {
        Ok(waits) => waits,
        Err(error) => return Ok(Err(error.to_string())),
    };
    // What was watched is the whole slice, or its beginning.
    let share = (waits.length.as_secs_f64() / took.as_secs_f64().max(f64::MIN_POSITIVE)).min(1.0);
    let operations = watched.whole_operations as f64 * share;
    if operations <= 0.0 {
        return Ok(Err("no operation ended in the watched slice".to_owned()));
    }
    let ratio = (plain.throughput_per_s > 0.0).then(|| watched.throughput_per_s / plain.throughput_per_s);
    let unknown = waits
        .notes
        .iter()
        .map(|why| Unknown { what: "where time goes off the CPU".to_owned(), why: why.clone() });
    Ok(Ok(ServerWaits {
        profile: summed(&waits, operations, ratio),
        folded: folded::write(&waits.to_stacks()),
        watched: WatchedWaits::of(&waits, operations),
        unknown: unknown.collect(),
    }))
}

/// The waits an operation, by kind and by place.
fn summed(waits: &Waits, operations: f64, throughput_ratio: Option<f64>) -> WaitProfile {
    let us = |time: Duration| time.as_secs_f64() * 1e6 / operations;
    let mut kinds: BTreeMap<WaitKind, Vec<&WaitStack>> = BTreeMap::new();
    let mut places: BTreeMap<(bool, WaitKind, Vec<String>), Vec<&WaitStack>> = BTreeMap::new();
    for wait in &waits.stacks {
        if !wait.is_idle {
            kinds.entry(wait.kind).or_default().push(wait);
        }
        places.entry((wait.is_idle, wait.kind, own_functions(&wait.frames))).or_default().push(wait);
    }
    let time = |all: &[&WaitStack]| us(all.iter().map(|wait| wait.time).sum());
    let count = |all: &[&WaitStack]| {
        all.iter().map(|wait| wait.waits).sum::<Option<f64>>().map(|waits| waits / operations)
    };
    let mut kinds: Vec<WaitKindTime> = kinds
        .into_iter()
        .map(|(kind, all)| WaitKindTime { kind: kind.name().to_owned(), us: time(&all), waits: count(&all) })
        .collect();
    kinds.sort_by(|a, b| b.us.total_cmp(&a.us));
    let mut places: Vec<WaitPlace> = places
        .into_iter()
        .map(|((is_idle, kind, functions), all)| WaitPlace {
            kind: kind.name().to_owned(),
            is_lock: matches!(kind, WaitKind::Lock | WaitKind::Futex),
            is_idle,
            functions,
            threads: all
                .iter()
                .map(|wait| wait.thread.clone())
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            us: time(&all),
            waits: count(&all),
            wakers: wakers(all.iter().flat_map(|wait| &wait.wakers)),
        })
        .collect();
    places.sort_by(|a, b| a.is_idle.cmp(&b.is_idle).then(b.us.total_cmp(&a.us)));
    places.truncate(MOST_PLACES);
    WaitProfile {
        folded: String::new(),
        operations,
        length_s: waits.length.as_secs_f64(),
        stopped_after_s: waits.stopped_after.map(|after| after.as_secs_f64()),
        sampled: waits.sampled,
        lost: waits.lost,
        level: level(waits),
        throughput_ratio,
        kinds,
        idle_us: us(waits.stacks.iter().filter(|wait| wait.is_idle).map(|wait| wait.time).sum()),
        places,
    }
}

/// The functions of the program that say where it waits, innermost first.
pub(crate) fn own_functions(frames: &[Frame]) -> Vec<String> {
    let is_library = |frame: &&Frame| LIBRARIES.iter().any(|library| frame.module.starts_with(library));
    let user = || frames.iter().rev().filter(|frame| frame.kind == FrameKind::User);
    let mut own: Vec<String> = user()
        .filter(|frame| !is_library(frame))
        .take(MOST_FUNCTIONS)
        .map(|frame| frame.name.clone())
        .collect();
    if own.is_empty() {
        own = user().take(1).map(|frame| frame.name.clone()).collect();
    }
    own
}

/// A waker's name for readers.
fn name_of(waker: &Waker) -> String {
    match waker.kind {
        WakerKind::Thread => waker.thread.clone(),
        WakerKind::Other => format!("another program: {}", waker.thread),
        WakerKind::Interrupt => "an interrupt".to_owned(),
    }
}

/// A waker with its functions, in words.
pub(crate) fn who(waker: &Waker) -> String {
    let waker = WaitWaker { who: name_of(waker), functions: own_functions(&waker.frames), share: 1.0 };
    waker.in_words()
}

fn wakers<'w>(seen: impl Iterator<Item = &'w Waker>) -> Vec<WaitWaker> {
    let mut by_waker: BTreeMap<(String, Vec<String>), u64> = BTreeMap::new();
    for waker in seen {
        *by_waker.entry((name_of(waker), own_functions(&waker.frames))).or_default() += waker.wakes;
    }
    let all: u64 = by_waker.values().sum();
    let mut wakers: Vec<WaitWaker> = by_waker
        .into_iter()
        .map(|((who, functions), wakes)| WaitWaker {
            who,
            functions,
            share: wakes as f64 / all.max(1) as f64,
        })
        .collect();
    wakers.sort_by(|a, b| b.share.total_cmp(&a.share));
    wakers.truncate(MOST_WAKERS);
    wakers
}

/// What could be seen here, in words.
fn level(waits: &Waits) -> String {
    match (waits.source, waits.every) {
        (WaitSource::Samples, _) => "samples of waiting threads".to_owned(),
        (WaitSource::Switches, Some(every)) if every > 1 => {
            format!("every switch, one stack in {every}")
        }
        (WaitSource::Switches, _) => "every switch with its stack".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, module: &str, kind: FrameKind) -> Frame {
        Frame { name: name.to_owned(), module: module.to_owned(), kind }
    }

    fn stack(own: &[&str]) -> Vec<Frame> {
        let mut frames = vec![frame("start_thread", "libc.so.6", FrameKind::User)];
        frames.extend(own.iter().map(|name| frame(name, "server", FrameKind::User)));
        frames.push(frame("pthread_mutex_lock", "libc.so.6", FrameKind::User));
        frames.push(frame("futex_wait", "kernel", FrameKind::Kernel));
        frames
    }

    fn wait(kind: WaitKind, is_idle: bool, own: &[&str], us: u64, wakers: Vec<Waker>) -> WaitStack {
        WaitStack {
            thread: "worker".to_owned(),
            kind,
            is_idle,
            frames: stack(own),
            time: Duration::from_micros(us),
            waits: Some(50.0),
            wakers,
        }
    }

    fn waits(stacks: Vec<WaitStack>) -> Waits {
        Waits {
            source: WaitSource::Switches,
            length: Duration::from_secs(1),
            stacks,
            sampled: 10,
            every: Some(7),
            dropped: 0,
            lost: 0,
            stopped_after: None,
            notes: Vec::new(),
            cost: Duration::ZERO,
        }
    }

    #[test]
    fn places_are_summed_and_a_lock_has_its_holder() {
        let waker = |kind, wakes| Waker {
            kind,
            thread: "worker".to_owned(),
            frames: stack(&["serve", "commit"]),
            wakes,
        };
        let found = summed(
            &waits(vec![
                wait(
                    WaitKind::Lock,
                    false,
                    &["main", "serve", "handle", "commit"],
                    3000,
                    vec![waker(WakerKind::Thread, 3)],
                ),
                // Another way to the same place.
                wait(
                    WaitKind::Lock,
                    false,
                    &["start", "serve", "handle", "commit"],
                    1000,
                    vec![waker(WakerKind::Interrupt, 1)],
                ),
                wait(WaitKind::Flush, false, &["main", "flush"], 5000, Vec::new()),
                wait(WaitKind::Events, true, &["main", "loop"], 90_000, Vec::new()),
            ]),
            100.0,
            Some(0.98),
        );
        let kinds: Vec<_> = found.kinds.iter().map(|kind| (kind.kind.as_str(), kind.us)).collect();
        assert_eq!(kinds, [("flushing a file", 50.0), ("lock", 40.0)]);
        assert_eq!((found.idle_us, found.blocked_us()), (900.0, 90.0));
        let lock = found.locks().next().unwrap();
        assert_eq!(lock.functions, ["commit", "handle", "serve"]);
        assert_eq!((lock.us, lock.waits), (40.0, Some(1.0)));
        assert_eq!(lock.woken_by(), "worker: commit ← serve");
        assert_eq!(lock.wakers[0].share, 0.75);
        assert!(found.places.last().unwrap().is_idle);
        assert_eq!(
            found.basis(),
            "every switch, one stack in 7; throughput while watching 98 % of that without"
        );
    }

    #[test]
    fn a_stack_of_libraries_only_is_named_by_the_innermost() {
        assert_eq!(
            own_functions(&[
                frame("clone", "libc.so.6", FrameKind::User),
                frame("read", "libc.so.6", FrameKind::User)
            ]),
            ["read"]
        );
        assert_eq!(own_functions(&[frame("schedule", "kernel", FrameKind::Kernel)]), Vec::<String>::new());
    }
}
