//! Collects what several clients measure: one [`Collector`] for each client, and one for all, to which a client is what a
//! worker is to the client's.

use crate::clock::Nanos;
use crate::record::Interval;
use crate::session::collector::{Collector, CompleteInterval};
use crate::worker::{WorkerFailure, WorkerMessage};

/// Takes the messages of all workers of a load.
pub(crate) struct ClientCollectors {
    /// Everything.
    pub all: Collector,
    /// By client. None where this machine alone makes the load.
    pub clients: Vec<ClientCollector>,
}

/// What one client measures.
pub(crate) struct ClientCollector {
    pub own: Collector,
    has_ended: bool,
}

impl ClientCollectors {
    /// Worker w is a worker of client w modulo the number of clients, and each has as many.
    pub fn new(clients: u32, workers: u32, operations: usize, counters: usize) -> Self {
        let collector = |workers| Collector::new(workers, operations, counters);
        let of_client = |_| ClientCollector { own: collector(workers / clients), has_ended: false };
        Self {
            all: collector(if clients == 0 { workers } else { clients }),
            clients: (0..clients).map(of_client).collect(),
        }
    }

    /// Takes one message. Returns an interval that can be filled again, and by which worker.
    pub fn take(&mut self, message: WorkerMessage) -> Option<(u32, Box<Interval>)> {
        let clients = self.clients.len() as u32;
        if clients == 0 {
            return self.all.take(message);
        }
        let (worker, number) = (message.worker(), message.worker() % clients);
        if let WorkerMessage::Singles { operations, .. } = &message {
            self.all.singles.extend(operations);
        }
        let client = &mut self.clients[number as usize];
        client.own.take(message.of_worker(worker / clients));
        while let Some(CompleteInterval { index, stats, .. }) = client.own.next_complete() {
            self.all.take(WorkerMessage::Interval { worker: number, index, stats });
        }
        if client.own.all_done() && !client.has_ended {
            client.has_ended = true;
            let (stopped, ended) = (client.own.stopped, client.own.ended);
            self.all.take(WorkerMessage::Done { worker: number, stopped, ended, failure: None });
        }
        None
    }

    /// The workers of clients that have not ended will not: this is why.
    pub fn give_up(&mut self, why: &WorkerFailure) {
        let (now, clients) = (Nanos::now(), self.clients.len() as u32);
        let late: Vec<u32> = (0..clients)
            .flat_map(|number| {
                let own = &self.clients[number as usize].own;
                own.unfinished().map(move |place| place * clients + number)
            })
            .collect();
        for worker in late {
            let failure = Some(why.clone());
            self.take(WorkerMessage::Done { worker, stopped: now, ended: now, failure });
        }
    }

