//! `showdown clean`: list what Showdown has left on this machine, and remove it. Runs are left to `showdown rm`, and Debian packages to apt.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use host::lock::HostLock;
use host::lock_owner::LockOwner;
use host::{Host, knobs, lock, scratch};
use machine::transport::copied_programs;
use serde::Serialize;
use workload::data;

use crate::args::options::AnswerFormat;
use crate::exit::{CommandStatus, print_failure};
use crate::show::layout::table::table_within;
use crate::show::layout::units::quantity;

/// Options of `showdown clean`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown clean          list what there is, and remove nothing
  showdown clean --yes    remove it
  sudo showdown clean     the same for root, whose runs have left other directories

All of it is made anew when a run needs it. Runs are not touched: `showdown rm` removes them. While a run measures on this machine, \
nothing is removed. Before the journal of kernel settings is removed, its settings are restored, as `showdown undo` does. On another \
host, run it there.

Exit codes: 0 the list is complete, or all of it is removed, 1 something could not be removed or a run is under way, 2 usage error.")]
pub struct CleanArgs {
    /// Remove all that is listed
    #[arg(long)]
    pub yes: bool,

    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
}

/// The answer.
#[derive(Debug, Serialize)]
struct CleanAnswer {
    /// What there is of this user.
    left: Vec<LeftEntry>,
    /// What could not be removed, a sentence each.
    problems: Vec<String>,
}

/// A file or a directory that runs have left.
#[derive(Debug, Serialize)]
struct LeftEntry {
    #[serde(skip)]
    kind: LeftKind,
    /// What it is.
    what: &'static str,
    path: PathBuf,
    /// Room on the disk.
    bytes: u64,
    /// Whether it is removed now.
    is_removed: bool,
}

/// What a file or a directory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftKind {
    /// A scratch directory of a run that was killed.
    Scratch,
    /// Files that a workload serves.
    Data,
    /// Copies of this program for the hosts file of another machine.
    Programs,
    /// Tables and media of the workload `olio`.
    Olio,
    /// The journal of kernel settings.
    Journal,
    /// A lock of this machine.
    Lock,
}

impl LeftKind {
    fn what(self) -> &'static str {
        match self {
            Self::Scratch => "directory of a killed run",
            Self::Data => "generated files of workloads",
            Self::Programs => "programs that another machine has copied here",
            Self::Olio => "tables, media and programs of the workload olio",
            Self::Journal => "journal of kernel settings",
            Self::Lock => "lock, an empty file",
        }
    }
}

/// Runs the verb.
pub fn run(args: &CleanArgs) -> anyhow::Result<CommandStatus> {
    let mut answer = CleanAnswer { left: left_here()?, problems: Vec::new() };
    if args.yes {
        // Nobody begins to measure meanwhile.
        let number = u64::from(std::process::id()) << u32::BITS;
        let _lock = HostLock::take(LockOwner::of_random(number))?;
        for entry in &mut answer.left {
            match remove(entry) {
                Ok(()) => entry.is_removed = true,
                Err(error) => answer.problems.push(format!("{}: {error:#}", entry.path.display())),
            }
        }
    }
    args.format.print(&answer, || text(&answer, args.yes))?;
    for problem in &answer.problems {
        print_failure(problem);
    }
    Ok(if answer.problems.is_empty() { CommandStatus::Success } else { CommandStatus::Failed })
}

/// All that is there and belongs to this user. The locks are the last: they keep others from measuring until then.
fn left_here() -> io::Result<Vec<LeftEntry>> {
    let mut candidates = Vec::new();
    for path in scratch::left_by_killed() {
        candidates.push((LeftKind::Scratch, path));
    }
    candidates.push((LeftKind::Data, data::default_cache()?));
    if let Some(path) = copied_programs() {
        candidates.push((LeftKind::Programs, path));
    }
    let user = rustix::process::geteuid().as_raw();
    candidates.push((LeftKind::Olio, scratch::kept_for_servers("olio", user)));
    if let Ok(path) = knobs::default_journal_dir() {
        candidates.push((LeftKind::Journal, path));
    }
    for path in lock::files() {
        candidates.push((LeftKind::Lock, path));
    }
    let mut found = Vec::new();
    for (kind, path) in candidates {
        if is_own(&path, kind == LeftKind::Lock) {
            let bytes = allocated_bytes(&path);
            found.push(LeftEntry { kind, what: kind.what(), path, bytes, is_removed: false });
        }
    }
    Ok(found)
}

/// Whether this is a directory of this user, or an empty file of theirs: whoever names a lock may have named a file of their own.
fn is_own(path: &Path, is_lock: bool) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let has_kind = if is_lock { metadata.is_file() && metadata.len() == 0 } else { metadata.is_dir() };
    has_kind && metadata.uid() == rustix::process::geteuid().as_raw()
}

/// The room that a file, or a directory with all below it, has on the disk. What cannot be read counts as nothing.
fn allocated_bytes(path: &Path) -> u64 {
    /// The unit of stat(2).
    const BLOCK_BYTES: u64 = 512;
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    let mut bytes = metadata.blocks() * BLOCK_BYTES;
    if metadata.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            bytes += allocated_bytes(&entry.path());
        }
    }
    bytes
}

fn remove(entry: &LeftEntry) -> anyhow::Result<()> {
    match entry.kind {
        LeftKind::Scratch => scratch::remove_left(&entry.path)?,
        LeftKind::Lock => fs::remove_file(&entry.path)?,
        LeftKind::Journal => {
            // Opening the journal restores what it has.
            let (left, _) = Host::local().knobs(&entry.path)?;
            if let Some(unrestored) = left.left_behind().first() {
                anyhow::bail!("the journal is kept: {unrestored}");
            }
            drop(left);
            fs::remove_dir_all(&entry.path)?;
        }
        LeftKind::Data | LeftKind::Programs | LeftKind::Olio => {
            fs::remove_dir_all(&entry.path)?;
            if entry.kind != LeftKind::Olio
                && let Some(folder) = entry.path.parent()
            {
                // Fails as long as there is anything else in it.
                let _ = fs::remove_dir(folder);
            }
        }
    }
    Ok(())
}

fn text(answer: &CleanAnswer, is_asked_to_remove: bool) -> String {
    const RUNS: &str = "Runs are not listed: `showdown list` has them, and `showdown rm` removes them.\n";
    if answer.left.is_empty() {
        return format!("Showdown has left nothing of this user on this machine. {RUNS}");
    }
    if is_asked_to_remove {
        let mut out = String::new();
        for entry in answer.left.iter().filter(|entry| entry.is_removed) {
            let _ = writeln!(out, "removed {} ({})", entry.path.display(), room(entry.bytes));
        }
        return out;
    }
    let mut rows = vec![["where", "room", "what"].map(str::to_owned).to_vec()];
    for entry in &answer.left {
        rows.push(vec![entry.path.display().to_string(), room(entry.bytes), entry.what.to_owned()]);
    }
    let total = answer.left.iter().map(|entry| entry.bytes).sum();
    format!(
        "{}\n{} in all. `showdown clean --yes` removes it. {RUNS}",
        table_within(&rows, None),
        room(total)
    )
}

fn room(bytes: u64) -> String {
    quantity(bytes as f64, "B")
}
