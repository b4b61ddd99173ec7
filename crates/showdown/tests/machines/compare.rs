//! Comparisons of servers on other hosts, in the lab. Its machine may be busy, so nothing is said of values and validity.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::lab::Lab;
use super::{SHOWDOWN, command, json, kill_those_with, nothing_is_left, skip, stderr, wait_for};

/// A kernel setting of each network namespace, which no other test changes.
const SETTING: &str = "net.ipv4.tcp_early_retrans";

/// A comparison with the shortest phases.
struct Comparison {
    runs: PathBuf,
    plan: PathBuf,
}

/// Makes the plan of a comparison on the controller of the lab, and shortens its phases.
fn planned(lab: &Lab, question: &[&str]) -> Comparison {
    let directory = lab.directory();
    let hosts = directory.join("hosts.toml").display().to_string();
    let words = [SHOWDOWN, "plan", "compare"].iter().chain(question).copied();
    let options = ["--hosts", &hosts, "--quick", "--blocks", "3", "-c", "2", "--seed", "1"];
    let output = lab.exec(&words.chain(options).collect::<Vec<_>>()).output().expect("it runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let plan = lab.write("plan.toml", &shortened(&String::from_utf8(output.stdout).expect("TOML")));
    Comparison { runs: directory.join("runs"), plan }
}

/// The text of a plan with the shortest phases.
pub fn shortened(plan: &str) -> String {
    let short = |line: &str| match line.split(" = ").next() {
        Some("min" | "closed_loop" | "load") => {
            line.split(" = ").next().map(|key| format!("{key} = \"200ms\""))
        }
        Some("max") => Some("max = \"400ms\"".to_owned()),
        _ => None,
    };
    let lines: Vec<String> =
        plan.lines().map(|line| short(line).unwrap_or_else(|| line.to_owned())).collect();
    lines.join("\n") + "\n"
}

impl Comparison {
    fn run(&self, lab: &Lab, rest: &[&str]) -> Command {
        let (plan, runs) = (self.plan.display().to_string(), self.runs.display().to_string());
        let lock = format!("SHOWDOWN_LOCK={}", lab.directory().join("lock").display());
        let words = ["env", &lock, SHOWDOWN, "run", &plan, "--yes", "--runs", &runs, "--format", "json"];
        lab.exec(&[&words, rest].concat())
    }

    /// The only run.
    fn directory(&self) -> PathBuf {
        let mut all = fs::read_dir(&self.runs).expect("runs").flatten().map(|entry| entry.path());
        all.find(|path| path.join("plan.toml").exists()).expect("a run")
    }

    /// A file of the only run.
    fn read(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.directory().join(name)).expect("a file of the run");
        serde_json::from_str(&text).expect("JSON")
    }

    /// All trials.
    fn trials(&self) -> Vec<Value> {
        let folders = fs::read_dir(self.directory().join("trials")).expect("trials").flatten();
        let trial = |folder: &Path| fs::read_to_string(folder.join("trial.json")).ok();
        let texts = folders.filter_map(|folder| trial(&folder.path()));
        texts.map(|text| serde_json::from_str(&text).expect("JSON")).collect()
    }
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started")
}

fn setting_of(lab: &Lab, host: &str) -> String {
    lab.output_on(host, &["sysctl", "-n", SETTING]).trim().to_owned()
}

fn is_recorded(output: &Output) -> bool {
    // 3: no trial was valid on a busy machine.
    matches!(output.status.code(), Some(0 | 3))
}

