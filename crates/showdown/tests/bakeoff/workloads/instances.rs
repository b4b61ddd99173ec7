//! Short comparisons of several instances of a server under one load.

use serde_json::Value;

use crate::home::{FEW_KEYS, SHORT, TestHome, json, only_run, text, trials};

#[test]
fn two_instances_with_one_thread_are_compared_with_one_instance_with_two() {
    let home = TestHome::with_few_keys();
    let variants = ["memcached:instances=2,threads=1", "memcached:threads=2"];
    let output = home.run(&["run", &home.small_plan(&[&variants[..], &["--workload", FEW_KEYS]].concat())]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();

    let run = only_run(&home);
    let facts = json(&run.join("facts.json"));
    for (at, instances) in [2, 1].into_iter().enumerate() {
        let variant = &facts["variants"][at];
        assert_eq!(variant["knobs"]["instances"], instances, "{variant}");
        let shown: Vec<&str> =
            variant["config"].as_array().expect("a list").iter().filter_map(|f| f["name"].as_str()).collect();
        assert_eq!(shown, ["command", "instance-2-command"][..instances]);
    }
    for trial in trials(&run) {
        let record = json(&trial.join("trial.json"));
        let instances = if record["variant"] == variants[0] { 2 } else { 1 };
        assert_eq!(record["server"]["processes"], instances, "{}", record["server"]);
        assert_eq!(record["files"]["logs"].as_array().map(Vec::len), Some(instances));
        let counts = &record["counts"][0];
        assert!(counts["client"].as_u64().is_some_and(|client| client > 0));
        assert_eq!(counts["client"], counts["server"], "the server count is the sum over both instances");
    }
}

#[test]
fn instances_share_a_password_and_can_be_an_axis() {
    let home = TestHome::with_few_keys();
    let sweep = [
        "sweep",
        "redis",
        "--workload",
        FEW_KEYS,
        "--vary",
        "instances=1,2",
        "--blocks",
        "1",
        "--connections",
        "4",
    ];
    let output = home.run(&["run", &home.plan(&sweep, SHORT)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    home.assert_nothing_runs();
    for trial in trials(&only_run(&home)) {
        let record = json(&trial.join("trial.json"));
        assert_eq!(record["server"]["processes"], record["point"]["instances"], "{record}");
        assert_eq!(record["phases"][0]["errors"], Value::Object(serde_json::Map::new()));
    }
}

#[test]
fn a_meaningless_number_of_instances_is_refused() {
    let home = TestHome::new();
    let refused = |args: &[&str]| {
        let output = home.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        text(&output.stderr)
    };
    assert!(refused(&["compare", "lmdb:instances=2", "lmdb"]).contains("generates its own load"));
    assert!(refused(&["compare", "redis:instances=0", "redis"]).contains("from 1 to 64"));
    let idle = refused(&["compare", "redis:instances=2", "redis", "--connections", "1"]);
    assert!(idle.contains("redis:instances=2 has more instances (2) than connections (1)"), "{idle}");
}
