//! An epoll instance whose waits have nanoseconds on every kernel. Which sockets are watched for what, and what is done at
//! their events, is left to those who wait.
//!
//! `epoll_pwait2` (Linux 5.11) sleeps for nanoseconds. An older kernel, a sandbox or an emulator may not have it. There,
//! `ppoll` sleeps on the epoll instance itself, which can be read while it has events (epoll(7)), and `epoll_wait` takes
//! them: one system call more for each sleep.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

/// Watched sockets, and the events of the last wait.
pub struct EventQueue {
    epoll: Epoll,
    events: Vec<Event>,
    kernel: Kernel,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kernel {
    HasNanosecondWaits,
    HasMillisecondWaits,
}

impl EventQueue {
    /// A wait gives so many events at most.
    ///
    /// # Errors
    ///
    /// Those of `epoll_create1(2)`, such as too many open files.
    pub fn new(most_events: usize) -> Result<Self, Errno> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(errno)?,
            events: Vec::with_capacity(most_events),
            kernel: Kernel::HasNanosecondWaits,
        })
    }

    /// Watches a socket; its events have this data.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl(2)`.
    pub fn add(&self, socket: impl AsFd, data: EventData, flags: EventFlags) -> Result<(), Errno> {
        epoll::add(&self.epoll.0, socket, data, flags)
    }

    /// Watches a socket for something else.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl(2)`.
    pub fn modify(&self, socket: impl AsFd, data: EventData, flags: EventFlags) -> Result<(), Errno> {
        epoll::modify(&self.epoll.0, socket, data, flags)
    }

    /// Does not watch a socket any more.
    ///
    /// # Errors
    ///
    /// Those of `epoll_ctl(2)`.
    pub fn delete(&self, socket: impl AsFd) -> Result<(), Errno> {
        epoll::delete(&self.epoll.0, socket)
    }

    /// Waits for events, for this long at most; without a limit, until there is one. A signal ends the wait without events.
    ///
    /// # Errors
    ///
    /// Those of `epoll_wait(2)`.
    #[inline]
    pub fn wait(&mut self, longest: Option<Duration>) -> Result<&[Event], Errno> {
        self.events.clear();
        let timeout = longest.map(|longest| Timespec {
            tv_sec: longest.as_secs().cast_signed(),
            tv_nsec: longest.subsec_nanos().into(),
        });
        let waited = if self.kernel == Kernel::HasNanosecondWaits {
            epoll::wait(&self.epoll.0, spare_capacity(&mut self.events), timeout.as_ref()).map(|_| ())
        } else {
            self.poll_and_take(timeout.as_ref())
        };
        match waited {
            Ok(()) | Err(Errno::INTR) => Ok(&self.events),
            Err(Errno::NOSYS) if self.kernel == Kernel::HasNanosecondWaits => {
                self.kernel = Kernel::HasMillisecondWaits;
                self.wait(longest)
            }
            Err(errno) => Err(errno),
        }
    }

    /// The events of the last wait.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    #[cold]
    fn poll_and_take(&mut self, timeout: Option<&Timespec>) -> Result<(), Errno> {
        let polls_only = timeout.is_some_and(|timeout| timeout.tv_sec == 0 && timeout.tv_nsec == 0);
        if !polls_only {
            rustix::event::poll(&mut [PollFd::new(&self.epoll.0, PollFlags::IN)], timeout)?;
        }
        let mut taken = vec![EpollEvent::empty(); self.events.capacity()];
        let count = self.epoll.wait(&mut taken, EpollTimeout::ZERO).map_err(errno)?;
        for event in &taken[..count] {
            let flags = EventFlags::from_bits_retain(event.events().bits().cast_unsigned());
            self.events.push(Event { flags, data: EventData::new_u64(event.data()) });
        }
        Ok(())
    }
}

fn errno(error: nix::errno::Errno) -> Errno {
    Errno::from_raw_os_error(error as i32)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use super::*;

    /// On each kind of kernel.
    fn queues() -> [EventQueue; 2] {
        [Kernel::HasNanosecondWaits, Kernel::HasMillisecondWaits]
            .map(|kernel| EventQueue { kernel, ..EventQueue::new(2).expect("epoll") })
    }

    #[test]
    fn events_have_the_data_and_the_flags_of_their_socket() {
        for mut queue in queues() {
            let (mut near, far) = UnixStream::pair().expect("a pair");
            queue.add(&far, EventData::new_u64(u64::MAX - 7), EventFlags::IN).expect("added");
            near.write_all(b"x").expect("written");
            let events = queue.wait(None).expect("an event");
            assert_eq!((events.len(), events[0].data.u64()), (1, u64::MAX - 7));
            assert_eq!({ events[0].flags }, EventFlags::IN);
            queue.modify(&far, EventData::new_u64(1), EventFlags::RDHUP).expect("modified");
            drop(near);
            let events = queue.wait(Some(Duration::from_secs(5))).expect("an event");
            assert_eq!(events[0].data.u64(), 1);
            assert_eq!({ events[0].flags }, EventFlags::RDHUP | EventFlags::HUP);
            queue.delete(&far).expect("deleted");
            assert!(queue.wait(Some(Duration::ZERO)).expect("no event").is_empty());
            assert!(queue.events().is_empty());
        }
    }

    #[test]
    fn a_wait_lasts_for_microseconds_where_nothing_happens() {
        let longest = Duration::from_micros(300);
        for mut queue in queues() {
            let began = Instant::now();
            assert!(queue.wait(Some(longest)).expect("no event").is_empty());
            assert!(began.elapsed() >= longest);
        }
    }

    #[test]
    fn a_wait_gives_as_many_events_as_there_is_room_and_the_rest_later() {
        for mut queue in queues() {
            let pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().expect("a pair")).collect();
            for (number, (near, far)) in pairs.iter().enumerate() {
                queue
                    .add(far, EventData::new_u64(number as u64), EventFlags::IN | EventFlags::ET)
                    .expect("added");
                { near }.write_all(b"x").expect("written");
            }
            assert_eq!(queue.wait(None).expect("events").len(), 2);
            assert_eq!(queue.wait(None).expect("events").len(), 1);
        }
    }
}
