//! Reads the operations of a mix from a TOML file: an array of `[[op]]` tables, or the `[[load.op]]` tables of a workload, whose other
//! keys are ignored. What a table has is left to the protocol.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::DeTable;

use super::error::OperationError;
use notation::source_text::{FileError, SourceText};

/// Why a file is no mix.
#[derive(Debug, thiserror::Error)]
pub enum MixFileError {
    /// It cannot be read.
    #[error("{}: {source}: give a file of [[op]] tables", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A mistake in it.
    #[error(transparent)]
    Mistake(#[from] FileError),
    /// It has no operation.
    #[error("{}: the mix is empty: give at least one [[op]]", .0.display())]
    Empty(PathBuf),
}

/// A file of its own, in which an unknown key is a mistake.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MixFile<T> {
    #[serde(default = "Vec::new")]
    op: Vec<Spanned<T>>,
}

/// A workload, or a part of one: its servers and the rest of its load are for comparisons.
#[derive(Deserialize)]
struct WorkloadFile<T> {
    load: MixOfWorkload<T>,
}

#[derive(Deserialize)]
struct MixOfWorkload<T> {
    #[serde(default = "Vec::new")]
    op: Vec<Spanned<T>>,
}

/// Reads the operations of a file, at least one. `check` finds what is wrong with one by itself.
pub fn read<T: DeserializeOwned>(
    path: &Path,
    check: impl Fn(&T) -> Result<(), OperationError>,
) -> Result<Vec<T>, MixFileError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| MixFileError::Read { path: path.to_owned(), source })?;
    let source = SourceText { file: &path.to_string_lossy(), text: &text };
    let is_workload = DeTable::parse(&text).is_ok_and(|file| file.get_ref().contains_key("load"));
    let tables = if is_workload {
        toml::from_str(&text).map(|file: WorkloadFile<T>| file.load.op)
    } else {
        toml::from_str(&text).map(|file: MixFile<T>| file.op)
    };
    let mut operations = Vec::new();
    for operation in tables.map_err(|error| source.toml_error(&error))? {
        check(operation.get_ref())
            .map_err(|error| source.error(&operation.span(), error.to_string().replace('\n', " ")))?;
        operations.push(operation.into_inner());
    }
    if operations.is_empty() { Err(MixFileError::Empty(path.to_owned())) } else { Ok(operations) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::template::Template;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Operation {
        path: String,
        weight: Option<f64>,
    }

    fn read_text(text: &str) -> Result<Vec<Operation>, MixFileError> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("mix.toml");
        std::fs::write(&path, text).expect("a file");
        read(&path, |operation: &Operation| {
            let text = &operation.path;
            let parsed = Template::parse(text).map(drop);
            parsed.map_err(|error| OperationError::about("operation", error))
        })
    }

    #[test]
    fn every_table_is_an_operation() {
        let operations =
            read_text("[[op]]\npath = \"/\"\nweight = 90\n[[op]]\npath = \"/b\"\n").expect("a mix");
        assert_eq!((operations[0].weight, operations[1].path.as_str()), (Some(90.0), "/b"));
    }

    #[test]
    fn a_workload_is_a_mix_and_a_mistake_in_its_operations_is_found() {
        let load = "[load]\nprotocol = \"http\"\nslo = \"p99<5ms\"\n[[load.op]]\npath = \"/c\"\n";
        let workload = format!("title = \"Shop\"\n[server.shop]\nstart = [\"./shop\"]\n{load}");
        for text in ["[[load.op]]\npath = \"/c\"\n", load, &workload] {
            let operations = read_text(text).expect(text);
            assert_eq!((operations.len(), operations[0].path.as_str()), (1, "/c"));
        }
        let error = read_text(&format!("{load}wieght = 3\n")).expect_err("a typo").to_string();
        assert!(error.contains("mix.toml:6: unknown key \"wieght\" (did you mean \"weight\"?"), "{error}");
        let empty = read_text("[load]\nprotocol = \"http\"\n").expect_err("no operation").to_string();
        assert!(empty.contains("the mix is empty: give at least one [[op]]"), "{empty}");
    }

    #[test]
    fn an_error_names_the_line() {
        let error = read_text("[[op]]\npath = \"/\"\nwieght = 3\n").expect_err("a typo").to_string();
        assert!(error.contains("mix.toml:3: unknown key \"wieght\" (did you mean \"weight\"?"), "{error}");
        let error = read_text("[[op]]\npath = \"/\"\n\n[[op]]\npath = \"/{{ uniform(9, 1) }}\"\n")
            .expect_err("a range");
        let error = error.to_string();
        assert!(
            error.contains("mix.toml:4: operation: \"uniform(9, 1)\" is not possible: A must not"),
            "{error}"
        );
        for text in ["op = []", ""] {
            let error = read_text(text).expect_err("empty").to_string();
            assert!(error.contains("the mix is empty"), "{error}");
        }
        let missing =
            read::<Operation>(Path::new("/nowhere/mix.toml"), |_| Ok(())).expect_err("no file").to_string();
        assert!(missing.ends_with("give a file of [[op]] tables"), "{missing}");
    }
}
