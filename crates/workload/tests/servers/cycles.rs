//! The full cycle of each server: start, populate, check, load, compare the counts, stop.

use std::time::Duration;

use libtest_mimic::Failed;
use load::engine::{self, LoadOutcome, RunContext};
use workload::scaffold::ScaffoldProtocol;
use workload::{Catalogue, Instance, ServerVariant, TypedValue, Workload};

use crate::test_directory::{KEYS, TestDirectory, one_file, resolve};

/// The operations of a load.
const OPERATIONS: u64 = 400;

pub fn built_in(variant: &str) -> Result<(), Failed> {
    let (workload, variant) = resolve(variant)?;
    full_cycle(&TestDirectory::new()?, &workload, &variant)
}

/// A server need not have statistics; all else is as with them.
pub fn without_count(variant: &str) -> Result<(), Failed> {
    let (workload, variant) = resolve(variant)?;
    cycle(&TestDirectory::new()?, &workload, &variant, |server| {
        assert_eq!(server.count()?, None);
        let outcome = load_first_operation(server, &workload)?;
        assert_eq!((outcome.total.succeeded(), outcome.total.errors().total()), (OPERATIONS, 0));
        Ok(())
    })
}

pub fn ready_by_command() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let server = r#"
start = ["python3", "-c", "import os, time; time.sleep(.2); open(os.environ['MARK'], 'w'); time.sleep(60)"]
environment = { MARK = "{{ dir }}/mark-{{ port }}" }
ready = { command = ["test", "-e", "{{ dir }}/mark-{{ port }}"] }
"#;
    let workload = one_file(&directory, server, "[[load.op]]\npath = \"/\"\n")?;
    let server = directory.start(&workload, "test")?;
    assert!(server.directory().join(format!("mark-{}", server.address().port())).exists());
    Ok(())
}

pub fn tools_have_own_limit() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let limit = "import resource; print('limit', resource.getrlimit(resource.RLIMIT_NOFILE)[0])";
    let server = format!(
        r#"
prepare = [["sh", "-c", "ulimit -Sn >{{{{ dir }}}}/limit"]]
start = ["python3", "-m", "http.server", "--bind", "{{{{ host }}}}", "--directory", "{{{{ dir }}}}", "{{{{ port }}}}"]
ready = {{ http = "/" }}
version = {{ run = ["python3", "-c", "{limit}"], after = "limit" }}
"#
    );
    let workload = one_file(&directory, &server, "[[load.op]]\npath = \"/\"\n")?;
    // The engine does this for its connections.
    let raised = load::processes::connections_a_process();
    let server = directory.start(&workload, "test")?;
    assert_eq!(server.version(), crate::DESCRIPTORS.to_string(), "it is raised for {raised} connections");
    let prepared = std::fs::read_to_string(server.directory().join("limit"))?;
    assert_eq!(prepared.trim(), crate::DESCRIPTORS.to_string());
    let own = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    assert!(own.is_none_or(|own| own > crate::DESCRIPTORS), "the limit of this process was raised");
    Ok(())
}

/// Server and tools may write to TMPDIR, which is not that of this process: only root may write to that, perhaps.
pub fn own_temporary_directory() -> Result<(), Failed> {
    for unprivileged in [true, false] {
        let directory = TestDirectory::new()?;
        let server = format!(
            r#"
unprivileged = {unprivileged}
prepare = [["sh", "-c", "touch $TMPDIR/prepared && echo $TMPDIR >{{{{ dir }}}}/prepared"]]
start = ["sh", "-c", "touch $TMPDIR/started && exec python3 -m http.server --bind {{{{ host }}}} {{{{ port }}}}"]
ready = {{ http = "/" }}
version = {{ run = ["sh", "-c", "touch $TMPDIR/asked && echo at $TMPDIR"], after = "at" }}
"#
        );
        let workload = one_file(&directory, &server, "[[load.op]]\npath = \"/\"\n")?;
        let mut server = directory.start(&workload, "test")?;
        let temporary = std::path::PathBuf::from(server.version());
        assert!(temporary.starts_with(directory.path()), "{}", temporary.display());
        let prepared = std::fs::read_to_string(server.directory().join("prepared"))?;
        assert_eq!(prepared.trim(), temporary.to_string_lossy());
        server.stop()?;
        for name in ["prepared", "started", "asked"] {
            assert!(temporary.join(name).exists(), "{name} in {}", temporary.display());
        }
    }
    Ok(())
}

