//! What is on its way to an agent: a queue with a thread of its own, so that a host that does not read holds nobody up.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use crate::frame::MAX_FRAME_BYTES;
use crate::mutex::locked;

/// More than this does not wait for a host: two frames of the greatest length, and what else there is.
const MOST_BYTES: usize = 3 * MAX_FRAME_BYTES;

/// It is written in pieces, which show whether the host takes anything.
const PIECE: usize = 64 << 10;

/// Why a frame does not get on its way.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The connection has ended.
    Closed,
    /// The host has left too much unread.
    Full,
}

/// The queue.
#[derive(Debug)]
pub(super) struct Outbox {
    /// None once it is closed.
    frames: Mutex<Option<Sender<Vec<u8>>>>,
    /// Bytes that wait, or are being written.
    waiting: AtomicUsize,
    /// Pieces that were written.
    written: AtomicU64,
}

/// The other end of the queue.
pub(super) struct Queued(Receiver<Vec<u8>>);

impl Outbox {
    /// An empty queue. What it holds is written by [`Outbox::write`].
    pub fn new() -> (Self, Queued) {
        let (sender, frames) = mpsc::channel();
        let outbox = Self {
            frames: Mutex::new(Some(sender)),
            waiting: AtomicUsize::new(0),
            written: AtomicU64::new(0),
        };
        (outbox, Queued(frames))
    }

    /// Puts a frame at its end.
    pub fn send(&self, frame: Vec<u8>) -> Result<(), Refused> {
        let frames = locked(&self.frames);
        let frames = frames.as_ref().ok_or(Refused::Closed)?;
        let before = self.waiting.fetch_add(frame.len(), Ordering::Relaxed);
        if before + frame.len() > MOST_BYTES {
            return Err(Refused::Full);
        }
        frames.send(frame).map_err(|_| Refused::Closed)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) == 0
    }

    /// A number that changes while the host reads.
    pub fn progress(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Nothing more is sent. What waits still is, and then the pipe is closed.
    pub fn close(&self) {
        *locked(&self.frames) = None;
    }

    /// Writes what comes until the queue is closed, or the pipe is.
    pub fn write(&self, queued: Queued, mut to: impl Write) {
        for frame in queued.0 {
            for piece in frame.chunks(PIECE) {
                // If it cannot be written, the link has ended, and the reading thread says so.
                if to.write_all(piece).and_then(|()| to.flush()).is_err() {
                    self.close();
                    return;
                }
                self.written.fetch_add(1, Ordering::Relaxed);
            }
            self.waiting.fetch_sub(frame.len(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_keep_their_order_and_a_host_that_reads_nothing_fills_no_memory() {
        let (outbox, queued) = Outbox::new();
        for frame in [b"one ".to_vec(), b"two".to_vec()] {
            assert_eq!(outbox.send(frame), Ok(()));
        }
        assert!(!outbox.is_empty());
        outbox.close();
        assert_eq!(outbox.send(b"three".to_vec()), Err(Refused::Closed));
        let mut written = Vec::new();
        outbox.write(queued, &mut written);
        assert_eq!((written.as_slice(), outbox.is_empty(), outbox.progress()), (&b"one two"[..], true, 2));

        let (outbox, _unread) = Outbox::new();
        let frame = || vec![0; MAX_FRAME_BYTES];
        assert_eq!([(); 4].map(|()| outbox.send(frame())), [Ok(()), Ok(()), Ok(()), Err(Refused::Full)]);
    }
}
