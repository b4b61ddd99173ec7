//! The controller's end of the connection to one agent: requests and replies, and whether the host is still there.

mod channels;
mod wait;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, TryLockError};
use std::thread;
use std::time::Duration;

use host::CpuSet;
use load::clock::Nanos;
use serde_json::Value;

use self::wait::{WaitError, wait};
use crate::clock::{self, ClockOffset, EXCHANGES, Exchange};
use crate::error::MachineError;
use crate::frame::{FrameDecoder, encode};
use crate::lock::lock;
use crate::program_channel::{ChannelLink, ProgramInput, ProgramOutput};
use crate::protocol::servers::Interrupt;
use crate::protocol::{
    AgentProgram, Call, CallError, FromAgent, FromProgram, HOST_SILENCE, Hello, PING_PERIOD, PROTOCOL,
    ReadClocks, StartProgram, ToAgent,
};
use crate::transport::{LinkError, LinkPipes, LinkProcess, OpenError, OpenProgress, Transport};

/// From the marker to the agent's first frame.
const HELLO: Duration = Duration::from_secs(30);

/// How long an agent may take to start a process.
const START: Duration = Duration::from_secs(30);

/// How long a link may take to end after its agent's input was closed.
const END: Duration = Duration::from_secs(3);

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
    result: Result<Value, CallError>,
}

#[derive(Debug)]
struct Shared {
    host: String,
    transport: Transport,
    process: Mutex<LinkProcess>,
    stdin: Mutex<Option<ChildStdin>>,
    pending: Mutex<Pending>,
    next_id: AtomicU64,
    /// Whether anything has arrived since the last ping.
    heard: AtomicBool,
    /// Whether this side ends the connection.
    closing: AtomicBool,
}

#[derive(Debug, Default)]
struct Pending {
    replies: HashMap<u64, Sender<Arrival>>,
    /// What reads the output of programs, by their channels.
    programs: HashMap<u64, Sender<FromProgram>>,
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
        let shared = Arc::new(Shared {
            host: host.to_owned(),
            transport: transport.clone(),
            process: Mutex::new(process),
            stdin: Mutex::new(Some(stdin)),
            pending: Mutex::default(),
            next_id: AtomicU64::new(1),
            heard: AtomicBool::new(true),
            closing: AtomicBool::new(false),
        });
        let (to_opener, hello) = mpsc::channel();
        let (closing, is_closing) = mpsc::channel::<()>();
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
            return Err(OpenError::Version { is: is.version, protocol: is.protocol, own });
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

    /// Asks the agent, and waits for its answer also after an interruption. The agent is told of that, so that what takes long
    /// ends, and what is to be read or stopped after it still is.
    pub fn call_to_end<C: Call>(&self, call: C, longest: Duration) -> Result<C::Answer, MachineError> {
        self.tell_interruption();
        let (arrival, _) = self.exchange(call, longest, Self::tell_interruption)?;
        self.answer::<C>(arrival)
    }

    /// Tells the agent of an interruption, once. The caller goes on.
    fn tell_interruption(&self) -> bool {
        if self.interrupted.load(Ordering::Relaxed) && !self.is_told.swap(true, Ordering::Relaxed) {
            let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
            // Nobody waits for the reply.
            let message = ToAgent::Request { id, call: Interrupt {}.into() };
            self.shared.send(&encode(&message).expect("an interruption is short"));
        }
        false
    }

