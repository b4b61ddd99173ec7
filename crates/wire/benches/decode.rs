//! The cost of decoding alone: `cargo bench -p wire`.
//!
//! Each figure is the fastest of several rounds, which excludes other programs on the machine. The budget of `load` is
//! in cycles, and not every machine has hardware counters. So each round is compared with the time of a chain of dependent
//! multiplications, which take three cycles each on every x86-64 and aarch64 core of the last decade.
#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]

use std::hint::black_box;
use std::time::Instant;

use wire::http1::{self, HeadCache, HeaderValues, Request, ResponseDecoder};
use wire::memcache::{self, Expect};
use wire::{Parameter, mysql, postgres, resp, smtp};

const ROUNDS: u32 = 15;
const REPLIES: u32 = 200_000;

fn main() {
    http1();
    memcache();
    resp();
    postgres();
    mysql();
    smtp();
}

fn http1() {
    let head = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 00:51:39 GMT\r\n\
         Content-Type: application/octet-stream\r\nContent-Length: 1024\r\n\
         Last-Modified: Sat, 21 Nov 2026 00:50:01 GMT\r\nConnection: keep-alive\r\n\
         ETag: \"6740d3b9-400\"\r\nAccept-Ranges: bytes\r\n\r\n";
    let reply = [head.as_bytes(), &[b'x'; 1024]].concat();
    // The same with another second in its date, so that the head is never the cached one.
    let later = String::from_utf8_lossy(&reply).replace(":39 GMT", ":40 GMT").into_bytes();
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n".iter().copied().chain([b'x'; 1024]);
    let chunked: Vec<u8> = chunked.chain(*b"\r\n0\r\n\r\n").collect();

    let (mut decoder, mut cache) = (ResponseDecoder::new(), HeadCache::new());
    measure("http1: same head, 1 KiB", || decode_http1(&mut decoder, &mut cache, &reply));
    let mut turn = false;
    measure("http1: new head, 1 KiB", || {
        turn = !turn;
        decode_http1(&mut decoder, &mut cache, if turn { &reply } else { &later })
    });
    measure("http1: same head, one chunk of 1 KiB", || decode_http1(&mut decoder, &mut cache, &chunked));

    let mut out = Vec::with_capacity(256);
    let headers = [("Accept", "*/*"), ("User-Agent", "showdown")];
    let request = Request { headers: &headers, ..Request::get("/1k", "127.0.0.1:8080") };
    measure("http1: render GET with two headers", || {
        out.clear();
        black_box(request).render_into(&mut out).expect("the request is valid");
        out.len()
    });
    let prepared = request.prepare(&[]).expect("the request is valid");
    measure("http1: the same, prepared", || {
        out.clear();
        prepared
            .render_into(&mut out, black_box("/items?page=17"), HeaderValues::default(), b"")
            .expect("the target is valid");
        out.len()
    });
}

fn decode_http1(decoder: &mut ResponseDecoder, cache: &mut HeadCache, reply: &[u8]) -> usize {
    decoder.expect(black_box(false));
    let mut input = black_box(reply);
    let mut bytes = 0;
    while let Some(event) = decoder.decode(cache, &mut input).expect("the reply is valid") {
        match event {
            http1::Event::Head(head) => bytes += head.status as usize,
            http1::Event::Body(body) => bytes += body.len(),
            http1::Event::End { .. } => break,
        }
    }
    bytes
}

fn memcache() {
    let value = [b'x'; 1024];
    let hit = [&b"VALUE key:0000012345 0 1024\r\n"[..], &value, b"\r\nEND\r\n"].concat();
    let meta_hit = [&b"VA 1024 kkey:0000012345\r\n"[..], &value, b"\r\n"].concat();
    let mut decoder = memcache::ReplyDecoder::new();
    measure("memcache: get, hit, 1 KiB", || decode_memcache(&mut decoder, Expect::Get, &hit));
    measure("memcache: mg v k, hit, 1 KiB", || decode_memcache(&mut decoder, Expect::MetaGet, &meta_hit));
    measure("memcache: get, miss", || decode_memcache(&mut decoder, Expect::Get, b"END\r\n"));
    measure("memcache: set", || decode_memcache(&mut decoder, Expect::Store, b"STORED\r\n"));

    let mut out = Vec::with_capacity(2048);
    measure("memcache: render get", || {
        out.clear();
        memcache::request::get(&mut out, black_box(b"key:0000012345")).expect("the key is valid");
        out.len()
    });
    measure("memcache: render set, 1 KiB", || {
        out.clear();
        memcache::request::set(&mut out, black_box(b"key:0000012345"), 0, 0, &value)
            .expect("the key is valid");
        out.len()
    });
}

fn decode_memcache(decoder: &mut memcache::ReplyDecoder, expect: Expect, reply: &[u8]) -> usize {
    decoder.expect(black_box(expect));
    let mut input = black_box(reply);
    let mut bytes = 0;
    while let Some(event) = decoder.decode(&mut input).expect("the reply is valid") {
        match event {
            memcache::Event::Value(value) => bytes += value.key.len(),
            memcache::Event::Data(data) => bytes += data.len(),
            memcache::Event::Stat { .. } => {}
            memcache::Event::Done { .. } => break,
        }
    }
    bytes
}

