//! Refusals of the server, counted by their codes.

use wire::smtp::ReplyLine;

use crate::driver::Fault;

/// Names of the driver's counters. Refusals are named by their codes (RFC 5321, 4.2.3; RFC 7504).
pub const COUNTERS: &[&str] = &[
    "messages",
    "recipients",
    "sessions",
    "refused 421",
    "refused 450",
    "refused 451",
    "refused 452",
    "refused 454",
    "refused 455",
    "refused otherwise 4xx",
    "refused 500",
    "refused 501",
    "refused 502",
    "refused 503",
    "refused 504",
    "refused 521",
    "refused 530",
    "refused 550",
    "refused 551",
    "refused 552",
    "refused 553",
    "refused 554",
    "refused 555",
    "refused 556",
    "refused otherwise 5xx",
];

/// Messages that the server has accepted.
pub const MESSAGES: usize = 0;
/// Their recipients, without those that were refused.
pub const RECIPIENTS: usize = 1;
/// Sessions that ended with `QUIT`.
pub const SESSIONS: usize = 2;

/// The server closes the session (RFC 5321, 3.8).
const CLOSING: u16 = 421;

/// Longest part of the server's message that is kept.
const DETAIL_BYTES: usize = 200;

/// The first refusal of a message.
#[derive(Debug)]
pub struct Refusal {
    detail: String,
    /// Whether the server closes the connection with it.
    pub is_last: bool,
}

impl Refusal {
    /// Makes a refusal from an unexpected answer to `command`, and counts it if its code is a refusal's.
    pub fn note(command: &str, line: ReplyLine<'_>, counters: &mut [u64]) -> Self {
        let code_of = |name: &str| name.strip_prefix("refused ")?.parse::<u16>().ok();
        let others = if line.code < 500 { "refused otherwise 4xx" } else { "refused otherwise 5xx" };
        let named = COUNTERS.iter().position(|name| code_of(name) == Some(line.code));
        let at = named.or_else(|| COUNTERS.iter().position(|name| *name == others));
        if !line.is_positive()
            && let Some(counter) = at.and_then(|at| counters.get_mut(at))
        {
            *counter += 1;
        }
        let text = String::from_utf8_lossy(&line.text[..line.text.len().min(DETAIL_BYTES)]);
        let detail = format!("the server answers {command} with {} {text}", line.code);
        Self { detail: detail.trim_end().to_owned(), is_last: line.code == CLOSING }
    }

    /// The fault of the operation.
    pub fn fault(self, reuse: bool) -> Fault {
        Fault::unexpected(self.detail, reuse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_is_counted_by_its_code() {
        for (code, name) in [
            (421, Some("refused 421")),
            (550, Some("refused 550")),
            (459, Some("refused otherwise 4xx")),
            (559, Some("refused otherwise 5xx")),
            (250, None),
        ] {
            let mut counters = vec![0; COUNTERS.len()];
            let refusal = Refusal::note("RCPT", ReplyLine { code, text: b"5.1.1 no" }, &mut counters);
            let counted: Vec<&str> = COUNTERS
                .iter()
                .zip(&counters)
                .filter(|(_, count)| **count == 1)
                .map(|(name, _)| *name)
                .collect();
            assert_eq!(counted, Vec::from_iter(name));
            assert_eq!(refusal.detail, format!("the server answers RCPT with {code} 5.1.1 no"));
        }
    }
}