    /// The caller of an interrupted call does not wait for its reply.
    fn leave(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// How far the clocks of the host are ahead.
    pub fn clock_offset(&self) -> Result<ClockOffset, MachineError> {
        let mut exchanges = Vec::new();
        for _ in 0..EXCHANGES {
            let (arrival, sent) = self.exchange(ReadClocks {}, HOST_SILENCE, |_| false)?;
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
        let (sender, messages) = mpsc::channel();
        let name = program.name();
        lock(&self.shared.pending).programs.insert(channel, sender);
        // Dropping them ends the program.
        let link: Arc<dyn ChannelLink> = self.shared.clone();
        let output = ProgramOutput::new(Arc::clone(&link), channel, name, messages);
        self.call(StartProgram { channel, program, cpus }, START)?;
        Ok((ProgramInput::new(link, channel), output))
    }

    /// Sends a request; its reply, and the clocks at its send. `is_left` is asked again and again, and ends the wait.
    fn exchange<C: Call>(
        &self,
        call: C,
        longest: Duration,
        is_left: fn(&Self) -> bool,
    ) -> Result<(Arrival, crate::protocol::Clocks), MachineError> {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let message = ToAgent::Request { id, call: call.into() };
        let frame = encode(&message).map_err(|error| self.odd(&error))?;
        let reply = self.shared.expect(id).ok_or_else(|| self.lost())?;
        let sent = clock::read();
        self.shared.send(&frame);
        let arrival = wait(&reply, longest, || is_left(self)).map_err(|failed| {
            lock(&self.shared.pending).replies.remove(&id);
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
        let host = || self.shared.host.clone();
        let value = arrival.result.map_err(|source| MachineError::Call { host: host(), source })?;
        serde_json::from_value(value).map_err(|error| self.odd(&error))
    }

    fn odd(&self, why: &dyn std::fmt::Display) -> MachineError {
        MachineError::Protocol { host: self.shared.host.clone(), why: why.to_string() }
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
        let is_closed = match self.shared.stdin.try_lock() {
            Ok(mut stdin) => {
                *stdin = None;
                true
            }
            Err(TryLockError::Poisoned(stdin)) => {
                *stdin.into_inner() = None;
                true
            }
            Err(TryLockError::WouldBlock) => false,
        };
        let mut process = lock(&self.shared.process);
        if !is_closed || process.wait(END).is_none() {
            process.kill();
        }
    }
}

impl Shared {
    /// The place where the reply to a request arrives; none if the host is lost.
    fn expect(&self, id: u64) -> Option<mpsc::Receiver<Arrival>> {
        let (sender, reply) = mpsc::channel();
        let mut pending = lock(&self.pending);
        if pending.lost.is_some() {
            return None;
        }
        pending.replies.insert(id, sender);
        Some(reply)
    }

    /// If it cannot be sent, the link has ended, and the reading thread says so.
    fn send(&self, frame: &[u8]) {
        if let Some(stdin) = lock(&self.stdin).as_mut() {
            let _ = stdin.write_all(frame).and_then(|()| stdin.flush());
        }
    }

    /// Reads until the link ends.
    fn read(&self, mut stdout: ChildStdout, unread: &[u8], to_opener: &Sender<Hello>) {
        let mut decoder = FrameDecoder::default();
        decoder.feed(unread);
        let mut received_ns = Nanos::now().0;
        let mut buffer = vec![0; 256 << 10];
        let why = loop {
            match decoder.next_message() {
                Ok(Some(FromAgent::Hello(hello))) => {
                    let _ = to_opener.send(hello);
                    continue;
                }
                Ok(Some(FromAgent::Pong)) => continue,
                Ok(Some(FromAgent::Reply { id, result })) => {
                    if let Some(waiting) = lock(&self.pending).replies.remove(&id) {
                        let _ = waiting.send(Arrival { received_ns, result });
                    }
                    continue;
                }
                Ok(Some(FromAgent::Program { channel, message })) => {
                    if let Some(reader) = lock(&self.pending).programs.get(&channel) {
                        let _ = reader.send(message);
                    }
                    continue;
                }
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
            let mut process = lock(&self.process);
            let status = if why.is_none() { process.wait(END) } else { None };
            process.kill();
            (process.last_words(), status)
        };
        if let Some(why) = why {
            self.lose(format!("its answers cannot be read ({why})"), "start again".to_owned());
        } else {
            let end = self.transport.explain_end(&words, status);
            self.lose(end.reason, end.remedy);
        }
    }

    /// Pings the agent, and ends the link when nothing has come for too long. It counts its own turns, so that a stopped
    /// process or a machine that slept does not take that for the host's silence.
    fn watch(&self, is_closing: &mpsc::Receiver<()>) {
        let ping = encode(&ToAgent::Ping).expect("a ping is short");
        let most_turns = HOST_SILENCE.as_millis() / PING_PERIOD.as_millis();
        let mut silent_turns = 0;
        while is_closing.recv_timeout(PING_PERIOD) == Err(RecvTimeoutError::Timeout) {
            silent_turns = if self.heard.swap(false, Ordering::Relaxed) { 0 } else { silent_turns + 1 };
            if silent_turns >= most_turns {
                let reason = format!("no answer for {} s", HOST_SILENCE.as_secs());
                self.lose(reason, "check the host and the network to it".to_owned());
                lock(&self.process).kill();
                return;
            }
            // If somebody is writing, the agent hears that.
            if let Ok(mut stdin) = self.stdin.try_lock()
                && let Some(stdin) = stdin.as_mut()
            {
                let _ = stdin.write_all(&ping);
            }
        }
    }

    /// Keeps the first reason, and ends all waiting calls.
    fn lose(&self, reason: String, remedy: String) {
        let mut pending = lock(&self.pending);
        pending.lost.get_or_insert((reason, remedy));
        pending.replies.clear();
        pending.programs.clear();
    }

    fn lost(&self) -> (String, String) {
        let lost = lock(&self.pending).lost.clone();
        lost.unwrap_or_else(|| ("its link ended".to_owned(), "start again".to_owned()))
    }
}
