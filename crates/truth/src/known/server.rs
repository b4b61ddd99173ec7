//! A known server: one thread, one epoll instance, a heap of pending replies.
//!
//! The known times are those that the server records: from the kernel's receive timestamp of the request to the moment
//! before it sends the reply, because the client's timestamp of the reply is taken within the send. (`SO_TIMESTAMPNS` also works on TCP in Linux: `tcp_recv_timestamp` in net/ipv4/tcp.c; on
//! loopback the kernel takes it within the client's send.) The *intended* service time only shapes these times: the
//! server sleeps until shortly before a reply is due and polls for the rest. Each connection has at most one request
//! in flight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::time::Duration;

use load::clock::Nanos;
use load::event_queue::EventQueue;
use rustix::event::epoll::{EventData, EventFlags};

use super::account::{Account, ExactTimes, ServedRequest, csv};
use super::behaviour::{Behaviour, Pauses};
use super::clock::{WallClock, occupy};
use super::reply::{self, Replies};
use super::request::{self, Request};
use super::socket::{self, Received, SocketReader};
use super::tasks::{RequestOutcome, Tasks};

/// Events per poll; few, so that due replies do not wait.
const BATCH: usize = 32;
/// Sleep ends this long before a reply is due: the wake-up latency of a thread on a virtual machine.
const WAKE_LATENCY: Duration = Duration::from_micros(150);
const LISTENER: u64 = u64::MAX;

/// Serves until the process is killed. Fails if it cannot listen.
pub fn run(behaviour: &Behaviour) -> io::Result<()> {
    // The default timer slack adds 50 µs to every sleep. If the kernel refuses, the server is less precise.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let _ = load::processes::connections_a_process();
    Server::new(behaviour)?.serve()
}

/// A slot for a connection. The generation identifies late events of an earlier connection.
#[derive(Debug, Default)]
struct ConnectionSlot {
    stream: Option<TcpStream>,
    generation: u32,
    /// An incomplete request.
    unread: Vec<u8>,
}

/// A request whose reply is pending.
#[derive(Debug, PartialEq, Eq)]
struct PendingRequest {
    slot: usize,
    generation: u32,
    received: Nanos,
    request: Request,
}

/// A pending reply, ordered by its due time.
#[derive(Debug, PartialEq, Eq)]
struct PendingReply {
    at: Nanos,
    /// Orders replies with the same due time: the older one first.
    number: u64,
    task: PendingRequest,
}

impl Ord for PendingReply {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for PendingReply {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

struct Server {
    behaviour: Behaviour,
    listener: TcpListener,
    events: EventQueue,
    slots: Vec<ConnectionSlot>,
    free: Vec<usize>,
    tasks: Tasks<PendingRequest>,
    due: BinaryHeap<Reverse<PendingReply>>,
    numbered: u64,
    reader: SocketReader,
    replies: Replies,
    out: Vec<u8>,
    account: Account,
    log: Vec<ServedRequest>,
    /// CPU time is accounted for up to here.
    accounted: Nanos,
    busy: Duration,
    extra: Duration,
    /// Replies, where the server pauses after some.
    replied: u64,
}

impl Server {
    fn new(behaviour: &Behaviour) -> io::Result<Self> {
        let listener = socket::listening(SocketAddr::new(behaviour.host, behaviour.port))?;
        let events = EventQueue::new(BATCH)?;
        events.add(&listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self {
            behaviour: behaviour.clone(),
            listener,
            events,
            slots: Vec::new(),
            free: Vec::new(),
            tasks: Tasks::new(behaviour),
            due: BinaryHeap::new(),
            numbered: 0,
            reader: SocketReader::new(),
            replies: Replies::new(behaviour.bytes),
            out: Vec::new(),
            account: Account::default(),
            log: Vec::new(),
            accounted: Nanos::now(),
            busy: Duration::ZERO,
            extra: Duration::ZERO,
            replied: 0,
        })
    }

