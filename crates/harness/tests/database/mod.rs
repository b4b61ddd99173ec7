//! A PostgreSQL database for one test: an ordinary process with a directory and a socket of its own, and a password.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use harness::store::address::{PasswordSources, read};
use harness::store::postgres::Postgres;
use rustix::process::{Pid, Signal, kill_process};

pub const PASSWORD: &str = "open-sesame-of-the-database";

/// The user `nobody`: PostgreSQL refuses to run as root.
const UNPRIVILEGED: u32 = 65_534;

/// The database.
pub struct TestPostgres {
    folder: tempfile::TempDir,
    server: Option<Child>,
}

impl TestPostgres {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        give_away(folder.path());
        let mut database = Self { folder, server: None };
        let password = database.path().join("password");
        fs::write(&password, PASSWORD).expect("a file");
        give_away(&password);
        let mut initdb = database.program("initdb");
        initdb.arg(format!("--pwfile={}", password.display()));
        initdb.args([
            "--username=showdown",
            "--auth=scram-sha-256",
            "--no-sync",
            "--locale=C",
            "--encoding=UTF8",
        ]);
        let made = initdb.arg("data").output().expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        fs::write(database.password_file(), format!("*:*:*:*:{PASSWORD}\n")).expect("a file");
        fs::set_permissions(database.password_file(), fs::Permissions::from_mode(0o600))
            .expect("permissions");
        database.serve();
        database
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A program of PostgreSQL, as an unprivileged user if root starts it. Debian has the programs beside one another, by version.
    fn program(&self, name: &str) -> Command {
        let mut versions: Vec<_> =
            fs::read_dir("/usr/lib/postgresql").expect("postgresql is installed").flatten().collect();
        versions.sort_by_key(fs::DirEntry::file_name);
        let program = versions.last().expect("a version").path().join("bin").join(name);
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            let id = UNPRIVILEGED;
            command.args([&format!("--reuid={id}"), &format!("--regid={id}"), "--clear-groups"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.path()).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// The file with the password, which only its owner can read.
    pub fn password_file(&self) -> PathBuf {
        self.path().join("pgpass")
    }

    /// Its URL, without the password.
    pub fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user=showdown", self.path().display())
    }

    /// Starts it, also again.
    pub fn serve(&mut self) {
        let log = fs::File::options().create(true).append(true).open(self.path().join("log")).expect("a log");
        let mut command = self.program("postgres");
        command.args(["-D", "data", "-c", "listen_addresses=", "-c", "max_connections=30"]);
        command.arg("-c").arg(format!("unix_socket_directories={}", self.path().display()));
        self.server = Some(command.stderr(log).spawn().expect("it starts"));
        let deadline = Instant::now() + Duration::from_mins(2);
        while let Err(error) = self.config().connect(postgres::NoTls) {
            let log = fs::read_to_string(self.path().join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "{error}: {log}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it at once, with all connections.
    pub fn stop(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        let _ = kill_process(Pid::from_child(&server), Signal::INT);
        let _ = server.wait();
    }

    /// How it is reached.
    pub fn config(&self) -> postgres::Config {
        let sources = PasswordSources { file: Some(self.password_file()), ..PasswordSources::default() };
        read(&self.url(), &sources).expect("a URL")
    }

    /// The store.
    pub fn open(&self) -> Postgres {
        Postgres::open(self.config()).expect("a store")
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        self.stop();
    }
}

fn give_away(path: &Path) {
    if rustix::process::geteuid().is_root() {
        chown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).expect("root may change owners");
    }
}
