//! Runs of one plan in an archive: made-up comparisons, of which some say that they confirm the first one.

use super::*;
use crate::{example, files, run::Run};
use std::path::PathBuf;

/// Runs that confirm the first one, with ratios of this much of its own; also returns their directories.
fn archive_with(factors: &[f64]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let root = tempfile::tempdir().unwrap();
    let mut dirs = Vec::new();
    for factor in [&[1.0], factors].concat() {
        let id = example::comparison(root.path(), 8).unwrap();
        let dir = root.path().join(id.as_str());
        let mut run = Run::open(&dir).unwrap();
        let (mut plan, verdict) = (run.plan.take().unwrap(), run.verdict.as_mut().unwrap());
        if let Some(first) = dirs.first() {
            let first: &PathBuf = first;
            plan.confirms = Some(first.file_name().unwrap().to_string_lossy().into_owned());
            plan.seed += 1;
            files::write(&dir, dir.join(layout::PLAN), toml::to_string(&plan).unwrap().as_bytes()).unwrap();
        }
        let estimate = verdict.comparisons[0].estimate.as_mut().unwrap();
        for value in [&mut estimate.ratio, &mut estimate.low, &mut estimate.high] {
            *value *= factor;
        }
        files::write_json(&dir, dir.join(layout::VERDICT), verdict).unwrap();
        dirs.push(dir);
    }
    (root, dirs)
}

#[test]
fn a_run_that_nobody_confirms_has_no_sessions() {
    let (_root, dirs) = archive_with(&[]);
    assert_eq!(sessions(&dirs[0]), None);
}

#[test]
fn every_run_of_a_plan_has_the_same_answer() {
    let (_root, dirs) = archive_with(&[1.2, 0.9]);
    let all: Vec<Sessions> = dirs.iter().map(|dir| sessions(dir).unwrap()).collect();
    assert!(all.iter().all(|answer| answer == &all[0]));
    let [pair] = all[0].pairs.as_slice() else { panic!("{:?}", all[0]) };
    assert_eq!((pair.sessions.len(), all[0].runs.len(), all[0].left_out.len()), (3, 3, 0));
    assert!(pair.between.is_some_and(|between| between > 0.1), "{pair:?}");
    assert!(pair.low < pair.sessions[2].ratio && pair.sessions[1].ratio < pair.high, "{pair:?}");
    assert!(pair.sentence.contains(" over 3 sessions (95 % CI "), "{}", pair.sentence);
}

#[test]
fn an_index_finds_the_same_sessions() {
    let (root, dirs) = archive_with(&[1.2, 0.9]);
    let archive = crate::OpenArchive::new(root.path());
    for dir in dirs {
        let id = dir.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let opened = archive.open(&id).unwrap();
        assert!(opened.sessions.is_some());
        assert_eq!(opened.sessions, sessions(&dir));
    }
    let (alone, dirs) = archive_with(&[]);
    let id = dirs[0].file_name().unwrap().to_str().unwrap().parse().unwrap();
    assert_eq!(crate::OpenArchive::new(alone.path()).open(&id).unwrap().sessions, None);
}

#[test]
fn two_sessions_say_what_is_not_known() {
    let (_root, dirs) = archive_with(&[1.1]);
    let answer = sessions(&dirs[1]).unwrap();
    let sentence = &answer.pairs[0].sentence;
    assert!(sentence.ends_with("from session to session is not known: that takes 3"), "{sentence}");
    assert_eq!(answer.pairs[0].between, None);
}

#[test]
fn a_session_in_which_the_other_variant_was_ahead_is_turned() {
    let (_root, dirs) = archive_with(&[1.0]);
    let mut run = Run::open(&dirs[1]).unwrap();
    let verdict = run.verdict.as_mut().unwrap();
    let comparison = &mut verdict.comparisons[0];
    std::mem::swap(&mut comparison.a, &mut comparison.b);
    let estimate = comparison.estimate.as_mut().unwrap();
    let (low, high) = (estimate.low, estimate.high);
    (estimate.ratio, estimate.low, estimate.high) = (1.0 / estimate.ratio, 1.0 / high, 1.0 / low);
    files::write_json(&dirs[1], dirs[1].join(layout::VERDICT), verdict).unwrap();
    let pair = sessions(&dirs[0]).unwrap().pairs.remove(0);
    assert!((pair.sessions[0].ratio - pair.sessions[1].ratio).abs() < 1e-9, "{pair:?}");
}

#[test]
fn a_run_of_another_plan_or_of_other_servers_or_without_a_verdict_is_left_out() {
    let (_root, dirs) = archive_with(&[1.0, 1.0, 1.0]);
    let mut plan = Run::open(&dirs[1]).unwrap().plan.unwrap();
    plan.load.connections += 1;
    files::write(&dirs[1], dirs[1].join(layout::PLAN), toml::to_string(&plan).unwrap().as_bytes()).unwrap();
    let mut facts = Run::open(&dirs[2]).unwrap().facts.unwrap();
    facts.variants[0].version = "99".to_owned();
    files::write_json(&dirs[2], dirs[2].join(layout::FACTS), &facts).unwrap();
    fs::remove_file(dirs[3].join(layout::VERDICT)).unwrap();
    let answer = sessions(&dirs[0]).unwrap();
    let why = |dir: &PathBuf| {
        let name = dir.file_name().unwrap().to_string_lossy();
        answer.left_out.iter().find(|run| run.run == name).map(|run| run.why.clone()).unwrap_or_default()
    };
    assert_eq!(answer.runs.len(), 1, "{answer:?}");
    assert_eq!(why(&dirs[1]), "its plan is another one");
    assert!(why(&dirs[2]).starts_with("its servers are other ones: "), "{}", why(&dirs[2]));
    assert_eq!(why(&dirs[3]), "it has no verdict");
}

#[test]
fn a_confirmation_whose_first_run_is_gone_says_so() {
    let (_root, dirs) = archive_with(&[1.0]);
    fs::remove_dir_all(&dirs[0]).unwrap();
    let answer = sessions(&dirs[1]).unwrap();
    assert_eq!((answer.runs.len(), answer.left_out[0].why.as_str()), (1, "it is not in this archive"));
}

/// An interruption and other programs change the plan of one session, and not what it asks.
#[test]
fn a_session_that_was_resumed_or_went_on_for_longer_is_one_of_its_plan() {
    use crate::model::LookSpending::{Early, Prolonged};
    let (_root, dirs) = archive_with(&[1.1, 0.9]);
    let changed = |dir: &PathBuf, change: &dyn Fn(Plan) -> Plan| {
        let plan = change(read_plan(dir).unwrap());
        files::write(dir, dir.join(layout::PLAN), toml::to_string(&plan).unwrap().as_bytes()).unwrap();
    };
    for dir in &dirs {
        changed(dir, &|plan| Plan { blocks: 14, looks: vec![7], spending: Early, ..plan });
    }
    changed(&dirs[0], &|plan| Plan { interrupted_looks: vec![4], ..plan });
    changed(&dirs[1], &|plan| Plan { blocks: 28, looks: vec![7, 14, 21], spending: Prolonged, ..plan });
    let answer = sessions(&dirs[2]).unwrap();
    assert_eq!((answer.runs.len(), answer.left_out.len()), (3, 0), "{:?}", answer.left_out);
}
