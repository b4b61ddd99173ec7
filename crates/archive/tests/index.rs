//! The index follows the run directories, after any change to them or to the index.
#![allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use archive::{
    Archive, ArchiveError, INDEX, OpenArchive, Query, RunOrder, RunState, RunWriter, example, layout,
};
use std::{
    fs::{self, File},
    sync::Barrier,
    thread,
    time::{Duration, SystemTime},
};

fn archive_of(runs: u32) -> (tempfile::TempDir, Archive) {
    let root = tempfile::tempdir().unwrap();
    for number in 0..runs {
        example::one_of_many(root.path(), number).unwrap();
    }
    let archive = Archive::new(root.path());
    (root, archive)
}

fn count(archive: &Archive, query: &Query) -> usize {
    archive.list(query).unwrap().len()
}

#[test]
fn an_archive_without_a_folder_is_empty() {
    let archive = Archive::new("/tmp/no-such-archive");
    assert_eq!(count(&archive, &Query::default()), 0);
    assert_eq!(archive.reindex().unwrap(), 0);
    assert!(matches!(archive.find("x"), Err(ArchiveError::NoSuchRun { .. } | ArchiveError::Io { .. })));
}

#[test]
fn a_list_has_the_newest_run_first_with_its_answer() {
    let (root, archive) = archive_of(3);
    example::sweep(root.path()).unwrap();
    let listed = archive.list(&Query::default()).unwrap();
    assert!(listed.windows(2).all(|pair| pair[0].id > pair[1].id));
    assert_eq!(listed[0].kind.as_deref(), Some("sweep"));
    let compared = &listed[3];
    assert_eq!((compared.state, compared.valid, compared.invalid), (RunState::Finished, 20, 0));
    assert_eq!(compared.variants, ["nginx", "apache"]);
    assert_eq!(compared.tags, ["made-up"]);
    assert!(compared.sentence.as_ref().unwrap().starts_with("nginx carries 1.6"), "{compared:?}");
}

#[test]
fn filters_narrow_the_list() {
    let (root, archive) = archive_of(4);
    example::sweep(root.path()).unwrap();
    let ids: Vec<_> = archive.list(&Query::default()).unwrap().into_iter().map(|run| run.id).collect();
    archive.tag(&ids[2], &["baseline".to_owned()], &[]).unwrap();
    let some = |text: &str| Some(text.to_owned());
    let tags = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let all = Query::default();
    for (query, expected) in [
        (Query { text: some("NGINX"), ..all.clone() }, 4),
        (Query { text: some("peaks"), ..all.clone() }, 1),
        (Query { text: some("100%_'"), ..all.clone() }, 0),
        (Query { workload: some("cache"), ..all.clone() }, 1),
        (Query { variant: some("apache"), ..all.clone() }, 4),
        (Query { tags: tags(&["baseline"]), ..all.clone() }, 1),
        (Query { tags: tags(&["made-up", "baseline"]), ..all.clone() }, 1),
        (Query { tags: tags(&["made-up", "other"]), ..all.clone() }, 0),
        (Query { tags: tags(&["made-up"]), limit: Some(2), ..all.clone() }, 2),
        (Query { kind: Some(archive::model::RunKind::Sweep), ..all.clone() }, 1),
        (Query { state: Some(RunState::Unfinished), ..all.clone() }, 0),
        (Query { since: Some(ids[1].started()), ..all.clone() }, 2),
        (Query { before: Some(ids[1].started()), ..all.clone() }, 3),
        (
            Query {
                workload: some("cache"),
                state: Some(RunState::Finished),
                text: some("peaks"),
                ..all.clone()
            },
            1,
        ),
        (Query { workload: some("cache"), tags: tags(&["baseline"]), ..all.clone() }, 0),
        (Query { tags: tags(&["baseline"]), text: some("nginx"), variant: some("nginx"), ..all.clone() }, 1),
    ] {
        assert_eq!(count(&archive, &query), expected, "{query:?}");
    }
}

