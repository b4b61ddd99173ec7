//! What the fuzz targets check. The codecs and the dialogues are checked as in the property tests, with their files.

#[path = "../../crates/wire/tests/properties/codecs.rs"]
pub mod codecs;
#[path = "../../crates/wire/tests/properties/harness.rs"]
pub mod harness;
#[path = "../../crates/load/tests/dialogues/server.rs"]
pub mod server;
#[path = "../../crates/load/tests/dialogues/specs.rs"]
pub mod specs;

/// Feeds the rest of `data` to a decoder, whole and in pieces. The first bytes choose the replies that the decoder
/// expects and the sizes of the pieces.
pub fn check<C: harness::Codec>(data: &[u8], codec: impl Fn(u8) -> C) {
    if let [selector, first, second, bytes @ ..] = data {
        harness::check_split(|| codec(*selector), bytes, &[usize::from(*first), usize::from(*second)]);
    }
}

/// Lets a driver talk to a server that sends the rest of `data`. The first byte chooses the driver's random numbers.
pub fn talk(data: &[u8], driver: fn(server::HostileServer<'_>) -> u64) {
    if let [seed, replies @ ..] = data {
        driver(server::HostileServer { seed: u64::from(*seed), replies });
    }
}
