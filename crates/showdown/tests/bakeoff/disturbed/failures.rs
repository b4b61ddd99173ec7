//! Failures during a run, from end to end: each is reported in one line, and the finished trials are kept.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::home::{SHORT, TestHome, error_line, json, only_run, text, trials};

/// A home with the example of a new workload, whose server runs this line of Python before each reply.
fn home_with_server_line(line: &str) -> TestHome {
    let home = TestHome::new();
    assert!(home.run(&["workloads", "new", "my-api"]).status.success());
    let program = home.path("workloads/my-api/server.py");
    let text = fs::read_to_string(&program).expect("the example's server");
    let begin = "        url = urlsplit(self.path)\n";
    assert!(text.contains(begin), "{text}");
    fs::write(program, text.replace(begin, &format!("{begin}        {line}\n"))).expect("a server");
    home
}

#[test]
fn a_server_that_dies_is_reported_with_its_log_and_the_other_trials_are_kept() {
    let home = home_with_server_line(
        "options.cache == 'on' and next(answered) > 100 and __import__('os').write(2, b'out of luck\\n') \
         and __import__('os')._exit(7)",
    );
    let output = home.run(&["run", &home.small_plan(&["my-api:cache=off", "my-api:cache=on"])]);
    // 3 if it dies under load, 1 if it dies before a connection is open.
    assert!(matches!(output.status.code(), Some(1 | 3)), "{}", text(&output.stderr));
    // Where no trial of the other variant counts, because the machine is busy, it is all in the line of the error.
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("out of luck"), "{said}");
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

/// Runs in the example's server when it is started: of its starts, which a file counts, the third ends at once.
fn ends_at_its_third_start(file: &Path) -> String {
    format!(
        "if options.cache == 'on':\n    with open('{}', 'ab') as starts:\n        starts.write(b'.')\n        starts.flush()\n        \
         if starts.tell() == 3:\n            raise SystemExit('out of luck')\n\n",
        file.display()
    )
}

