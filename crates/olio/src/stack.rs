//! All parts of one implementation, as processes of this program: database, cache, geocoder, application, web server. They listen on
//! the loopback address and end with this program. Load and measurement are left to `showdown`.

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use minijinja::{Environment, context};
use rand::RngExt;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::data::{self, WorkloadFolder, hexadecimal};
use crate::site::SessionStore;
use crate::{java, needs};

/// A part that is not ready after this time has failed.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// A part that is asked to end and does not is killed.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// Requests that an application answers at the same time.
const WORKERS: u32 = 8;
/// Processes of puma: as in the workload there are several, which are copies of one that has loaded the application.
const PUMA_PROCESSES: u32 = 2;
/// Connections that the database takes.
const MOST_CONNECTIONS: u32 = 500;
/// Java's heap.
const HEAP_MB: u32 = 256;

/// Which code answers the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Implementation {
    /// The reference
    Rust,
    /// PHP-FPM
    Php,
    /// Rails on puma
    Rails,
    /// Servlets and JSP on Tomcat
    Java,
}

impl Implementation {
    /// Its server in `workload.toml`.
    pub fn server(self) -> String {
        format!("olio-{self:?}").to_lowercase()
    }
}

/// What to start.
#[derive(Args)]
pub struct StackRequest {
    /// The implementation
    implementation: Implementation,
    /// Port of the web server; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Where sessions are
    #[arg(long, value_enum, default_value_t)]
    sessions: SessionStore,
    #[command(flatten)]
    data: data::DataChoice,
}

/// Starts it and waits until somebody ends this program.
pub fn run(request: &StackRequest) -> Result<()> {
    let mut ends = Signals::new([SIGINT, SIGTERM])?;
    let stack = Stack::start(request.implementation, request.sessions, &request.data, request.port)?;
    println!("http://127.0.0.1:{}/ (log in as person1 with the password 1; Ctrl-C ends it)", stack.port);
    ends.forever().next();
    Ok(())
}

/// A running implementation. Dropped, it is stopped, and its directory removed.
pub struct Stack {
    pub port: u16,
    pub database_port: u16,
    pub password: String,
    pub cache_port: u16,
    // Stopped in this order, before the directory is removed.
    parts: Vec<Part>,
    directory: tempfile::TempDir,
}

/// One process, stopped when it is dropped.
struct Part {
    name: &'static str,
    process: Child,
}

impl Stack {
    pub fn start(
        implementation: Implementation,
        sessions: SessionStore,
        data: &data::DataChoice,
        port: u16,
    ) -> Result<Self> {
        let workload = WorkloadFolder::open(data.workload.as_deref())?;
        needs::check(&workload.path, &implementation.server())?;
        check_free(port)?;
        let directory = tempfile::Builder::new().prefix("olio-").tempdir()?;
        let mut stack = Self {
            port: if port == 0 { free_port()? } else { port },
            database_port: free_port()?,
            password: hexadecimal(&rand::rng().random::<[u8; 16]>()),
            cache_port: free_port()?,
            parts: Vec::new(),
            directory,
        };
        let from = data::DataRequest {
            choice: data::DataChoice { workload: Some(workload.path.clone()), ..data.clone() },
            database: Some(stack.path("data")),
            assets: Some(stack.path("assets")),
            sources: None,
        };
        from.make()?;
        data::DataRequest { sources: Some(stack.path("sources")), ..from }.make()?;
        fs::create_dir(stack.path("uploads"))?;
        fs::create_dir(stack.path("sessions"))?;
        stack.render(&workload.path, implementation, sessions)?;
        stack.start_parts(implementation, sessions, data)?;
        Ok(stack)
    }

