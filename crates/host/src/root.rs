//! Where `/proc`, `/sys` and `/etc` are: at `/`, or below a directory that stands in for another machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The directory that a machine's files are below.
#[derive(Debug, Clone)]
pub(crate) struct Root(PathBuf);

impl Root {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where an absolute path of the machine is for us.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// A file's text without the blanks around it; none if it is missing, unreadable or empty: the kernel
    /// answers "I do not have that" in all three ways.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.path(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A file that holds one number, or another single value.
    pub(crate) fn parse<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.read(path)?.parse().ok()
    }

    /// A file that holds 0 or 1, or their words.
    pub(crate) fn flag(&self, path: impl AsRef<Path>) -> Option<bool> {
        match self.read(path)?.as_str() {
            "1" | "Y" | "on" => Some(true),
            "0" | "N" | "off" => Some(false),
            _ => None,
        }
    }

    /// A file that lists its choices and marks one, `always [madvise] never`: the marked one.
    pub(crate) fn choice(&self, path: impl AsRef<Path>) -> Option<String> {
        self.read(path).map(|text| marked(&text).to_owned())
    }

    /// The names in a directory, sorted; none if there is no such directory.
    pub(crate) fn list(&self, dir: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.path(dir)).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

/// The one of several choices that is marked with brackets or parentheses, as the kernel does; the whole
/// text if none is.
pub(crate) fn marked(text: &str) -> &str {
    let between = |open, close| Some(text.split_once(open)?.1.split_once(close)?.0);
    between('[', ']').or_else(|| between('(', ')')).unwrap_or(text)
}

/// A directory that stands in for a machine's root, from paths and texts.
#[cfg(test)]
pub(crate) fn stand_in(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().expect("there is a place for temporary files");
    let root = Root::new(dir.path());
    for (path, text) in files {
        let path = root.path(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
    (dir, root)
}