/// c1 has the servers, c2 and c3 make the load.
#[test]
fn clients_on_other_hosts_load_the_servers_and_are_counted_exactly() {
    let Some(lab) = Lab::up(3) else { return };
    let question = ["nginx", "nginx:worker_processes=2", "--on", "c1", "--clients", "c2,c3"];
    let comparison = planned(&lab, &[&question[..], &["--measure", "throughput"]].concat());
    let output = comparison.run(&lab, &[]).output().expect("it runs");
    assert!(is_recorded(&output), "{}", stderr(&output));
    let facts = comparison.read("facts.json");
    assert_eq!(facts["client"]["clients"], "c2, c3");
    for host in ["c1", "c2", "c3"] {
        assert_eq!(facts["hosts"][host]["machine.hostname"], host, "facts of servers and of clients");
    }
    let shared = &facts["shared_network"][0];
    assert_eq!(shared["server"], "c1", "what both clients move at the same time was measured");
    for way in ["to_clients_bytes_per_s", "to_server_bytes_per_s"] {
        assert!(shared[way].as_f64() > Some(0.0), "{way} {shared}");
    }
    let trials = comparison.trials();
    assert!(trials.len() >= 6, "{} trials", trials.len());
    for trial in &trials {
        let (status, reasons) = (trial["status"].as_str(), &trial["reasons"]);
        assert!(matches!(status, Some("valid" | "invalid")), "{status:?}: {reasons}");
        let counts = &trial["counts"][0];
        assert!(counts["client"].as_u64() > Some(0), "{trial}");
        assert_eq!(counts["client"], counts["server"], "what the clients and the server counted");
        for client in ["c2", "c3"] {
            let file = trial["files"]["clients_telemetry"][client].as_str().expect("each client is watched");
            assert!(comparison.directory().join(file).exists());
        }
    }
    nothing_is_left(&lab, &["c1", "c2", "c3"]);
    let words = [SHOWDOWN, "plan", "compare", "nginx", "apache", "--clients", "c2", "--hosts"];
    let hosts = lab.directory().join("hosts.toml").display().to_string();
    let refused = lab.exec(&[&words[..], &[&hosts]].concat()).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("client c2 cannot reach nginx on this machine's loopback"),
        "{refused:?}"
    );
}

#[test]
fn machine_against_machine_has_a_record_of_both() {
    let Some(lab) = Lab::up(2) else { return };
    let comparison =
        planned(&lab, &["nginx@c1", "nginx@c2", "--on-op", "get-1k", "--measure", "cpu", "--rate", "200"]);
    let output = comparison.run(&lab, &[]).output().expect("it runs");
    assert!(is_recorded(&output), "{}", stderr(&output));
    let verdict = json(&output);
    assert_eq!(verdict["variants"].as_array().map(Vec::len), Some(2));
    let ids: Vec<&str> =
        verdict["caveats"].as_array().expect("caveats").iter().filter_map(|c| c["id"].as_str()).collect();
    assert!(ids.contains(&"these-machines") && !ids.contains(&"loopback"), "{ids:?}");
    let audit = verdict["fairness"].as_array().expect("differences").iter().find(|d| d["key"] == "host");
    assert!(
        audit.is_some_and(|d| d["remark"].as_str().is_some_and(|text| text.contains("beside the machines")))
    );
    let facts = comparison.read("facts.json");
    for host in ["c1", "c2"] {
        assert_eq!(facts["hosts"][host]["machine.hostname"], host, "its own facts");
    }
    assert_eq!(facts["host"]["machine.hostname"], "controller");
    let trials = comparison.trials();
    assert!(trials.len() >= 6, "{} trials", trials.len());
    for trial in &trials {
        let (status, reasons) = (trial["status"].as_str(), &trial["reasons"]);
        assert!(matches!(status, Some("valid" | "invalid")), "{status:?}: {reasons}");
        assert_eq!(trial["turns"]["way"], trials[0]["turns"]["way"]);
        assert!(trial["cpu_time"]["operations"].as_u64() > Some(0), "{trial}");
        for file in ["telemetry", "client_telemetry"] {
            assert!(comparison.directory().join(trial["files"][file].as_str().expect("a file")).exists());
        }
        let host = trial["variant"].as_str().and_then(|name| name.strip_prefix("nginx@")).expect("a host");
        let number = host.strip_prefix('c').expect("c1 or c2");
        let command = fs::read_to_string(comparison.directory().join(format!(
            "{}/nginx.conf",
            trial["files"]["config"][0].as_str().and_then(|path| path.rsplit_once('/')).expect("a folder").0
        )));
        let listens = format!("listen 10.77.0.{number}:");
        assert!(command.is_ok_and(|text| text.contains(&listens)), "not on all addresses");
    }
    assert!(comparison.directory().join("report.html").exists());
    nothing_is_left(&lab, &["c1", "c2"]);
}

