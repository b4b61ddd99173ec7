//! The fields of a line of comma-separated values (RFC 4180): `12,"Smith, Ada","say ""hi"""`. A record is one line.

use std::ops::Range;

/// The fields of one record, without their quotes.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    text: Vec<u8>,
    fields: Vec<Range<usize>>,
}

impl Record {
    /// Reads a line. The error says what is wrong.
    pub fn read(&mut self, line: &[u8]) -> Result<(), &'static str> {
        self.text.clear();
        self.fields.clear();
        let mut rest = Some(line);
        while let Some(field) = rest {
            let begin = self.text.len();
            rest = if let Some(quoted) = field.strip_prefix(b"\"") {
                self.take_quoted(quoted)?
            } else {
                let end = memchr::memchr(b',', field);
                self.text.extend_from_slice(&field[..end.unwrap_or(field.len())]);
                end.map(|end| &field[end + 1..])
            };
            self.fields.push(begin..self.text.len());
        }
        Ok(())
    }

    /// Takes a field after its first quote. Returns what is after its comma.
    fn take_quoted<'l>(&mut self, mut rest: &'l [u8]) -> Result<Option<&'l [u8]>, &'static str> {
        loop {
            let end =
                memchr::memchr(b'"', rest).ok_or("a quote is not closed: write each record on one line")?;
            self.text.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.first() {
                Some(b'"') => self.text.push(b'"'),
                Some(b',') => return Ok(Some(&rest[1..])),
                None => return Ok(None),
                Some(_) => return Err("a quote ends within a field: write \"\" for a quote in a field"),
            }
            rest = &rest[1..];
        }
    }

    /// A field, counted from 0.
    pub fn field(&self, at: usize) -> Option<&[u8]> {
        self.fields.get(at).map(|span| &self.text[span.clone()])
    }

    /// How many fields it has.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Which field has this text.
    pub fn position(&self, text: &str) -> Option<usize> {
        (0..self.len()).find(|at| self.field(*at) == Some(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Result<Vec<String>, &'static str> {
        let mut record = Record::default();
        record.read(line.as_bytes())?;
        let text = |at| String::from_utf8(record.field(at).expect("a field").to_vec()).expect("text");
        Ok((0..record.len()).map(text).collect())
    }

    #[test]
    fn fields_are_what_other_programs_read() {
        for (line, expected) in [
            ("a", &["a"][..]),
            ("a,b", &["a", "b"]),
            (",", &["", ""]),
            ("a, b", &["a", " b"]),
            (r#"12,"Smith, Ada","say ""hi""""#, &["12", "Smith, Ada", r#"say "hi""#]),
            (r#""",x"#, &["", "x"]),
        ] {
            assert_eq!(fields(line).expect("a record"), expected, "{line}");
        }
        for line in [r#""a"#, r#""a"b,c"#] {
            assert!(fields(line).is_err(), "{line}");
        }
    }
}
