//! Errors are one line with the subject, the reason and the remedy.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use libtest_mimic::Failed;
use load::drivers::keyspace::KeyspaceSpec;
use load::drivers::mix::OperationMix;
use load::engine::RunContext;
use rustix::process::{Pid, Signal};
use workload::{Catalogue, Instance, InstanceError, ServerVariant, StartOptions};

use crate::test_directory::{TestDirectory, one_file, resolve};

const PYTHON: &str = r#"
start = ["python3", "-m", "http.server", "--bind", "{{ host }}", "--directory", "{{ dir }}", "{{ port }}"]
ready = { http = "/" }
"#;

fn refused(result: Result<impl Sized, InstanceError>) -> String {
    result.err().expect("it fails").to_string()
}

pub fn refused_configuration() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    for server in ["nginx", "apache", "redis"] {
        let (mut workload, variant) = resolve(server)?;
        for server in &mut workload.servers {
            server.config.iter_mut().for_each(|file| file.text.insert_str(0, "no_such_directive on\n"));
        }
        let error = refused(Instance::start(&workload, &variant, &directory.options()?));
        assert!(error.contains("exited with status 1"), "{error}");
        assert!(error.contains("no_such_directive"), "{error}");
    }
    Ok(())
}

pub fn wrong_answer() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let operations = "[[load.op]]\nname = \"home\"\npath = \"/\"\n\
                      [[load.op]]\nname = \"logo\"\npath = \"/logo.png\"\nexpect = { status = 200 }\n";
    let workload = one_file(&directory, PYTHON, operations)?;
    let mut server = directory.start(&workload, "test")?;
    let error = refused(server.check(&RunContext::default()));
    let expected =
        "test fails the check of operation \"logo\": logo: status 404 where 200 is expected; its log ends: ";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("File not found"), "{error}");
    Ok(())
}

/// Two servers are up at once, and want the same port for their metrics.
pub fn port_taken() -> Result<(), Failed> {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    let directory = TestDirectory::new()?;
    let server = PYTHON.replace("\"{{ port }}\"]", &format!("\"{}\"]", taken.local_addr()?.port()));
    assert_ne!(server, PYTHON);
    // Its check finds the port of the server, which this one uses for something else.
    let server = format!("{server}\nenvironment = {{ OTHER = \"{{{{ port }}}}\" }}");
    let workload = one_file(&directory, &server, "[[load.op]]\npath = \"/\"\n")?;
    let error = directory.start(&workload, "test").err().ok_or("its port is taken")?;
    assert!(!error.is_of_server(), "no server can have it");
    let error = error.to_string();
    assert!(error.contains("Address already in use") && error.contains("such as {{ port + 1 }}"), "{error}");
    Ok(())
}

pub fn no_such_counter() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let server = format!("{PYTHON}\nstatistics = {{ http = \"/\", counters = [\"requests_total\"] }}");
    let workload = one_file(&directory, &server, "[[load.op]]\npath = \"/\"\n")?;
    let error = refused(directory.start(&workload, "test")?.check(&RunContext::default()));
    assert!(
        error.starts_with("cannot read the statistics of test: there is no counter \"requests_total\""),
        "{error}"
    );
    Ok(())
}

pub fn no_memory() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    // 500 keys take 0.9 MB; Redis itself takes as much before the first.
    let (mut workload, _) = resolve("redis")?;
    let redis = workload.servers.iter_mut().find(|server| server.name == "redis").ok_or("cache has redis")?;
    redis.config[0].text.push_str("maxmemory 1mb\nmaxmemory-policy noeviction\n");
    let server = directory.start(&workload, "redis")?;
    let error = refused(server.populate(&RunContext::default()));
    assert!(
        error.starts_with("redis: ")
            && error.contains("operations failed while loading the data")
            && error.contains("OOM"),
        "{error}"
    );

    // It was never populated, as if it had evicted every value.
    let (workload, _) = resolve("memcached")?;
    let error = refused(directory.start(&workload, "memcached")?.check(&RunContext::default()));
    assert!(error.contains("check of operation \"get\": hit ratio 0.00 % (at least 99.90 %)"), "{error}");
    Ok(())
}

/// Each key that it does not store any more would be tried alone, for hours.
pub fn ends_while_loaded() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let (mut workload, _) = resolve("memcached")?;
    let keys = workload.load.mix.get::<KeyspaceSpec>().cloned().ok_or("cache has keys")?;
    workload.load.mix = OperationMix::new(KeyspaceSpec { keys: 1 << 40, ..keys });
    let server = directory.start(&workload, "memcached")?;
    let running = server.tree().processes();
    let pid = running.first().and_then(|process| Pid::from_raw(process.pid.cast_signed()));
    let pid = pid.ok_or("memcached has a process")?;
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        rustix::process::kill_process(pid, Signal::KILL)
    });
    let error = refused(server.populate(&RunContext::default()));
    killer.join().expect("it does not panic")?;
    assert!(error.contains("was killed by SIGKILL"), "{error}");
    Ok(())
}

pub fn never_ready() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let server = "start = [\"python3\", \"-c\", \"import time; time.sleep(60)\", \"{{ port }}\"]\n\
                  ready = { tcp = true, within = \"100ms\" }";
    let workload = one_file(&directory, server, "[[load.op]]\npath = \"/\"\n")?;
    let error = refused(directory.start(&workload, "test"));
    assert!(error.contains("was not ready within 100ms") && error.contains("does not accept"), "{error}");

    // The most frequent mistake of a first workload.
    let server = "start = [\"python3\", \"-u\", \"-c\", \"import socket; s = socket.create_server(('127.0.0.1', 0)); s.accept()\", \
                  \"{{ port }}\"]\nready = { tcp = true, within = \"2s\" }";
    let error =
        refused(directory.start(&one_file(&directory, server, "[[load.op]]\npath = \"/\"\n")?, "test"));
    assert!(
        error.contains("it listens on 127.0.0.1:") && error.contains("let it listen on {{ port }}"),
        "{error}"
    );

    let interrupted = Arc::new(AtomicBool::new(true));
    let variant =
        ServerVariant { server: "test".to_owned(), knobs: BTreeMap::new(), kernel: BTreeMap::new() };
    let stopped = Instance::start(&workload, &variant, &StartOptions { interrupted, ..directory.options()? });
    assert!(matches!(stopped, Err(InstanceError::Interrupted)), "{stopped:?}");
    Ok(())
}

/// Only servers that root starts have workers of another user.
pub fn unreachable_data() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let closed = directory.path().join("closed");
    std::fs::create_dir(&closed)?;
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700))?;
    let (workload, variants) = Catalogue::with("/nowhere").resolve(None, &["nginx"])?;
    let options = StartOptions { cache: closed.join("cache"), ..directory.options()? };
    let started = Instance::start(&workload, &variants[0], &options);
    if rustix::process::geteuid().is_root() {
        let error = refused(started);
        assert!(
            error.contains(&format!("who may not enter {}: let others enter it", closed.display())),
            "{error}"
        );
    } else {
        started?.check(&RunContext::default())?;
    }
    Ok(())
}