    fn start_parts(
        &mut self,
        implementation: Implementation,
        sessions: SessionStore,
        data: &data::DataChoice,
    ) -> Result<()> {
        let (database, cache, web) = (self.database_port, self.cache_port, self.port);
        let configuration = self.path("mariadb.cnf");
        self.spawn(
            "mariadbd",
            Command::new("mariadbd")
                .arg(format!("--defaults-file={}", configuration.display()))
                .arg(format!("--max-connections={MOST_CONNECTIONS}"))
                .args(as_root("--user=root")),
        )?;
        self.spawn(
            "memcached",
            Command::new("memcached")
                .args(["-l", "127.0.0.1", "-m", "64", "-p"])
                .arg(cache.to_string())
                .args(as_root("-uroot")),
        )?;
        let geocoder = free_port()?;
        let this_program = std::env::current_exe()?;
        self.spawn(
            "geocoder",
            Command::new(&this_program).args(["geocoder", "--port"]).arg(geocoder.to_string()),
        )?;
        self.wait(|| is_listening(database) && is_listening(cache) && is_listening(geocoder))?;

        let socket = self.path("application.sock");
        let mut application = match implementation {
            Implementation::Rust => {
                let mut command = Command::new(&this_program);
                command.arg("serve").arg("--socket").arg(&socket);
                command
            }
            Implementation::Php => {
                let mut command = Command::new("php-fpm8.2");
                command.args(["--nodaemonize", "--fpm-config"]).arg(self.path("php-fpm.conf"));
                command.args(as_root("--allow-to-run-as-root"));
                command
            }
            Implementation::Rails => {
                let rails = self.path("sources/rails");
                let mut command = Command::new("puma");
                command.arg("--config").arg(rails.join("config/puma.rb")).arg(rails.join("config.ru"));
                command.env("OLIO_SOCKET", &socket).env("OLIO_WORKERS", WORKERS.to_string());
                command.env("OLIO_PROCESSES", PUMA_PROCESSES.to_string());
                command
            }
            Implementation::Java => java::command(&java::JavaRequest {
                socket: Some(socket.clone()),
                compile: false,
                workers: WORKERS,
                pool: WORKERS,
                heap_mb: HEAP_MB,
                cache: data.cache.clone(),
                workload: data.workload.clone(),
            })?,
        };
        application
            .env("OLIO_DATABASE", format!("127.0.0.1:{database}"))
            .env("OLIO_DATABASE_PASSWORD", &self.password)
            .env("OLIO_CACHE", format!("127.0.0.1:{cache}"))
            .env("OLIO_SESSIONS", sessions.name())
            .env("OLIO_GEOCODER", format!("http://127.0.0.1:{geocoder}"))
            .env("OLIO_UPLOADS", self.uploads())
            .env("OLIO_NOW", data::NOW);
        self.spawn("application", &mut application)?;
        self.wait(|| UnixStream::connect(&socket).is_ok())?;
        let mut nginx = Command::new("nginx");
        nginx.arg("-c").arg(self.path("nginx.conf")).arg("-p").arg(self.path("")).args(["-e", "/dev/stderr"]);
        if is_root() {
            nginx.args(["-g", "user root;"]);
        }
        self.spawn("nginx", &mut nginx)?;
        self.wait(|| is_listening(web))
    }

    /// The configuration files of the workload, with the values of this start.
    fn render(&self, workload: &Path, implementation: Implementation, sessions: SessionStore) -> Result<()> {
        let environment = Environment::new();
        let application = match implementation {
            Implementation::Rust | Implementation::Rails | Implementation::Java => "http.application.conf",
            Implementation::Php => "fastcgi.application.conf",
        };
        for name in ["nginx.conf", application, "mariadb.cnf", "account.sql", "php-fpm.conf"] {
            let template =
                fs::read_to_string(workload.join(name)).with_context(|| format!("{name} cannot be read"))?;
            let port = if name == "nginx.conf" { self.port } else { self.database_port };
            let dir = text(self.directory.path());
            let user = if is_root() { "root" } else { "" };
            let companion = context! {
                application => context! { dir => dir.clone() }, cache => context! { port => self.cache_port },
            };
            let values = context! {
                host => "127.0.0.1", port, dir, user, companion,
                application_workers => WORKERS, worker_processes => 1, buffer_pool => 256, flush_at_commit => "0",
                password => self.password.clone(), sessions => sessions.name(),
            };
            fs::write(self.path(name), environment.render_str(&template, values)?)?;
        }
        Ok(())
    }

    pub fn uploads(&self) -> PathBuf {
        self.path("uploads")
    }

    /// Ends the cache, as if its machine were gone.
    pub fn stop_cache(&mut self) {
        self.parts.retain(|part| part.name != "memcached");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The kernel ends the process if this program is killed.
    fn spawn(&mut self, name: &'static str, command: &mut Command) -> Result<()> {
        let log = fs::File::create(self.path(&format!("{name}.log")))?;
        let mut wrapped = needs::program("setpriv");
        wrapped.args(["--pdeathsig", "TERM", "--"]).arg(command.get_program()).args(command.get_args());
        for (variable, value) in command.get_envs() {
            if let Some(value) = value {
                wrapped.env(variable, value);
            }
        }
        let process = wrapped.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
        let process = process.with_context(|| format!("{name} does not start"))?;
        self.parts.insert(0, Part { name, process });
        Ok(())
    }

    fn wait(&mut self, is_ready: impl Fn() -> bool) -> Result<()> {
        let begin = Instant::now();
        while !is_ready() {
            for index in 0..self.parts.len() {
                let name = self.parts[index].name;
                if let Some(status) = self.parts[index].process.try_wait()? {
                    bail!("{name} ended with {status}: {}", self.log(name));
                }
            }
            let name = self.parts[0].name;
            ensure!(begin.elapsed() < READY_WITHIN, "{name} is not ready: {}", self.log(name));
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// The end of a part's output, for messages.
    pub fn log(&self, name: &str) -> String {
        let log = fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default();
        let mut lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.reverse();
        lines.join(" / ")
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.process.id().to_string()).stderr(Stdio::null()).status();
        let begin = Instant::now();
        while begin.elapsed() < ENDS_WITHIN {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Whoever has the port would answer in place of the site.
fn check_free(port: u16) -> Result<()> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            bail!("port {port} is taken: end what listens there, or pass --port 0")
        }
        other => other.map(drop).with_context(|| format!("port {port} cannot be listened on: pass --port 0")),
    }
}

/// A port of the loopback address that nobody listens on.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn is_listening(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn is_root() -> bool {
    data::this_user() == 0
}

/// The argument with which a program agrees to run as root, if it must.
fn as_root(argument: &str) -> Option<&str> {
    is_root().then_some(argument)
}
