//! Programs that the agent runs for the controller, and the agent's ends of their channels.
//!
//! A program has two threads here: one writes to its standard input, one reads its standard output. Neither holds up the thread
//! that reads from the controller. The programs end with the agent: their standard input does.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use crate::mutex::locked;
use crate::protocol::{CallError, FromAgent, FromProgram, StartProgram, ToProgram, WINDOW, system_text};

/// What is kept of a program's standard error.
const KEPT_STDERR: u64 = 64 << 10;

/// The running programs by their channels.
#[derive(Debug)]
pub(super) struct Programs {
    program: PathBuf,
    to_controller: Sender<FromAgent>,
    running: Arc<Mutex<HashMap<u64, RunningProgram>>>,
}

#[derive(Debug)]
struct RunningProgram {
    /// None after the end of its input.
    input: Option<Sender<String>>,
    window: Arc<Window>,
}

/// How much output is under way to the controller.
#[derive(Debug, Default)]
struct Window {
    under_way: Mutex<u64>,
    consumed: Condvar,
}

impl Window {
    /// Waits until less than the most is under way, and adds `bytes`.
    fn send(&self, bytes: u64) {
        let under_way = locked(&self.under_way);
        let waited = self.consumed.wait_while(under_way, |under_way| *under_way >= WINDOW);
        *waited.unwrap_or_else(PoisonError::into_inner) += bytes;
    }

    fn consume(&self, bytes: u64) {
        let mut under_way = locked(&self.under_way);
        *under_way = under_way.saturating_sub(bytes);
        self.consumed.notify_all();
    }
}

impl Programs {
    /// None yet. All are `program` with other arguments.
    pub fn new(program: &Path, to_controller: &Sender<FromAgent>) -> Self {
        Self { program: program.to_owned(), to_controller: to_controller.clone(), running: Arc::default() }
    }

    /// Starts one.
    pub fn start(&self, call: &StartProgram) -> Result<(), CallError> {
        let child = self.spawn(call).map_err(|error| CallError::Start { why: system_text(&error) })?;
        let (input, to_write) = mpsc::channel();
        let window = Arc::<Window>::default();
        let running = RunningProgram { input: Some(input), window: Arc::clone(&window) };
        locked(&self.running).insert(call.channel, running);
        let SpawnedProgram { child, stdin, stdout, stderr } = child;
        thread::spawn(move || write(stdin, &to_write));
        let words = thread::spawn(move || last_words(stderr));
        let (channel, programs) = (call.channel, Arc::clone(&self.running));
        let to_controller = self.to_controller.clone();
        thread::spawn(move || {
            forward(stdout, channel, &window, &to_controller);
            let status = wait(child);
            locked(&programs).remove(&channel);
            let why = why_it_ended(status, &words.join().unwrap_or_default());
            let _ = to_controller.send(FromAgent::Program { channel, message: FromProgram::End(why) });
        });
        Ok(())
    }

    fn spawn(&self, call: &StartProgram) -> std::io::Result<SpawnedProgram> {
        let mut command = Command::new(&self.program);
        command.arg0("showdown").args(call.program.arguments());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let cpus = call.cpus.clone();
        // A thread of its own, whose CPUs the program inherits.
        let spawned = thread::spawn(move || {
            cpus.map_or(Ok(()), |cpus| cpus.pin_this_thread())?;
            command.spawn()
        });
        let mut child = spawned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(SpawnedProgram {
            stdin: child.stdin.take().expect("standard input is a pipe"),
            stdout: child.stdout.take().expect("standard output is a pipe"),
            stderr: child.stderr.take().expect("standard error is a pipe"),
            child,
        })
    }

    /// Takes a message for a program. One that has ended gets nothing.
    pub fn take(&self, channel: u64, message: ToProgram) {
        let mut running = locked(&self.running);
        let Some(program) = running.get_mut(&channel) else { return };
        match message {
            ToProgram::Input(text) => {
                program.input.as_ref().map(|input| input.send(text));
            }
            ToProgram::EndOfInput => program.input = None,
            ToProgram::Consumed(bytes) => program.window.consume(bytes),
        }
    }

