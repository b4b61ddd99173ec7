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

/// A home with the example of a scenario: users of a shop, who wait.
fn home_with_users() -> TestHome {
    let home = TestHome::new();
    assert!(home.run(&["workloads", "new", "shop", "--scenario"]).status.success());
    home
}

const SHOPS: [&str; 2] = ["shop:rounds=1", "shop:rounds=2"];

#[test]
fn users_who_wait_are_compared_by_cpu_time_and_their_walk_is_in_the_record() {
    let home = home_with_users();
    let plan = home.plan(&[&["compare"], &SHOPS[..], &["--blocks", "3", "--users", "12"]].concat(), "600ms");
    let text_of_plan = std::fs::read_to_string(&plan).expect("a plan");
    assert!(text_of_plan.contains("metric = \"user_cpu_time\""), "{text_of_plan}");
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let run = only_run(&home);
    for trial in trials(&run) {
        let record = json(&trial.join("trial.json"));
        let (cpu, users) = (&record["cpu_time"], &record["users"]);
        let each_us = number(&cpu["user_us"]) + number(&cpu["system_us"]);
        assert!((number(&record["measured"]["value"]) - each_us).abs() < 1e-6 * each_us, "{record}");
        assert_eq!((&users["count"], &record["measured"]["unit"]), (&12.into(), &"µs".into()));
        let begun = |operation: &Value| operation["begun"].as_u64().expect("a count");
        let operations = users["operations"].as_array().expect("operations");
        assert_eq!(Some(operations.iter().map(begun).sum::<u64>()), users["begun"].as_u64());
        let row: f64 =
            operations[0]["declared_next_percent"].as_array().expect("a row").iter().map(number).sum();
        assert!((row - 100.0).abs() < 1e-9);
    }
    let verdict = json(&run.join("verdict.json"));
    for variant in verdict["variants"].as_array().expect("variants") {
        if number(&variant["valid"]) > 0.0 {
            assert!(number(&variant["users_per_core"]) > 0.0, "{variant}");
            let lines = text(&output.stdout);
            assert!(lines.contains("users would use one core"), "{lines}");
        }
    }
    for format in ["md", "json"] {
        let report = home.run(&["report", "--format", format]);
        assert!(report.status.success(), "{}", text(&report.stderr));
    }
}

#[test]
fn visits_arrive_at_each_server_and_are_compared_too() {
    let home = home_with_users();
    let file = home.path("workloads/shop/workload.toml");
    let workload = std::fs::read_to_string(&file).expect("the example");
    let users = "count = 20\n";
    assert!(workload.contains(users), "{workload}");
    let visits = "arrivals = \"poisson:60/s\"\nleave = 25\nlimit = 400\n";
    std::fs::write(&file, workload.replace(users, visits)).expect("a workload");
    let plan = home.plan(&[&["compare"], &SHOPS[..], &["--blocks", "3"]].concat(), "600ms");
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    for trial in trials(&only_run(&home)) {
        let record = json(&trial.join("trial.json"));
        assert!(number(&record["measured"]["value"]) > 0.0, "{record}");
        assert!(number(&record["users"]["begun"]) > 0.0, "{record}");
    }
    let refused = home.run(&[&["plan", "compare"], &SHOPS[..], &["--measure", "throughput"]].concat());
    let why = text(&refused.stderr);
    assert!(
        why.contains("shop has visits, which arrive at a rate of their own: measure cpu or latency"),
        "{why}"
    );
}

#[test]
fn users_have_no_rates() {
    let home = home_with_users();
    let planned = |options: &[&str]| home.run(&[&["plan", "compare"], &SHOPS[..], options].concat());
    for (options, metric) in [
        (&["--measure", "latency"][..], "user_latency"),
        (&["--measure", "cpu"], "user_cpu_time"),
        (&["--measure", "throughput"], "max_throughput"),
    ] {
        let plan = planned(options);
        assert!(text(&plan.stdout).contains(&format!("metric = \"{metric}\"")), "{}", text(&plan.stderr));
    }
    let sweep = home.run(&["plan", "sweep", "shop", "--vary", "users=5,20"]);
    assert!(
        text(&sweep.stdout).contains("vary = \"users\""),
        "{} {}",
        text(&sweep.stdout),
        text(&sweep.stderr)
    );
    let without = home.run(&["plan", "sweep", "nginx", "--vary", "users=5,20"]);
    let why = text(&without.stderr);
    assert!(why.contains("has no users to vary: pass --vary connections="), "{why}");
    for options in
        [&["--measure", "cpu", "--rate", "10"][..], &["--rates", "10,20"], &["--measure", "capacity"]]
    {
        let refused = planned(options);
        let why = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{why}");
        assert!(
            why.contains("shop has users, whose delays give the rate: measure cpu, latency or throughput"),
            "{why}"
        );
    }
    let without_users = home.run(&["plan", "compare", "nginx", "apache", "--measure", "latency"]);
    assert!(
        text(&without_users.stderr).contains("response times need rates"),
        "{}",
        text(&without_users.stderr)
    );
}

#[test]
fn a_comparison_without_a_measure_has_a_fallback_and_one_with_a_measure_has_none() {
    let home = TestHome::new();
    let plan = |options: &[&str]| {
        let output = home.run(&[&["plan", "compare", "nginx", "apache"], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(plan(&[]).contains("fallback = \"cpu_time\""));
    assert!(plan(&["--on-op", "get-1k"]).contains("fallback = \"cpu_time\""));
    assert!(plan(&["--slo", "p99<9ms"]).contains("fallback = \"cpu_time_if_refused\""));
    for options in [
        &["--measure", "capacity"][..],
        &["--measure", "throughput"],
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
