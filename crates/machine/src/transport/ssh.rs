//! An agent behind the system's ssh: the user's configuration, keys, jump hosts and known hosts count.

use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::bootstrap::{BootstrapLine, BootstrapStep};
use super::error::{OpenError, cannot_become, cannot_run};
use super::link::{Link, LinkError};
use super::ssh_failure::{SshFailure, explain, killed};
use crate::frame::marker;
use crate::program::{Program, Programs};

/// From the start of ssh to the script's first line: jump hosts, a slow name service, slow login files.
const LOGIN: Duration = Duration::from_secs(45);

/// From one line of the script to the next, and from one piece of the program to the next.
const STEP: Duration = Duration::from_secs(30);

/// Once its output has ended, ssh ends, too.
const END: Duration = Duration::from_secs(2);

/// Beside the program there must be room for its directories.
const MARGIN_BYTES: u64 = 1 << 20;

/// The options of ssh. All others are the user's. `ControlMaster=no` uses a connection that the user has opened, and leaves
/// none open.
const OPTIONS: &[&str] = &[
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "ControlMaster=no",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=2",
    "LogLevel=INFO",
];

/// What the start of an agent tells of its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenProgress {
    /// ssh logs in.
    Login,
    /// The program is sent.
    Sending {
        /// So many bytes.
        sent: usize,
        /// Of so many.
        of: usize,
    },
    /// The agent starts.
    Starting,
}

fn arguments(destination: &str, command: &str) -> Vec<String> {
    let options = OPTIONS.iter().flat_map(|option| ["-o", option]);
    ["-T"].into_iter().chain(options).chain(["--", destination, command]).map(str::to_owned).collect()
}

/// Logs in, brings the program to the host where it is not there, and starts the agent. After that, frames begin.
pub(super) fn open(
    destination: &str,
    programs: &Programs,
    command: &str,
    nonce: &str,
    interrupted: Arc<AtomicBool>,
    observe: &dyn Fn(OpenProgress),
) -> Result<Link, OpenError> {
    observe(OpenProgress::Login);
    let mut ssh = Command::new("ssh");
    ssh.args(arguments(destination, command));
    let link = Link::spawn(&mut ssh, interrupted).map_err(|error| match error.kind() {
        ErrorKind::NotFound => OpenError::NoSsh(error),
        _ => OpenError::Start(error),
    })?;
    Login { link, marker: marker(nonce), destination, programs, observe }.run()
}

/// The dialogue with the script.
struct Login<'a> {
    link: Link,
    marker: String,
    destination: &'a str,
    programs: &'a Programs,
    observe: &'a dyn Fn(OpenProgress),
}

/// How the program over there has ended.
struct RemoteExit {
    /// The last line of standard error.
    last: Option<String>,
    /// False if the shell could not start it (POSIX: exit statuses 126 and 127).
    is_started: bool,
}

impl<'a> Login<'a> {
    fn run(mut self) -> Result<Link, OpenError> {
        let first = match self.link.line(&self.marker, LOGIN) {
            Ok(line) => line,
            Err(error) => return Err(self.no_script(error)),
        };
        let BootstrapLine::Host { system, architecture } = BootstrapLine::parse(&first) else {
            return Err(self.protocol_error(&first));
        };
        if system != "Linux" {
            return Err(OpenError::System { system });
        }
        let Some(program) = self.programs.get(&architecture) else {
            let has = self.programs.iter().map(|(architecture, _)| architecture.to_owned()).collect();
            return Err(OpenError::Architecture { is: architecture, has });
        };
        let mut line = self.next_line()?;
        if let BootstrapLine::Want { free_kib } = line {
            line = self.send(program, free_kib)?;
        }
        if line == BootstrapLine::Run {
            (self.observe)(OpenProgress::Starting);
            line = self.next_line()?;
        }
        match line {
            BootstrapLine::Agent => Ok(self.link),
            BootstrapLine::Failed { step, why } => Err(failed(step, why)),
            other => Err(self.protocol_error(&format!("{other:?}"))),
        }
    }

    fn send(&mut self, program: &'a Program, free_kib: Option<u64>) -> Result<BootstrapLine, OpenError> {
        let needed = program.bytes.len() as u64 + MARGIN_BYTES;
        let mb = |bytes: u64| bytes / 1_000_000;
        if let Some(free) = free_kib.map(|kib| kib.saturating_mul(1024)).filter(|free| *free < needed) {
            return Err(OpenError::NoRoom { needed_mb: mb(program.bytes.len() as u64), free_mb: mb(free) });
        }
        let (observe, of) = (self.observe, program.bytes.len());
        let sent = self.link.send_and_wait(&program.bytes, &self.marker, STEP, &|sent| {
            observe(OpenProgress::Sending { sent, of });
        });
        Ok(BootstrapLine::parse(&sent.map_err(|error| self.broken(error))?))
    }

