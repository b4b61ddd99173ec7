//! A script that a test executes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Makes a program of this text. Another process writes it: a child that this process starts meanwhile, in another test, would have the
/// file open for writing until it executes its own program, and such a file cannot be executed ("Text file busy").
pub fn write(program: &Path, text: &str) {
    let mut install = Command::new("install");
    install.args(["--mode=755", "/dev/stdin"]).arg(program).stdin(Stdio::piped());
    let mut installing = install.spawn().expect("install(1)");
    installing.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    assert!(installing.wait().expect("it ends").success(), "{install:?}");
}
