//! A new workload for a service of the user's own: a commented example that runs as it stands.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a new workload holds, by file; `my-api` becomes its name.
const FILES: [(&str, &str); 2] = [
    ("workload.toml", include_str!("scaffold/workload.toml")),
    ("server.py", include_str!("scaffold/server.py")),
];

/// The name that the example has.
const PLACEHOLDER: &str = "my-api";

/// Why there is no new workload.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// A name that is no name of a folder and of a server.
    #[error("{0:?} is no name for a workload: use letters, digits, - and _")]
    Name(String),
    /// It is there already.
    #[error("{0} is there already: choose another name, or remove it")]
    Exists(PathBuf),
    /// It cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Writes a new workload into a folder of its own below `directory`; gives the path of its `workload.toml`.
/// Nothing that is there is overwritten.
pub fn create(directory: &Path, name: &str) -> Result<PathBuf, ScaffoldError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_plain) {
        return Err(ScaffoldError::Name(name.to_owned()));
    }
    let folder = directory.join(name);
    let failed = |path: &Path, source| ScaffoldError::Write { path: path.to_owned(), source };
    fs::create_dir_all(directory).map_err(|e| failed(directory, e))?;
    fs::create_dir(&folder).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => ScaffoldError::Exists(folder.clone()),
        _ => failed(&folder, e),
    })?;
    for (file, text) in FILES {
        let path = folder.join(file);
        let text = text.replace(PLACEHOLDER, name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|e| failed(&path, e))?;
    }
    Ok(folder.join(FILES[0].0))
}

/// Two variants of a new workload that are worth comparing.
pub fn example_variants(name: &str) -> [String; 2] {
    ["off", "on"].map(|cache| format!("{name}:cache={cache}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn a_new_workload_is_a_workload_of_its_name() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let file = create(directory.path(), "shop")?;
        let catalogue = Catalogue::with(directory.path());
        assert_eq!(catalogue.find(&file.display().to_string())?.name, "shop");
        let (workload, variants) = catalogue.resolve(None, &example_variants("shop"))?;
        assert_eq!((workload.title.as_str(), variants[1].to_string().as_str()), ("shop", "shop:cache=on"));
        Ok(())
    }

    #[test]
    fn what_is_there_is_kept() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        create(directory.path(), "shop")?;
        assert!(matches!(create(directory.path(), "shop"), Err(ScaffoldError::Exists(_))));
        for name in ["", "../x", "a/b", "-x", "a b"] {
            assert!(matches!(create(directory.path(), name), Err(ScaffoldError::Name(_))), "{name}");
        }
        Ok(())
    }
}