    fn serve(mut self) -> io::Result<()> {
        let mut tokens = Vec::with_capacity(BATCH);
        loop {
            self.freeze_if_time();
            self.answer_due();
            self.wait()?;
            let wall = WallClock::read();
            tokens.clear();
            tokens.extend(self.events.events().iter().map(|event| event.data.u64()));
            for token in &tokens {
                match *token {
                    LISTENER => self.accept(),
                    token => self.read((token & 0xFFFF_FFFF) as usize, (token >> 32) as u32, wall),
                }
                self.answer_due();
            }
        }
    }

    /// Polls for events; without any, sleeps until the next reply or freeze. A poll that finds events counts as work;
    /// waiting does not.
    fn wait(&mut self) -> io::Result<()> {
        let start = Nanos::now();
        self.account_until(start);
        if !self.events.wait(Some(Duration::ZERO))?.is_empty() {
            return Ok(());
        }
        let next_due = self.due.peek().map(|Reverse(due)| due.at);
        let next_freeze = self.tasks.next_freeze().map(|(begin, _)| begin);
        let next = next_due.into_iter().chain(next_freeze).min();
        let sleep = next.map(|next| Duration::from(next.since(start)).saturating_sub(WAKE_LATENCY));
        if sleep.is_none_or(|sleep| !sleep.is_zero()) {
            self.events.wait(sleep)?;
        }
        self.accounted = Nanos::now();
        Ok(())
    }

    fn account_until(&mut self, now: Nanos) {
        self.busy += Duration::from(now.since(self.accounted));
        self.accounted = now;
    }

    fn freeze_if_time(&mut self) {
        while let Some((begin, end)) = self.tasks.next_freeze() {
            let now = Nanos::now();
            if now < begin {
                return;
            }
            std::thread::sleep(end.since(now).into());
            self.tasks.end_freeze();
            self.accounted = Nanos::now();
        }
    }

