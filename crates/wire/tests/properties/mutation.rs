//! Mutation tests: real replies with random changes from a fixed seed, fed whole and in pieces. They reach input that the
//! generators do not make. The fuzz targets in `fuzz/` do the same guided by coverage.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::codecs::{Http1, Memcache, Mysql, Postgres, Resp, Smtp};
use crate::harness::{Codec, check_split};

const RUNS: u32 = 100_000;

/// What a mutation may insert: tokens of the protocols, and the ends of ranges.
const TOKENS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b" ",
    b":",
    b";",
    b",",
    b"\0",
    b"\xff",
    b"0",
    b"-1",
    b"4294967296",
    b"18446744073709551615",
    b"ffffffffffffffff",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.0 ",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: close\r\n",
    b"VALUE k 0 3\r\n",
    b"VA 3 kk\r\n",
    b"END\r\n",
    b"STAT ",
    b"*2\r\n",
    b"$3\r\n",
    b"|1\r\n",
    b">1\r\n",
    b"%1\r\n",
    b"Z\0\0\0\x05I",
    b"D\0\0\0",
    b"\xff\xff\xff\xff",
    b"\0\0\0\x04",
    b"\x05\0\0\x01\xfe\0\0\x02\0",
    b"\xfb",
    b"\xfe",
    b"\x03def",
    b"250-",
    b"354 ",
    b"421 4.3.2 ",
];

/// As sent by nginx 1.22 and Apache httpd 2.4, and other forms of RFC 9112.
const HTTP1: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 00:51:39 GMT\r\nContent-Type: text/plain\r\n\
      Content-Length: 3\r\nLast-Modified: Sat, 21 Nov 2026 00:50:01 GMT\r\nConnection: keep-alive\r\n\
      ETag: \"6740d3b9-3\"\r\nAccept-Ranges: bytes\r\n\r\nbar",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbar\r\na;x=\"y\"\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
    b"HTTP/1.0 404 Not Found\r\nConnection: close\r\n\r\n<html>",
];

/// As sent by memcached 1.6.18.
const MEMCACHE: &[&[u8]] = &[
    b"VALUE foo 5 3 1\r\nbar\r\nVALUE foo 5 3\r\nbar\r\nEND\r\nEND\r\n",
    b"VA 3 kfoo f5 c1 t-1 s3\r\nbar\r\nEN\r\nHD s3 t-1\r\n",
    b"STORED\r\nNOT_STORED\r\nEXISTS\r\n",
    b"STAT pid 10159\r\nSTAT uptime 11\r\nSTAT libevent 2.1.12-stable\r\nEND\r\nRESET\r\n",
    b"CLIENT_ERROR bad data chunk\r\nERROR\r\nSERVER_ERROR object too large for cache\r\n",
    b"8\r\nNOT_FOUND\r\n0\r\n",
];

/// As sent by Redis 7.0.15.
const RESP: &[&[u8]] = &[
    b"+PONG\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n:2\r\n",
    b"*2\r\n$1\r\na\r\n$1\r\nb\r\n$-1\r\n$3\r\nbar\r\n",
    b"%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nmodules\r\n*0\r\n~3\r\n:0\r\n:1\r\n:2\r\n*1\r\n*2\r\n$1\r\nm\r\n,1.5\r\n",
    b"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n$10\r\nSome reply\r\n_\r\n#t\r\n",
    b">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n+OK\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nfoo\r\n",
    b"=29\r\ntxt:This is a verbatim\nstring\r\n(1234567999999999999999999999999999999\r\n,3.141\r\n",
];

/// As sent by PostgreSQL 15.
const POSTGRES: &[&[u8]] = &[
    b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0R\0\0\0\x0c\0\0\0\x0br=ab",
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x15TimeZone\0Etc/UTC\0K\0\0\0\x0c\0\0\x12\x34\xab\xcd\xef\x01Z\0\0\0\x05I",
    b"1\0\0\0\x04n\0\0\0\x04Z\0\0\0\x05IG\0\0\0\x07\0\0\0",
    b"2\0\0\0\x04D\0\0\0\x11\0\x02\0\0\0\x03bar\xff\xff\xff\xffC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05T",
    b"E\0\0\0\x2aSERROR\0VERROR\0C40P01\0Mdeadlock found\0\0Z\0\0\0\x05E",
    b"E\0\0\0\x29SFATAL\0VFATAL\0C57P01\0Mshutting down\0\0",
];

