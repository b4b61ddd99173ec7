//! Standard output: the answer, and nothing else. Notes go to standard error. No text of a server, a log or somebody
//! else's run reaches a terminal with a character that the terminal obeys: all output passes through here or, for
//! progress bars, through `color::for_stderr`.

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::Context;
use archive::printable::{one_line, printable, printable_json};

use crate::color;

/// Prints CSV, a script or a path: as it is to a file or a pipe, and with visible escapes to a terminal.
pub fn print(text: &str) -> anyhow::Result<()> {
    let stdout = std::io::stdout();
    if stdout.is_terminal() { write(stdout.lock(), &printable(text)) } else { write(stdout.lock(), text) }
}

/// Prints JSON.
pub fn print_json(json: &str) -> anyhow::Result<()> {
    write(std::io::stdout().lock(), &printable_json(json))
}

/// Prints a text for people, in color where color is wanted.
pub fn print_text(text: &str) -> anyhow::Result<()> {
    write(anstream::stdout().lock(), &color::without_foreign_sequences(text))
}

/// Prints a note on standard error. A closed standard error is ignored.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "note: {}", one_line(text));
}

/// Prints a text for people on standard error, in color where color is wanted. A closed standard error is ignored.
pub fn text_to_stderr(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let text = color::without_foreign_sequences(text);
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Another run on this machine: the two measurements disturb each other.
pub struct OtherMeasurement(Option<String>);

impl OtherMeasurement {
    /// Prints a note if a run measures now.
    pub fn look() -> Self {
        let mut other = Self(None);
        other.look_again();
        other
    }

    /// Prints a note if a run has begun since. It may have ended again, which remains unknown.
    pub fn look_again(&mut self) {
        if self.0.is_some() {
            return;
        }
        self.0 = host::lock::measuring_now(None);
        if let Some(holder) = &self.0 {
            note(&format!(
                "another showdown is measuring on this machine {holder}; both results may be wrong"
            ));
        }
    }

    /// The process that measured, and its user.
    pub fn holder(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// A reader that closes the pipe early (`| head`) is no failure.
fn write(mut stdout: impl Write, text: &str) -> anyhow::Result<()> {
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}
