//! Fills a directory with made-up runs of one series, up to a number of runs: `many DIR COUNT`. A list needs the plan and the verdict of a
//! run, so the files of the first runs are copied.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use archive::{RunId, example, layout};

/// Runs with files of their own; each further run has copies of the files of one of these runs.
const OWN: u32 = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let root = PathBuf::from(args.next().ok_or("many DIR COUNT")?);
    let count: u32 = args.next().ok_or("many DIR COUNT")?.to_string_lossy().parse()?;
    fs::create_dir_all(&root)?;
    let there = fs::read_dir(&root)?.filter(|entry| {
        let name = entry.as_ref().map(fs::DirEntry::file_name).unwrap_or_default();
        name.to_string_lossy().parse::<RunId>().is_ok()
    });
    let begin = there.count() as u32;
    for number in begin..count.min(OWN) {
        example::one_of_many(&root, number)?;
    }
    let mut own: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(&root)? {
        let path = entry?.path();
        if path.join(layout::VERDICT).is_file() && own.len() < OWN as usize {
            own.push(path);
        }
    }
    own.sort();
    for number in begin.max(OWN)..count {
        // A quarter of an hour apart, in the years before the first one.
        let started = UNIX_EPOCH + Duration::from_secs(1_795_222_299 - u64::from(number) * 900);
        let time = humantime::format_rfc3339_seconds(started).to_string().replace(['-', ':'], "");
        let dir = root.join(format!("{time}-nginx-apache-{:04x}", number % 0x10000));
        fs::create_dir_all(dir.join(layout::TRIALS))?;
        for file in [layout::PLAN, layout::VERDICT] {
            fs::copy(own[number as usize % own.len()].join(file), dir.join(file))?;
        }
    }
    println!("{count} runs");
    Ok(())
}