/// As sent by MariaDB 10.11.
const MYSQL: &[&[u8]] = &[
    b"\x60\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\
      \x15\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0",
    b"\x2c\0\0\x02\xfecaching_sha2_password\0abcdefghijklmnopqrst\0\x02\0\0\x04\x01\x03\x07\0\0\x05\0\0\0\x02\0\0\0",
    b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\x01d\x01t\x01t\x01c\x01c\x0c\x08\0\xe0\x01\0\0\xfe\x05\0\0\x03\0\0\x02ab\
      \x07\0\0\x04\xfe\0\0\x02\0\0\0",
    b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\x01d\x01t\x01t\x01c\x01c\x0c\x08\0\xe0\x01\0\0\xfe\x03\0\0\x03\x02ab\
      \x01\0\0\x04\xfb\x07\0\0\x05\xfe\0\0\x0a\0\0\0",
    b"\x0c\0\0\x01\0\x01\0\0\0\0\0\x01\0\0\0\0\x17\0\0\x02\x03def\x01d\x01t\x01t\x01c\x01c\x0c\x08\0\xe0\x01\0\0\xfe",
    b"\x17\0\0\x01\xff\xbd\x04#40001Deadlock found\x07\0\0\x01\0\x01\0\x03\0\0\0",
];

/// As sent by Postfix 3.7 and Exim 4.96.
const SMTP: &[&[u8]] = &[
    b"220 mx.example ESMTP Postfix\r\n250-mx.example\r\n250-PIPELINING\r\n250-SIZE 10240000\r\n250-STARTTLS\r\n\
      250-ENHANCEDSTATUSCODES\r\n250-8BITMIME\r\n250 CHUNKING\r\n",
    b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n354 End data with <CR><LF>.<CR><LF>\r\n250 2.0.0 Ok: queued as 4A6C2\r\n",
    b"250 OK\r\n250 Accepted\r\n354 Enter message, ending with \".\" on a line by itself\r\n250 OK id=1pQx\r\n",
    b"550 5.1.1 <a@b>: Recipient address rejected: User unknown\r\n554 5.5.1 Error: no valid recipients\r\n",
    b"421 4.7.0 mx.example Error: too many connections from 127.0.0.1\r\n",
];

#[test]
fn mutated_http1_replies_are_handled() {
    check_mutations(HTTP1, 1, Http1::new);
}

#[test]
fn mutated_memcached_replies_are_handled() {
    check_mutations(MEMCACHE, 2, Memcache::new);
}

#[test]
fn mutated_resp_replies_are_handled() {
    check_mutations(RESP, 3, |_| Resp::default());
}

#[test]
fn mutated_postgres_replies_are_handled() {
    check_mutations(POSTGRES, 4, Postgres::new);
}

#[test]
fn mutated_mysql_replies_are_handled() {
    check_mutations(MYSQL, 5, Mysql::new);
}

#[test]
fn mutated_smtp_replies_are_handled() {
    check_mutations(SMTP, 6, Smtp::new);
}

/// Feeds mutated replies to decoders that `codec` makes from a random selector.
fn check_mutations<C: Codec>(seeds: &[&[u8]], seed: u64, codec: impl Fn(u8) -> C) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for _ in 0..RUNS {
        let mut bytes = seeds[random.random_range(0..seeds.len())].to_vec();
        for _ in 0..random.random_range(0..5) {
            mutate(&mut bytes, seeds, &mut random);
        }
        let selector = random.random();
        let sizes = [random.random_range(1..8), random.random_range(0..64)];
        check_split(|| codec(selector), &bytes, &sizes);
    }
}

fn mutate(bytes: &mut Vec<u8>, seeds: &[&[u8]], random: &mut impl Rng) {
    let at = random.random_range(0..=bytes.len());
    let end = random.random_range(at..=bytes.len().min(at + 16));
    match random.random_range(0..6) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
        1 if at < bytes.len() => bytes[at] = random.random(),
        2 => drop(bytes.drain(at..end)),
        3 => drop(bytes.splice(at..end, TOKENS[random.random_range(0..TOKENS.len())].iter().copied())),
        4 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        _ => {
            let other = seeds[random.random_range(0..seeds.len())];
            bytes.truncate(at);
            bytes.extend_from_slice(&other[random.random_range(0..other.len())..]);
        }
    }
}
