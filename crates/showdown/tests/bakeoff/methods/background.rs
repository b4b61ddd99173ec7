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
