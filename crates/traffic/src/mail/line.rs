//! One line of Postfix's log, as syslog or `maillog_file` has it. Clients choose parts of it (addresses, names, message ids): a line that is
//! no such line is no error, and an address in quotation marks cannot be taken for the end of an address.

/// The longest line that is looked at.
pub const MOST_LINE_BYTES: usize = 8192;

/// The longest ID of a message in a queue. Postfix's long IDs have about 15 characters.
const LONGEST_QUEUE_ID: usize = 40;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailEvent<'a> {
    /// A message is being accepted, and has this Message-ID. Empty for none.
    Named {
        /// Its ID in the queue.
        queue_id: &'a str,
        /// Its Message-ID with its angle brackets.
        message_id: &'a str,
    },
    /// A message is in the queue.
    Queued {
        /// Its ID in the queue.
        queue_id: &'a str,
    },
    /// A message was delivered to one recipient.
    Delivered {
        /// Its ID in the queue.
        queue_id: &'a str,
        /// The recipient.
        recipient: &'a str,
    },
    /// A delivery will be tried again.
    Deferred {
        /// Its ID in the queue.
        queue_id: &'a str,
    },
    /// A message will never be delivered to a recipient.
    Bounced {
        /// Its ID in the queue.
        queue_id: &'a str,
    },
    /// A message has left the queue.
    Removed {
        /// Its ID in the queue.
        queue_id: &'a str,
    },
    /// A client was turned away with 4xx: it tries again later, perhaps at another server.
    TurnedAwayForNow,
    /// A client was turned away with 5xx.
    TurnedAway,
    /// Another line of Postfix.
    Other,
}

/// Reads a line. None if it is none of Postfix.
pub fn parse(line: &str) -> Option<MailEvent<'_>> {
    if line.len() > MOST_LINE_BYTES {
        return None;
    }
    let (program, text) = program_and_text(line.trim_end())?;
    if let Some(warning) = text.strip_prefix("warning: ") {
        // A client with too many connections or messages gets 421 or 450, and smtpd(8) has no other line for it.
        let is_limit = program == "smtpd"
            && ["Connection ", "Message ", "Recipient ", "New TLS ", "AUTH "]
                .iter()
                .any(|kind| warning.starts_with(kind))
            && warning.contains(" limit exceeded: ");
        return Some(if is_limit { MailEvent::TurnedAwayForNow } else { MailEvent::Other });
    }
    let Some((queue_id, what)) = text.split_once(": ") else { return Some(MailEvent::Other) };
    if let Some(rejection) = what.strip_prefix("reject: ").or_else(|| what.strip_prefix("milter-reject: ")) {
        return Some(rejected(rejection));
    }
    if !is_queue_id(queue_id) {
        return Some(MailEvent::Other);
    }
    Some(of_message(program, queue_id, what))
}

/// The program of Postfix, such as `smtpd` or `qmgr`, and what it says.
fn program_and_text(line: &str) -> Option<(&str, &str)> {
    let (header, text) = line.split_once("]: ")?;
    let (header, pid) = header.rsplit_once('[')?;
    if pid.is_empty() || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let tag = header.rsplit(' ').next()?;
    let (_, program) = tag.rsplit_once('/')?;
    Some((program, text))
}

fn is_queue_id(word: &str) -> bool {
    (5..=LONGEST_QUEUE_ID).contains(&word.len())
        && word != "NOQUEUE"
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn of_message<'a>(program: &str, queue_id: &'a str, what: &'a str) -> MailEvent<'a> {
    match program {
        "cleanup" => match what.strip_prefix("message-id=") {
            Some(message_id) => MailEvent::Named { queue_id, message_id },
            None => MailEvent::Other,
        },
        _ if what == "removed" => MailEvent::Removed { queue_id },
        "qmgr" if what.starts_with("from=<") && what.ends_with("(queue active)") => {
            MailEvent::Queued { queue_id }
        }
        _ => of_recipient(queue_id, what).unwrap_or(MailEvent::Other),
    }
}

/// What has become of one recipient: `to=<…>, orig_to=<…>, relay=…, delay=…, delays=…, dsn=…, status=sent (…)`.
fn of_recipient<'a>(queue_id: &'a str, what: &'a str) -> Option<MailEvent<'a>> {
    let (recipient, mut rest) = address(what.strip_prefix("to=<")?)?;
    if let Some(original) = rest.strip_prefix(", orig_to=<") {
        (_, rest) = address(original)?;
    }
    // The words before it are Postfix's own, and those after it are of the next server.
    let (_, status) = rest.split_once(", status=")?;
    match status.split(' ').next()? {
        "sent" => Some(MailEvent::Delivered { queue_id, recipient }),
        "deferred" => Some(MailEvent::Deferred { queue_id }),
        "bounced" => Some(MailEvent::Bounced { queue_id }),
        _ => None,
    }
}

/// An address up to its `>`, and what is after it. A `>` between quotation marks is a part of the address.
fn address(text: &str) -> Option<(&str, &str)> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'>' if !is_quoted => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

/// The kind of a rejection: `RCPT from mx.example[192.0.2.1]: 450 4.7.1 <user@example>: …`. Where a header or the body was the reason, the
/// client has written the beginning, and the status is at the end.
fn rejected(rejection: &str) -> MailEvent<'_> {
    let is_of_content =
        ["header ", "body ", "mime-header ", "nested-header "].iter().any(|kind| rejection.starts_with(kind));
    let mut parts = rejection.split(": ").skip(1);
    let kind = if is_of_content {
        rejection.rsplit(": ").find_map(kind_of_status)
    } else {
        parts.find_map(kind_of_status)
    };
    kind.unwrap_or(MailEvent::Other)
}

