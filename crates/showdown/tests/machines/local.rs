//! Agents without ssh: children of `showdown hosts`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{SHOWDOWN, command, hosts_command, json, run, stderr, wait_for};

const TWO: &str = "[host.a]\naddress = \"127.0.0.1\"\n[host.b]\naddress = \"127.0.0.2\"\nkind = \"copy\"\n";

#[test]
fn a_measurement_that_runs_on_a_host_is_said() {
    let directory = tempfile::tempdir().expect("a directory");
    let lock = directory.path().join("lock");
    let holder = fs::File::create(&lock).expect("a file");
    holder.lock().expect("nobody else knows it");
    let words = hosts_command(&directory, "[host.a]\naddress = \"127.0.0.1\"\n");
    let output = command(&words).env("SHOWDOWN_LOCK", &lock).output().expect("showdown runs");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.starts_with("The host can be used.") && text.contains("another showdown is measuring there ("),
        "{text}"
    );
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn two_names_of_this_machine_are_examined_and_measured() {
    let directory = tempfile::tempdir().expect("a directory");
    let words = [hosts_command(&directory, TWO), strings(&["--for", "20ms", "--format", "json"])].concat();
    let output = run(&words);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let report = json(&output);
    let [a, b] = &report["hosts"].as_array().expect("hosts")[..] else { panic!("{report}") };
    assert_eq!((&a["name"], &b["kind"]), (&"a".into(), &"copy".into()));
    for host in [a, b] {
        assert_eq!(host["reachable"], true);
        let found = &host["found"];
        assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
        assert!(
            found["facts"]["kernel.release"].is_string()
                && !found["findings"].as_array().expect("a list").is_empty()
        );
        let clock = &found["clock"];
        let (offset, error) = (clock["monotonic_ns"].as_i64(), clock["error_ns"].as_i64());
        assert!(offset.expect("a number").abs() <= error.expect("a number"), "both have one clock: {clock}");
    }
    let [path] = &report["network"].as_array().expect("paths")[..] else { panic!("{report}") };
    assert_eq!((&path["from"], &path["to"]), (&"a".into(), &"b".into()));
    assert!(path["path"]["eight_streams_back_bytes_per_s"].as_f64().expect("a rate") > 0.0);
    assert!(report["notes"][0].as_str().expect("a note").starts_with("a, b run on one kernel"));
}

#[test]
fn what_the_hosts_file_says_wrong_of_a_host_is_a_line_and_the_others_are_shown() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = "[host.a]\naddress = \"127.0.0.1\"\n[host.b]\naddress = \"192.0.2.1\"\ncpus = \"0,1000\"\n";
    let output = run(&[hosts_command(&directory, text), strings(&["--for", "20ms"])].concat());
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.starts_with("1 of 2 hosts can be used.") && text.contains("\nb  192.0.2.1, this machine\n"),
        "{text}"
    );
    let errors = stderr(&output);
    let [address, cpus] = &errors.lines().collect::<Vec<_>>()[..] else { panic!("{errors}") };
    assert_eq!(
        *address,
        "showdown: host b cannot listen on 192.0.2.1 (Cannot assign requested address): correct its address in the hosts file"
    );
    assert!(
        cpus.starts_with("showdown: host b has the CPUs ")
            && cpus.ends_with("not all of 0,1000: correct cpus in the hosts file"),
        "{cpus}"
    );
}

#[test]
fn a_file_that_is_wrong_missing_or_of_others_is_a_usage_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let in_directory = || {
        let mut showdown = Command::new(SHOWDOWN);
        let output = showdown.arg("hosts").current_dir(directory.path()).stdin(Stdio::null()).output();
        output.expect("showdown runs")
    };
    let missing = in_directory();
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).starts_with("showdown: there is no hosts.toml here: write one"), "{missing:?}");
    let file = directory.path().join("hosts.toml");
    fs::write(&file, "[host.a]\naddres = \"127.0.0.1\"\n").expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("its permissions");
    let wrong = in_directory();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong)
            .starts_with("showdown: hosts.toml:2: unknown key \"addres\" (did you mean \"address\"?"),
        "{wrong:?}"
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("its permissions");
    let open = in_directory();
    assert_eq!(open.status.code(), Some(2));
    assert!(stderr(&open).contains("other users may write to"), "{open:?}");
    let program = run(&[
        hosts_command(&directory, &TWO.replacen("[host.a]", "[host.a]\nssh = \"a\"", 1)),
        strings(&["--program", "x"]),
    ]
    .concat());
    assert_eq!(program.status.code(), Some(2));
    assert!(stderr(&program).contains("write ARCHITECTURE=PATH"), "{program:?}");
}

/// `showdown hosts` in the middle of a long measurement, and the process IDs of its agents.
fn measuring(directory: &tempfile::TempDir) -> (Child, Vec<Pid>) {
    let words = [hosts_command(directory, TWO), strings(&["--for", "1h"])].concat();
    let child = command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("showdown runs");
    let agents = wait_for("two agents that measure", || {
        let agents = children(child.id());
        // Between hosts there is a port, and the agents are connected to it.
        (agents.len() == 2 && agents.iter().all(|agent| has_connection(*agent))).then_some(agents)
    });
    (child, agents.into_iter().map(|pid| Pid::from_raw(pid).expect("a process ID")).collect())
}

fn children(parent: u32) -> Vec<i32> {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        let mut fields = fields.split(' ');
        fields.next() != Some("Z") && fields.next() == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

fn has_connection(pid: i32) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
    let links = descriptors.into_iter().flatten().flatten().filter_map(|fd| fs::read_link(fd.path()).ok());
    links.into_iter().any(|link| link.to_string_lossy().starts_with("socket:"))
}

fn is_gone(pid: Pid) -> Option<()> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    (stat.is_empty() || stat.contains(") Z ")).then_some(())
}

#[test]
fn an_agent_that_is_killed_is_a_lost_host() {
    let directory = tempfile::tempdir().expect("a directory");
    let (child, agents) = measuring(&directory);
    kill_process(agents[1], Signal::KILL).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    let errors = stderr(&output);
    assert!(errors.contains(" was lost: its agent was killed: start again"), "{errors}");
    for agent in agents {
        wait_for("the end of the agent", || is_gone(agent));
    }
}

#[test]
fn agents_end_with_showdown_however_it_ends() {
    for signal in [Signal::KILL, Signal::INT] {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut child, agents) = measuring(&directory);
        kill_process(Pid::from_child(&child), signal).expect("it runs");
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), (signal == Signal::INT).then_some(130));
        for agent in agents {
            wait_for("the end of the agent", || is_gone(agent));
        }
    }
}

#[test]
fn the_agent_speaks_to_no_person() {
    let output =
        Command::new(SHOWDOWN).args(["agent", "--stdio", "--marker", "n"]).stdin(Stdio::null()).output();
    let output = output.expect("showdown runs");
    assert!(output.status.success(), "the end of its input is its end: {output:?}");
    assert!(output.stdout.starts_with(b"\nshowdown-n agent\n"));
    let help = Command::new(SHOWDOWN).arg("--help").output().expect("showdown runs");
    assert!(!String::from_utf8_lossy(&help.stdout).contains("agent"), "it is hidden");
}
