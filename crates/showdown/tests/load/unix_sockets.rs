//! Unix sockets: servers that are already there are loaded by the paths of their sockets.

use std::os::unix::net::UnixListener;

use crate::client::{load, measure, number};
use crate::servers::{TestServer, memcached_on_socket, nginx, nginx_with, redis};

const FEW: [&str; 4] = ["-c", "2", "-n", "40"];

/// `redis+unix:PATH` or the like.
fn socket(server: &TestServer, scheme: &str, rest: &str) -> String {
    format!("{scheme}:{}{rest}", server.path("app.sock").display())
}

#[test]
fn a_web_server_is_loaded_by_its_socket_with_the_name_of_the_url() {
    let nginx = nginx_with(|root| format!("listen unix:{root}/app.sock; listen unix:{root}/tls.sock ssl;"));
    let path = nginx.path("app.sock").display().to_string();
    let encoded = format!("http+unix://{}/1k", path.replace('/', "%2F"));
    for url in [socket(&nginx, "unix", ":/1k"), encoded] {
        let answer = measure(&[&[url.as_str()][..], &FEW].concat());
        assert_eq!((number(&answer, "/requests"), number(&answer, "/failed")), (40, 0), "{answer}");
        assert_eq!(answer["spec"]["socket"], path.as_str(), "{answer}");
    }
    // As curl has it: the URL gives name and path.
    let named = measure(&[&["http://shop.example/echo/a", "--unix-socket", &path][..], &FEW].concat());
    assert_eq!(number(&named, "/failed"), 0, "{named}");
    let secure = nginx.path("tls.sock").display().to_string();
    let own = nginx.path("cert.pem").display().to_string();
    let trusted = ["https://localhost/1k", "--unix-socket", &secure, "--ca", &own];
    let trusted = measure(&[&trusted[..], &FEW].concat());
    assert_eq!((number(&trusted, "/requests"), number(&trusted, "/failed")), (40, 0), "{trusted}");
    assert_eq!(nginx.access_log(160).len(), 160, "every request went through a socket");
}

#[test]
fn caches_are_loaded_by_their_sockets() {
    let (redis, memcached) = (redis(), memcached_on_socket());
    for (server, scheme) in [(&redis, "redis+unix"), (&memcached, "memcache+unix")] {
        let url = socket(server, scheme, "");
        let stored = measure(&[url.as_str(), "--populate", "--keys", "50", "-c", "2", "-n", "200"]);
        assert_eq!((number(&stored, "/requests"), number(&stored, "/failed")), (200, 0), "{stored}");
    }
    assert!(redis.redis("get") > 0, "the server has counted the commands");
}

#[test]
fn a_socket_that_cannot_be_loaded_is_refused_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name).display().to_string();
    let closed = UnixListener::bind(at("closed")).expect("a socket");
    drop(closed);
    std::fs::write(at("file"), "").expect("a file");
    let nginx = nginx();
    let plain = nginx.url("http", "/1k");
    for (args, code, said) in [
        (vec![format!("unix:{}", at("closed"))], 1, "Connection refused"),
        (vec![format!("unix:{}", at("none"))], 1, "start the server, or check the path"),
        (vec![format!("unix:{}", at("file"))], 1, "name the socket on which the server listens"),
        (vec![format!("postgres+unix://me@{}:/db", directory.path().display())], 1, ".s.PGSQL.5432"),
        (vec!["unix:app.sock".to_owned()], 2, "write its whole path, such as unix:/run/app.sock:/"),
        (vec![plain, "--unix-socket".to_owned(), at("none")], 1, "start the server, or check the path"),
    ] {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let refused = load(&[&words[..], &FEW].concat());
        assert_eq!(refused.code(), code, "{refused:?}");
        assert!(refused.stderr.lines().count() == 1 && refused.stderr.contains(said), "{refused:?}");
    }
}
