//! Renders the text of messages: a header with a random number, and a body of lines from one random text. A body costs
//! one copy on the hot path, whatever its length.

use rand::{Rng, RngExt, SeedableRng, distr::Alphanumeric};
use rand_pcg::Pcg64Mcg;
use wire::smtp::request;

use super::spec::SmtpSpec;

/// Bytes of a line with its end (RFC 5322, 2.1.1 allows 78 before the end).
const LINE_BYTES: usize = 74;

const LINE_END: &[u8] = b"\r\n";

/// Renders messages.
#[derive(Clone, Debug)]
pub struct MessageText {
    /// The header up to the message's number.
    front: Vec<u8>,
    /// The header after it, and the empty line.
    back: Vec<u8>,
    /// Lines of letters and digits, as many as the longest body needs. None begins with a dot.
    lines: Vec<u8>,
}

/// The length of a message, which the spec limits.
pub fn length(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a message has 64 MiB at most")
}

impl MessageText {
    /// The text for messages of a spec.
    pub fn new(spec: &SmtpSpec) -> Self {
        let longest = length(spec.mix.iter().map(|operation| operation.size.max()).max().unwrap_or(0));
        // The same for all workers and servers.
        let mut rng = Pcg64Mcg::seed_from_u64(0);
        let mut lines = vec![0; longest.div_ceil(LINE_BYTES) * LINE_BYTES];
        for line in lines.chunks_exact_mut(LINE_BYTES) {
            line[..LINE_BYTES - 2].fill_with(|| rng.sample(Alphanumeric));
            line[LINE_BYTES - 2..].copy_from_slice(LINE_END);
        }
        // The date is fixed: drivers do not read the clock.
        let front = format!(
            "From: <{}>\r\nTo: undisclosed-recipients:;\r\nDate: Sat, 21 Nov 2026 00:00:00 +0000\r\nMessage-ID: <",
            spec.sessions.sender
        );
        let back = b"@showdown.example>\r\nSubject: Showdown\r\n\r\n".to_vec();
        Self { front: front.into_bytes(), back, lines }
    }

    /// Appends a message of `bytes`, to within one byte, and the full stop that ends it.
    pub fn render(&self, out: &mut Vec<u8>, bytes: usize, rng: &mut impl Rng) {
        let begin = out.len();
        out.extend_from_slice(&self.front);
        let number: u64 = rng.random();
        // The number in hexadecimal.
        let digits = number.to_be_bytes().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
        out.extend(digits.map(|digit| b"0123456789abcdef"[usize::from(digit)]));
        out.extend_from_slice(&self.back);
        let body = bytes.saturating_sub(out.len() - begin).min(self.lines.len());
        let (cut, is_cut) = match body % LINE_BYTES {
            0 => (body, false),
            // There is no room for the end of a line.
            1 => (body - 1, false),
            _ => (body - LINE_END.len(), true),
        };
        out.extend_from_slice(&self.lines[..cut]);
        if is_cut {
            out.extend_from_slice(LINE_END);
        }
        request::end_of_data(out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::{MailOperation, SmtpSessions};
    use super::*;
    use crate::inputs::sizes::SizeDistribution;

    #[test]
    fn a_message_has_the_requested_size_and_whole_lines() {
        let kind = MailOperation {
            name: "m".to_owned(),
            weight: 1.0,
            size: SizeDistribution::fixed(10_000),
            recipients: SizeDistribution::fixed(1),
            pipelining: true,
        };
        let text = MessageText::new(&SmtpSpec { sessions: SmtpSessions::default(), mix: vec![kind] });
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        for bytes in (0..400).chain([1_024, 9_999, 10_000]) {
            let mut out = b"before".to_vec();
            text.render(&mut out, bytes, &mut rng);
            let message = out.strip_prefix(b"before").and_then(|text| text.strip_suffix(b".\r\n"));
            let message = message.expect("a message ends in a full stop");
            let header = message.windows(4).position(|end| end == b"\r\n\r\n").expect("a header") + 4;
            assert!(
                message.len() == header.max(bytes) || message.len() + 1 == bytes,
                "{bytes}: {}",
                message.len()
            );
            // The codec has nothing to escape, so the rendered text is what it would send.
            let mut stuffed = Vec::new();
            request::text(&mut stuffed, message).expect("lines end in CRLF");
            assert_eq!(stuffed, message);
        }
    }
}
