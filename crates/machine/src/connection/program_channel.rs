//! The controller's end of a program that an agent runs: its standard input and output as a pair of pipes.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use crate::protocol::{FromProgram, ToProgram};

/// Input is sent in pieces of this size at most, and at each flush.
const PIECE: usize = 64 << 10;

/// What a channel needs of its connection.
pub(crate) trait ChannelLink: Send + Sync {
    /// Sends a message to the program of a channel. If that is not possible, the channel ends with its reason.
    fn send(&self, channel: u64, message: ToProgram);

    /// Forgets a channel: nothing of it is waited for any more.
    fn forget(&self, channel: u64);

    /// Why the program failed, in one line with the host.
    fn failed(&self, program: &'static str, why: &str) -> io::Error;

    /// Why the host is lost, in one line.
    fn lost(&self) -> io::Error;
}

/// The standard input of a program. Dropping it ends the input.
pub struct ProgramInput {
    link: Arc<dyn ChannelLink>,
    channel: u64,
    text: Vec<u8>,
}

impl ProgramInput {
    pub(crate) fn new(link: Arc<dyn ChannelLink>, channel: u64) -> Self {
        Self { link, channel, text: Vec::new() }
    }
}

impl Write for ProgramInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() >= PIECE && std::str::from_utf8(&self.text).is_ok() {
            self.flush()?;
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.text.is_empty() {
            let text = String::from_utf8(std::mem::take(&mut self.text));
            let text = text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            self.link.send(self.channel, ToProgram::Input(text));
        }
        Ok(())
    }
}

impl Drop for ProgramInput {
    fn drop(&mut self) {
        let _ = self.flush();
        self.link.send(self.channel, ToProgram::EndOfInput);
    }
}

/// The standard output of a program. An error says why nothing more comes; the end, that the program was done.
pub struct ProgramOutput {
    link: Arc<dyn ChannelLink>,
    channel: u64,
    program: &'static str,
    messages: Receiver<FromProgram>,
    /// Bytes of output that have arrived and are not read.
    unread: Arc<AtomicU64>,
    piece: Vec<u8>,
    read: usize,
    has_ended: bool,
}

impl ProgramOutput {
    pub(crate) fn new(
        link: Arc<dyn ChannelLink>,
        channel: u64,
        program: &'static str,
        (messages, unread): (Receiver<FromProgram>, Arc<AtomicU64>),
    ) -> Self {
        Self { link, channel, program, messages, unread, piece: Vec::new(), read: 0, has_ended: false }
    }

    /// Waits for the next piece; false at the end.
    fn next_piece(&mut self) -> io::Result<bool> {
        if !self.piece.is_empty() {
            let bytes = self.piece.len() as u64;
            // Before the agent knows it, so that no byte of its window is counted twice.
            self.unread.fetch_sub(bytes, Ordering::Relaxed);
            self.link.send(self.channel, ToProgram::Consumed(bytes));
            (self.piece, self.read) = (Vec::new(), 0);
        }
        if self.has_ended {
            return Ok(false);
        }
        match self.messages.recv() {
            Ok(FromProgram::Output(text)) => {
                self.piece = text.into_bytes();
                return Ok(true);
            }
            Ok(FromProgram::End(None)) => self.has_ended = true,
            Ok(FromProgram::End(Some(why))) => {
                self.has_ended = true;
                return Err(self.link.failed(self.program, &why));
            }
            Err(_) => {
                self.has_ended = true;
                return Err(self.link.lost());
            }
        }
        Ok(false)
    }
}

impl BufRead for ProgramOutput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.read == self.piece.len() && self.next_piece()? {}
        Ok(&self.piece[self.read..])
    }

    fn consume(&mut self, bytes: usize) {
        self.read += bytes;
    }
}

impl Read for ProgramOutput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.fill_buf()?;
        let bytes = piece.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&piece[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

impl Drop for ProgramOutput {
    fn drop(&mut self) {
        self.link.forget(self.channel);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::*;

    /// Keeps what was sent.
    #[derive(Default)]
    struct Kept(Mutex<Vec<ToProgram>>);

    impl ChannelLink for Kept {
        fn send(&self, _channel: u64, message: ToProgram) {
            self.0.lock().expect("nobody panics with it").push(message);
        }

        fn forget(&self, _channel: u64) {}

        fn failed(&self, program: &'static str, why: &str) -> io::Error {
            io::Error::other(format!("{program}: {why}"))
        }

        fn lost(&self) -> io::Error {
            io::Error::other("lost")
        }
    }

    impl Kept {
        fn take(&self) -> Vec<ToProgram> {
            std::mem::take(&mut self.0.lock().expect("nobody panics with it"))
        }
    }

    #[test]
    fn input_is_sent_at_each_flush_and_ends_when_it_is_dropped() -> io::Result<()> {
        let kept = Arc::new(Kept::default());
        let mut input = ProgramInput::new(kept.clone(), 1);
        write!(input, "one and ")?;
        writeln!(input, "two")?;
        assert_eq!(kept.take(), []);
        input.flush()?;
        assert_eq!(kept.take(), [ToProgram::Input("one and two\n".to_owned())]);
        input.write_all(&vec![b'x'; PIECE])?;
        input.write_all(b"y")?;
        drop(input);
        let pieces: Vec<usize> = kept
            .take()
            .iter()
            .map(|message| match message {
                ToProgram::Input(text) => text.len(),
                ToProgram::EndOfInput => 0,
                ToProgram::Consumed(_) => panic!("it reads nothing"),
            })
            .collect();
        assert_eq!(pieces, [PIECE, 1, 0]);
        Ok(())
    }

    #[test]
    fn output_is_acknowledged_once_it_is_read_and_its_end_has_a_reason() {
        let output = |messages: Vec<FromProgram>| {
            let kept = Arc::new(Kept::default());
            let (sender, receiver) = mpsc::channel();
            let unread = Arc::<AtomicU64>::default();
            for message in messages {
                if let FromProgram::Output(text) = &message {
                    unread.fetch_add(text.len() as u64, Ordering::Relaxed);
                }
                sender.send(message).expect("it is there");
            }
            (ProgramOutput::new(kept.clone(), 1, "p", (receiver, unread)), kept)
        };
        let text = |text: &str| FromProgram::Output(text.to_owned());
        let (mut done, kept) = output(vec![text("a\nb"), text("c\n"), FromProgram::End(None)]);
        let mut line = String::new();
        done.read_line(&mut line).expect("a line");
        assert_eq!((line.as_str(), kept.take()), ("a\n", vec![]));
        done.read_to_string(&mut line).expect("the rest");
        assert_eq!((line.as_str(), kept.take().len()), ("a\nbc\n", 2));
        let (mut failed, _) = output(vec![text("a\n"), FromProgram::End(Some("no memory".to_owned()))]);
        let error = failed.read_to_string(&mut line).expect_err("it failed").to_string();
        assert_eq!(error, "p: no memory");
        let (mut lost, _) = output(vec![text("a\n")]);
        assert_eq!(lost.read_to_string(&mut line).expect_err("no end").to_string(), "lost");
        assert_eq!(lost.read(&mut [0; 4]).expect("nothing more"), 0);
    }
}
