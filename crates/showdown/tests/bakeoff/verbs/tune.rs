//! A short search for tunings from end to end. How much anything gains is left to the machine: the test asserts what is recorded.

use std::fs;

use serde_json::Value;

use crate::home::{TestHome, text};

fn tuning(home: &TestHome, name: &str, set: &str) {
    let text = format!(
        "title = \"{name}\"\nabout = \"x\"\nservers = [\"nginx\"]\nscope = \"server\"\nundo = \"restart\"\nsource = \"me\"\n\
         [[level]]\nset = {{ {set} }}\ntake_home = [\"{name}\"]\n"
    );
    fs::create_dir_all(home.path("tunings")).expect("a directory");
    fs::write(home.path(&format!("tunings/{name}.toml")), text).expect("a tuning");
}

#[test]
fn a_search_records_what_it_tried_and_leaves_nothing_behind() {
    let home = TestHome::new();
    // The baseline logs each request and flushes it; one tuning undoes that, the other one changes nothing.
    tuning(&home, "planted", "access_log = false");
    tuning(&home, "placebo", "keepalive_timeout = 61");
    tuning(&home, "so-already", "worker_connections = 10000");
    let only = ["planted", "placebo", "so-already", "boot-mitigations"].map(|id| format!("--only={id}"));
    let args = [
        "tune",
        "nginx:access_log=on",
        "--on-op",
        "get-1k",
        "--quick",
        "--connections",
        "4",
        "--for",
        "2h",
        "--format",
        "json",
        "--progress",
        "json",
        "--tag",
        "mine",
        &only[0],
        &only[1],
        &only[2],
        &only[3],
    ];
    let output = home.run(&args);
    let (answer, events) = (text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let runs: Vec<_> =
        fs::read_dir(home.path("runs")).expect("runs").flatten().map(|entry| entry.path()).collect();
    assert!(
        runs.iter()
            .all(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".tuning-"))),
        "{runs:?}"
    );
    if output.status.code() == Some(3) {
        // A machine so busy that no trial of the baseline is valid.
        assert!(events.contains("the baseline cannot be measured: "), "{events}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{events}");
    let record: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(record["baseline"], "nginx:access_log=on");
    assert!(record["ended"].is_null(), "{record}");
    let ids = |list: &str| -> Vec<String> {
        let mut ids: Vec<String> = record[list]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one["tuning"].as_str().expect("a name").to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("tried"), ["placebo", "planted"], "{record}");
    assert_eq!(ids("not_tried"), ["boot-mitigations", "so-already"], "{record}");
    for tried in record["tried"].as_array().expect("a list") {
        assert!(
            !tried["why"].as_str().expect("text").is_empty()
                && !tried["step"].as_str().expect("text").is_empty()
        );
    }
    let names: Vec<_> = record["steps"].as_array().expect("steps").iter().map(|step| &step["name"]).collect();
    let equal_servers = names.iter().take_while(|name| **name == "equal servers").count();
    // Where equal servers seem to differ, they are compared once more.
    assert!((1..=2).contains(&equal_servers), "{names:?}");
    assert_eq!(names[equal_servers], "screening");
    assert!(events.contains("equal servers: how much does this host"), "it says what it does: {events}");

    let run = runs.iter().find(|path| path.join("tuning.json").is_file()).expect("a run with tuning.json");
    let verdict: Value =
        serde_json::from_slice(&fs::read(run.join("verdict.json")).expect("a verdict")).expect("JSON");
    assert_eq!(verdict["variants"].as_array().expect("variants").len(), 2);
    assert_eq!(verdict["variants"][0]["name"], "nginx:access_log=on");
    // A client that is the limit makes it CPU time an operation. A capacity has to be asked for.
    let plan = fs::read_to_string(run.join("plan.toml")).expect("a plan");
    assert!(plan.contains("metric = \"") && !plan.contains("metric = \"capacity\""), "{plan}");
    let is_confirmed =
        record["steps"].as_array().expect("steps").iter().any(|step| step["name"] == "confirmation");
    assert_eq!(record["headline"].is_null(), record["tuned"].is_null());
    assert!(is_confirmed || record["headline"].is_null(), "{record}");
    for step in record["steps"].as_array().expect("steps") {
        let folder = step["run"].as_str().expect("a folder");
        assert!(folder.is_empty() || run.join("search").join(folder).join("plan.toml").is_file(), "{folder}");
    }
    let shown = home.run(&["report", run.to_str().expect("a path"), "--format", "md"]);
    let sentence = record["sentence"].as_str().expect("a sentence");
    for tried in record["tried"].as_array().expect("a list") {
        let Some(gain) = tried["screened"].as_f64() else { continue };
        let screened = format!("| {gain:.3} × in {} block", tried["blocks"]);
        assert!(text(&shown.stdout).contains(&screened), "{screened}: {}", text(&shown.stdout));
    }
    assert!(text(&shown.stdout).contains("### Tried"), "{} {}", text(&shown.stdout), text(&shown.stderr));
    let listed = text(&home.run(&["list", "--tag", "mine"]).stdout);
    assert!(listed.contains(sentence.split(" (").next().unwrap_or(sentence)), "{listed} {sentence}");
}

#[test]
fn two_servers_are_tuned_and_the_best_of_both_are_compared() {
    let home = TestHome::new();
    // No tuning is tried: the test is about the comparison.
    let args = "tune nginx:access_log=on lighttpd --only boot-mitigations --on-op get-1k --measure throughput --quick -c 4 --for 30m --format json";
    let output = home.run(&args.split(' ').collect::<Vec<_>>());
    home.assert_nothing_runs();
    let errors = text(&output.stderr);
    if output.status.code() == Some(3) && errors.contains("the baseline cannot be measured: ") {
        return;
    }
    assert!(matches!(output.status.code(), Some(0 | 3)), "{errors}");
    let documents: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [first, second, verdict] = &documents[..] else { panic!("{documents:?}") };
    assert_eq!(
        (&first["baseline"], &second["baseline"]),
        (&"nginx:access_log=on".into(), &"lighttpd".into())
    );
    let mut names: Vec<_> =
        verdict["variants"].as_array().expect("variants").iter().map(|variant| &variant["name"]).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["lighttpd", "nginx:access_log=on"], "nothing was kept");
}

#[test]
fn a_mistake_is_refused_before_anything_is_tried() {
    let home = TestHome::new();
    for (args, error) in [
        (&["tune", "ngnix"][..], "no workload has a server \"ngnix\""),
        (&["tune", "nginx", "--only", "none"], "there is no tuning \"none\": see `showdown tunings`"),
        (&["tune", "apache", "--only", "nginx-keepalive-requests"], "cannot be tried: it is for nginx"),
        (&["tune", "nginx", "nginx"], "nginx is given twice"),
        (&["tune", "nginx", "ngnix"], "no workload has a server \"ngnix\""),
        (&["tune", "nginx@old"], "tune works on this machine only"),
        (&["tune", "nginx", "--allow", "everything"], "invalid value 'everything'"),
        (&["tune", "nginx", "--on-op", "none"], "workload static-web has no operation \"none\""),
        (&["tune", "nginx", "--rules", "none.toml"], "cannot read none.toml"),
    ] {
        let output = home.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(error), "{args:?}: {}", text(&output.stderr));
    }
    assert!(!home.path("runs").exists(), "nothing was measured");
}