fn resp() {
    let hit = [&b"$1024\r\n"[..], &[b'x'; 1024], b"\r\n"].concat();
    let list = [&b"*10\r\n"[..], &b"$4\r\nitem\r\n".repeat(10)].concat();
    let mut decoder = resp::ReplyDecoder::new();
    measure("resp: GET, hit, 1 KiB", || decode_resp(&mut decoder, &hit));
    measure("resp: GET, miss", || decode_resp(&mut decoder, b"$-1\r\n"));
    measure("resp: SET", || decode_resp(&mut decoder, b"+OK\r\n"));
    measure("resp: LRANGE, 10 items", || decode_resp(&mut decoder, &list));

    let mut out = Vec::with_capacity(2048);
    measure("resp: render GET", || {
        out.clear();
        resp::request::get(&mut out, black_box(b"key:0000012345"));
        out.len()
    });
}

fn decode_resp(decoder: &mut resp::ReplyDecoder, reply: &[u8]) -> usize {
    decoder.expect();
    let mut input = black_box(reply);
    let mut bytes = 0;
    while let Some(event) = decoder.decode(&mut input).expect("the reply is valid") {
        match event {
            resp::Event::Data(data) | resp::Event::Simple(data) => bytes += data.len(),
            resp::Event::End { .. } => break,
            _ => {}
        }
    }
    bytes
}

/// A row of one column of 119 bytes, as a point select returns it.
fn postgres() {
    let value = [b'5'; 119];
    let hit = [&b"2\0\0\0\x04D\0\0\0\x81\0\x01\0\0\0\x77"[..], &value, b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I"]
        .concat();
    let mut decoder = postgres::ReplyDecoder::new();
    measure("postgres: point select", || {
        decoder.expect(postgres::Expect::Query);
        let mut input = black_box(hit.as_slice());
        let mut bytes = 0;
        while let Some(event) = decoder.decode(&mut input).expect("the reply is valid") {
            match event {
                postgres::Event::Row(row) => bytes += row.fields().flatten().map(<[u8]>::len).sum::<usize>(),
                postgres::Event::Ready(_) => break,
                _ => {}
            }
        }
        bytes
    });
    let mut out = Vec::with_capacity(256);
    measure("postgres: render a point select", || {
        out.clear();
        postgres::request::bind_and_execute(&mut out, black_box("s1"), &[Parameter::Int(7)]);
        postgres::request::sync(&mut out);
        out.len()
    });
}

fn mysql() {
    let definition = b"\x17\0\0\x02\x03def\x01d\x01t\x01t\x01c\x01c\x0c\x08\0\xe0\x01\0\0\xfe";
    let hit = [
        &b"\x01\0\0\x01\x01"[..],
        definition,
        b"\x7a\0\0\x03\0\0\x77",
        &[b'5'; 119],
        b"\x07\0\0\x04\xfe\0\0\x02\0\0\0",
    ]
    .concat();
    let mut decoder = mysql::ReplyDecoder::new();
    measure("mysql: point select", || {
        decoder.expect(mysql::Expect::Execute);
        let mut input = black_box(hit.as_slice());
        let mut bytes = 0;
        while let Some(event) = decoder.decode(&mut input).expect("the reply is valid") {
            match event {
                mysql::Event::Row(row) => bytes += row.texts().flatten().map(<[u8]>::len).sum::<usize>(),
                mysql::Event::Done(_) => break,
                _ => {}
            }
        }
        bytes
    });
    let mut out = Vec::with_capacity(256);
    measure("mysql: render a point select", || {
        out.clear();
        mysql::request::execute(&mut out, black_box(1), &[Parameter::Int(7)]);
        out.len()
    });
}

fn smtp() {
    let replies = b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n354 End data with <CR><LF>.<CR><LF>\r\n250 2.0.0 Ok: queued as 4A6C2\r\n";
    let mut decoder = smtp::ReplyDecoder::new();
    measure("smtp: the four replies of a message", || {
        (0..4).for_each(|_| decoder.expect());
        let mut input = black_box(replies.as_slice());
        let mut codes = 0;
        while let Some(event) = decoder.decode(&mut input).expect("the replies are valid") {
            let (smtp::Event::Line(line) | smtp::Event::End(line)) = event;
            codes += usize::from(line.code);
        }
        codes
    });
}

/// Prints the time of one call in the fastest round.
fn measure(name: &str, mut call: impl FnMut() -> usize) {
    let (mut call_ns, mut cycle_ns) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        cycle_ns = cycle_ns.min(time_cycle());
        let begin = Instant::now();
        for _ in 0..REPLIES {
            black_box(call());
        }
        call_ns = call_ns.min(begin.elapsed().as_secs_f64() * 1e9 / f64::from(REPLIES));
    }
    println!("{name:<40} {call_ns:6.1} ns {:5.0} cycles", call_ns / cycle_ns);
}

/// The length of a clock cycle in nanoseconds.
fn time_cycle() -> f64 {
    const MULTIPLICATIONS: u32 = 100_000;
    const CYCLES_EACH: u32 = 3;
    let mut product = black_box(3u64);
    let begin = Instant::now();
    for _ in 0..MULTIPLICATIONS {
        product = product.wrapping_mul(product);
    }
    let elapsed = begin.elapsed();
    black_box(product);
    elapsed.as_secs_f64() * 1e9 / f64::from(MULTIPLICATIONS * CYCLES_EACH)
}
