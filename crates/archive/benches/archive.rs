//! Is an archive of 10,000 runs still quick? `make bench-archive`, or `cargo bench -p archive`.
//!
//! Prints the medians beside their bars; ends with an error where one is missed.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops at the first failure"
)]

use archive::{Archive, INDEX, Query, RunId, RunState, example, layout};
use std::{
    fs,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

const RUNS: u32 = 10_000;

fn main() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let archive = Archive::new(folder.path());
    let all = Query::default();
    let page = Query { limit: Some(50), ..all.clone() };
    let narrow = Query {
        text: Some("1.6".to_owned()),
        tag: Some("made-up".to_owned()),
        variant: Some("apache".to_owned()),
        state: Some(RunState::Finished),
        ..all.clone()
    };

    let mut met = true;
    let mut report = |what: &str, bar_ms: u64, rounds: u32, work: &dyn Fn()| {
        let mut times: Vec<Duration> = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                work();
                start.elapsed()
            })
            .collect();
        times.sort();
        let median = times[times.len() / 2];
        let slowest = times[times.len() - 1];
        met &= median <= Duration::from_millis(bar_ms);
        println!("{what:<44} median {median:>9.1?}   slowest {slowest:>9.1?}   bar {bar_ms:>6} ms");
    };
    println!("an archive of {RUNS} runs");
    report("reindex", 30_000, 3, &|| assert_eq!(archive.reindex().unwrap(), RUNS as usize));
    report("list after the index was lost", 30_000, 1, &|| {
        fs::remove_file(folder.path().join(INDEX)).unwrap();
        assert_eq!(archive.list(&all).unwrap().len(), RUNS as usize);
    });
    report("list, newest 50", 100, 21, &|| assert_eq!(archive.list(&page).unwrap().len(), 50));
    report("list, all", 100, 21, &|| assert_eq!(archive.list(&all).unwrap().len(), RUNS as usize));
    report("list, four filters", 100, 21, &|| assert!(!archive.list(&narrow).unwrap().is_empty()));
    report("find by a part of the name", 100, 21, &|| {
        archive.find("latest").unwrap();
    });
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Copies of some made-up runs under names of their own. Copies, because the writer brings every file to the disk.
fn fill(root: &Path) {
    let templates = tempfile::tempdir().unwrap();
    let templates: Vec<_> = (0..10)
        .map(|number| {
            let id = example::one_of_many(templates.path(), number).unwrap();
            let read = |file| fs::read(templates.path().join(id.as_str()).join(file)).unwrap();
            [(layout::PLAN, read(layout::PLAN)), (layout::VERDICT, read(layout::VERDICT))]
        })
        .collect();
    let start = std::time::SystemTime::now() - Duration::from_hours(24 * 365);
    for number in 0..RUNS {
        let id =
            RunId::new(start + Duration::from_secs(u64::from(number) * 900), ["nginx", "apache"], 0x7f3a);
        let dir = root.join(id.as_str());
        fs::create_dir_all(dir.join(layout::TRIALS)).unwrap();
        for (file, bytes) in &templates[number as usize % templates.len()] {
            fs::write(dir.join(file), bytes).unwrap();
        }
    }
}
