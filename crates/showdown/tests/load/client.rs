//! The program under test, started as a user starts it, with a guard against a run that never ends.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

/// No load here takes longer, even on a busy machine, unless it hangs.
const HANGS: Duration = Duration::from_mins(1);

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
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

    /// The result of a load that was measured, validly or not.
    pub fn measured(&self) -> Value {
        assert!(matches!(self.code(), 0 | 3), "{self:?}");
        self.json()
    }
}

/// `showdown load` with these arguments.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
    command.arg("load").args(args).env_remove("REDISCLI_AUTH");
    command
}

/// A command that is running.
pub struct Running {
    pub child: Child,
    stdout: JoinHandle<String>,
}

impl Running {
    /// Waits for the end, and ends what does not end by itself.
    pub fn wait(mut self) -> Ended {
        let stderr = self.child.stderr.take().map(read);
        let deadline = Instant::now() + HANGS;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                break status;
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("it hangs: {:?}", self.stdout.join());
            }
            thread::sleep(Duration::from_millis(5));
        };
        let text = |reader: JoinHandle<String>| reader.join().expect("a reader does not panic");
        Ended { status, stdout: text(self.stdout), stderr: stderr.map(text).unwrap_or_default() }
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
pub fn start(mut command: Command) -> Running {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let stdout = read(child.stdout.take().expect("a pipe"));
    Running { child, stdout }
}

/// Runs `showdown load` to its end.
pub fn load(args: &[&str]) -> Ended {
    start(command(args)).wait()
}

/// Runs `showdown load --format json` and gives its object.
pub fn measure(args: &[&str]) -> Value {
    let mut all = args.to_vec();
    all.extend(["--format", "json"]);
    load(&all).measured()
}

/// A number in an object, by its path.
pub fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number {pointer} in {value}"))
}