pub fn scaffold(protocol: ScaffoldProtocol) -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let (workload, variants) = create(&directory, protocol)?;
    // Each variant has a directory of its own, as each trial has.
    variants.iter().try_for_each(|variant| full_cycle(&TestDirectory::new()?, &workload, variant))
}

/// The example of a protocol, with the variants that it suggests.
pub fn create(
    directory: &TestDirectory,
    protocol: ScaffoldProtocol,
) -> Result<(Workload, Vec<ServerVariant>), Failed> {
    workload::scaffold::create(directory.path(), "shop", protocol)?;
    let catalogue = Catalogue::with(directory.path());
    Ok(catalogue.resolve(None, &protocol.example_variants("shop"))?)
}

/// Users log in to the shop that the example of a scenario starts.
pub fn scenario() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let (_, variants) = workload::scaffold::create_scenario(directory.path(), "shop")?;
    let (workload, variants) = Catalogue::with(directory.path()).resolve(None, &variants)?;
    cycle(&TestDirectory::new()?, &workload, &variants[0], |server| {
        let outcome = engine::run(
            &server.load_spec(None)?.with_requests(OPERATIONS),
            &RunContext::default(),
            &mut |_| {},
        )?;
        let errors = outcome.total.errors();
        assert_eq!(errors.total(), 0, "{:?}", errors.examples);
        assert!(outcome.total.operations.iter().all(|operation| !operation.response_time.is_empty()));
        Ok(())
    })
}

/// The count of operations is exact whether the server counts the queries of its statistics or not.
pub fn uncounted_queries() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let (workload, variants) = create(&directory, ScaffoldProtocol::Http)?;
    let program = directory.path().join("shop/server.py");
    let text = std::fs::read_to_string(&program)?;
    let counts_all = "        count = next(answered)\n";
    assert!(text.contains(counts_all), "{text}");
    let counts_others = "        if url.path != '/stats':\n            Handler.answered = next(answered)\n        \
                         count = getattr(Handler, 'answered', 0)\n";
    std::fs::write(program, text.replace(counts_all, counts_others))?;
    full_cycle(&directory, &workload, &variants[0])
}

/// A short load that the runner generates: every operation has been run, and none failed.
fn load_by_runner(runner: &Instance) -> Result<(), Failed> {
    let spec = runner.load_spec(None)?.with_duration(Some(Duration::from_secs(1)));
    let outcome = engine::run(&spec, &RunContext::default(), &mut |_| {})?;
    assert!(outcome.total.operations.iter().all(|operation| !operation.response_time.is_empty()));
    assert_eq!(outcome.total.errors().total(), 0);
    Ok(())
}

/// A load of [`OPERATIONS`]. Only the first operation: a slow test machine must not send replies of 10 MiB.
pub fn load_first_operation(server: &Instance, workload: &Workload) -> Result<LoadOutcome, Failed> {
    let spec = server.load_spec(workload.load.names.first().map(String::as_str))?;
    let spec = spec.with_connections(8).with_requests(OPERATIONS);
    Ok(engine::run(&spec, &RunContext::default(), &mut |_| {})?)
}

