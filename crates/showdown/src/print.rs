//! Standard output: the answer, and nothing else.

use std::io::{ErrorKind, Write};

use anyhow::Context;

/// Prints bytes as they are: JSON, CSV, a page, a script.
pub fn print(text: &str) -> anyhow::Result<()> {
    write(std::io::stdout().lock(), text)
}

/// Prints a text for people, in color where color is wanted.
pub fn print_text(text: &str) -> anyhow::Result<()> {
    write(anstream::stdout().lock(), text)
}

/// A reader that closes the pipe early (`| head`) is no failure.
fn write(mut stdout: impl Write, text: &str) -> anyhow::Result<()> {
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}