#[test]
fn two_servers_run_on_one_other_host_whose_kernel_settings_are_put_back() {
    let Some(lab) = Lab::up(2) else { return };
    let before = setting_of(&lab, "c1");
    let other = if before == "0" { "3" } else { "0" };
    let variant = format!("nginx:{SETTING}={other}");
    let comparison = planned(
        &lab,
        &["nginx", &variant, "--on", "c1", "--on-op", "get-1k", "--measure", "cpu", "--rate", "200"],
    );
    let allow = ["--allow-kernel", SETTING];
    let output = comparison.run(&lab, &allow).output().expect("it runs");
    assert!(is_recorded(&output), "{}", stderr(&output));
    assert_eq!(setting_of(&lab, "c1"), before);
    let facts = comparison.read("facts.json");
    let values: Vec<&Value> =
        facts["variants"].as_array().expect("variants").iter().map(|v| &v["knobs"][SETTING]).collect();
    assert_ne!(values[0], values[1], "{values:?}");

    // While the setting differs, ssh is killed.
    fs::remove_dir_all(&comparison.runs).expect("the first run");
    let child = start(&mut comparison.run(&lab, &allow));
    wait_for("the setting of the variant", || (setting_of(&lab, "c1") == other).then_some(()));
    kill_those_with(&lab, None, "ssh -T ");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("host c1 was lost: ssh was killed by signal 9"), "{}", stderr(&output));
    wait_for("the value from before", || (setting_of(&lab, "c1") == before).then_some(()));
    nothing_is_left(&lab, &["c1", "c2"]);
}

#[test]
fn a_host_that_is_lost_in_a_trial_fails_it_with_its_line_and_the_run_goes_on_later() {
    let Some(lab) = Lab::up(2) else { return };
    let comparison =
        planned(&lab, &["nginx@c1", "nginx@c2", "--on-op", "get-1k", "--measure", "cpu", "--rate", "200"]);
    // Long enough to be in the middle of it.
    let plan =
        fs::read_to_string(&comparison.plan).expect("the plan").replace("load = \"200ms\"", "load = \"3s\"");
    fs::write(&comparison.plan, plan).expect("a longer plan");
    let child = start(&mut comparison.run(&lab, &[]));
    for host in ["c1", "c2"] {
        wait_for("a loaded server", || {
            let open = lab.output_on(host, &["ss", "-Htnp", "state", "established", "src", "10.77.0.0/24"]);
            open.lines().any(|line| line.contains("nginx")).then_some(())
        });
    }
    kill_those_with(&lab, Some("c2"), "agent --stdio");
    wait_for("a server of c2 that its supervisor has stopped", || {
        lab.left_on("c2").iter().all(|line| !line.contains("nginx")).then_some(())
    });
    // The other server goes on, until the variant of the lost host has failed too often.
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let line = "host c2 was lost: its agent was killed: start again";
    assert!(stderr(&output).contains(line), "{}", stderr(&output));
    let trials = comparison.trials();
    for trial in &trials {
        let is_lost = trial["status"] == "failed";
        assert_eq!(is_lost, trial["variant"] == "nginx@c2", "{trial}");
        let lines = trial["reasons"].as_array().expect("reasons").iter().filter(|reason| **reason == line);
        assert_eq!(lines.count(), usize::from(is_lost), "{trial}");
    }
    nothing_is_left(&lab, &["c1", "c2"]);

    let plan = fs::read_to_string(comparison.directory().join("plan.toml")).expect("its plan");
    let short = plan.replace("load = \"3s\"", "load = \"200ms\"");
    fs::write(comparison.directory().join("plan.toml"), short).expect("a shorter plan");
    let (run, runs) = (comparison.directory().display().to_string(), comparison.runs.display().to_string());
    let lock = format!("SHOWDOWN_LOCK={}", lab.directory().join("lock").display());
    let words = ["env", &lock, SHOWDOWN, "resume", &run, "--yes", "--runs", &runs, "--format", "json"];
    let output = lab.exec(&words).stdout(Stdio::piped()).output().expect("it runs");
    assert!(is_recorded(&output), "{}", stderr(&output));
    let measured = comparison.trials().into_iter().filter(|trial| trial["variant"] == "nginx@c2");
    assert!(measured.filter(|trial| trial["status"] != "failed").count() >= 2, "c2 is there again");
    nothing_is_left(&lab, &["c1", "c2"]);
}

