//! Counts the bytes of a stream for a time: what the receiving side of a throughput does.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::io::{read, retry_on_intr};

/// Counts the bytes that arrive for a time, from the first ones on.
pub(super) fn count(from: &mut TcpStream, each: Duration) -> std::io::Result<(u64, Duration)> {
    let mut buffer = vec![0; 256 << 10];
    let mut bytes = 0;
    // The first bytes start the time, and are not counted.
    if retry_on_intr(|| read(&*from, &mut buffer))? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let start = Instant::now();
    loop {
        let took = start.elapsed();
        if took >= each && bytes > 0 {
            return Ok((bytes, took));
        }
        match retry_on_intr(|| read(&*from, &mut buffer))? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => bytes += count as u64,
        }
    }
}
