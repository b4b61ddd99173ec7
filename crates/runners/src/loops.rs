//! Closed loops of threads over something that can be worked: who begins what when, and who tells of it.
//!
//! A thread keeps its times to itself until its interval is over and then hands them to the main thread in one
//! piece: no lock and no shared counter is touched for an operation. An operation belongs to the interval in which
//! it ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::distr::{Distribution, weighted::WeightedIndex};
use rand_pcg::Pcg64Mcg;

use crate::RunnerError;
use crate::protocol::{Start, Word, say_interval, say_ready, say_stopped, words};
use crate::tally::Tally;

/// How often the main thread looks whether it is told to stop.
const LOOK: Duration = Duration::from_millis(5);

/// Something that threads can work.
pub trait Work: Sync {
    /// What one thread has of its own: a connection, a buffer.
    type Hand: Send;

    /// The names of its operations.
    fn operations(&self) -> Vec<String>;

    /// How many bytes each operation moves; 0 where that is not told.
    fn bytes_each(&self) -> u64 {
        0
    }

    /// What a thread needs, made anew for each run.
    fn hand(&self) -> Result<Self::Hand, RunnerError>;

    /// Carries out an operation, an index into [`Work::operations`]. What is timed is this call; the error is
    /// counted by its words.
    fn operate(&self, hand: &mut Self::Hand, operation: usize, rng: &mut Pcg64Mcg) -> Result<(), String>;
}

/// Something of which a thread can have several operations under way, each at a place from 0 to the depth - 1.
pub trait Queue: Sync {
    /// What one thread has of its own.
    type Hand: Send;

    /// The names of its operations.
    fn operations(&self) -> Vec<String>;

    /// How many bytes each operation moves; 0 where that is not told.
    fn bytes_each(&self) -> u64;

    /// How many operations a thread has under way.
    fn depth(&self) -> usize;

    /// What a thread needs, made anew for each run.
    fn hand(&self) -> Result<Self::Hand, RunnerError>;

    /// Begins an operation, an index into [`Queue::operations`], at a place that is free.
    fn begin(&self, hand: &mut Self::Hand, place: usize, operation: usize, rng: &mut Pcg64Mcg);

    /// Waits until operations have ended, at least one, and tells of them. An error is counted by its words.
    fn wait(&self, hand: &mut Self::Hand, rng: &mut Pcg64Mcg, ended: &mut Vec<Ended>);
}

/// An operation that has ended.
pub struct Ended {
    /// Where it was under way.
    pub place: usize,
    /// How it ended.
    pub outcome: Result<(), String>,
}

/// What is waited for has one place, and has ended when it was begun.
impl<W: Work> Queue for W {
    type Hand = (W::Hand, Option<Ended>);

    fn operations(&self) -> Vec<String> {
        Work::operations(self)
    }

    fn bytes_each(&self) -> u64 {
        Work::bytes_each(self)
    }

    fn depth(&self) -> usize {
        1
    }

    fn hand(&self) -> Result<Self::Hand, RunnerError> {
        Ok((Work::hand(self)?, None))
    }

    fn begin(&self, (hand, ended): &mut Self::Hand, place: usize, operation: usize, rng: &mut Pcg64Mcg) {
        *ended = Some(Ended { place, outcome: self.operate(hand, operation, rng) });
    }

    fn wait(&self, (_, begun): &mut Self::Hand, _: &mut Pcg64Mcg, ended: &mut Vec<Ended>) {
        ended.extend(begun.take());
    }
}

/// One thread's part of an interval, handed on when its first operation of a later one has ended.
struct Part {
    thread: usize,
    index: u64,
    tally: Tally,
    /// The interval that it is in now.
    reached: u64,
}

/// Checks each operation once, says that it is ready, and runs whenever it is told to, until nobody is there.
pub fn serve(work: &impl Queue, threads: u32) -> Result<(), RunnerError> {
    let names = work.operations();
    let mut hand = work.hand()?;
    let mut rng = Pcg64Mcg::seed_from_u64(0);
    let mut ended = Vec::new();
    for (operation, name) in names.iter().enumerate() {
        work.begin(&mut hand, 0, operation, &mut rng);
        work.wait(&mut hand, &mut rng, &mut ended);
        for Ended { outcome, .. } in ended.drain(..) {
            outcome.map_err(|e| RunnerError::of(&format!("{name:?}, tried once"), e))?;
        }
    }
    drop(hand);
    let words = words();
    say_ready()?;
    while let Ok(word) = words.recv() {
        match word? {
            Word::Start(start) => run(work, threads, &start, &words, &names)?,
            // Told twice.
            Word::Stop => {}
        }
    }
    Ok(())
}