    fn accept(&mut self) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                // No connection waits, or it is gone. Without a free descriptor it waits in the backlog.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.slots.push(ConnectionSlot::default());
                self.slots.len() - 1
            });
            let token = u64::from(self.slots[slot].generation) << 32 | slot as u64;
            let watched = socket::prepare(&stream)
                .and_then(|()| Ok(self.events.add(&stream, EventData::new_u64(token), EventFlags::IN)?));
            if watched.is_err() {
                self.free.push(slot);
                continue;
            }
            self.account.connections += 1;
            self.slots[slot].stream = Some(stream);
        }
    }

    fn close(&mut self, slot: usize) {
        let closing = &mut self.slots[slot];
        if closing.stream.take().is_some() {
            closing.generation = closing.generation.wrapping_add(1);
            closing.unread.clear();
            self.free.push(slot);
        }
    }

    fn read(&mut self, slot: usize, generation: u32, wall: WallClock) {
        let Some(reading) = self.slots.get_mut(slot).filter(|slot| slot.generation == generation) else {
            return;
        };
        let Some(stream) = &reading.stream else { return };
        let stamp = match self.reader.receive(stream) {
            Received::Data(bytes, stamp) => {
                reading.unread.extend_from_slice(bytes);
                stamp
            }
            Received::Nothing => return,
            Received::Closed => return self.close(slot),
        };
        let received = stamp.map_or_else(Nanos::now, |stamp| wall.monotonic(stamp));
        while self.slots[slot].generation == generation {
            match request::take(&mut self.slots[slot].unread) {
                Ok(Some(request)) => {
                    self.take(PendingRequest { slot, generation, received, request }, stamp.is_some());
                }
                Ok(None) => return,
                Err(request::MalformedRequest) => return self.close(slot),
            }
        }
    }

    fn take(&mut self, task: PendingRequest, is_stamped: bool) {
        if let Request::Account | Request::Log | Request::Stats = task.request {
            return self.send_document(&task);
        }
        self.account.requests += 1;
        self.account.unstamped += u64::from(!is_stamped);
        let received = task.received;
        match self.tasks.outcome(received) {
            RequestOutcome::Served => {
                let due = self.tasks.begin(task, received);
                self.schedule(due);
            }
            RequestOutcome::Failed => {
                self.account.errors += 1;
                self.refuse(&task, "wrong");
            }
            RequestOutcome::Refused => {
                self.account.refused += 1;
                self.refuse(&task, "full");
            }
            RequestOutcome::Dropped => {
                self.account.dropped += 1;
                self.close(task.slot);
            }
        }
    }

    fn schedule(&mut self, due: Option<(PendingRequest, Nanos)>) {
        if let Some((task, at)) = due {
            self.numbered += 1;
            self.due.push(Reverse(PendingReply { at, number: self.numbered, task }));
        }
    }

    fn answer_due(&mut self) {
        while self.due.peek().is_some_and(|Reverse(due)| due.at <= Nanos::now()) {
            let Some(Reverse(PendingReply { task, .. })) = self.due.pop() else { return };
            self.work();
            self.out.clear();
            let stays_open = self.replies.served(&task.request, &mut self.out);
            let sent = self.send(&task, stays_open);
            if let Some(sent) = sent {
                self.account.replies += 1;
                if self.behaviour.log {
                    self.log.push(ServedRequest { received: task.received, sent });
                }
            }
            if let Some(Pauses { length, replies }) = self.behaviour.pauses
                && self.is_nth_reply(replies)
            {
                std::thread::sleep(length);
            }
            let next = self.tasks.end(Nanos::now());
            self.schedule(next);
        }
    }

    /// Counts a reply; returns whether it is one of every so many.
    fn is_nth_reply(&mut self, every: u64) -> bool {
        self.replied += 1;
        self.replied.is_multiple_of(every)
    }

    /// Occupies the CPU for a request. Extra work is a share of the CPU time of all requests so far, so that a request
    /// takes longer by that share on average, whatever its cost.
    ///
    /// Extra work begins at a clock reading that servers without it make too. Otherwise the end of the reading before,
    /// and the computation, would be part of the extra work in one server and come on top in the other: some 30 ns a
    /// request, which is 0.05 % of 50 µs.
    fn work(&mut self) {
        if self.behaviour.work.is_zero() && self.behaviour.extra_work == 0.0 {
            return;
        }
        self.account_until(occupy(Nanos::now().after(self.behaviour.work)));
        let extra = self.busy.mul_f64(self.behaviour.extra_work).saturating_sub(self.extra);
        let begin = Nanos::now();
        self.account_until(begin);
        if extra.is_zero() {
            return;
        }
        self.accounted = occupy(begin.after(extra));
        self.extra += Duration::from(self.accounted.since(begin));
    }

    fn refuse(&mut self, task: &PendingRequest, word: &str) {
        self.out.clear();
        let stays_open = Replies::refused(&task.request, word, &mut self.out);
        self.send(task, stays_open);
    }

    fn send_document(&mut self, task: &PendingRequest) {
        self.account_until(Nanos::now());
        self.account.busy_s = self.busy.as_secs_f64();
        self.account.extra_work_s = self.extra.as_secs_f64();
        self.account.freezes = self.tasks.freezes();
        self.out.clear();
        let stays_open = task.request == Request::Stats;
        match task.request {
            Request::Stats => reply::stats(&self.account, &mut self.out),
            Request::Log => reply::document("text/csv", &csv(&self.log), &mut self.out),
            _ => {
                // A request for the account is not part of the load.
                self.account.connections = self.account.connections.saturating_sub(1);
                self.account.service_time_us = ExactTimes::of_service(&self.log);
                let json = serde_json::to_string(&self.account).expect("an account is plain data");
                reply::document("application/json", &json, &mut self.out);
            }
        }
        self.send(task, stays_open);
    }

    /// Sends the reply; returns the time before the send, or `None` if the client is gone.
    fn send(&mut self, task: &PendingRequest, stays_open: bool) -> Option<Nanos> {
        let slot = self.slots.get_mut(task.slot).filter(|slot| slot.generation == task.generation)?;
        let before = Nanos::now();
        let sent = slot.stream.as_mut()?.write_all(&self.out).ok().map(|()| before);
        if sent.is_none() || !stays_open {
            self.close(task.slot);
        }
        sent
    }
}
