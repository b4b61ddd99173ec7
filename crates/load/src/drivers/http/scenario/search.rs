//! What a step looks for in the body of its reply: values between two texts or at a JSON pointer, and texts whose number is
//! expected. All of them see each piece once; nothing of the body is kept but the values.

use rand::{Rng, RngExt};

use super::json::{Found, Pointer, PointerSearch};
use super::needle::Needle;
use super::sessions::Sessions;
use super::spec::Pick;

/// A search in a body.
#[expect(clippy::large_enum_variant, reason = "a scenario has a few, and they are not moved")]
#[derive(Clone, Debug)]
pub(super) enum BodySearch {
    /// A text, which is counted.
    Text(Needle),
    /// The values between two texts.
    Between { begin: Needle, end: Needle, value: u16, pick: Pick },
    /// The scalars at a pointer.
    Json { pointer: Pointer, value: u16, pick: Pick },
}

/// How far a search is.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a place in a text")]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SearchState {
    /// Texts or values that were found.
    pub found: u32,
    /// Whether a value is longer than its slot.
    pub is_too_long: bool,
    /// Whether a list has no place for a value.
    pub is_list_full: bool,
    /// Whether a value was kept.
    pub has_value: bool,
    /// Whether the bytes that follow are of a value.
    is_inside: bool,
    /// Whether that value is the one to keep.
    is_picked: bool,
    matched: u16,
    json: PointerSearch,
}

const _: () = assert!(size_of::<SearchState>() <= 80);

impl Pick {
    /// Whether the value of this number, from 1, is kept. Of random ones, each replaces the one before with the chance that makes
    /// all equally likely in the end.
    fn takes(self, number: u32, rng: &mut impl Rng) -> bool {
        match self {
            Self::First => number == 1,
            Self::Last | Self::All => true,
            Self::Nth(wanted) => number == wanted,
            Self::Random => rng.random_range(0..number) == 0,
        }
    }

    /// Whether no value after the one of this number is kept.
    fn is_over(self, number: u32) -> bool {
        match self {
            Self::First => number >= 1,
            Self::Nth(wanted) => number >= wanted,
            Self::Last | Self::Random | Self::All => false,
        }
    }
}

impl SearchState {
    /// Takes the next piece of the body of this user's reply.
    pub fn advance(
        &mut self,
        search: &BodySearch,
        mut piece: &[u8],
        (sessions, slot): (&mut Sessions, u32),
        rng: &mut impl Rng,
    ) {
        match search {
            BodySearch::Text(needle) => {
                while let Some(end) = needle.find(&mut self.matched, piece) {
                    self.found = self.found.saturating_add(1);
                    piece = &piece[end..];
                }
            }
            BodySearch::Between { begin, end, value, pick } => {
                while !piece.is_empty() && (self.is_inside || !pick.is_over(self.found)) {
                    if !self.is_inside {
                        let Some(at) = begin.find(&mut self.matched, piece) else { return };
                        piece = &piece[at..];
                        self.begin(*value, *pick, (sessions, slot), rng);
                        continue;
                    }
                    let at = end.find(&mut self.matched, piece);
                    let (inside, rest) = piece.split_at(at.unwrap_or(piece.len()));
                    self.add(*value, inside, (sessions, slot));
                    piece = rest;
                    if at.is_some() {
                        self.end(*value, end.len(), *pick, (sessions, slot));
                    }
                }
            }
            BodySearch::Json { pointer, value, pick } => {
                let mut json = self.json;
                json.advance(pointer, piece, |part| match part {
                    Found::Begin if pick.is_over(self.found) => self.is_picked = false,
                    Found::Begin => self.begin(*value, *pick, (sessions, slot), rng),
                    Found::Byte(byte) => self.add(*value, &[byte], (sessions, slot)),
                    Found::End => self.end(*value, 0, *pick, (sessions, slot)),
                });
                self.json = json;
            }
        }
    }

    fn begin(&mut self, value: u16, pick: Pick, (sessions, slot): (&mut Sessions, u32), rng: &mut impl Rng) {
        self.found = self.found.saturating_add(1);
        (self.is_inside, self.matched) = (true, 0);
        self.is_picked = pick.takes(self.found, rng);
        if self.is_picked {
            self.is_too_long = false;
            sessions.begin_value(slot, value);
        }
    }

    fn add(&mut self, value: u16, bytes: &[u8], (sessions, slot): (&mut Sessions, u32)) {
        if self.is_picked && !self.is_too_long {
            self.is_too_long = !sessions.add_to_value(slot, value, bytes);
        }
    }

