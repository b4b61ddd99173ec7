//! Reads the operations of a mix from a TOML file: an array of `[[op]]` tables. What a table holds is up to the
//! protocol.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MixFile<T> {
    #[serde(default = "Vec::new")]
    op: Vec<Spanned<T>>,
    /// The operations as a workload has them, so that they can be copied from there.
    load: Option<OfWorkload<T>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfWorkload<T> {
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
    let mix: MixFile<T> = toml::from_str(&text).map_err(|error| source.toml_error(&error))?;
    let of_workload = mix.load.into_iter().flat_map(|load| load.op);
    let mut operations = Vec::new();
    for operation in mix.op.into_iter().chain(of_workload) {
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
        let copied = read_text("[[load.op]]\npath = \"/c\"\n").expect("operations of a workload");
        assert_eq!(copied[0].path, "/c");
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
