//! Real servers for the tests: each is a process with its own directory and ports, and stops with its test.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A running server that accepts connections.
pub struct TestServer {
    child: Child,
    pub port: u16,
    /// The port for TLS.
    pub tls_port: u16,
    dir: tempfile::TempDir,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // nginx as one process misses a request to end that comes just before it waits for events, and then waits for ever.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A free port below the range that the kernel assigns to clients; different for each call.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 12_000 + (std::process::id() % 1_500) as u16 * 10;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl TestServer {
    fn start(program: &str, args: &[&str], dir: tempfile::TempDir, port: u16, tls_port: u16) -> Self {
        let is_ready = move || TcpStream::connect(("127.0.0.1", port)).is_ok();
        Self::start_until(program, args, dir, (port, tls_port), is_ready)
    }

    fn start_until(
        program: &str,
        args: &[&str],
        dir: tempfile::TempDir,
        (port, tls_port): (u16, u16),
        is_ready: impl Fn() -> bool,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(args).current_dir(dir.path()).stdin(Stdio::null()).stdout(Stdio::null());
        let log = fs::File::create(dir.path().join("stderr.log")).expect("a log");
        let child = command.stderr(log).spawn().unwrap_or_else(|e| panic!("{program} is needed: {e}"));
        let mut server = Self { child, port, tls_port, dir };
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_ready() {
            let ended = server.child.try_wait().expect("a child of this process").is_some();
            assert!(!ended && Instant::now() < deadline, "{program}: {}", server.read("stderr.log"));
            thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// The text of a file in the server's directory.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.path().join(name)).unwrap_or_default()
    }

    /// A path in the server's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file into the server's directory; returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).expect("a file");
        self.path(name).display().to_string()
    }

    /// `scheme://127.0.0.1:port`, followed by a path.
    pub fn url(&self, scheme: &str, path: &str) -> String {
        let port = if scheme == "https" { self.tls_port } else { self.port };
        format!("{scheme}://127.0.0.1:{port}{path}")
    }

    /// Sends a request and returns the reply up to `end`.
    fn ask(&self, request: &str, end: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        stream.write_all(request.as_bytes()).expect("the server reads");
        let mut reply = Vec::new();
        while !reply.ends_with(end.as_bytes()) {
            let mut buffer = [0; 4096];
            match stream.read(&mut buffer).expect("the server answers") {
                0 => break,
                count => reply.extend(&buffer[..count]),
            }
        }
        String::from_utf8(reply).expect("text")
    }
}

/// nginx with a file `/1k`, an access log of request lines, request counters, and TLS with a new certificate
/// (`cert.pem`).
pub fn nginx() -> TestServer {
    nginx_with(|_| String::new())
}

/// The same, with an error for every client that shows no certificate of its authority, which is that of `cert.pem`.
pub fn nginx_for_members() -> TestServer {
    nginx_with(|root| format!("ssl_client_certificate {root}/cert.pem; ssl_verify_client on;"))
}

/// nginx with further settings of its server, which may name the files of its directory.
pub fn nginx_with(settings: impl Fn(&str) -> String) -> TestServer {
    let dir = tempfile::tempdir().expect("a directory");
    let (port, tls_port) = (free_port(), free_port());
    fs::create_dir(dir.path().join("www")).expect("a directory");
    fs::write(dir.path().join("www/1k"), "x".repeat(1024)).expect("a file");
    let subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-keyout", "key.pem", "-out", "cert.pem", "-days", "2"])
        .args(subject)
        .current_dir(dir.path())
        .output()
        .expect("openssl is needed");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let root = dir.path().display().to_string();
    let settings = settings(&root);
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {root}/{kind};\n"))
        .concat();
    let config = format!(
        "daemon off; master_process off; pid {root}/pid; error_log {root}/error.log;
        events {{ worker_connections 4096; }}
        http {{
            {temporary}
            log_format request '$request'; access_log {root}/access.log request;
            default_type text/plain; keepalive_requests 1000000; root {root}/www;
            server {{
                listen 127.0.0.1:{port};
                listen 127.0.0.1:{tls_port} ssl;
                ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem; {settings}
                location = /status {{ stub_status; access_log off; }}
                location /echo/ {{ return 200 $request_uri; }}
            }}
        }}"
    );
    let path = dir.path().join("nginx.conf").display().to_string();
    fs::write(&path, config).expect("a file");
    TestServer::start("nginx", &["-c", &path, "-e", "error.log", "-p", &root], dir, port, tls_port)
}

