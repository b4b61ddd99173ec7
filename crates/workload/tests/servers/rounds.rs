//! What each server must do: the whole way from its start to its end.

use libtest_mimic::Failed;
use load::engine::{self, RunContext};
use workload::{Catalogue, Instance, ServerVariant, TypedValue, Workload};

use crate::scene::{KEYS, Scene, one_file, resolve};

/// Operations of a load.
const OPERATIONS: u64 = 400;

pub fn built_in(variant: &str) -> Result<(), Failed> {
    let (workload, variant) = resolve(variant)?;
    round(&Scene::new()?, &workload, &variant)
}

pub fn without_count() -> Result<(), Failed> {
    let (workload, variant) = resolve("apache:extended_status=off")?;
    let scene = Scene::new()?;
    let mut apache = Instance::start(&workload, &variant, &scene.stage()?)?;
    apache.check(&RunContext::default())?;
    assert_eq!(apache.count()?, None);
    Ok(())
}

pub fn ready_by_command() -> Result<(), Failed> {
    let scene = Scene::new()?;
    let server = r#"
start = ["python3", "-c", "import os, time; time.sleep(.2); open(os.environ['MARK'], 'w'); time.sleep(60)"]
environment = { MARK = "{{ dir }}/mark-{{ port }}" }
ready = { command = ["test", "-e", "{{ dir }}/mark-{{ port }}"] }
"#;
    let workload = one_file(&scene, server, "[[load.op]]\npath = \"/\"\n")?;
    let server = scene.start(&workload, "test")?;
    assert!(scene.stage()?.directory.join(format!("mark-{}", server.address().port())).exists());
    Ok(())
}

pub fn scaffold() -> Result<(), Failed> {
    let scene = Scene::new()?;
    workload::scaffold::create(scene.path(), "shop")?;
    let catalogue = Catalogue::with(scene.path());
    let (workload, variants) = catalogue.resolve(None, &workload::scaffold::example_variants("shop"))?;
    variants.iter().try_for_each(|variant| round(&scene, &workload, variant))
}

/// Whether it counts what it is asked for its count or not, no operation is lost.
pub fn uncounted_questions() -> Result<(), Failed> {
    let scene = Scene::new()?;
    workload::scaffold::create(scene.path(), "shop")?;
    let program = scene.path().join("shop/server.py");
    let text = std::fs::read_to_string(&program)?;
    let counts_all = "        count = next(answered)\n";
    assert!(text.contains(counts_all), "{text}");
    let counts_others = "        if url.path != '/stats':\n            Handler.answered = next(answered)\n        \
                         count = getattr(Handler, 'answered', 0)\n";
    std::fs::write(program, text.replace(counts_all, counts_others))?;
    let catalogue = Catalogue::with(scene.path());
    let (workload, variants) = catalogue.resolve(None, &workload::scaffold::example_variants("shop"))?;
    round(&scene, &workload, &variants[0])
}

/// Starts, checks, loads, compares the counts, stops.
fn round(scene: &Scene, workload: &Workload, variant: &ServerVariant) -> Result<(), Failed> {
    let stage = scene.stage()?;
    let mut server = Instance::start(workload, variant, &stage)?;
    let nobody = RunContext::default();
    server.populate(&nobody)?;
    server.check(&nobody)?;

    let before = server.count()?.ok_or("every server here counts")?;
    let spec = server.load_spec(workload.load.names.first().map(String::as_str))?;
    // Not every test machine sends 10 MiB at once.
    let spec = spec.with_connections(8).with_requests(OPERATIONS);
    let outcome = engine::run(&spec, &nobody, &mut |_| {})?;
    assert_eq!((outcome.total.succeeded(), outcome.total.errors().total()), (OPERATIONS, 0));
    let is_secure = variant.knobs.get("tls").is_some_and(|tls| *tls == TypedValue::Switch(true));
    assert_eq!(outcome.total.connections.tls.is_empty(), !is_secure);
    let after = server.count()?.ok_or("every server here counts")?;
    let counter = |name: &String| outcome.counters.iter().position(|counter| counter == name);
    let counted = match &after.client_counter {
        None => OPERATIONS,
        Some(name) => outcome.total.counters[counter(name).ok_or("the driver counts it")?],
    };
    assert_eq!(after.count - before.count, counted, "{} differs from the client's count", after.what);

    for (name, value) in &variant.knobs {
        assert_eq!(server.knobs().get(name), Some(value));
    }
    let facts = server.facts();
    assert!(facts.version.chars().any(|c| c.is_ascii_digit()), "no version: {facts:?}");
    assert!(stage.cpus.len() == 1 && server.address().ip().is_loopback());

    let processes = server.tree().processes();
    assert!(!processes.is_empty());
    server.stop()?;
    assert!(processes.iter().all(|process| !process.is_alive()), "something is left of {variant}");
    assert!(server.check_alive().is_err());
    Ok(())
}

pub fn password() -> Result<(), Failed> {
    let (workload, variant) = resolve("redis")?;
    let stage = Scene::new().and_then(|scene| Ok((scene.stage()?, scene)));
    let (stage, _scene) = stage?;
    let mut redis = Instance::start(&workload, &variant, &stage)?;
    redis.populate(&RunContext::default())?;

    let path = stage.directory.join("password");
    let password = std::fs::read_to_string(&path)?;
    assert_eq!(password.len(), 32);
    let config = std::fs::read_to_string(stage.directory.join("redis.conf"))?;
    assert!(config.contains(&password), "the server reads it");

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
    // Who does not know it is not let in, and nothing was asked of it that it does not count.
    assert_eq!(redis.count()?.map(|count| count.count), Some(KEYS));

    redis.stop()?;
    assert!(!path.exists());
    assert!(!std::fs::read_to_string(stage.directory.join("redis.conf"))?.contains(&password));
    Ok(())
}
