//! The controller's end of the connection to one agent: requests and replies, and whether the host is still there.

mod channels;
mod outbox;
pub mod program_channel;
mod reader_window;
mod wait;

use std::collections::HashMap;
use std::io::Read;
use std::process::ChildStdout;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use host::CpuSet;
use load::clock::Nanos;
use serde::de::IgnoredAny;

use self::outbox::{Outbox, Refused};
use self::reader_window::ToReader;
use self::wait::{WaitError, wait};
use crate::clock::{self, ClockOffset, EXCHANGES, Exchange};
use crate::connection::program_channel::{ChannelLink, ProgramInput, ProgramOutput};
use crate::errors::machine::MachineError;
use crate::frame::{FrameDecoder, FrameError, encode};
use crate::host_text::host_text;
use crate::mutex::locked;
use crate::protocol::WINDOW;
use crate::protocol::servers::Interrupt;
use crate::protocol::{
    AgentMessage, AgentProgram, Call, HOST_SILENCE, Hello, PING_PERIOD, PROTOCOL, ReadClocks, StartProgram,
    ToAgent,
};
use crate::transport::{LinkError, LinkPipes, LinkProcess, OpenError, OpenProgress, Transport};

/// From the marker to the agent's first frame.
const HELLO: Duration = Duration::from_secs(30);

/// How long an agent may take to start a process.
const START: Duration = Duration::from_secs(30);

/// How long a link may take to end after its agent's input was closed.
const END: Duration = Duration::from_secs(3);

/// How long an answer may take after Ctrl-C. A server that is stopped takes less; a host that takes longer is not waited for, and
/// its agent stops what is left by itself.
const AFTER_INTERRUPTION: Duration = Duration::from_secs(20);

/// A connection to the agent of one host. Dropping it ends the agent and everything that the agent started.
#[derive(Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    hello: Hello,
    interrupted: Arc<AtomicBool>,
    /// Whether the agent knows of the interruption.
    is_told: AtomicBool,
    /// Dropped with the connection, which ends the thread that pings.
    _closing: Sender<()>,
}

/// A reply with the time of its arrival.
struct Arrival {
    received_ns: u64,
    /// The message as it came; how long it was, if that is too long for its request.
    document: Result<Vec<u8>, usize>,
}

/// Who waits for a reply.
#[derive(Debug)]
struct Waiting {
    to: Sender<Arrival>,
    most_bytes: usize,
}

#[derive(Debug)]
struct Shared {
    host: String,
    transport: Transport,
    process: Mutex<LinkProcess>,
    outbox: Outbox,
    pending: Mutex<Pending>,
    next_id: AtomicU64,
    /// Whether anything has arrived since the last ping.
    heard: AtomicBool,
    /// Whether this side ends the connection.
    closing: AtomicBool,
}

#[derive(Debug, Default)]
struct Pending {
    replies: HashMap<u64, Waiting>,
    /// What reads the output of programs, by their channels.
    programs: HashMap<u64, ToReader>,
    /// Reason and remedy, once the link has ended.
    lost: Option<(String, String)>,
}

impl Connection {
    /// Starts the agent of a host and checks that it is this version.
    pub fn open(
        host: &str,
        transport: &Transport,
        interrupted: &Arc<AtomicBool>,
        observe: &dyn Fn(OpenProgress),
    ) -> Result<Self, MachineError> {
        let opened = Self::start(host, transport, interrupted, observe);
        opened.map_err(|source| match source {
            OpenError::Interrupted => MachineError::Interrupted,
            source => MachineError::Open { host: host.to_owned(), source },
        })
    }

