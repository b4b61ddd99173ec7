//! A squeezer: a process that takes CPU time, or memory or time of a disk in a server's control groups. So the server has less of
//! them, as beside another program. How much it took is measured and not assumed. When it takes, and what follows from it, is left
//! to the caller; what its process does to `taker.rs`.
//!
//! A lower limit of a control group would be simpler, but it changes the server's own group, needs root everywhere, and has to be
//! undone after a kill. A process ends with the pipe to its owner.

mod cpu;
mod disk;
mod memory;
mod order;
mod taker;

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout};

use crate::affinity::CpuSet;
use crate::control_groups::cgroup;
use crate::process::role;
use crate::root::Root;
use order::{ASK, Answer, Order};

pub(crate) use taker::run;

/// What a squeezer takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Squeeze {
    /// Memory, which it keeps in use.
    Memory {
        /// How much, in bytes.
        bytes: u64,
    },
    /// Reads from the disk, past the page cache.
    DiskReads {
        /// How much, in bytes a second.
        bytes_per_s: f64,
    },
}

/// Why a squeezer does not take anything.
#[derive(Debug, thiserror::Error)]
pub enum SqueezeError {
    /// The machine could run out of memory.
    #[error(
        "{free_mb} MB of memory and swap are free, and an experiment with {wanted_mb} MB needs twice as much: end other programs"
    )]
    NoRoom {
        /// What is free.
        free_mb: u64,
        /// What it would take.
        wanted_mb: u64,
    },
    /// Its process cannot take.
    #[error("{0}")]
    Refused(String),
    /// Its process does not start or answer.
    #[error("the process that takes a resource does not answer: {0}")]
    NoAnswer(#[from] io::Error),
}

/// Takes until it is dropped, or until this process dies.
#[derive(Debug)]
pub struct Squeezer {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Starts to take, in the control groups of the process `beside`. Files that are read from are made once in `directory`, which
/// belongs to this user alone.
pub(crate) fn start(
    root: &Root,
    program: &Path,
    squeeze: Squeeze,
    beside: u32,
    directory: &Path,
) -> Result<Squeezer, SqueezeError> {
    let order = match squeeze {
        Squeeze::Memory { bytes } => {
            check_room(root, bytes)?;
            Order::Memory { bytes, groups: groups_of(root, beside, "memory") }
        }
        Squeeze::DiskReads { bytes_per_s } => {
            let file = directory.join("squeezed-disk");
            Order::DiskReads { bytes_per_s, file, groups: groups_of(root, beside, "blkio") }
        }
    };
    Squeezer::start(program, &order)
}

/// Starts to take this share of the time of each of these CPUs, 0 to 0.9.
pub(crate) fn burn(program: &Path, cpus: &CpuSet, share: f64) -> Result<Squeezer, SqueezeError> {
    Squeezer::start(program, &Order::CpuTime { cpus: cpus.clone(), share })
}

/// The machine must not end programs for lack of memory because of an experiment.
fn check_room(root: &Root, bytes: u64) -> Result<(), SqueezeError> {
    const MB: u64 = 1 << 20;
    let free = crate::facts::free_memory_and_swap(root);
    match free {
        Some(free) if free < bytes.saturating_mul(2) => {
            Err(SqueezeError::NoRoom { free_mb: free / MB, wanted_mb: bytes / MB })
        }
        _ => Ok(()),
    }
}

/// The control groups of a process that account for a controller, where this process is not in them itself.
fn groups_of(root: &Root, pid: u32, controller: &str) -> Vec<PathBuf> {
    let groups = |of: &str| -> Vec<PathBuf> {
        let all = cgroup::hierarchies(root, of).into_iter();
        all.filter(|hierarchy| hierarchy.has(controller)).map(|hierarchy| hierarchy.group).collect()
    };
    let own = groups("self");
    groups(&pid.to_string()).into_iter().filter(|group| !own.contains(group)).collect()
}

impl Squeezer {
    fn start(program: &Path, order: &Order) -> Result<Self, SqueezeError> {
        let mut child = role::spawn(program, "sd-squeezer", ["squeeze"])?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("it has no pipes").into());
        };
        let mut squeezer = Self { child, questions: Some(questions), answers: BufReader::new(answers) };
        squeezer.send(&serde_json::to_vec(order).map_err(io::Error::from)?)?;
        squeezer.answer()?;
        Ok(squeezer)
    }

    /// What it has taken: of memory the bytes that it has now, of a disk the bytes that it has read so far, of CPUs the
    /// nanoseconds that all of them together have worked for it so far.
    ///
    /// # Errors
    ///
    /// It has ended, or it cannot take any more.
    pub fn taken(&mut self) -> Result<u64, SqueezeError> {
        self.send(ASK)?;
        self.answer()
    }

    fn send(&mut self, line: &[u8]) -> io::Result<()> {
        let questions = self.questions.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        questions.write_all(line)?;
        questions.write_all(b"\n")?;
        questions.flush()
    }

    fn answer(&mut self) -> Result<u64, SqueezeError> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        match serde_json::from_str(&line).map_err(io::Error::from)? {
            Answer::Taken(amount) => Ok(amount),
            Answer::Refused(why) => Err(SqueezeError::Refused(why)),
        }
    }
}

impl Drop for Squeezer {
    fn drop(&mut self) {
        drop(self.questions.take());
        let _ = self.child.wait();
    }
}
