//! Where a value stands in a request, and which values can stand there: all are checked before the load, so that no value
//! can end a line or begin another request.

/// The part of a request that a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValuePlace {
    /// The beginning of the target: a path.
    TargetStart,
    /// Elsewhere in the target.
    Target,
    /// The value of `Host`.
    Host,
    /// The value of another header.
    Header,
    /// The body, which takes any bytes.
    Body,
}

impl ValuePlace {
    /// Why a value cannot stand here, and the remedy.
    pub fn check(self, value: &[u8]) -> Result<(), String> {
        let shown = || String::from_utf8_lossy(value).chars().take(60).collect::<String>();
        let is_bad = |byte: &&u8| match self {
            Self::TargetStart | Self::Target => !byte.is_ascii_graphic() || **byte == b'#',
            Self::Host => !byte.is_ascii_graphic() || b"/?#@\\,".contains(byte),
            Self::Header => byte.is_ascii_control() && **byte != b'\t',
            Self::Body => false,
        };
        if self == Self::TargetStart && !begins_target(value) {
            return Err(format!("{:?} is not a path: begin it with /", shown()));
        }
        if self == Self::Host && value.is_empty() {
            return Err("a host is missing: give a name".to_owned());
        }
        if self == Self::Header && std::str::from_utf8(value).is_err() {
            return Err(format!("{:?} is not UTF-8: convert the file", shown()));
        }
        match value.iter().find(is_bad) {
            None => Ok(()),
            Some(found) => {
                let found = char::from(*found);
                let remedy = match self {
                    Self::Host | Self::Header | Self::Body => "remove it",
                    Self::TargetStart | Self::Target => "percent-encode it",
                };
                Err(format!("{:?} has {found:?}: {remedy}", shown()))
            }
        }
    }

    /// Appends a value that comes from a server, so that it can stand here: bytes that cannot are percent-encoded in a target,
    /// and replaced in a header.
    pub fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Body => out.extend_from_slice(value),
            Self::Header | Self::Host => {
                let fits = |byte: u8| matches!(byte, b' '..=b'~');
                out.extend(value.iter().map(|byte| if fits(*byte) { *byte } else { b'?' }));
            }
            Self::TargetStart | Self::Target => {
                if self == Self::TargetStart && !begins_target(value) {
                    out.push(b'/');
                }
                for byte in value {
                    if byte.is_ascii_graphic() && *byte != b'#' {
                        out.push(*byte);
                    } else {
                        push_percent(*byte, out);
                    }
                }
            }
        }
    }

    /// A value that can stand here, to check the rest of a request with.
    pub fn example(self) -> &'static [u8] {
        if self == Self::TargetStart { b"/" } else { b"0" }
    }
}

/// Whether a request's target may begin so.
fn begins_target(value: &[u8]) -> bool {
    ["/", "http://", "https://"].iter().any(|start| value.starts_with(start.as_bytes()))
}

/// Appends a byte as `%XX`.
pub(crate) fn push_percent(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_end_a_line_or_begin_a_request() {
        for (place, value, fits) in [
            (ValuePlace::TargetStart, "/a?b=c%20d", true),
            (ValuePlace::TargetStart, "a", false),
            (ValuePlace::TargetStart, "http:/a", false),
            (ValuePlace::Target, "a", true),
            (ValuePlace::Target, "a b", false),
            (ValuePlace::Target, "ü", false),
            (ValuePlace::Target, "a#b", false),
            (ValuePlace::Header, "a b\tc", true),
            (ValuePlace::Header, "a\rb", false),
            (ValuePlace::Host, "shop.example:80", true),
            (ValuePlace::Host, "a/b", false),
            (ValuePlace::Body, "a\0b", true),
        ] {
            assert_eq!(place.check(value.as_bytes()).is_ok(), fits, "{place:?} {value:?}");
            assert_eq!(place.check(place.example()), Ok(()));
        }
        for (place, value, written) in [
            (ValuePlace::TargetStart, "events/1 2", "/events/1%202"),
            (ValuePlace::TargetStart, "http:/a", "/http:/a"),
            (ValuePlace::Target, "a#b\r\n", "a%23b%0D%0A"),
            (ValuePlace::Header, "a\r\nEvil: ü", "a??Evil: ??"),
            (ValuePlace::Body, "a\r\n", "a\r\n"),
        ] {
            let mut out = Vec::new();
            place.write(value.as_bytes(), &mut out);
            assert_eq!(out, written.as_bytes());
            assert_eq!(place.check(&out), Ok(()), "{place:?}");
        }
        assert_eq!(ValuePlace::Target.check(b"a b"), Err(r#""a b" has ' ': percent-encode it"#.to_owned()));
    }
}
