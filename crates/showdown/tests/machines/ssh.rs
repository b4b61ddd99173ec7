//! Hosts behind ssh that work: as root and as a user, through a jump host, over a slow link, with login shells of all kinds.

use super::lab::Lab;
use super::{json, stderr, wait_for};

const FAST: &[&str] = &["--for", "20ms", "--format", "json"];

#[test]
fn hosts_are_examined_and_the_program_is_copied_once() {
    let Some(lab) = Lab::up(2) else { return };
    let file = lab.read("hosts.toml");
    let first = lab.hosts(&file, FAST);
    assert_eq!((first.status.code(), stderr(&first).as_str()), (Some(0), ""));
    let report = json(&first);
    for (host, number) in report["hosts"].as_array().expect("hosts").iter().zip(1..) {
        assert_eq!((&host["reachable"], &host["kind"]), (&true.into(), &"lab".into()));
        let found = &host["found"];
        assert_eq!(found["facts"]["machine.hostname"], format!("c{number}"), "it runs over there");
        assert_eq!(found["cpus"], found["allowed_cpus"], "its share of the CPUs");
        assert_eq!(found["user_id"], 0);
        // A kernel without time namespaces has one clock for all.
        let file = lab.directory().join(format!("c{number}/monotonic_offset_s"));
        let known_s: i64 =
            std::fs::read_to_string(file).map_or(0, |text| text.trim().parse().expect("seconds"));
        let clock = &found["clock"];
        let (measured, error) = (clock["monotonic_ns"].as_i64(), clock["error_ns"].as_u64());
        let wrong_by = measured.expect("a number").abs_diff(known_s * 1_000_000_000);
        assert!(wrong_by <= error.expect("a number"), "known: {known_s} s, measured: {clock}");
    }
    let [path] = &report["network"].as_array().expect("paths")[..] else { panic!("{report}") };
    assert!(
        path["path"]["median_us"].as_f64().expect("a time") > 0.0
            && path["problems"] == serde_json::json!([])
    );

    let cache = "/root/.cache/showdown/programs";
    let list = || lab.output_on("c1", &["find", cache, "-not", "-name", "checked", "-printf", "%M %i %P\n"]);
    let before = list();
    let [folder, of_hash, program] = &before.lines().collect::<Vec<_>>()[..] else { panic!("{before}") };
    assert!(
        [folder, of_hash, program].iter().all(|line| line[1..10] == *"rwx------"),
        "only its user can change it: {before}"
    );
    let second = lab.hosts(&file, &["--for", "0"]);
    assert!(second.status.success(), "{second:?}");
    assert!(String::from_utf8_lossy(&second.stdout).starts_with("All 2 hosts can be used."));
    assert_eq!(list(), before, "the same file");
    for host in ["c1", "c2"] {
        wait_for("the end of the agents", || lab.left_on(host).is_empty().then_some(()));
    }

    // A program that the disk has damaged is replaced.
    let path = format!("{cache}/{}", program.splitn(3, ' ').nth(2).expect("a path"));
    assert!(
        lab.on("c1", &["sh", "-c", &format!("printf x | dd of={path} conv=notrunc bs=1 seek=5000")])
            .status
            .success()
    );
    let third = lab.hosts(&file, &["--for", "0"]);
    assert!(third.status.success(), "{third:?}");
    assert_ne!(list(), before, "another file");
}

/// A relay that holds each piece back for 100 ms, in each direction.
const DELAY: &str = r"
import os, select, socket, sys, time
peer = socket.create_connection((sys.argv[1], 22))
ways = {0: peer.fileno(), peer.fileno(): 1}
late = []
while ways or late:
    wait = max(0, late[0][0] - time.monotonic()) if late else None
    for source in select.select(list(ways), [], [], wait)[0]:
        data = os.read(source, 65536)
        late.append((time.monotonic() + 0.1, ways[source], data))
        if not data:
            del ways[source]
    while late and late[0][0] <= time.monotonic():
        _, sink, data = late.pop(0)
        if not data:
            sys.exit()
        while data:
            data = data[os.write(sink, data):]
";

#[test]
fn users_shells_jump_hosts_and_slow_links() {
    let Some(lab) = Lab::up(2) else { return };
    let relay = lab.write("delay.py", DELAY);
    lab.configure_ssh(&format!(
        "Host behind\n HostName 10.77.0.1\n ProxyJump c2\n\
         Host slow\n HostName 10.77.0.2\n ProxyCommand python3 {} %h\n",
        relay.display()
    ));
    // Each sends the program to another home.
    let file = "[host.user]\nssh = \"ops@c1\"\naddress = \"10.77.0.1\"\n\
                [host.noisy]\nssh = \"noisy@c1\"\naddress = \"127.0.0.1\"\n\
                [host.fish]\nssh = \"fish@c1\"\naddress = \"127.0.0.2\"\n\
                [host.jump]\nssh = \"behind\"\naddress = \"127.0.0.3\"\n\
                [host.slow]\nssh = \"slow\"\naddress = \"10.77.0.2\"\n";
    let output = lab.hosts(file, &["--for", "0", "--format", "json"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let report = json(&output);
    let found = |number: usize| &report["hosts"][number]["found"];
    assert!(found(0)["user_id"].as_u64() > Some(2000), "an ordinary user");
    assert_eq!(found(3)["facts"]["machine.hostname"], "c1", "by way of c2");
    let clock = &found(4)["clock"];
    assert!(clock["round_trip_ns"].as_u64() >= Some(200_000_000), "100 ms each way: {clock}");
    let (offset, error) = (clock["wall_ns"].as_i64(), clock["error_ns"].as_i64());
    assert!(offset.expect("a number").abs() <= error.expect("a number"), "all have one wall clock: {clock}");
}
