//! The extensions that a server offers in its answer to EHLO (RFC 5321, 4.1.1.1), as far as the client uses them.

/// Offered extensions. They are void once TLS has begun (RFC 3207, 4.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Several commands may be sent before the first is answered (RFC 2920).
    pub pipelining: bool,
    /// The client may start TLS (RFC 3207).
    pub starttls: bool,
    /// MAIL may announce the size of the message (RFC 1870).
    pub size: bool,
}

impl Extensions {
    /// Adds the extension that a line of the answer offers. The first line is a greeting and offers none.
    pub fn note(&mut self, text: &[u8]) {
        let keyword = text.split(|&byte| byte == b' ').next().unwrap_or_default();
        let is = |name: &str| keyword.eq_ignore_ascii_case(name.as_bytes());
        self.pipelining |= is("PIPELINING");
        self.starttls |= is("STARTTLS");
        self.size |= is("SIZE");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_whole_words_in_any_case() {
        let mut offered = Extensions::default();
        for text in ["mx.example Hello", "size 10240000", "STARTTLSX", "Pipelining 1"] {
            offered.note(text.as_bytes());
        }
        assert_eq!(offered, Extensions { size: true, pipelining: true, starttls: false });
    }
}
