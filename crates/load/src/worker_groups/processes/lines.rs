//! Lines of a process that may be on another machine: each of a limited length.

use std::io::{self, BufRead};

/// A message with ten operations has about 100 KB, most of it histograms.
pub(crate) const LONGEST_LINE_BYTES: usize = 16 << 20;

/// The lines of a process, until its end or the first one that is too long.
pub(crate) fn bounded_lines(lines: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    of_length(lines, LONGEST_LINE_BYTES)
}

fn of_length(mut lines: impl BufRead, longest: usize) -> impl Iterator<Item = io::Result<String>> {
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let mut line = Vec::new();
        let read = io::Read::take(&mut lines, longest as u64 + 1).read_until(b'\n', &mut line);
        let found = read.and_then(|_| {
            if line.last() == Some(&b'\n') {
                line.pop();
            } else if line.len() > longest {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("a line of more than {longest} bytes"),
                ));
            } else if line.is_empty() {
                return Ok(None);
            }
            let text =
                String::from_utf8(line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            Ok(Some(text))
        });
        is_over = !matches!(found, Ok(Some(_)));
        found.transpose()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_length_and_what_is_longer_is_the_last_thing_that_is_read() {
        let lines = |text: &'static str| {
            let lines = of_length(text.as_bytes(), 4);
            lines.map(|line| line.map_err(|error| error.to_string())).collect::<Vec<_>>()
        };
        assert_eq!(lines("one\n\ntwo"), [Ok("one".to_owned()), Ok(String::new()), Ok("two".to_owned())]);
        assert_eq!(lines("four\nx\n"), [Ok("four".to_owned()), Ok("x".to_owned())]);
        assert_eq!(
            lines("a\nlonger\nb\n"),
            [Ok("a".to_owned()), Err("a line of more than 4 bytes".to_owned())]
        );
        let endless = io::BufReader::new(io::repeat(b'x'));
        assert!(bounded_lines(endless).all(|line| line.is_err()), "and it ends");
    }
}
