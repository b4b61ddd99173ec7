//! What the fuzz targets check, which is what the property tests check: see `tests/properties/harness.rs`.

#[path = "../../tests/properties/codecs.rs"]
pub mod codecs;
#[path = "../../tests/properties/harness.rs"]
pub mod harness;

/// Feeds the rest of `data` to a decoder, whole and in pieces. The first bytes say which replies the
/// decoder expects, and how large the pieces are.
pub fn check<C: harness::Codec>(data: &[u8], codec: impl Fn(u8) -> C) {
    if let [selector, first, second, bytes @ ..] = data {
        harness::check_split(|| codec(*selector), bytes, &[usize::from(*first), usize::from(*second)]);
    }
}
