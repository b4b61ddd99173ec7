//! Properties of the PostgreSQL decoder: generated rows are decoded to their contents, for every split.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wire::postgres::{Event, Expect, ReplyDecoder, rows_of};

use crate::codecs::Postgres;
use crate::harness::{check_split, cut};

type Fields = Vec<Option<Vec<u8>>>;

fn any_row() -> impl Strategy<Value = Fields> {
    vec(option::of(vec(any::<u8>(), 0..40)), 0..5)
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(4 + body.len() as u32).to_be_bytes(), body].concat()
}

fn render(rows: &[Fields]) -> Vec<u8> {
    let mut out = message(b'2', b"");
    for row in rows {
        let mut body = (row.len() as u16).to_be_bytes().to_vec();
        for field in row {
            match field {
                None => body.extend((-1_i32).to_be_bytes()),
                Some(bytes) => {
                    body.extend((bytes.len() as u32).to_be_bytes());
                    body.extend(bytes);
                }
            }
        }
        out.extend(message(b'D', &body));
    }
    out.extend(message(b'C', format!("SELECT {}\0", rows.len()).as_bytes()));
    out.extend(message(b'Z', b"I"));
    out
}

proptest! {
    #[test]
    fn rows_are_decoded_to_their_contents(rows in vec(any_row(), 0..6), sizes in vec(1_usize..40, 1..4)) {
        let bytes = render(&rows);
        let mut decoder = ReplyDecoder::new();
        decoder.expect(Expect::Query);
        let (mut rows_found, mut is_ready) = (Vec::<Fields>::new(), false);
        for mut piece in cut(&bytes, &sizes) {
            while let Some(event) = decoder.decode(&mut piece).expect("a valid reply") {
                match event {
                    Event::Row(row) => rows_found.push(row.fields().map(|field| field.map(<[u8]>::to_vec)).collect()),
                    Event::Complete { tag } => prop_assert_eq!(rows_of(tag), Some(rows.len() as u64)),
                    event => is_ready |= event.is_final(),
                }
            }
        }
        prop_assert!(is_ready);
        prop_assert_eq!(rows_found, rows);
    }

    #[test]
    fn arbitrary_bytes_are_handled(selector: u8, bytes in vec(any::<u8>(), 0..200), sizes in vec(0_usize..20, 1..3)) {
        check_split(|| Postgres::new(selector), &bytes, &sizes);
    }
}
