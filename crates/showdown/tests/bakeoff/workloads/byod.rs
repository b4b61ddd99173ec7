//! A runner of the user's own, from end to end: the example of `docs/BYOD.md`, and the messages for a wrong runner.

use std::fs;
use std::path::Path;

use crate::home::{TestHome, json, only_run, text, trials};

/// The only code block of this language in the document.
fn block(language: &str) -> String {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/BYOD.md"));
    let document = document.expect("the document");
    let blocks: Vec<&str> = document.split(&format!("```{language}\n")).skip(1).collect();
    assert_eq!(blocks.len(), 1, "one block of {language}");
    blocks[0].split("```").next().expect("its end").to_owned()
}

/// A home with the example and a changed runner.
fn home(change: impl Fn(String) -> String) -> TestHome {
    let home = TestHome::new();
    let folder = home.path("workloads/hash");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("runner.py"), change(block("python"))).expect("the runner");
    fs::write(folder.join("workload.toml"), block("toml")).expect("the workload");
    home
}

const VARIANTS: [&str; 2] = ["hash:algorithm=sha256,bytes=4096", "hash:algorithm=sha512,bytes=4096"];

#[test]
fn the_example_of_the_document_works() {
    let home = home(|runner| runner);
    let plan = home.small_plan(&[&VARIANTS[..], &["--on-op", "long"]].concat());
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();

    let run = only_run(&home);
    assert_eq!(json(&run.join("verdict.json"))["complete"], true);
    let trials = trials(&run);
    assert_eq!(trials.len(), 6);
    for trial in trials {
        let record = json(&trial.join("trial.json"));
        assert!(record["measured"]["value"].as_f64().is_some_and(|value| value > 0.0), "{record}");
        assert_eq!(record["measured"]["metric"], "throughput in a closed loop");
        let gate = |id: &str| {
            let gates = record["gates"].as_array().expect("gates");
            gates.iter().find(|gate| gate["id"] == id).expect("a gate")["outcome"].clone()
        };
        assert_eq!((gate("client"), gate("counts")), ("not_applicable".into(), "not_applicable".into()));
        assert_eq!((gate("errors"), gate("restarts")), ("passed".into(), "passed".into()));
        for file in ["load.hlog", "telemetry.parquet", "server.log"] {
            assert!(trial.join(file).is_file(), "{file} of {}", trial.display());
        }
    }
    let caveats = json(&run.join("verdict.json"))["caveats"].to_string();
    assert!(caveats.contains("own-load") && !caveats.contains("loopback"), "{caveats}");
}

#[test]
fn the_operations_of_the_example_are_mixed_by_their_weights() {
    let home = home(|runner| runner);
    let plan = home.small_plan(&VARIANTS);
    home.run(&["run", &plan]);
    let record = json(&trials(&only_run(&home))[0].join("trial.json"));
    let operations = &record["phases"][0]["operations"];
    let count = |at: usize| operations[at]["requests"].as_u64().expect("a count") as f64;
    let share = count(0) / (count(0) + count(1));
    assert!((0.85..0.95).contains(&share), "{operations}");
}

#[test]
fn a_wrong_runner_fails_its_trial_with_the_reason() {
    for (from, to, why) in [
        ("send({\"runner\": 1})", "print(\"hello\", flush=True)", "the runner printed \"hello\""),
        ("send({\"runner\": 1})", "send({\"runner\": 2})", "uses version 2 of the protocol"),
        ("send({\"runner\": 1})", "sys.exit(\"no data\")", "no data"),
        ("counts.setdefault(name", "counts.setdefault(\"lnog\"", "\"lnog\" is no operation of this run"),
        ("index, counts = now, {}", "sys.exit(\"lost the disk\")", "lost the disk"),
        ("send({\"stopped\": time.monotonic() - begin})", "send({\"stopped\": 77})", "ran for 77.000 s"),
    ] {
        let home = home(|runner| {
            assert!(runner.contains(from), "{from}");
            runner.replace(from, to)
        });
        let output = home.run(&["run", &home.small_plan(&VARIANTS)]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        let line = message.lines().find(|line| line.starts_with("showdown: ")).unwrap_or_default();
        assert!(line.contains(why), "{to}: {message}");
        home.assert_nothing_runs();
        let record = json(&trials(&only_run(&home))[0].join("trial.json"));
        assert_eq!(record["status"], "failed");
    }
}

#[test]
fn options_that_need_a_rate_or_connections_are_refused() {
    let home = home(|runner| runner);
    for (args, why) in [
        (&["compare", VARIANTS[0], VARIANTS[1], "--measure", "capacity"][..], "has no capacity"),
        (&["compare", VARIANTS[0], VARIANTS[1], "--slo", "p99<1ms"], "nor a capacity"),
        (&["compare", VARIANTS[0], VARIANTS[1], "--rates", "10"], "has no capacity"),
        (&["compare", VARIANTS[0], VARIANTS[1], "-c", "8"], "has no connections"),
        (&["sweep", "hash", "--vary", "rate=1..8"], "no connections or rate"),
        (&["sweep", "hash", "--vary", "connections=1..8"], "no connections or rate"),
        (&["compare", VARIANTS[0], VARIANTS[1], "--on-op", "shrot"], "did you mean \"short\"?"),
    ] {
        let output = home.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(why), "{args:?}: {}", text(&output.stderr));
    }
}
