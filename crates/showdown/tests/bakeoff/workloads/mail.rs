//! A short comparison of mail servers. They need root, as the services of their packages do.

use crate::home::{TestHome, json, only_run, text, trials};

#[test]
fn mail_servers_are_compared() {
    let home = TestHome::new();
    if !rustix::process::geteuid().is_root() {
        let output = home.run(&["compare", "postfix", "postfix:tls=on", "--quick"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("postfix needs root"), "{}", text(&output.stderr));
        return;
    }
    // All processes of a server have the allocator, also those that clear their environment: no trial would be measured otherwise.
    let servers = ["postfix:allocator=jemalloc", "exim:allocator=jemalloc"];
    let plan = home.small_plan(&[servers[0], servers[1], "--on-op", "small"]);
    let output = home.run(&["run", &plan]);
    // The machine decides whether the trials are valid; any other exit code is a failure.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();

    let run = only_run(&home);
    let facts = json(&run.join("facts.json"));
    for variant in facts["variants"].as_array().expect("variants") {
        assert!(
            variant["version"].as_str().is_some_and(|version| version.starts_with(['3', '4'])),
            "{variant}"
        );
    }
    let trials = trials(&run);
    assert_eq!(trials.len(), 6);
    for trial in trials {
        let record = json(&trial.join("trial.json"));
        assert_eq!(record["phases"][0]["errors"], serde_json::json!({}));
        // The log of the server has exactly the messages that the client counted.
        let counts = &record["counts"][0];
        assert!(counts["client"].as_u64().is_some_and(|count| count > 0), "{record}");
        assert_eq!(counts["client"], counts["server"], "{record}");
    }
}
