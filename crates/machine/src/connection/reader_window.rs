//! The output of a program on its way to who reads it here, and how much of that there is: an agent sends no more than a window
//! before some is read. One that does is no agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use crate::protocol::{FromProgram, WINDOW};

/// The sending end, with the bytes that nobody has read.
#[derive(Debug)]
pub(super) struct ToReader {
    messages: Sender<FromProgram>,
    unread: Arc<AtomicU64>,
}

/// Messages for the reader, and the count of bytes that it has not read.
pub(super) fn channel() -> (ToReader, Receiver<FromProgram>, Arc<AtomicU64>) {
    let (messages, receiver) = mpsc::channel();
    let unread = Arc::<AtomicU64>::default();
    (ToReader { messages, unread: Arc::clone(&unread) }, receiver, unread)
}

impl ToReader {
    /// Passes a message on. False: more than the window is unread.
    pub fn pass(&self, message: FromProgram) -> bool {
        if let FromProgram::Output(text) = &message {
            let before = self.unread.fetch_add(text.len() as u64, Ordering::Relaxed);
            if before >= WINDOW {
                return false;
            }
        }
        // A reader that is gone reads nothing more.
        let _ = self.messages.send(message);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_window_is_refused_until_some_is_read() {
        let (to_reader, messages, unread) = channel();
        let mebibyte = || FromProgram::Output("x".repeat(1 << 20));
        let sent = (0..5).map(|_| to_reader.pass(mebibyte()));
        assert_eq!(sent.collect::<Vec<_>>(), [true, true, true, true, false]);
        unread.fetch_sub(2 << 20, Ordering::Relaxed);
        assert!(to_reader.pass(mebibyte()) && to_reader.pass(FromProgram::End(None)));
        assert_eq!(messages.try_iter().count(), 6);
    }
}
