//! Searches a text in a stream of pieces with two bytes of state: the algorithm of Knuth, Morris and Pratt across the pieces'
//! edges, and a vectorised search within them.

use memchr::memmem::Finder;

/// A text that is searched for.
#[derive(Clone, Debug)]
pub(super) struct Needle {
    finder: Finder<'static>,
    /// For each length of a match so far: how much of it remains one when the next byte is another.
    fallback: Box<[u16]>,
}

impl Needle {
    /// Longest text.
    pub const LONGEST: usize = 1_024;

    /// A text of 1 to [`Self::LONGEST`] bytes.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut fallback = vec![0_u16; bytes.len()];
        let mut matched = 0_usize;
        for at in 1..bytes.len() {
            while matched > 0 && bytes[at] != bytes[matched] {
                matched = fallback[matched - 1].into();
            }
            matched += usize::from(bytes[at] == bytes[matched]);
            fallback[at] = u16::try_from(matched).expect("a text of at most 1,024 bytes");
        }
        Self { finder: Finder::new(bytes).into_owned(), fallback: fallback.into() }
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.fallback.len()
    }

    /// The text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.finder.needle()).into_owned()
    }

    /// Searches in the next piece; `matched` is the state, 0 at the beginning. Returns where the text ends in the piece.
    pub fn find(&self, matched: &mut u16, piece: &[u8]) -> Option<usize> {
        let mut at = 0;
        while *matched > 0 {
            let byte = piece.get(at)?;
            at += 1;
            if self.step(matched, *byte) {
                return Some(at);
            }
        }
        let rest = &piece[at..];
        if let Some(found) = self.finder.find(rest) {
            return Some(at + found + self.len());
        }
        // Only the end of the piece can begin a match.
        for byte in &rest[rest.len().saturating_sub(self.len() - 1)..] {
            let is_found = self.step(matched, *byte);
            debug_assert!(!is_found, "it would have been found in one piece");
        }
        None
    }

    /// Takes one byte. Whether it completes the text; the state is then that of a new search.
    fn step(&self, matched: &mut u16, byte: u8) -> bool {
        let text = self.finder.needle();
        while *matched > 0 && text[usize::from(*matched)] != byte {
            *matched = self.fallback[usize::from(*matched) - 1];
        }
        *matched += u16::from(text[usize::from(*matched)] == byte);
        let is_complete = usize::from(*matched) == text.len();
        if is_complete {
            *matched = 0;
        }
        is_complete
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// How often a text is found in pieces of these lengths; matches do not overlap.
    fn count(text: &str, body: &str, mut cuts: Vec<usize>) -> usize {
        cuts.extend([0, body.len()]);
        cuts.retain(|cut| *cut <= body.len());
        cuts.sort_unstable();
        let (needle, mut matched, mut found) = (Needle::new(text), 0, 0);
        for ends in cuts.windows(2) {
            let mut piece = &body.as_bytes()[ends[0]..ends[1]];
            while let Some(end) = needle.find(&mut matched, piece) {
                found += 1;
                piece = &piece[end..];
            }
        }
        found
    }

    proptest! {
        #[test]
        fn a_text_is_found_as_often_as_it_is_there_in_any_pieces(
            body in "[ab]{0,60}",
            text in "[ab]{1,6}",
            cuts in prop::collection::vec(0_usize..61, 0..10),
        ) {
            prop_assert_eq!(count(&text, &body, cuts), body.matches(&text).count());
        }
    }
}
