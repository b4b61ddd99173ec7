//! The directory that contains `/proc`, `/sys` and `/etc`: `/`, or a directory that a test filled.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The root directory of a machine's files.
#[derive(Debug, Clone)]
pub(crate) struct Root(PathBuf);

impl Root {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Translates an absolute path on the machine into a path for this process.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Reads a file as text, without surrounding white space. Returns none if it is missing, unreadable or empty:
    /// the kernel reports a missing feature in any of these ways.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.path(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Reads a file with a single value, such as a number.
    pub(crate) fn parse<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.read(path)?.parse().ok()
    }

    /// Reads a file that contains 0 or 1, N or Y, off or on.
    pub(crate) fn flag(&self, path: impl AsRef<Path>) -> Option<bool> {
        match self.read(path)?.as_str() {
            "1" | "Y" | "on" => Some(true),
            "0" | "N" | "off" => Some(false),
            _ => None,
        }
    }

    /// Where a symbolic link points.
    pub(crate) fn link(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_link(self.path(path)).ok().map(|target| target.to_string_lossy().into_owned())
    }

    /// Reads the selected one of a list of choices: `madvise` from `always [madvise] never`.
    pub(crate) fn choice(&self, path: impl AsRef<Path>) -> Option<String> {
        self.read(path).map(|text| selected(&text).to_owned())
    }

    /// The files that match a pattern in which `*` stands for any name of a directory's entry, or its rest.
    pub(crate) fn matching(&self, pattern: &str) -> Vec<String> {
        let mut found = vec![String::new()];
        for part in pattern.split('/').skip(1) {
            let Some((before, after)) = part.split_once('*') else {
                for path in &mut found {
                    path.extend(["/", part]);
                }
                continue;
            };
            let fits = |name: &String| {
                name.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)) && !name.contains('/')
            };
            let below = |path: &String| {
                let names = self.list(path).into_iter().filter(fits);
                names.map(|name| format!("{path}/{name}")).collect::<Vec<_>>()
            };
            found = found.iter().flat_map(below).collect();
        }
        found.retain(|path| self.path(path).is_file());
        found
    }

    /// Reads os-release(5), the distribution's identification: values by name, without quotes. Empty if the file does not exist.
    pub(crate) fn os_release(&self) -> BTreeMap<String, String> {
        let text =
            self.read("/etc/os-release").or_else(|| self.read("/usr/lib/os-release")).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.trim_matches(['"', '\'']).to_owned()))
            .collect()
    }

    /// Lists the names in a directory, sorted. Empty if there is no such directory.
    pub(crate) fn list(&self, dir: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.path(dir)).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

/// The choice that the kernel marks with brackets or parentheses. Returns the whole text if there is no mark.
pub(crate) fn selected(text: &str) -> &str {
    let between = |open, close| Some(text.split_once(open)?.1.split_once(close)?.0);
    between('[', ']').or_else(|| between('(', ')')).unwrap_or(text)
}

/// Makes a directory with these files (path, text) as the root of an invented machine.
#[cfg(test)]
pub(crate) fn fake_root(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().expect("make a temporary directory");
    let root = Root::new(dir.path());
    for (path, text) in files {
        let path = root.path(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("make a directory");
        fs::write(path, text).expect("write a file");
    }
    (dir, root)
}