#[test]
fn a_list_may_begin_with_the_oldest_run() {
    let (root, archive) = archive_of(4);
    example::sweep(root.path()).unwrap();
    let newest = archive.list(&Query::default()).unwrap();
    archive.tag(&newest[3].id, &["baseline".to_owned()], &[]).unwrap();
    let oldest = Query { order: RunOrder::Oldest, limit: Some(3), ..Query::default() };
    let listed = archive.list(&oldest).unwrap();
    let ids: Vec<_> = listed.iter().map(|run| &run.id).collect();
    assert_eq!(ids, [&newest[4].id, &newest[3].id, &newest[2].id]);
    assert_eq!(listed[1].tags, ["made-up", "baseline"], "each has its own");
}

#[test]
fn pages_of_a_list_follow_one_another_in_both_orders() {
    let (_root, archive) = archive_of(5);
    for order in RunOrder::ALL {
        let all = archive.list(&Query { order, ..Query::default() }).unwrap();
        let mut paged = Vec::new();
        loop {
            let after = paged.last().map(|run: &archive::ListedRun| run.id.clone());
            let page = archive.list(&Query { order, after, limit: Some(2), ..Query::default() }).unwrap();
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, all);
    }
    let newest = archive.list(&Query::default()).unwrap()[0].id.clone();
    archive.remove(&newest).unwrap();
    let after = Query { after: Some(newest), ..Query::default() };
    assert_eq!(count(&archive, &after), 4, "the run in front of a page may be gone");
}

#[test]
fn names_and_tags_of_a_long_list_are_those_of_a_short_one() {
    // More than are looked up one by one.
    let (root, archive) = archive_of(3);
    let ids: Vec<_> = archive.list(&Query::default()).unwrap().into_iter().map(|run| run.id).collect();
    for number in 0..510 {
        let dir =
            root.path().join(format!("20260101T{:02}{:02}00Z-a-b-{number:04x}", number / 60, number % 60));
        fs::create_dir(&dir).unwrap();
        fs::copy(archive.dir(&ids[0]).join(layout::PLAN), dir.join(layout::PLAN)).unwrap();
    }
    let long = archive.list(&Query::default()).unwrap();
    assert_eq!(long.len(), 513);
    let short = archive.list(&Query { limit: Some(400), ..Query::default() }).unwrap();
    assert_eq!(long[..400], short);
    let oldest = archive.list(&Query { order: RunOrder::Oldest, ..Query::default() }).unwrap();
    assert!(oldest.iter().eq(long.iter().rev()));
}

#[test]
fn an_open_index_follows_what_happens_to_runs() {
    let (root, archive) = archive_of(2);
    let open = OpenArchive::new(root.path());
    let listed = |query: &Query| open.list(query).unwrap();
    assert_eq!(listed(&Query::default()), archive.list(&Query::default()).unwrap());
    let third = example::one_of_many(root.path(), 2).unwrap();
    assert_eq!(listed(&Query::default()).len(), 3, "a new run is there at once");
    // A long time after the last change of the folder.
    File::open(root.path()).unwrap().set_modified(SystemTime::now() - Duration::from_mins(1)).unwrap();
    assert_eq!(listed(&Query::default()).len(), 3);
    let fourth = example::one_of_many(root.path(), 3).unwrap();
    assert_eq!(listed(&Query::default()).len(), 4);

    archive.tag(&third, &["baseline".to_owned()], &[]).unwrap();
    open.changed(&third);
    let baseline = Query { tags: vec!["baseline".to_owned()], ..Query::default() };
    assert_eq!(listed(&baseline)[0].id, third, "what the server does is there at once");
    archive.tag(&fourth, &["baseline".to_owned()], &[]).unwrap();
    open.look().unwrap();
    assert_eq!(listed(&baseline).len(), 2, "what others do is there after a look");

    fs::remove_file(archive.dir(&fourth).join(layout::VERDICT)).unwrap();
    open.changed(&fourth);
    let unfinished = Query { state: Some(RunState::Unfinished), ..Query::default() };
    assert_eq!(listed(&unfinished).len(), 1);
    let writer = RunWriter::resume(&archive.dir(&fourth)).unwrap();
    let running = Query { state: Some(RunState::Running), ..Query::default() };
    let begun = std::time::Instant::now();
    while listed(&running).is_empty() {
        assert!(begun.elapsed() < Duration::from_mins(2), "a run that goes on is seen");
        thread::sleep(Duration::from_millis(50));
    }
    drop(writer);

    archive.remove(&fourth).unwrap();
    assert_eq!(listed(&Query::default()).len(), 3);
    fs::write(root.path().join(INDEX), b"not a database, but long enough to be read as one file").unwrap();
    open.look().unwrap();
    assert_eq!(listed(&Query::default()).len(), 3, "a damaged index is rebuilt");
    fs::remove_dir_all(root.path()).unwrap();
    assert!(listed(&Query::default()).is_empty());
}

