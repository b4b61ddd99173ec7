//! Where a run came from: an imported run has a marker, which its `search/*` runs share. What is imported is shown as such, and a
//! plan in it is not run without a question.

use crate::layout;
use std::{fs, path::Path};

/// Whether a file or folder is part of an imported run.
pub fn is_imported(path: &Path) -> bool {
    // A link leads to the run that it is part of.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    real.ancestors().any(|folder| fs::symlink_metadata(folder.join(layout::IMPORTED)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_in_an_imported_run_is_imported() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("runs/20261121T005139Z-nginx-apache-7f3a");
        let other = folder.path().join("runs/20261121T005140Z-nginx-apache-7f3a");
        let of_search = run.join("search/20261121T005139Z-nginx-apache-0000");
        for dir in [&of_search, &other] {
            fs::create_dir_all(dir).unwrap();
            fs::write(dir.join(layout::PLAN), "").unwrap();
        }
        fs::write(run.join(layout::IMPORTED), "").unwrap();
        let link = folder.path().join("link.toml");
        std::os::unix::fs::symlink(of_search.join(layout::PLAN), &link).unwrap();
        for imported in [&run, &run.join(layout::PLAN), &of_search, &of_search.join(layout::PLAN), &link] {
            assert!(is_imported(imported), "{}", imported.display());
        }
        assert!(!is_imported(&other.join(layout::PLAN)) && !is_imported(folder.path()));
    }
}
