//! Remembers the last head and what it meant, so that the same bytes need not be parsed again; leaves
//! the parsing to `head`.

use super::head::{self, Meaning};

/// The bytes of the last head and what they meant.
///
/// A server answers the same request over and over with the same head, but for its `Date` once a
/// second. A reply that begins with the remembered bytes costs one comparison instead of a parse.
///
/// This is sound because what a head means is a pure function of its bytes: they include the empty line
/// that ends them, so whatever follows cannot change where they end or what they say. The one thing
/// that is not in the bytes, whether the request was HEAD, is applied after the lookup. Decoding with
/// a cache, however filled, therefore gives the same events as decoding without (`tests/properties/http1.rs`
/// checks this).
///
/// Share one among all connections of a worker that carry the same operation. It holds at most
/// [`MAX_HEAD_BYTES`](super::MAX_HEAD_BYTES).
#[derive(Debug, Default)]
pub struct HeadCache {
    bytes: Vec<u8>,
    meaning: Option<Meaning>,
}

impl HeadCache {
    /// An empty cache, which holds no memory yet.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), meaning: None }
    }

    /// The bytes of the final head that was decoded last with this cache, up to and with its empty line.
    /// Right after [`Event::Head`](super::Event::Head), this is the head of that event.
    pub fn head(&self) -> &[u8] {
        &self.bytes
    }

    /// The values of the fields called `name` in [`HeadCache::head`], in order and trimmed; of a folded
    /// one the first line. For what an operation must know of its reply, such as `Location` or `Set-Cookie`.
    pub fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        head::values(&self.bytes, name)
    }

    /// What the head at the front of `input` means, and its size, if it is the remembered one.
    #[inline]
    pub(super) fn lookup(&self, input: &[u8]) -> Option<(Meaning, usize)> {
        let meaning = self.meaning?;
        input.starts_with(&self.bytes).then_some((meaning, self.bytes.len()))
    }

    /// Remembers a whole head and what it means, unless it is interim: that would only push out the final
    /// one that follows.
    pub(super) fn remember(&mut self, head: &[u8], meaning: Meaning) {
        if !meaning.is_interim() {
            self.bytes.clear();
            self.bytes.extend_from_slice(head);
            self.meaning = Some(meaning);
        }
    }
}
