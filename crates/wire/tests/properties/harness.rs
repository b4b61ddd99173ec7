//! Drives any decoder through any split of any bytes, and checks what must hold for every codec: it
//! makes progress, it gives back all input it does not understand as an error, and its events do not
//! depend on how the bytes were split. Used by the property tests, the mutation tests and the fuzz targets.

use std::fmt::Debug;

/// What a decoder did in one call.
pub enum Step {
    /// Used up the input and wants more.
    NeedsMore,
    /// Gave an event.
    Event,
    /// Gave the final event of a reply.
    Final,
    /// Found a fault, after which it must not be used.
    Failed,
}

/// What a decoder reports, in a form common to all.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    /// Payload. Where one piece ends and the next begins depends on the split, and means nothing.
    Data(&'a [u8]),
    /// Any other event, or an error.
    Other(&'a dyn Debug),
}

/// A decoder, with the requests whose replies it is to expect one after another.
pub trait Codec {
    /// Gets ready for the next reply, if there is a request left.
    fn expect_next(&mut self);
    /// One call of the decoder; what it gives, also an error, goes to `sink`.
    fn decode(&mut self, input: &mut &[u8], sink: &mut dyn FnMut(Item<'_>)) -> Step;
    /// The peer has closed.
    fn eof(&mut self, sink: &mut dyn FnMut(Item<'_>));
}

/// Feeds `pieces` one after another, then the end of the stream, or until the first error.
pub fn run<'a>(
    codec: &mut dyn Codec,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    sink: &mut dyn FnMut(Item<'_>),
) {
    codec.expect_next();
    let mut progress = true;
    for mut input in pieces {
        loop {
            let before = input.len();
            match codec.decode(&mut input, sink) {
                Step::NeedsMore => {
                    assert!(input.is_empty(), "wants more and leaves {} bytes", input.len());
                    progress |= before > 0;
                    break;
                }
                Step::Event => assert!(input.len() < before, "an event out of nothing"),
                Step::Final => {
                    assert!(progress || input.len() < before, "a reply out of nothing");
                    codec.expect_next();
                    progress = false;
                    continue;
                }
                Step::Failed => return,
            }
            progress = true;
        }
    }
    codec.eof(sink);
}

/// What a whole run gives, with neighbouring pieces of payload joined.
pub fn transcript<'a>(codec: &mut dyn Codec, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut data: Vec<u8> = Vec::new();
    let flush = |data: &mut Vec<u8>, lines: &mut Vec<String>| {
        if !data.is_empty() {
            lines.push(format!("{} bytes: {}", data.len(), data.escape_ascii()));
            data.clear();
        }
    };
    run(codec, pieces, &mut |item| match item {
        Item::Data(piece) => {
            assert!(!piece.is_empty(), "an empty piece of payload");
            data.extend_from_slice(piece);
        }
        Item::Other(event) => {
            flush(&mut data, &mut lines);
            lines.push(format!("{event:?}"));
        }
    });
    flush(&mut data, &mut lines);
    lines
}

/// Cuts `bytes` into pieces of the given sizes, used over and over; into one if all are 0.
pub fn cut<'a>(bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    if sizes.iter().all(|&size| size == 0) {
        return vec![bytes];
    }
    let (mut rest, mut pieces) = (bytes, Vec::new());
    for &size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The check for arbitrary bytes: no panic, no stall, and the same transcript whole and in pieces.
pub fn check_split<C: Codec>(codec: impl Fn() -> C, bytes: &[u8], sizes: &[usize]) {
    let whole = transcript(&mut codec(), [bytes]);
    let split = transcript(&mut codec(), cut(bytes, sizes));
    assert_eq!(whole, split, "{} in pieces of {sizes:?}", bytes.escape_ascii());
}
