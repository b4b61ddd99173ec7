//! A new database for one test, with its own directory and port. It stops with the test.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub const PASSWORD: &str = "open-sesame";

/// The user `nobody`: PostgreSQL refuses to run as root.
const UNPRIVILEGED: u32 = 65_534;

/// A running database that accepts logins.
pub struct TestDatabase {
    pub url: String,
    server: Child,
    directory: tempfile::TempDir,
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        self.kill();
    }
}

impl TestDatabase {
    pub fn mariadb() -> Self {
        let directory = directory();
        let (data, path) = (directory.path().join("data"), directory.path());
        run(
            path,
            "mariadb-install-db",
            &[
                "--no-defaults",
                &format!("--datadir={}", data.display()),
                &format!("--tmpdir={}", path.display()),
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ],
        );
        // Over the socket, a user is one of localhost.
        let grant = |host: &str| {
            format!("GRANT ALL ON load_test.* TO 'showdown'@'{host}' IDENTIFIED BY '{PASSWORD}';\n")
        };
        let account = format!("CREATE DATABASE load_test;\n{}{}", grant("127.0.0.1"), grant("localhost"));
        let account = write(path, "account.sql", &account);
        let port = free_port();
        let server = as_unprivileged(
            path,
            "mariadbd",
            &[
                "--no-defaults",
                &format!("--datadir={}", data.display()),
                &format!("--socket={}", path.join("socket").display()),
                &format!("--port={port}"),
                "--bind-address=127.0.0.1",
                "--skip-name-resolve",
                &format!("--init-file={}", account.display()),
            ],
        );
        Self::await_ready(server, directory, format!("mysql://showdown@127.0.0.1:{port}/load_test"), port)
    }

    pub fn postgres() -> Self {
        let directory = directory();
        let (data, path) = (directory.path().join("data"), directory.path());
        let password = write(path, "password", PASSWORD);
        run(
            path,
            "initdb",
            &[
                &format!("--pgdata={}", data.display()),
                "--username=showdown",
                &format!("--pwfile={}", password.display()),
                "--auth=scram-sha-256",
                "--no-sync",
            ],
        );
        let port = free_port();
        let server = as_unprivileged(
            path,
            "postgres",
            &[
                "-D",
                &data.display().to_string(),
                &format!("--port={port}"),
                "--listen-addresses=127.0.0.1",
                &format!("--unix-socket-directories={}", path.display()),
                "--deadlock-timeout=20ms",
            ],
        );
        // initdb creates this database.
        let url = format!("postgres://showdown@127.0.0.1:{port}/postgres");
        Self::await_ready(server, directory, url, port)
    }

    fn await_ready(mut command: Command, directory: tempfile::TempDir, url: String, port: u16) -> Self {
        let log = fs::File::create(directory.path().join("log")).expect("a log");
        let server = command.stdout(Stdio::null()).stderr(log).spawn().expect("the server starts");
        let mut database = Self { url, server, directory };
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let ended = database.server.try_wait().expect("a child of this process").is_some();
            let log = || fs::read_to_string(database.directory.path().join("log")).unwrap_or_default();
            assert!(!ended && Instant::now() < deadline, "{}: {}", database.url, log());
            if TcpStream::connect(("127.0.0.1", port)).is_ok() && database.answers() {
                return database;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether the login works: the first statement then fails, because there are no tables.
    fn answers(&self) -> bool {
        let output = self.load(&["-n", "1", "-c", "1", "--timeout", "5s"]);
        String::from_utf8_lossy(&output.stderr).contains("sbtest1")
    }

    /// The URL of the same database, through the socket in its directory.
    pub fn url_of_socket(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").expect("a scheme");
        let (address, name) = rest.rsplit_once('/').expect("a database");
        let port = address.rsplit_once(':').expect("a port").1;
        let socket = if scheme == "mysql" { "socket".to_owned() } else { format!(".s.PGSQL.{port}") };
        format!("{scheme}+unix://showdown@{}:/{name}", self.directory.path().join(socket).display())
    }

    /// Loads this database; the answer is JSON.
    pub fn load(&self, args: &[&str]) -> Output {
        Self::showdown(&self.url, PASSWORD, args).output().expect("showdown runs")
    }

    /// Starts a load of this database, with its progress as JSON.
    pub fn start_load(&self, args: &[&str]) -> Child {
        Self::showdown(&self.url, PASSWORD, &[args, &["--progress", "json"]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("showdown runs")
    }

    /// The command that loads the server of this URL.
    pub fn showdown(url: &str, password: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
        command.args(["load", url, "--format", "json"]).args(args);
        command.env("MYSQL_PWD", password).env("PGPASSWORD", password).stdin(Stdio::null());
        command
    }

    /// Kills the server, as a power failure does.
    pub fn kill(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    give_to_unprivileged(directory.path());
    directory
}

fn give_to_unprivileged(path: &Path) {
    if is_root() {
        chown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).expect("root may change owners");
    }
}

fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, text).expect("a file");
    give_to_unprivileged(&path);
    path
}

/// A command that runs as an unprivileged user, if root starts it.
fn as_unprivileged(directory: &Path, program: &str, args: &[&str]) -> Command {
    let environment = host::process::base_environment();
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        let id = UNPRIVILEGED;
        command.args([&format!("--reuid={id}"), &format!("--regid={id}"), "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    // A database that starts removes the temporary tables of all others that share its directory for them.
    command.args(args).current_dir(directory).env("TMPDIR", directory);
    command.env("PATH", &environment["PATH"]).stdin(Stdio::null());
    command
}

fn run(directory: &Path, program: &str, args: &[&str]) {
    let output = as_unprivileged(directory, program, args).output().expect("the program is installed");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {message}{}", String::from_utf8_lossy(&output.stdout));
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("a port").port()
}
