//! Finds the scalars at a JSON pointer in a stream of pieces, with a constant state: the body is never kept, and how deep it
//! nests does not matter.
//!
//! It does not validate: from a body that is no JSON it takes what looks like the value, or nothing.

/// Most parts of a pointer.
pub(super) const MOST_PARTS: usize = 8;

/// A part of a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// A member or an item of this name.
    Name { name: Box<[u8]>, index: Option<u32> },
    /// Any.
    Any,
}

/// A JSON pointer (RFC 6901), in which a part `*` is any member or item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    parts: Vec<Part>,
}

impl Pointer {
    /// Reads one of 1 to [`MOST_PARTS`] parts.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{text:?} is no JSON pointer: {why}");
        let Some(rest) = text.strip_prefix('/') else { return Err(wrong("begin it with /")) };
        let part = |part: &str| match part {
            "*" => Part::Any,
            name => {
                let name = name.replace("~1", "/").replace("~0", "~");
                Part::Name { index: name.parse().ok(), name: name.into_bytes().into() }
            }
        };
        let parts: Vec<Part> = rest.split('/').map(part).collect();
        if parts.len() > MOST_PARTS {
            return Err(wrong(&format!("give at most {MOST_PARTS} parts")));
        }
        Ok(Self { parts })
    }

    fn is_item(&self, at: usize, index: u32) -> bool {
        match self.parts.get(at) {
            Some(Part::Any) => true,
            Some(Part::Name { index: Some(wanted), .. }) => *wanted == index,
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Token {
    /// Between tokens.
    #[default]
    None,
    /// In a string.
    Text { is_name: bool },
    /// After a backslash in a string.
    Escape { is_name: bool },
    /// In the four digits of an escape.
    Unicode { is_name: bool, left: u8 },
    /// In a number, `true`, `false` or `null`.
    Word,
}

/// The state of a search.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a place in a text")]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PointerSearch {
    /// Containers that are open.
    depth: u32,
    /// How many of them, from the outermost, are on the way to the pointer.
    on_way: u32,
    /// Which of those are arrays: a bit each.
    arrays: u16,
    /// Their current items.
    items: [u32; MOST_PARTS],
    token: Token,
    /// Whether the value that comes next in the innermost container is at the next part of the pointer.
    is_next_wanted: bool,
    /// In an object: whether the next string is a name.
    is_name_next: bool,
    /// Whether the scalar in progress is the wanted one.
    is_wanted: bool,
    /// Bytes of the name so far that are those of the part.
    name_matched: u16,
    is_name_other: bool,
    /// The code of an escape so far.
    code: u16,
}

const _: () = assert!(size_of::<PointerSearch>() <= 64);

/// What a piece of the body is to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A value begins.
    Begin,
    /// Its next byte.
    Byte(u8),
    /// It is complete.
    End,
}

impl PointerSearch {
    /// Takes the next piece of the body; `take` gets what belongs to values.
    pub fn advance(&mut self, pointer: &Pointer, piece: &[u8], mut take: impl FnMut(Found)) {
        for byte in piece {
            self.byte(pointer, *byte, &mut take);
        }
    }

    /// Whether the innermost container is on the way.
    fn is_on_way(&self) -> bool {
        self.depth > 0 && self.depth == self.on_way
    }

    fn is_array(&self) -> bool {
        self.arrays & 1 << (self.on_way.max(1) - 1) != 0
    }

