//! All that a keeper waits for, in one poll(2): a child that ended, a word from above, a time that is over.

use std::io::{self, Read, Stdin};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGTERM};
use signal_hook::low_level::pipe;

use super::protocol::STOP;

/// Why the server should stop.
pub(super) enum Ask {
    /// Those who started it want it stopped, and wait.
    Stop,
    /// Those who started it are gone, or the guard is.
    Abandoned,
}

pub(super) struct News {
    /// The standard input; none after its end.
    control: Option<Stdin>,
    /// A byte for each SIGCHLD.
    child: UnixStream,
    /// A byte for each SIGTERM, which the kernel sends when the guard dies.
    terminate: UnixStream,
}

impl News {
    pub(super) fn watch() -> io::Result<Self> {
        let watch_one = |signal| {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            pipe::register(signal, write)?;
            io::Result::Ok(read)
        };
        Ok(Self { control: Some(io::stdin()), child: watch_one(SIGCHLD)?, terminate: watch_one(SIGTERM)? })
    }

    /// Sleeps until there is news or the time is over. A child that ended is `None` too: reap and see.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Option<Ask>> {
        let timeout = timeout.map(|t| Timespec::try_from(t).expect("a day at most"));
        let mut watched =
            vec![PollFd::new(&self.child, PollFlags::IN), PollFd::new(&self.terminate, PollFlags::IN)];
        watched.extend(self.control.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let spoken_to = watched.get(2).is_some_and(|fd| !fd.revents().is_empty());
        drain(&self.child);
        if drain(&self.terminate) {
            return Ok(Some(Ask::Abandoned));
        }
        Ok(if spoken_to { self.listen() } else { None })
    }

    /// Reads the byte, or the end, that poll saw.
    fn listen(&mut self) -> Option<Ask> {
        let mut byte = [0];
        match rustix::io::read(self.control.as_ref()?.as_fd(), &mut byte) {
            Ok(1) if byte[0] == STOP => Some(Ask::Stop),
            _ => {
                self.control = None;
                Some(Ask::Abandoned)
            }
        }
    }
}

/// Empties a pipe of signals; true when there was one.
fn drain(mut pipe: &UnixStream) -> bool {
    let mut bytes = [0; 64];
    let mut any = false;
    while let Ok(1..) = pipe.read(&mut bytes) {
        any = true;
    }
    any
}
