//! The tunings that come with the program, and the user's own: files in the folder `tunings` of the working directory, and files
//! that the command line names.

use std::fs;
use std::path::{Path, PathBuf};

use host::ownership::{self, OwnershipError};
use include_dir::{Dir, include_dir};
use workload::definition::{FileError, SourceText};

use crate::tuning::Tuning;
use crate::tuning_file;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../tunings");

/// The folder, in the current directory, with a user's own tunings.
pub const DIRECTORY: &str = "tunings";

/// A longer file is no tuning.
const MOST_BYTES: u64 = 1 << 20;

/// All tunings, by name.
#[derive(Clone, Debug, Default)]
pub struct TuningCatalogue {
    tunings: Vec<Tuning>,
}

/// Why there is no catalogue.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// A file is not a tuning.
    #[error(transparent)]
    Definition(#[from] FileError),
    /// A file or folder cannot be read.
    #[error("cannot read {path}: {source}: give a tuning's file, or a folder of them")]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Another user may have written it.
    #[error(transparent)]
    Ownership(#[from] OwnershipError),
    /// A file is too long.
    #[error("{0} is longer than 1 MB: give a tuning's file, or a folder of them")]
    TooLong(PathBuf),
}

impl TuningCatalogue {
    /// The tunings that come with the program.
    pub fn built_in() -> Self {
        let mut tunings: Vec<Tuning> = BUILT_IN
            .files()
            .filter(|file| file.path().extension().is_some_and(|ending| ending == "toml"))
            .map(|file| {
                let text = file.contents_utf8().expect("a tuning is text: tests read all of them");
                let label = Path::new(DIRECTORY).join(file.path());
                let source = SourceText { file: &label.to_string_lossy(), text };
                tuning_file::read(&id_of(file.path()), source)
                    .unwrap_or_else(|error| panic!("a test reads all: {error}"))
            })
            .collect();
        tunings.sort_by(|a, b| a.id.cmp(&b.id));
        Self { tunings }
    }

    /// These and the user's own: those of the folder [`DIRECTORY`], if it exists, and those of these files and folders. One of the
    /// user's replaces one that has its name. What others may write to is refused: a tuning chooses settings of servers and of
    /// the kernel.
    pub fn with_own(files: &[PathBuf]) -> Result<Self, CatalogueError> {
        let mut catalogue = Self::built_in();
        let own = own_folder();
        for path in own.iter().chain(files) {
            if path.exists() {
                ownership::check(path)?;
            }
            for tuning in read_path(path)? {
                catalogue.tunings.retain(|known| known.id != tuning.id);
                catalogue.tunings.push(tuning);
            }
        }
        catalogue.tunings.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(catalogue)
    }

    /// All tunings, by name.
    pub fn all(&self) -> &[Tuning] {
        &self.tunings
    }
}

/// The folder of the user's own tunings, where the working directory has it.
pub fn own_folder() -> Option<PathBuf> {
    let own = PathBuf::from(DIRECTORY);
    own.is_dir().then_some(own)
}

/// The tunings of a file, or of the files of a folder that end in `.toml`.
fn read_path(path: &Path) -> Result<Vec<Tuning>, CatalogueError> {
    let unreadable = |source| CatalogueError::Unreadable { path: path.to_owned(), source };
    if !path.is_dir() {
        return Ok(vec![read_file(path)?]);
    }
    let entries = fs::read_dir(path).map_err(unreadable)?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.is_file() && file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    files.iter().map(|file| read_file(file)).collect()
}

fn read_file(path: &Path) -> Result<Tuning, CatalogueError> {
    let unreadable = |source| CatalogueError::Unreadable { path: path.to_owned(), source };
    if fs::metadata(path).map_err(unreadable)?.len() > MOST_BYTES {
        return Err(CatalogueError::TooLong(path.to_owned()));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    Ok(tuning_file::read(&id_of(path), SourceText { file: &path.to_string_lossy(), text: &text })?)
}

fn id_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
