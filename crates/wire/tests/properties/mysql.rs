//! Properties of the MySQL decoder: generated rows are decoded to their contents, in text and in binary, for every split.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use wire::mysql::{Event, Expect, ReplyDecoder};

use crate::codecs::Mysql;
use crate::harness::{check_split, cut};

type Fields = Vec<Option<Vec<u8>>>;

/// Rows that all have the same number of columns, at least one.
fn any_rows() -> impl Strategy<Value = Vec<Fields>> {
    (1_usize..12).prop_flat_map(|columns| vec(vec(option::of(vec(any::<u8>(), 0..60)), columns), 1..5))
}

fn push(out: &mut Vec<u8>, sequence: &mut u8, payload: &[u8]) {
    out.extend(&(payload.len() as u32).to_le_bytes()[..3]);
    out.push(*sequence);
    *sequence = sequence.wrapping_add(1);
    out.extend(payload);
}

fn row(fields: &Fields, is_binary: bool) -> Vec<u8> {
    let mut payload = Vec::new();
    if is_binary {
        payload.resize(1 + (fields.len() + 2).div_ceil(8), 0);
        for column in (0..fields.len()).filter(|&column| fields[column].is_none()) {
            payload[1 + (column + 2) / 8] |= 1 << ((column + 2) % 8);
        }
    }
    for field in fields {
        match field {
            None if is_binary => {}
            None => payload.push(0xfb),
            Some(bytes) => {
                payload.push(bytes.len() as u8);
                payload.extend(bytes);
            }
        }
    }
    payload
}

fn render(rows: &[Fields], is_binary: bool) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), 1);
    let columns = rows[0].len();
    push(&mut out, &mut sequence, &[columns as u8]);
    (0..columns).for_each(|_| push(&mut out, &mut sequence, b"\x03def and so on"));
    for fields in rows {
        push(&mut out, &mut sequence, &row(fields, is_binary));
    }
    push(&mut out, &mut sequence, b"\xfe\0\0\x02\0\0\0");
    out
}

proptest! {
    #[test]
    fn rows_are_decoded_to_their_contents(
        rows in any_rows(),
        is_binary: bool,
        sizes in vec(1_usize..40, 1..4),
    ) {
        let bytes = render(&rows, is_binary);
        let mut decoder = ReplyDecoder::new();
        decoder.expect(if is_binary { Expect::Execute } else { Expect::Query });
        let (mut rows_found, mut is_done) = (Vec::<Fields>::new(), false);
        for mut piece in cut(&bytes, &sizes) {
            while let Some(event) = decoder.decode(&mut piece).expect("a valid reply") {
                match event {
                    Event::Row(row) => rows_found.push(row.texts().map(|field| field.map(<[u8]>::to_vec)).collect()),
                    event => is_done |= event.is_final(),
                }
            }
        }
        prop_assert!(is_done);
        prop_assert_eq!(rows_found, rows);
    }

    #[test]
    fn arbitrary_bytes_are_handled(selector: u8, bytes in vec(any::<u8>(), 0..200), sizes in vec(0_usize..20, 1..3)) {
        check_split(|| Mysql::new(selector), &bytes, &sizes);
    }
}