#[test]
fn runs_of_one_question_are_a_series() {
    let (root, archive) = archive_of(3);
    example::sweep(root.path()).unwrap();
    let listed = archive.list(&Query::default()).unwrap();
    let key = listed[1].series.clone().unwrap();
    assert_ne!(listed[0].series.as_ref(), Some(&key), "a sweep asks something else");
    let series = Query { series: Some(key), ..Query::default() };
    assert_eq!(archive.list(&series).unwrap(), listed[1..]);
}

#[test]
fn new_changed_and_removed_directories_are_seen_without_a_reindex() {
    let (root, archive) = archive_of(2);
    assert_eq!(count(&archive, &Query::default()), 2);
    let third = example::one_of_many(root.path(), 2).unwrap();
    assert_eq!(count(&archive, &Query::default()), 3);

    fs::remove_file(archive.dir(&third).join(layout::VERDICT)).unwrap();
    let unfinished = Query { state: Some(RunState::Unfinished), ..Query::default() };
    assert_eq!(archive.list(&unfinished).unwrap()[0].id, third);

    let writer = RunWriter::resume(&archive.dir(&third)).unwrap();
    let running = Query { state: Some(RunState::Running), ..Query::default() };
    assert_eq!(archive.list(&running).unwrap()[0].id, third);
    assert!(matches!(archive.remove(&third), Err(ArchiveError::Running { .. })));
    drop(writer);
    assert_eq!((count(&archive, &running), count(&archive, &unfinished)), (0, 1));

    fs::write(archive.dir(&third).join(".touched"), "").unwrap();
    fs::write(archive.dir(&third).join(layout::PLAN), "format = ").unwrap();
    fs::remove_file(archive.dir(&third).join(".touched")).unwrap();
    let damaged = Query { state: Some(RunState::Damaged), ..Query::default() };
    assert_eq!(archive.list(&damaged).unwrap()[0].problems, 1);

    fs::remove_dir_all(archive.dir(&third)).unwrap();
    assert_eq!(count(&archive, &Query::default()), 2);
}

#[test]
fn a_damaged_or_missing_index_is_rebuilt() {
    let (root, archive) = archive_of(3);
    let path = root.path().join(INDEX);
    let before = archive.list(&Query::default()).unwrap();
    fs::write(&path, b"not a database, but long enough to be read as one file").unwrap();
    assert_eq!(archive.list(&Query::default()).unwrap(), before);
    fs::remove_file(&path).unwrap();
    assert_eq!(archive.list(&Query::default()).unwrap(), before);
    assert_eq!(archive.reindex().unwrap(), 3);
    assert_eq!(archive.list(&Query::default()).unwrap(), before);
    // An intact header with damaged pages.
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[200..] {
        *byte = 0x5a;
    }
    fs::write(&path, bytes).unwrap();
    assert_eq!(archive.list(&Query::default()).unwrap(), before);
}