/// Of `450 4.7.1 …`, or of `4.7.1 …` alone.
fn kind_of_status(part: &str) -> Option<MailEvent<'static>> {
    let word = part.split(' ').next().unwrap_or_default();
    let is_code = word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_enhanced = word.split('.').count() == 3
        && word.split('.').all(|number| (1..=3).contains(&number.len()) && number.parse::<u16>().is_ok());
    match word.as_bytes().first() {
        Some(b'4') if is_code || is_enhanced => Some(MailEvent::TurnedAwayForNow),
        Some(b'5') if is_code || is_enhanced => Some(MailEvent::TurnedAway),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<MailEvent<'_>> {
        parse(text)
    }

    #[test]
    fn the_lines_of_a_message_are_read_with_either_time() {
        let queue_id = "4f2BqC1cVbz1k";
        for (line, expected) in [
            (
                "Nov 30 19:00:12 mx postfix/cleanup[77]: 4f2BqC1cVbz1k: message-id=<1@client.example>",
                MailEvent::Named { queue_id, message_id: "<1@client.example>" },
            ),
            (
                "2026-11-30T19:00:12.345678+00:00 mx postfix-new/qmgr[7]: 4f2BqC1cVbz1k: from=<a@b>, size=400, nrcpt=1 (queue active)",
                MailEvent::Queued { queue_id },
            ),
            (
                "Nov 30 19:00:12 mx postfix/virtual[7]: 4f2BqC1cVbz1k: to=<u@mx.example>, orig_to=<v@mx.example>, relay=virtual, delay=0.01, \
                 delays=0/0/0/0, dsn=2.0.0, status=sent (delivered to maildir)\n",
                MailEvent::Delivered { queue_id, recipient: "u@mx.example" },
            ),
            (
                "Nov 30 19:00:12 mx postfix/smtp[7]: 4f2BqC1cVbz1k: to=<u@x>, relay=none, delay=0, delays=0/0/0/0, dsn=4.4.1, status=deferred (x: \
                 connection refused, status=sent (no))",
                MailEvent::Deferred { queue_id },
            ),
            (
                "Nov 30 19:00:12 mx postfix/smtp[7]: 4f2BqC1cVbz1k: to=<u@x>, relay=none, delay=0, delays=0/0/0/0, dsn=5.1.1, status=bounced (no)",
                MailEvent::Bounced { queue_id },
            ),
            ("Nov 30 19:00:12 mx postfix/qmgr[7]: 4f2BqC1cVbz1k: removed", MailEvent::Removed { queue_id }),
            ("Nov 30 19:00:12 mx postfix/smtpd[7]: connect from unknown[192.0.2.1]", MailEvent::Other),
        ] {
            assert_eq!(of(line), Some(expected), "{line}");
        }
        assert_eq!(of("Nov 30 19:00:12 mx sshd[7]: 4f2BqC1cVbz1k: removed"), None);
        assert_eq!(of("no line"), None);
        assert_eq!(of(&format!("mx postfix/qmgr[7]: {}", "x".repeat(MOST_LINE_BYTES))), None);
    }

    #[test]
    fn rejections_are_told_by_their_status() {
        for (text, expected) in [
            (
                "smtpd[7]: NOQUEUE: reject: RCPT from a[192.0.2.1]: 450 4.7.1 <u@x>: no; from=<554 5.0.0 x> to=<u@x>",
                MailEvent::TurnedAwayForNow,
            ),
            ("smtpd[7]: ABCDEF: reject: RCPT from a[::1]: 554 5.7.1 <u@x>: denied", MailEvent::TurnedAway),
            (
                "cleanup[7]: ABCDEF: milter-reject: END-OF-MESSAGE from a[::1]: 4.7.1 later; from=<>",
                MailEvent::TurnedAwayForNow,
            ),
            (
                "cleanup[7]: ABCDEF: reject: header Subject: x: 450 4.0.0 from a[::1]; from=<a@b> to=<u@x> proto=ESMTP helo=<x>: 5.7.1 spam",
                MailEvent::TurnedAway,
            ),
            (
                "postscreen[7]: NOQUEUE: reject: RCPT from [::1]:9: 450 4.3.2 busy",
                MailEvent::TurnedAwayForNow,
            ),
            (
                "smtpd[7]: warning: Connection concurrency limit exceeded: 51 from unknown[::1] for service smtp",
                MailEvent::TurnedAwayForNow,
            ),
            ("smtpd[7]: NOQUEUE: reject_warning: RCPT from a[::1]: 450 4.7.1 no", MailEvent::Other),
            ("smtpd[7]: NOQUEUE: reject: RCPT from a[::1]: 4500 no", MailEvent::Other),
            ("smtpd[7]: warning: hostname x: 450 4.7.1 limit exceeded: no", MailEvent::Other),
        ] {
            let line = format!("Nov 30 19:00:12 mx postfix/{text}");
            assert_eq!(of(&line), Some(expected), "{line}");
        }
    }

    #[test]
    fn a_recipient_cannot_pretend_what_became_of_it() {
        let line = "Nov 30 19:00:12 mx postfix/smtp[7]: ABCDEF: to=<\"x>, relay=y, status=sent (\\\"\"@x>, relay=none, dsn=4.4.1, status=deferred (no)";
        assert_eq!(of(line), Some(MailEvent::Deferred { queue_id: "ABCDEF" }));
        let open = "Nov 30 19:00:12 mx postfix/smtp[7]: ABCDEF: to=<\"x>, relay=y, status=sent (ok)";
        assert_eq!(of(open), Some(MailEvent::Other));
    }
}
