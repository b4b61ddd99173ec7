//! `showdown load` with mail, against Postfix's smtp-sink.

use crate::client::{load, measure, number};
use crate::servers::smtp_sink;

#[test]
fn messages_are_sent_in_sessions_of_the_requested_length() {
    let sink = smtp_sink(&[]);
    let url = sink.url("smtp", "");
    let result = measure(&[&url, "-c", "4", "-n", "100", "--recipients", "3", "--message-size", "2k..4k"]);
    assert_eq!((number(&result, "/requests"), number(&result, "/failed")), (100, 0), "{result}");
    for (counter, count) in [("messages", 100), ("recipients", 300), ("sessions", 100)] {
        assert_eq!(number(&result, &format!("/counters/{counter}")), count, "{result}");
    }
    assert_eq!(number(&result, "/connections/opened"), 100, "{result}");

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
fn refusals_are_counted_by_reply_code() {
    for (options, code) in [(["-r", "RCPT"], "450"), (["-f", "."], "500")] {
        let sink = smtp_sink(&options);
        let result = measure(&[&sink.url("smtp", ""), "-c", "2", "-n", "20"]);
        assert_eq!(
            (number(&result, "/requests"), number(&result, "/errors/unexpected_reply")),
            (0, 20),
            "{result}"
        );
        assert_eq!(number(&result, &format!("/counters/refused {code}")), 20, "{result}");
        assert_eq!(number(&result, "/counters/sessions"), 20, "{result}");
    }
}

#[test]
fn options_that_do_not_apply_to_mail_are_refused() {
    let sink = smtp_sink(&[]);
    let url = sink.url("smtp", "");
    for (options, message) in [
        (&["--keys", "10"][..], "--keys is for memcache:// and redis:// targets"),
        (&["--header", "A: b"], "--header is for http:// and https:// targets"),
        (&["--rcpt-to", "a b@c"], "is no mail address"),
        (&["--message-size", "100m"], "size: at most 64 MiB"),
        (&["--starttls", "sometimes"], "possible values: never, offered, required"),
    ] {
        let ended = load(&[&[url.as_str()][..], options].concat());
        assert_eq!(ended.code(), 2, "{ended:?}");
        assert!(ended.stderr.contains(message), "{message}: {ended:?}");
    }
    let ended = load(&["http://127.0.0.1:9/", "--starttls", "never"]);
    assert!(ended.code() == 2 && ended.stderr.contains("--starttls is for smtp:// targets"), "{ended:?}");
    let required = load(&[&url, "-c", "1", "-n", "1", "--starttls", "required"]);
    assert!(required.stderr.contains("does not offer STARTTLS, which is required"), "{required:?}");
}
