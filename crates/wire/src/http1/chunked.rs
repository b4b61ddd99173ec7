//! Decodes the chunked transfer coding (RFC 9112, section 7.1), strictly: sizes are hexadecimal digits with white
//! space after them at most, their lines end in CRLF, data has exactly its size. Trailer fields are read as those of a head. The characters of chunk extensions and trailer fields are checked, then skipped. Data is
//! passed on without a copy.

use super::error::Violation;
use super::head::is_token;
use super::limits::{MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES};

/// The position of the next byte in a chunked body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunked {
    state: ChunkState,
    /// Bytes so far of the current size line, or of the trailer section.
    line_bytes: u32,
    /// Bytes of data left in the chunk; before the end of its size line, the size so far.
    left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    /// Before the first digit of a size.
    Size,
    MoreSize,
    /// White space after a size, which old servers send: RFC 2616 allowed it, and recipients of RFC 9112 should take it
    /// before `;`.
    AfterSize,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the start of a line after the last chunk.
    Trailer,
    TrailerName,
    /// White space before the colon.
    AfterTrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
}

/// A piece of a chunked body.
pub(super) enum Chunk<'a> {
    Data(&'a [u8]),
    End,
}

impl Chunked {
    pub const fn new() -> Self {
        Self { state: ChunkState::Size, line_bytes: 0, left: 0 }
    }