fn run<W: Queue>(
    work: &W,
    threads: u32,
    start: &Start,
    words: &Receiver<Result<Word, RunnerError>>,
    names: &[String],
) -> Result<(), RunnerError> {
    let mix = Mix::new(&start.mix, names)?;
    let hands: Result<Vec<W::Hand>, RunnerError> = (0..threads).map(|_| work.hand()).collect();
    let hands = hands?;
    let (stop, (to_teller, parts)) = (AtomicBool::new(false), channel());
    let bytes_each = work.bytes_each();
    let mut teller = Teller { reached: vec![0; hands.len()], open: BTreeMap::new(), names, bytes_each };
    let begin = Instant::now();
    thread::scope(|scope| {
        let labourers: Vec<_> = (0..)
            .zip(hands)
            .map(|(thread, hand)| {
                let rng = Pcg64Mcg::seed_from_u64(start.seed.wrapping_add(thread as u64));
                let (interval, to_teller) = (start.interval, to_teller.clone());
                let labour = Labour { work, mix: &mix, begin, interval, stop: &stop, to_teller };
                scope.spawn(move || labour.go_on(thread, hand, rng))
            })
            .collect();
        drop(to_teller);
        let told = teller.tell_until_stopped(&parts, words);
        // Also when something went wrong: all threads are waited for.
        stop.store(true, Ordering::Relaxed);
        let after = begin.elapsed();
        told?;
        let mut rest = Tally::new(names.len());
        for labourer in labourers {
            rest.add(&labourer.join().map_err(|_| RunnerError("a thread panicked".to_owned()))?);
        }
        for part in parts.try_iter() {
            teller.add(&part);
        }
        teller.tell_complete(u64::MAX)?;
        say_stopped(after, &rest.to_json(names, bytes_each))
    })
}

/// What a thread needs to go on.
struct Labour<'a, W> {
    work: &'a W,
    mix: &'a Mix,
    begin: Instant,
    interval: Duration,
    stop: &'a AtomicBool,
    to_teller: Sender<Part>,
}

impl<W: Queue> Labour<'_, W> {
    /// One thread's closed loop; gives what ended after the stop.
    fn go_on(self, thread: usize, mut hand: W::Hand, mut rng: Pcg64Mcg) -> Tally {
        let interval_ns = self.interval.as_nanos() as u64;
        let new = || Tally::new(self.mix.operations);
        let (mut index, mut tally, mut rest) = (0, new(), new());
        // By place: the operation that is under way there, and when it was begun.
        let mut begun = vec![(0, Duration::ZERO); self.work.depth()];
        let mut free: Vec<usize> = (0..begun.len()).collect();
        let mut all_ended = Vec::with_capacity(begun.len());
        // The end of one operation is where the next one begins: one look at the clock for each.
        let mut now = self.begin.elapsed();
        let mut is_over = self.stop.load(Ordering::Relaxed);
        loop {
            if !is_over {
                for place in free.drain(..) {
                    let operation = self.mix.draw(&mut rng);
                    begun[place] = (operation, now);
                    self.work.begin(&mut hand, place, operation, &mut rng);
                }
            }
            if free.len() == begun.len() {
                break;
            }
            self.work.wait(&mut hand, &mut rng, &mut all_ended);
            now = self.begin.elapsed();
            is_over = self.stop.load(Ordering::Relaxed);
            let reached = now.as_nanos() as u64 / interval_ns;
            if reached > index {
                let full = std::mem::replace(&mut tally, new());
                // A teller that is gone has given up, and said stop.
                let _ = self.to_teller.send(Part { thread, index, tally: full, reached });
                index = reached;
            }
            let to = if is_over { &mut rest } else { &mut tally };
            for Ended { place, outcome } in all_ended.drain(..) {
                let (operation, sent) = begun[place];
                match outcome {
                    Ok(()) => to.succeeded(operation, now.saturating_sub(sent).as_micros() as u32),
                    Err(what) => to.failed(operation, what),
                }
                free.push(place);
            }
        }
        let _ = self.to_teller.send(Part { thread, index, tally, reached: u64::MAX });
        rest
    }
}

