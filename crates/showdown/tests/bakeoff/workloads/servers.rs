//! Short comparisons of real servers: the files of a run, runs that are killed or interrupted, and error messages.
//!
//! A busy machine can make trials invalid, so no test asserts a verdict. The verdict has its own tests in `bakeoff` and
//! `stats`.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::home::{FEW_KEYS, SHORT, TestHome, json, only_run, signal, text, trials};

#[test]
fn the_run_of_a_comparison_can_be_listed_shown_reported_and_moved() {
    let home = TestHome::new();
    let plan = home.small_plan(&["nginx", "apache", "--on-op", "get-1k"]);
    let output = home.run(&["run", &plan]);
    // The machine decides whether the trials are valid; any other exit code is a failure.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();

    let run = only_run(&home);
    let verdict = json(&run.join("verdict.json"));
    assert_eq!(verdict["complete"], true);
    let sentence = verdict["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("nginx") && sentence.contains("apache"), "{sentence}");
    let trials = trials(&run);
    assert_eq!(trials.len(), 6);
    for trial in &trials {
        let record = json(&trial.join("trial.json"));
        assert!(record["measured"]["value"].as_f64().is_some_and(|value| value > 0.0), "{record}");
        let counts = &record["counts"][0];
        let [client, server, unanswered] =
            ["client", "server", "unanswered"].map(|side| counts[side].as_u64().unwrap_or(0));
        // What had no answer at the end of the load, a busy server may not have read.
        let expected = server.clamp(client - unanswered, client);
        assert!(client > 0 && expected.abs_diff(server) * 200 <= client, "{record}");
        for file in ["load.hlog", "telemetry.parquet", "server.log"] {
            assert!(trial.join(file).is_file(), "{file} of {}", trial.display());
        }
    }
    let facts = json(&run.join("facts.json"));
    assert!(facts["variants"][0]["version"].as_str().is_some_and(|v| v.contains("nginx")), "{facts}");
    assert_eq!(facts["variants"][1]["allocator"], "glibc malloc");
    assert!(fs::read_to_string(run.join("report.html")).expect("a report").contains(sentence));

    let id = run.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(text(&home.run(&["list"]).stdout).contains(&id));
    assert!(text(&home.run(&["show", &id]).stdout).contains("showdown run"));
    assert!(text(&home.run(&["report", "--format", "md"]).stdout).contains("nginx"));
    assert_eq!(text(&home.run(&["report", "--format", "csv"]).stdout).lines().count(), 7);
    assert!(home.run(&["export", &id, "-o", "run.tar.gz"]).status.success());
    assert!(home.run(&["rm", &id]).status.success());
    assert!(!run.exists());
    assert!(home.run(&["import", "run.tar.gz"]).status.success());
    assert_eq!(json(&run.join("verdict.json"))["sentence"], sentence);
    assert!(text(&home.run(&["archive", "reindex"]).stdout).contains("1 run indexed"));
}

#[test]
fn servers_with_and_without_a_count_are_compared() {
    let home = TestHome::new();
    let plan = home.small_plan(&["lighttpd", "caddy:metrics=on", "h2o", "--on-op", "get-1k"]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let run = only_run(&home);
    let records: Vec<Value> = trials(&run).iter().map(|trial| json(&trial.join("trial.json"))).collect();
    assert_eq!(records.len(), 9);
    for record in records {
        assert!(record["measured"]["value"].as_f64().is_some_and(|value| value > 0.0), "{record}");
        let is_counted = record["variant"].as_str().is_some_and(|name| name.starts_with("caddy"));
        assert_eq!(record["counts"].as_array().map_or(0, Vec::len), usize::from(is_counted), "{record}");
        assert_eq!(record["counts"][0]["client"], record["counts"][0]["server"], "{record}");
    }
    let facts = json(&run.join("facts.json"));
    for (variant, version) in [(0, "lighttpd/1."), (1, "2."), (2, "2.")] {
        let found = facts["variants"][variant]["version"].as_str().expect("a version");
        assert!(found.starts_with(version), "{found}");
    }
}

#[test]
fn no_process_is_left_after_a_kill_at_any_moment() {
    let home = TestHome::new();
    let plan = home.small_plan(&["nginx", "nginx", "--on-op", "get-1k"]);
    for moment in 0..10 {
        let mut child = home
            .showdown(&["run", &plan, "--progress", "none"])
            .stdout(Stdio::null())
            .spawn()
            .expect("showdown");
        thread::sleep(Duration::from_millis(50 + 331 * moment));
        signal(&child, Signal::KILL);
        child.wait().expect("it was killed");
        home.assert_nothing_runs();
    }
    // Every run directory can be read, and the next command works.
    let listed = home.run(&["list", "--format", "json"]);
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let states: Vec<&str> =
        listed.as_array().expect("a list").iter().filter_map(|run| run["state"].as_str()).collect();
    assert!(!states.is_empty() && states.iter().all(|state| *state == "unfinished"), "{states:?}");
    assert!(home.run(&["show", "latest"]).status.success());
    assert!(home.run(&["report", "latest"]).status.success());
    // The next start removes what killed ones left in the temporary directory.
    home.run(&["selftest", "--only", "counts"]);
    assert_eq!(home.scratch(), Vec::<PathBuf>::new());
}

#[test]
fn a_selftest_says_who_measures() {
    let home = TestHome::new();
    let lock = fs::File::create(home.path("lock")).expect("the lock file");
    lock.lock().expect("this test has the lock");
    let who = format!("(pid {}): ", std::process::id());
    let output = home.run(&["selftest", "--only", "counts", "--format", "json"]);
    let noted = text(&output.stderr);
    assert!(noted.contains("note: another showdown is measuring") && noted.contains(&who), "{noted}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["other_measurement"].as_str().is_some_and(|other| other.starts_with(&who)), "{report}");
    lock.unlock().expect("the test gives it back");
    let output = home.run(&["selftest", "--only", "counts", "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(output.stderr.is_empty() && report.get("other_measurement").is_none(), "{output:?}");
}

#[test]
fn an_interrupted_run_keeps_its_trials() {
    let home = TestHome::new();
    let plan = home.small_plan(&["nginx", "nginx:sendfile=off", "--on-op", "get-1k"]);
    let child = home
        .showdown(&["run", &plan])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("showdown");
    let begun = || {
        fs::read_dir(home.path("runs")).is_ok_and(|mut runs| {
            runs.any(|run| {
                run.is_ok_and(|run| {
                    run.path().join("trials/001-nginx/trial.json").is_file()
                        || run.path().join("trials/001-nginx-sendfile-off/trial.json").is_file()
                })
            })
        })
    };
    let deadline = Instant::now() + Duration::from_mins(1);
    while !begun() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    signal(&child, Signal::INT);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{} {}", text(&output.stdout), text(&output.stderr));
    let verdict = json(&only_run(&home).join("verdict.json"));
    assert_eq!(verdict["complete"], false);
    home.assert_nothing_runs();
}

#[test]
fn a_sweep_visits_every_point_of_its_axes() {
    let home = TestHome::with_few_keys();
    let axes = ["--vary", "threads=1,2", "--vary", "connections=1..4"];
    let sweep = [&["sweep", "memcached", "--workload", FEW_KEYS][..], &axes, &["--blocks", "1"]].concat();
    let output = home.run(&["run", &home.plan(&sweep, SHORT)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let verdict = json(&only_run(&home).join("verdict.json"));
    assert_eq!(verdict["variants"].as_array().map(Vec::len), Some(6), "two threads, three connections");
}

#[test]
fn a_mistake_is_reported_in_one_line_with_its_remedy() {
    let home = TestHome::new();
    let refused = |args: &[&str]| {
        let output = home.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    assert!(refused(&["compare", "nginx"]).contains("needs two variants"));
    assert!(refused(&["compare", "ngnix", "apache"]).contains("did you mean \"nginx\"?"));
    assert!(refused(&["compare", "nginx:sendfiel=on", "apache"]).contains("did you mean \"sendfile\"?"));
    assert!(refused(&["compare", "nginx", "redis"]).contains("compare servers of one workload"));
    assert!(refused(&["compare", "nginx", "apache", "--on-op", "get-2k"]).contains("get-1k"));
    assert!(refused(&["compare", "nginx", "apache", "--slo", "p99"]).contains("p99<5ms"));
    assert!(refused(&["compare", "nginx", "apache", "--blocks", "2"]).contains("3 or more"));
    assert!(refused(&["sweep", "nginx", "--vary", "worker_processes=2..1"]).contains("write NAME=VALUE"));
    fs::write(home.path("plan.toml"), "format = 2\nblockz = 3\n").expect("a plan");
    assert!(
        refused(&["run", "plan.toml"])
            .contains("plan.toml:2: unknown key \"blockz\" (did you mean \"blocks\"?")
    );
    assert!(!home.path("runs").exists(), "no run was started");
}

#[test]
fn a_second_run_on_the_same_machine_is_refused() {
    let home = TestHome::new();
    let plan = home.small_plan(&["nginx", "nginx", "--on-op", "get-1k"]);
    let mut first =
        home.showdown(&["run", &plan]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("showdown");
    let deadline = Instant::now() + Duration::from_secs(30);
    while !home.path("runs").exists() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    let second = home.run(&["run", &plan]);
    assert_eq!(second.status.code(), Some(1));
    assert!(
        text(&second.stderr)
            .contains(&format!("another showdown is measuring on this machine (pid {})", first.id()))
    );
    signal(&first, Signal::INT);
    first.wait().expect("it ends");
    home.assert_nothing_runs();
}

#[test]
fn a_new_workload_is_created_and_never_overwritten() {
    let home = TestHome::new();
    let made = home.run(&["workloads", "new", "my-api"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&home.run(&["workloads"]).stdout).contains("my-api"));
    let again = home.run(&["workloads", "new", "my-api"]);
    assert_eq!(again.status.code(), Some(2), "nothing is overwritten");
}

#[test]
fn the_command_for_a_new_workload_elsewhere_finds_it() {
    let home = TestHome::new();
    let made = text(&home.run(&["workloads", "new", "my-api", "--dir", "my work"]).stdout);
    let printed = made.lines().map(str::trim).find(|line| line.starts_with("showdown compare")).expect(&made);
    assert!(printed.contains(" -w 'my work/my-api/workload.toml'"), "{made}");
    let words = shell_words::split(printed).expect("a command");
    let plan: Vec<&str> = ["plan"].into_iter().chain(words.iter().skip(1).map(String::as_str)).collect();
    let planned = home.run(&plan);
    assert!(planned.status.success(), "{}", text(&planned.stderr));
}

#[test]
fn the_doctor_prints_its_findings() {
    let home = TestHome::new();
    let output = home.run(&["doctor", "--format", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let findings: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(findings.as_array().is_some_and(|findings| findings.len() > 5), "{findings}");
}

#[test]
fn the_doctor_says_how_precise_a_comparison_is_now_and_leaves_nothing_behind() {
    let home = TestHome::new();
    let output =
        home.run(&["doctor", "--precision", "--blocks", "3", "--format", "json", "--progress", "json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let findings: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = findings.as_array().expect("a list");
    let last = findings.last().expect("the precision");
    assert_eq!(last["id"], "precision");
    let measures = last["precision"]["measures"].as_array().expect("a list");
    let names: Vec<&str> = measures.iter().filter_map(|measure| measure["measure"].as_str()).collect();
    assert_eq!(names, ["throughput", "cpu_time"]);
    // On a busy machine a measure may have no valid trial: then it says why.
    for measure in measures {
        let has_reasons = measure["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty());
        assert!(measure["of_quick_comparison"].is_number() || has_reasons, "{measure}");
        assert_eq!(
            measure["of_quick_comparison"].is_number(),
            measure["equal_servers"].is_object(),
            "{measure}"
        );
    }
    assert!(text(&output.stderr).contains(r#""event":"trial_ends""#), "the progress");
    assert!(!home.path("runs").exists(), "no run is kept");
    assert_eq!(home.scratch(), Vec::<PathBuf>::new());
    home.assert_nothing_runs();
}
