//! Keeps the last head and its meaning, so that the same bytes need not be parsed again. `head` parses.

use super::head::{self, Meaning};

/// The bytes of the last head, and its meaning.
///
/// A server repeats the same head for the same request, except for its `Date` once a second. A reply that begins with
/// the cached bytes costs one comparison instead of a parse.
///
/// This is correct because the meaning of a head is a pure function of its bytes. They include the empty line at their
/// end, so that no later byte can change them. Whether the request was HEAD is not in the bytes and is applied after
/// the lookup. Decoding with any cache therefore gives the same events as decoding without (`tests/properties/http1.rs`
/// checks this).
///
/// All connections of a worker with the same operation share one cache. It has at most
/// [`MAX_HEAD_BYTES`](super::MAX_HEAD_BYTES).
#[derive(Debug, Default)]
pub struct HeadCache {
    bytes: Vec<u8>,
    meaning: Option<Meaning>,
}

impl HeadCache {
    /// An empty cache, without any memory.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), meaning: None }
    }

    /// The bytes of the last final head that was decoded with this cache, with its empty line. Right after
    /// [`Event::Head`](super::Event::Head), this is the head of that event.
    pub fn head(&self) -> &[u8] {
        &self.bytes
    }

    /// The values of the fields called `name` in [`HeadCache::head`], in order and trimmed; of a folded field, the first
    /// line. For operations that need a field of the reply, such as `Location` or `Set-Cookie`.
    pub fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        head::values(&self.bytes, name)
    }

    /// The meaning and the size of the head at the front of `input`, if it is the cached one.
    #[inline]
    pub(super) fn lookup(&self, input: &[u8]) -> Option<(Meaning, usize)> {
        let meaning = self.meaning?;
        input.starts_with(&self.bytes).then_some((meaning, self.bytes.len()))
    }

    /// Caches a complete head and its meaning. An interim head is not cached: it would replace the final one.
    pub(super) fn remember(&mut self, head: &[u8], meaning: Meaning) {
        if !meaning.is_interim() {
            self.bytes.clear();
            self.bytes.extend_from_slice(head);
            self.meaning = Some(meaning);
        }
    }
}
