//! Servers on a machine that is asked: an agent of this machine, with a lock of its own. What a comparison needs of one,
//! in its order.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use load::engine::RunContext;
use machine::{AgentAccess, HostEntry, Machine, RecordedServer, RemoteMachine, ServerOrder};
use workload::{Catalogue, ServerVariant, Workload};

use super::{SHOWDOWN, script, wait_for};

struct Asked {
    directory: tempfile::TempDir,
    machine: RemoteMachine,
    interrupted: Arc<AtomicBool>,
}

fn open() -> Asked {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("agent");
    let lock = directory.path().join("lock");
    let text = format!("#!/bin/sh\nSHOWDOWN_LOCK={} exec {SHOWDOWN} \"$@\"\n", lock.display());
    script::write(&program, &text);
    let entry = HostEntry {
        name: "h".to_owned(),
        ssh: None,
        address: Ipv4Addr::LOCALHOST.into(),
        kind: None,
        cpus: None,
        become_root: Vec::new(),
    };
    let interrupted = Arc::default();
    let reach = AgentAccess::to([&entry], &[]).expect("no program is needed");
    let reach = AgentAccess { local_agent: program, ..reach };
    let machine = RemoteMachine::open(&entry, &reach, &interrupted, &|_| ());
    Asked { directory, machine: machine.expect("an agent"), interrupted }
}

fn order(machine: &RemoteMachine, workload: &Workload, server: &str) -> ServerOrder {
    let variant: ServerVariant = workload.variant(server, []).expect("a variant");
    ServerOrder {
        trial: 1,
        name: server.to_owned(),
        variant,
        cpus: machine.cpus().clone(),
        address: machine.address(),
        connections: 8,
        seed: 7,
        on_op: None,
    }
}

#[test]
fn a_server_is_started_loaded_recorded_and_stopped() {
    let asked = open();
    let machine = &asked.machine;
    let workload = Catalogue::with("/nowhere").find("cache").expect("a workload");
    let facts = machine.facts().expect("facts");
    assert!(facts.cpu.online > 0);
    machine.open_kernel_settings(&[]).expect("no settings");
    machine
        .ensure_servers(&workload, &[order(machine, &workload, "redis").variant])
        .expect("redis is installed");
    let mut server = machine.start(&workload, &order(machine, &workload, "redis")).expect("it starts");
    server.prepare().expect("the data is loaded");
    let before = server.count().expect("a count").expect("redis counts");
    let of_server = [RecordedServer { name: "server".to_owned(), trial: 1 }];
    let recorder = machine.record(&of_server, Duration::from_millis(20)).expect("a recording");
    assert!(recorder.began().elapsed() < Duration::from_mins(10), "on the clock of this process");

    // The password has come with the load.
    let spec = server.load_spec().expect("a load").with_connections(4).with_requests(500);
    let outcome = load::engine::run(&spec, &RunContext::default(), &mut |_| ()).expect("a load");
    assert_eq!(outcome.total.succeeded(), 500);
    let meter = server.cpu_meter();
    assert!(!meter.of_running().expect("CPU time").time.is_zero());
    assert!(!meter.used().expect("CPU time").whole.time.is_zero());
    let after = server.count().expect("a count").expect("redis counts");
    assert_eq!(after.count - before.count, 500);
    let recording = wait_for("a recording with samples", {
        let mut recorder = Some(recorder);
        move || recorder.take()?.stop().ok()
    });
    assert!(recording.columns.iter().any(|column| column.name == "server.cpu.user"));
    assert!(!recording.samples.is_empty() && recording.samples[0].values.len() == recording.columns.len());

    let facts = server.facts().expect("facts");
    assert_eq!((facts.name.as_str(), facts.version.is_empty()), ("redis", false));
    let configuration = server.configuration();
    assert!(configuration.iter().any(|(name, text)| name == "redis.conf" && text.contains("***")));
    assert!(server.check_alive().is_ok() && !server.logs().is_empty());
    assert!(machine.room().is_some_and(|room| room.directory.ends_with(" on host h")));
    server.stop();
    assert!(server.check_alive().is_err(), "it is gone");
    machine.remove_data(1);
    assert_eq!(machine.close_kernel_settings(), Vec::<String>::new());
    drop(asked.directory);
}

#[test]
fn a_server_of_several_processes_has_an_account_of_each_part() {
    let asked = open();
    let machine = &asked.machine;
    workload::scaffold::create_with_companions(asked.directory.path(), "shop").expect("a workload");
    let workload = Catalogue::with(asked.directory.path()).find("shop").expect("a workload");
    let order = order(machine, &workload, "shop");
    machine
        .ensure_servers(&workload, std::slice::from_ref(&order.variant))
        .expect("its programs are installed");
    let mut server = machine.start(&workload, &order).expect("it starts");
    server.prepare().expect("its replies are right");
    let used = server.cpu_meter().used().expect("CPU time");
    assert_eq!((used.parts.len(), used.parts.iter().sum::<Duration>()), (3, used.whole.time));
    let of_server = [RecordedServer { name: "server".to_owned(), trial: 1 }];
    let recorder = machine.record(&of_server, Duration::from_millis(20)).expect("a recording");
    let recording = recorder.stop().expect("its samples");
    for part in ["cache", "application", "web"] {
        let column = format!("server.part.{part}.cpu.time");
        assert!(recording.columns.iter().any(|known| known.name == column), "{column}");
    }
    let logs: Vec<String> = server.logs().into_iter().map(|(name, _)| name).collect();
    assert_eq!(logs, ["companion-cache-server.log", "companion-application-server.log", "server.log"]);
    assert!(server.facts().expect("facts").facts.contains_key("companion.cache.version"));
    server.stop();
    machine.remove_data(1);
}

#[test]
fn an_error_over_there_names_the_host_and_an_interruption_ends_what_takes_long() {
    let asked = open();
    let machine = &asked.machine;
    let workload = Catalogue::with("/nowhere").find("static-web").expect("a workload");
    machine
        .ensure_servers(&workload, &[order(machine, &workload, "nginx").variant])
        .expect("nginx is installed");
    let elsewhere = ServerOrder { address: [192, 0, 2, 1].into(), ..order(machine, &workload, "nginx") };
    let error = machine.start(&workload, &elsewhere).err().expect("no such address").to_string();
    assert!(error.starts_with("host h: "), "{error}");
    machine.remove_data(1);
    asked.interrupted.store(true, Ordering::Relaxed);
    let error = machine.start(&workload, &order(machine, &workload, "nginx")).err();
    assert!(matches!(error, Some(machine::MachineError::Interrupted)), "{error:?}");
    assert!(machine.facts().is_ok(), "what is to be read after it still is");
}
