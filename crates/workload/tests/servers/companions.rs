//! Servers of several processes: companions start in order, know each other's addresses, are stopped in reverse order, and say in one
//! line what is wrong with them.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use load::engine::{self, RunContext};
use rustix::process::{Pid, Signal, kill_process};
use workload::{Catalogue, Instance, InstanceError, Instances, Workload};

use crate::test_directory::{TestDirectory, one_file};

/// A server that says which companions it knows. `COMPANIONS` stands for their tables.
const SERVER: &str = r#"
start = ["python3", "-m", "http.server", "--bind", "{{ host }}", "--directory", "{{ dir }}", "{{ port }}"]
ready = { http = "/" }
COMPANIONS
"#;
const OPERATIONS: &str = "[[load.op]]\nname = \"home\"\npath = \"/\"\n";

const MEMCACHED: &str = r#"
[[server.test.companion]]
name = "cache"
start = ["memcached", "-l", "{{ host }}", "-p", "{{ port }}", "-U", "0", "{{ '--user=' ~ user if user else '' }}"]
version = { run = ["memcached", "--version"], after = "memcached " }
"#;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("the example of several processes runs unchanged", scaffold),
        Trial::test("a database may be a companion, with the password of the start", database),
        Trial::test("companions start in order and stop in reverse order", order),
        Trial::test("a companion that does not start is reported in one line", mistakes),
        Trial::test("the end of a companion is noticed with its name", ends_meanwhile),
        Trial::test("a companion that ends while a later one starts is the reason", ends_before_the_next),
    ]
}

fn workload(directory: &TestDirectory, companions: &str) -> Result<Workload, Failed> {
    Ok(one_file(directory, &SERVER.replace("COMPANIONS", companions), OPERATIONS)?)
}

fn refused(directory: &TestDirectory, companions: &str) -> Result<String, Failed> {
    let workload = workload(directory, companions)?;
    let error = directory.start(&workload, "test").err().ok_or("it fails")?.to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    Ok(error)
}

/// The example of `workloads new --companions`: started, checked, loaded and stopped, with and without its cache.
fn scaffold() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let (_, variants) = workload::scaffold::create_with_companions(directory.path(), "shop")?;
    let (workload, variants) = Catalogue::with(directory.path()).resolve(None, &variants)?;
    for variant in &variants {
        let mut instances = Instances::start(&workload, variant, &directory.options()?)?;
        let context = RunContext::default();
        instances.populate(&context)?;
        instances.check(&context)?;
        let before = instances.count()?.ok_or("nginx counts")?.count;
        let spec = instances.load_spec(None)?.with_requests(500);
        let outcome = engine::run(&spec, &context, &mut |_| {})?;
        assert_eq!((outcome.total.succeeded(), outcome.total.errors().total()), (500, 0));
        assert_eq!(instances.count()?.ok_or("nginx counts")?.count - before, 500);
        let parts = instances.parts();
        let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["cache", "application", "web"]);
        assert!(parts.iter().all(|(_, trees)| !trees[0].processes().is_empty()));
        let logs: Vec<String> = instances.logs().into_iter().map(|(name, _)| name).collect();
        assert_eq!(logs, ["companion-cache-server.log", "companion-application-server.log", "server.log"]);
        let files: Vec<String> =
            instances.effective_configuration().into_iter().map(|file| file.name).collect();
        assert_eq!(
            files,
            ["companion-cache-command", "companion-application-command", "command", "nginx.conf"]
        );
        let known = workload::ServerFiles::of(workload.server("shop")?, variant);
        assert_eq!(
            (known.logs, known.configuration),
            (logs, files),
            "as a controller elsewhere expects them"
        );
        instances.stop()?;
        assert!(parts.iter().all(|(_, trees)| trees[0].processes().is_empty()));
    }
    Ok(())
}