/// A load of [`OPERATIONS`], which client and server must count alike.
fn counted_load(server: &mut Instance, workload: &Workload, variant: &ServerVariant) -> Result<(), Failed> {
    let before = server.count()?.ok_or("the server has statistics")?;
    let outcome = load_first_operation(server, workload)?;
    assert_eq!((outcome.total.succeeded(), outcome.total.errors().total()), (OPERATIONS, 0));
    let is_secure = variant.knobs.get("tls").is_some_and(|tls| *tls == TypedValue::Switch(true));
    assert_eq!(outcome.total.connections.tls.is_empty(), !is_secure);
    let after = server.count()?.ok_or("the server has statistics")?;
    let by_client = match &after.client_counter {
        None => OPERATIONS,
        Some(name) => {
            let at = outcome.counters.iter().position(|counter| counter == name);
            outcome.total.counters[at.ok_or("the driver has the counter")?]
        }
    };
    assert_eq!(after.count - before.count, by_client, "{} differs from the client's count", after.what);
    Ok(())
}

/// Starts, populates, checks, loads, compares the counts, and stops.
pub fn full_cycle(
    directory: &TestDirectory,
    workload: &Workload,
    variant: &ServerVariant,
) -> Result<(), Failed> {
    cycle(directory, workload, variant, |server| {
        if workload.load.is_runner() {
            load_by_runner(server)
        } else {
            counted_load(server, workload, variant)?;
            everything_is_observed(server)
        }
    })
}

/// Every value that the workload observes is in the server's reply, and stays below its limit.
fn everything_is_observed(server: &Instance) -> Result<(), Failed> {
    let Some(observer) = server.observer()? else { return Ok(()) };
    let values = observer.read()?;
    let read: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
    assert_eq!(
        read,
        observer.names().collect::<Vec<_>>(),
        "the values of the workload, and those of the server"
    );
    for value in &values {
        assert!(value.limit.is_none_or(|limit| value.value <= limit), "{value:?}");
    }
    Ok(())
}

/// Starts, populates, checks, runs `load`, and stops.
fn cycle(
    directory: &TestDirectory,
    workload: &Workload,
    variant: &ServerVariant,
    load: impl FnOnce(&mut Instance) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let options = directory.options()?;
    let mut server = Instance::start(workload, variant, &options)?;
    let context = RunContext::default();
    server.populate(&context)?;
    server.check(&context)?;
    load(&mut server)?;

    for (name, value) in &variant.knobs {
        assert_eq!(server.knobs().get(name), Some(value));
    }
    let facts = server.facts();
    assert!(facts.version.chars().any(|c| c.is_ascii_digit()), "no version: {facts:?}");
    assert!(options.cpus.len() == 1 && server.address().ip().is_loopback());

    let processes = server.tree().processes();
    assert!(!processes.is_empty());
    server.stop()?;
    assert!(processes.iter().all(|process| !process.is_alive()), "a process of {variant} is left");
    assert!(server.check_alive().is_err());
    Ok(())
}

pub fn password() -> Result<(), Failed> {
    let (workload, variant) = resolve("redis")?;
    let directory = TestDirectory::new()?;
    let mut redis = Instance::start(&workload, &variant, &directory.options()?)?;
    let path = redis.directory().join("password");
    let password = std::fs::read_to_string(&path)?;
    // The server may change its copy: the engine has its own.
    std::fs::write(&path, "another")?;
    redis.populate(&RunContext::default())?;
    assert_eq!(password.len(), 32);
    let config_path = redis.directory().join("redis.conf");
    let config = std::fs::read_to_string(&config_path)?;
    assert!(config.contains(&password), "the server reads the password");

    let [command, shown] = redis.effective_configuration() else { return Err("two files".into()) };
    assert!(command.text.starts_with("redis-server\n") && !command.text.contains(&password));
    let shown = &shown.text;
    assert!(shown.contains("requirepass \"***\"") && !shown.contains(&password), "{shown}");
    assert!(!format!("{:?}", redis.facts()).contains(&password));
    assert!(!format!("{:?}", redis.load_spec(None)?).contains(&password));
    for process in redis.tree().processes() {
        let cmdline = std::fs::read(format!("/proc/{}/cmdline", process.pid))?;
        assert!(!String::from_utf8_lossy(&cmdline).contains(&password));
    }
    // Every set was authenticated and counted.
    assert_eq!(redis.count()?.map(|count| count.count), Some(KEYS));

    redis.stop()?;
    assert!(!path.exists() && !config_path.exists());
    Ok(())
}
