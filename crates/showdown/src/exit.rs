//! How a command ends: the exit codes that DESIGN promises, and the one line that a failure prints.

use std::fmt;
use std::process::ExitCode;

/// The end of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// 0: done, and the measurement is valid.
    Success,
    /// 3: done, but the measurement is invalid.
    Invalid,
    /// 130: interrupted; what was measured has been printed.
    Interrupted,
}

/// The user asked for something that does not make sense: exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Makes a usage error of anything that can be printed.
pub fn usage(error: impl fmt::Display) -> anyhow::Error {
    Usage(error.to_string()).into()
}

/// Prints the line of a failure; gives the exit code.
pub fn code_of(result: anyhow::Result<Ending>) -> ExitCode {
    let code = match result {
        Ok(Ending::Success) => 0,
        Ok(Ending::Invalid) => 3,
        Ok(Ending::Interrupted) => 130,
        Err(error) => {
            print_failure(&format!("showdown: {error:#}"));
            if error.is::<Usage>() { 2 } else { 1 }
        }
    };
    ExitCode::from(code)
}

/// A standard error that is closed is no reason to panic.
fn print_failure(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}
