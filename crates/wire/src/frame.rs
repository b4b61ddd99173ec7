//! Takes messages that begin with their length off the front of the input. A message that is complete in the input is
//! passed on without a copy; one that is split over reads is joined in a buffer. The codecs parse headers and messages.

/// Memory kept from one split message for the next; few messages are longer.
const KEPT_BYTES: usize = 2048;

/// Joins the messages of one connection.
#[derive(Debug, Default)]
pub(crate) struct FrameBuffer {
    /// A split message: its front while `complete` is false, then all of it.
    bytes: Vec<u8>,
    /// The message in `bytes` has been returned and is removed at the next call.
    complete: bool,
}

/// The header of a protocol's messages.
pub(crate) trait Header {
    /// Its length.
    const BYTES: usize;
    /// Why a header is refused.
    type Error;
    /// The length of the whole message with its header, from the bytes of the header.
    fn frame_bytes(header: &[u8]) -> Result<usize, Self::Error>;
}

impl FrameBuffer {
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), complete: false }
    }

    /// Takes the next message off the front of `input`, with its header. `None` means that `input` is used up
    /// and the message goes on.
    #[inline]
    pub fn take<'a, 'i: 'a, H: Header>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<&'a [u8]>, H::Error> {
        if self.bytes.is_empty()
            && let Some(header) = input.get(..H::BYTES)
        {
            let length = H::frame_bytes(header)?;
            if let Some((frame, rest)) = input.split_at_checked(length) {
                *input = rest;
                return Ok(Some(frame));
            }
        }
        self.join::<H>(input)
    }

    #[cold]
    fn join<'a, 'i: 'a, H: Header>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<&'a [u8]>, H::Error> {
        if self.complete {
            self.complete = false;
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_BYTES);
            return self.take::<H>(input);
        }
        self.move_until(H::BYTES, input);
        let Some(header) = self.bytes.get(..H::BYTES) else { return Ok(None) };
        let length = H::frame_bytes(header)?;
        self.move_until(length, input);
        if self.bytes.len() < length {
            return Ok(None);
        }
        self.complete = true;
        Ok(Some(&self.bytes))
    }

    /// Moves bytes from the input until there are `length`, or the input is used up.
    fn move_until(&mut self, length: usize, input: &mut &[u8]) {
        let missing = length.saturating_sub(self.bytes.len());
        let (front, rest) = input.split_at(input.len().min(missing));
        self.bytes.extend_from_slice(front);
        *input = rest;
    }
}

/// Takes `N` bytes off the front of a message.
#[inline]
pub(crate) fn take_array<'m, const N: usize>(message: &mut &'m [u8]) -> Option<&'m [u8; N]> {
    let (front, rest) = message.split_first_chunk()?;
    *message = rest;
    Some(front)
}

/// Takes `count` bytes off the front of a message.
#[inline]
pub(crate) fn take_bytes<'m>(message: &mut &'m [u8], count: usize) -> Option<&'m [u8]> {
    let (front, rest) = message.split_at_checked(count)?;
    *message = rest;
    Some(front)
}

/// Takes a text and the NUL after it off the front of a message, and returns the text.
#[inline]
pub(crate) fn take_terminated<'m>(message: &mut &'m [u8]) -> Option<&'m [u8]> {
    let text = take_bytes(message, memchr::memchr(0, message)?)?;
    *message = &message[1..];
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One byte of length without the header; 9 is refused.
    struct Short;

    impl Header for Short {
        const BYTES: usize = 1;
        type Error = u8;

        fn frame_bytes(header: &[u8]) -> Result<usize, u8> {
            if header[0] == 9 { Err(9) } else { Ok(1 + usize::from(header[0])) }
        }
    }

    #[test]
    fn complete_messages_are_passed_on_and_split_ones_joined() {
        let mut frames = FrameBuffer::new();
        let mut input: &[u8] = b"\x02ab\x00\x03c";
        assert_eq!(frames.take::<Short>(&mut input), Ok(Some(&b"\x02ab"[..])));
        assert_eq!(frames.take::<Short>(&mut input), Ok(Some(&b"\x00"[..])));
        assert_eq!(frames.take::<Short>(&mut input), Ok(None));
        assert!(input.is_empty());
        let mut input: &[u8] = b"de\x01f\x09";
        assert_eq!(frames.take::<Short>(&mut input), Ok(Some(&b"\x03cde"[..])));
        assert_eq!(frames.take::<Short>(&mut input), Ok(Some(&b"\x01f"[..])));
        assert_eq!(frames.take::<Short>(&mut input), Err(9));
    }

    #[test]
    fn parts_are_taken_off_the_front() {
        let mut message: &[u8] = b"\x01\x02text\0rest";
        assert_eq!(take_array(&mut message), Some(&[1, 2]));
        assert_eq!(take_terminated(&mut message), Some(&b"text"[..]));
        assert_eq!((take_terminated(&mut message), take_bytes(&mut message, 5)), (None, None));
        assert_eq!(message, b"rest");
    }
}
