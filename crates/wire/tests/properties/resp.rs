//! Properties of the RESP decoder: generated values are decoded to their contents, for every split.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::resp::{Aggregate, Bulk, Event, ReplyDecoder};

use crate::codecs::Resp;
use crate::harness::{check_split, cut};

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Simple(String),
    Error(String),
    Integer(i64),
    Null,
    Boolean(bool),
    Double(f64),
    BigNumber(String),
    Bulk(Bulk, Vec<u8>),
    Aggregate(Aggregate, Vec<Value>),
    /// Two values about the third.
    Attributed(Box<[Value; 3]>),
}

fn any_value() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![Just(Bulk::String), Just(Bulk::Error), Just(Bulk::Verbatim)];
    let leaf = prop_oneof![
        "[ -~]{0,20}".prop_map(Value::Simple),
        "[A-Z]{1,9} [ -~]{0,20}".prop_map(Value::Error),
        any::<i64>().prop_map(Value::Integer),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        prop::num::f64::NORMAL.prop_map(Value::Double),
        "-?[0-9]{1,40}".prop_map(Value::BigNumber),
        (kind, vec(any::<u8>(), 0..60)).prop_map(|(kind, data)| Value::Bulk(kind, data)),
    ];
    // Attributes count as a level, too: three levels of both stay within the limit of eight.
    leaf.prop_recursive(3, 30, 5, |value| {
        prop_oneof![
            vec(value.clone(), 0..5).prop_map(|values| Value::Aggregate(Aggregate::Array, values)),
            vec(value.clone(), 0..5).prop_map(|values| Value::Aggregate(Aggregate::Set, values)),
            vec((value.clone(), value.clone()), 0..3).prop_map(|pairs| {
                Value::Aggregate(
                    Aggregate::Map,
                    pairs.into_iter().flat_map(|(key, value)| [key, value]).collect(),
                )
            }),
            [value.clone(), value.clone(), value].prop_map(|values| Value::Attributed(Box::new(values))),
        ]
    })
}

fn render(value: &Value, out: &mut Vec<u8>) {
    let mut line = |text: String| out.extend_from_slice((text + "\r\n").as_bytes());
    match value {
        Value::Simple(text) => line(format!("+{text}")),
        Value::Error(text) => line(format!("-{text}")),
        Value::Integer(number) => line(format!(":{number}")),
        Value::Null => line("_".into()),
        Value::Boolean(truth) => line(format!("#{}", if *truth { 't' } else { 'f' })),
        Value::Double(number) => line(format!(",{number:e}")),
        Value::BigNumber(digits) => line(format!("({digits}")),
        Value::Bulk(kind, data) => {
            let first = match kind {
                Bulk::String => '$',
                Bulk::Error => '!',
                Bulk::Verbatim => '=',
            };
            line(format!("{first}{}", data.len()));
            out.extend_from_slice(data);
            out.extend_from_slice(b"\r\n");
        }
        Value::Aggregate(kind, values) => {
            match kind {
                Aggregate::Map => line(format!("%{}", values.len() / 2)),
                Aggregate::Set => line(format!("~{}", values.len())),
                _ => line(format!("*{}", values.len())),
            }
            for value in values {
                render(value, out);
            }
        }
        Value::Attributed(values) => {
            line("|1".into());
            for value in values.iter() {
                render(value, out);
            }
        }
    }
}

/// The events of one reply in their order.
struct Events {
    decoder: ReplyDecoder,
    pieces: std::collections::VecDeque<Vec<u8>>,
}

impl Events {
    /// Passes the next event to `take`.
    fn next<T>(&mut self, take: impl FnOnce(Event<'_>) -> T) -> T {
        loop {
            let piece = self.pieces.front().cloned().unwrap_or_default();
            let mut input = &piece[..];
            let event = self.decoder.decode(&mut input).expect("the reply is valid");
            let used = piece.len() - input.len();
            if let Some(front) = self.pieces.front_mut() {
                front.drain(..used);
            }
            if let Some(event) = event {
                return take(event);
            }
            assert!(self.pieces.pop_front().is_some(), "the reply goes on after its last byte");
        }
    }

    /// Builds the value that begins with the next event.
    fn value(&mut self) -> Value {
        enum Open {
            Whole(Value),
            Bulk(Bulk, usize),
            Aggregate(Aggregate, u32),
        }
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("made of text");
        let open = self.next(|event| match event {
            Event::Simple(bytes) => Open::Whole(Value::Simple(text(bytes))),
            Event::Error(bytes) => Open::Whole(Value::Error(text(bytes))),
            Event::Integer(number) => Open::Whole(Value::Integer(number)),
            Event::Null => Open::Whole(Value::Null),
            Event::Boolean(truth) => Open::Whole(Value::Boolean(truth)),
            Event::Double(number) => Open::Whole(Value::Double(number)),
            Event::BigNumber(bytes) => Open::Whole(Value::BigNumber(text(bytes))),
            Event::Bulk { kind, length } => Open::Bulk(kind, length as usize),
            Event::Aggregate { kind, elements } => Open::Aggregate(kind, elements),
            Event::Data(_) | Event::End { .. } => panic!("{event:?} at the start of a value"),
        });
        match open {
            Open::Whole(value) => value,
            Open::Bulk(kind, length) => {
                let mut data = Vec::new();
                while data.len() < length {
                    self.next(|event| match event {
                        Event::Data(piece) => data.extend_from_slice(piece),
                        other => panic!("{other:?} within data"),
                    });
                }
                Value::Bulk(kind, data)
            }
            Open::Aggregate(Aggregate::Attribute, _) => {
                Value::Attributed(Box::new([self.value(), self.value(), self.value()]))
            }
            Open::Aggregate(kind, elements) => {
                Value::Aggregate(kind, (0..elements).map(|_| self.value()).collect())
            }
        }
    }
}

proptest! {
    #[test]
    fn a_value_is_decoded_to_its_contents(value in any_value(), sizes in vec(1usize..30, 1..6)) {
        let mut bytes = Vec::new();
        render(&value, &mut bytes);
        let pieces = cut(&bytes, &sizes).into_iter().map(<[u8]>::to_vec).collect();
        let mut events = Events { decoder: ReplyDecoder::new(), pieces };
        events.decoder.expect();
        prop_assert_eq!(events.value(), value);
        let ended = events.next(|event| event == Event::End { push: false });
        prop_assert!(ended);
        prop_assert!(events.pieces.iter().all(Vec::is_empty));
    }

    #[test]
    fn the_split_does_not_matter(values in vec(any_value(), 1..4), sizes in vec(0usize..90, 1..6)) {
        let mut bytes = Vec::new();
        for value in &values {
 render(value, &mut bytes);
 }
        check_split(Resp::default, &bytes, &sizes);
        check_split(Resp::default, &bytes, &[1]);
    }

    #[test]
    fn arbitrary_bytes_are_handled(bytes in vec(any::<u8>(), 0..300), size in 1usize..20) {
        check_split(Resp::default, &bytes, &[size]);
    }

    #[test]
    fn arbitrary_lines_are_handled(lines in "([+:$*_#,(!=%~>|-][-+tfx.]?[0-9]{0,3}\r?\n([a-z]{1,3}\r\n)?){1,9}", size in 1usize..20) {
        check_split(Resp::default, lines.as_bytes(), &[size]);
    }
}
