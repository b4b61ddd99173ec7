//! What one connection has received of a reply, and which of its next bytes are needed.

use memchr::memmem::Finder;
use wire::http1::ResponseDecoder;

use super::coding::ContentCoding;
use crate::driver::{Demand, Fault};

/// Below this size, copying a body is cheaper than a further system call.
const WORTH_SKIPPING: u64 = 16 * 1024;

/// A reply in progress. Keep it small: each connection has one.
#[derive(Debug, Default)]
pub(super) struct HttpReply {
    pub status: u16,
    /// Bytes of the body so far.
    pub body_bytes: u64,
    /// Whether the expected text has been found.
    pub found: bool,
    /// How the body is coded, where a text is searched in it.
    pub coding: ContentCoding,
    /// The end of the body so far, where the expected text may begin.
    carry: Vec<u8>,
}

impl HttpReply {
    /// Prepares for the next reply.
    #[inline]
    pub fn clear(&mut self) {
        (self.status, self.body_bytes, self.found) = (0, 0, false);
        if !matches!(self.coding, ContentCoding::Identity) {
            self.coding = ContentCoding::Identity;
        }
        self.carry.clear();
    }

    /// Takes a piece of the body; `finder` searches a text in it.
    #[inline]
    pub fn take(&mut self, data: &[u8], finder: Option<&Finder<'_>>) {
        self.body_bytes += data.len() as u64;
        if let Some(finder) = finder {
            let mut coding = std::mem::take(&mut self.coding);
            coding.decode(data, |text| self.search(finder, text));
            self.coding = coding;
        }
    }

    /// Searches a text that may lie across pieces of the body.
    fn search(&mut self, finder: &Finder<'_>, data: &[u8]) {
        if self.found {
            return;
        }
        let overlap = finder.needle().len().saturating_sub(1);
        let head = &data[..data.len().min(overlap)];
        self.carry.extend_from_slice(head);
        self.found = finder.find(data).is_some() || finder.find(&self.carry).is_some();
        self.carry.extend_from_slice(&data[head.len()..][data[head.len()..].len().saturating_sub(overlap)..]);
        let excess = self.carry.len().saturating_sub(overlap);
        self.carry.drain(..excess);
    }
}

/// The fault of a reply that these bytes follow.
#[cold]
pub(super) fn longer_than_announced(rest: &[u8]) -> Fault {
    let extra = rest.len();
    Fault::protocol(format!("{extra} bytes after the end of the reply: the body is longer than announced"))
}

/// Which of the next bytes of a reply are needed, whose body is searched or not, and usually has this length.
#[inline]
pub(super) fn demand_of(decoder: &ResponseDecoder, is_searched: bool, usual_body: u64) -> Demand {
    let left = decoder.body_left();
    if is_searched {
        Demand::All
    } else if left >= WORTH_SKIPPING {
        // All but the last byte, so that bytes after the body are noticed.
        Demand::Skip(left - 1)
    } else if decoder.is_in_head() && usual_body >= WORTH_SKIPPING {
        Demand::Front
    } else {
        Demand::All
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use wire::http1::{Event, HeadCache, ResponseDecoder};

    use super::*;

    /// The coding that a head with this field announces.
    fn coding(field: &str) -> ContentCoding {
        let head = format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n");
        let (mut cache, mut decoder, mut input) = (HeadCache::new(), ResponseDecoder::new(), head.as_bytes());
        decoder.expect(false);
        assert!(matches!(decoder.decode(&mut cache, &mut input), Ok(Some(Event::Head(_)))));
        ContentCoding::of(&cache)
    }

    fn compressed(name: &str, text: &[u8]) -> Vec<u8> {
        let level = Compression::default();
        let done = match name {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), level);
                encoder.write_all(text).and_then(|()| encoder.finish())
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(text).and_then(|()| encoder.finish())
            }
            _ => {
                let mut encoder = DeflateEncoder::new(Vec::new(), level);
                encoder.write_all(text).and_then(|()| encoder.finish())
            }
        };
        done.expect("memory is written")
    }

    #[test]
    fn a_text_is_found_in_a_compressed_body_in_any_pieces() {
        let lines: Vec<String> = (0..2_000).map(|n| format!("line {n} of hay\n")).collect();
        let body = lines.concat() + "needle";
        for (field, name) in [
            ("Content-Encoding: gzip", "gzip"),
            ("content-encoding: X-GZIP", "gzip"),
            ("Content-Encoding: deflate", "zlib"),
            ("Content-Encoding: deflate", "bare"),
        ] {
            let data = compressed(name, body.as_bytes());
            for size in [1, 7, 1_000, data.len()] {
                for (text, is_there) in [("needle", true), ("line 1999 of", true), ("thread", false)] {
                    let mut reply = HttpReply { coding: coding(field), ..HttpReply::default() };
                    let finder = Finder::new(text);
                    data.chunks(size).for_each(|piece| reply.take(piece, Some(&finder)));
                    assert_eq!(reply.found, is_there, "{name} in pieces of {size}: {text}");
                    assert_eq!(reply.body_bytes, data.len() as u64);
                    assert_eq!(reply.coding.why_not_found(), None);
                }
            }
        }
    }

    #[test]
    fn a_coding_that_is_not_read_is_named() {
        let mut reply = HttpReply { coding: coding("Content-Encoding: br"), ..HttpReply::default() };
        reply.take(b"xxneedlexx", Some(&Finder::new("needle")));
        assert!(!reply.found);
        assert!(reply.coding.why_not_found().expect("a reason").starts_with("the body is compressed as br"));
        let mut reply = HttpReply { coding: coding("Content-Encoding: gzip"), ..HttpReply::default() };
        reply.take(b"xxneedlexx", Some(&Finder::new("needle")));
        assert_eq!(reply.coding.why_not_found().as_deref(), Some("the body is named gzip and is not"));
        assert!(matches!(coding("Content-Encoding: identity"), ContentCoding::Identity));
    }

    proptest! {
        #[test]
        fn a_text_is_found_across_any_pieces_of_the_body(
            body in "[ab]{0,40}",
            text in "[ab]{1,5}",
            mut cuts in prop::collection::vec(0_usize..41, 0..8),
        ) {
            cuts.extend([0, body.len()]);
            cuts.retain(|cut| *cut <= body.len());
            cuts.sort_unstable();
            let finder = Finder::new(&text);
            let mut reply = HttpReply::default();
            for piece in cuts.windows(2) {
                reply.take(&body.as_bytes()[piece[0]..piece[1]], Some(&finder));
            }
            prop_assert_eq!(reply.found, body.contains(&text));
            prop_assert_eq!(reply.body_bytes, body.len() as u64);
        }
    }
}
