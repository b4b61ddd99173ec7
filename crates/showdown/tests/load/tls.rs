//! TLS: which certificates are trusted, and whether sessions are resumed.

use std::process::Command;

use crate::client::{load, measure, number};
use crate::servers::{free_port, nginx, nginx_for_members, nginx_with};

#[test]
fn sessions_are_resumed_unless_resumption_is_off() {
    let nginx = nginx();
    let url = nginx.url("https", "/1k");
    let renewing = ["-c", "1", "-n", "100", "--requests-per-connection", "5"];
    let resumed = measure(&[&[url.as_str()][..], &renewing].concat());
    assert_eq!((number(&resumed, "/requests"), number(&resumed, "/failed")), (100, 0), "{resumed}");
    assert_eq!(number(&resumed, "/connections/tls/handshakes"), 20, "{resumed}");
    assert_eq!(
        number(&resumed, "/connections/tls/resumed"),
        19,
        "the first has nothing to resume: {resumed}"
    );
    let full = measure(&[&[url.as_str(), "--no-tls-resumption"][..], &renewing].concat());
    assert_eq!(number(&full, "/connections/tls/handshakes"), 20);
    assert_eq!(number(&full, "/connections/tls/resumed"), 0);
}

#[test]
fn certificates_are_checked_on_request() {
    let nginx = nginx();
    let url = nginx.url("https", "/1k");
    let own = nginx.path("cert.pem").display().to_string();
    let trusted = measure(&[&url, "-c", "2", "-n", "10", "--ca", &own]);
    assert_eq!((number(&trusted, "/requests"), number(&trusted, "/failed")), (10, 0), "{trusted}");
    let by_name = url.replace("127.0.0.1", "localhost");
    assert_eq!(number(&measure(&[&by_name, "-c", "2", "-n", "10", "--ca", &own]), "/failed"), 0);
    let refused = load(&[&url, "-c", "2", "-n", "10", "--verify-certificate"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.lines().count() == 1 && refused.stderr.contains("certificate"), "{refused:?}");
    let unchecked = load(&[&url, "-c", "2", "-n", "10"]);
    assert!(unchecked.stdout.contains("certificate not checked"), "{unchecked:?}");
}

/// The usual recipe of an intranet: a request that is signed without an extension file. OpenSSL then writes X.509 version 1.
fn certificate_of_version_1(directory: &str) {
    for words in [
        "req -new -newkey rsa:2048 -nodes -subj /CN=intranet -keyout v1.key -out v1.csr",
        "x509 -req -in v1.csr -signkey v1.key -days 2 -out v1.pem",
    ] {
        let made = Command::new("openssl").args(words.split(' ')).current_dir(directory).output();
        let made = made.expect("openssl is needed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
}

#[test]
fn a_certificate_of_version_1_is_accepted_where_any_is_and_as_the_one_that_was_given() {
    let port = free_port();
    let nginx = nginx_with(|root| {
        certificate_of_version_1(root);
        format!(
            "}} server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {root}/v1.pem; ssl_certificate_key {root}/v1.key;"
        )
    });
    let url = format!("https://127.0.0.1:{port}/1k");
    let own = nginx.path("v1.pem").display().to_string();
    let other = nginx.path("cert.pem").display().to_string();
    let few = ["-c", "2", "-n", "20"];
    for options in [&[][..], &["--no-tls-resumption"], &["--ca", &own]] {
        let answer = measure(&[&[url.as_str()][..], &few, options].concat());
        assert_eq!((number(&answer, "/requests"), number(&answer, "/failed")), (20, 0), "{answer}");
    }
    let refused = load(&[&[url.as_str(), "--ca", &other][..], &few].concat());
    assert!(refused.code() == 1 && refused.stderr.lines().count() == 1, "{refused:?}");
}

#[test]
fn the_name_in_tls_can_be_another_than_the_address() {
    let (port, strict) = (free_port(), free_port());
    let nginx = nginx_with(|root| {
        format!(
            "}} server {{ listen 127.0.0.1:{strict} ssl default_server; ssl_reject_handshake on; }} \
             server {{ listen 127.0.0.1:{strict} ssl; listen 127.0.0.1:{port}; server_name shop.example; \
             ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem;"
        )
    });
    let by_address = format!("https://127.0.0.1:{strict}/1k");
    let by_name = format!("https://shop.example:{strict}/1k");
    let few = ["-c", "2", "-n", "20"];
    let refused = load(&[&[by_address.as_str()][..], &few].concat());
    assert!(refused.code() == 1 && refused.stderr.contains("--server-name"), "{refused:?}");
    let unknown = load(&[&[by_name.as_str()][..], &few].concat());
    assert!(unknown.code() == 1 && unknown.stderr.contains("--connect-to"), "{unknown:?}");
    let endpoint = format!("127.0.0.1:{strict}");
    for words in [
        [by_address.as_str(), "-H", "Host: shop.example"],
        [by_address.as_str(), "--server-name", "shop.example"],
        [by_name.as_str(), "--connect-to", &endpoint],
    ] {
        let answer = measure(&[&words[..], &few].concat());
        assert_eq!((number(&answer, "/requests"), number(&answer, "/failed")), (20, 0), "{answer}");
    }
    drop(nginx);
}

#[test]
fn what_this_client_cannot_do_is_said_with_the_remedy() {
    let [rsa, old] = [free_port(), free_port()];
    let nginx = nginx_with(|root| {
        certificate_of_version_1(root);
        let certificate = format!("ssl_certificate {root}/v1.pem; ssl_certificate_key {root}/v1.key;");
        format!(
            "}} server {{ listen 127.0.0.1:{rsa} ssl; {certificate} ssl_protocols TLSv1.2; ssl_ciphers AES128-GCM-SHA256; }} \
             server {{ listen 127.0.0.1:{old} ssl; {certificate} ssl_protocols TLSv1.1; ssl_ciphers ALL:@SECLEVEL=0;"
        )
    });
    for (port, said) in [(rsa, "have no TLS parameters in common"), (old, "another version of TLS")] {
        let refused = load(&[&format!("https://127.0.0.1:{port}/1k"), "-c", "1", "-n", "5"]);
        assert!(refused.code() == 1 && refused.stderr.lines().count() == 1, "{refused:?}");
        assert!(refused.stderr.contains(said) && refused.stderr.contains(": let "), "{refused:?}");
    }
    drop(nginx);
}

#[test]
fn a_server_that_asks_for_a_certificate_of_the_client_gets_it_on_every_connection() {
    let nginx = nginx_for_members();
    let url = nginx.url("https", "/1k");
    let renewing = ["-c", "2", "-n", "40", "--requests-per-connection", "5"];
    let with = |[certificate, key]: [String; 2], options: &[&str]| {
        let shown = ["--certificate", &certificate, "--key", &key];
        load(&[&[url.as_str(), "--format", "json"], &shown[..], &renewing, options].concat())
    };
    let member = nginx.certificate_of_client("member", true);
    for options in [&[][..], &["--no-tls-resumption"]] {
        let answered = with(member.clone(), options).json();
        assert_eq!((number(&answered, "/requests"), number(&answered, "/failed")), (40, 0), "{answered}");
    }
    // nginx finishes the handshake, and answers in HTTP.
    let without = load(&[&[url.as_str()][..], &renewing].concat());
    let stranger = with(nginx.certificate_of_client("stranger", false), &[]);
    for refused in [&without, &stranger] {
        assert_eq!(refused.code(), 3, "{refused:?}");
        assert!(refused.stdout.contains("status 400"), "{refused:?}");
    }
    assert!(without.stdout.contains("give one with --certificate and --key"), "{without:?}");
    // A key of another certificate is refused before the load.
    let [_, other] = nginx.certificate_of_client("other", true);
    let mixed = with([member[0].clone(), other], &[]);
    assert_eq!(mixed.code(), 2, "{mixed:?}");
    assert!(mixed.stderr.contains("other.key: it is not the key of the certificate: give"), "{mixed:?}");
}
