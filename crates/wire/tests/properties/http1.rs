//! Properties of the HTTP/1 decoder: generated replies are decoded to their contents, for every split and every cache.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::http1::{Event, Framing, HeadCache, ResponseDecoder};

use crate::codecs::Http1;
use crate::harness::{check_split, cut, transcript};

/// A valid reply and its contents.
#[derive(Clone, Debug)]
struct Reply {
    bytes: Vec<u8>,
    status: u16,
    framing: Framing,
    keep_alive: bool,
    body: Vec<u8>,
}

/// One piece of a chunked body: data and an extension.
type Chunk = (Vec<u8>, bool);

#[derive(Clone, Debug)]
enum Body {
    None,
    Length(Vec<u8>),
    Chunked(Vec<Chunk>, bool),
    UntilClose(Vec<u8>),
}

fn any_body() -> impl Strategy<Value = Body> {
    prop_oneof![
        Just(Body::None),
        vec(any::<u8>(), 0..300).prop_map(Body::Length),
        (vec((vec(any::<u8>(), 1..40), any::<bool>()), 0..5), any::<bool>())
            .prop_map(|(chunks, trailer)| Body::Chunked(chunks, trailer)),
        vec(any::<u8>(), 0..300).prop_map(Body::UntilClose),
    ]
}

fn any_reply() -> impl Strategy<Value = Reply> {
    let noise = vec(("x-[a-z]{1,12}", "[!-~]([ -~]{0,30}[!-~])?"), 0..6);
    (200u16..600, any_body(), noise, any::<bool>(), 0..3usize).prop_map(
        |(status, body, noise, close, interim)| {
            let status = match body {
                Body::None => 204,
                _ if status == 204 || status == 304 => 200,
                _ => status,
            };
            render(status, &body, &noise, close, interim)
        },
    )
}

