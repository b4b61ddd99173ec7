//! Mistakes of a user: one line names the thing, the reason and the remedy, before any load.

use std::net::TcpListener;

use crate::client::load;
use crate::servers::free_port;

/// The one line that a failing command prints.
fn refusal(args: &[&str], code: i32) -> String {
    let ended = load(args);
    assert_eq!((ended.code(), ended.stdout.as_str()), (code, ""), "{args:?}: {ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{args:?}: {}", ended.stderr);
    assert!(ended.stderr.starts_with("showdown: "), "{args:?}: {}", ended.stderr);
    ended.stderr
}

/// Asserts that a command line is refused, and that the message contains these words.
fn assert_refused(args: &[&str], words: &[&str]) {
    let line = refusal(args, 2);
    for word in words {
        assert!(line.contains(word), "{args:?}: {line:?} does not contain {word:?}");
    }
}

/// A target that accepts connections but receives none.
struct IdleTarget {
    _listener: TcpListener,
    address: String,
}

fn target() -> IdleTarget {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    IdleTarget { _listener: listener, address }
}

#[test]
fn meaningless_amounts_are_refused() {
    let target = target();
    let url = format!("http://{}/", target.address);
    for rate in ["0", "1e99", "-5", "10x", "", "nan", "10k..", "1k,2k", "99999999999999999999"] {
        assert_refused(&[&url, &format!("--rate={rate}")], &["--rate", "is not"]);
    }
    for connections in ["0", "-1", "1.5", "many", "1e3", "99999999999999999999"] {
        let flag = format!("--connections={connections}");
        assert_refused(&[&url, &flag], &["--connections", "a number of connections from 1 to 1,000,000"]);
    }
    assert_refused(&[&url, "-c", "5000m"], &["--connections", "from 1 to 1,000,000"]);
    assert_refused(&[&url, "-d", "10x"], &["--duration", "10s"]);
    assert_refused(&[&url, "-d", "0s"], &["--duration", "above 0"]);
    assert_refused(&[&url, "-t", "0"], &["--threads"]);
    assert_refused(&[&url, "-t", "8", "-c", "4"], &["8 threads for 4 connections", "give each thread"]);
    assert_refused(&[&url, "--timeout", "0s"], &["--timeout"]);
    assert_refused(&[&url, "--requests-per-connection", "0"], &["--requests-per-connection"]);
    assert_refused(&[&url, "--find-capacity", "fast"], &["--find-capacity", "p99<5ms"]);
    assert_refused(&[&url, "--find-capacity", "p101<5ms"], &["--find-capacity"]);
}

#[test]
fn invalid_targets_are_refused() {
    assert_refused(&[], &["<URL>"]);
    assert_refused(&["fast"], &["is not a URL", "http://127.0.0.1:8080/"]);
    assert_refused(&["gopher://127.0.0.1/"], &["gopher", "the schemes are http, https, memcache"]);
    assert_refused(
        &["http://me:secret@127.0.0.1/"],
        &["the URL contains a password, which would be recorded"],
    );
    assert_refused(&["http://127.0.0.1:99999/"], &["port"]);
    assert_refused(&["http://"], &["is not a URL", "http://"]);
    // TEST-NET-2 (RFC 5737) is a public range that is never assigned.
    assert_refused(&["http://198.51.100.7/"], &["198.51.100.7", "public", "--target-is-mine"]);
}

#[test]
fn targets_that_do_not_answer_are_reported() {
    let closed = refusal(&[&format!("http://127.0.0.1:{}/", free_port())], 1);
    assert!(closed.contains("127.0.0.1") && closed.contains("refused"), "{closed}");
    let unknown = refusal(&["http://no-such-host.invalid/"], 1);
    assert!(unknown.contains("no-such-host.invalid"), "{unknown}");
}

#[test]
fn contradicting_options_are_refused() {
    let target = target();
    let url = format!("http://{}/", target.address);
    assert_refused(&[&url, "-r", "100", "--think", "1s"], &["--rate", "--think"]);
    assert_refused(&[&url, "-r", "100", "--find-capacity", "p99<5ms"], &["--rate", "--find-capacity"]);
    assert_refused(&[&url, "-n", "5", "--find-capacity", "p99<5ms"], &["--requests", "--find-capacity"]);
    assert_refused(&[&url, "--think", "1s", "--find-capacity", "p99<5ms"], &["--think", "--find-capacity"]);
    assert_refused(&[&url, "-n", "5", "--warmup", "1s"], &["--warmup", "--requests"]);
    assert_refused(&[&url, "--ops", "mix.toml", "-X", "POST"], &["--ops", "--method"]);
    assert_refused(&[&url, "--ca", "a", "--verify-certificate"], &["--ca", "--verify-certificate"]);
    assert_refused(&[&url, "--wramup", "1s"], &["--wramup", "--warmup"]);
    assert_refused(&[&url, "--source", "::1"], &["--source", "::1", "same family"]);
    assert_refused(&[&url, "--source", "192.0.2.1"], &["--source", "192.0.2.1", "ip address"]);
}

