//! Counts the bytes of a stream after its slow start: what the receiving side of a throughput does.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::io::{read, retry_on_intr};

use crate::protocol::throughput_span::ThroughputSpan;

/// Counts the bytes that arrive after the slow start, and for how long.
pub(super) fn count(from: &mut TcpStream, span: ThroughputSpan) -> io::Result<(u64, Duration)> {
    let mut buffer = vec![0; 256 << 10];
    let mut next = || match retry_on_intr(|| read(&*from, &mut buffer))? {
        0 => Err(io::Error::from(ErrorKind::UnexpectedEof)),
        count => Ok(count as u64),
    };
    next()?;
    let first = Instant::now();
    while first.elapsed() < span.slow_start {
        next()?;
    }
    let (start, mut bytes) = (Instant::now(), 0);
    loop {
        let took = start.elapsed();
        if took >= span.counted && bytes > 0 {
            return Ok((bytes, took));
        }
        bytes += next()?;
    }
}