/// Which operation comes next.
struct Mix {
    /// The weight of every operation of the work; 0 for those that are not asked for.
    weights: WeightedIndex<f64>,
    operations: usize,
    /// Where there is nothing to draw.
    only: Option<usize>,
}

impl Mix {
    fn new(mix: &[(String, f64)], names: &[String]) -> Result<Self, RunnerError> {
        let mut weights = vec![0.0; names.len()];
        for (name, weight) in mix {
            let Some(at) = names.iter().position(|known| known == name) else {
                let known = names.join(", ");
                return Err(RunnerError(format!("there is no operation {name:?}: there are {known}")));
            };
            weights[at] += weight;
        }
        let live: Vec<usize> = (0..weights.len()).filter(|&at| weights[at] > 0.0).collect();
        Ok(Self {
            weights: WeightedIndex::new(&weights).map_err(|e| RunnerError::of("the weights", e))?,
            operations: names.len(),
            only: (live.len() == 1).then(|| live[0]),
        })
    }

    fn draw(&self, rng: &mut Pcg64Mcg) -> usize {
        self.only.unwrap_or_else(|| self.weights.sample(rng))
    }
}

/// Puts the threads' parts together, and tells of an interval when every thread is in a later one. A thread that is
/// in a long operation holds it up, because what it ended before that is still with it.
struct Teller<'a> {
    /// The interval that each thread is known to be in.
    reached: Vec<u64>,
    open: BTreeMap<u64, Tally>,
    names: &'a [String],
    bytes_each: u64,
}

impl Teller<'_> {
    fn tell_until_stopped(
        &mut self,
        parts: &Receiver<Part>,
        words: &Receiver<Result<Word, RunnerError>>,
    ) -> Result<(), RunnerError> {
        loop {
            match words.try_recv() {
                Ok(Ok(Word::Stop)) => return Ok(()),
                Ok(Ok(Word::Start(_))) => return Err(RunnerError("told to start while it ran".to_owned())),
                Ok(Err(error)) => return Err(error),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => {
                    return Err(RunnerError("standard input ended in the middle of a run".to_owned()));
                }
            }
            match parts.recv_timeout(LOOK) {
                Ok(part) => self.add(&part),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RunnerError("all threads ended by themselves".to_owned()));
                }
            }
            let reached_by_all = self.reached.iter().copied().min().unwrap_or(0);
            self.tell_complete(reached_by_all)?;
        }
    }

    fn add(&mut self, part: &Part) {
        self.reached[part.thread] = part.reached;
        let operations = self.names.len();
        self.open.entry(part.index).or_insert_with(|| Tally::new(operations)).add(&part.tally);
    }

    /// Tells of the intervals before this one.
    fn tell_complete(&mut self, before: u64) -> Result<(), RunnerError> {
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() < before) {
            let (index, tally) = entry.remove_entry();
            say_interval(index, &tally.to_json(self.names, self.bytes_each))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        vec!["read".to_owned(), "update".to_owned()]
    }

    #[test]
    fn operations_come_by_their_weights_and_only_those_asked_for() -> Result<(), RunnerError> {
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        let mix = Mix::new(&[("read".to_owned(), 9.0), ("update".to_owned(), 1.0)], &names())?;
        let updates: usize = (0..10_000).map(|_| mix.draw(&mut rng)).sum();
        assert!((800..1_200).contains(&updates), "{updates}");
        let only = Mix::new(&[("update".to_owned(), 1.0)], &names())?;
        assert!((0..100).all(|_| only.draw(&mut rng) == 1));
        assert!(Mix::new(&[("scan".to_owned(), 1.0)], &names()).is_err());
        Ok(())
    }

    #[test]
    fn an_interval_waits_for_every_thread() {
        let names = names();
        let mut teller = Teller { reached: vec![0, 0], open: BTreeMap::new(), names: &names, bytes_each: 0 };
        let part = |thread, index, reached| Part { thread, index, tally: Tally::new(2), reached };
        teller.add(&part(0, 0, 5));
        assert_eq!(teller.reached.iter().min(), Some(&0), "the other may still have something for it");
        teller.add(&part(1, 0, 1));
        assert_eq!((teller.reached.iter().min(), teller.open.len()), (Some(&1), 1));
    }
}
