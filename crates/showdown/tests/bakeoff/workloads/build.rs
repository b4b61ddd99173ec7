//! Short comparisons of builds: the smallest part of a real source tree.

use std::fs;

use crate::home::{QUICK, TestHome, json, only_run, text, trials};

/// A plan of three blocks with one measured build in each trial.
fn plan(home: &TestHome, variants: &[&str]) -> String {
    home.plan(&[&["compare"], variants, &["--blocks", "3", "--seed", "7"]].concat(), QUICK)
}

#[test]
fn builds_are_timed_one_by_one() {
    let home = TestHome::new();
    let elsewhere = home.path("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    let variant =
        |jobs: u32| format!("googletest:parts=main,optimise=0,jobs={jobs},directory={}", elsewhere.display());
    let plan = plan(&home, &[&variant(1), &variant(2)]);
    assert!(fs::read_to_string(&plan).expect("a plan").contains("one_by_one"));
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);

    for trial in trials(&only_run(&home)) {
        let record = json(&trial.join("trial.json"));
        let phases = record["phases"].as_array().expect("phases");
        assert_eq!(phases.len(), 2, "one build to warm the caches, and one that is measured");
        assert_eq!((&phases[1]["requests"], &phases[1]["kind"]), (&1.into(), &"measure".into()));
        let took_s = phases[1]["response_time_us"]["p50"].as_f64().expect("a time") / 1e6;
        let value = record["measured"]["value"].as_f64().expect("a value");
        assert!((value * took_s / 3600.0 - 1.0).abs() < 1e-3, "{value} builds an hour of {took_s} s");
        assert_eq!(record["measured"]["unit"], "/h");
    }
}

#[test]
fn a_missing_part_or_a_failing_build_is_reported() {
    let home = TestHome::new();
    let empty = home.path("empty");
    fs::create_dir(&empty).expect("a directory");
    let strange = home.path("strange/googletest/src");
    fs::create_dir_all(&strange).expect("a directory");
    fs::write(strange.join("$(touch executed).cc"), "").expect("a file");
    for (knob, why) in [
        ("compiler=g++-0", "there is no program g++-0"),
        (&format!("source={}", empty.display()), "make ended with 2"),
        (&format!("source={}", home.path("strange").display()), "has characters that a shell evaluates"),
    ] {
        let variant = format!("googletest:{knob}");
        let runs = knob.replace('/', "_");
        let output = home.run(&["run", &plan(&home, &[&variant, &variant]), "--runs", &runs]);
        let message = text(&output.stderr) + &text(&output.stdout);
        assert!(matches!(output.status.code(), Some(1 | 3)), "{message}");
        let run = fs::read_dir(home.path(&runs)).expect("runs").flatten().map(|run| run.path());
        let run = run.filter(|run| run.join("plan.toml").is_file()).last().expect("a run");
        let record = json(&trials(&run)[0].join("trial.json"));
        assert!(record["reasons"].to_string().contains(why), "{knob}: {record}");
    }
}