    fn start(
        host: &str,
        transport: &Transport,
        interrupted: &Arc<AtomicBool>,
        observe: &dyn Fn(OpenProgress),
    ) -> Result<Self, OpenError> {
        let nonce = format!("{:032x}", rand::random::<u128>());
        let link = transport.open(&nonce, Arc::clone(interrupted), observe)?;
        let (process, pipes) = link.into_parts();
        let LinkPipes { stdin, stdout, unread } = pipes.ok_or(OpenError::Link(LinkError::Ended))?;
        let (outbox, queued) = Outbox::new();
        let shared = Arc::new(Shared {
            host: host.to_owned(),
            transport: transport.clone(),
            process: Mutex::new(process),
            outbox,
            pending: Mutex::default(),
            next_id: AtomicU64::new(1),
            heard: AtomicBool::new(true),
            closing: AtomicBool::new(false),
        });
        let (to_opener, hello) = mpsc::channel();
        let (closing, is_closing) = mpsc::channel::<()>();
        let writing = Arc::clone(&shared);
        thread::spawn(move || writing.outbox.write(queued, stdin));
        let reading = Arc::clone(&shared);
        thread::spawn(move || reading.read(stdout, &unread, &to_opener));
        let watching = Arc::clone(&shared);
        thread::spawn(move || watching.watch(&is_closing));
        // From here on, dropping it ends the agent.
        let mut connection = Self {
            shared,
            hello: Hello::of_this_process(),
            interrupted: Arc::clone(interrupted),
            is_told: AtomicBool::new(false),
            _closing: closing,
        };
        let is =
            wait(&hello, HELLO, || interrupted.load(Ordering::Relaxed)).map_err(|failed| match failed {
                WaitError::Interrupted => OpenError::Interrupted,
                WaitError::Late => OpenError::Link(LinkError::Silent(HELLO)),
                WaitError::Gone => OpenError::Agent { why: connection.shared.lost().0 },
            })?;
        if !is.fits(&connection.hello) {
            let own = format!("{}, protocol {PROTOCOL}", connection.hello.version);
            return Err(OpenError::Version { is: host_text(&is.version), protocol: is.protocol, own });
        }
        if is.sources != connection.hello.sources {
            let own = connection.hello.sources.clone();
            return Err(OpenError::Sources { version: is.version, is: host_text(&is.sources), own });
        }
        connection.hello = is;
        Ok(connection)
    }

    /// Who the agent is.
    pub fn agent(&self) -> &Hello {
        &self.hello
    }

    /// Asks the agent, and waits for its answer this long.
    pub fn call<C: Call>(&self, call: C, longest: Duration) -> Result<C::Answer, MachineError> {
        let (arrival, _) = self.exchange(call, longest, Self::leave)?;
        self.answer::<C>(arrival)
    }

    /// Asks the agent, and waits for its answer also some time after an interruption. The agent is told of that, so that what takes
    /// long ends, and what is to be read or stopped after it still is. A host that does not answer then is given up.
    pub fn call_to_end<C: Call>(&self, call: C, longest: Duration) -> Result<C::Answer, MachineError> {
        self.tell_interruption(Duration::ZERO);
        let (arrival, _) = self.exchange(call, longest, Self::tell_interruption)?;
        self.answer::<C>(arrival)
    }

    /// Tells the agent of an interruption, once. The caller goes on for a while.
    fn tell_interruption(&self, interrupted_for: Duration) -> bool {
        if self.interrupted.load(Ordering::Relaxed) && !self.is_told.swap(true, Ordering::Relaxed) {
            let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
            // Nobody waits for the reply.
            let message = ToAgent::Request { id, call: Interrupt {}.into() };
            self.shared.send(encode(&message).expect("an interruption is short"));
        }
        let is_left = interrupted_for > AFTER_INTERRUPTION;
        if is_left {
            let reason = format!("no answer for {} s after Ctrl-C", AFTER_INTERRUPTION.as_secs());
            self.shared.give_up(reason, "check the host".to_owned());
        }
        is_left
    }

    /// The caller of an interrupted call does not wait for its reply.
    fn leave(&self, _interrupted_for: Duration) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// How far the clocks of the host are ahead.
    pub fn clock_offset(&self) -> Result<ClockOffset, MachineError> {
        let mut exchanges = Vec::new();
        for _ in 0..EXCHANGES {
            let (arrival, sent) = self.exchange(ReadClocks {}, HOST_SILENCE, |_, _| false)?;
            let received_ns = arrival.received_ns;
            let theirs = self.answer::<ReadClocks>(arrival)?;
            exchanges.push(Exchange { sent, theirs, received_ns });
        }
        Ok(ClockOffset::from_exchanges(&exchanges).expect("there are exchanges"))
    }

    /// Starts a program on the host, with these CPUs or all: its standard input and output.
    pub fn start_program(
        &self,
        program: AgentProgram,
        cpus: Option<CpuSet>,
    ) -> Result<(ProgramInput, ProgramOutput), MachineError> {
        let channel = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let (to_reader, messages, unread) = reader_window::channel();
        let name = program.name();
        locked(&self.shared.pending).programs.insert(channel, to_reader);
        // Dropping them ends the program.
        let link: Arc<dyn ChannelLink> = self.shared.clone();
        let output = ProgramOutput::new(Arc::clone(&link), channel, name, (messages, unread));
        self.call(StartProgram { channel, program, cpus }, START)?;
        Ok((ProgramInput::new(link, channel), output))
    }

