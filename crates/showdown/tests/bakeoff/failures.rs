//! What goes wrong in the middle of a bake-off, from end to end: each is told in one line, and what was measured stays.

use std::fs;
use std::path::Path;

use crate::home::{Home, complaint, json, only_run, text, trials};

/// A home with the example of a workload of one's own, a line of its server put before each answer.
fn home_of_a_service_that(line: &str) -> Home {
    let home = Home::new();
    assert!(home.run(&["workloads", "new", "my-api"]).status.success());
    let program = home.path("workloads/my-api/server.py");
    let text = fs::read_to_string(&program).expect("the example's server");
    let begin = "        url = urlsplit(self.path)\n";
    assert!(text.contains(begin), "{text}");
    fs::write(program, text.replace(begin, &format!("{begin}        {line}\n"))).expect("a server");
    home
}

#[test]
fn a_server_that_dies_in_the_middle_is_told_with_its_last_words_and_the_others_trials_stay() {
    let home = home_of_a_service_that(
        "options.cache == 'on' and next(answered) > 100 and __import__('os').write(2, b'out of luck\\n') \
         and __import__('os')._exit(7)",
    );
    let output = home.run(&["run", &home.small_plan(&["my-api:cache=off", "my-api:cache=on"])]);
    // 3 if it dies while it is loaded, 1 if it has died before a connection was open.
    assert!(matches!(output.status.code(), Some(1 | 3)), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("out of luck"), "{}", text(&output.stdout));
    home.assert_nothing_runs();
    for trial in trials(&only_run(&home)) {
        let record = json(&trial.join("trial.json"));
        let reasons = record["reasons"].to_string();
        if record["variant"] == "my-api:cache=off" {
            assert!(record["measured"]["value"].is_f64() && !reasons.contains("exited"), "{record}");
        } else {
            assert!(record["status"] != "valid", "{record}");
            assert!(
                reasons.contains("exited with status 7; its log") && reasons.contains("out of luck"),
                "{reasons}"
            );
        }
    }
}

#[test]
fn a_configuration_that_the_server_refuses_is_told_in_the_server_s_words() {
    let home = Home::new();
    let folder = home.path("workloads/broken");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("nginx.conf"), "worker_proceses 1;\n").expect("a configuration");
    let workload = r#"
        title = "A web server with a slip of the pen"
        [server.slip]
        start = ["nginx", "-p", "{{ dir }}", "-e", "stderr", "-c", "{{ dir }}/nginx.conf"]
        config = ["nginx.conf"]
        ready = { tcp = true, within = "10s" }
        [load]
        protocol = "http"
        slo = "p99<5ms"
        connections = 1
        [[load.op]]
        name = "get"
        path = "/"
        expect = { status = 200 }
    "#;
    fs::write(folder.join("workload.toml"), workload).expect("a workload");
    let output = home.run(&["compare", "slip", "slip", "--workload", "broken", "--quick"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let line = complaint(&output);
    assert!(line.contains("unknown directive") && line.contains("worker_proceses"), "{line}");
    home.assert_nothing_runs();
}

#[test]
fn a_plan_with_numbers_beyond_reason_is_refused_in_a_line() {
    let home = Home::new();
    let written = home.small_plan(&["nginx", "apache"]);
    let plan = fs::read_to_string(&written).expect("a plan");
    for (number, slip) in [
        ("\nblocks = 3", "\nblocks = 4000000000"),
        ("\nspare_blocks = 2", "\nspare_blocks = 4294967295"),
        ("\nblocks = 3", "\nblocks = 0"),
    ] {
        assert!(plan.contains(number), "{plan}");
        fs::write(&written, plan.replace(number, slip)).expect("a plan");
        let output = home.run(&["run", &written]);
        let told = complaint(&output);
        assert!(output.status.code() == Some(2) && told.contains("blocks"), "{slip}: {told}");
    }
}

#[test]
fn a_run_with_a_file_cut_short_is_shown_as_far_as_it_goes_and_the_file_is_named() {
    let home = home_of_a_service_that("pass");
    let output = home.run(&["run", &home.small_plan(&["my-api:cache=off", "my-api:cache=on"])]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let run = only_run(&home);
    let trial = trials(&run)[0].file_name().expect("a name").to_string_lossy().into_owned();
    let of_trial =
        ["trial.json", "load.hlog", "telemetry.parquet"].map(|file| format!("trials/{trial}/{file}"));
    let of_run = ["plan.toml", "facts.json", "verdict.json"].map(str::to_owned);
    for file in of_run.iter().chain(&of_trial) {
        let whole = cut_short(&run.join(file));
        for verb in ["show", "report"] {
            let output = home.run(&[verb, "latest"]);
            let said = text(&output.stdout) + &text(&output.stderr);
            assert!(
                matches!(output.status.code(), Some(0 | 1)) && !said.contains("panicked"),
                "{file}: {said}"
            );
            if verb == "show" && !file.ends_with("hlog") && !file.ends_with("parquet") {
                assert!(said.contains(file.as_str()), "{file}: {said}");
            }
        }
        assert_eq!(home.run(&["list"]).status.code(), Some(0), "{file}");
        fs::write(run.join(file), whole).expect("a file");
    }
    let shown = home.run(&["show", "latest"]);
    assert!(shown.status.success() && !text(&shown.stdout).contains("problem"), "{}", text(&shown.stdout));
}

/// Leaves half of a file; gives all that it held.
fn cut_short(path: &Path) -> Vec<u8> {
    let whole = fs::read(path).expect("a file of the run");
    fs::write(path, &whole[..whole.len() / 2]).expect("a file");
    whole
}