#[test]
fn a_unique_part_of_an_id_finds_its_run() {
    let (_root, archive) = archive_of(3);
    let newest = archive.list(&Query::default()).unwrap()[0].id.clone();
    assert_eq!(archive.find("latest").unwrap(), newest);
    assert_eq!(archive.find(&newest.as_str()[newest.as_str().len() - 15..]).unwrap(), newest);
    assert!(
        matches!(archive.find("nginx"), Err(ArchiveError::Ambiguous { candidates, .. }) if candidates.len() == 3)
    );
    assert!(matches!(archive.find(""), Err(ArchiveError::NoSuchRun { .. })));
    assert!(matches!(archive.find("postgres"), Err(ArchiveError::NoSuchRun { .. })));
    let by_path = archive.open(archive.dir(&newest).to_str().unwrap()).unwrap();
    assert_eq!(by_path.id, newest);
}

#[test]
fn concurrent_readers_and_writers_do_not_conflict() {
    let (root, archive) = archive_of(8);
    thread::scope(|scope| {
        for worker in 0..4 {
            let archive = archive.clone();
            let root = root.path();
            scope.spawn(move || {
                for round in 0..8 {
                    match (worker + round) % 4 {
                        0 => {
                            archive.reindex().unwrap();
                        }
                        1 => {
                            example::one_of_many(root, 100 + worker * 10 + round).unwrap();
                        }
                        _ => assert!(count(&archive, &Query::default()) >= 8),
                    }
                }
            });
        }
    });
    assert_eq!(count(&archive, &Query::default()), 16);
    assert_eq!(archive.reindex().unwrap(), 16);
}

/// `SQLite` refuses at once, without its timeout, while another connection makes or removes the log.
#[test]
fn an_index_that_others_create_and_close_is_waited_for() {
    let (root, archive) = archive_of(1);
    for _ in 0..40 {
        let start = Barrier::new(6);
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    start.wait();
                    assert_eq!(count(&archive, &Query::default()), 1);
                });
            }
        });
        fs::remove_file(root.path().join(INDEX)).unwrap();
    }
}

#[test]
fn a_removed_run_is_gone_and_a_reindex_deletes_leftovers_of_crashes() {
    let (root, archive) = archive_of(2);
    let id = archive.find("latest").unwrap();
    archive.remove(&id).unwrap();
    assert_eq!(count(&archive, &Query::default()), 1);

    let (old, new) = (root.path().join(".removing-old"), root.path().join(".importing-new"));
    fs::create_dir_all(old.join("trials")).unwrap();
    fs::create_dir(&new).unwrap();
    let long_ago = SystemTime::now() - Duration::from_hours(2);
    File::open(&old).unwrap().set_modified(long_ago).unwrap();
    archive.reindex().unwrap();
    assert!(!old.exists() && new.exists(), "only old folders are leftovers");
}

#[test]
fn a_reindex_deletes_no_hidden_folder_of_anybody_else() {
    let (root, archive) = archive_of(1);
    let git = root.path().join(".git");
    fs::create_dir_all(git.join("objects")).unwrap();
    File::open(&git).unwrap().set_modified(SystemTime::now() - Duration::from_hours(2)).unwrap();
    archive.reindex().unwrap();
    assert!(git.join("objects").is_dir());
}

#[test]
fn tags_are_kept_in_the_run_directory() {
    let (root, archive) = archive_of(1);
    let id = archive.find("latest").unwrap();
    let tags = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let now = archive.tag(&id, &tags(&["baseline", "weekly", "weekly"]), &tags(&["made-up"])).unwrap();
    assert_eq!(now, ["baseline", "weekly"]);
    assert_eq!(archive.list(&Query::default()).unwrap()[0].tags, now);
    fs::remove_file(root.path().join(INDEX)).unwrap();
    assert_eq!(archive.list(&Query::default()).unwrap()[0].tags, now);
}
