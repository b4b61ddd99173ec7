//! Frames: a length of four bytes, little endian, and a JSON document of that length. They know nothing of what carries them.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A longer frame is an error of the other side: the largest messages are histograms, of a few megabytes.
pub const MAX_FRAME_BYTES: usize = 64 << 20;

/// The length of a frame's head.
const HEAD: usize = size_of::<u32>();

/// Why bytes are no frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// It is too long.
    #[error("a frame of {bytes} bytes; {MAX_FRAME_BYTES} at most are allowed")]
    TooLong {
        /// The length of the document.
        bytes: usize,
    },
    /// It is not the JSON of a message.
    #[error("a frame that is no message: {0}")]
    Message(#[from] serde_json::Error),
}

/// The first words of a line on the agent's standard output, after which frames begin. What comes before it are the login
/// files' words.
pub fn marker(nonce: &str) -> String {
    format!("showdown-{nonce} ")
}

/// A message as the bytes of its frame.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; HEAD];
    serde_json::to_writer(&mut frame, message)?;
    let bytes = frame.len() - HEAD;
    if bytes > MAX_FRAME_BYTES {
        return Err(FrameError::TooLong { bytes });
    }
    let head = u32::try_from(bytes).map_err(|_| FrameError::TooLong { bytes })?;
    frame[..HEAD].copy_from_slice(&head.to_le_bytes());
    Ok(frame)
}

/// Makes messages of bytes, however these are split. It keeps no more than one frame and the bytes that were fed last.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    bytes: Vec<u8>,
    /// Where the next frame begins.
    start: usize,
}

impl FrameDecoder {
    /// Adds bytes that have arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message; none until more bytes arrive. After an error nothing that follows can be read.
    pub fn next_message<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let document = self.next_document()?;
        document.map(|document| Ok(serde_json::from_slice(document)?)).transpose()
    }

    /// The bytes of the next message; none until more arrive.
    pub fn next_document(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let rest = &self.bytes[self.start..];
        let Some((head, rest)) = rest.split_first_chunk::<HEAD>() else { return Ok(None) };
        let bytes = u32::from_le_bytes(*head) as usize;
        if bytes > MAX_FRAME_BYTES {
            return Err(FrameError::TooLong { bytes });
        }
        if rest.len() < bytes {
            return Ok(None);
        }
        let begin = self.start + HEAD;
        self.start = begin + bytes;
        Ok(Some(&self.bytes[begin..self.start]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode_all(pieces: &[&[u8]]) -> Result<Vec<String>, FrameError> {
        let mut decoder = FrameDecoder::default();
        let mut messages = Vec::new();
        for piece in pieces {
            decoder.feed(piece);
            while let Some(message) = decoder.next_message()? {
                messages.push(message);
            }
        }
        Ok(messages)
    }

    #[test]
    fn a_frame_that_is_too_long_or_no_message_is_refused() {
        let too_long = (MAX_FRAME_BYTES as u32 + 1).to_le_bytes();
        assert!(
            matches!(decode_all(&[&too_long]), Err(FrameError::TooLong { bytes }) if bytes > MAX_FRAME_BYTES)
        );
        assert!(matches!(decode_all(&[&[1, 0, 0, 0, b'{']]), Err(FrameError::Message(_))));
        assert!(
            matches!(decode_all(&[&[0; 4]]), Err(FrameError::Message(_))),
            "an empty document is no JSON"
        );
        assert!(encode(&"x".repeat(MAX_FRAME_BYTES)).is_err());
    }

    proptest! {
        #[test]
        fn messages_survive_any_split(
            messages in prop::collection::vec(".{0,40}", 0..6),
            sizes in prop::collection::vec(1_usize..9, 1..9),
        ) {
            let bytes: Vec<u8> = messages.iter().flat_map(|message| encode(message).expect("it is short")).collect();
            let mut pieces = Vec::new();
            let mut rest = bytes.as_slice();
            for size in sizes.iter().cycle() {
                let (piece, after) = rest.split_at((*size).min(rest.len()));
                pieces.push(piece);
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(decode_all(&pieces).expect("they are frames"), messages);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..200) {
            let cut = cut.min(bytes.len());
            let (whole, parts) = (decode_all(&[&bytes]), decode_all(&[&bytes[..cut], &bytes[cut..]]));
            prop_assert_eq!(whole.is_ok(), parts.is_ok());
        }
    }
}
