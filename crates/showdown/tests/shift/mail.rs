//! `showdown shift` at a real HAProxy before real Postfix servers, with the PROXY protocol: a candidate that defers mail is rolled back, no
//! session is cut, and each message that was accepted is delivered once. Postfix needs root.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use host::process::tcp_probe;
use host::{Host, ServerCommand, ServerProcess};

use crate::assert_keys_are_documented;
use crate::site::{LOCALHOST, PATIENCE, PROGRAM, RunningShift, answer, eventually, weights};

/// The services of a server that accepts mail and delivers it to nobody.
const MASTER: &str = "
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
proxywrite unix - - n - 1 proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
";

/// A balancer with one old mail server, and a candidate and a control that are not in its backend. The candidate defers a recipient.
struct MailSite {
    socket: PathBuf,
    smtp: SocketAddr,
    plan: PathBuf,
    _servers: Vec<ServerProcess>,
    // Last: the directory is removed after its servers have ended.
    directory: tempfile::TempDir,
}

const SERVERS: [&str; 3] = ["old", "candidate", "control"];

impl MailSite {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).expect("its mode");
        let ports = Host::local().free_ports(LOCALHOST, SERVERS.len() + 2).expect("free ports");
        let address = |at: usize| SocketAddr::new(LOCALHOST, ports[at]);
        let (smtp, log) = (address(SERVERS.len()), address(SERVERS.len() + 1));
        let socket = directory.path().join("admin.sock");
        let mut servers = Vec::new();
        for (at, name) in SERVERS.into_iter().enumerate() {
            servers.push(start_postfix(&directory.path().join(name), name, address(at)));
        }
        let haproxy = format!(
            "global\n stats socket {} mode 600 level admin\n log {log} len 4096 format raw local0\n\
             defaults\n mode tcp\n timeout connect 1m\n timeout client 10m\n timeout server 10m\n option redispatch\n\
             \x20log global\n option tcplog\n\
             frontend mail\n bind {smtp}\n default_backend b\n\
             backend b\n balance roundrobin\n server old {} weight 64 send-proxy-v2\n",
            socket.display(),
            address(0),
        );
        let file = directory.path().join("haproxy.cfg");
        fs::write(&file, haproxy).expect("a file");
        let argv = ["haproxy", "-W", "-f", &file.display().to_string()];
        servers.push(start_server(directory.path(), "haproxy", &argv, smtp));
        let folder = directory.path().display();
        let plan = format!(
            "[balancer]\nsocket = \"{}\"\nbackend = \"b\"\nlog = \"{log}\"\nlease = \"1m\"\n\
             [old]\nservers = [\"old\"]\nmail_logs = [\"{folder}/old/maillog\"]\n\
             [candidate]\nname = \"candidate\"\naddress = \"{}\"\nproxy_protocol = true\nmail_log = \"{folder}/candidate/maillog\"\n\
             [control]\nname = \"control\"\naddress = \"{}\"\nproxy_protocol = true\nmail_log = \"{folder}/control/maillog\"\n\
             [rules]\nobjective = \"p99<10m\"\nsteps = [16]\ndwell = \"10m\"\nhard_deferred = \"100%\"\nhard_late = \"100%\"\n",
            socket.display(),
            address(1),
            address(2),
        );
        let plan_file = directory.path().join("plan.toml");
        fs::write(&plan_file, plan).expect("a file");
        Self { socket, smtp, plan: plan_file, _servers: servers, directory }
    }

    fn start_run(&self) -> RunningShift {
        let mut command = Command::new(PROGRAM);
        command.arg("shift").arg(&self.plan).args([
            "--yes",
            "--format",
            "json",
            "--progress",
            "none",
            "--runs",
        ]);
        command.arg(self.directory.path().join("runs")).stdin(Stdio::null());
        RunningShift::start(command, || self.candidate_weight().as_deref() == Some("16"))
    }

    fn candidate_weight(&self) -> Option<String> {
        weights(&self.socket).into_iter().find(|(name, _)| name == "candidate").map(|(_, weight)| weight)
    }

    /// How often each message was delivered, by its Message-ID, and by which servers.
    fn deliveries(&self) -> HashMap<String, Vec<&'static str>> {
        let mut deliveries: HashMap<String, Vec<&'static str>> = HashMap::new();
        for server in SERVERS {
            let log = fs::read_to_string(self.directory.path().join(server).join("maillog")).expect("a log");
            let mut messages = HashMap::new();
            for line in log.lines() {
                let Some((_, text)) = line.split_once("]: ") else { continue };
                let Some((queue_id, what)) = text.split_once(": ") else { continue };
                if let Some(message_id) = what.strip_prefix("message-id=") {
                    messages.insert(queue_id, message_id);
                } else if what.contains(", status=sent ") {
                    deliveries.entry(messages[queue_id].to_owned()).or_default().push(server);
                }
            }
        }
        deliveries
    }
}

