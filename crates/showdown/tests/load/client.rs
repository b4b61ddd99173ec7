//! Starts the program under test as a user does, and kills a run that hangs.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Says that this machine cannot run a test, as `scripts/checks` expects it.
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
pub fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// A load that takes longer than this hangs. Every load of these tests is shorter, even on a busy machine.
const HANGS: Duration = Duration::from_mins(1);

/// What a command returned and printed.
#[derive(Debug)]
pub struct CommandResult {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl CommandResult {
    /// The exit code.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("no exit code: {self:?}"))
    }

    /// Standard output, which must be exactly one JSON object.
    pub fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        assert!(value.is_object() && self.stdout.lines().count() == 1, "{self:?}");
        value
    }

    /// The answer of a load that ran to its end; the measurement may be invalid.
    pub fn measured(&self) -> Value {
        assert!(matches!(self.code(), 0 | 3), "{self:?}");
        self.json()
    }
}

/// The command `showdown load` with these arguments.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
    command.arg("load").args(args).env_remove("REDISCLI_AUTH");
    command
}

/// A command that runs.
pub struct RunningCommand {
    pub child: Child,
    stdout: JoinHandle<String>,
}

impl RunningCommand {
    /// Waits for the end; kills a command that hangs.
    pub fn wait(mut self) -> CommandResult {
        let stderr = self.child.stderr.take().map(read);
        let deadline = Instant::now() + HANGS;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child of this process") {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("it hangs: {:?}", self.stdout.join());
            }
            thread::sleep(Duration::from_millis(5));
        };
        let text = |reader: JoinHandle<String>| reader.join().expect("a reader does not panic");
        CommandResult { status, stdout: text(self.stdout), stderr: stderr.map(text).unwrap_or_default() }
    }
}

fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).expect("a pipe can be read");
        String::from_utf8(bytes).expect("showdown prints text")
    })
}

/// Starts a command.
pub fn start(mut command: Command) -> RunningCommand {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let stdout = read(child.stdout.take().expect("a pipe"));
    RunningCommand { child, stdout }
}

/// Runs `showdown load` to its end.
pub fn load(args: &[&str]) -> CommandResult {
    start(command(args)).wait()
}

/// Runs `showdown load --format json`; returns the object.
pub fn measure(args: &[&str]) -> Value {
    let mut all = args.to_vec();
    all.extend(["--format", "json"]);
    load(&all).measured()
}

/// The number at a JSON pointer.
pub fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number {pointer} in {value}"))
}
