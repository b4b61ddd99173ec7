//! The inputs of a supervisor, in one poll(2): ended children, stop requests, timeouts.

use std::io::{self, Read, Stdin};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGTERM};
use signal_hook::low_level::pipe;

use super::protocol::{EXTERNAL, STOP};

/// What the supervisor is told.
pub(super) enum SupervisorOrder {
    /// To stop the server: the owner waits for that.
    Stop,
    /// To stop the server, because the owner or the guard died.
    StopAbandoned,
    /// That another program has started the server.
    IsExternal,
}

pub(super) struct SupervisorInputs {
    /// The standard input. None after its end.
    control: Option<Stdin>,
    /// Receives a byte for each SIGCHLD.
    child: UnixStream,
    /// Receives a byte for each SIGTERM, which the kernel sends when the guard dies.
    terminate: UnixStream,
}

impl SupervisorInputs {
    pub(super) fn open() -> io::Result<Self> {
        let signal_pipe = |signal| {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            pipe::register(signal, write)?;
            io::Result::Ok(read)
        };
        Ok(Self {
            control: Some(io::stdin()),
            child: signal_pipe(SIGCHLD)?,
            terminate: signal_pipe(SIGTERM)?,
        })
    }

    /// Sleeps until there is an input or the timeout passes. Returns none for an ended child and for the
    /// timeout: the caller reaps children in both cases.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Option<SupervisorOrder>> {
        let timeout = timeout.map(|t| Timespec::try_from(t).expect("a timeout of at most a day"));
        let mut polled =
            vec![PollFd::new(&self.child, PollFlags::IN), PollFd::new(&self.terminate, PollFlags::IN)];
        polled.extend(self.control.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let control_is_ready = polled.get(2).is_some_and(|fd| !fd.revents().is_empty());
        drain(&self.child);
        if drain(&self.terminate) {
            return Ok(Some(SupervisorOrder::StopAbandoned));
        }
        Ok(if control_is_ready { self.read_control() } else { None })
    }

    /// Reads the byte, or the end, that poll reported.
    fn read_control(&mut self) -> Option<SupervisorOrder> {
        let mut byte = [0];
        match rustix::io::read(self.control.as_ref()?.as_fd(), &mut byte) {
            Ok(1) if byte[0] == STOP => Some(SupervisorOrder::Stop),
            Ok(1) if byte[0] == EXTERNAL => Some(SupervisorOrder::IsExternal),
            _ => {
                self.control = None;
                Some(SupervisorOrder::StopAbandoned)
            }
        }
    }
}

/// Empties a signal pipe. Returns whether it contained anything.
fn drain(mut pipe: &UnixStream) -> bool {
    let mut bytes = [0; 64];
    let mut any = false;
    while let Ok(1..) = pipe.read(&mut bytes) {
        any = true;
    }
    any
}