    fn end(&mut self, value: u16, without: usize, pick: Pick, (sessions, slot): (&mut Sessions, u32)) {
        self.is_inside = false;
        if std::mem::take(&mut self.is_picked) && !self.is_too_long {
            self.is_too_long = !sessions.end_value(slot, value, without);
            self.has_value |= !self.is_too_long;
            if pick == Pick::All && !self.is_too_long {
                self.is_list_full |= !sessions.add_item(slot, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::drivers::http::scenario::spec::CookieSlots;
    use crate::inputs::template::Session;

    /// The value that a search finds in a body that comes in pieces of this length, and whether one was too long.
    fn capture(search: &BodySearch, body: &str, length: usize, seed: u64) -> (Option<String>, bool) {
        let mut sessions = Sessions::of_values(&[(8, 3, 8)], CookieSlots::default(), 0, 1);
        sessions.make_room(0);
        let (mut state, mut rng) = (SearchState::default(), Pcg64Mcg::seed_from_u64(seed));
        for piece in body.as_bytes().chunks(length) {
            state.advance(search, piece, (&mut sessions, 0), &mut rng);
        }
        let value = sessions.of(0).value(0).map(|value| String::from_utf8_lossy(value).into_owned());
        assert_eq!(value.is_some(), state.has_value);
        (value, state.is_too_long)
    }

    fn between(pick: Pick) -> BodySearch {
        BodySearch::Between { begin: Needle::new("id=\""), end: Needle::new("\">"), value: 0, pick }
    }

    #[test]
    fn the_picked_value_is_captured() {
        let body = "<a id=\"1\"><a id=\"22\"><a id=\"333\"><a id=\"x";
        for length in [1, 3, 100] {
            let value = |pick| capture(&between(pick), body, length, 1).0;
            assert_eq!(value(Pick::First).as_deref(), Some("1"));
            assert_eq!(value(Pick::Nth(2)).as_deref(), Some("22"));
            assert_eq!(value(Pick::Last).as_deref(), Some("333"), "the last that is complete");
            assert_eq!(value(Pick::Nth(5)), None);
        }
        let json = |pick| BodySearch::Json { pointer: Pointer::parse("/*/id").expect("one"), value: 0, pick };
        let body = r#"[{"id":1},{"id":22},{"id":333}]"#;
        for (pick, value) in [(Pick::First, "1"), (Pick::Nth(2), "22"), (Pick::Last, "333")] {
            assert_eq!(capture(&json(pick), body, 2, 1).0.as_deref(), Some(value));
        }
    }

    #[test]
    fn a_random_value_is_any_of_them_equally_often() {
        let body = "id=\"0\">id=\"1\">id=\"2\">id=\"3\">";
        let mut counts = [0_u32; 4];
        for seed in 0..4_000 {
            let (value, _) = capture(&between(Pick::Random), body, 5, seed);
            counts[value.expect("a value").parse::<usize>().expect("a number")] += 1;
        }
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_value_longer_than_its_slot_is_noticed() {
        assert_eq!(capture(&between(Pick::First), "id=\"123456789\">", 1, 1), (None, true));
        assert_eq!(
            capture(&between(Pick::First), "id=\"12345678\">", 1, 1),
            (Some("12345678".to_owned()), false)
        );
        let endless = format!("id=\"{}", "x".repeat(5_000));
        assert_eq!(capture(&between(Pick::Last), &endless, 100, 1), (None, true));
    }

    #[test]
    fn all_values_become_a_list_and_one_too_many_is_noticed() {
        let body = "id=\"1\">id=\"22\">id=\"333\">";
        for (body, is_full) in [(body.to_owned(), false), (body.repeat(2), true)] {
            let mut sessions = Sessions::of_values(&[(8, 3, 8)], CookieSlots::default(), 0, 1);
            sessions.make_room(0);
            let (mut state, mut rng) = (SearchState::default(), Pcg64Mcg::seed_from_u64(1));
            for piece in body.as_bytes().chunks(4) {
                state.advance(&between(Pick::All), piece, (&mut sessions, 0), &mut rng);
            }
            assert_eq!(state.is_list_full, is_full);
            let mut taken = Vec::new();
            while sessions.take_item(0, 0, false) {
                taken.push(sessions.of(0).value(0).expect("a value").to_vec());
            }
            assert_eq!(taken, [&b"1"[..], b"22", b"333"]);
        }
    }

    #[test]
    fn texts_are_counted() {
        let (mut state, mut rng) = (SearchState::default(), Pcg64Mcg::seed_from_u64(1));
        let mut sessions = Sessions::of_values(&[], CookieSlots::default(), 0, 1);
        for piece in [&b"/media/a /med"[..], b"ia/b", b" /medi"] {
            state.advance(&BodySearch::Text(Needle::new("/media/")), piece, (&mut sessions, 0), &mut rng);
        }
        assert_eq!(state.found, 2);
    }

    proptest! {
        #[test]
        fn the_first_value_is_that_of_a_whole_body(body in "[ab\">id=]{0,60}", length in 1_usize..9) {
            let expected = body.split_once("id=\"").and_then(|(_, rest)| rest.split_once("\">")).map(|(value, _)| value);
            let (value, is_too_long) = capture(&between(Pick::First), &body, length, 1);
            match expected {
                Some(text) if text.len() <= 8 => prop_assert_eq!(value.as_deref(), Some(text)),
                Some(_) => prop_assert!(value.is_none() && is_too_long),
                None => prop_assert!(value.is_none()),
            }
        }
    }
}
