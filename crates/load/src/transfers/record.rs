//! What the transfers of one second have come to: counts that add up over processes, and histograms that merge.

use serde::{Deserialize, Serialize};

use crate::record::{CompactMicros, Errors, Micros, RecordedTimes, micros};

/// One second of transfers, of a process or of all.
///
/// Gauges are as at the end of the second. All processes have the same seconds, those of `CLOCK_MONOTONIC`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferSecond<H = CompactMicros> {
    /// Which second of the clock.
    pub second: u64,
    /// Gauge: clients that want a transfer.
    pub wanted: u64,
    /// Gauge: transfers in progress, from their first byte on.
    pub in_progress: u64,
    /// Gauge: those of them that are stalled.
    pub stalled: u64,
    /// Gauge: clients whose last attempt has failed, and that have no first byte since.
    pub failing: u64,
    /// Attempts that began.
    pub begun: u64,
    /// Transfers that ended with their last byte.
    pub completed: u64,
    /// Bytes of replies.
    pub bytes: u64,
    /// Reads that were due.
    pub reads: u64,
    /// Those of them that found nothing.
    pub empty_reads: u64,
    /// By how much transfers were behind their pace where they began it anew, microseconds of all of them together.
    pub lost_us: u64,
    /// Clients that came to see whether they are answered, and left.
    pub probes: u64,
    /// Those of them that were not.
    pub probes_failed: u64,
    /// Attempts and transfers that failed.
    pub errors: Errors,
    /// Gauge: memory of the process that is in no file (`RssAnon`).
    pub memory_bytes: u64,
    /// CPU time.
    pub cpu_us: u64,
    /// The times.
    pub times: TransferTimes<H>,
}

/// The times of one second, microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferTimes<H> {
    /// From when an attempt was due to its first byte.
    pub first_byte: H,
    /// The same of clients that leave then.
    pub probe: H,
    /// From when an attempt was due to its last byte.
    pub completion: H,
    /// How late reads were: the client's own delay.
    pub late: H,
}

impl TransferTimes<Micros> {
    /// No times.
    pub fn new() -> Self {
        Self { first_byte: micros(), probe: micros(), completion: micros(), late: micros() }
    }

    /// Adds others.
    pub fn add(&mut self, other: &TransferTimes<impl RecordedTimes>) {
        other.first_byte.add_to(&mut self.first_byte);
        other.probe.add_to(&mut self.probe);
        other.completion.add_to(&mut self.completion);
        other.late.add_to(&mut self.late);
    }
}

impl TransferSecond<Micros> {
    /// A second in which nothing has happened.
    pub fn new(second: u64) -> Self {
        Self {
            second,
            wanted: 0,
            in_progress: 0,
            stalled: 0,
            failing: 0,
            begun: 0,
            completed: 0,
            bytes: 0,
            reads: 0,
            empty_reads: 0,
            lost_us: 0,
            probes: 0,
            probes_failed: 0,
            errors: Errors::default(),
            memory_bytes: 0,
            cpu_us: 0,
            times: TransferTimes::new(),
        }
    }

    /// Adds the same second of another process. Gauges add up too: each is of other transfers.
    pub fn add<H: RecordedTimes>(&mut self, other: &TransferSecond<H>) {
        self.wanted += other.wanted;
        self.in_progress += other.in_progress;
        self.stalled += other.stalled;
        self.failing += other.failing;
        self.memory_bytes += other.memory_bytes;
        self.add_counts(other);
    }

    /// Adds another second: what happened, and not its gauges.
    pub fn add_counts<H: RecordedTimes>(&mut self, other: &TransferSecond<H>) {
        self.begun += other.begun;
        self.completed += other.completed;
        self.bytes += other.bytes;
        self.reads += other.reads;
        self.empty_reads += other.empty_reads;
        self.lost_us += other.lost_us;
        self.probes += other.probes;
        self.probes_failed += other.probes_failed;
        self.errors.merge(&other.errors);
        self.cpu_us += other.cpu_us;
        self.times.add(&other.times);
    }

    pub(super) fn compact(&self) -> TransferSecond {
        let TransferTimes { first_byte, probe, completion, late } = &self.times;
        TransferSecond {
            times: TransferTimes {
                first_byte: CompactMicros::of(first_byte),
                probe: CompactMicros::of(probe),
                completion: CompactMicros::of(completion),
                late: CompactMicros::of(late),
            },
            second: self.second,
            wanted: self.wanted,
            in_progress: self.in_progress,
            stalled: self.stalled,
            failing: self.failing,
            begun: self.begun,
            completed: self.completed,
            bytes: self.bytes,
            reads: self.reads,
            empty_reads: self.empty_reads,
            lost_us: self.lost_us,
            probes: self.probes,
            probes_failed: self.probes_failed,
            errors: self.errors.clone(),
            memory_bytes: self.memory_bytes,
            cpu_us: self.cpu_us,
        }
    }
}

impl<H> TransferSecond<H> {
    /// Clients that are served: their transfer is in progress and moves.
    pub fn successes(&self) -> u64 {
        self.in_progress - self.stalled.min(self.in_progress)
    }

    /// Clients that are served or are not. Those that wait for their first byte, and have not failed before, are neither.
    pub fn attempts(&self) -> u64 {
        self.in_progress + self.failing
    }
}

/// How often transfers have advanced since a mark: by the bytes of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advances {
    /// Transfers that were in progress at the mark and still are.
    pub transfers: u64,
    /// Those that have got no byte since.
    pub never: u64,
    /// Those that have got bytes in one read.
    pub once: u64,
    /// The fewest bytes of one.
    pub fewest_bytes: u64,
}

impl Advances {
    pub(super) fn add(&mut self, other: Self) {
        let fewest =
            [*self, other].into_iter().filter(|part| part.transfers > 0).map(|part| part.fewest_bytes);
        self.fewest_bytes = fewest.min().unwrap_or_default();
        self.transfers += other.transfers;
        self.never += other.never;
        self.once += other.once;
    }

    /// Those that have got bytes in two reads or more.
    pub fn twice(&self) -> u64 {
        self.transfers - self.never - self.once
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ErrorKind, record};

    #[test]
    fn availability_is_a_sum_over_processes_and_not_a_mean() {
        let of = |in_progress, failing| TransferSecond { in_progress, failing, ..TransferSecond::new(7) };
        let mut all = TransferSecond::new(7);
        all.add(&of(990, 10));
        all.add(&of(0, 100));
        assert_eq!((all.successes(), all.attempts()), (990, 1_100));
        all.stalled = 90;
        assert_eq!(all.successes(), 900);
    }

    #[test]
    fn a_second_crosses_processes_without_loss() {
        let mut second = TransferSecond::new(3);
        second.errors.add(ErrorKind::Refused, 2, "x");
        record(&mut second.times.probe, 70_000);
        second.bytes = 5;
        let line = serde_json::to_string(&second.compact()).expect("plain data");
        let received: TransferSecond = serde_json::from_str(&line).expect("its own JSON");
        let mut sum = TransferSecond::new(3);
        sum.add(&received);
        assert_eq!(sum, second);
    }

    #[test]
    fn the_fewest_bytes_are_those_of_a_process_with_transfers() {
        let mut sum = Advances::default();
        sum.add(Advances { transfers: 10, never: 0, once: 1, fewest_bytes: 700 });
        sum.add(Advances::default());
        sum.add(Advances { transfers: 5, never: 1, once: 0, fewest_bytes: 300 });
        assert_eq!((sum.fewest_bytes, sum.twice()), (300, 13));
    }
}
