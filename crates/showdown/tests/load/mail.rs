//! Mail, against Postfix's sink.

use crate::client::{load, measure, number};
use crate::servers::smtp_sink;

#[test]
fn messages_are_sent_in_sessions() {
    let sink = smtp_sink(&[]);
    let url = sink.url("smtp", "");
    let told = measure(&[&url, "-c", "4", "-n", "100", "--recipients", "3", "--message-size", "2k..4k"]);
    assert_eq!((number(&told, "/requests"), number(&told, "/failed")), (100, 0), "{told}");
    for (counter, count) in [("messages", 100), ("recipients", 300), ("sessions", 100)] {
        assert_eq!(number(&told, &format!("/counters/{counter}")), count, "{told}");
    }
    assert_eq!(number(&told, "/connections/opened"), 100, "{told}");

    let kept = measure(&[&url, "-c", "2", "-n", "100", "--requests-per-connection", "25", "--no-pipelining"]);
    assert_eq!(
        (number(&kept, "/counters/messages"), number(&kept, "/counters/sessions")),
        (100, 4),
        "{kept}"
    );

    let text = load(&[&url, "-c", "1", "-n", "10"]).stdout;
    assert!(text.contains("per hour") && text.contains("10 messages, 10 recipients, 10 sessions"), "{text}");
    assert!(!text.contains("refused"), "{text}");
}

#[test]
fn refusals_are_counted_by_code() {
    for (options, code) in [(["-r", "RCPT"], "450"), (["-f", "."], "500")] {
        let sink = smtp_sink(&options);
        let told = measure(&[&sink.url("smtp", ""), "-c", "2", "-n", "20"]);
        assert_eq!(
            (number(&told, "/requests"), number(&told, "/errors/unexpected_reply")),
            (0, 20),
            "{told}"
        );
        assert_eq!(number(&told, &format!("/counters/refused {code}")), 20, "{told}");
        assert_eq!(number(&told, "/counters/sessions"), 20, "{told}");
    }
}

#[test]
fn what_is_not_for_mail_is_refused() {
    let sink = smtp_sink(&[]);
    let url = sink.url("smtp", "");
    for (options, said) in [
        (&["--keys", "10"][..], "--keys is for memcache:// and redis:// targets"),
        (&["--header", "A: b"], "--header is for http:// and https:// targets"),
        (&["--rcpt-to", "a b@c"], "is no mail address"),
        (&["--message-size", "100m"], "size: at most 64 MiB"),
        (&["--starttls", "sometimes"], "none of never, offered and required"),
    ] {
        let ended = load(&[&[url.as_str()][..], options].concat());
        assert_eq!(ended.code(), 2, "{ended:?}");
        assert!(ended.stderr.contains(said), "{said}: {ended:?}");
    }
    let ended = load(&["http://127.0.0.1:9/", "--starttls", "never"]);
    assert!(ended.code() == 2 && ended.stderr.contains("--starttls is for smtp:// targets"), "{ended:?}");
    let required = load(&[&url, "-c", "1", "-n", "1", "--starttls", "required"]);
    assert!(required.stderr.contains("does not offer STARTTLS, which is required"), "{required:?}");
}
