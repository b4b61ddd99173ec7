//! Foreign load from end to end: another program on the CPUs of the server is named, unless three others were busier. It is noted, because
//! the servers of one machine meet it alike, in turns or in the order of a coin.

use std::os::unix::fs::symlink;
use std::process::{Child, Command};
use std::thread;

use host::CpuSet;
use serde_json::Value;

use crate::home::{TestHome, json, only_run, text, trials};

/// Runs a plan; returns the gate `others` of each trial.
fn gates(home: &TestHome, plan: &str) -> Vec<Value> {
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

/// A busy loop that ends when it is dropped.
struct BusyLoop(Child);

impl Drop for BusyLoop {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("it ends");
    }
}

/// Starts a busy loop under this name, on the CPUs of the server in the plan.
fn busy_loop(home: &TestHome, plan: &str, name: &str) -> BusyLoop {
    let program = home.path(name);
    symlink("/bin/sh", &program).expect("a link");
    let plan: toml::Table = std::fs::read_to_string(plan).expect("a plan").parse().expect("TOML");
    let cpus: CpuSet = plan["cpus"]["server"].as_str().expect("CPUs").parse().expect("CPUs");
    let start = move || {
        cpus.pin_this_thread().expect("these CPUs");
        Command::new(program).args(["-c", "while :; do :; done"]).spawn().expect("a loop")
    };
    // A child inherits the CPUs of the thread that starts it, so this thread does nothing else.
    BusyLoop(thread::spawn(start).join().expect("a child"))
}

#[test]
fn foreign_load_is_named_and_noted() {
    const NAME: &str = "busy-foreigner";
    let home = TestHome::new();
    let plan = home.small_plan(&["nginx", "nginx", "--on-op", "get-1k"]);
    let foreign = busy_loop(&home, &plan, NAME);
    let named = format!("{NAME} (pid {})", foreign.0.id());
    let beside = gates(&home, &plan);
    drop(foreign);
    for gate in &beside {
        assert_eq!(gate["outcome"], "noted", "{gate}");
        assert!(gate["share"].as_f64().is_some_and(|share| share > 0.02), "{gate}");
        let message = gate["message"].as_str().expect("a message");
        assert!(message.contains(&named) || message.matches("(pid ").count() == 3, "{gate}");
    }
    // Other tests may run at the same time, but this loop has ended.
    for gate in gates(&home, &plan) {
        assert!(gate["message"].as_str().is_some_and(|message| !message.contains(NAME)), "{gate}");
    }
}