fn start_server(directory: &Path, name: &str, argv: &[&str], ready: SocketAddr) -> ServerProcess {
    let log = directory.join(format!("{name}.log"));
    let command = ServerCommand::new(name, argv.iter().copied(), directory, log);
    let server = Host::local_with_supervisor(PROGRAM).start(&command).expect("it starts");
    let started = server.wait_ready(PATIENCE, tcp_probe(ready));
    assert!(started.is_ok(), "{started:?}: {}", server.log_tail());
    server
}

fn start_postfix(directory: &Path, name: &str, address: SocketAddr) -> ServerProcess {
    let folder = directory.display();
    for (below, owner) in [("", "root"), ("queue", "root"), ("data", "postfix")] {
        let path = directory.join(below).display().to_string();
        let made = Command::new("install").args(["-d", "-m", "755", "-o", owner, &path]).status();
        assert!(made.expect("it runs").success(), "{path}");
    }
    let access = if name == "candidate" { "later@mx.example 450 4.7.1 come later\n" } else { "" };
    let main = format!(
        "compatibility_level = 3.6\nqueue_directory = {folder}/queue\ndata_directory = {folder}/data\nmail_owner = postfix\n\
         setgid_group = postdrop\nmaillog_file = {folder}/maillog\nmaillog_file_prefixes = {folder}\n\
         myhostname = mx.example\nmydestination =\nmynetworks =\ninet_interfaces = {}\ninet_protocols = ipv4\n\
         local_recipient_maps =\nalias_maps =\nalias_database =\nvirtual_mailbox_domains = mx.example\n\
         virtual_mailbox_maps = static:all\nvirtual_transport = discard:\nsmtpd_peername_lookup = no\n\
         smtpd_upstream_proxy_protocol = haproxy\nsmtpd_relay_restrictions = reject_unauth_destination\n\
         smtpd_recipient_restrictions = check_recipient_access texthash:{folder}/access\nsmtpd_tls_security_level = none\n\
         smtpd_client_connection_count_limit = 0\nin_flow_delay = 0\n",
        address.ip()
    );
    let master = format!("{address} inet n - n - - smtpd{MASTER}");
    for (file, text) in [("main.cf", main.as_str()), ("master.cf", &master), ("access", access)] {
        fs::write(directory.join(file), text).expect("a file");
    }
    start_server(directory, name, &["postfix", "-c", &directory.display().to_string(), "start-fg"], address)
}

/// A session of SMTP.
struct Session {
    reader: BufReader<TcpStream>,
}

impl Session {
    /// Up to the greeting and the name of the client.
    fn begin(server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let mut session = Self { reader: BufReader::new(stream) };
        assert_eq!(session.reply(), 220);
        assert_eq!(session.say("HELO client.example"), 250);
        session
    }

    /// The status of the next answer. A session that was cut is a failure of the test.
    fn reply(&mut self) -> u32 {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("an answer");
        line.get(..3)
            .and_then(|status| status.parse().ok())
            .unwrap_or_else(|| panic!("a session was cut: {line:?}"))
    }

    fn say(&mut self, line: &str) -> u32 {
        self.reader.get_mut().write_all(format!("{line}\r\n").as_bytes()).expect("it is sent");
        self.reply()
    }

    /// Asks to accept a message. False if it is to be tried again later.
    fn offer(&mut self, recipient: &str) -> bool {
        assert_eq!(self.say("MAIL FROM:<sender@client.example>"), 250);
        match self.say(&format!("RCPT TO:<{recipient}@mx.example>")) {
            250 => {
                assert_eq!(self.say("DATA"), 354);
                true
            }
            450 => false,
            other => panic!("{other}"),
        }
    }

