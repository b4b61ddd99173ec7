//! Renders commands and the text of messages. Every function appends to `out`, or refuses a part and leaves `out`
//! unchanged; none allocates if `out` has room.
//!
//! Each command has one reply: call [`ReplyDecoder::expect`](super::ReplyDecoder::expect) once. So has a message after
//! [`end_of_data`].

use memchr::{memchr, memchr2};

use super::error::RequestError;
use super::limits::MAX_PATH_BYTES;
use crate::decimal;

/// Ends a command.
const END: &[u8] = b"\r\n";

/// `EHLO`, with the client's name: a host name, or an address in brackets (RFC 5321, 4.1.4).
pub fn ehlo(out: &mut Vec<u8>, domain: &str) -> Result<(), RequestError> {
    let is_word =
        !domain.is_empty() && domain.len() < MAX_PATH_BYTES && domain.bytes().all(|b| b.is_ascii_graphic());
    if !is_word {
        return Err(RequestError::Domain(domain.to_owned()));
    }
    push(out, &[b"EHLO ", domain.as_bytes(), END]);
    Ok(())
}

/// `STARTTLS`. The TLS handshake begins right after its reply.
pub fn starttls(out: &mut Vec<u8>) {
    out.extend_from_slice(b"STARTTLS\r\n");
}

/// `MAIL`, with the sender, empty for the null path of notifications. `bytes` is the size of the message, for servers
/// that offer `SIZE`.
#[inline]
pub fn mail(out: &mut Vec<u8>, sender: &str, bytes: Option<u64>) -> Result<(), RequestError> {
    if !sender.is_empty() {
        check_address(sender)?;
    }
    push(out, &[b"MAIL FROM:<", sender.as_bytes(), b">"]);
    if let Some(bytes) = bytes {
        out.extend_from_slice(b" SIZE=");
        decimal::push(out, bytes as usize);
    }
    out.extend_from_slice(END);
    Ok(())
}

/// `RCPT`, with one recipient.
#[inline]
pub fn rcpt(out: &mut Vec<u8>, recipient: &str) -> Result<(), RequestError> {
    check_address(recipient)?;
    push(out, &[b"RCPT TO:<", recipient.as_bytes(), b">\r\n"]);
    Ok(())
}

/// `DATA`, the last of pipelined commands (RFC 2920, 3.1). The message follows a reply of 354.
#[inline]
pub fn data(out: &mut Vec<u8>) {
    out.extend_from_slice(b"DATA\r\n");
}

/// `RSET`, which aborts a transaction.
pub fn rset(out: &mut Vec<u8>) {
    out.extend_from_slice(b"RSET\r\n");
}

/// `QUIT`. It may be sent together with the end of a message (RFC 2920, 3.1).
#[inline]
pub fn quit(out: &mut Vec<u8>) {
    out.extend_from_slice(b"QUIT\r\n");
}

/// The text of a message, or whole lines of it. A dot at the front of a line is doubled (RFC 5321, 4.5.2). The end of
/// the last line is added if it is missing.
pub fn text(out: &mut Vec<u8>, text: &[u8]) -> Result<(), RequestError> {
    let length = out.len();
    let mut rest = text;
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        if rest[0] == b'.' {
            out.push(b'.');
        }
        let Some(end) = memchr2(b'\r', b'\n', rest) else {
            push(out, &[rest, END]);
            return Ok(());
        };
        if !rest[end..].starts_with(END) {
            out.truncate(length);
            return Err(RequestError::LineEnd { at: at + end });
        }
        let (line, after) = rest.split_at(end + END.len());
        out.extend_from_slice(line);
        rest = after;
    }
    Ok(())
}

/// The full stop that ends a message.
#[inline]
pub fn end_of_data(out: &mut Vec<u8>) {
    out.extend_from_slice(b".\r\n");
}

/// Checks that an address can stand in a command: printable ASCII without spaces and angle brackets, at most
/// [`MAX_PATH_BYTES`] with its brackets. The server checks whether the address exists.
pub fn check_address(address: &str) -> Result<(), RequestError> {
    let bytes = address.as_bytes();
    if bytes.len() > MAX_PATH_BYTES - 2 {
        return Err(RequestError::AddressTooLong { bytes: bytes.len() });
    }
    let is_plain = bytes.iter().all(|&byte| byte.is_ascii_graphic() && byte != b'<' && byte != b'>');
    if bytes.is_empty() || !is_plain || memchr(b'@', bytes) == Some(0) {
        return Err(RequestError::Address(address.to_owned()));
    }
    Ok(())
}

fn push(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 2920, 4.
    #[test]
    fn the_commands_of_a_transaction_can_be_pipelined() -> Result<(), RequestError> {
        let mut out = Vec::new();
        mail(&mut out, "mrose@dbc.mtview.ca.us", None)?;
        rcpt(&mut out, "ned@innosoft.com")?;
        rcpt(&mut out, "dan@innosoft.com")?;
        data(&mut out);
        assert_eq!(
            out,
            b"MAIL FROM:<mrose@dbc.mtview.ca.us>\r\nRCPT TO:<ned@innosoft.com>\r\nRCPT TO:<dan@innosoft.com>\r\nDATA\r\n"
        );
        out.clear();
        mail(&mut out, "", Some(1024))?;
        assert_eq!(out, b"MAIL FROM:<> SIZE=1024\r\n");
        Ok(())
    }

    #[test]
    fn dots_at_the_front_of_a_line_are_doubled() -> Result<(), RequestError> {
        let mut out = Vec::new();
        text(&mut out, b".\r\n..a\r\nb.\r\n\r\n.c")?;
        end_of_data(&mut out);
        assert_eq!(out, b"..\r\n...a\r\nb.\r\n\r\n..c\r\n.\r\n");
        Ok(())
    }

    #[test]
    fn no_part_can_inject_a_command() {
        let mut out = b"before".to_vec();
        for address in ["", "a b@c", "a@b>\r\nDATA", "<a@b", "@b", "ä@b"] {
            assert_eq!(rcpt(&mut out, address), Err(RequestError::Address(address.into())));
        }
        assert_eq!(mail(&mut out, &"a".repeat(255), None), Err(RequestError::AddressTooLong { bytes: 255 }));
        assert_eq!(ehlo(&mut out, "a b"), Err(RequestError::Domain("a b".into())));
        for (message, at) in [(&b"a\r\n.\nQUIT\r\n"[..], 4), (b"a\rb", 1), (b"a\n", 1), (b"a\r", 1)] {
            assert_eq!(text(&mut out, message), Err(RequestError::LineEnd { at }));
        }
        assert_eq!(out, b"before");
    }
}
