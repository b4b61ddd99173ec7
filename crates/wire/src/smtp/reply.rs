//! Parses the lines of replies: code, enhanced status code, text. The decoder joins lines to replies.

use std::fmt;

use super::error::Violation;
use crate::line::content;

/// An event of the decoder: one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A line that others follow.
    Line(ReplyLine<'a>),
    /// The last line of the reply.
    End(ReplyLine<'a>),
}

/// A line of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLine<'a> {
    /// The code, 200 to 559.
    pub code: u16,
    /// The text after the code, without the line's end; may be empty.
    pub text: &'a [u8],
}

/// An enhanced status code such as 5.1.1 (RFC 3463).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnhancedCode {
    /// 2 for success, 4 for a temporary and 5 for a permanent failure.
    pub class: u8,
    /// The subject: 1 addressing, 2 mailbox, 3 system, 4 network, 5 protocol, 6 content, 7 policy.
    pub subject: u16,
    /// The detail of the subject.
    pub detail: u16,
}

impl fmt::Display for EnhancedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.class, self.subject, self.detail)
    }
}

impl ReplyLine<'_> {
    /// Whether the server has carried out the command or continues with it: 2xx and 3xx (RFC 5321, 4.2.1).
    pub fn is_positive(&self) -> bool {
        self.code < 400
    }

    /// The enhanced status code at the front of the text, if there is one with the class of the reply (RFC 2034, 4).
    pub fn enhanced(&self) -> Option<EnhancedCode> {
        let word = self.text.split(|&byte| byte == b' ').next()?;
        let mut numbers = word.split(|&byte| byte == b'.').map(number);
        let (class, subject, detail) = (numbers.next()??, numbers.next()??, numbers.next()??);
        let is_one = numbers.next().is_none() && class == self.code / 100 && class != 3;
        is_one.then_some(EnhancedCode { class: class as u8, subject, detail })
    }
}

/// One to three digits.
fn number(digits: &[u8]) -> Option<u16> {
    let is_number = (1..=3).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
}

/// Parses a complete line (RFC 5321, 4.2, `Reply-line`). A code may stand alone.
#[inline]
pub(super) fn parse(line: &[u8]) -> Result<Event<'_>, Violation> {
    let line = content(line);
    let (Some(&[a @ b'2'..=b'5', b @ b'0'..=b'5', c @ b'0'..=b'9']), rest) =
        (line.first_chunk(), &line[line.len().min(3)..])
    else {
        return Err(Violation::MalformedCode);
    };
    let digit = |byte: u8| u16::from(byte - b'0');
    let code = digit(a) * 100 + digit(b) * 10 + digit(c);
    let (is_last, text) = match rest {
        [] => (true, rest),
        [b' ', text @ ..] => (true, text),
        [b'-', text @ ..] => (false, text),
        _ => return Err(Violation::MalformedCode),
    };
    if let Some(&byte) = text.iter().find(|byte| byte.is_ascii_control() && **byte != b'\t') {
        return Err(Violation::ControlCharacter(byte));
    }
    let line = ReplyLine { code, text };
    Ok(if is_last { Event::End(line) } else { Event::Line(line) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enhanced_code_has_the_class_of_the_reply() {
        let enhanced = |code, text: &str| {
            ReplyLine { code, text: text.as_bytes() }.enhanced().map(|enhanced| enhanced.to_string())
        };
        assert_eq!(enhanced(550, "5.1.1 no such user").as_deref(), Some("5.1.1"));
        assert_eq!(enhanced(452, "4.3.1").as_deref(), Some("4.3.1"));
        for (code, text) in [
            (250, "5.1.1 x"),
            (550, "5.1 x"),
            (550, "5.1.1.1 x"),
            (550, "5.1.1234"),
            (220, ""),
            (250, "2..1"),
        ] {
            assert_eq!(enhanced(code, text), None, "{code} {text}");
        }
    }

    #[test]
    fn codes_outside_the_range_are_refused() {
        let code = |line: &[u8]| {
            parse(line).map(|event| match event {
                Event::Line(line) | Event::End(line) => line.code,
            })
        };
        for (line, expected) in [(&b"200 \r\n"[..], 200), (b"559\r\n", 559), (b"250-x\r\n", 250)] {
            assert_eq!(code(line), Ok(expected));
        }
        for line in [
            &b"199 x\r\n"[..],
            b"600 x\r\n",
            b"265 x\r\n",
            b"25\r\n",
            b"\r\n",
            b"250x\r\n",
            b"HTTP/1.1 400 Bad Request\r\n",
        ] {
            assert_eq!(code(line), Err(Violation::MalformedCode), "{}", line.escape_ascii());
        }
    }
}