#[test]
fn options_without_effect_are_refused() {
    let target = target();
    let http = format!("http://{}/", target.address);
    for option in [
        &["--get", "1"][..],
        &["--keys", "5"],
        &["--key-skew", "zipf:1"],
        &["--key-prefix", "x"],
        &["--value-size", "1k"],
        &["--populate"],
    ] {
        let mut args = vec![http.as_str()];
        args.extend(option);
        assert_refused(&args, &[option[0], "memcache://", "leave it out"]);
    }
    assert_refused(&[&http, "--dialect", "meta"], &["--dialect", "memcache://"]);
    assert_refused(&[&http, "--ca", "ca.pem"], &["--ca", "https://"]);
    assert_refused(&[&http, "--no-tls-resumption"], &["--no-tls-resumption", "https://"]);
    assert_refused(&[&http, "--arrivals", "constant"], &["--arrivals", "--rate"]);
    let memcache = format!("memcache://{}", target.address);
    assert_refused(&[&memcache, "-X", "POST"], &["--method", "http://"]);
    assert_refused(&[&memcache, "-H", "A: b"], &["--header", "http://"]);
    assert_refused(&[&format!("{memcache}/key")], &["/key", "keys have no paths"]);
    assert_refused(&[&format!("redis://{}", target.address), "--dialect", "meta"], &["--dialect"]);
    assert_refused(&[&format!("{http}1k"), "--ops", "mix.toml"], &["/1k", "--ops"]);
}

#[test]
fn invalid_operations_are_refused() {
    let target = target();
    let (http, memcache) = (format!("http://{}/", target.address), format!("memcache://{}", target.address));
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mix.toml").display().to_string();
    let mixes: &[(&str, &[&str])] = &[
        ("", &["mix.toml", "the mix is empty"]),
        ("op = []", &["mix.toml", "the mix is empty"]),
        ("[[op]]\npath = \"/\"\nwieght = 3\n", &["mix.toml:3", "wieght", "weight"]),
        ("[[op]]\npath = 5\n", &["mix.toml:2"]),
        ("[[op]\n", &["mix.toml:1"]),
        ("[[op]]\nweight = 1\n", &["mix.toml", "path"]),
        ("[[op]]\npath = \"/\"\nweight = -1\n", &["weight"]),
        ("[[op]]\npath = \"/\"\nweight = nan\n", &["weight"]),
        ("[[op]]\npath = \"/a b\"\n", &["/a b", "percent-encode"]),
        ("[[op]]\npath = \"/{{ unifrom(1, 2) }}\"\n", &["unifrom", "uniform"]),
        ("[[op]]\npath = \"/\"\nheaders = { Content-Length = \"5\" }\n", &["Content-Length"]),
        ("[[op]]\npath = \"/\"\nexpect = { status = \"ok\" }\n", &["mix.toml:3"]),
        ("[[op]]\npath = \"/\"\nexpect = { contains = \"\" }\n", &["contains"]),
    ];
    for (text, words) in mixes {
        std::fs::write(&path, text).expect("a file");
        assert_refused(&[&http, "--ops", &path], words);
    }
    std::fs::write(&path, "[[op]]\ncommand = \"steal\"\n").expect("a file");
    assert_refused(&[&memcache, "--ops", &path], &["mix.toml:2", "steal", "get"]);
    std::fs::write(&path, "[[op]]\ncommand = \"get\"\n").expect("a file");
    assert_refused(&[&memcache, "--ops", &path, "--get", "1"], &["--ops", "--get"]);
    assert_refused(&[&http, "--ops", "no-such.toml"], &["no-such.toml", "[[op]]"]);
    assert_refused(&[&http, "-H", "no colon"], &["--header", "colon"]);
    assert_refused(&[&http, "-H", "A: b\r\nEvil: 1"], &["header A"]);
    assert_refused(&[&http, "-X", "GE T"], &["method"]);
    assert_refused(&[&memcache, "--get", "0"], &["weight"]);
    assert_refused(&[&memcache, "--get", "nan"], &["weight"]);
    assert_refused(&[&memcache, "--key-prefix", "a b"], &["key"]);
    assert_refused(&[&memcache, "--key-skew", "zipf:0"], &["--key-skew", "zipf:0.99"]);
    assert_refused(&[&memcache, "--value-size", "9..1"], &["--value-size", "smaller"]);
    assert_refused(&[&memcache, "--value-size", "2000m"], &["--value-size", "1 GiB"]);
}

#[test]
fn unusable_files_are_reported() {
    let target = target();
    let url = format!("https://{}/", target.address);
    assert_refused(&[&url, "--ca", "/no/such/ca.pem"], &["/no/such/ca.pem"]);
    let line = refusal(&[&url, "--hlog", "/no/such/dir/x.hlog"], 1);
    assert!(line.contains("--hlog /no/such/dir/x.hlog"), "{line}");
    let line = refusal(&[&url, "--hlog", "/tmp"], 1);
    assert!(line.contains("--hlog /tmp: this is a directory"), "{line}");
}
