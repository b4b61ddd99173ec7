//! The program that is copied to a host: this one, or a build for another architecture.
//!
//! Only what a kernel loads is copied: symbols and debug information are at the end of an ELF file, behind its last
//! segment, and are three quarters of a build. The section headers that would point to them are cleared.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::elf::{FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, elf};
use sha2::{Digest, Sha256};

/// The headers of an ELF file are at its beginning, and take some hundred bytes.
const MOST_HEADERS: u64 = 64 << 10;

/// Why a file cannot be the program for a host.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It cannot be read.
    #[error("cannot read the program {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// It is not an executable for 64 bits.
    #[error("{path} is not a program for Linux of 64 bits: name a build of showdown")]
    NoExecutable {
        /// The file.
        path: String,
    },
    /// It is for another architecture than the option says.
    #[error("{path} is a program for {is}, not for {wanted}: name a build of showdown for {wanted}")]
    Architecture {
        /// The file.
        path: String,
        /// Its architecture.
        is: String,
        /// That of the option.
        wanted: String,
    },
    /// The option is not of this form.
    #[error("{text:?} names no program: write ARCHITECTURE=PATH, such as aarch64=showdown-aarch64")]
    Option {
        /// The value of the option.
        text: String,
    },
}

/// A program for one architecture, as it is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// Their SHA-256, in hex.
    pub sha256: String,
}

impl Program {
    /// These bytes.
    pub fn of(bytes: Vec<u8>) -> Self {
        let sha256 = hex_sha256(&bytes);
        Self { bytes: bytes.into(), sha256 }
    }
}

/// The SHA-256 of bytes, in hex.
pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    workload::hex(&Sha256::digest(bytes))
}

/// The programs for hosts, by architecture as `uname -m` prints it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs(BTreeMap<String, Program>);

impl Programs {
    /// This program, and the files of `--program ARCHITECTURE=PATH`, which also replace it.
    pub fn with(options: &[String]) -> Result<Self, ProgramError> {
        let mut programs = BTreeMap::new();
        for text in options {
            let parts = text.split_once('=').filter(|(name, path)| is_architecture(name) && !path.is_empty());
            let (name, path) = parts.ok_or_else(|| ProgramError::Option { text: text.clone() })?;
            let (is, program) = read(&PathBuf::from(path))?;
            if is != name {
                return Err(ProgramError::Architecture {
                    path: path.to_owned(),
                    is,
                    wanted: name.to_owned(),
                });
            }
            programs.insert(is, program);
        }
        if !programs.contains_key(std::env::consts::ARCH) {
            let (is, program) = read(Path::new("/proc/self/exe"))?;
            programs.insert(is, program);
        }
        Ok(Self(programs))
    }

    /// Those of this list.
    #[cfg(test)]
    pub fn of(list: impl IntoIterator<Item = (String, Program)>) -> Self {
        Self(list.into_iter().collect())
    }

    /// The program for an architecture.
    pub fn get(&self, architecture: &str) -> Option<&Program> {
        self.0.get(architecture)
    }

    /// All of them, with their architectures.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Program)> {
        self.0.iter().map(|(architecture, program)| (architecture.as_str(), program))
    }
}

/// The name goes into a shell's pattern.
fn is_architecture(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A program's architecture and what is copied of it.
fn read(path: &Path) -> Result<(String, Program), ProgramError> {
    let label = || path.display().to_string();
    let failed = |source| ProgramError::Read { path: label(), source };
    let no_executable = || ProgramError::NoExecutable { path: label() };
    let mut file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    (&mut file).take(MOST_HEADERS).read_to_end(&mut bytes).map_err(failed)?;
    let (architecture, end) = architecture_and_end(&bytes).ok_or_else(no_executable)?;
    // What is behind it, most of the file, is not read.
    let rest = end.saturating_sub(bytes.len() as u64);
    file.take(rest).read_to_end(&mut bytes).map_err(failed)?;
    let loaded = loaded_part(bytes, end).ok_or_else(no_executable)?;
    Ok((architecture.to_owned(), Program::of(loaded)))
}

/// The architecture of an executable whose file begins so, and where the part ends that a kernel loads.
fn architecture_and_end(beginning: &[u8]) -> Option<(&'static str, u64)> {
    let header = FileHeader64::<Endianness>::parse(beginning).ok()?;
    let endian = header.endian().ok()?;
    let architecture = match header.e_machine(endian) {
        elf::EM_X86_64 => "x86_64",
        elf::EM_AARCH64 => "aarch64",
        elf::EM_RISCV => "riscv64",
        elf::EM_PPC64 if header.is_little_endian() => "ppc64le",
        elf::EM_S390 => "s390x",
        _ => return None,
    };
    let segments: &[ProgramHeader64<Endianness>] = header.program_headers(endian, beginning).ok()?;
    let end = |segment: &ProgramHeader64<Endianness>| {
        segment.p_offset(endian).checked_add(segment.p_filesz(endian))
    };
    let ends: Option<Vec<u64>> = segments.iter().map(end).collect();
    let end = ends?.into_iter().max()?;
    (header.e_type(endian) != elf::ET_REL).then_some((architecture, end))
}

/// The part of an executable up to this end, if it is that long.
fn loaded_part(mut bytes: Vec<u8>, end: u64) -> Option<Vec<u8>> {
    let end = usize::try_from(end).ok().filter(|end| *end <= bytes.len())?;
    bytes.truncate(end);
    // e_shoff; e_shnum and e_shstrndx, the last two fields of the header.
    for cleared in [0x28..0x30, 0x3c..0x40] {
        bytes.get_mut(cleared)?.fill(0);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_is_copied_runs_and_is_smaller() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let programs = Programs::with(&[])?;
        let program = programs.get(std::env::consts::ARCH).ok_or("this architecture")?;
        assert!((program.bytes.len() as u64) < fs::metadata("/proc/self/exe")?.len());
        let copy = directory.path().join("copy");
        // Written by another process: a test that starts a program meanwhile would give it this file, open for writing, and a
        // file that somebody may write cannot be started.
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod 700 \"$0\""])
            .arg(&copy)
            .stdin(Stdio::piped())
            .spawn()?;
        writer.stdin.take().ok_or("its input")?.write_all(&program.bytes)?;
        assert!(writer.wait()?.success());
        let output = Command::new(&copy).arg("--list").output()?;
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("what_is_copied_runs"), "it is this test");
        Ok(())
    }

    #[test]
    fn a_file_of_another_kind_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let text = directory.path().join("text");
        fs::write(&text, "#!/bin/sh\n")?;
        let of = |option: String| Programs::with(&[option]).expect_err("it is refused").to_string();
        assert!(of(format!("aarch64={}", text.display())).contains("is not a program for Linux"));
        assert!(of("aarch64=/nowhere".to_owned()).contains("cannot read the program /nowhere: No such file"));
        let other = if std::env::consts::ARCH == "aarch64" { "x86_64" } else { "aarch64" };
        assert!(of(format!("{other}=/proc/self/exe")).contains(&format!("not for {other}: name a build")));
        for option in ["aarch64", "=/bin/sh", "a*b=/bin/sh", "aarch64="] {
            assert!(of(option.to_owned()).contains("write ARCHITECTURE=PATH"), "{option}");
        }
        Ok(())
    }
}