    /// Sends a request; its reply, and the clocks at its send. `is_left` is asked again and again, with the time since this wait was
    /// interrupted, and ends the wait.
    fn exchange<C: Call>(
        &self,
        call: C,
        longest: Duration,
        is_left: fn(&Self, Duration) -> bool,
    ) -> Result<(Arrival, crate::protocol::Clocks), MachineError> {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let message = ToAgent::Request { id, call: call.into() };
        let frame = encode(&message).map_err(|error| self.protocol_error(&error))?;
        let reply = self.shared.expect(id, C::MOST_BYTES).ok_or_else(|| self.lost())?;
        let sent = clock::read();
        self.shared.send(frame);
        let mut interrupted_at = None;
        let is_left = || {
            if self.interrupted.load(Ordering::Relaxed) {
                interrupted_at.get_or_insert_with(Instant::now);
            }
            is_left(self, interrupted_at.map_or(Duration::ZERO, |at| at.elapsed()))
        };
        let arrival = wait(&reply, longest, is_left).map_err(|failed| {
            locked(&self.shared.pending).replies.remove(&id);
            match failed {
                WaitError::Interrupted => MachineError::Interrupted,
                WaitError::Gone => self.lost(),
                WaitError::Late => {
                    MachineError::Slow { host: self.shared.host.clone(), seconds: longest.as_secs() }
                }
            }
        })?;
        Ok((arrival, sent))
    }

    fn answer<C: Call>(&self, arrival: Arrival) -> Result<C::Answer, MachineError> {
        let document = arrival.document.map_err(|bytes| {
            self.protocol_error(&format_args!(
                "a reply of {bytes} bytes; {} at most are allowed",
                C::MOST_BYTES
            ))
        })?;
        let message = serde_json::from_slice::<AgentMessage<C::Answer>>(&document);
        match message.map_err(|error| self.protocol_error(&error))? {
            AgentMessage::Reply { result, .. } => result.map_err(|source| MachineError::Call {
                host: self.shared.host.clone(),
                source: source.in_one_line(),
            }),
            _ => Err(self.protocol_error(&"no reply")),
        }
    }

    fn protocol_error(&self, why: &dyn std::fmt::Display) -> MachineError {
        MachineError::Protocol { host: self.shared.host.clone(), why: host_text(&why.to_string()) }
    }

    fn lost(&self) -> MachineError {
        let (reason, remedy) = self.shared.lost();
        MachineError::Lost { host: self.shared.host.clone(), reason, remedy }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        // The end of its input ends the agent, and that the link. Where a write is stuck, only force helps.
        self.shared.outbox.close();
        let mut process = locked(&self.shared.process);
        if process.wait(END).is_none() {
            process.kill();
        }
    }
}

impl Shared {
    /// The place where the reply to a request arrives; none if the host is lost.
    fn expect(&self, id: u64, most_bytes: usize) -> Option<mpsc::Receiver<Arrival>> {
        let (to, reply) = mpsc::channel();
        let mut pending = locked(&self.pending);
        if pending.lost.is_some() {
            return None;
        }
        pending.replies.insert(id, Waiting { to, most_bytes });
        Some(reply)
    }

    /// Sends a frame, as soon as the host has taken those before. If the link has ended, the reading thread says so.
    fn send(&self, frame: Vec<u8>) {
        if self.outbox.send(frame) == Err(Refused::Full) {
            self.give_up("it does not take what is sent to it".to_owned(), "check the host".to_owned());
        }
    }

    /// Ends a link that still is.
    fn give_up(&self, reason: String, remedy: String) {
        self.lose(reason, remedy);
        self.outbox.close();
        locked(&self.process).kill();
    }

