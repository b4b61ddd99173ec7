//! A server that another program has started: finds its processes once it is ready.

use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use host::process::{Error, ProcessExit};
use host::regular_file;

use super::error::{ConfigurationError, InstanceError};
use super::running::Instance;
use crate::definition::PidSource;

/// How long the process ID of a server that is ready may be missing, and how often it is asked for.
const PID_WITHIN: Duration = Duration::from_secs(5);
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// A file with a process ID is not longer.
const MOST_BYTES: u64 = 64;

impl Instance {
    /// Finds the server's processes where another program has started them, so that they are measured, pinned and stopped.
    pub(super) fn find_external(&mut self) -> Result<(), InstanceError> {
        let named = self.server.pid.as_ref().map(|source| self.named_pid(source)).transpose()?;
        Ok(self.running.find_external(named)?)
    }

    fn named_pid(&self, source: &PidSource) -> Result<u32, InstanceError> {
        let until = Instant::now() + PID_WITHIN;
        loop {
            let why = match self.pid_text(source)? {
                Ok(text) => match text.trim().parse() {
                    Ok(pid) if pid > 0 => return Ok(pid),
                    _ => format!("{:?} is no process ID", text.trim()),
                },
                Err(why) => why,
            };
            if Instant::now() >= until {
                return Err(InstanceError::Pid { server: self.server.name.clone(), why });
            }
            thread::sleep(ASK_AGAIN);
        }
    }

    /// What the file or the command says; the inner error may pass.
    fn pid_text(&self, source: &PidSource) -> Result<Result<String, String>, InstanceError> {
        let template = |error| ConfigurationError::Template(error).of(&self.server.name);
        Ok(match source {
            PidSource::File(path) => {
                let path = self.variables.render(path).map_err(template)?;
                let mut text = String::new();
                let file = regular_file::open(Path::new(&path));
                let read = file.and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
                read.map(|_| text).map_err(|error| format!("{path}: {error}"))
            }
            PidSource::Command(words) => {
                let argv = self.variables.render_argv(words).map_err(template)?;
                let output = self.run_tool(&argv)?;
                match output.ending {
                    ProcessExit::Code(0) => Ok(output.text),
                    ending => Err(format!("{} {ending}: {}", argv[0], output.text.trim())),
                }
            }
        })
    }
}

/// The error of a start whose command has ended well although no server is there: says what that takes.
pub(super) fn returned(error: InstanceError) -> InstanceError {
    match error {
        InstanceError::Process(error) if matches!(*error, Error::Died { exit: ProcessExit::Code(0), .. }) => {
            InstanceError::Returned(error)
        }
        other => other,
    }
}
