//! How a command ends: the exit codes that DESIGN promises, and the one line that a failure prints.

use std::fmt;
use std::process::ExitCode;

use clap::error::ErrorKind;

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

/// Interrupted before there was anything to print: exit code 130.
#[derive(Debug)]
pub struct Interrupted(pub &'static str);

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "interrupted {}", self.0)
    }
}

impl std::error::Error for Interrupted {}

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
            print_failure(&format!("showdown: {}", with_causes(&error)));
            match () {
                () if error.is::<Usage>() => 2,
                () if error.is::<Interrupted>() => 130,
                () => 1,
            }
        }
    };
    ExitCode::from(code)
}

/// A failure and its causes in a line. A cause that the words before it have told is not told again.
fn with_causes(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |told, cause| match told.as_str() {
        "" => cause,
        _ if told.contains(&cause) => told,
        _ => format!("{told}: {cause}"),
    })
}

/// The command line is not understood: says so in a line, as every other failure; help and version are printed.
pub fn code_of_parsing(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    print_failure(&format!("showdown: {}", in_a_line(&error.to_string())));
    ExitCode::from(2)
}

/// What clap says, without the heading, the usage and the pointer to the help.
fn in_a_line(text: &str) -> String {
    let said = text.strip_prefix("error: ").unwrap_or(text);
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let told: Vec<&str> =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more")).collect();
    told.join(" ").replace(" tip: ", ": ")
}

/// A standard error that is closed is no reason to panic.
fn print_failure(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let full = || std::io::Error::other("disk full");
        let error = |text: &'static str| anyhow::Error::from(full()).context(text);
        assert_eq!(with_causes(&error("cannot keep the run")), "cannot keep the run: disk full");
        assert_eq!(with_causes(&error("runs/7: disk full; free some")), "runs/7: disk full; free some");
        assert_eq!(with_causes(&full().into()), "disk full");
    }

    #[test]
    fn what_clap_says_becomes_a_line() {
        let said = "error: unexpected argument '--wramup' found\n\n  tip: a similar argument exists: '--warmup'\n\n\
                    Usage: showdown load <URL>\n\nFor more information, try '--help'.\n";
        let line = "unexpected argument '--wramup' found: a similar argument exists: '--warmup'";
        assert_eq!(in_a_line(said), line);
    }
}
