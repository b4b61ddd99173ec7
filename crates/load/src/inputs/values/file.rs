//! A file of lines. The index has the position of every 64th line, so that ten million lines take little more than a
//! megabyte; a line is read with the lines of its block in one system call. Empty lines do not count.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Lines of a block.
const BLOCK: u64 = 64;
/// The longest line, in bytes.
const LONGEST_LINE: usize = 1 << 20;

/// Why a file has no values for a load.
#[derive(Debug, thiserror::Error)]
pub enum ValueFileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}: each machine that makes the load needs it at this path", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It has no line, or only the names of columns.
    #[error("{} has no values: give a file with at least one line", .0.display())]
    Empty(PathBuf),
    /// A line that cannot be used.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is wrong, and the remedy.
        reason: String,
    },
}

/// An open file of lines.
#[derive(Debug)]
pub(super) struct LineFile {
    path: PathBuf,
    file: File,
    /// Where each block begins, and the end of the file.
    blocks: Vec<u64>,
    lines: u64,
}

impl LineFile {
    /// Opens a file and reads it once. `check` gets each line with its number, from 1 on. With `has_header` the first line
    /// is not one of those that are used; it is the first that `check` gets.
    pub fn open(
        path: &Path,
        has_header: bool,
        mut check: impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<Self, ValueFileError> {
        let failed = |source| ValueFileError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let mut reader = BufReader::with_capacity(256 * 1024, &file);
        let (mut blocks, mut lines, mut at, mut number) = (Vec::new(), 0, 0, 0);
        let mut line = Vec::new();
        let mut is_header = has_header;
        loop {
            line.clear();
            let read = reader.by_ref().take(LONGEST_LINE as u64 + 2).read_until(b'\n', &mut line);
            let length = read.map_err(failed)? as u64;
            if length == 0 {
                break;
            }
            number += 1;
            let text = without_end(if at == 0 { without_mark(&line) } else { &line });
            let refused = |reason| ValueFileError::Line { path: path.to_owned(), line: number, reason };
            if text.len() > LONGEST_LINE {
                return Err(refused("the line is longer than 1 MiB: give one value a line".to_owned()));
            }
            if !text.is_empty() {
                check(number, text).map_err(refused)?;
                if !std::mem::take(&mut is_header) {
                    if lines % BLOCK == 0 {
                        blocks.push(at);
                    }
                    lines += 1;
                }
            }
            at += length;
        }
        if lines == 0 {
            return Err(ValueFileError::Empty(path.to_owned()));
        }
        blocks.push(at);
        Ok(Self { path: path.to_owned(), file, blocks, lines })
    }

    /// How many lines it has.
    pub fn lines(&self) -> u64 {
        self.lines
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Without the mark with which some programs begin a file in UTF-8.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// Reads lines of a file, by their number.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockReader {
    /// The number of the block in memory; none at first.
    block: Option<u64>,
    text: Vec<u8>,
    /// Where its first line begins.
    begin: usize,
    /// The line of `text` that comes next, by its number in the file, and where it begins.
    next: (u64, usize),
}

impl BlockReader {
    /// Line `number` of the file, counted from 0.
    ///
    /// # Panics
    /// If the file is shorter than when it was opened.
    pub fn line(&mut self, file: &LineFile, number: u64) -> &[u8] {
        let block = number / BLOCK;
        if self.block != Some(block) {
            self.load(file, block);
        }
        if number < self.next.0 {
            self.next = (block * BLOCK, self.begin);
        }
        loop {
            let (found, span) = self.take(file);
            if found == number {
                return &self.text[span];
            }
        }
    }

    fn load(&mut self, file: &LineFile, block: u64) {
        let at = usize::try_from(block).expect("the index is in memory");
        let span = file.blocks[at]..file.blocks[at + 1];
        let length = usize::try_from(span.end - span.start).expect("64 lines of a mebibyte");
        self.text.resize(length, 0);
        let read = file.file.read_exact_at(&mut self.text, span.start);
        read.unwrap_or_else(|why| panic!("{} was changed during the load: {why}", file.path.display()));
        self.block = Some(block);
        self.begin = if span.start == 0 { self.text.len() - without_mark(&self.text).len() } else { 0 };
        self.next = (block * BLOCK, self.begin);
    }

    /// The next line that is not empty.
    fn take(&mut self, file: &LineFile) -> (u64, Range<usize>) {
        loop {
            let (number, from) = self.next;
            assert!(from < self.text.len(), "{} was changed during the load", file.path.display());
            let rest = &self.text[from..];
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let line = without_end(&rest[..length]).len();
            self.next.1 = from + length;
            if line > 0 {
                self.next.0 = number + 1;
                return (number, from..from + line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn open(text: &[u8], has_header: bool) -> Result<LineFile, ValueFileError> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("values.txt");
        std::fs::write(&path, text).expect("a file");
        LineFile::open(&path, has_header, |_, _| Ok(()))
    }

    #[test]
    fn ten_million_lines_have_an_index_of_little_more_than_a_megabyte() {
        let lines = 100_000;
        let text = (0..lines).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
        let file = open(text.as_bytes(), false).expect("lines");
        assert_eq!(file.lines(), lines);
        assert!(file.blocks.len() as u64 * 8 * (10_000_000 / lines) < 2 << 20, "{}", file.blocks.len());
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_with_the_line() {
        assert!(matches!(open(b"\n\n", false), Err(ValueFileError::Empty(_))));
        assert!(matches!(open(b"id\n", true), Err(ValueFileError::Empty(_))));
        assert!(
            open(&vec![b'x'; LONGEST_LINE + 1], false)
                .expect_err("long")
                .to_string()
                .contains(":1: the line")
        );
        let missing =
            LineFile::open(Path::new("/nowhere/values"), false, |_, _| Ok(())).expect_err("no file");
        assert!(missing.to_string().starts_with("cannot read /nowhere/values"), "{missing}");
    }

    proptest! {
        #[test]
        fn every_line_is_found_by_its_number_in_any_order(
            lines in prop::collection::vec("[a-c]{0,3}", 1..400),
            ends_with_cr in any::<bool>(),
            is_closed in any::<bool>(),
            has_mark in any::<bool>(),
            has_header in any::<bool>(),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..40),
        ) {
            let end = if ends_with_cr { "\r\n" } else { "\n" };
            let mut text = lines.join(end);
            if is_closed {
                text += end;
            }
            if has_mark {
                text.insert(0, '\u{feff}');
            }
            let mut expected: Vec<&String> = lines.iter().filter(|line| !line.is_empty()).collect();
            if has_header && !expected.is_empty() {
                expected.remove(0);
            }
            let Ok(file) = open(text.as_bytes(), has_header) else {
                prop_assert!(expected.is_empty());
                return Ok(());
            };
            prop_assert_eq!(file.lines(), expected.len() as u64);
            let mut reader = BlockReader::default();
            for pick in picks {
                let at = pick.index(expected.len());
                prop_assert_eq!(reader.line(&file, at as u64), expected[at].as_bytes());
            }
            for (at, line) in expected.iter().enumerate() {
                prop_assert_eq!(reader.line(&file, at as u64), line.as_bytes());
            }
        }
    }
}
