//! Rack PDUs: Debian's snmpd serves their objects from a table, through a script, as an ordinary process on a port of loopback.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use power::{Boundary, PowerError, PowerSource};

use super::plugs::private_file;
use super::{Peer, error, line, open, silence, watts};

/// What snmpd asks by `pass_persist`: the object of a name, from a table with a line `OID TYPE VALUE` for each. (`pass` starts a
/// script for each question, but keeps its answer for half a minute.)
const SCRIPT: &str = r#"while read -r question; do
    found=
    case $question in
        PING) found=PONG ;;
        get) read -r oid; found=$(awk -v oid="$oid" '$1 == oid { print $1; print $2; print $3 }' "$1/objects") ;;
        *) read -r oid ;;
    esac
    echo "${found:-NONE}"
done"#;

/// An agent with the trees of APC and Raritan.
struct Agent {
    peer: Peer,
    dir: tempfile::TempDir,
}

impl Agent {
    fn start(objects: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("pdu.sh"), SCRIPT).unwrap();
        set(dir.path(), objects);
        let is_ready = |port: u16| {
            // A PDU without the object is an answer, too.
            !matches!(source(dir.path(), port, "apc-rpdu", "").read(), Err(PowerError::NoAnswer { .. }))
        };
        let peer = Peer::start(|port| snmpd(dir.path(), port), is_ready);
        Self { peer, dir }
    }

    /// A source of this kind; `rest` begins with a comma.
    fn source(&self, kind: &str, rest: &str) -> Box<dyn PowerSource> {
        source(self.dir.path(), self.peer.port, kind, rest)
    }
}

/// The objects from now on. The file is replaced at once: the script reads a whole one.
fn set(dir: &Path, objects: &[&str]) {
    fs::write(dir.join("objects.new"), objects.join("\n") + "\n").unwrap();
    fs::rename(dir.join("objects.new"), dir.join("objects")).unwrap();
}

fn source(dir: &Path, port: u16, kind: &str, rest: &str) -> Box<dyn PowerSource> {
    let file = private_file(dir, "lab");
    open(&format!("{kind}=127.0.0.1:{port},community_file={file}{rest}"))
}

fn snmpd(dir: &Path, port: u16) -> Child {
    let script = format!("/bin/sh {0}/pdu.sh {0}", dir.display());
    let config = format!(
        "agentAddress udp:127.0.0.1:{port}\nrocommunity lab 127.0.0.1\n\
         pass_persist .1.3.6.1.4.1.318.1.1 {script}\npass_persist .1.3.6.1.4.1.13742.6 {script}\n"
    );
    fs::write(dir.join("snmpd.conf"), config).unwrap();
    let log = fs::File::create(dir.join("log")).unwrap();
    let mut command = Command::new("/usr/sbin/snmpd");
    command.args(["-f", "-Lo", "-r", "-C", "-c"]).arg(dir.join("snmpd.conf"));
    command.env("SNMP_PERSISTENT_DIR", dir.join("state")).stdin(Stdio::null());
    command.stdout(log.try_clone().unwrap()).stderr(log);
    command.spawn().expect("snmpd: scripts/install-packages test")
}

#[test]
fn an_apc_gives_watts_of_all_outlets_or_of_one() {
    let agent = Agent::start(&[
        ".1.3.6.1.4.1.318.1.1.26.4.3.1.5.1 integer 21",
        ".1.3.6.1.4.1.318.1.1.26.4.3.1.5.2 integer -1",
        ".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.5 integer 104",
        ".1.3.6.1.4.1.318.1.1.12.1.16.0 integer 230",
    ]);
    let mut all = agent.source("apc-rpdu2", "");
    assert_eq!((watts(&mut *all), all.about().boundary), (210.0, Boundary::Wall));
    assert_eq!(watts(&mut *agent.source("apc-rpdu2", ",outlet=5")), 104.0);
    assert_eq!(watts(&mut *agent.source("apc-rpdu2", ",version=1")), 210.0);
    assert_eq!(watts(&mut *agent.source("apc-rpdu", "")), 230.0);
    let unsupported = error(&mut *agent.source("apc-rpdu2", ",module=2"));
    assert!(unsupported.contains("this model has no meter there"), "{unsupported}");
    for version in ["1", "2c"] {
        let missing = error(&mut *agent.source("apc-rpdu2", &format!(",outlet=6,version={version}")));
        assert!(missing.contains("at .1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.6 has nothing there"), "{missing}");
    }
}

#[test]
fn a_reading_follows_the_pdu() {
    let of = |tens: u32| format!(".1.3.6.1.4.1.318.1.1.26.4.3.1.5.1 integer {tens}");
    let agent = Agent::start(&[&of(12)]);
    let mut source = agent.source("apc-rpdu2", "");
    assert_eq!(watts(&mut *source), 120.0);
    set(agent.dir.path(), &[&of(34)]);
    assert_eq!(watts(&mut *source), 340.0);
    set(agent.dir.path(), &[".1.3.6.1.4.1.318.1.1.26.4.3.1.5.1 string lots"]);
    let text = error(&mut *source);
    assert!(text.contains("it is not an integer"), "{text}");
}

#[test]
fn a_raritan_is_scaled_by_its_decimal_digits_and_its_unit_is_checked() {
    let agent = Agent::start(&[
        ".1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5 gauge 2075",
        ".1.3.6.1.4.1.13742.6.3.3.4.1.6.1.1.5 integer 3",
        ".1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5 gauge 1",
        ".1.3.6.1.4.1.13742.6.5.4.3.1.4.1.7.5 gauge 99",
        ".1.3.6.1.4.1.13742.6.3.5.4.1.6.1.7.5 integer 4",
        ".1.3.6.1.4.1.13742.6.3.5.4.1.7.1.7.5 gauge 0",
    ]);
    assert_eq!(watts(&mut *agent.source("raritan-px2", "")), 207.5);
    let unit = error(&mut *agent.source("raritan-px2", ",outlet=7"));
    assert!(unit.contains("its unit is number 4 of the MIB, and 3 is watt"), "{unit}");
}

#[test]
fn a_wrong_community_is_a_possible_reason_for_silence() {
    let agent = Agent::start(&[]);
    let file = private_file(agent.dir.path(), "other");
    let mut source = open(&format!("apc-rpdu2=127.0.0.1:{},community_file={file}", agent.peer.port));
    let line = silence(&mut *source);
    assert!(
        line.contains("silent if the community or the version is wrong") && !line.contains("other\""),
        "{line}"
    );
}

#[test]
fn garbage_instead_of_snmp_is_one_line() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let answers: [&[u8]; 6] = [
        b"",
        b"\x30",
        b"\x30\x84\xff\xff\xff\xff",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        &[0x30; 1500],
        &[0xff; 40],
    ];
    std::thread::spawn(move || {
        let mut request = [0; 1500];
        for answer in answers.iter().cycle() {
            let Ok((_, peer)) = socket.recv_from(&mut request) else { return };
            let _ = socket.send_to(answer, peer);
        }
    });
    for _ in answers {
        let error = open(&format!("apc-rpdu=127.0.0.1:{port}")).read().expect_err("no watts");
        assert!(matches!(error, PowerError::Answer { .. } | PowerError::NoAnswer { .. }), "{error:?}");
        line(&error);
    }
}