/// A database with the password of the start, which the server reads, too.
fn database() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src/scaffold/mysql");
    for file in ["server.cnf", "account.sql"] {
        fs::copy(format!("{sources}/{file}"), directory.path().join(file))?;
    }
    fs::write(directory.path().join("shop.conf"), "{{ companion.database.port }} {{ password }}\n")?;
    let companions = r#"
password = true
config = ["shop.conf"]
[server.test.knobs]
flush_at_commit = { default = "2", choices = ["0", "1", "2"] }
buffer_pool = { default = 16, range = "16..64" }
[[server.test.companion]]
name = "database"
config = ["server.cnf", "account.sql"]
prepare = [
    ["install", "-d", "-m", "700", "{{ dir }}/socket", "{{ dir }}/files"],
    ["mariadb-install-db", "--no-defaults", "--datadir={{ dir }}/data", "--tmpdir={{ dir }}", "--skip-test-db",
     "--skip-name-resolve", "--auth-root-authentication-method=socket", "--auth-root-socket-user=root"],
]
start = ["mariadbd", "--defaults-file={{ dir }}/server.cnf"]
unprivileged = true
password = true
protocol = "mysql"
account = { user = "showdown", database = "load_test" }
ready = { sql = "SELECT 1", within = "30s" }
version = { run = ["mariadbd", "--version"], after = "mariadbd  Ver " }
observe = [{ sql = "SHOW GLOBAL STATUS LIKE 'Questions'", values = { questions = { counter = "Questions", about = "statements" } } }]
"#;
    let workload = workload(&directory, companions)?;
    let mut server = directory.start(&workload, "test")?;
    let (name, database) = server.companions().next().ok_or("it has a companion")?;
    assert_eq!(name, "database");
    assert!(!database.version().is_empty(), "its version is known");
    assert_ne!(database.directory(), server.directory());
    let port = database.address().port();
    let conf = fs::read_to_string(server.directory().join("shop.conf"))?;
    let password = fs::read_to_string(database.directory().join("password"))?;
    assert_eq!(conf, format!("{port} {password}\n"));
    let files = server.effective_configuration();
    assert!(files.iter().any(|file| file.text == format!("{port} ***\n")), "it is masked: {files:?}");
    server.stop()?;
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "it has ended");
    Ok(())
}

/// Each is ready before the next one starts, and the last one is stopped first.
fn order() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let diary = directory.path().join("diary");
    let script = directory.path().join("part.sh");
    let text = format!(
        "#!/bin/sh\ntrap 'echo \"$1 ends\" >> {diary}; exit 0' TERM\nsleep 0.2\necho \"$1 is ready\" >> {diary}\n\
         touch \"$2/ready\"\nwhile :; do sleep 0.05; done\n",
        diary = diary.display()
    );
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let part = |name: &str| {
        format!(
            "[[server.test.companion]]\nname = \"{name}\"\nstart = [\"{}\", \"{name}\", \"{{{{ dir }}}}\"]\n\
             ready = {{ command = [\"test\", \"-e\", \"{{{{ dir }}}}/ready\"] }}\n",
            script.display()
        )
    };
    let workload = workload(&directory, &(part("first") + &part("second")))?;
    directory.start(&workload, "test")?.stop()?;
    let lines = fs::read_to_string(&diary)?;
    assert_eq!(lines, "first is ready\nsecond is ready\nsecond ends\nfirst ends\n");

    fs::write(&diary, "")?;
    // It is dropped, and the server's own start fails.
    let failing = part("first") + &part("second");
    let failing = SERVER.replace("\"python3\", \"-m\"", "\"false\", \"-m\"").replace("COMPANIONS", &failing);
    let workload = one_file(&directory, &failing, OPERATIONS)?;
    let error = directory.start(&workload, "test").err().ok_or("it fails")?.to_string();
    assert!(error.starts_with("test (pid ") && error.contains("exited with status 1"), "{error}");
    assert_eq!(fs::read_to_string(&diary)?, lines, "those that were up are stopped");
    Ok(())
}

