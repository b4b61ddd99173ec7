//! TLS: which certificates are trusted, and whether sessions are resumed.

use crate::client::{load, measure, number};
use crate::servers::nginx;

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