impl TestServer {
    /// A certificate for a client and its key, as `--certificate` and `--key` take them: signed by the authority of nginx, or by
    /// itself.
    pub fn certificate_of_client(&self, name: &str, is_member: bool) -> [String; 2] {
        let [certificate, key] = ["pem", "key"].map(|ending| format!("{name}.{ending}"));
        let subject = format!("/CN={name}");
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
        openssl.args(["-subj", &subject, "-days", "2", "-keyout", &key, "-out", &certificate]);
        if is_member {
            openssl.args(["-CA", "cert.pem", "-CAkey", "key.pem"]);
        }
        let made = openssl.current_dir(self.dir.path()).output().expect("openssl is needed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        [certificate, key].map(|file| self.path(&file).display().to_string())
    }

    /// The number of requests that nginx has answered, including those for this counter.
    pub fn requests_of_nginx(&self) -> u64 {
        let status = self.ask("GET /status HTTP/1.0\r\n\r\n", "\u{0}");
        let counts = status.lines().find(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()));
        let requests = counts.and_then(|line| line.split_whitespace().nth(2)).and_then(|n| n.parse().ok());
        requests.unwrap_or_else(|| panic!("no count in {status}"))
    }

    /// The request lines in the access log, as soon as there are this many.
    pub fn access_log(&self, lines: usize) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let log = self.read("access.log");
            if log.lines().count() >= lines || Instant::now() > deadline {
                return log.lines().map(str::to_owned).collect();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// A statistic of memcached.
    pub fn memcached(&self, name: &str) -> u64 {
        let stats = self.ask("stats\r\n", "END\r\n");
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {stats}"))
    }

    /// The number of times that Redis has run a command.
    pub fn redis(&self, command: &str) -> u64 {
        let stats = self.ask("INFO commandstats\r\nQUIT\r\n", "+OK\r\n");
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.and_then(|rest| rest.split(',').next()?.parse().ok()).unwrap_or(0)
    }
}

/// An empty memcached.
pub fn memcached() -> TestServer {
    let dir = tempfile::tempdir().expect("a directory");
    let port = free_port();
    let text = port.to_string();
    // memcached needs -u if root starts it, and ignores the option otherwise.
    TestServer::start("memcached", &["-l", "127.0.0.1", "-p", &text, "-U", "0", "-u", "nobody"], dir, port, 0)
}

/// An empty memcached that listens on the socket `app.sock` only.
pub fn memcached_on_socket() -> TestServer {
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("app.sock");
    let path = socket.display().to_string();
    let is_ready = move || UnixStream::connect(&socket).is_ok();
    TestServer::start_until("memcached", &["-s", &path, "-a", "0700", "-u", "root"], dir, (0, 0), is_ready)
}

/// An empty Redis that stores nothing on disk. It listens on the socket `app.sock`, too.
pub fn redis() -> TestServer {
    let dir = tempfile::tempdir().expect("a directory");
    let port = free_port();
    let (text, socket) = (port.to_string(), dir.path().join("app.sock").display().to_string());
    let args =
        ["--port", &text, "--bind", "127.0.0.1", "--unixsocket", &socket, "--save", "", "--appendonly", "no"];
    TestServer::start("redis-server", &args, dir, port, 0)
}

/// Postfix's smtp-sink, which accepts mail and discards it.
pub fn smtp_sink(options: &[&str]) -> TestServer {
    let dir = tempfile::tempdir().expect("a directory");
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    // smtp-sink needs -u if root starts it, and refuses the option otherwise.
    let user: &[&str] = if rustix::process::geteuid().is_root() { &["-u", "nobody"] } else { &[] };
    TestServer::start("smtp-sink", &[user, options, &[&listen, "100"]].concat(), dir, port, 0)
}
