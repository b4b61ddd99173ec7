//! A child process that leads to an agent: its pipes, its end, and the last words of its standard error.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::mutex::locked;

/// Login files may print this much before the agent starts.
const MOST_NOISE: usize = 1 << 20;

/// What is kept of standard error.
const KEPT_STDERR: usize = 8 << 10;

/// How often a waiting call looks whether it is interrupted.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How long an ended child's last words are waited for. Another process may keep its standard error open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Why nothing more can be read.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The child has closed its standard output.
    #[error("it ended")]
    Ended,
    /// Nothing came in time.
    #[error("no answer for {} s", .0.as_secs())]
    Silent(Duration),
    /// More text than login files print.
    #[error("it prints more than {} KiB before the agent starts", MOST_NOISE >> 10)]
    Noise,
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// Another error of the pipe.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The child with its pipes. Dropping it kills it.
#[derive(Debug)]
pub struct Link {
    process: LinkProcess,
    stdin: Stdin,
    stdout: ChildStdout,
    /// Bytes read that are not a whole line yet.
    unread: Vec<u8>,
    interrupted: Arc<AtomicBool>,
}

/// Which thread owns the child's standard input.
#[derive(Debug)]
enum Stdin {
    Here(ChildStdin),
    /// A thread that sends bytes.
    With(JoinHandle<ChildStdin>),
    Gone,
}

/// The process of a link. Dropping it kills it and what it started.
#[derive(Debug)]
pub struct LinkProcess {
    child: Child,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_ended: Receiver<()>,
}

/// The pipes of a link on which frames begin.
pub struct LinkPipes {
    /// To the agent.
    pub stdin: ChildStdin,
    /// From the agent.
    pub stdout: ChildStdout,
    /// What was read of it already.
    pub unread: Vec<u8>,
}

