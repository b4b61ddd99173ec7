//! Another session of a run, from end to end: a run directory of its own that names the first run, and one answer of both.

use std::fs;

use serde_json::Value;

use crate::home::{FEW_KEYS, TestHome, error_line, json, only_run, text};

/// What `show` says of the sessions of a run.
fn sessions(home: &TestHome, run: &str) -> Value {
    let output = home.run(&["show", run, "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    answer["sessions"].clone()
}

#[test]
fn a_confirmation_names_the_run_and_both_have_one_answer() {
    let home = TestHome::with_few_keys();
    let output = home.run(&[
        "run",
        &home.small_plan(&["memcached:threads=1", "memcached:threads=2", "--workload", FEW_KEYS]),
    ]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    let first = only_run(&home);
    let id = first.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(sessions(&home, &id).is_null(), "a run alone has no sessions");
    let before = fs::read(first.join("verdict.json")).expect("a verdict");

    let output = home.run(&["confirm", &id]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let runs = fs::read_dir(home.path("runs")).expect("runs").flatten().map(|entry| entry.path());
    let mut others = runs.filter(|path| path.join("plan.toml").is_file() && *path != first);
    let second = others.next().expect("a run of its own");
    assert!(others.next().is_none());
    let plan = fs::read_to_string(second.join("plan.toml")).expect("a plan");
    assert!(plan.contains(&format!("confirms = \"{id}\"")) && !plan.contains("seed = 7\n"), "{plan}");
    assert_eq!(
        fs::read(first.join("verdict.json")).expect("a verdict"),
        before,
        "the first run stays as it is"
    );
    assert!(json(&second.join("verdict.json"))["caveats"].to_string().contains("few-cpus"));

    let of_first = sessions(&home, &id);
    assert_eq!(of_first, sessions(&home, &second.file_name().expect("a name").to_string_lossy()));
    assert_eq!(of_first["first"], Value::from(id.as_str()));
    // On a busy machine, a run may have no ratio; then it is left out with the reason.
    let count = |key: &str| of_first[key].as_array().map_or(0, Vec::len);
    assert_eq!(count("runs") + count("left_out"), 2, "{of_first}");
    if count("runs") == 2 {
        let shown = text(&home.run(&["show", &id]).stdout);
        assert!(
            shown.contains(" over 2 sessions (") && shown.contains("is not known: that takes 3"),
            "{shown}"
        );
    }
}

#[test]
fn what_has_no_ratio_is_not_confirmed() {
    let home = TestHome::new();
    let plan = home.run(&["plan", "explain", "memcached", "--quick"]);
    assert!(plan.status.success(), "{}", text(&plan.stderr));
    let run = home.path("runs/20261121T005139Z-memcached-7f3a");
    fs::create_dir_all(run.join("trials")).expect("a directory");
    fs::write(run.join("plan.toml"), &plan.stdout).expect("a plan");
    let output = home.run(&["confirm", "latest"]);
    let message = error_line(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("is a run of `showdown explain`, which has no ratio to confirm"), "{message}");
}