    fn byte(&mut self, pointer: &Pointer, byte: u8, take: &mut impl FnMut(Found)) {
        match self.token {
            Token::Text { is_name } => match byte {
                b'"' => self.end_text(pointer, is_name, take),
                b'\\' => self.token = Token::Escape { is_name },
                _ => self.content(pointer, is_name, byte, take),
            },
            Token::Escape { is_name } => {
                self.token = Token::Text { is_name };
                match byte {
                    b'u' => (self.token, self.code) = (Token::Unicode { is_name, left: 4 }, 0),
                    b'n' => self.content(pointer, is_name, b'\n', take),
                    b't' => self.content(pointer, is_name, b'\t', take),
                    b'r' => self.content(pointer, is_name, b'\r', take),
                    b'b' => self.content(pointer, is_name, 8, take),
                    b'f' => self.content(pointer, is_name, 12, take),
                    other => self.content(pointer, is_name, other, take),
                }
            }
            Token::Unicode { is_name, left } => {
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                self.code = self.code << 4 | u16::try_from(digit).unwrap_or(0);
                self.token = Token::Unicode { is_name, left: left - 1 };
                if left == 1 {
                    self.token = Token::Text { is_name };
                    // Half of a pair stands alone: tokens have none.
                    let text = char::from_u32(self.code.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
                    for byte in text.encode_utf8(&mut [0; 4]).bytes() {
                        self.content(pointer, is_name, byte, take);
                    }
                }
            }
            Token::Word if matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace() => {
                self.token = Token::None;
                self.end_value(take);
                self.structure(pointer, byte, take);
            }
            Token::Word if self.is_wanted => take(Found::Byte(byte)),
            Token::Word => {}
            Token::None => self.structure(pointer, byte, take),
        }
    }

    fn content(&mut self, pointer: &Pointer, is_name: bool, byte: u8, take: &mut impl FnMut(Found)) {
        if !is_name {
            if self.is_wanted {
                take(Found::Byte(byte));
            }
            return;
        }
        if let Some(Part::Name { name, .. }) = pointer.parts.get(self.on_way.max(1) as usize - 1) {
            self.is_name_other |= name.get(usize::from(self.name_matched)) != Some(&byte);
            self.name_matched = self.name_matched.saturating_add(1);
        }
    }

    fn end_text(&mut self, pointer: &Pointer, is_name: bool, take: &mut impl FnMut(Found)) {
        self.token = Token::None;
        if !is_name {
            return self.end_value(take);
        }
        self.is_name_next = false;
        self.is_next_wanted = match pointer.parts.get(self.on_way.max(1) as usize - 1) {
            Some(Part::Any) => true,
            Some(Part::Name { name, .. }) => {
                !self.is_name_other && usize::from(self.name_matched) == name.len()
            }
            None => false,
        };
    }

    fn end_value(&mut self, take: &mut impl FnMut(Found)) {
        if std::mem::take(&mut self.is_wanted) {
            take(Found::End);
        }
    }

    /// Whether a scalar that begins here is at the pointer.
    fn begin_scalar(&mut self, pointer: &Pointer, take: &mut impl FnMut(Found)) {
        self.is_wanted =
            self.is_on_way() && self.is_next_wanted && self.on_way as usize == pointer.parts.len();
        if self.is_wanted {
            take(Found::Begin);
        }
    }

    fn structure(&mut self, pointer: &Pointer, byte: u8, take: &mut impl FnMut(Found)) {
        match byte {
            b'"' if self.is_on_way() && !self.is_array() && self.is_name_next => {
                (self.name_matched, self.is_name_other) = (0, false);
                self.token = Token::Text { is_name: true };
            }
            b'"' => {
                self.begin_scalar(pointer, take);
                self.token = Token::Text { is_name: false };
            }
            b'{' | b'[' => self.open(pointer, byte == b'['),
            b'}' | b']' => {
                if self.is_on_way() {
                    self.on_way -= 1;
                }
                self.depth = self.depth.saturating_sub(1);
                self.is_next_wanted = false;
            }
            b',' if self.is_on_way() => self.next_item(pointer),
            b',' | b':' => {}
            _ if byte.is_ascii_whitespace() => {}
            _ => {
                self.begin_scalar(pointer, take);
                self.token = Token::Word;
                if self.is_wanted {
                    take(Found::Byte(byte));
                }
            }
        }
    }

    fn open(&mut self, pointer: &Pointer, is_array: bool) {
        let is_on_way = self.depth == 0
            || self.is_on_way() && self.is_next_wanted && (self.on_way as usize) < pointer.parts.len();
        self.depth = self.depth.saturating_add(1);
        if !is_on_way {
            return;
        }
        let at = self.on_way as usize;
        self.on_way += 1;
        self.arrays = self.arrays & !(1 << at) | u16::from(is_array) << at;
        self.items[at] = 0;
        self.is_name_next = !is_array;
        self.is_next_wanted = is_array && pointer.is_item(at, 0);
    }

    fn next_item(&mut self, pointer: &Pointer) {
        let at = self.on_way as usize - 1;
        if self.is_array() {
            self.items[at] = self.items[at].saturating_add(1);
            self.is_next_wanted = pointer.is_item(at, self.items[at]);
        } else {
            (self.is_name_next, self.is_next_wanted) = (true, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The values at a pointer of a body that comes in pieces of this length.
    fn values(pointer: &str, body: &[u8], length: usize) -> Vec<String> {
        let pointer = Pointer::parse(pointer).expect("a pointer");
        let (mut search, mut found, mut value) = (PointerSearch::default(), Vec::new(), Vec::new());
        for piece in body.chunks(length) {
            search.advance(&pointer, piece, |part| match part {
                Found::Begin => value.clear(),
                Found::Byte(byte) => value.push(byte),
                Found::End => found.push(String::from_utf8_lossy(&value).into_owned()),
            });
        }
        found
    }

    #[test]
    fn scalars_are_found_by_names_numbers_and_any() {
        let body = br#" {"id": "x", "a": {"id": [1, {"id": 7}]}, "items": [{"id": 1, "b": [{"id": 9}]}, {"id" : "two\n\u00e9\"\/"}, {"id":3}],
            "token": "T", "n": -1.5e3, "t": true, "last": null }"#;
        for length in [1, 2, 7, 1_000] {
            assert_eq!(values("/token", body, length), ["T"]);
            assert_eq!(values("/id", body, length), ["x"]);
            assert_eq!(values("/items/1/id", body, length), ["two\né\"/"]);
            assert_eq!(values("/items/*/id", body, length), ["1", "two\né\"/", "3"]);
            assert_eq!(values("/a/id/1/id", body, length), ["7"]);
            assert_eq!(values("/n", body, length), ["-1.5e3"]);
            assert_eq!(values("/last", body, length), ["null"]);
            assert_eq!(values("/items", body, length), Vec::<String>::new(), "no scalar");
            assert_eq!(values("/items/3/id", body, length), Vec::<String>::new());
        }
        assert_eq!(values("/a~1b/c~0", br#"{"a/b": {"c~": 1}}"#, 3), ["1"]);
        assert_eq!(values("/1", b"[5, 6, 7]", 1), ["6"]);
    }

    #[test]
    fn a_pointer_has_a_form() {
        assert!(Pointer::parse("items").expect_err("no slash").contains("begin it with /"));
        assert!(Pointer::parse("/1/2/3/4/5/6/7/8/9").expect_err("nine").contains("at most 8 parts"));
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<u16>().prop_map(Value::from),
            "[a\"\\\\,{}:\\[]{0,5}".prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_value_is_that_of_a_parser(value in json(), path in prop::collection::vec("[ab01]", 1..5), length in 1_usize..9) {
            let pointer = format!("/{}", path.join("/"));
            let body = serde_json::to_vec(&value).expect("JSON");
            let expected = value.pointer(&pointer).and_then(|found| match found {
                Value::String(text) => Some(text.clone()),
                Value::Array(_) | Value::Object(_) => None,
                scalar => Some(scalar.to_string()),
            });
            let body = [body.as_slice(), b"\n"].concat();
            let found = values(&pointer, &body, length);
            prop_assert_eq!(found.first(), expected.as_ref());
        }

        #[test]
        fn no_bytes_disturb_it(body in prop::collection::vec(any::<u8>(), 0..200), length in 1_usize..9) {
            values("/a/*/0", &body, length);
        }
    }
}
