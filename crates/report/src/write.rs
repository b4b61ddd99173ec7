//! Writes the page of a run into its directory.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use archive::Run;
use cost::pricing::CostReport;

use crate::error::ReportError;
use crate::{FILE_NAME, html, html_with_cost};

/// What a hidden name begins with.
const HIDDEN: &str = ".writing-";

/// The page of a run; with a section of what its variants cost, where that is known.
pub fn page_of(run: &Run, costs: Option<&CostReport>) -> Result<String, ReportError> {
    costs.map_or_else(|| html(run), |costs| html_with_cost(run, costs))
}

/// Writes the page of a run into its directory, and returns its path.
pub fn write_html(run: &Run, costs: Option<&CostReport>) -> Result<PathBuf, ReportError> {
    write_page(run, &page_of(run, costs)?)
}

/// Writes this page into the directory of a run, and returns its path.
pub fn write_page(run: &Run, page: &str) -> Result<PathBuf, ReportError> {
    let path = run.dir.join(FILE_NAME);
    match replace(&run.dir, &path, page.as_bytes()) {
        Ok(()) => Ok(path),
        Err(source) => Err(ReportError::Write { path, source }),
    }
}

/// Writes a whole file or nothing: whatever has this name is replaced, and no link is followed. The umask applies.
fn replace(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    let hidden = builder.prefix(HIDDEN).permissions(Permissions::from_mode(0o666));
    let mut file = hidden.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_page_replaces_an_earlier_one_and_no_target_of_a_link() -> Result<(), Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let id = archive::example::comparison(root.path(), 1)?;
        let run = Run::open(&root.path().join(id.as_str()))?;
        let elsewhere = root.path().join("elsewhere");
        fs::write(&elsewhere, "not a page")?;
        std::os::unix::fs::symlink(&elsewhere, run.dir.join(FILE_NAME))?;
        let path = write_html(&run, None)?;
        assert!(fs::read_to_string(&path)?.contains("<html"));
        assert_eq!(fs::read_to_string(&elsewhere)?, "not a page");
        let gone = Run { dir: root.path().join("gone"), ..run };
        let error = write_html(&gone, None).expect_err("no directory").to_string();
        assert!(error.ends_with("cannot be written: make room, or name a file with -o"), "{error}");
        Ok(())
    }
}