    /// The end of their input ends them; nobody reads what they have to say.
    pub fn end(&self) {
        for program in locked(&self.running).values_mut() {
            program.input = None;
            program.window.consume(u64::MAX);
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.end();
    }
}

struct SpawnedProgram {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

fn write(mut stdin: ChildStdin, to_write: &Receiver<String>) {
    for text in to_write {
        // A program that does not read has ended, which its output says.
        if stdin.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

/// Sends the lines of a program until it ends.
fn forward(stdout: ChildStdout, channel: u64, window: &Window, to_controller: &Sender<FromAgent>) {
    let mut lines = BufReader::with_capacity(64 << 10, stdout);
    loop {
        let mut line = String::new();
        // What is not text ends the channel as the end does.
        match lines.read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(bytes) => window.send(bytes as u64),
        }
        let message = FromAgent::Program { channel, message: FromProgram::Output(line) };
        if to_controller.send(message).is_err() {
            return;
        }
    }
}

/// The program's output has ended; now it does.
fn wait(mut child: Child) -> Option<ExitStatus> {
    child.wait().ok()
}

fn last_words(stderr: ChildStderr) -> String {
    let mut words = Vec::new();
    let mut stderr = BufReader::new(stderr);
    let _ = stderr.by_ref().take(KEPT_STDERR).read_to_end(&mut words);
    // The rest is read, so that the program does not wait.
    let _ = std::io::copy(&mut stderr, &mut std::io::sink());
    String::from_utf8_lossy(&words).into_owned()
}

/// Why a program ended; none if it was done.
fn why_it_ended(status: Option<ExitStatus>, words: &str) -> Option<String> {
    let last = words.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = last.map(|line| line.strip_prefix("showdown: ").unwrap_or(line).to_owned());
    match status {
        Some(status) if status.success() => None,
        Some(status) => Some(last.unwrap_or_else(|| status.to_string())),
        None => Some("its end is not known".to_owned()),
    }
}

#[cfg(test)]
#[path = "../../tests/script/mod.rs"]
mod script;
#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::AgentProgram;

    const LONG: Duration = Duration::from_mins(1);

    /// Programs that are this script.
    struct Scripts {
        programs: Programs,
        from_programs: Receiver<FromAgent>,
        _directory: tempfile::TempDir,
    }

    impl Scripts {
        fn new(text: &str) -> Self {
            let directory = tempfile::tempdir().expect("a directory");
            let program = directory.path().join("program");
            script::write(&program, &format!("#!/bin/sh\n{text}\n"));
            let (to_controller, from_programs) = mpsc::channel();
            let programs = Programs::new(&program, &to_controller);
            Self { programs, from_programs, _directory: directory }
        }

        fn start(&self, channel: u64) {
            let call = StartProgram { channel, program: AgentProgram::LoadProcess, cpus: None };
            self.programs.start(&call).expect("it starts");
        }

        fn next(&self) -> (u64, FromProgram) {
            match self.from_programs.recv_timeout(LONG).expect("a message") {
                FromAgent::Program { channel, message } => (channel, message),
                other => panic!("{other:?}"),
            }
        }

        fn input(&self, channel: u64, text: &str) {
            self.programs.take(channel, ToProgram::Input(text.to_owned()));
        }
    }

    fn line(text: &str) -> FromProgram {
        FromProgram::Output(format!("{text}\n"))
    }

    #[test]
    fn lines_go_in_and_out_in_order_and_the_end_of_input_is_the_end() {
        let scripts = Scripts::new("echo $1; cat");
        for channel in [4, 9] {
            scripts.start(channel);
            assert_eq!(scripts.next(), (channel, line("__load-process")));
        }
        let words: Vec<String> = (0..100).map(|number| format!("line {number}")).collect();
        for word in &words {
            scripts.input(4, &format!("{word}\n"));
        }
        for word in &words {
            assert_eq!(scripts.next(), (4, line(word)));
        }
        scripts.programs.take(4, ToProgram::EndOfInput);
        assert_eq!(scripts.next(), (4, FromProgram::End(None)));
        scripts.input(4, "to nobody\n");
        scripts.input(9, "still there\n");
        assert_eq!(scripts.next(), (9, line("still there")));
        drop(scripts.programs);
        let end = scripts.from_programs.recv_timeout(LONG);
        assert_eq!(end, Ok(FromAgent::Program { channel: 9, message: FromProgram::End(None) }));
    }

    #[test]
    fn the_end_of_a_program_has_its_last_words() {
        let scripts = Scripts::new("echo first >&2; echo 'showdown: no room' >&2; exit 1");
        scripts.start(1);
        assert_eq!(scripts.next(), (1, FromProgram::End(Some("no room".to_owned()))));
        let scripts = Scripts::new("kill -KILL $$");
        scripts.start(1);
        let (_, FromProgram::End(Some(why))) = scripts.next() else { panic!("it was killed") };
        assert!(why.starts_with("signal: 9"), "{why}");
    }

    #[test]
    fn output_that_nobody_consumes_stops() {
        let scripts = Scripts::new("yes 0123456789012345678901234567890123456789");
        scripts.start(1);
        let mut bytes = 0;
        while bytes < WINDOW {
            let (_, FromProgram::Output(line)) = scripts.next() else { panic!("it does not end") };
            bytes += line.len() as u64;
        }
        let more = scripts.from_programs.recv_timeout(Duration::from_millis(200));
        assert!(more.is_err(), "the window is full: {more:?}");
        scripts.programs.take(1, ToProgram::Consumed(bytes));
        assert!(matches!(scripts.next(), (1, FromProgram::Output(_))));
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error_of_the_call() {
        let (to_controller, _messages) = mpsc::channel();
        let programs = Programs::new("/nowhere".as_ref(), &to_controller);
        let call = StartProgram { channel: 1, program: AgentProgram::LoadProcess, cpus: None };
        let error = programs.start(&call).expect_err("no program").to_string();
        assert!(error.starts_with("cannot start a process: No such file or directory"), "{error}");
    }
}