    /// The first failure: of a client, or of a worker of this machine. Of clients it is not taken.
    pub fn failure(&mut self) -> Option<WorkerFailure> {
        self.all.failure.take().or_else(|| self.clients.iter().find_map(|client| client.own.failure.clone()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::{DRAIN, record};

    /// What a worker records in an interval: times, errors are zero, and operations that fell due.
    type Recorded = (Vec<u32>, u64);

    fn interval(worker: u32, index: i64, (times, offered): &Recorded) -> WorkerMessage {
        let mut stats = Box::new(Interval::new(1, 1));
        for us in times {
            record(&mut stats.operations[0].response_time, *us);
        }
        stats.client.offered = *offered;
        stats.counters[0] = offered / 2;
        WorkerMessage::Interval { worker, index, stats }
    }

    fn done(worker: u32) -> WorkerMessage {
        WorkerMessage::Done { worker, stopped: Nanos(9), ended: Nanos(12), failure: None }
    }

    /// The messages of all workers: those of one in their order, the workers in turns that `order` draws.
    fn messages(recorded: &[Vec<Recorded>], order: &[usize]) -> Vec<WorkerMessage> {
        let mut of_workers: Vec<Vec<WorkerMessage>> = Vec::new();
        for (worker, intervals) in recorded.iter().enumerate() {
            let worker = worker as u32;
            let indices = (-1..).take(intervals.len() - 1).chain([DRAIN]);
            let sent = indices.zip(intervals).map(|(index, r)| interval(worker, index, r));
            let mut sent: Vec<WorkerMessage> = sent.chain([done(worker)]).collect();
            sent.reverse();
            of_workers.push(sent);
        }
        let mut sent = Vec::new();
        for turn in order.iter().copied().chain(0..).take(10_000) {
            let at = turn % of_workers.len();
            sent.extend(of_workers[at].pop());
        }
        sent
    }

    fn collect(clients: u32, workers: u32, messages: Vec<WorkerMessage>) -> ClientCollectors {
        let mut collectors = ClientCollectors::new(clients, workers, 1, 1);
        for message in messages {
            collectors.take(message);
            while collectors.all.next_complete().is_some() {}
        }
        assert!(collectors.all.all_done() && collectors.failure().is_none());
        collectors
    }

    proptest! {
        /// The workers of any number of clients give the total, the drain and the intervals of one client with all workers.
        #[test]
        fn the_merged_load_is_that_of_one_client(
            recorded in prop::collection::vec(
                prop::collection::vec((prop::collection::vec(0_u32..5_000_000, 0..4), 0_u64..50), 4), 12),
            order in prop::collection::vec(0_usize..12, 0..60),
            clients in prop::sample::select(vec![1_u32, 2, 3, 4, 6, 12]),
        ) {
            let one = collect(0, 12, messages(&recorded, &order)).all;
            let merged = collect(clients, 12, messages(&recorded, &order));
            prop_assert_eq!(&merged.all.total, &one.total);
            prop_assert_eq!(&merged.all.drain, &one.drain);
            // Encoded histograms differ in the range that they could have taken.
            let expanded = |collector: &Collector| {
                collector.intervals.iter().map(|(at, stats)| (*at, stats.expand())).collect::<Vec<_>>()
            };
            prop_assert_eq!(expanded(&merged.all), expanded(&one));
            prop_assert_eq!((merged.all.stopped, merged.all.ended), (one.stopped, one.ended));
            let sum: u64 = merged.clients.iter().map(|client| client.own.total.succeeded()).sum();
            prop_assert_eq!(sum, one.total.succeeded());
        }
    }

    #[test]
    fn a_client_that_never_ends_is_given_up_and_what_others_measured_is_kept() {
        let mut collectors = ClientCollectors::new(2, 4, 1, 1);
        for worker in [0, 2] {
            collectors.take(interval(worker, 0, &(vec![7], 1)));
            collectors.take(done(worker));
        }
        collectors.take(done(3));
        assert!(!collectors.all.all_done());
        let silent = WorkerFailure::ProcessLost("silent".to_owned());
        collectors.give_up(&silent);
        while collectors.all.next_complete().is_some() {}
        assert!(collectors.all.all_done() && collectors.all.total.succeeded() == 2);
        assert_eq!(collectors.failure(), Some(silent));
        assert!(collectors.clients[0].own.failure.is_none());
    }

    #[test]
    fn a_client_that_is_lost_is_found_and_the_others_can_end() {
        let mut collectors = ClientCollectors::new(2, 4, 1, 1);
        let lost = Some(WorkerFailure::ProcessLost("c2 was lost".to_owned()));
        for worker in [1, 3] {
            let at = Nanos(5);
            collectors.take(WorkerMessage::Done { worker, stopped: at, ended: at, failure: lost.clone() });
        }
        assert_eq!(collectors.failure(), lost);
        collectors.take(interval(0, 0, &(vec![7], 1)));
        collectors.take(interval(2, 0, &(vec![7], 1)));
        assert!(collectors.all.next_complete().is_some());
        collectors.take(done(0));
        assert!(!collectors.all.all_done());
        collectors.take(done(2));
        assert!(collectors.all.all_done() && collectors.all.total.succeeded() == 2);
        assert!(collectors.clients[0].own.failure.is_none() && collectors.clients[1].own.failure == lost);
    }
}
