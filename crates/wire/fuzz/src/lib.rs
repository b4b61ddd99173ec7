//! The check of the fuzz targets, the same as of the property tests: see `tests/properties/harness.rs`.

#[path = "../../tests/properties/codecs.rs"]
pub mod codecs;
#[path = "../../tests/properties/harness.rs"]
pub mod harness;

/// Feeds the rest of `data` to a decoder, whole and in pieces. The first bytes choose the replies that the decoder
/// expects and the sizes of the pieces.
pub fn check<C: harness::Codec>(data: &[u8], codec: impl Fn(u8) -> C) {
    if let [selector, first, second, bytes @ ..] = data {
        harness::check_split(|| codec(*selector), bytes, &[usize::from(*first), usize::from(*second)]);
    }
}
