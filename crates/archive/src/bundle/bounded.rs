//! A decompressor that stops a file which expands too far (a "zip bomb").

use flate2::bufread::GzDecoder;
use std::{
    cell::Cell,
    io::{self, BufRead, Read},
    rc::Rc,
};
use thiserror::Error;

/// Maximum expansion. Deflate reaches 1,030 : 1 for zeros; JSON and logs of runs have 5 : 1 to 50 : 1.
const MAX_RATIO: u64 = 200;

/// The ratio is checked beyond this size: a short log of equal lines may expand further.
const FREE_BYTES: u64 = 128 << 20;

/// The file is refused because of its size.
#[derive(Debug, Error)]
pub(super) enum TooLarge {
    #[error("more than {} MiB, unpacked", .0 >> 20)]
    Bytes(u64),
    #[error("it expands more than {MAX_RATIO} times, which no run does")]
    Ratio,
}

/// Decompresses `R` within the limits. An error beyond them contains [`TooLarge`].
pub(super) struct Bounded<R> {
    decoder: GzDecoder<Counted<R>>,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
    max_bytes: u64,
}

impl<R: BufRead> Bounded<R> {
    pub(super) fn new(packed: R, max_bytes: u64) -> Self {
        let count = Rc::new(Cell::new(0));
        let counted = Counted { inner: packed, count: Rc::clone(&count) };
        Self { decoder: GzDecoder::new(counted), packed: count, unpacked: 0, max_bytes }
    }
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.unpacked += read as u64;
        if self.unpacked > self.max_bytes {
            return Err(io::Error::other(TooLarge::Bytes(self.max_bytes)));
        }
        if self.unpacked > FREE_BYTES.max(self.packed.get().saturating_mul(MAX_RATIO)) {
            return Err(io::Error::other(TooLarge::Ratio));
        }
        Ok(read)
    }
}

/// Counts the bytes that are consumed.
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.count.set(self.count.get() + bytes as u64);
        self.inner.consume(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn read(packed: &[u8], limit: u64) -> io::Result<u64> {
        io::copy(&mut Bounded::new(packed, limit), &mut io::sink())
    }

    #[test]
    fn a_stream_is_read_up_to_its_limit() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&[7; 1_000]).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(read(&packed, 1_000).unwrap(), 1_000);
        let error = read(&packed, 999).unwrap_err();
        assert!(matches!(error.get_ref().unwrap().downcast_ref(), Some(TooLarge::Bytes(999))), "{error}");
    }

    #[test]
    fn zeros_are_a_bomb_and_a_log_is_not() {
        // What zeros become at a low level depends on the library that compresses.
        let mut zeros = GzEncoder::new(Vec::new(), Compression::best());
        let mut log = GzEncoder::new(Vec::new(), Compression::fast());
        let mut written = 0;
        for line in 0_u64.. {
            let text = format!("{line} GET /1k HTTP/1.1 502 upstream timed out while connecting, {line}\n");
            zeros.write_all(&vec![0; text.len()]).unwrap();
            log.write_all(text.as_bytes()).unwrap();
            written += text.len() as u64;
            if written > FREE_BYTES {
                break;
            }
        }
        let error = read(&zeros.finish().unwrap(), u64::MAX).unwrap_err();
        assert!(matches!(error.get_ref().unwrap().downcast_ref(), Some(TooLarge::Ratio)), "{error}");
        assert_eq!(read(&log.finish().unwrap(), u64::MAX).unwrap(), written);
    }
}