#[test]
fn mistakes_are_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let hosts = directory.path().join("hosts.toml");
    let of = |text: &str, words: &[&str]| {
        fs::write(&hosts, text).expect("a file");
        let file = hosts.display().to_string();
        let all = [&[SHOWDOWN, "plan", "compare"], words, &["--hosts", &file]].concat();
        let output = command(&all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).output();
        let output = output.expect("showdown runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        stderr(&output)
    };
    let two = "[host.old]\nssh = \"old\"\naddress = \"10.1.0.5\"\n[host.new]\nssh = \"new\"\naddress = \"10.1.0.6\"\n";
    for (words, said) in [
        (&["nginx@oled", "nginx@new"][..], "there is no host \"oled\" (known: old, new)"),
        (&["nginx", "apache", "--on", "elsewhere"], "there is no host \"elsewhere\" (known: old, new)"),
        (&["nginx", "apache"], "--hosts has no effect without a host"),
        (&["nginx@", "apache"], "it does not name a host"),
        (&["lmdb@old", "lmdb@new"], "makes its load by itself, beside the server"),
    ] {
        let error = of(two, words);
        assert!(error.contains(said) && error.lines().count() == 1, "{words:?}: {error}");
    }
    let public = of(&two.replace("10.1.0.5", "192.0.2.1"), &["memcached@old", "memcached@new"]);
    assert!(public.contains("host old: 192.0.2.1 is a public address"), "{public}");
}

/// Each start has a password, which its client here gets, and its processes drop root's rights.
#[test]
fn databases_on_another_host_let_the_client_log_in() {
    let Some(lab) = Lab::up(1) else { return };
    let comparison =
        planned(&lab, &["mariadb", "postgres", "--on", "c1", "--measure", "cpu", "--rate", "20"]);
    let output = comparison.run(&lab, &[]).output().expect("it runs");
    assert!(is_recorded(&output), "{}", stderr(&output));
    for trial in comparison.trials() {
        assert!(trial["cpu_time"]["operations"].as_u64() > Some(0), "{}", trial["reasons"]);
    }
    nothing_is_left(&lab, &["c1"]);
}

/// A lab of one host gives it all CPUs of this machine, so that two instances can have one each.
#[test]
fn instances_with_cpus_of_their_own_are_loaded_alone_and_together() {
    let Some(lab) = Lab::up(1) else { return };
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skip("two instances need a CPU each");
    }
    let workload = lab.directory().join("few-keys");
    fs::create_dir(&workload).expect("a directory");
    lab.write("few-keys/workload.toml", include_str!("../few-keys.toml"));
    let workload = workload.display().to_string();
    let isolated = "memcached:instances=2,isolation=cpus";
    let question = ["memcached:instances=2,isolation=none", isolated, "--on", "c1", "--workload", &workload];
    let comparison = planned(&lab, &[&question[..], &["--measure", "cpu", "--rate", "200"]].concat());
    let output = comparison.run(&lab, &[]).output().expect("it runs");
    assert!(is_recorded(&output), "{}", stderr(&output));
    let facts = comparison.read("facts.json");
    assert_eq!(facts["variants"][0]["facts"]["zone"], Value::Null);
    let zone = facts["variants"][1]["facts"]["zone"].as_str().expect("how they are kept apart");
    assert!(["control group v1", "control group v2", "affinity"].contains(&zone), "{zone}");
    for trial in comparison.trials() {
        let counts = &trial["counts"][0];
        assert_eq!(counts["client"], counts["server"], "also the operations of single instances");
        // On a busy machine a server may not keep up with the rate. What has no value has nothing beside it.
        if trial["measured"].is_null() {
            assert!(trial["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty()), "{trial}");
            assert_eq!(trial["neighbours"], Value::Null);
            continue;
        }
        let instances = trial["neighbours"]["instances"].as_array().expect("each instance");
        assert_eq!(instances.len(), 2);
        for load in instances.iter().flat_map(|instance| [&instance["alone"], &instance["beside"]]) {
            assert!(load["throughput_per_s"].as_f64() > Some(0.0), "{trial}");
        }
        assert!(trial["neighbours"]["all"]["p99_us"].as_u64() > Some(0), "{trial}");
    }
    nothing_is_left(&lab, &["c1"]);
}
