//! A fixed background load from end to end: it runs, it is recorded, and the server counts it.

use crate::home::{TestHome, json, only_run, text, trials};

#[test]
fn a_server_is_measured_under_a_background_load() {
    let home = TestHome::new();
    let background = ["--background", "200/s,connections=20"];
    let plan = home.small_plan(&[&["nginx", "nginx", "--on-op", "get-1k"][..], &background].concat());
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();

    let run = only_run(&home);
    assert!(json(&run.join("verdict.json"))["caveats"].to_string().contains("background"));
    for trial in trials(&run) {
        let record = json(&trial.join("trial.json"));
        let beside = &record["background"];
        assert_eq!(beside["kind"], "background");
        let seconds = beside["length_s"].as_f64().expect("a length");
        // Requests that a busy machine did not get round to were due all the same.
        let unsent = beside["errors"]["unsent"].as_f64().unwrap_or(0.0);
        let due = beside["requests"].as_f64().expect("a count") + unsent;
        // The standard deviation of a Poisson count is its square root.
        assert!((due - 200.0 * seconds).abs() < 6.0 * (200.0 * seconds).sqrt(), "{beside}");
        // It ran until the last phase had ended.
        let last = record["phases"].as_array().expect("phases").last().expect("one at least");
        let end = |phase: &serde_json::Value| {
            phase["start_s"].as_f64().expect("a start") + phase["length_s"].as_f64().expect("a length")
        };
        assert!(end(beside) >= end(last), "{beside} {last}");
        let gates = record["gates"].as_array().expect("gates");
        let counts = gates.iter().find(|gate| gate["id"] == "counts").expect("a gate");
        assert_eq!(counts["outcome"], "passed", "{counts}: the server counts both loads");
    }
}

#[test]
fn a_meaningless_background_load_is_refused() {
    let home = TestHome::new();
    for (variants, background, why) in [
        (["nginx", "apache"], "40", "such as 40/s,connections=300"),
        (["nginx", "apache"], "0/s,connections=3", "a rate above 0"),
        (["nginx", "apache"], "40/s,connections=0", "a number of connections from 1 to 1,000,000"),
        (["lmdb", "sqlite"], "40/s,connections=3", "makes its load by itself"),
    ] {
        let output = home.run(&["compare", variants[0], variants[1], "--background", background]);
        let message = text(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains(why), "{message}");
    }
}

/// What the users of the example do outside their mix.
const OUTSIDE: &str = r#"
[[load.op]]
name = "open"
path = "/"
once = "before"

[[load.op]]
name = "prices"
path = "/"
every = "20ms"

[[load.op]]
name = "close"
path = "/"
once = "after"
"#;

#[test]
fn operations_of_users_beside_their_mix_are_in_the_record_and_in_no_figure_of_it() {
    let home = TestHome::new();
    let made = home.run(&["workloads", "new", "shop", "--scenario"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let file = home.path("workloads/shop/workload.toml");
    let workload = std::fs::read_to_string(&file).expect("a workload");
    std::fs::write(&file, workload + OUTSIDE).expect("a workload");
    let compare = ["compare", "shop:rounds=1", "shop:rounds=2", "--users", "6", "--blocks", "3"];
    let output = home.run(&["run", &home.plan(&compare, "600ms")]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let run = only_run(&home);
    assert!(
        !std::fs::read_to_string(run.join("plan.toml")).expect("a plan").contains("turns"),
        "one at a time"
    );
    for trial in trials(&run) {
        let record = json(&trial.join("trial.json"));
        let outside = record["users"]["outside"].as_array().unwrap_or_else(|| panic!("{record}"));
        let names: Vec<_> = outside.iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["prices", "close"]);
        assert!(outside[0]["requests"].as_u64().is_some_and(|count| count > 1), "{outside:?}");
        assert_eq!((&outside[1]["requests"], &outside[1]["due"]), (&1.into(), &"after".into()));
        let of_mix = record["users"]["operations"].as_array().expect("operations").iter();
        assert!(of_mix.clone().all(|operation| operation["name"] != "prices"), "{record}");
    }
    let report = home.run(&["report", "--format", "md"]);
    assert!(report.status.success(), "{}", text(&report.stderr));
    // Beside other programs, no trial may count.
    let verdict = json(&run.join("verdict.json"));
    let counts = verdict["variants"].as_array().expect("variants").iter().any(|one| one["valid"] != 0);
    assert!(!counts || text(&report.stdout).contains("outside the mix | due"), "{}", text(&report.stdout));
}