    fn send(&mut self, message_id: &str) {
        assert_eq!(self.say(&format!("Message-ID: {message_id}\r\nSubject: a test\r\n\r\nText\r\n.")), 250);
    }

    fn end(mut self) {
        assert_eq!(self.say("QUIT"), 221);
    }
}

/// Sends messages until the end, as clients do that try again what was deferred. Returns the Message-IDs that were accepted.
fn send_until(is_over: &AtomicBool, smtp: SocketAddr, number: &AtomicU32) -> Vec<String> {
    let mut accepted = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let message_id = format!("<{number}@client.example>");
        let recipient = if number.is_multiple_of(2) { "user" } else { "later" };
        loop {
            thread::sleep(Duration::from_millis(80));
            let mut session = Session::begin(smtp);
            let is_accepted = session.offer(recipient);
            if is_accepted {
                session.send(&message_id);
            }
            session.end();
            if is_accepted {
                break;
            }
        }
        accepted.push(message_id);
    }
    accepted
}

/// The test cannot be done here.
#[expect(clippy::print_stderr, reason = "why a test is not done must be seen")]
fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// Ends the users, also where the test fails.
struct EndsUsers<'a>(&'a AtomicBool);

impl Drop for EndsUsers<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_mail_server_that_defers_is_rolled_back_and_nothing_is_lost_or_delivered_twice() {
    if !rustix::process::geteuid().is_root() {
        skip("Postfix starts as root only");
        return;
    }
    let site = MailSite::start();
    let (is_over, number) = (AtomicBool::new(false), AtomicU32::new(0));
    let mut accepted = Vec::new();
    let output = thread::scope(|scope| {
        let users: Vec<_> =
            (0..4).map(|_| scope.spawn(|| send_until(&is_over, site.smtp, &number))).collect();
        let ends_users = EndsUsers(&is_over);
        let run = site.start_run();
        // Some of these are at the candidate, in the middle of a message, while it is rolled back.
        let mut slow = Vec::new();
        for _ in 0..12 {
            let mut session = Session::begin(site.smtp);
            assert!(session.offer("user"));
            slow.push(session);
        }
        eventually("the candidate is rolled back", || site.candidate_weight().as_deref() == Some("0"));
        for (number, mut session) in slow.into_iter().enumerate() {
            let message_id = format!("<slow-{number}@client.example>");
            session.send(&message_id);
            session.end();
            accepted.push(message_id);
        }
        let output = run.end();
        drop(ends_users);
        for user in users {
            accepted.extend(user.join().expect("no session was cut"));
        }
        output
    });
    let answer = answer(&output);
    let sentence = answer["answer"].as_str().expect("a sentence");
    assert_eq!((output.status.code(), &answer["status"]), (Some(1), &"rolled_back".into()), "{answer}");
    assert!(
        sentence.contains("of the candidate's messages were deferred, 0 % of the control's"),
        "{sentence}"
    );
    let sums = answer["mail"].as_array().expect("sums");
    assert_eq!(sums.len(), 2, "{answer}");
    let of_candidate = sums.iter().find(|sum| sum["server"] == "candidate").expect("its sums");
    assert_eq!(of_candidate["left_in_queue"], 0, "{answer}");
    assert!(of_candidate["deferred"].as_u64().is_some_and(|count| count > 10), "{answer}");
    assert_eq!(of_candidate["delivered_twice"], 0, "{answer}");
    assert_keys_are_documented(Path::new(answer["directory"].as_str().expect("a folder")));
    assert_eq!(weights(&site.socket), [("old".to_owned(), "64".to_owned())]);

    let mut deliveries = HashMap::new();
    eventually("each message is delivered", || {
        deliveries = site.deliveries();
        accepted.iter().all(|message_id| deliveries.contains_key(message_id))
    });
    assert_eq!(deliveries.len(), accepted.len(), "what was not accepted is not delivered");
    for (message_id, servers) in &deliveries {
        assert_eq!(servers.len(), 1, "{message_id} by {servers:?}");
    }
    assert!(deliveries.values().any(|servers| servers[..] == ["candidate"]), "the candidate had some");
}