    /// Takes bytes off the front of `input` up to the next piece of data or the end of the body.
    pub fn decode<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Chunk<'a>>, Violation> {
        while let [byte, rest @ ..] = *input {
            if self.state == ChunkState::Data {
                return Ok(Some(Chunk::Data(self.take_data(input))));
            }
            *input = rest;
            self.state = self.step(*byte)?;
            if self.state == ChunkState::EndLf && *byte == b'\n' {
                return Ok(Some(Chunk::End));
            }
        }
        Ok(None)
    }

    fn take_data<'a>(&mut self, input: &mut &'a [u8]) -> &'a [u8] {
        let length = usize::try_from(self.left).map_or(input.len(), |left| left.min(input.len()));
        let (data, rest) = input.split_at(length);
        *input = rest;
        self.left -= length as u64;
        if self.left == 0 {
            self.state = ChunkState::DataCr;
        }
        data
    }

    /// The state after `byte`, which is not data. `EndLf` after a line feed is the end of the body.
    fn step(&mut self, byte: u8) -> Result<ChunkState, Violation> {
        self.count()?;
        Ok(match (self.state, byte) {
            (ChunkState::Size | ChunkState::MoreSize, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.add_digit(byte)?
            }
            (ChunkState::MoreSize | ChunkState::AfterSize, b' ' | b'\t') => ChunkState::AfterSize,
            (ChunkState::MoreSize | ChunkState::AfterSize, b';')
            | (ChunkState::Extension, b'\t' | b' '..=b'~' | 0x80..) => ChunkState::Extension,
            (ChunkState::MoreSize | ChunkState::AfterSize | ChunkState::Extension, b'\r') => {
                ChunkState::SizeLf
            }
            (ChunkState::SizeLf, b'\n') => {
                self.line_bytes = 0;
                if self.left == 0 { ChunkState::Trailer } else { ChunkState::Data }
            }
            (
                ChunkState::Size
                | ChunkState::MoreSize
                | ChunkState::AfterSize
                | ChunkState::Extension
                | ChunkState::SizeLf,
                _,
            ) => {
                return Err(Violation::MalformedChunkSize);
            }

            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => {
                self.line_bytes = 0;
                ChunkState::Size
            }
            (ChunkState::Data | ChunkState::DataCr | ChunkState::DataLf, _) => {
                return Err(Violation::MalformedChunkEnd);
            }

            // A line may end in a line feed alone (section 2.2).
            (ChunkState::Trailer, b'\r' | b'\n') | (ChunkState::EndLf, b'\n') => ChunkState::EndLf,
            (ChunkState::Trailer | ChunkState::TrailerName, _) if is_token(byte) => ChunkState::TrailerName,
            // Section 5.1.
            (ChunkState::TrailerName | ChunkState::AfterTrailerName, b' ' | b'\t') => {
                ChunkState::AfterTrailerName
            }
            // A line that goes on with the value of the one before (section 5.2).
            (ChunkState::Trailer, b' ' | b'\t') if self.line_bytes > 1 => ChunkState::TrailerValue,
            (ChunkState::TrailerName | ChunkState::AfterTrailerName, b':')
            | (ChunkState::TrailerValue, b'\t' | b' '..=b'~' | 0x80..) => ChunkState::TrailerValue,
            (ChunkState::TrailerValue, b'\r') => ChunkState::TrailerLf,
            (ChunkState::TrailerValue | ChunkState::TrailerLf, b'\n') => ChunkState::Trailer,
            (
                ChunkState::Trailer
                | ChunkState::TrailerName
                | ChunkState::AfterTrailerName
                | ChunkState::TrailerValue
                | ChunkState::TrailerLf
                | ChunkState::EndLf,
                _,
            ) => return Err(Violation::MalformedTrailer),
        })
    }

    fn add_digit(&mut self, byte: u8) -> Result<ChunkState, Violation> {
        let digit = (byte as char).to_digit(16).map_or(0, u64::from);
        if self.left >> 60 != 0 {
            return Err(Violation::MalformedChunkSize);
        }
        self.left = self.left << 4 | digit;
        Ok(ChunkState::MoreSize)
    }

    /// Counts a byte that is not data, up to the limit for its kind of line.
    fn count(&mut self) -> Result<(), Violation> {
        self.line_bytes += 1;
        let (limit, error) = match self.state {
            ChunkState::Trailer
            | ChunkState::TrailerName
            | ChunkState::AfterTrailerName
            | ChunkState::TrailerValue
            | ChunkState::TrailerLf
            | ChunkState::EndLf => (MAX_HEAD_BYTES, Violation::TrailerTooLarge),
            _ => (MAX_CHUNK_LINE_BYTES, Violation::ChunkLineTooLong),
        };
        if self.line_bytes as usize > limit { Err(error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of a complete body, and the rest of the input.
    type Body<'a> = (Vec<u8>, &'a [u8]);

    fn read(mut input: &[u8]) -> Result<Option<Body<'_>>, Violation> {
        let (mut chunked, mut body) = (Chunked::new(), Vec::new());
        loop {
            match chunked.decode(&mut input)? {
                Some(Chunk::Data(data)) => body.extend_from_slice(data),
                Some(Chunk::End) => return Ok(Some((body, input))),
                None => return Ok(None),
            }
        }
    }

    #[test]
    fn the_data_of_all_chunks_is_returned() {
        for body in [
            "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
            "5 \r\nhello\r\n6  \t\r\n world\r\n0   \r\n\r\n",
            "00b\r\nhello world\r\n000\r\n\r\n",
            "B;a;b=c;d=\"e;f\"\r\nhello world\r\n0;last\r\n\r\n",
            "b ;a\r\nhello world\r\n0\r\nChecksum: 7\r\nEmpty:\r\n\r\n",
            "b\r\nhello world\r\n0\r\nChecksum \t: 7,\r\n 8\r\n\r\n",
            "b\r\nhello world\r\n0\r\nChecksum: 7\n\n",
        ] {
            let with_more = format!("{body}HTTP/1.1");
            assert_eq!(
                read(with_more.as_bytes()),
                Ok(Some((b"hello world".to_vec(), &b"HTTP/1.1"[..]))),
                "{body}"
            );
            assert_eq!(read(&body.as_bytes()[..body.len() - 1]), Ok(None), "{body}");
        }
    }

    #[test]
    fn each_violation_has_its_own_error() {
        for (body, error) in [
            ("\r\n", Violation::MalformedChunkSize),
            ("0x5\r\nhello", Violation::MalformedChunkSize),
            ("-1\r\n", Violation::MalformedChunkSize),
            ("5\nhello", Violation::MalformedChunkSize),
            ("5 5\r\nhello", Violation::MalformedChunkSize),
            (" 5\r\nhello", Violation::MalformedChunkSize),
            ("5 \nhello", Violation::MalformedChunkSize),
            ("5;a\0\r\nhello", Violation::MalformedChunkSize),
            ("10000000000000000\r\n", Violation::MalformedChunkSize),
            ("4\r\nhello\r\n", Violation::MalformedChunkEnd),
            ("6\r\nhello\r\n0\r\n\r\n", Violation::MalformedChunkEnd),
            ("0\r\nhello\r\n\r\n", Violation::MalformedTrailer),
            ("0\r\n: x\r\n\r\n", Violation::MalformedTrailer),
            ("0\r\n a: x\r\n\r\n", Violation::MalformedTrailer),
            ("0\r\na b: x\r\n\r\n", Violation::MalformedTrailer),
            ("0\r\na: x\ry", Violation::MalformedTrailer),
            ("0\r\n\rx", Violation::MalformedTrailer),
        ] {
            assert_eq!(read(body.as_bytes()), Err(error), "{body}");
        }
    }

    #[test]
    fn size_lines_and_trailers_are_limited() {
        // The second chunk: the count must begin again.
        let extension =
            |bytes: usize| format!("1\r\ny\r\n1;{}\r\nx\r\n0\r\n\r\n", "e".repeat(bytes - "1;\r\n".len()));
        assert!(matches!(read(extension(MAX_CHUNK_LINE_BYTES).as_bytes()), Ok(Some(_))));
        let too_long = extension(MAX_CHUNK_LINE_BYTES + 1);
        assert_eq!(read(too_long.as_bytes()), Err(Violation::ChunkLineTooLong));
        assert_eq!(read(&b"0".repeat(1 << 20)), Err(Violation::ChunkLineTooLong));

        let trailer = |bytes: usize| format!("0\r\na:{}\r\n\r\n", "x".repeat(bytes - "a:\r\n\r\n".len()));
        assert!(matches!(read(trailer(MAX_HEAD_BYTES).as_bytes()), Ok(Some(_))));
        assert_eq!(read(trailer(MAX_HEAD_BYTES + 1).as_bytes()), Err(Violation::TrailerTooLarge));
    }
}
