//! BMCs by https: openssl serves a recorded answer with a certificate of an authority, or with one that it signed itself.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use super::plugs::private_file;
use super::{Peer, error, open, watts};

/// Runs openssl in a directory.
fn openssl(dir: &Path, args: &str) -> Command {
    let mut command = Command::new("openssl");
    command
        .args(args.split(' '))
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// An authority, and a certificate of it for 127.0.0.1.
fn certificates(dir: &Path) {
    fs::write(dir.join("san"), "subjectAltName=IP:127.0.0.1").expect("a file");
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    for args in [
        format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=lab"),
        format!("req {key} -keyout bmc.key -out bmc.csr -subj /CN=bmc"),
        "x509 -req -in bmc.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out bmc.pem -days 2 -extfile san"
            .to_owned(),
    ] {
        assert!(openssl(dir, &args).status().expect("openssl").success(), "openssl {args}");
    }
}

/// A BMC with one chassis, 1U.
fn start(dir: &Path) -> Peer {
    let chassis = dir.join("redfish/v1/Chassis/1U");
    fs::create_dir_all(&chassis).expect("a directory");
    let body = r#"{"PowerWatts":{"Reading":374}}"#;
    // -HTTP sends a file as it is, with the head of the answer in it.
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}", body.len());
    fs::write(chassis.join("EnvironmentMetrics"), format!("{head}\r\n\r\n{body}")).expect("a file");
    let serve = |port: u16| {
        let args = format!("s_server -accept 127.0.0.1:{port} -cert bmc.pem -key bmc.key -HTTP -quiet");
        openssl(dir, &args).spawn().expect("openssl")
    };
    Peer::start(serve, |port| TcpStream::connect(("127.0.0.1", port)).is_ok())
}

#[test]
fn the_certificate_of_a_bmc_is_checked_unless_the_user_says_otherwise() {
    let dir = tempfile::tempdir().expect("a directory");
    certificates(dir.path());
    let bmc = start(dir.path());
    let source = |rest: &str| open(&format!("redfish=https://127.0.0.1:{},chassis=1U{rest}", bmc.port));
    let file = private_file(dir.path(), "hunter2");
    let login = format!(",user=operator,password_file={file}");
    let authority = format!("{login},certificate={}", dir.path().join("ca.pem").display());
    assert_eq!(watts(&mut *source(&authority)), 374.0);
    assert_eq!(watts(&mut *source(&format!("{login},certificate=unverified"))), 374.0);
    let line = error(&mut *source(&login));
    assert!(line.contains("name its authority as certificate ="), "{line}");
}

#[test]
fn a_file_without_a_certificate_is_refused_before_anything_is_asked() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("empty.pem"), "nothing").expect("a file");
    for (file, part) in [("empty.pem", "has no certificate in PEM"), ("missing.pem", "cannot read")] {
        let path = dir.path().join(file);
        let keys = power::SourceKeys::from_argument(&format!(
            "redfish=https://127.0.0.1,certificate={}",
            path.display()
        ));
        let refused =
            keys.expect("an argument").check("bmc").expect("a source").open().expect_err("no authority");
        assert!(refused.contains(part), "{refused}");
    }
}
