//! TLS: which certificates are trusted, and whether sessions are resumed.

use crate::client::{load, measure, number};
use crate::servers::{nginx, nginx_for_members};

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
