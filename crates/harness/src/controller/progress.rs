//! Lines of a run's progress on their way to the server. They are kept until the server has them. When it is away for long, ticks and
//! CPU times are dropped: what else happened is not.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// What is kept at most.
const MOST_BYTES: usize = 64 << 20;

/// What is sent at once.
const MOST_SENT_BYTES: usize = 64 << 10;

/// The longest line that is taken, as the server has it.
const MOST_LINE_BYTES: usize = 60 << 10;

/// The lines.
#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<String>,
    /// The number of the first one, as the server counts them.
    first: u64,
    bytes: usize,
    is_over: bool,
    /// The id of the run, once a line has named it.
    run: Option<String>,
}

/// What is read of a line that names the run.
#[derive(serde::Deserialize)]
struct NamesRun {
    run: String,
}

/// Lines that a thread reads.
#[derive(Clone, Debug)]
pub struct Progress(Arc<(Mutex<Lines>, Condvar)>);

impl Progress {
    /// Reads the pipe until its end.
    pub fn read(pipe: File) -> Self {
        let progress = Self(Arc::new((Mutex::new(Lines { first: 1, ..Lines::default() }), Condvar::new())));
        let shared = progress.clone();
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                shared.add(line);
            }
            shared.lock().is_over = true;
            shared.0.1.notify_all();
        });
        progress
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.0.0.lock().expect("no thread panics with it")
    }

    /// Adds a line of the controller.
    pub fn add(&self, line: String) {
        let mut lines = self.lock();
        if [r#""event":"run_begins""#, r#""event":"stream_ends""#].iter().any(|name| line.contains(name))
            && let Ok(NamesRun { run }) = serde_json::from_str(&line)
        {
            lines.run = Some(run);
        }
        let is_dispensable =
            [r#""event":"tick""#, r#""event":"host_cpu""#].iter().any(|name| line.contains(name));
        if line.len() > MOST_LINE_BYTES || (lines.bytes > MOST_BYTES && is_dispensable) {
            return;
        }
        lines.bytes += line.len();
        lines.kept.push_back(line);
        self.0.1.notify_all();
    }

    /// Waits until there is a line, or for this long.
    pub fn wait(&self, longest: Duration) {
        let lines = self.lock();
        if lines.kept.is_empty() && !lines.is_over {
            drop(self.0.1.wait_timeout(lines, longest));
        } else if lines.is_over {
            drop(lines);
            thread::sleep(longest.min(Duration::from_millis(20)));
        }
    }

    /// The next lines, numbered as the server counts them: those that were dropped leave no gap.
    pub fn next(&self) -> Vec<String> {
        let lines = self.lock();
        let mut bytes = 0;
        let mut next = Vec::new();
        for (seq, line) in (lines.first..).zip(&lines.kept) {
            bytes += line.len();
            if bytes > MOST_SENT_BYTES && !next.is_empty() {
                break;
            }
            next.push(renumbered(line, seq));
        }
        next
    }

    /// The server has all lines before this number.
    pub fn acknowledge(&self, next: u64) {
        let mut lines = self.lock();
        while lines.first < next {
            let Some(line) = lines.kept.pop_front() else { break };
            lines.bytes -= line.len();
            lines.first += 1;
        }
    }

    /// The id of the run, once a line has named it.
    pub fn run(&self) -> Option<String> {
        self.lock().run.clone()
    }

    /// Whether all lines have been read from the pipe, and the server has them.
    pub fn is_done(&self) -> bool {
        let lines = self.lock();
        lines.is_over && lines.kept.is_empty()
    }
}

/// A line with this number. Most have it already.
fn renumbered(line: &str, seq: u64) -> String {
    match serde_json::from_str::<serde_json::Value>(line) {
        Ok(mut value) if value["seq"] != seq => {
            value["seq"] = seq.into();
            value.to_string()
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lines_stay_until_the_server_has_them() -> std::io::Result<()> {
        let (read, write) = rustix::pipe::pipe()?;
        let mut write = File::from(write);
        writeln!(write, r#"{{"seq":1,"event":"a"}}"#)?;
        writeln!(write, r#"{{"seq":3,"event":"c"}}"#)?;
        drop(write);
        let progress = Progress::read(File::from(read));
        while progress.next().len() < 2 {
            progress.wait(Duration::from_millis(10));
        }
        assert!(progress.next()[1].contains(r#""seq":2"#), "there is no gap");
        progress.acknowledge(2);
        assert_eq!(progress.next().len(), 1);
        assert!(!progress.is_done());
        progress.acknowledge(3);
        progress.wait(Duration::from_secs(5));
        while !progress.is_done() {
            progress.wait(Duration::from_millis(10));
        }
        Ok(())
    }
}
