//! What one connection has received of a reply.

use memchr::memmem::Finder;

/// A reply in progress. Keep it small: each connection has one.
#[derive(Debug, Default)]
pub(super) struct HttpReply {
    pub status: u16,
    /// Bytes of the body so far.
    pub body_bytes: u64,
    /// Whether the expected text has been found.
    pub found: bool,
    /// The end of the body so far, where the expected text may begin.
    carry: Vec<u8>,
}

impl HttpReply {
    /// Prepares for the next reply.
    #[inline]
    pub fn clear(&mut self) {
        (self.status, self.body_bytes, self.found) = (0, 0, false);
        self.carry.clear();
    }

    /// Takes a piece of the body; `finder` searches a text in it.
    #[inline]
    pub fn take(&mut self, data: &[u8], finder: Option<&Finder<'_>>) {
        self.body_bytes += data.len() as u64;
        if let Some(finder) = finder {
            self.search(finder, data);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
