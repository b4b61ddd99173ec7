//! The memory of decoders: none while lines and heads are complete, and never more than their limits allow.

use allocation_counter::{AllocationInfo, measure};
use wire::http1::{HeadCache, MAX_HEAD_BYTES, Request};
use wire::{Parameter, memcache, mysql, postgres, resp, smtp};

use crate::codecs::{Http1, Memcache, Mysql, Postgres, Resp, Smtp};
use crate::harness::{Codec, cut, run};

/// The allocations of decoding `bytes` in pieces of `size`.
fn allocated(codec: &mut dyn Codec, bytes: &[u8], size: usize) -> AllocationInfo {
    let pieces = cut(bytes, &[size]);
    measure(|| run(codec, pieces, &mut |_| {}))
}

#[test]
fn complete_replies_need_no_memory() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbar".repeat(3);
    // The first reply fills the cache; use another connection for it.
    let mut other = Http1::new(0);
    allocated(&mut other, &head, usize::MAX);
    assert_eq!(allocated(&mut Http1::with_cache(0, other.into_cache()), &head, usize::MAX).count_total, 0);

    let values = b"VALUE foo 5 3\r\nbar\r\nEND\r\n".repeat(3);
    assert_eq!(
        allocated(&mut Memcache::expecting(memcache::Expect::Get), &values, usize::MAX).count_total,
        0
    );

    let lists = b"*2\r\n$3\r\nbar\r\n%1\r\n+a\r\n:1\r\n".repeat(3);
    assert_eq!(allocated(&mut Resp::default(), &lists, usize::MAX).count_total, 0);

    let rows = b"2\0\0\0\x04D\0\0\0\x0d\0\x01\0\0\0\x03barC\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I".repeat(3);
    assert_eq!(allocated(&mut Postgres::new(0), &rows, usize::MAX).count_total, 0);

    // All replies are to queries.
    let mut queries = Mysql::new(2 + 5 * 2 + 25 * 2);
    let done = b"\x07\0\0\x01\0\x01\0\x02\0\0\0".repeat(3);
    assert_eq!(allocated(&mut queries, &done, usize::MAX).count_total, 0);

    let accepted = b"250-mx.example\r\n250 2.1.5 Ok\r\n".repeat(3);
    assert_eq!(allocated(&mut Smtp::default(), &accepted, usize::MAX).count_total, 0);
}

#[test]
fn requests_need_no_memory_where_the_buffer_has_room() {
    let mut out = Vec::with_capacity(1024);
    let allocated = measure(|| {
        Request { body: b"{}", ..Request::get("/", "host") }.render_into(&mut out).expect("valid");
        memcache::request::set(&mut out, b"key", 0, 0, b"value").expect("valid");
        memcache::request::meta_get(&mut out, b"key", "v k").expect("valid");
        resp::request::set(&mut out, b"key", b"value");
        let parameters = [Parameter::Int(7), Parameter::Text(b"seven")];
        postgres::request::bind_and_execute(&mut out, "s1", &parameters);
        postgres::request::sync(&mut out);
        mysql::request::execute(&mut out, 1, &parameters);
        smtp::request::mail(&mut out, "a@mx.example", Some(7)).expect("valid");
        smtp::request::text(&mut out, b".\r\n").expect("valid");
    });
    assert_eq!(allocated.count_total, 0);
}

/// Lines and heads without an end, and bodies of many pieces, with several sizes of reads.
#[test]
fn no_stream_needs_more_memory_than_its_limit() {
    // A buffer grows by doubling, and the old one is freed after the new one is allocated: three times its size.
    let bounded = |codec: &mut dyn Codec, bytes: &[u8], limit: usize, name: &str| {
        for size in [1, 7, 1000, usize::MAX] {
            let allocated = allocated(codec, bytes, size);
            assert!(
                allocated.bytes_max <= 3 * limit as u64,
                "{name} by {size}: {} bytes",
                allocated.bytes_max
            );
        }
    };
    let endless = |start: &[u8], unit: &[u8]| [start, &unit.repeat(300_000 / unit.len())].concat();

    // For a moment the head is in the connection's buffer and in the cache.
    let heads = 2 * MAX_HEAD_BYTES;
    bounded(&mut Http1::new(0), &endless(b"HTTP/1.1 200 OK\r\nX: ", b"x"), heads, "a field");
    bounded(&mut Http1::new(0), &endless(b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"), heads, "fields");
    bounded(&mut Http1::new(0), &endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), 1024, "interim replies");
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    bounded(&mut Http1::new(0), &endless(chunked, b"1\r\nx\r\n"), 1024, "chunks");
    bounded(&mut Http1::new(0), &endless(chunked, b"0"), 1024, "zeros");

    let get = || Memcache::expecting(memcache::Expect::Get);
    bounded(&mut get(), &endless(b"VALUE ", b"x"), memcache::MAX_LINE_BYTES, "a key");
    bounded(&mut get(), &endless(b"", b"VALUE x 0 1\r\nx\r\n"), memcache::MAX_LINE_BYTES, "values");
    bounded(&mut get(), &endless(b"VALUE x 0 1073741824\r\n", b"x"), memcache::MAX_LINE_BYTES, "a value");

    bounded(&mut Resp::default(), &endless(b"-", b"x"), resp::MAX_LINE_BYTES, "an error");
    bounded(&mut Resp::default(), &endless(b"*1073741824\r\n", b"*0\r\n"), resp::MAX_LINE_BYTES, "an array");
    bounded(&mut Resp::default(), &endless(b"", b"*1\r\n"), resp::MAX_LINE_BYTES, "arrays in arrays");

    let messages = postgres::MAX_MESSAGE_BYTES;
    bounded(&mut Postgres::new(0), &endless(b"D\0\x0f\xff\xff\0\x01", b"x"), messages, "a row");
    bounded(&mut Postgres::new(0), &endless(b"", b"1\0\0\0\x04"), 1024, "messages");
    let packets = mysql::MAX_PACKET_BYTES;
    bounded(&mut Mysql::new(2), &endless(b"\xff\xff\x0e\x01", b"x"), packets, "a packet");
    bounded(&mut Smtp::default(), &endless(b"250 ", b"x"), smtp::MAX_LINE_BYTES, "a line");
    bounded(&mut Smtp::default(), &endless(b"", b"250-x\r\n"), smtp::MAX_LINE_BYTES, "lines");
}

#[test]
fn an_empty_cache_needs_no_memory() {
    assert_eq!(measure(|| drop(HeadCache::new())).count_total, 0);
}