#[test]
fn a_server_that_ends_at_once_in_a_fifth_of_its_starts_is_named_in_every_answer() {
    let home = TestHome::new();
    assert!(home.run(&["workloads", "new", "my-api"]).status.success());
    let program = home.path("workloads/my-api/server.py");
    let server = fs::read_to_string(&program).expect("the example's server");
    let starts = "\nServer((";
    assert!(server.contains(starts), "{server}");
    let code = ends_at_its_third_start(&home.path("starts"));
    fs::write(&program, server.replace(starts, &format!("\n{code}Server(("))).expect("a server");
    let variants = ["my-api:cache=off", "my-api:cache=on"];
    let plan =
        [&["compare"], &variants[..], &["--blocks", "5", "--measure", "throughput", "--seed", "7"]].concat();
    let output = home.run(&["run", &home.plan(&plan, SHORT)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let said = "my-api:cache=on failed in 1 of 5 starts";
    assert!(text(&output.stdout).contains(said), "{}", text(&output.stdout));
    let verdict = json(&only_run(&home).join("verdict.json"));
    assert!(verdict["sentence"].as_str().is_some_and(|sentence| sentence.contains(said)), "{verdict}");
    assert_eq!(verdict["variants"][1]["failed_starts"], 1);
    assert!(verdict["variants"][0]["failed_starts"].is_null(), "{verdict}");
    for format in ["md", "json"] {
        let report = home.run(&["report", "--format", format]);
        assert!(text(&report.stdout).contains(said), "{}", text(&report.stdout));
    }
    assert!(home.run(&["report"]).status.success());
    let page = fs::read_to_string(only_run(&home).join("report.html")).expect("a report");
    assert!(page.contains(said));
    home.assert_nothing_runs();
}

#[test]
fn a_long_log_is_cut_and_the_run_says_so() {
    let home = home_with_server_line(
        "options.cache == 'on' and not hasattr(Handler, 'told') and (setattr(Handler, 'told', True), \
         __import__('os').write(2, b'a line of the log\\n' * 200_000))",
    );
    let output = home.run(&["run", &home.small_plan(&["my-api:cache=off", "my-api:cache=on"])]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let run = only_run(&home);
    for trial in trials(&run) {
        let record = json(&trial.join("trial.json"));
        let left_out = record["files"]["logs_left_out_bytes"].as_u64().unwrap_or(0);
        let log = text(&fs::read(trial.join("server.log")).expect("the log"));
        if record["variant"] == "my-api:cache=on" {
            assert!(left_out > 1_000_000, "{record}");
            assert!(log.contains(&format!("[showdown: {left_out} bytes are left out here]")));
            assert!(log.len() < (2 << 20) + 100, "{} bytes of log", log.len());
        } else {
            assert_eq!(left_out, 0);
        }
    }
    let caveats = json(&run.join("verdict.json"))["caveats"].to_string();
    assert!(caveats.contains("long-log"), "{caveats}");
}

/// Compares a server with itself that never starts, by a workload of its own.
fn compare_broken(home: &TestHome, name: &str, server: &str) -> Output {
    let folder = home.path(&format!("workloads/{name}"));
    fs::create_dir_all(&folder).expect("a folder");
    let workload = format!(
        r#"
        title = "A server that never starts"
        [server.{name}]
        {server}
        ready = {{ tcp = true, within = "10s" }}
        [load]
        protocol = "http"
        slo = "p99<5ms"
        connections = 1
        [[load.op]]
        name = "get"
        path = "/"
        expect = {{ status = 200 }}
        "#
    );
    fs::write(folder.join("workload.toml"), workload).expect("a workload");
    home.run(&["compare", name, name, "--workload", name, "--quick"])
}

#[test]
fn a_refused_configuration_is_reported_with_the_message_of_the_server() {
    let home = TestHome::new();
    fs::create_dir_all(home.path("workloads/slip")).expect("a folder");
    fs::write(home.path("workloads/slip/nginx.conf"), "worker_proceses 1; # {{ port }}\n")
        .expect("a configuration");
    let server = r#"
        start = ["nginx", "-p", "{{ dir }}", "-e", "stderr", "-c", "{{ dir }}/nginx.conf"]
        config = ["nginx.conf"]
    "#;
    let output = compare_broken(&home, "slip", server);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let line = error_line(&output);
    assert!(line.contains("unknown directive") && line.contains("worker_proceses"), "{line}");
    home.assert_nothing_runs();
}

#[test]
fn a_server_that_crashes_at_its_start_is_one_line() {
    let home = TestHome::new();
    let server =
        r#"start = ["sh", "-c", "echo 'fatal: cannot open database' >&2; exit 7", "sh", "{{ port }}"]"#;
    let output = compare_broken(&home, "crashy", server);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""));
    let line = error_line(&output);
    assert_eq!(line.matches("cannot open database").count(), 1, "{line}");
    assert!(line.contains("exited with status 7; its log ends: fatal"), "{line}");
    let (_, log) = line.split_once(": try its command by hand; its log: ").expect("a remedy, and a log");
    let log = fs::read_to_string(home.path(log)).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(log, "fatal: cannot open database\n");
    assert!(!line.contains("resume"), "{line}");
    home.assert_nothing_runs();
}

#[test]
fn a_plan_that_is_not_there_is_named_with_the_command_that_writes_one() {
    let output = TestHome::new().run(&["run", "no-plan.toml"]);
    let message = error_line(&output);
    assert!(message.contains("no-plan.toml") && message.contains("showdown plan compare"), "{message}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_plan_with_absurd_numbers_is_refused_in_one_line() {
    let home = TestHome::new();
    let written = home.small_plan(&["nginx", "apache"]);
    let plan = fs::read_to_string(&written).expect("a plan");
    for (number, slip) in [
        ("\nblocks = 3", "\nblocks = 4000000000"),
        ("\nspare_blocks = 0", "\nspare_blocks = 4294967295"),
        ("\nblocks = 3", "\nblocks = 0"),
    ] {
        assert!(plan.contains(number), "{plan}");
        fs::write(&written, plan.replace(number, slip)).expect("a plan");
        let output = home.run(&["run", &written]);
        let message = error_line(&output);
        assert!(output.status.code() == Some(2) && message.contains("blocks"), "{slip}: {message}");
    }
}

/// A plan beyond a limit of the command line is refused before anything is computed from it.
#[test]
fn a_plan_has_the_limits_of_the_command_line() {
    let home = TestHome::new();
    let compare = fs::read_to_string(home.small_plan(&["nginx", "apache"])).expect("a plan");
    let latency = ["compare", "nginx", "apache", "--blocks", "3", "--measure", "latency", "--rates", "77"];
    let latency = fs::read_to_string(home.plan(&latency, SHORT)).expect("a plan");
    let sweep = ["sweep", "memcached", "--vary", "threads=1,2", "--vary", "connections=64,65"];
    let sweep = fs::read_to_string(home.plan(&sweep, SHORT)).expect("a plan");
    let build = ["compare", "googletest:jobs=1", "googletest:jobs=2", "--blocks", "3"];
    let build = fs::read_to_string(home.plan(&build, SHORT)).expect("a plan");
    let background = "[background]\nrate_per_s = 1e8\nconnections = 1\n[load]";
    let crowd = "[background]\nrate_per_s = 1\nconnections = 4000000000\n[load]";
    let many = |value: &str| format!("[{}]", vec![value; 65].join(", "));
    let axis = format!("\n[[sweep]]\nvary = \"hashpower\"\nvalues = {}\n", many("1").replace("1, ", ""));
    let twenty = axis.replace("[1]", &format!("[{}]", vec!["1"; 64].join(", "))).repeat(20);
    let length = |key: &str, plan: &str| {
        let line = plan.lines().find(|line| line.starts_with(&format!("{key} = "))).expect("a length");
        (line.to_owned(), format!("{key} = \"9000000years\""))
    };
    let mut cases: Vec<(&str, String, String, &str)> = vec![
        (
            &compare,
            "connections = 64".into(),
            "connections = 4000000000".into(),
            "load.connections: give whole",
        ),
        (&compare, "threads = ".into(), "threads = 4000".into(), "load.threads: give at most 1024"),
        (&compare, "[load]".into(), background.into(), "background: give a rate above 0"),
        (&compare, "[load]".into(), crowd.into(), "background: give a rate above 0"),
        (&latency, "[77.0]".into(), "[1e300]".into(), "rates: give at most 64 of them"),
        (&latency, "[77.0]".into(), many("77.0"), "rates: give at most 64 of them"),
        (&sweep, "64, 65".into(), "64, 4000000000".into(), "connections: give whole numbers"),
        (&sweep, "64, 65".into(), "64, 1.5".into(), "connections: give whole numbers"),
        (&sweep, "64, 65".into(), "64, \"many\"".into(), "connections: give whole numbers"),
        (
            &sweep,
            "\"connections\"\nvalues = [64, 65]".into(),
            "\"rate\"\nvalues = [1e9]".into(),
            "rates: give at most",
        ),
        (&sweep, "[[sweep]]".into(), format!("{twenty}[[sweep]]"), "give 1 to 4096 combinations"),
        (
            &sweep,
            "[[sweep]]".into(),
            format!("{}[[sweep]]", axis.replace("[1]", &many("1"))),
            "at most 64 values",
        ),
        (&sweep, "[[sweep]]".into(), format!("{}[[sweep]]", axis.replace("[1]", "[]")), "give 1 to 4096"),
        (
            &build,
            "operations = 1".into(),
            "operations = 4000000000".into(),
            "measure.operations must be 1 to",
        ),
    ];
    for key in ["closed_loop", "search_step", "measure", "curve_step", "min", "max"] {
        let (line, slip) = length(key, &compare);
        cases.push((&compare, line, slip, "give a length of at most 7 days"));
    }
    let path = home.path("plan.toml");
    for (plan, from, to, why) in cases {
        assert!(plan.contains(&from), "{from} in {plan}");
        fs::write(&path, plan.replacen(&from, &to, 1)).expect("a plan");
        let output = home.run(&["run", "plan.toml"]);
        let message = error_line(&output);
        assert!(output.status.code() == Some(2) && message.contains(why), "{to}: {message}");
    }
    for args in [["-c", "1000001"], ["--background", "40/s,connections=1000001"], ["--rates", "11M"]] {
        let output = home.run(&[&["compare", "nginx", "apache"][..], &args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_run_with_a_truncated_file_is_shown_and_the_file_is_named() {
    let home = home_with_server_line("pass");
    let output = home.run(&["run", &home.small_plan(&["my-api:cache=off", "my-api:cache=on"])]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let run = only_run(&home);
    let trial = trials(&run)[0].file_name().expect("a name").to_string_lossy().into_owned();
    let of_trial =
        ["trial.json", "load.hlog", "telemetry.parquet"].map(|file| format!("trials/{trial}/{file}"));
    let of_run = ["plan.toml", "facts.json", "verdict.json"].map(str::to_owned);
    for file in of_run.iter().chain(&of_trial) {
        let whole = truncate(&run.join(file));
        for verb in ["show", "report"] {
            let output = home.run(&[verb, "latest"]);
            let message = text(&output.stdout) + &text(&output.stderr);
            assert!(
                matches!(output.status.code(), Some(0 | 1)) && !message.contains("panicked"),
                "{file}: {message}"
            );
            if verb == "show" && !file.ends_with("hlog") && !file.ends_with("parquet") {
                assert!(message.contains(file.as_str()), "{file}: {message}");
            }
        }
        assert_eq!(home.run(&["list"]).status.code(), Some(0), "{file}");
        fs::write(run.join(file), whole).expect("a file");
    }
    let shown = home.run(&["show", "latest"]);
    assert!(shown.status.success() && !text(&shown.stdout).contains("problem"), "{}", text(&shown.stdout));
}

/// Truncates a file to its half; returns its whole content.
fn truncate(path: &Path) -> Vec<u8> {
    let whole = fs::read(path).expect("a file of the run");
    fs::write(path, &whole[..whole.len() / 2]).expect("a file");
    whole
}
