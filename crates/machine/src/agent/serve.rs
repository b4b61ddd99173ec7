//! The agent: the hidden verb that runs on a host and does what the controller asks.
//!
//! It ends at the end of its input, or when the controller is silent for too long, because a link can die without an end.
//! Everything that it started ends with it: ports are its own, and servers have a supervisor that waits for its end.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use load::engine::RunContext;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::programs::Programs;
use super::work::Agent;
use crate::frame::{FrameDecoder, FrameError, encode, marker};
use crate::protocol::{CONTROLLER_SILENCE, CallError, FromAgent, Hello, ToAgent};

/// Why an agent ends with an error.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// No controller is there any more.
    #[error("the controller is silent for {} s", .0.as_secs())]
    Silent(Duration),
    /// What arrives is not of the protocol.
    #[error("showdown starts this verb itself, and speaks its protocol: {0}")]
    Frame(#[from] FrameError),
    /// The controller does not read.
    #[error("cannot write to the controller: {0}")]
    Write(#[source] io::Error),
    /// The pipe is broken.
    #[error("cannot read from the controller: {0}")]
    Read(#[source] io::Error),
}

/// The agent on standard input and output.
pub fn agent_main(nonce: &str) -> Result<(), AgentError> {
    serve(io::stdin(), io::stdout(), nonce, CONTROLLER_SILENCE, "/proc/self/exe".as_ref())
}

/// Answers what comes from `input` until that ends or is silent for too long. Starts `program` for what needs a process.
pub fn serve(
    mut input: impl Read + AsFd,
    mut output: impl Write + Send + 'static,
    nonce: &str,
    longest_silence: Duration,
    program: &Path,
) -> Result<(), AgentError> {
    let mut head = format!("\n{}agent\n", marker(nonce)).into_bytes();
    head.extend(encode(&FromAgent::Hello(Hello::of_this_process()))?);
    output.write_all(&head).and_then(|()| output.flush()).map_err(AgentError::Write)?;
    let (to_controller, messages) = mpsc::channel();
    // A thread of its own: where the controller does not read, the reading here must go on to notice its silence.
    thread::spawn(move || write(output, &messages));
    let own = program.to_owned();
    let load_process = move || {
        let mut command = Command::new(&own);
        command.arg(load::processes::VERB);
        command
    };
    let context = RunContext { load_process: Some(Arc::new(load_process)), ..RunContext::default() };
    let agent = Arc::new(Agent::new(context, Programs::new(program, &to_controller)));
    // However it ends, servers are stopped. Where this process is killed, their supervisors stop them.
    let ended = answer_all(&mut input, longest_silence, &agent, &to_controller);
    agent.end();
    ended
}

/// Answers until the input ends.
fn answer_all(
    input: &mut (impl Read + AsFd),
    longest_silence: Duration,
    agent: &Arc<Agent>,
    to_controller: &Sender<FromAgent>,
) -> Result<(), AgentError> {
    let mut decoder = FrameDecoder::default();
    let mut buffer = vec![0; 256 << 10];
    let timeout = Timespec {
        tv_sec: longest_silence.as_secs().cast_signed(),
        tv_nsec: longest_silence.subsec_nanos().into(),
    };
    loop {
        match poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Err(AgentError::Silent(longest_silence)),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(AgentError::Read(error.into())),
        }
        match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => decoder.feed(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(AgentError::Read(error)),
        }
        while let Some(message) = decoder.next_message()? {
            take(message, agent, to_controller);
        }
    }
}

/// Does what a message asks: what takes time in a thread of its own.
fn take(message: ToAgent, agent: &Arc<Agent>, to_controller: &Sender<FromAgent>) {
    // The writing thread ends when the controller is gone; then this one is about to end, too.
    match message {
        ToAgent::Ping => {
            let _ = to_controller.send(FromAgent::Pong);
        }
        ToAgent::Request { id, call } if call.is_at_once() => {
            let _ = to_controller.send(FromAgent::Reply { id, result: call.answer(&**agent) });
        }
        ToAgent::Request { id, call } => {
            let at_work = agent.begin_work();
            let (agent, to_controller) = (Arc::clone(agent), to_controller.clone());
            thread::spawn(move || {
                let result = call.answer(&*agent);
                drop(at_work);
                to_controller.send(FromAgent::Reply { id, result })
            });
        }
        // At once, so that lines keep their order.
        ToAgent::Program { channel, message } => agent.programs.take(channel, message),
    }
}

fn write(mut output: impl Write, messages: &mpsc::Receiver<FromAgent>) {
    for message in messages {
        let Some(frame) = frame_of(&message) else { return };
        if output.write_all(&frame).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// The frame of a message. A reply that is too long for one becomes the reason that there is none: others can still be sent.
fn frame_of(message: &FromAgent) -> Option<Vec<u8>> {
    let error = match encode(message) {
        Ok(frame) => return Some(frame),
        Err(error) => error,
    };
    let FromAgent::Reply { id, .. } = *message else { return None };
    encode(&FromAgent::Reply { id, result: Err(CallError::Failed { why: error.to_string() }) }).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use serde_json::Value;

    use super::*;
    use crate::protocol::{Clocks, ReadClocks};

    const LONG: Duration = Duration::from_mins(10);
    const NO_PROGRAM: &str = "/nowhere";

    /// Reads the marker's line and then messages until the end.
    fn read_all(mut from: UnixStream) -> Vec<FromAgent> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("it can be read");
        let frames = bytes.strip_prefix(b"\nshowdown-n agent\n").expect("the marker");
        let mut decoder = FrameDecoder::default();
        decoder.feed(frames);
        std::iter::from_fn(|| decoder.next_message().expect("frames")).collect()
    }

    #[test]
    fn it_says_who_it_is_answers_and_ends_with_its_input() -> Result<(), Box<dyn std::error::Error>> {
        let (mut controller, agent) = UnixStream::pair()?;
        let (from, output) = UnixStream::pair()?;
        for message in [ToAgent::Ping, ToAgent::Request { id: 7, call: ReadClocks {}.into() }] {
            controller.write_all(&encode(&message)?)?;
        }
        controller.shutdown(std::net::Shutdown::Write)?;
        serve(agent, output, "n", LONG, NO_PROGRAM.as_ref())?;
        let messages = read_all(from);
        let [FromAgent::Hello(hello), FromAgent::Pong, FromAgent::Reply { id: 7, result: Ok(clocks) }] =
            &messages[..]
        else {
            panic!("{messages:?}")
        };
        assert!(hello.fits(&Hello::of_this_process()));
        let clocks: Clocks = serde_json::from_value(clocks.clone())?;
        assert!(clocks.monotonic_ns > 0 && clocks.unix_ns > clocks.monotonic_ns);
        Ok(())
    }

    #[test]
    fn a_reply_that_is_too_long_is_an_error_of_its_request_alone() {
        let log = Value::String("x".repeat(crate::frame::MAX_FRAME_BYTES));
        let frame = frame_of(&FromAgent::Reply { id: 7, result: Ok(log) }).expect("a frame");
        let mut decoder = FrameDecoder::default();
        decoder.feed(&frame);
        let message = decoder.next_message().expect("a message").expect("a whole one");
        let FromAgent::Reply { id: 7, result: Err(CallError::Failed { why }) } = message else {
            panic!("{message:?}")
        };
        assert!(why.contains("67108864 at most"), "{why}");
    }

    #[test]
    fn it_ends_when_the_controller_is_silent_or_sends_rubbish() -> io::Result<()> {
        let (_controller, agent) = UnixStream::pair()?;
        let end = serve(agent, io::sink(), "n", Duration::from_millis(1), NO_PROGRAM.as_ref());
        assert!(matches!(end, Err(AgentError::Silent(_))));
        let (mut controller, agent) = UnixStream::pair()?;
        controller.write_all(&[1, 0, 0, 0, b'x'])?;
        let end = serve(agent, io::sink(), "n", LONG, NO_PROGRAM.as_ref());
        assert!(matches!(end, Err(AgentError::Frame(_))));
        Ok(())
    }

    /// A controller that stopped reading, whose pipe is full.
    #[test]
    fn it_notices_silence_also_when_its_answers_are_stuck() -> io::Result<()> {
        let (mut controller, agent) = UnixStream::pair()?;
        let (_from, output) = UnixStream::pair()?;
        let frame = encode(&ToAgent::Request { id: 1, call: ReadClocks {}.into() }).expect("a frame");
        let served =
            thread::spawn(move || serve(agent, output, "n", Duration::from_millis(200), NO_PROGRAM.as_ref()));
        for _ in 0..20_000 {
            // At its end it closes its input.
            if controller.write_all(&frame).is_err() {
                break;
            }
        }
        assert!(matches!(served.join(), Ok(Err(AgentError::Silent(_)))));
        Ok(())
    }
}
