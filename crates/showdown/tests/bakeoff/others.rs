//! A program of somebody else's beside a bake-off, from end to end: its trials do not count, and it is named.

use std::os::unix::fs::symlink;
use std::process::{Child, Command};
use std::thread;

use host::CpuSet;
use serde_json::Value;

use crate::home::{Home, json, only_run, text, trials};

/// What the gate says of each trial of a run that is held now.
fn gates(home: &Home, plan: &str) -> Vec<Value> {
    let output = home.run(&["run", plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    let run = only_run(home);
    let trials = trials(&run);
    let gate = |trial| {
        let record = json(&std::path::Path::join(trial, "trial.json"));
        let gates = record["gates"].as_array().expect("gates");
        gates.iter().find(|gate| gate["id"] == "others").expect("a gate of others").clone()
    };
    let gates: Vec<Value> = trials.iter().map(|trial| gate(trial)).collect();
    std::fs::remove_dir_all(run).expect("the run goes");
    gates
}

/// A loop that computes for nothing until it is dropped.
struct BusyLoop(Child);

impl Drop for BusyLoop {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it ends");
    }
}

/// A loop under this name, on the CPUs that the plan gives to the server.
fn busy_loop(home: &Home, plan: &str, name: &str) -> BusyLoop {
    let program = home.path(name);
    symlink("/bin/sh", &program).expect("a link");
    let plan: toml::Table = std::fs::read_to_string(plan).expect("a plan").parse().expect("TOML");
    let cpus: CpuSet = plan["cpus"]["server"].as_str().expect("CPUs").parse().expect("CPUs");
    let start = move || {
        cpus.pin_this_thread().expect("these CPUs");
        Command::new(program).args(["-c", "while :; do :; done"]).spawn().expect("a loop")
    };
    // Children inherit the CPUs of the thread that starts them: one that is for this alone.
    BusyLoop(thread::spawn(start).join().expect("a child"))
}

#[test]
fn a_program_beside_makes_trials_invalid_and_is_named() {
    const NAME: &str = "busy-stranger";
    let home = Home::new();
    let plan = home.small_plan(&["nginx", "nginx", "--on-op", "get-1k"]);
    let stranger = busy_loop(&home, &plan, NAME);
    let named = format!("{NAME} (pid {})", stranger.0.id());
    let beside = gates(&home, &plan);
    drop(stranger);
    for gate in &beside {
        assert_eq!(gate["outcome"], "failed", "{gate}");
        assert!(gate["message"].as_str().is_some_and(|message| message.contains(&named)), "{gate}");
    }
    // Other tests may run beside this one, but that loop does not.
    for gate in gates(&home, &plan) {
        assert!(gate["message"].as_str().is_some_and(|message| !message.contains(NAME)), "{gate}");
    }
}
