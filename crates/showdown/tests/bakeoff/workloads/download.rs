//! A short sweep of downloads: one large file, over one connection and over several.

use crate::home::{QUICK, TestHome, json, only_run, text, trials};

#[test]
fn downloads_are_measured_in_bytes_per_second() {
    let home = TestHome::new();
    let sweep = ["sweep", "nginx", "nginx:sendfile=off", "apache", "--workload", "download"];
    let axis = ["--vary", "connections=1,2", "--blocks", "1"];
    let output = home.run(&["run", &home.plan(&[&sweep[..], &axis].concat(), QUICK)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    home.assert_nothing_runs();

    let run = only_run(&home);
    let trials = trials(&run);
    assert_eq!(trials.len(), 6);
    for trial in trials {
        let record = json(&trial.join("trial.json"));
        let phase = &record["phases"][0];
        assert_eq!(phase["errors"], serde_json::json!({}), "every download has exactly 100 MiB");
        let downloads = phase["throughput_per_s"].as_f64().expect("a rate");
        let (value, unit) =
            (record["measured"]["value"].as_f64().expect("a value"), &record["measured"]["unit"]);
        assert_eq!(unit, "MB/s");
        // The phase counts completed downloads, the value counts bytes in a part of it. A busy machine can be much slower in one
        // than in the other, but not by the hundredfold between downloads and megabytes.
        let under_way = phase["requests"].as_f64().expect("a count") + 2.0;
        let most = under_way / phase["length_s"].as_f64().expect("a length") * 1_049.0;
        assert!((downloads * 10.5..most).contains(&value), "{value} MB/s, {downloads} downloads a second");
        assert_eq!(record["counts"][0]["client"], record["counts"][0]["server"]);
    }
    assert_eq!(json(&run.join("verdict.json"))["unit"], "MB/s");
}
