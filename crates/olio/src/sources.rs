//! Files that something is made of, and a name that follows from them: what is kept is not used where its sources have changed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// Paths of the files below a directory, in their order, without what is below `made`.
pub fn files_below(directory: &Path, made: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path == directory.join(made) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path.strip_prefix(directory)?.to_owned());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What follows from the names and contents of files in this directory.
pub fn digest_of(directory: &Path, files: &[PathBuf]) -> Result<[u8; 8]> {
    let mut digest = Sha256::new();
    for file in files {
        let path = directory.join(file);
        let bytes = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        digest.update(format!("{} {}\n", file.display(), bytes.len()));
        digest.update(bytes);
    }
    let digest = digest.finalize();
    Ok(digest[..8].try_into().expect("a digest has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_has_another_digest_and_what_is_made_is_no_source() {
        let directory = tempfile::tempdir().expect("a directory");
        for file in ["pom.xml", "src/Main.java", "target/classes/Main.class"] {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, "").expect("a file");
        }
        let files = files_below(directory.path(), "target").expect("files");
        assert_eq!(files, [Path::new("pom.xml"), Path::new("src/Main.java")]);
        let before = digest_of(directory.path(), &files).expect("a digest");
        fs::write(directory.path().join("pom.xml"), "<project/>").expect("a file");
        assert_ne!(digest_of(directory.path(), &files).expect("a digest"), before);
    }
}
