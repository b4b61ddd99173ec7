//! Plugs: Shelly of both generations, Tasmota.

use super::http_server::{Answer, HttpServer, json};
use super::{error, watts};

#[test]
fn a_shelly_of_the_second_generation_is_recognized_and_read() {
    let server = HttpServer::start(vec![
        (
            "/shelly",
            json(r#"{"name":null,"id":"shellyplusplugs-1","gen":2,"app":"PlusPlugS","auth_en":false}"#),
        ),
        (
            "/rpc/Switch.GetStatus?id=0",
            json(r#"{"id":0,"output":true,"apower":8.9,"aenergy":{"total":6.5}}"#),
        ),
    ]);
    let mut plug = server.source("shelly", "");
    assert_eq!((watts(&mut *plug), watts(&mut *plug)), (8.9, 8.9));
    let requests = server.requests.lock().unwrap();
    assert_eq!(
        requests.iter().filter(|head| head[0].contains("/shelly")).count(),
        1,
        "it is recognized once"
    );
}

#[test]
fn a_meter_without_a_switch_and_a_first_generation_are_read() {
    let mini = HttpServer::start(vec![
        ("/shelly", json(r#"{"gen":3}"#)),
        ("/rpc/PM1.GetStatus?id=0", json(r#"{"id":0,"voltage":230.1,"apower":41.5}"#)),
    ]);
    assert_eq!(watts(&mut *mini.source("shelly", "")), 41.5);
    let first = HttpServer::start(vec![
        ("/shelly", json(r#"{"type":"SHPLG-S","mac":"1","auth":false,"fw":"x"}"#)),
        ("/status", json(r#"{"meters":[{"power":62.03,"is_valid":true},{"power":5.0,"is_valid":true}]}"#)),
    ]);
    assert_eq!(watts(&mut *first.source("shelly", ",channel=1")), 5.0);
    assert!(error(&mut *first.source("shelly", ",channel=2")).contains("no meter 2"));
}

#[test]
fn a_tasmota_is_read_and_its_password_is_never_shown() {
    let status = r#"{"StatusSNS":{"Time":"2026-01-01T00:00:00","ENERGY":{"Total":3.185,"Power":32}}}"#;
    let open = HttpServer::start(vec![("/cm?cmnd=Status%2010", json(status))]);
    assert_eq!(watts(&mut *open.source("tasmota", "")), 32.0);
    let closed = HttpServer::start(vec![
        ("/cm?cmnd=Status%2010", json(r#"{"WARNING":"Need user=<username>&password=<password>"}"#)),
        ("/cm?user=admin&password=hunter2%26&cmnd=Status%2010", json(status)),
    ]);
    assert!(error(&mut *closed.source("tasmota", "")).contains("refuses access"));
    let dir = tempfile::tempdir().unwrap();
    let login = |password: &str| {
        let file = private_file(dir.path(), password);
        format!(",user=admin,password_file={file}")
    };
    assert_eq!(watts(&mut *closed.source("tasmota", &login("hunter2&"))), 32.0);
    let mut wrong = closed.source("tasmota", &login("swordfish"));
    let line = error(&mut *wrong);
    assert!(line.contains("nothing there") && !line.contains("swordfish"), "{line}");
    assert!(!format!("{wrong:?}").contains("swordfish"));
}

#[test]
fn a_login_is_sent_to_a_shelly_that_wants_one() {
    // admin:secret
    let header = "Authorization: Basic YWRtaW46c2VjcmV0";
    let server = HttpServer::start(vec![
        ("/shelly", json(r#"{"type":"SHPLG-S","auth":true}"#)),
        (
            "/status",
            Answer::JsonFor(
                header,
                "Basic realm=\"plug\"",
                r#"{"meters":[{"power":7.5,"is_valid":true}]}"#.to_owned(),
            ),
        ),
    ]);
    let line = error(&mut *server.source("shelly", ""));
    assert!(line.contains("refuses access (status 401): check user and password_env"), "{line}");
    let dir = tempfile::tempdir().unwrap();
    let file = private_file(dir.path(), "secret");
    assert_eq!(watts(&mut *server.source("shelly", &format!(",user=admin,password_file={file}"))), 7.5);
}

#[test]
fn a_password_of_the_second_generation_is_not_sent() {
    let challenge = "Digest qop=\"auth\", realm=\"shellyplusplugs-1\", nonce=\"60dc2a3f\", algorithm=SHA-256";
    let header = "Authorization: Digest username=\"admin\"";
    let server = HttpServer::start(vec![
        ("/shelly", json(r#"{"gen":2,"auth_en":true}"#)),
        (
            "/rpc/Switch.GetStatus?id=0",
            Answer::JsonFor(header, challenge, r#"{"id":0,"apower":8.9}"#.to_owned()),
        ),
    ]);
    let dir = tempfile::tempdir().unwrap();
    let file = private_file(dir.path(), "hunter2");
    assert_eq!(watts(&mut *server.source("shelly", &format!(",user=admin,password_file={file}"))), 8.9);
    let requests = server.requests.lock().unwrap();
    let lines: Vec<&String> = requests.iter().flatten().collect();
    let answers =
        lines.iter().filter(|line| line.contains("uri=\"/rpc/Switch.GetStatus?id=0\", algorithm=SHA-256"));
    assert!(
        answers.count() > 0 && lines.iter().all(|line| !line.contains("hunter2") && !line.contains("Basic"))
    );
}

/// A file that only its owner may read.
pub fn private_file(dir: &std::path::Path, text: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join(format!("{}.secret", text.len()));
    std::fs::write(&path, text).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    path.display().to_string()
}
