//! The content coding of a reply (RFC 9110, section 8.4): what is searched for a text is the body without it.

use std::io::Write;

use flate2::write::{DeflateDecoder, GzDecoder, ZlibDecoder};
use wire::http1::HeadCache;

/// Longest part of a coding's name that a message has.
const NAME_BYTES: usize = 40;

/// The coding of a body.
#[derive(Debug, Default)]
pub(super) enum ContentCoding {
    /// None.
    #[default]
    Identity,
    /// gzip, which is read.
    Gzip(Box<GzDecoder<Vec<u8>>>),
    /// zlib's format, which the name `deflate` means; its first bytes are not there yet.
    Deflate,
    /// zlib's format.
    Zlib(Box<ZlibDecoder<Vec<u8>>>),
    /// The bare format that some servers send under the same name.
    Bare(Box<DeflateDecoder<Vec<u8>>>),
    /// Another one, by its name.
    Unknown(String),
    /// It is not what its name says.
    Broken(&'static str),
}

impl ContentCoding {
    /// That of the reply whose head was decoded last.
    pub fn of(cache: &HeadCache) -> Self {
        let mut codings =
            cache.values("content-encoding").flat_map(|value| value.split(|byte| *byte == b','));
        let Some(name) = codings.next().map(<[u8]>::trim_ascii).filter(|name| !name.is_empty()) else {
            return Self::Identity;
        };
        let is = |known: &[&str]| known.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        match codings.next() {
            None if is(&["identity"]) => Self::Identity,
            None if is(&["gzip", "x-gzip"]) => Self::Gzip(Box::new(GzDecoder::new(Vec::new()))),
            None if is(&["deflate"]) => Self::Deflate,
            _ => {
                let shown = &name[..name.len().min(NAME_BYTES)];
                Self::Unknown(String::from_utf8_lossy(shown).escape_debug().to_string())
            }
        }
    }

    /// Takes a piece of the body, and passes its text on.
    pub fn decode(&mut self, data: &[u8], mut text: impl FnMut(&[u8])) {
        if let Self::Deflate = self
            && let Some(first) = data.first()
        {
            // Zlib's first byte names the method, 8, and a window of at most 32 KiB.
            let is_zlib = first & 0x0f == 8 && first >> 4 <= 7;
            *self = if is_zlib {
                Self::Zlib(Box::new(ZlibDecoder::new(Vec::new())))
            } else {
                Self::Bare(Box::new(DeflateDecoder::new(Vec::new())))
            };
        }
        let (written, out, name) = match self {
            Self::Identity => return text(data),
            Self::Gzip(decoder) => (write_all(decoder, data), decoder.get_mut(), "gzip"),
            Self::Zlib(decoder) => (write_all(decoder, data), decoder.get_mut(), "deflate"),
            Self::Bare(decoder) => (write_all(decoder, data), decoder.get_mut(), "deflate"),
            Self::Deflate | Self::Unknown(_) | Self::Broken(_) => return,
        };
        text(out);
        out.clear();
        if !written {
            *self = Self::Broken(name);
        }
    }

    /// Why a text was not found, as far as the coding is the reason.
    pub fn why_not_found(&self) -> Option<String> {
        match self {
            Self::Unknown(name) => Some(format!(
                "the body is compressed as {name}, which is not read: send Accept-Encoding: gzip, or leave `contains` out"
            )),
            Self::Broken(name) => Some(format!("the body is named {name} and is not")),
            _ => None,
        }
    }
}

/// Whether the decoder takes all of it, and what follows its end.
fn write_all(decoder: &mut impl Write, mut data: &[u8]) -> bool {
    while !data.is_empty() {
        match decoder.write(data) {
            Ok(0) => return true,
            Ok(taken) => data = &data[taken..],
            Err(_) => return false,
        }
    }
    decoder.flush().is_ok()
}
