//! Fuzzes the frames between controller and agent: bytes give the same messages however they are split, and what can be read
//! can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use machine::frame::{FrameDecoder, FrameError, encode};
use machine::protocol::{FromAgent, ToAgent};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The messages of these pieces, and whether an error ends them.
fn messages<T: DeserializeOwned>(pieces: &[&[u8]]) -> (Vec<T>, bool) {
    let mut decoder = FrameDecoder::default();
    let mut messages = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(FrameError::TooLong { .. } | FrameError::Message(_)) => return (messages, true),
            }
        }
    }
    (messages, false)
}

fn check<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    cut: usize,
) -> [Vec<T>; 2] {
    let whole = messages::<T>(&[bytes]);
    let (first, second) = bytes.split_at(cut.min(bytes.len()));
    assert_eq!(messages::<T>(&[first, second]), whole);
    let written: Vec<u8> =
        whole.0.iter().flat_map(|message| encode(message).expect("it was shorter")).collect();
    let (again, is_broken) = messages::<T>(&[&written]);
    assert!(!is_broken);
    [whole.0, again]
}

fuzz_target!(|data: &[u8]| {
    if let [cut, bytes @ ..] = data {
        let [requests, again] = check::<ToAgent>(bytes, usize::from(*cut));
        assert_eq!(again, requests);
        // Answers may have numbers whose last digit changes when they are written.
        let [answers, again] = check::<FromAgent>(bytes, usize::from(*cut));
        assert_eq!(again.len(), answers.len());
    }
});
