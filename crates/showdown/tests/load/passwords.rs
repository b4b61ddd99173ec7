//! Secrets of the user: a server gets no password that it must not have.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::client::{CommandResult, command, start};
use crate::misbehaving::serve;

const SECRET: &str = "canary-4711-secret";

/// All bytes that a server has received.
type Received = Arc<Mutex<Vec<u8>>>;

/// A server of PostgreSQL's protocol that asks for the password, unencrypted, and accepts any.
fn curious_postgres() -> (SocketAddr, Received) {
    let received = Received::default();
    let all = received.clone();
    let address = serve(move |mut stream| {
        let mut block = [0; 4096];
        for reply in [&b"R\0\0\0\x08\0\0\0\x03"[..], b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", b""] {
            let Ok(count @ 1..) = stream.read(&mut block) else { return };
            all.lock().expect("no thread panics").extend_from_slice(&block[..count]);
            let _ = stream.write_all(reply);
        }
    });
    (address, received)
}

fn load_postgres(address: SocketAddr, option: Option<&str>) -> CommandResult {
    let url = format!("postgres://me@{address}/db");
    let mut load = command(&[&url, "-c", "1", "-n", "1", "--format", "json", "--progress", "none"]);
    load.args(option).env("PGPASSWORD", SECRET);
    start(load).wait()
}

#[test]
fn a_postgres_server_does_not_get_the_password_unless_the_user_allows_it() {
    let has_secret = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
    let (address, received) = curious_postgres();
    let refused = load_postgres(address, None);
    let text = format!("{}{}", refused.stdout, refused.stderr);
    assert!(text.contains("--allow-cleartext-password") && !text.contains(SECRET), "{refused:?}");
    let bytes = received.lock().expect("no thread panics").clone();
    assert!(!bytes.is_empty() && !has_secret(&bytes), "{}", bytes.escape_ascii());

    let (address, received) = curious_postgres();
    let allowed = load_postgres(address, Some("--allow-cleartext-password"));
    assert!(!format!("{}{}", allowed.stdout, allowed.stderr).contains(SECRET), "{allowed:?}");
    assert!(has_secret(&received.lock().expect("no thread panics")));
}

#[test]
fn secret_headers_are_sent_and_not_printed() {
    let received = Received::default();
    let all = received.clone();
    let address = serve(move |mut stream| {
        let mut block = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut block) {
            all.lock().expect("no thread panics").extend_from_slice(&block[..count]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
        }
    });
    for format in ["json", "text"] {
        let url = format!("http://{address}/");
        let mut load = command(&[&url, "-c", "1", "-n", "3", "--format", format, "--progress", "json"]);
        for header in
            ["authorization: Bearer", "Proxy-Authorization: Basic", "COOKIE: a=", "X-Api-Key:", "X-Other: 1"]
        {
            load.args([
                "-H",
                &if header.ends_with('1') { header.to_owned() } else { format!("{header} {SECRET}") },
            ]);
        }
        let result = start(load).wait();
        assert!(matches!(result.code(), 0 | 3), "{result:?}");
        assert!(!format!("{}{}", result.stdout, result.stderr).contains(SECRET), "{result:?}");
        if format == "json" {
            let headers = &result.json()["spec"]["protocol"]["operations"][0]["headers"];
            assert_eq!(
                (&headers["authorization"], &headers["X-Other"]),
                (&"***".into(), &"1".into()),
                "{headers}"
            );
        }
    }
    let sent = String::from_utf8_lossy(&received.lock().expect("no thread panics")).matches(SECRET).count();
    assert_eq!(sent, 2 * 3 * 4, "each request has them all");
}

#[test]
fn the_option_is_for_protocols_that_send_a_password() {
    let refused = start(command(&["mysql://me@127.0.0.1:1/db", "--allow-cleartext-password"])).wait();
    assert_eq!(refused.code(), 2);
    assert!(refused.stderr.contains("is for redis:// and postgres:// targets"), "{refused:?}");
}
