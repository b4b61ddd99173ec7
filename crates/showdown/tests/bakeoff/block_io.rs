//! Block I/O, in small.

use std::fs;

use crate::home::{Home, json, only_run, text, trials};

#[test]
fn buffer_sizes_are_compared_and_the_file_is_gone() {
    let home = Home::new();
    let elsewhere = home.path("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    let variant = |buffer: u32| {
        let directory = elsewhere.display();
        format!(
            "disk:buffer={buffer},amount=65536,file_bytes=1048576,pattern=sequential,threads=2,directory={directory}"
        )
    };
    let output = home.run(&["run", &home.small_plan(&[&variant(512), &variant(65_536)])]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);

    let mut medians = [Vec::new(), Vec::new()];
    for trial in trials(&only_run(&home)) {
        let record = json(&trial.join("trial.json"));
        assert_eq!(record["phases"][0]["errors"], serde_json::json!({}));
        let is_small = record["variant"].as_str().is_some_and(|name| name.contains("buffer=512"));
        medians[usize::from(is_small)].push(record["measured"]["value"].as_f64().expect("a value"));
    }
    // 128 system calls for each operation, or one.
    let least_large = medians[0].iter().copied().fold(f64::INFINITY, f64::min);
    let most_small = medians[1].iter().copied().fold(0.0, f64::max);
    assert!(least_large > most_small, "{medians:?}");
}

#[test]
fn what_does_not_fit_or_is_not_there_is_told() {
    let home = Home::new();
    for (knobs, why) in [
        (
            "file_bytes=4096,threads=2",
            "2 buffers of 4096 bytes do not fit into a file of 4096: make it larger",
        ),
        ("directory=/nowhere", "there is no directory /nowhere"),
    ] {
        let plan = home.small_plan(&[&format!("disk:{knobs}"), "disk"]);
        let output = home.run(&["run", &plan, "--runs", knobs]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
}
