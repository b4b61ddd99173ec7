//! What the browser of each user has: which statics of the site, and which items of its pages. A few bytes a user, from the start to
//! the end.
//!
//! The model is that of Faban's Olio driver: a session begins with all statics, and asks for each again by a conditional request
//! (RFC 9110, section 13), or without any, and gets each once. Items, such as images, are fetched once in both.

use rand::{Rng, RngExt};

use super::spec::BrowserCache;

/// Bytes of the fingerprint of an item. Two items have the same one in one of four billion cases, and the second is then not fetched.
const FINGERPRINT_BYTES: usize = 4;

/// What a browser had when its session began.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// It is drawn when the first static is due.
    Undecided,
    /// Nothing.
    Cold,
    /// All statics.
    Warm,
}

/// The browsers of a worker's users. Each has: how its session began, a bit for each static, the place of the next fingerprint,
/// and the fingerprints.
#[derive(Debug)]
pub(super) struct Browsers {
    /// The share of sessions that begin with all statics, 0 to 1.
    warm: f64,
    items: usize,
    /// Where the fingerprints begin.
    fingerprints_at: usize,
    bytes: usize,
    memory: Vec<u8>,
}

impl Browsers {
    /// For a site with this many statics.
    pub fn new(cache: BrowserCache, statics: usize) -> Self {
        let fingerprints_at = 1 + statics.div_ceil(8) + 2;
        let items = usize::from(cache.items);
        Self {
            warm: cache.warm / 100.0,
            items,
            fingerprints_at,
            bytes: fingerprints_at + items * FINGERPRINT_BYTES,
            memory: Vec::new(),
        }
    }

    /// Bytes of a user.
    pub fn bytes_of_user(&self) -> usize {
        self.bytes
    }

    /// Makes room for the users up to this slot.
    pub fn make_room(&mut self, slot: u32) {
        let bytes = (slot as usize + 1) * self.bytes;
        if self.memory.len() < bytes {
            self.memory.resize(bytes, 0);
        }
    }

    /// A session begins: how is drawn later.
    pub fn reset(&mut self, slot: u32) {
        self.of(slot).fill(0);
    }

    fn of(&mut self, slot: u32) -> &mut [u8] {
        &mut self.memory[slot as usize * self.bytes..][..self.bytes]
    }

    fn begin(&mut self, slot: u32) -> Begin {
        match self.of(slot)[0] {
            0 => Begin::Undecided,
            1 => Begin::Cold,
            _ => Begin::Warm,
        }
    }

    /// Whether the user asks for the static of this number.
    pub fn wants_static(&mut self, slot: u32, number: u16, rng: &mut impl Rng) -> bool {
        if self.begin(slot) == Begin::Undecided {
            let is_warm = rng.random::<f64>() < self.warm;
            self.of(slot)[0] = if is_warm { 2 } else { 1 };
        }
        let (byte, bit) = place(number);
        self.is_warm(slot) || self.of(slot)[byte] & bit == 0
    }

    /// Whether the user has all statics, and asks whether they have changed.
    pub fn is_warm(&mut self, slot: u32) -> bool {
        self.begin(slot) == Begin::Warm
    }

    /// The user has got the static of this number.
    pub fn keep_static(&mut self, slot: u32, number: u16) {
        let (byte, bit) = place(number);
        self.of(slot)[byte] |= bit;
    }

    /// Whether the user gets an item that it does not have. Then it has it: the oldest one makes room.
    pub fn wants_item(&mut self, slot: u32, item: &[u8]) -> bool {
        let wanted = fingerprint(item).to_le_bytes();
        let (items, at) = (self.items, self.fingerprints_at);
        let (head, fingerprints) = self.of(slot).split_at_mut(at);
        if fingerprints.chunks_exact(FINGERPRINT_BYTES).any(|known| known == wanted) {
            return false;
        }
        if items > 0 {
            let next = &mut head[at - 2..];
            let place = usize::from(u16::from_le_bytes([next[0], next[1]]));
            fingerprints[place * FINGERPRINT_BYTES..][..FINGERPRINT_BYTES].copy_from_slice(&wanted);
            let after = u16::try_from((place + 1) % items).expect("at most 65,535 items");
            next.copy_from_slice(&after.to_le_bytes());
        }
        true
    }
}

/// The byte and the bit of a static.
fn place(number: u16) -> (usize, u8) {
    (1 + usize::from(number / 8), 1 << (number % 8))
}

/// FNV-1a (Fowler, Noll, Vo), 32 bits; never 0, which is an empty place.
fn fingerprint(item: &[u8]) -> u32 {
    let hash =
        item.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn browsers(warm: f64, items: u16) -> Browsers {
        let mut browsers = Browsers::new(BrowserCache { warm, items }, 11);
        browsers.make_room(2);
        browsers
    }

    #[test]
    fn a_cold_session_gets_each_static_once_and_a_warm_one_asks_for_all_again() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        for (warm, asks_again) in [(0.0, false), (100.0, true)] {
            let mut browsers = browsers(warm, 0);
            for number in [0, 10] {
                assert!(browsers.wants_static(1, number, &mut rng));
                browsers.keep_static(1, number);
                assert_eq!(browsers.wants_static(1, number, &mut rng), asks_again);
            }
            assert!(browsers.wants_static(1, 3, &mut rng) && browsers.wants_static(2, 0, &mut rng));
            browsers.reset(1);
            assert!(browsers.wants_static(1, 0, &mut rng));
        }
    }

    #[test]
    fn sessions_begin_warm_by_their_share() {
        let (mut browsers, mut rng) = (browsers(60.0, 0), Pcg64Mcg::seed_from_u64(2));
        let mut warm = 0;
        for _ in 0..5_000 {
            browsers.reset(0);
            browsers.wants_static(0, 0, &mut rng);
            warm += u32::from(browsers.is_warm(0));
        }
        assert!((2_890..3_110).contains(&warm), "{warm}");
    }

    #[test]
    fn an_item_is_fetched_once_until_newer_ones_took_its_place() {
        let mut browsers = browsers(0.0, 2);
        assert!(browsers.wants_item(0, b"a.jpg") && browsers.wants_item(0, b"b.jpg"));
        assert!(!browsers.wants_item(0, b"a.jpg") && browsers.wants_item(1, b"a.jpg"));
        assert!(browsers.wants_item(0, b"c.jpg") && browsers.wants_item(0, b"a.jpg"));
        assert!(!browsers.wants_item(0, b"c.jpg"));
    }
}
