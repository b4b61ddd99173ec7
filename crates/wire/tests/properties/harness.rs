//! Feeds any bytes in any split to a decoder, and checks the rules of every codec: it makes progress, it reports all invalid
//! input as an error, and its events do not depend on the split. The property tests, the mutation tests and the fuzz
//! targets use it.

use std::fmt::Debug;

/// The result of one call of a decoder.
pub enum DecodeStep {
    /// It has used up the input and needs more.
    NeedsMore,
    /// It has returned an event.
    Event,
    /// It has returned the final event of a reply.
    Final,
    /// It has returned an error and must not be used further.
    Failed,
}

/// An event of any decoder.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    /// Payload. The ends of its pieces depend on the split and have no meaning.
    Data(&'a [u8]),
    /// Any other event, or an error.
    Other(&'a dyn Debug),
}

/// A decoder, with the requests whose replies it expects one after another.
pub trait Codec {
    /// Prepares for the next reply, if there is a request left.
    fn expect_next(&mut self);
    /// Calls the decoder once; its event or error goes to `sink`.
    fn decode(&mut self, input: &mut &[u8], sink: &mut dyn FnMut(Item<'_>)) -> DecodeStep;
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
                DecodeStep::NeedsMore => {
                    assert!(input.is_empty(), "it needs more and leaves {} bytes", input.len());
                    progress |= before > 0;
                    break;
                }
                DecodeStep::Event => assert!(input.len() < before, "an event without input"),
                DecodeStep::Final => {
                    assert!(progress || input.len() < before, "a reply without input");
                    codec.expect_next();
                    progress = false;
                    continue;
                }
                DecodeStep::Failed => return,
            }
            progress = true;
        }
    }
    codec.eof(sink);
}

/// All events of a run, with adjacent pieces of payload joined.
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

/// Cuts `bytes` into pieces of the given sizes, repeated as needed; into one piece if all sizes are 0.
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

/// Checks arbitrary bytes: no panic, no stall, and the same transcript whole and in pieces.
pub fn check_split<C: Codec>(codec: impl Fn() -> C, bytes: &[u8], sizes: &[usize]) {
    let whole = transcript(&mut codec(), [bytes]);
    let split = transcript(&mut codec(), cut(bytes, sizes));
    assert_eq!(whole, split, "{} in pieces of {sizes:?}", bytes.escape_ascii());
}
