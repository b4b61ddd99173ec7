//! Dialogues with hostile servers: whatever a server sends, a driver neither panics nor writes without end. The fuzz
//! targets `dialogue_*` do the same guided by coverage.

mod server;
mod specs;

use proptest::collection::vec;
use proptest::prelude::*;

use server::HostileServer;

/// The pieces of a well-meant dialogue, which the properties change and cut.
type Script = &'static [&'static [u8]];

/// MariaDB 10.11: greeting, login accepted, statement refused.
const MYSQL: Script = &[
    b"\x60\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\
      \x15\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0",
    b"\x07\0\0\x02\0\0\0\x02\0\0\0",
    b"\x0c\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0",
];

/// PostgreSQL 15 where it trusts: login accepted, nothing known yet.
const POSTGRES: Script = &[b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\x12\x34\xab\xcd\xef\x01Z\0\0\0\x05I"];

/// Redis 7: password accepted, a miss, a write.
const REDIS: Script = &[b"+OK\r\n", b"$-1\r\n", b"+OK\r\n"];

/// A shop: a page with a token, a login that redirects, items as JSON.
const SHOP: Script = &[
    b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=1; Path=/\r\nContent-Length: 25\r\n\r\n<i token=\"t7\"> id=1;id=2;",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n<i token=\"t7\r\n2\r\n\">\r\n12\r\n<img src=\"p1.jpg\">\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nLast-Modified: Sat, 28 Nov 2026 07:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 304 Not Modified\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nJPEG",
    b"HTTP/1.1 303 See Other\r\nLocation: http://shop/me\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=; Max-Age=0\r\nContent-Length: 31\r\n\r\n{\"items\":[{\"id\":1},{\"id\":22}]}\n",
];

/// Postfix 3.7: two messages.
const SMTP: Script = &[
    b"220 mx.example ESMTP Postfix\r\n",
    b"250-mx.example\r\n250-SIZE 10240000\r\n250 8BITMIME\r\n",
    b"250 2.1.0 Ok\r\n",
    b"250 2.1.5 Ok\r\n",
    b"354 End data with <CR><LF>.<CR><LF>\r\n",
    b"250 2.0.0 Ok: queued as 4A6C2\r\n",
];

/// A script as [`HostileServer::replies`].
fn replies(script: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let pieces = script.iter().flat_map(|piece| piece.as_ref().chunks(usize::from(u8::MAX)));
    pieces.flat_map(|piece| [&[piece.len() as u8], piece].concat()).collect()
}

/// A script with changed, repeated and dropped pieces.
fn changed(script: Script) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => (0..script.len()).prop_map(move |at| script[at].to_vec()),
        3 => (0..script.len(), any::<prop::sample::Index>(), any::<u8>()).prop_map(move |(at, place, byte)| {
            let mut piece = script[at].to_vec();
            let place = place.index(piece.len());
            piece[place] = byte;
            piece
        }),
        1 => vec(any::<u8>(), 0..40),
    ];
    (vec(piece, 0..12), 0..=script.len()).prop_map(move |(after, kept)| {
        let before = script[..kept].iter().map(|piece| piece.to_vec());
        replies(&before.chain(after).collect::<Vec<_>>())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn mysql_survives_any_server(seed in any::<u64>(), sent in changed(MYSQL)) {
        specs::mysql(HostileServer { seed, replies: &sent });
    }

    #[test]
    fn postgres_survives_any_server(seed in any::<u64>(), sent in changed(POSTGRES)) {
        specs::postgres(HostileServer { seed, replies: &sent });
    }

    #[test]
    fn redis_survives_any_server(seed in any::<u64>(), sent in changed(REDIS)) {
        specs::redis(HostileServer { seed, replies: &sent });
    }

    #[test]
    fn http_users_survive_any_server(seed in any::<u64>(), sent in changed(SHOP)) {
        specs::http_users(HostileServer { seed, replies: &sent });
    }

    #[test]
    fn smtp_survives_any_server(seed in any::<u64>(), sent in changed(SMTP)) {
        specs::smtp(HostileServer { seed, replies: &sent });
    }
}

/// Without this the properties could pass although no driver gets past its greeting.
#[test]
fn well_meant_dialogues_get_past_the_greeting() {
    let talk = |with: fn(HostileServer<'_>) -> u64, script: &[&[u8]]| {
        with(HostileServer { seed: 1, replies: &replies(script) })
    };
    assert!(talk(specs::redis, REDIS) >= 1, "redis");
    assert!(talk(specs::http_users, SHOP) >= 1, "users of HTTP");
    assert!(talk(specs::smtp, &SMTP.repeat(2)) >= 1, "smtp");
}
