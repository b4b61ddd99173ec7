//! A run directory can be read at any moment, and with any of its files damaged.
#![allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use archive::{Archive, ArchiveError, Query, Run, RunState, example, layout};
use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

fn a_run(blocks: u32) -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let id = example::comparison(root.path(), blocks).unwrap();
    let dir = root.path().join(id.as_str());
    (root, dir)
}

#[test]
fn a_finished_run_is_read_completely() {
    let (_root, dir) = a_run(4);
    let run = Run::open(&dir).unwrap();
    assert_eq!((run.state, run.problems.as_slice()), (RunState::Finished, &[][..]));
    assert_eq!(
        run.trials.iter().map(|record| record.trial.number).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
    assert_eq!(run.tags, ["made-up"]);
    let telemetry = run.telemetry(&run.trials[0].trial).unwrap().unwrap();
    assert_eq!(telemetry.t_s.len(), run.trials[0].trial.timeline.len());
    let config = &run.trials[0].trial.files.config[0];
    assert!(run.text(config, 1 << 20).unwrap().contains("127.0.0.1"));
}

#[test]
fn a_run_cut_off_after_any_file_is_readable_with_its_state() {
    let (_root, dir) = a_run(2);
    let open = || Run::open(&dir).unwrap();

    fs::remove_file(dir.join(layout::VERDICT)).unwrap();
    assert_eq!((open().state, open().trials.len(), open().problems.len()), (RunState::Unfinished, 4, 0));

    let last = dir.join(&open().trials[3].folder);
    fs::remove_file(last.join(layout::TRIAL)).unwrap();
    assert_eq!((open().state, open().trials.len()), (RunState::Unfinished, 3));
    assert!(open().problems[0].text.contains("cut off before its end"), "{:?}", open().problems);

    fs::remove_dir_all(dir.join(layout::TRIALS)).unwrap();
    fs::remove_file(dir.join(layout::FACTS)).unwrap();
    assert_eq!((open().state, open().trials.len(), open().problems.len()), (RunState::Unfinished, 0, 0));
    assert!(open().plan.is_some());
}

#[test]
fn a_truncated_file_is_named_and_all_others_are_read() {
    let (_root, dir) = a_run(1);
    let whole = Run::open(&dir).unwrap();
    let trial = format!("{}/{}", whole.trials[0].folder, layout::TRIAL);
    for file in [layout::PLAN, layout::FACTS, layout::VERDICT, &trial] {
        let path = dir.join(file);
        let bytes = fs::read(&path).unwrap();
        for eighth in 0..8 {
            fs::write(&path, &bytes[..bytes.len() * eighth / 8]).unwrap();
            let run = Run::open(&dir).unwrap();
            let [problem] = run.problems.as_slice() else { panic!("{file}: {:?}", run.problems) };
            assert_eq!(problem.file, file);
            let lost = usize::from(run.plan.is_none())
                + usize::from(run.facts.is_none())
                + usize::from(run.verdict.is_none())
                + (2 - run.trials.len());
            assert_eq!(lost, 1, "{file} cut at {eighth} eighths affected other files");
            let expected = if [layout::PLAN, layout::VERDICT].contains(&file) {
                RunState::Damaged
            } else {
                RunState::Finished
            };
            assert_eq!(run.state, expected);
        }
        fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn damaged_telemetry_has_its_own_error() {
    let (_root, dir) = a_run(1);
    let run = Run::open(&dir).unwrap();
    let trial = &run.trials[0].trial;
    fs::write(run.path(trial.files.telemetry.as_ref().unwrap()).unwrap(), b"PAR1").unwrap();
    let message = run.telemetry(trial).unwrap_err().to_string();
    assert!(message.contains("telemetry.parquet"), "{message}");
}

#[test]
fn a_file_name_outside_the_run_directory_is_refused() {
    let (_root, dir) = a_run(1);
    let mut run = Run::open(&dir).unwrap();
    let trial = &mut run.trials[0].trial;
    trial.files.telemetry = Some("../../../etc/passwd".to_owned());
    assert!(matches!(run.telemetry(&run.trials[0].trial), Err(ArchiveError::OutsideRun { .. })));
    assert!(matches!(run.text("/etc/passwd", 10), Err(ArchiveError::OutsideRun { .. })));
}

#[test]
fn a_later_format_is_refused_by_its_number_even_where_it_parses() {
    let (_root, dir) = a_run(1);
    for file in [layout::PLAN, layout::VERDICT] {
        let path = dir.join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(
            &path,
            text.replacen("format\": 2", "format\": 3", 1).replacen("format = 2", "format = 3", 1),
        )
        .unwrap();
        let run = Run::open(&dir).unwrap();
        assert!(run.problems[0].text.contains("format 3"), "{:?}", run.problems);
        fs::write(&path, text).unwrap();
    }
}

#[test]
fn a_folder_that_is_not_a_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Run::open(folder.path()), Err(ArchiveError::Id(_))));
    assert!(matches!(Run::open(Path::new("/no/such/folder")), Err(ArchiveError::Io { .. })));
}

/// The process that the next test kills: it writes runs in a loop.
#[test]
#[ignore = "started by `after_a_kill_at_any_moment_every_run_is_readable`"]
fn writes_runs_in_a_loop() {
    let root = PathBuf::from(std::env::var_os("RUNS").unwrap());
    loop {
        example::comparison(&root, 3).unwrap();
    }
}

#[test]
fn after_a_kill_at_any_moment_every_run_is_readable() {
    let root = tempfile::tempdir().unwrap();
    for after_ms in [60, 85, 110, 140, 170, 200, 230, 270, 310, 350] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writes_runs_in_a_loop", "--ignored"])
            .env("RUNS", root.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(after_ms));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9), "the process must run until it is killed");
    }
    let archive = Archive::new(root.path());
    let listed = archive.list(&Query::default()).unwrap();
    assert!(!listed.is_empty());
    for line in &listed {
        let run = archive.open(line.id.as_str()).unwrap();
        assert!(run.plan.is_some(), "{}: {:?}", run.id, run.problems);
        assert!(
            matches!(run.state, RunState::Finished | RunState::Unfinished),
            "{}: {:?}",
            run.id,
            run.state
        );
        let cut_off = run.problems.iter().filter(|problem| problem.text.contains("cut off")).count();
        assert_eq!(run.problems.len(), cut_off, "no file is incomplete: {:?}", run.problems);
        assert!(cut_off <= 1);
    }
    let next = example::comparison(root.path(), 1).unwrap();
    assert_eq!(archive.open(next.as_str()).unwrap().state, RunState::Finished);
}
