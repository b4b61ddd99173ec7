//! Which texts are targets, and with which remedy others are refused.

use std::net::TcpListener;
use std::path::Path;

use super::*;

#[test]
fn a_url_is_parsed() {
    let target = Target::parse("http://[::1]:8080/a/b?c=d").expect("a URL");
    assert_eq!(target.authority(), "[::1]:8080");
    assert_eq!(target.path_and_query, "/a/b?c=d");
    let target = Target::parse("memcache://127.0.0.1").expect("a URL");
    assert_eq!((target.host.as_str(), target.port), ("127.0.0.1", 11_211));
    let target = Target::parse("postgres://me@127.0.0.1/db").expect("a URL");
    assert_eq!((target.user.as_deref(), target.port), (Some("me"), 5_432));
    let target = Target::parse(r#"http://h/a?b={{ csv("f", 1) }}"#).expect("a URL");
    assert_eq!(target.path_and_query, r#"/a?b={{ csv("f", 1) }}"#, "a template stays one");
    assert_eq!(Target::parse("https://box.local/").expect("a URL").authority(), "box.local");
}

#[test]
fn a_target_can_be_at_another_address_than_its_name() {
    let target = Target::parse("https://shop.example/a").expect("a URL");
    let at = target.at(Some(&parse_endpoint("[::1]:8443").expect("an endpoint")));
    assert_eq!((at.host.as_str(), at.port), ("::1", 8_443));
    assert_eq!((target.at(None), target.authority().as_str()), (target.clone(), "shop.example"));
    for text in ["8443", "::1:8443", "[::1]", "h:0", ":80", "h:99999"] {
        assert!(parse_endpoint(text).is_err(), "{text}");
    }
}

#[test]
fn a_socket_of_the_file_system_is_a_target() {
    for text in ["http+unix://%2Frun%2Fapp.sock/a", "unix:/run/app.sock:/a", "memcache+unix:/run/app.sock:/a"]
    {
        let target = Target::parse(text).expect(text);
        assert_eq!(target.socket.as_deref(), Some(Path::new("/run/app.sock")), "{text}");
        assert_eq!((target.authority().as_str(), target.path_and_query.as_str()), ("localhost", "/a"));
        assert!(target.resolve(true).is_err(), "it has no address");
    }
    let named = Target::parse("http://shop.example:8080/a").expect("a URL").through(Some(&"app.sock".into()));
    assert_eq!(
        (named.authority().as_str(), named.socket.as_deref()),
        ("shop.example:8080", Some(Path::new("app.sock")))
    );
    let database = Target::parse("postgres+unix://me@/run/db.sock:/test").expect("a database");
    let access = database.access(1).expect("an account");
    assert_eq!((access.user.as_str(), access.database.as_str()), ("me", "test"));
    let redis = Target::parse("redis+unix://app@/run/redis.sock").expect("a user of Redis");
    assert_eq!(redis.user.as_deref(), Some("app"));
}

#[test]
fn a_socket_that_cannot_be_loaded_is_refused_with_the_remedy() {
    let refused = |text: &str| Target::parse(text).expect_err(text).to_string();
    assert!(refused("unix:app.sock").ends_with("such as unix:/run/app.sock:/"));
    assert!(refused("mysql+unix://me@a.sock:/db").ends_with("such as mysql+unix://me@/run/app.sock:/test"));
    assert!(refused("gopher+unix:/run/app.sock").contains("the schemes are"));
    let secret = refused("postgres+unix://me:secret@/run/db.sock:/test");
    assert!(secret.contains("$PGPASSWORD") && !secret.contains("secret"), "{secret}");
    assert!(refused("unix://me@/run/app.sock:/").contains("a user name, which would be recorded"));
    let no_user = Target::parse("mysql+unix:/run/mysqld.sock:/db").expect("a target").access(1);
    assert!(no_user.expect_err("no user").to_string().contains("needs a user and a database"));

    let silent = Target::parse("unix:/nowhere/app.sock").expect("a target");
    let silent = silent.locate_socket(Duration::from_secs(1)).expect_err("nobody").to_string();
    assert!(silent.contains("nothing answers there: ") && silent.ends_with("check the path"), "{silent}");
    let address = Target::parse("http://localhost/").expect("a target");
    assert_eq!(address.locate_socket(Duration::from_secs(1)).expect("no socket"), None);
}

#[test]
fn names_in_a_url_are_decoded() {
    let target = Target::parse("postgres://me%40home@127.0.0.1/my%20db").expect("a URL");
    let access = target.access(1).expect("an account");
    assert_eq!((access.user.as_str(), access.database.as_str()), ("me@home", "my db"));
    let redis = Target::parse("redis://app@127.0.0.1/").expect("a URL");
    assert_eq!(redis.user.as_deref(), Some("app"));
    let refused = Target::parse("mysql://%ff@127.0.0.1/db").expect_err("no name").to_string();
    assert!(refused.contains("not UTF-8"), "{refused}");
}

#[test]
fn a_host_without_a_scheme_has_that_of_its_port_or_http() {
    for host in ["127.0.0.1:8080", "localhost:8080", "localhost", "box.local/a", "[::1]:8080"] {
        let meant = Target::parse(&format!("http://{host}")).expect("a URL");
        assert_eq!(Target::parse(host).expect("a host"), meant, "{host}");
    }
    for (host, scheme) in [("localhost:6379", "redis"), ("box.local:3306", "mysql")] {
        assert_eq!(Target::parse(host).expect("a host").scheme.name(), scheme);
    }
}

#[test]
fn a_url_that_cannot_be_loaded_is_refused_with_the_remedy() {
    let refused = |text: &str| Target::parse(text).expect_err("refused").to_string();
    assert!(refused("nothing").contains("write one such as http://"));
    assert!(refused("gopher://127.0.0.1").contains("the schemes are"));
    assert!(
        refused("http://me:secret@127.0.0.1/").contains("a password, which would be recorded: send an Auth")
    );
    assert!(refused("http://me@127.0.0.1/").contains("a user name, which would be recorded: send an Auth"));
    assert!(!refused("http://me:secret@127.0.0.1/").contains("secret"));
    assert!(refused("mysql://me:secret@127.0.0.1/db").contains("$MYSQL_PWD"));
    for broken in ["http://me:secret@[::1", "me:secret@127.0.0.1", "http://me:secret@h:99999/"] {
        assert!(!refused(broken).contains("secret"), "{}", refused(broken));
    }
}

#[test]
fn a_server_on_the_other_loopback_address_is_named() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else { return };
    let port = listener.local_addr().expect("an address").port();
    let target = Target::parse(&format!("http://127.0.0.1:{port}/")).expect("a target");
    let silent = target.locate(false, Duration::from_secs(1)).expect_err("nobody is there").to_string();
    let expected = format!(
        "nothing answers at 127.0.0.1:{port}: connection refused: [::1]:{port} answers, so give that address"
    );
    assert_eq!(silent, expected);
}

#[test]
fn a_public_address_needs_a_permission() {
    for private in
        ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.1.1", "::1", "fd00::1", "100.64.0.1"]
    {
        assert!(is_private(private.parse().expect("an address")), "{private}");
    }
    for public in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2001:4860::1", "::ffff:8.8.8.8"] {
        assert!(!is_private(public.parse().expect("an address")), "{public}");
    }
    let public = Target::parse("http://8.8.8.8/").expect("a URL");
    let error = public.locate(false, Duration::from_millis(1)).expect_err("public").to_string();
    assert!(error.contains("--target-is-mine"), "{error}");
}
