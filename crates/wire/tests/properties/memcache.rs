//! Properties of the memcached decoder: generated replies are decoded to their contents, for every split.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::memcache::{Event, Expect, Outcome, ReplyDecoder};

use crate::codecs::Memcache;
use crate::harness::{check_split, cut};

#[derive(Clone, Debug, PartialEq)]
struct Item {
    key: String,
    flags: u32,
    cas: Option<u64>,
    data: Vec<u8>,
}

fn any_item() -> impl Strategy<Value = Item> {
    ("[!-~]{1,40}", any::<u32>(), any::<Option<u64>>(), vec(any::<u8>(), 0..200))
        .prop_map(|(key, flags, cas, data)| Item { key, flags, cas, data })
}

fn render(items: &[Item]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Item { key, flags, cas, data } in items {
        let cas = cas.map_or(String::new(), |cas| format!(" {cas}"));
        bytes.extend_from_slice(format!("VALUE {key} {flags} {}{cas}\r\n", data.len()).as_bytes());
        bytes.extend_from_slice(data);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"END\r\n");
    bytes
}

fn render_meta(Item { key, flags, cas, data }: &Item) -> Vec<u8> {
    let cas = cas.map_or(String::new(), |cas| format!("c{cas} "));
    let line = format!("VA {} t-1 k{key} {cas}f{flags}\r\n", data.len());
    [line.as_bytes(), data, b"\r\n"].concat()
}

/// Decodes one reply and returns its items and the result of the request.
fn decode(expect: Expect, bytes: &[u8], sizes: &[usize]) -> (Vec<Item>, Option<Outcome>) {
    let mut decoder = ReplyDecoder::new();
    decoder.expect(expect);
    let (mut items, mut end) = (Vec::<Item>::new(), None);
    for mut input in cut(bytes, sizes) {
        while let Some(event) = decoder.decode(&mut input).expect("the reply is valid") {
            match event {
                Event::Value(value) => items.push(Item {
                    key: String::from_utf8_lossy(value.key).into_owned(),
                    flags: value.flags,
                    cas: value.cas(),
                    data: Vec::with_capacity(value.length as usize),
                }),
                Event::Data(piece) => {
                    items.last_mut().expect("a value has come").data.extend_from_slice(piece);
                }
                Event::Stat { .. } => panic!("the request was not for statistics"),
                Event::Done { outcome, .. } => end = Some(outcome),
            }
        }
    }
    (items, end)
}

proptest! {
    #[test]
    fn items_are_decoded_to_their_contents(items in vec(any_item(), 0..5), sizes in vec(1usize..50, 1..6)) {
        let values = items.len() as u32;
        let found = decode(Expect::Get, &render(&items), &sizes);
        prop_assert_eq!(found, (items, Some(Outcome::Retrieved { values })));
    }

    #[test]
    fn a_meta_item_is_decoded_to_its_contents(item in any_item(), sizes in vec(1usize..50, 1..6)) {
        let found = decode(Expect::MetaGet, &render_meta(&item), &sizes);
        prop_assert_eq!(found, (vec![item], Some(Outcome::Retrieved { values: 1 })));
    }

    #[test]
    fn the_split_does_not_matter(
        replies in vec(vec(any_item(), 0..3), 1..4),
        sizes in vec(0usize..90, 1..6),
    ) {
        let bytes: Vec<u8> = replies.iter().flat_map(|items| render(items)).collect();
        check_split(|| Memcache::expecting(Expect::Get), &bytes, &sizes);
        check_split(|| Memcache::expecting(Expect::Get), &bytes, &[1]);
    }

    #[test]
    fn arbitrary_bytes_are_handled(bytes in vec(any::<u8>(), 0..300), selector in any::<u8>(), size in 1usize..20) {
        check_split(|| Memcache::new(selector), &bytes, &[size]);
    }

    #[test]
    fn arbitrary_lines_are_handled(
        lines in "((VALUE|VA|END|STAT|HD|EN|STORED|ERROR|CLIENT_ERROR|[0-9]{1,22})( [ -~]{0,3}| [0-9]{0,12}| [kfct]?[0-9]{0,21}){0,4}\r?\n){1,4}",
        selector in any::<u8>(),
        size in 1usize..20,
    ) {
        check_split(|| Memcache::new(selector), lines.as_bytes(), &[size]);
    }
}
