//! CPU time an operation from end to end: the rate, the account of each trial, and what is refused.

use serde_json::Value;

use crate::home::{FEW_KEYS, TestHome, json, only_run, text, trials};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn all_trials_have_the_cpu_time_of_an_operation_at_the_rate_that_the_first_block_chose() {
    let home = TestHome::with_few_keys();
    let output = home.run(&[
        "run",
        &home.small_plan_of(&["memcached", "memcached:threads=2", "--workload", FEW_KEYS], "cpu"),
    ]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let run = only_run(&home);
    let plan = std::fs::read_to_string(run.join("plan.toml")).expect("a plan");
    let rate = plan.lines().find_map(|line| line.strip_prefix("rate_per_s = ")).expect("the rate");
    let rate: f64 = rate.parse().expect("a number");
    let records: Vec<Value> = trials(&run).iter().map(|trial| json(&trial.join("trial.json"))).collect();
    assert_eq!(records.len(), 6);
    for record in &records {
        let cpu = &record["cpu_time"];
        if cpu.is_null() {
            // A machine that is too busy for a server to answer in time.
            assert_ne!(record["status"], "valid", "{record}");
            assert_ne!(record["reasons"], serde_json::json!([]), "{record}");
            continue;
        }
        assert_eq!(cpu["rate_per_s"].as_f64(), Some(rate), "{cpu}");
        let each_us = number(&cpu["cpu_s"]) * 1e6 / number(&cpu["operations"]);
        let modes_us = number(&cpu["user_us"]) + number(&cpu["system_us"]);
        assert!((each_us - modes_us).abs() < 1e-6 * each_us, "{cpu}");
        let phase = record["phases"].as_array().expect("phases").last().expect("a phase");
        assert!(phase["kind"] == "measure" && !phase["offered_per_s"].is_null(), "{phase}");
        assert!(
            number(&cpu["operations"]) >= number(&phase["requests"]),
            "what settles and drains counts, too"
        );
        if record["measured"].is_object() {
            assert!((number(&record["measured"]["value"]) - each_us).abs() < 1e-6 * each_us, "{record}");
            assert_eq!(record["measured"]["higher_is_better"], false);
        }
    }
    let verdict = json(&run.join("verdict.json"));
    assert_eq!((&verdict["unit"], &verdict["higher_is_better"]), (&"µs".into(), &false.into()));
    assert!(verdict["caveats"].to_string().contains("cpu-time"), "{verdict}");
    let replaced = &verdict["replaced"];
    assert!(
        replaced.is_null() || replaced.to_string().contains("carries only"),
        "the user asked for this measure; a machine that slows down lowers the rate: {replaced}"
    );
}

#[test]
fn a_comparison_without_a_measure_has_a_fallback_and_one_with_a_measure_or_an_objective_has_none() {
    let home = TestHome::new();
    let plan = |options: &[&str]| {
        let output = home.run(&[&["plan", "compare", "nginx", "apache"], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(plan(&[]).contains("fallback = \"cpu_time\""));
    assert!(plan(&["--on-op", "get-1k"]).contains("fallback"));
    for options in [
        &["--measure", "capacity"][..],
        &["--measure", "throughput"],
        &["--slo", "p99<9ms"],
        &["--rates", "10k"],
        &["--measure", "cpu", "--rate", "10k"],
        &["--background", "40/s,connections=3"],
    ] {
        assert!(!plan(options).contains("fallback"), "{options:?}");
    }
    assert!(plan(&["--measure", "cpu", "--rate", "10k"]).contains("rate_per_s = 10000"));
}

#[test]
fn a_sweep_over_the_rate_measures_latency_unless_cpu_time_is_asked_for() {
    let home = TestHome::new();
    let sweep =
        |options: &[&str]| home.run(&[&["plan", "sweep", "nginx", "--vary", "rate=1k,2k"], options].concat());
    for options in [&[][..], &["--measure", "latency"], &["--slo", "p99<9ms"]] {
        let plan = text(&sweep(options).stdout);
        assert!(plan.contains("metric = \"latency_curve\"\nrates_per_s = []\n"), "{options:?}: {plan}");
    }
    for options in [&["--measure", "throughput"][..], &["--measure", "capacity"], &["--rates", "5k"]] {
        let output = sweep(options);
        let message = text(&output.stderr);
        let why = "a sweep over the rate measures at its rates";
        assert!(output.status.code() == Some(2) && message.contains(why), "{options:?}: {message}");
    }
}

#[test]
fn what_has_no_cpu_time_of_an_operation_is_refused() {
    let home = TestHome::new();
    for (args, why) in [
        (&["compare", "nginx", "apache", "--rate", "10k"][..], "--rate is for --measure cpu"),
        (
            &["compare", "nginx", "apache", "--measure", "cpu", "--slo", "p99<9ms"],
            "--slo has no effect on this measure: leave it out, or pass --measure capacity",
        ),
        (
            &["compare", "lmdb", "sqlite", "--measure", "cpu"],
            "makes its load by itself and has no rate to set",
        ),
        (
            &["compare", "nginx", "apache", "--measure", "cpu", "--background", "40/s,connections=3"],
            "leave out --background",
        ),
        (
            &["sweep", "nginx", "--vary", "connections=1,8", "--measure", "cpu"],
            "pass either --rate 10k or --vary rate=5k..40k",
        ),
        (
            &["sweep", "nginx", "--vary", "rate=1k,2k", "--measure", "cpu", "--rate", "5k"],
            "pass either --rate 10k or --vary rate=5k..40k",
        ),
    ] {
        let output = home.run(args);
        let message = text(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains(why), "{args:?}: {message}");
    }
}

#[test]
fn a_sweep_over_the_rate_has_the_cpu_time_at_each() {
    let home = TestHome::with_few_keys();
    let args = [
        "sweep",
        "memcached",
        "--workload",
        FEW_KEYS,
        "--measure",
        "cpu",
        "--vary",
        "rate=500,1000",
        "--blocks",
        "1",
    ];
    let output = home.run(&["run", &home.plan(&args, crate::home::SHORT)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    for trial in trials(&only_run(&home)) {
        let record = json(&trial.join("trial.json"));
        assert_eq!(record["cpu_time"]["rate_per_s"].as_f64(), record["point"]["rate"].as_f64(), "{record}");
    }
}
