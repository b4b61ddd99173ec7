//! The lines of files that the operations of one worker use. Operations first declare what they use; then the files are
//! opened and checked; then each operation takes the next line of each of its files. What one operation takes of a file in
//! one order is of one line, so that a user's name and token belong together.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rand::{Rng, RngExt};

use super::file::{BlockReader, LineFile, ValueFileError};
use super::place::ValuePlace;
use super::record::Record;
use crate::inputs::worker_share::share;

/// Which line comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineOrder {
    /// One after the other, in a circle; each worker begins at its own part.
    Sequential,
    /// Any, all equally likely.
    Random,
    /// Each once over all workers; the load ends when all are used.
    Once,
}

/// What of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// All of it.
    Whole,
    /// A field by its number, counted from 1.
    Number(usize),
    /// A field by its name in the first line.
    Name(String),
}

/// A value that was declared: which file, and which of its uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueRef {
    pub source: usize,
    column: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct DeclaredSource {
    file: String,
    order: LineOrder,
    uses: Vec<(Column, ValuePlace)>,
}

/// The values that operations use, before the files are opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeclaredValues {
    sources: Vec<DeclaredSource>,
}

impl DeclaredValues {
    /// Declares a value.
    pub fn declare(&mut self, file: &str, order: LineOrder, column: Column, place: ValuePlace) -> ValueRef {
        // A file with names of columns has one line less.
        let has_names = |uses: &[(Column, ValuePlace)]| matches!(uses[0].0, Column::Name(_));
        let is_named = matches!(column, Column::Name(_));
        let same = |known: &DeclaredSource| {
            known.file == file && known.order == order && has_names(&known.uses) == is_named
        };
        let source = self.sources.iter().position(same).unwrap_or_else(|| {
            self.sources.push(DeclaredSource { file: file.to_owned(), order, uses: Vec::new() });
            self.sources.len() - 1
        });
        let uses = &mut self.sources[source].uses;
        let wanted = (column, place);
        let column = uses.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            uses.push(wanted);
            uses.len() - 1
        });
        ValueRef { source, column }
    }

    /// Whether no value is from a file.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The files whose lines are used once each.
    pub fn files_used_once(&self) -> impl Iterator<Item = &str> {
        let once = self.sources.iter().filter(|source| source.order == LineOrder::Once);
        once.map(|source| source.file.as_str())
    }

    /// Opens the files, whose names are relative to `folder`, for worker `worker` of `workers`.
    pub fn open(self, folder: &Path, worker: u32, workers: u32) -> Result<ValueRows, ValueFileError> {
        let open = |declared: DeclaredSource| {
            let key = SourceKey { path: folder.join(&declared.file), uses: declared.uses };
            let file = key.shared()?;
            let lines = file.lines.lines();
            let first = (0..worker).map(|earlier| share(lines, earlier, workers)).sum();
            Ok(Source::new(file, declared.order, first, share(lines, worker, workers)))
        };
        Ok(ValueRows { sources: self.sources.into_iter().map(open).collect::<Result<_, _>>()? })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SourceKey {
    path: PathBuf,
    uses: Vec<(Column, ValuePlace)>,
}

/// A file whose lines all fit where they are used.
#[derive(Debug)]
struct CheckedFile {
    key: SourceKey,
    lines: LineFile,
    /// The fields of the uses, counted from 0; none for the whole line.
    columns: Vec<Option<usize>>,
}

/// The files that are open in this process: its workers share them.
static OPEN: Mutex<Vec<Weak<CheckedFile>>> = Mutex::new(Vec::new());

impl SourceKey {
    fn shared(&self) -> Result<Arc<CheckedFile>, ValueFileError> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|file| file.strong_count() > 0);
        if let Some(known) = open.iter().filter_map(Weak::upgrade).find(|file| file.key == *self) {
            return Ok(known);
        }
        let file = Arc::new(self.open()?);
        open.push(Arc::downgrade(&file));
        Ok(file)
    }

    fn open(&self) -> Result<CheckedFile, ValueFileError> {
        let named = self.uses.iter().any(|(column, _)| matches!(column, Column::Name(_)));
        let mut record = Record::default();
        let mut columns = Vec::new();
        let lines = LineFile::open(&self.path, named, |_, line| {
            let is_first = columns.is_empty();
            let has_fields = self.uses.iter().any(|(column, _)| *column != Column::Whole);
            if has_fields {
                record.read(line)?;
            }
            if is_first {
                columns = self
                    .uses
                    .iter()
                    .map(|(column, _)| position(column, &record))
                    .collect::<Result<_, _>>()?;
                if named {
                    return Ok(());
                }
            }
            for (column, (_, place)) in columns.iter().zip(&self.uses) {
                place.check(value(&record, *column, line)?)?;
            }
            Ok(())
        })?;
        Ok(CheckedFile { key: self.clone(), lines, columns })
    }
}

/// Where a column is; `first` has the names.
fn position(column: &Column, first: &Record) -> Result<Option<usize>, String> {
    match column {
        Column::Whole => Ok(None),
        Column::Number(number) => Ok(Some(number - 1)),
        Column::Name(name) => first
            .position(name)
            .map(Some)
            .ok_or_else(|| format!("there is no column {name:?} in the first line")),
    }
}

fn value<'l>(record: &'l Record, column: Option<usize>, line: &'l [u8]) -> Result<&'l [u8], String> {
    let Some(at) = column else { return Ok(line) };
    record.field(at).ok_or_else(|| format!("there is no column {}: the line has {}", at + 1, record.len()))
}

