//! Standard output: the answer, and nothing else.

use std::io::{ErrorKind, Write};

use anyhow::Context;

/// Prints text as it is. A reader that has gone away (`| head`) has had enough, which is no failure.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("printing the answer"),
    }
}