fn render(status: u16, body: &Body, noise: &[(String, String)], close: bool, interim: usize) -> Reply {
    let mut bytes = b"HTTP/1.1 100 Continue\r\nLink: <a>\r\n\r\n".repeat(interim);
    bytes.extend_from_slice(format!("HTTP/1.1 {status} Something\r\n").as_bytes());
    for (name, value) in noise {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    if close {
        bytes.extend_from_slice(b"CONNECTION: something, Close\r\n");
    }
    let (framing, payload) = match body {
        Body::None => {
            bytes.extend_from_slice(b"\r\n");
            (Framing::None, vec![])
        }
        Body::Length(body) => {
            bytes.extend_from_slice(format!("Content-length: {}\r\n\r\n", body.len()).as_bytes());
            bytes.extend_from_slice(body);
            (Framing::Length(body.len() as u64), body.clone())
        }
        Body::Chunked(chunks, trailer) => {
            bytes.extend_from_slice(b"transfer-encoding: gzip, Chunked\r\n\r\n");
            for (data, extension) in chunks {
                let extension = if *extension { " ;name=\"a;b\"" } else { "" };
                bytes.extend_from_slice(format!("{:x}{extension}\r\n", data.len()).as_bytes());
                bytes.extend_from_slice(data);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(if *trailer {
                b"0\r\nExpires: never\r\nX:\r\n\r\n"
            } else {
                b"0\r\n\r\n"
            });
            (Framing::Chunked, chunks.iter().flat_map(|(data, _)| data.clone()).collect())
        }
        Body::UntilClose(body) => {
            bytes.extend_from_slice(b"\r\n");
            bytes.extend_from_slice(body);
            (Framing::UntilClose, body.clone())
        }
    };
    let keep_alive = !close && framing != Framing::UntilClose;
    Reply { bytes, status, framing, keep_alive, body: payload }
}

proptest! {
    #[test]
    fn a_reply_is_decoded_to_its_contents(reply in any_reply(), sizes in vec(1usize..50, 1..6)) {
        let (mut decoder, mut cache) = (ResponseDecoder::new(), HeadCache::new());
        decoder.expect(false);
        let (mut head, mut body, mut end) = (None, Vec::new(), None);
        for mut input in cut(&reply.bytes, &sizes) {
            while let Some(event) = decoder.decode(&mut cache, &mut input).expect("the reply is valid") {
                match event {
                    Event::Head(found) => head = Some(found),
                    Event::Body(data) => body.extend_from_slice(data),
                    Event::End { keep_alive } => end = Some(keep_alive),
                }
            }
        }
        if reply.framing == Framing::UntilClose {
            prop_assert_eq!(end, None);
            prop_assert_eq!(decoder.eof(), Ok(Event::End { keep_alive: false }));
        } else {
            prop_assert_eq!(end, Some(reply.keep_alive));
        }
        let head = head.expect("a head has come");
        prop_assert_eq!((head.status, head.framing, head.keep_alive), (reply.status, reply.framing, reply.keep_alive));
        prop_assert_eq!(cache.head().len(), head.head_bytes as usize);
        prop_assert_eq!(body, reply.body);
    }

    #[test]
    fn the_split_does_not_matter(
        replies in vec(any_reply(), 1..4),
        heads in any::<u8>(),
        sizes in vec(0usize..90, 1..6),
    ) {
        let bytes: Vec<u8> = replies.into_iter().flat_map(|reply| reply.bytes).collect();
        check_split(|| Http1::new(heads), &bytes, &sizes);
        check_split(|| Http1::new(heads), &bytes, &[1]);
    }

    #[test]
    fn the_cache_does_not_matter(
        first in any_reply(),
        second in any_reply(),
        heads in any::<u8>(),
        damage in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        // The cache of another connection, with a head that may differ in one byte only.
        let mut other = Http1::new(heads);
        transcript(&mut other, [&first.bytes[..]]);
        let cache = other.into_cache();

        for mut bytes in [first.bytes, second.bytes] {
            if let Some((at, byte)) = &damage {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            let twice = bytes.repeat(2);
            let mut cached = Http1::with_cache(heads, clone(&cache));
            let mut fresh = Http1::new(heads);
            prop_assert_eq!(transcript(&mut cached, [&twice[..]]), transcript(&mut fresh, [&twice[..]]));
        }
    }

    #[test]
    fn arbitrary_bytes_are_handled(bytes in vec(any::<u8>(), 0..300), heads in any::<u8>(), size in 1usize..20) {
        check_split(|| Http1::new(heads), &bytes, &[size]);
    }

    #[test]
    fn arbitrary_heads_are_handled(
        head in "HTTP/1\\.[01] [0-9]{3}[ -~]{0,9}\r?\n((Content-Length|Transfer-Encoding|Connection|X): ?[-,+ 0-9a-z]{0,9}\r?\n){0,4}\r\n",
        body in "[0-9a-f]{0,3}(\r\n)?[ -~]{0,30}(\r\n)?0?(\r\n\r\n)?",
        heads in any::<u8>(),
        size in 1usize..20,
    ) {
        check_split(|| Http1::new(heads), (head + &body).as_bytes(), &[size]);
    }
}

/// Found by the generator: two replies without a body, in pieces of no size. The cut must not loop forever.
#[test]
fn replies_without_a_body_in_pieces_of_no_size() {
    let reply = b"HTTP/1.1 204 Something\r\n\r\n";
    for replies in 1..4 {
        check_split(|| Http1::new(0), &reply.repeat(replies), &[0]);
        check_split(|| Http1::new(0), &reply.repeat(replies), &[1]);
    }
}

/// A copy of a cache: fed with the head of the other.
fn clone(cache: &HeadCache) -> HeadCache {
    let (mut copy, mut decoder) = (HeadCache::new(), ResponseDecoder::new());
    decoder.expect(true);
    let mut head = cache.head();
    if !head.is_empty() {
        decoder.decode(&mut copy, &mut head).expect("the head was valid before");
    }
    assert_eq!(copy.head(), cache.head());
    copy
}