    fn next_line(&mut self) -> Result<BootstrapLine, OpenError> {
        let line = self.link.line(&self.marker, STEP).map_err(|error| self.broken(error))?;
        Ok(BootstrapLine::parse(&line))
    }

    /// Before the first line: ssh failed, or the login shell does something else.
    fn no_script(mut self, error: LinkError) -> OpenError {
        match error {
            LinkError::Interrupted => OpenError::Interrupted,
            LinkError::Ended => match self.end() {
                Ok(failure) => OpenError::Ssh(failure),
                Err(ended) => self.login(ended.last.unwrap_or_else(|| "it ends without a word".to_owned())),
            },
            other => self.login(other.to_string()),
        }
    }

    /// After the first line: the host went away, or the agent ended.
    fn broken(&mut self, error: LinkError) -> OpenError {
        match error {
            LinkError::Ended => match self.end() {
                Ok(failure) => OpenError::Ssh(failure),
                Err(RemoteExit { last, is_started: false }) => cannot_run(last.unwrap_or_default()),
                Err(RemoteExit { last, .. }) => {
                    OpenError::Agent { why: last.unwrap_or_else(|| "without a word".to_owned()) }
                }
            },
            other => other.into(),
        }
    }

    /// Why the output has ended: ssh has failed, or what ran over there has ended.
    fn end(&mut self) -> Result<SshFailure, RemoteExit> {
        let process = self.link.process();
        let status = process.wait(END);
        let words = process.last_words();
        // ssh(1): 255 if an error occurred, else the exit status of the command over there.
        match status {
            Some(status) if status.signal().is_some() => Ok(killed(status)),
            Some(status) if status.code() == Some(255) => Ok(explain(&words, self.destination)),
            _ => Err(RemoteExit {
                last: words.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned),
                is_started: !matches!(status.and_then(|status| status.code()), Some(126 | 127)),
            }),
        }
    }

    fn login(&self, why: String) -> OpenError {
        OpenError::Login { why, destination: self.destination.to_owned() }
    }

    fn protocol_error(&self, line: &str) -> OpenError {
        self.login(format!("it prints {line:?}"))
    }
}

fn failed(step: BootstrapStep, why: String) -> OpenError {
    match step {
        BootstrapStep::Home => OpenError::NoHome,
        BootstrapStep::Directory => OpenError::Directory { why },
        BootstrapStep::Write => OpenError::Write { why },
        BootstrapStep::Sum => OpenError::Damaged,
        BootstrapStep::Become => cannot_become(why),
        BootstrapStep::Run => cannot_run(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_cannot_be_an_option() {
        let arguments = arguments("host", "true");
        let [.., dashes, destination, command] = &arguments[..] else { panic!("{arguments:?}") };
        assert_eq!((dashes.as_str(), destination.as_str(), command.as_str()), ("--", "host", "true"));
        for option in ["StrictHostKeyChecking=yes", "BatchMode=yes", "ForwardAgent=no"] {
            assert!(arguments.iter().any(|argument| argument == option), "{option}");
        }
    }

    #[test]
    fn every_failure_of_the_script_has_a_remedy() {
        for (step, why, text) in [
            (BootstrapStep::Home, "", "the user has no home directory there"),
            (
                BootstrapStep::Directory,
                "mkdir: Read-only file system",
                "(mkdir: Read-only file system): make the home",
            ),
            (
                BootstrapStep::Write,
                "No space left on device",
                "cannot write the program (No space left on device): free",
            ),
            (BootstrapStep::Sum, "", "did not arrive as it was sent"),
            (
                BootstrapStep::Become,
                "sudo: a password is required",
                "permit the command of `become` without a password",
            ),
            (
                BootstrapStep::Become,
                "sh: 1: sudo: not found",
                "install the command of `become`, permit it without",
            ),
            (BootstrapStep::Run, "sh: 1: x: Permission denied", "its home may be mounted noexec"),
            (BootstrapStep::Run, "x: version `GLIBC_2.39' not found", "its C library is older"),
        ] {
            let error = failed(step, why.to_owned()).to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