fn mistakes() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let companion = |keys: &str| format!("[[server.test.companion]]\nname = \"cache\"\n{keys}\n");
    let never = companion("start = [\"sleep\", \"60\"]\nready = { within = \"300ms\" }");
    let error = refused(&directory, &never)?;
    assert!(error.starts_with("companion cache of test (pid "), "{error}");
    assert!(error.contains("is not ready after 300 ms") || error.contains("not ready"), "{error}");

    let ends = companion("start = [\"sh\", \"-c\", \"echo no licence >&2; exit 3\"]");
    let error = refused(&directory, &ends)?;
    assert!(error.starts_with("companion cache of test (pid "), "{error}");
    assert!(error.contains("exited with status 3") && error.ends_with("its log ends: no licence"), "{error}");

    let missing = companion("start = [\"/nowhere/memcached\"]");
    let error = refused(&directory, &missing)?;
    assert!(error.contains("companion cache of test") && error.contains("/nowhere/memcached"), "{error}");

    let taken = TcpListener::bind(("127.0.0.1", 0))?;
    let port = taken.local_addr()?.port();
    let taken = companion(&format!(
        "start = [\"python3\", \"-m\", \"http.server\", \"--bind\", \"{{{{ host }}}}\", \"{port}\"]"
    ));
    let error = refused(&directory, &taken)?;
    assert!(
        error.starts_with("companion cache of test (pid ") && error.contains("Address already in use"),
        "{error}"
    );
    assert!(error.contains("give each start ports of its own, which follow from {{ port }}"), "{error}");
    Ok(())
}

/// The end of a companion is the end of the server, with the companion's name.
fn ends_meanwhile() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let workload = workload(&directory, MEMCACHED)?;
    let server: Instance = directory.start(&workload, "test")?;
    let (_, cache) = server.companions().next().ok_or("it has a companion")?;
    let pid = cache.tree().leader().ok_or("it runs")?.pid.cast_signed();
    server.check_alive()?;
    kill_process(Pid::from_raw(pid).ok_or("a process")?, Signal::KILL)?;
    let until = Instant::now() + Duration::from_secs(10);
    let error: InstanceError = loop {
        match server.check_alive() {
            Err(error) => break error,
            Ok(()) if Instant::now() > until => return Err("nobody notices".into()),
            Ok(()) => thread::sleep(Duration::from_millis(10)),
        }
    };
    let expected = format!("companion cache of test (pid {pid}) was killed by SIGKILL");
    assert!(error.to_string().starts_with(&expected), "{error}");
    Ok(())
}

/// A database that is killed while the application starts: the application would wait for it, and is not to blame.
fn ends_before_the_next() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let companions = r#"
[[server.test.companion]]
name = "database"
start = ["sh", "-c", "echo open; echo $$ > $0/pid; exec sleep 600", "{{ dir }}"]
ready = { command = ["test", "-s", "{{ dir }}/pid"] }
[[server.test.companion]]
name = "application"
start = ["sh", "-c", "echo no database; kill -9 $(cat $0/pid); exec sleep 600", "{{ companion.database.dir }}"]
ready = { command = ["false"], within = "10m" }
"#;
    let workload = workload(&directory, companions)?;
    let error = directory.start(&workload, "test").err().ok_or("it fails")?;
    let (line, logs) = (error.to_string(), error.logs());
    assert!(line.starts_with("companion database of test (pid "), "{line}");
    assert!(line.contains(" was killed by SIGKILL: ") && line.ends_with("its log ends: open"), "{line}");
    let logs: Vec<(&str, &str)> = logs.iter().map(|(name, log)| (name.as_str(), log.text.as_str())).collect();
    let expected =
        [("companion-database-server.log", "open\n"), ("companion-application-server.log", "no database\n")];
    assert_eq!(logs, expected);
    assert!(error.is_of_server());
    Ok(())
}
