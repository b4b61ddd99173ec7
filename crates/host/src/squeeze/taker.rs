//! The process of a squeezer: it obeys one order, answers questions, and ends with the pipe.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use super::cpu::CpuTime;
use super::disk::DiskReads;
use super::memory::TakenMemory;
use super::order::{Answer, Order};

/// What is being taken.
enum Taking {
    CpuTime(CpuTime),
    Memory(TakenMemory),
    DiskReads(DiskReads),
}

/// Takes until the standard input ends.
pub(crate) fn run() -> io::Result<()> {
    rustix::thread::set_name(c"sd-squeezer")?;
    // The scheduler divides CPU time among sessions (sched(7), autogroup). In the session of its owner it would take the time of
    // programs that were started at the same terminal, and not that of the server.
    rustix::process::setsid()?;
    let mut lines = io::stdin().lock().lines();
    let order = lines.next().ok_or(io::ErrorKind::UnexpectedEof)??;
    let begun = begin(&serde_json::from_str(&order)?);
    answer(&begun)?;
    for question in lines {
        question?;
        answer(&begun)?;
    }
    // The threads end with the process.
    Ok(())
}

fn begin(order: &Order) -> Result<Taking, String> {
    match order {
        Order::CpuTime { cpus, share } => {
            CpuTime::begin(cpus, *share).map(Taking::CpuTime).map_err(|error| error.to_string())
        }
        Order::Memory { bytes, groups } => {
            // If memory runs out in spite of all, this is what the kernel ends.
            fs::write("/proc/self/oom_score_adj", "1000").map_err(|error| error.to_string())?;
            enter(groups)?;
            TakenMemory::begin(*bytes)
                .map(Taking::Memory)
                .map_err(|error| format!("cannot take memory: {error}"))
        }
        Order::DiskReads { bytes_per_s, file, groups } => {
            // Before it enters the groups: pages that are written count as theirs.
            let source = DiskReads::source(file)?;
            enter(groups)?;
            DiskReads::begin(&source, *bytes_per_s)
                .map(Taking::DiskReads)
                .map_err(|error| format!("cannot read {}: {error}", file.display()))
        }
    }
}

/// Enters control groups, of which it has a share then.
fn enter(groups: &[PathBuf]) -> Result<(), String> {
    let own = std::process::id().to_string();
    let enter = |group: &Path| fs::write(group.join("cgroup.procs"), &own);
    groups.iter().try_for_each(|group| {
        enter(group).map_err(|error| {
            format!("cannot enter the server's control group {}: {error}: run it as root", group.display())
        })
    })
}

fn answer(begun: &Result<Taking, String>) -> io::Result<()> {
    let taken = begun.as_ref().map_err(Clone::clone).and_then(|taking| match taking {
        Taking::CpuTime(time) => Ok(time.taken()),
        Taking::Memory(memory) => {
            memory.taken().map_err(|error| format!("cannot tell its own memory: {error}"))
        }
        Taking::DiskReads(reads) => reads.taken(),
    });
    let answer = taken.map_or_else(Answer::Refused, Answer::Taken);
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &answer)?;
    out.write_all(b"\n")?;
    out.flush()
}
