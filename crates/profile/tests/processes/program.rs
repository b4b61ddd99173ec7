//! Builds and starts a C program.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Says that this machine cannot run a test, as `scripts/checks` expects it.
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
pub fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// A program in a directory of its own.
pub struct Program {
    directory: tempfile::TempDir,
}

impl Program {
    /// Compiles `tests/processes/NAME.c`, without frame pointers, as distributions do.
    pub fn build(name: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/processes").join(format!("{name}.c"));
        let status = Command::new("cc")
            .args(["-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])
            // It touches each page of a stack, which `hollow` must not.
            .args(["-fno-stack-clash-protection", "-pthread", "-o"])
            .arg(directory.path().join("program"))
            .arg(source)
            .status();
        assert!(status.expect("the linker of Rust is cc").success());
        Self { directory }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("program")
    }

    /// Removes its symbols.
    pub fn strip(&self) {
        let status = Command::new("strip").arg(self.path()).status();
        assert!(status.expect("strip comes with the linker").success());
    }

    pub fn start(&self, arguments: &[&str]) -> Running {
        let command = Command::new(self.path()).args(arguments).stdout(Stdio::piped()).spawn();
        Running(command.expect("the program starts"))
    }
}

/// A running program, which is killed at the end.
pub struct Running(pub Child);

impl Running {
    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