/// A file as one worker uses it.
#[derive(Debug)]
struct Source {
    file: Arc<CheckedFile>,
    order: LineOrder,
    next: u64,
    /// Lines that may still be taken.
    left: u64,
    reader: BlockReader,
    /// The line of the operation that was begun last, and its fields.
    line: Vec<u8>,
    record: Record,
}

impl Source {
    fn new(file: Arc<CheckedFile>, order: LineOrder, first: u64, count: u64) -> Self {
        let (next, left) = match order {
            LineOrder::Once => (first, count),
            _ => (first % file.lines.lines(), u64::MAX),
        };
        let (line, record) = (Vec::new(), Record::default());
        Self { file, order, next, left, reader: BlockReader::default(), line, record }
    }

    fn advance(&mut self, rng: &mut impl Rng) {
        let lines = self.file.lines.lines();
        if self.order == LineOrder::Random {
            self.next = rng.random_range(0..lines);
        }
        self.line.clear();
        self.line.extend_from_slice(self.reader.line(&self.file.lines, self.next));
        if self.file.columns.iter().any(Option::is_some) {
            self.record.read(&self.line).expect("a line that was checked");
        }
        self.left = self.left.saturating_sub(u64::from(self.order == LineOrder::Once));
        self.next = if self.next + 1 == lines { 0 } else { self.next + 1 };
    }
}

/// The files of one worker.
#[derive(Debug, Default)]
pub(crate) struct ValueRows {
    sources: Vec<Source>,
}

impl ValueRows {
    /// Takes the next line of a source.
    pub fn advance(&mut self, source: usize, rng: &mut impl Rng) {
        self.sources[source].advance(rng);
    }

    /// A value of the line that was taken last.
    pub fn value(&self, at: ValueRef) -> &[u8] {
        let source = &self.sources[at.source];
        match source.file.columns[at.column] {
            None => &source.line,
            Some(field) => source.record.field(field).expect("a line that was checked"),
        }
    }

    /// How many operations have lines, at least.
    #[inline]
    pub fn left(&self) -> u64 {
        self.sources.iter().map(|source| source.left).min().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn folder(text: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("values"), text).expect("a file");
        dir
    }

    fn rows(
        dir: &Path,
        order: LineOrder,
        column: Column,
        place: ValuePlace,
    ) -> Result<(ValueRows, ValueRef), ValueFileError> {
        let mut declared = DeclaredValues::default();
        let at = declared.declare("values", order, column, place);
        Ok((declared.open(dir, 0, 1)?, at))
    }

    #[test]
    fn a_column_is_found_by_its_number_and_by_its_name() {
        let dir = folder("id,name\n7,\"Smith, Ada\"\n");
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let (mut named, at) =
            rows(dir.path(), LineOrder::Sequential, Column::Name("name".to_owned()), ValuePlace::Body)
                .expect("rows");
        named.advance(0, &mut rng);
        assert_eq!(named.value(at), b"Smith, Ada");
        let (mut numbered, at) =
            rows(dir.path(), LineOrder::Sequential, Column::Number(1), ValuePlace::Body).expect("rows");
        for expected in ["id", "7", "id"] {
            numbered.advance(0, &mut rng);
            assert_eq!(numbered.value(at), expected.as_bytes());
        }
    }

    #[test]
    fn a_line_that_a_request_cannot_take_is_named_before_the_load() {
        let dir = folder("/a\n/b c\n");
        let error =
            rows(dir.path(), LineOrder::Random, Column::Whole, ValuePlace::TargetStart).expect_err("a blank");
        assert!(error.to_string().ends_with("values:2: \"/b c\" has ' ': percent-encode it"), "{error}");
        let error =
            rows(dir.path(), LineOrder::Random, Column::Number(2), ValuePlace::Body).expect_err("no column");
        assert!(error.to_string().ends_with("values:1: there is no column 2: the line has 1"), "{error}");
        let error = rows(dir.path(), LineOrder::Once, Column::Name("x".to_owned()), ValuePlace::Body)
            .expect_err("no column");
        assert!(error.to_string().contains("no column \"x\" in the first line"), "{error}");
    }

    #[test]
    fn two_columns_of_a_file_are_of_one_line() {
        let dir = folder("a,1\nb,2\nc,3\n");
        let mut declared = DeclaredValues::default();
        let (order, place) = (LineOrder::Random, ValuePlace::Body);
        let user = declared.declare("values", order, Column::Number(1), place);
        let token = declared.declare("values", order, Column::Number(2), place);
        assert_eq!(user.source, token.source);
        let (mut rows, mut rng) =
            (declared.open(dir.path(), 0, 1).expect("rows"), Pcg64Mcg::seed_from_u64(1));
        for _ in 0..20 {
            rows.advance(0, &mut rng);
            assert_eq!(rows.value(user)[0] - b'a', rows.value(token)[0] - b'1');
        }
    }

    proptest! {
        #[test]
        fn workers_use_every_line_once(lines in 1_usize..300, workers in 1_u32..9) {
            let dir = folder(&(0..lines).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat());
            let mut seen = Vec::new();
            let mut rng = Pcg64Mcg::seed_from_u64(1);
            for worker in 0..workers {
                let mut declared = DeclaredValues::default();
                let at = declared.declare("values", LineOrder::Once, Column::Whole, ValuePlace::Body);
                let mut rows = declared.open(dir.path(), worker, workers).expect("rows");
                while rows.left() > 0 {
                    rows.advance(0, &mut rng);
                    seen.push(String::from_utf8(rows.value(at).to_vec()).expect("text"));
                }
            }
            prop_assert_eq!(seen.len(), lines);
            prop_assert_eq!(seen.into_iter().collect::<BTreeSet<_>>().len(), lines);
        }
    }
}