    /// Takes a message of the agent. The error says why it is none.
    fn take(&self, document: &[u8], received_ns: u64, to_opener: &Sender<Hello>) -> Result<(), String> {
        let message = serde_json::from_slice::<AgentMessage<IgnoredAny>>(document);
        match message.map_err(|error| FrameError::from(error).to_string())? {
            AgentMessage::Hello(hello) => {
                let _ = to_opener.send(hello);
            }
            AgentMessage::Pong => {}
            AgentMessage::Reply { id, .. } => {
                if let Some(Waiting { to, most_bytes }) = locked(&self.pending).replies.remove(&id) {
                    let fits = document.len() <= most_bytes;
                    let document = if fits { Ok(document.to_vec()) } else { Err(document.len()) };
                    let _ = to.send(Arrival { received_ns, document });
                }
            }
            AgentMessage::Program { channel, message } => {
                let fits = locked(&self.pending).programs.get(&channel).is_none_or(|to| to.pass(message));
                if !fits {
                    return Err(format!("a program's output beyond the window of {WINDOW} bytes"));
                }
            }
        }
        Ok(())
    }

    /// Reads until the link ends.
    fn read(&self, mut stdout: ChildStdout, unread: &[u8], to_opener: &Sender<Hello>) {
        let mut decoder = FrameDecoder::default();
        decoder.feed(unread);
        let mut received_ns = Nanos::now().0;
        let mut buffer = vec![0; 256 << 10];
        let why = loop {
            match decoder.next_document() {
                Ok(Some(document)) => match self.take(document, received_ns, to_opener) {
                    Ok(()) => continue,
                    Err(why) => break Some(why),
                },
                Ok(None) => {}
                Err(error) => break Some(error.to_string()),
            }
            match stdout.read(&mut buffer) {
                Ok(0) => break None,
                Ok(count) => {
                    received_ns = Nanos::now().0;
                    self.heard.store(true, Ordering::Relaxed);
                    decoder.feed(&buffer[..count]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => break Some(error.to_string()),
            }
        };
        if self.closing.load(Ordering::Relaxed) {
            return self.lose("this side has closed the connection".to_owned(), "start again".to_owned());
        }
        let (words, status) = {
            let mut process = locked(&self.process);
            let status = if why.is_none() { process.wait(END) } else { None };
            process.kill();
            (process.last_words(), status)
        };
        if let Some(why) = why {
            self.lose(format!("its answers cannot be read ({})", host_text(&why)), "start again".to_owned());
        } else {
            let end = self.transport.explain_end(&words, status);
            self.lose(end.reason, end.remedy);
        }
    }

    /// Pings the agent, and ends the link when nothing has come, or nothing was taken, for too long. It counts its own turns, so that
    /// a stopped process or a machine that slept does not take that for the host's silence.
    fn watch(&self, is_closing: &mpsc::Receiver<()>) {
        let ping = encode(&ToAgent::Ping).expect("a ping is short");
        let most_turns = HOST_SILENCE.as_millis() / PING_PERIOD.as_millis();
        let (mut silent_turns, mut stuck_turns, mut written) = (0, 0, 0);
        while is_closing.recv_timeout(PING_PERIOD) == Err(RecvTimeoutError::Timeout) {
            silent_turns = if self.heard.swap(false, Ordering::Relaxed) { 0 } else { silent_turns + 1 };
            if silent_turns >= most_turns {
                let reason = format!("no answer for {} s", HOST_SILENCE.as_secs());
                return self.give_up(reason, "check the host and the network to it".to_owned());
            }
            let is_stuck = !self.outbox.is_empty() && self.outbox.progress() == written;
            written = self.outbox.progress();
            stuck_turns = if is_stuck { stuck_turns + 1 } else { 0 };
            if stuck_turns >= most_turns {
                let reason = format!("it has read nothing for {} s", HOST_SILENCE.as_secs());
                return self.give_up(reason, "check the host and the network to it".to_owned());
            }
            // If something is on its way, the agent hears that.
            if self.outbox.is_empty() {
                self.send(ping.clone());
            }
        }
    }

    /// Keeps the first reason, and ends all waiting calls.
    fn lose(&self, reason: String, remedy: String) {
        let mut pending = locked(&self.pending);
        pending.lost.get_or_insert((reason, remedy));
        pending.replies.clear();
        pending.programs.clear();
    }

    fn lost(&self) -> (String, String) {
        let lost = locked(&self.pending).lost.clone();
        lost.unwrap_or_else(|| ("its link ended".to_owned(), "start again".to_owned()))
    }
}

/// Drops what has connections, all at the same time: each waits for the end of its agent.
pub fn end_all<C: Send>(connected: impl IntoIterator<Item = C>) {
    thread::scope(|scope| {
        for one in connected {
            scope.spawn(move || drop(one));
        }
    });
}