impl Link {
    /// Starts a child. It has a process group of its own, so that Ctrl-C reaches this program only.
    pub fn spawn(command: &mut Command, interrupted: Arc<AtomicBool>) -> io::Result<Self> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.process_group(0).spawn()?;
        let stdin = Stdin::Here(child.stdin.take().expect("standard input is a pipe"));
        let stdout = child.stdout.take().expect("standard output is a pipe");
        let stderr = child.stderr.take().expect("standard error is a pipe");
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (end, stderr_ended) = mpsc::channel();
        let last = Arc::clone(&kept);
        thread::spawn(move || {
            keep_last(stderr, &last);
            // Nobody may wait for it any more.
            let _ = end.send(());
        });
        let process = LinkProcess { child, stderr: kept, stderr_ended };
        Ok(Self { process, stdin, stdout, unread: Vec::new(), interrupted })
    }

    /// The rest of the next line that begins with `marker`. Other lines are skipped.
    pub fn line(&mut self, marker: &str, within: Duration) -> Result<String, LinkError> {
        self.line_unless(marker, within, || false)
    }

    /// As [`Link::line`], but `has_progress` starts the time anew.
    fn line_unless(
        &mut self,
        marker: &str,
        within: Duration,
        mut has_progress: impl FnMut() -> bool,
    ) -> Result<String, LinkError> {
        let mut silent_since = Instant::now();
        let mut skipped = 0;
        loop {
            while let Some(end) = memchr::memchr(b'\n', &self.unread) {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                if let Some(rest) = line.strip_prefix(marker.as_bytes()) {
                    return Ok(String::from_utf8_lossy(rest).trim_end().to_owned());
                }
                skipped += line.len();
            }
            if skipped + self.unread.len() > MOST_NOISE {
                return Err(LinkError::Noise);
            }
            if has_progress() {
                silent_since = Instant::now();
            }
            if silent_since.elapsed() > within {
                return Err(LinkError::Silent(within));
            }
            self.read_some()?;
        }
    }

    /// Bytes that arrive within a moment are added to the unread ones.
    fn read_some(&mut self) -> Result<(), LinkError> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(LinkError::Interrupted);
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.as_nanos() as i64 };
        match poll(&mut [PollFd::new(&self.stdout, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(LinkError::Io(error.into())),
            Ok(_) => {}
        }
        let mut buffer = [0; 16 << 10];
        match self.stdout.read(&mut buffer) {
            Ok(0) => Err(LinkError::Ended),
            Ok(count) => {
                self.unread.extend_from_slice(&buffer[..count]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends bytes while it waits for the next line with `marker`, which may come early: then something is wrong over there.
    /// `within` is the longest time without progress. `observe` gets the number of bytes sent.
    pub fn send_and_wait(
        &mut self,
        bytes: &Arc<[u8]>,
        marker: &str,
        within: Duration,
        observe: &dyn Fn(usize),
    ) -> Result<String, LinkError> {
        let Stdin::Here(mut stdin) = std::mem::replace(&mut self.stdin, Stdin::Gone) else {
            return Err(LinkError::Ended);
        };
        let (sent, to_send) = (Arc::new(AtomicUsize::new(0)), Arc::clone(bytes));
        let counter = Arc::clone(&sent);
        // The pipe may be full while the other side says what is wrong. If it stays full, the end of the child ends the thread.
        self.stdin = Stdin::With(thread::spawn(move || {
            for chunk in to_send.chunks(64 << 10) {
                if stdin.write_all(chunk).is_err() {
                    break;
                }
                counter.fetch_add(chunk.len(), Ordering::Relaxed);
            }
            stdin
        }));
        let mut seen = 0;
        self.line_unless(marker, within, || {
            let now = sent.load(Ordering::Relaxed);
            observe(now);
            std::mem::replace(&mut seen, now) != now
        })
    }

    /// The parts, when the agent runs. No pipes where the child did not take all that was sent.
    pub fn into_parts(self) -> (LinkProcess, Option<LinkPipes>) {
        let stdin = match self.stdin {
            Stdin::Here(stdin) => Some(stdin),
            Stdin::With(writer) => {
                let until = Instant::now() + LAST_WORDS;
                while !writer.is_finished() && Instant::now() < until {
                    thread::sleep(Duration::from_millis(1));
                }
                if writer.is_finished() { writer.join().ok() } else { None }
            }
            Stdin::Gone => None,
        };
        let pipes = stdin.map(|stdin| LinkPipes { stdin, stdout: self.stdout, unread: self.unread });
        (self.process, pipes)
    }

    /// The child, for its end.
    pub fn process(&mut self) -> &mut LinkProcess {
        &mut self.process
    }
}

impl LinkProcess {
    /// What an ending child wrote to standard error last.
    pub fn last_words(&mut self) -> String {
        let _ = self.stderr_ended.recv_timeout(LAST_WORDS);
        let kept = locked(&self.stderr);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// Waits for its end. None if it still runs.
    pub fn wait(&mut self, longest: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + longest;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }

    /// Ends it and what it started, such as the command of a jump host.
    pub fn kill(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.child.wait();
        }
    }
}

impl Drop for LinkProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads until the end, and keeps the last part.
fn keep_last(mut stderr: ChildStderr, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4 << 10];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        let mut kept = locked(kept);
        kept.extend_from_slice(&buffer[..count]);
        let too_many = kept.len().saturating_sub(KEPT_STDERR);
        kept.drain(..too_many);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn sh(script: &str) -> Link {
        Link::spawn(Command::new("sh").args(["-c", script]), Arc::default()).expect("there is a shell")
    }

    #[test]
    fn noise_before_the_marked_line_is_skipped_up_to_a_limit() {
        let mut link = sh("printf 'motd\\nx m 1\\n\\377\\nm 2\\nm 3\\nrest'");
        assert_eq!(link.line("m ", LONG).expect("a line"), "2");
        assert_eq!(link.line("m ", LONG).expect("a line"), "3");
        assert!(matches!(link.line("m ", LONG), Err(LinkError::Ended)));
        let mut endless = sh("while :; do echo noise noise noise noise noise noise noise; done");
        assert!(matches!(endless.line("m ", LONG), Err(LinkError::Noise)));
        let mut one_line = sh("while :; do printf 'noise noise noise noise noise noise noise'; done");
        assert!(matches!(one_line.line("m ", LONG), Err(LinkError::Noise)));
    }

    #[test]
    fn silence_and_interruption_end_the_wait() {
        let mut link = sh("sleep 600");
        assert!(matches!(link.line("m ", Duration::from_millis(1)), Err(LinkError::Silent(_))));
        link.interrupted.store(true, Ordering::Relaxed);
        assert!(matches!(link.line("m ", LONG), Err(LinkError::Interrupted)));
    }

    #[test]
    fn the_last_words_are_those_of_standard_error() {
        let mut link = sh("echo first >&2; echo last >&2; exit 1");
        assert!(matches!(link.line("m ", LONG), Err(LinkError::Ended)));
        assert_eq!(link.process().last_words(), "first\nlast\n");
    }

    #[test]
    fn bytes_are_sent_while_it_waits_and_the_other_side_may_refuse_them() {
        let bytes: Arc<[u8]> = vec![b'x'; 1 << 20].into();
        let mut link = sh("head -c 1048576 | wc -c | sed 's/^ */m /'; cat");
        assert_eq!(link.send_and_wait(&bytes, "m ", LONG, &|_| ()).expect("the count"), "1048576");
        assert!(link.into_parts().1.is_some());
        let mut link = sh("echo m no; sleep 600");
        assert_eq!(link.send_and_wait(&bytes, "m ", LONG, &|_| ()).expect("the refusal"), "no");
        assert!(link.into_parts().1.is_none(), "the pipe is full");
    }

    #[test]
    fn dropping_it_ends_all_processes() {
        let link = sh("sleep 600 & echo \"m $!\"; wait");
        let mut link = link;
        let pid: i32 = link.line("m ", LONG).expect("a line").parse().expect("a process ID");
        drop(link);
        let until = Instant::now() + LONG;
        let is_there =
            || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "));
        while is_there() {
            assert!(Instant::now() < until, "{pid} still runs");
            thread::sleep(Duration::from_millis(10));
        }
    }
}
