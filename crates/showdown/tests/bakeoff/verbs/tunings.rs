//! The menu of tunings, memory allocators as knobs, and the undoing of kernel settings, as a user sees them.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::geteuid;
use serde_json::Value;

use crate::home::{FEW_KEYS, TestHome, skip, text};

const TUNING: &str = "title = \"Mine\"\nabout = \"x\"\nservers = [\"nginx\"]\nscope = \"server\"\nundo = \"restart\"\n\
                      source = \"me\"\n[[level]]\nset = { reuseport = true }\nverify = \"reuseport\"\n";

#[test]
fn the_menu_has_the_tunings_of_a_server_with_risk_and_source() {
    let home = TestHome::new();
    fs::create_dir(home.path("tunings")).expect("a directory");
    fs::write(home.path("tunings/mine.toml"), TUNING).expect("a tuning");
    let output = home.run(&["tunings", "--server", "mariadb"]);
    let menu = text(&output.stdout);
    assert!(output.status.success() && menu.contains(" tunings for mariadb, "), "{menu}");
    for part in
        ["mariadb-flush-at-commit", "tried only with --allow durability", "risk ", "source ", "published "]
    {
        assert!(menu.contains(part), "{part}: {menu}");
    }
    assert!(!menu.contains("nginx-reuseport"), "{menu}");
    let menu: Value =
        serde_json::from_slice(&home.run(&["tunings", "--server", "nginx", "--format", "json"]).stdout)
            .expect("JSON");
    let ids: Vec<&str> = menu["tunings"]
        .as_array()
        .expect("tunings")
        .iter()
        .filter_map(|tuning| tuning["id"].as_str())
        .collect();
    assert!(ids.contains(&"mine") && ids.contains(&"allocator"), "{ids:?}");
}

#[test]
fn a_mistake_in_a_tuning_is_named_with_file_line_and_what_was_expected() {
    let home = TestHome::new();
    let refused = |args: &[&str]| {
        let output = home.run(&[&["tunings"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    fs::write(home.path("bad.toml"), TUNING.replace("scope = \"server\"", "scope = \"sever\""))
        .expect("a tuning");
    let error = refused(&["--rules", "bad.toml"]);
    assert!(error.contains("bad.toml:4: unknown value \"sever\" (did you mean \"server\"?"), "{error}");
    assert!(refused(&["--rules", "none.toml"]).contains("cannot read none.toml"));
    assert!(refused(&["--server", "ngnix"]).contains("no workload has a server \"ngnix\""));
}

#[test]
fn a_server_has_the_allocator_that_its_variant_asks_for_or_is_not_measured() {
    let home = TestHome::with_few_keys();
    fs::create_dir_all(home.path("workloads/cleared")).expect("a directory");
    // It clears its environment, so that no library is loaded before the C library.
    let workload = "title = \"Cleared\"\n[server.cleared]\nprotocol = \"memcache\"\n\
                    start = [\"env\", \"-i\", \"/usr/bin/memcached\", \"--user=nobody\", \"--listen={{ host }}\", \"--port={{ port }}\", \"--udp-port=0\"]\n\
                    [load]\nprotocol = \"memcache\"\nslo = \"p99<9ms\"\n[load.keyspace]\nkeys = 10\nvalue_size = \"10\"\n\
                    [[load.op]]\ncommand = \"get\"\n";
    fs::write(home.path("workloads/cleared/workload.toml"), workload).expect("a workload");
    for (variant, workload, has_it) in
        [("memcached:allocator=jemalloc", FEW_KEYS, true), ("cleared:allocator=jemalloc", "cleared", false)]
    {
        let plan = home.small_plan(&[variant, variant, "--workload", workload]);
        let output = home.run(&["run", &plan, "--progress", "json"]);
        let (events, answer) = (text(&output.stderr), text(&output.stdout));
        assert_eq!(events.contains("does not have libjemalloc.so.2 mapped"), !has_it, "{events} {answer}");
        if has_it {
            let run =
                fs::read_dir(home.path("runs")).expect("runs").flatten().find(|entry| entry.path().is_dir());
            let facts = fs::read_to_string(run.expect("a run").path().join("facts.json")).expect("facts");
            let facts: Value = serde_json::from_str(&facts).expect("JSON");
            assert_eq!(facts["variants"][0]["allocator"], "jemalloc", "{events}");
        }
    }
    home.assert_nothing_runs();
}

fn entry(setting: &str, old: &str) -> String {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot id");
    format!(
        "{{\"changing\":{{\"knob\":\"{setting}\",\"old\":\"{old}\",\"boot_id\":\"{}\"}}}}\n",
        boot_id.trim()
    )
}

#[test]
fn undo_says_what_is_left_and_what_another_run_still_uses() {
    let home = TestHome::new();
    let undo = || home.run(&["undo", "--journal", "journal"]);
    let output = undo();
    let error = text(&output.stderr);
    assert!(output.status.code() == Some(2) && error.contains("there is no journal"), "{error}");
    fs::create_dir(home.path("journal")).expect("a directory");
    fs::write(home.path("journal/knobs.journal"), "").expect("a journal");
    let output = undo();
    let nothing = "no kernel setting is left changed, by the journal in journal: ";
    assert!(text(&output.stdout).starts_with(nothing), "{}", text(&output.stderr));
    // Its value changes at each reading, and nobody can set it.
    fs::write(home.path("journal/knobs.journal"), entry("kernel.random.uuid", "7")).expect("a journal");
    let output = undo();
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.contains("kernel setting kernel.random.uuid is not restored to 7"), "{error}");

    let mut locker = Command::new("flock")
        .args([
            home.path("journal/knobs.journal").to_str().expect("a path"),
            "sh",
            "-c",
            "echo locked; exec cat",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("flock runs");
    let mut line = [0; 7];
    std::io::Read::read_exact(locker.stdout.as_mut().expect("its output"), &mut line)
        .expect("it has the lock");
    let output = undo();
    drop(locker.stdin.take());
    locker.wait().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("kernel settings are in use by"), "{}", text(&output.stderr));
}

#[test]
fn undo_restores_what_a_killed_run_has_left() {
    if !geteuid().is_root() {
        return skip("only root may mount a file over a kernel setting");
    }
    let home = TestHome::new();
    let file = "/proc/sys/net/ipv4/tcp_autocorking";
    fs::create_dir(home.path("journal")).expect("a directory");
    fs::write(home.path("journal/knobs.journal"), entry("net.ipv4.tcp_autocorking", "7")).expect("a journal");
    // A file is mounted over the setting in a name space of this test, so the machine keeps its own.
    let script = format!(
        "echo 3 > setting; mount --bind setting {file} || exit 77; {} undo --journal journal; cat {file}",
        env!("CARGO_BIN_EXE_showdown")
    );
    let mut command = Command::new("unshare");
    let output = home.at_home(command.args(["--mount", "sh", "-c", &script])).output().expect("unshare runs");
    if !output.status.success() && output.stdout.is_empty() {
        return skip("this container forbids mounts");
    }
    assert_eq!(
        text(&output.stdout),
        "net.ipv4.tcp_autocorking is back at 7 (a run had set 3)\n7\n",
        "{}",
        text(&output.stderr)
    );
    let again = home.run(&["undo", "--journal", "journal"]);
    assert!(text(&again.stdout).starts_with("no kernel setting is left changed"), "{}", text(&again.stderr));
}
