//! How a command ends: its exit code, and the one line that a failure prints.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use archive::printable::one_line;
use clap::error::ErrorKind;

use crate::color;

/// The exit code of a command that Ctrl-C or SIGTERM has ended.
pub const INTERRUPTED: u8 = 130;

/// How a command ended that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandStatus {
    /// 0: done, and the measurement is valid.
    Success,
    /// 1: done, but something that was asked for has failed. Its lines have been printed.
    Failed,
    /// 3: done, but the measurement is invalid.
    Invalid,
    /// 4: done, and the answer is one that `--fail-if` names. Its line has been printed.
    FailsIf,
    /// 130: interrupted. What was measured has been printed.
    Interrupted,
}

/// The command line or a file of the user's is wrong: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Interrupted before there was anything to print: exit code 130.
#[derive(Debug, thiserror::Error)]
#[error("interrupted {0}")]
pub struct InterruptedError(pub &'static str);

/// Nothing that was measured is valid, so there is no answer to print: exit code 3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidMeasurementError(pub String);

/// Makes a usage error of anything that can be printed.
pub fn usage(error: impl fmt::Display) -> anyhow::Error {
    UsageError(error.to_string()).into()
}

/// Prints the line of a failure; returns the exit code.
pub fn code_of(result: anyhow::Result<CommandStatus>) -> ExitCode {
    let code = match result {
        Ok(CommandStatus::Success) => 0,
        Ok(CommandStatus::Failed) => 1,
        Ok(CommandStatus::Invalid) => 3,
        Ok(CommandStatus::FailsIf) => 4,
        Ok(CommandStatus::Interrupted) => INTERRUPTED,
        Err(error) => {
            print_failure(&with_causes(&error));
            match () {
                () if error.is::<UsageError>() => 2,
                () if error.is::<InvalidMeasurementError>() => 3,
                () if error.is::<InterruptedError>() => INTERRUPTED,
                () => 1,
            }
        }
    };
    ExitCode::from(code)
}

/// A failure and its causes in one line. A cause that the text already contains is left out.
fn with_causes(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |line, cause| match line.as_str() {
        "" => cause,
        _ if line.contains(&cause) => line,
        _ => format!("{line}: {cause}"),
    })
}

/// Prints help and version, or the error of a command line in one line; returns the exit code.
pub fn code_of_parsing(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    print_failure(&in_one_line(&error.to_string()));
    ExitCode::from(2)
}

/// The message of clap without its heading, the usage and the pointer to the help.
pub fn in_one_line(text: &str) -> String {
    let message = text.strip_prefix("error: ").unwrap_or(text);
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let kept: Vec<&str> =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more")).collect();
    kept.join(" ").replace(" tip: ", ": ")
}

/// Prints the one line of a failure. A closed standard error is ignored. A message may quote a log or an argument with a secret.
pub fn print_failure(line: &str) {
    let line = host::secrets::mask_text(line);
    let _ = writeln!(anstream::stderr(), "{} {}", color::bad("showdown:"), one_line(&line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_printed_once() {
        let full = || std::io::Error::other("disk full");
        let error = |text: &'static str| anyhow::Error::from(full()).context(text);
        assert_eq!(with_causes(&error("cannot keep the run")), "cannot keep the run: disk full");
        assert_eq!(with_causes(&error("runs/7: disk full; free some")), "runs/7: disk full; free some");
        assert_eq!(with_causes(&full().into()), "disk full");
    }

    #[test]
    fn an_error_of_clap_becomes_one_line() {
        let text = "error: unexpected argument '--wramup' found\n\n  tip: a similar argument exists: '--warmup'\n\n\
                    Usage: showdown load <URL>\n\nFor more information, try '--help'.\n";
        let line = "unexpected argument '--wramup' found: a similar argument exists: '--warmup'";
        assert_eq!(in_one_line(text), line);
    }
}
