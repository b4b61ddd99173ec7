//! The files of a workload: in a folder on disk, or in this program.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

/// The workloads that come with the program: the repository's `workloads/`.
static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// The file that describes a workload.
pub const DEFINITION: &str = "workload.toml";

/// Where a workload's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// In this program, under this name.
    BuiltIn(&'static str),
    /// In this directory.
    Disk(PathBuf),
}

impl Folder {
    /// The workload of this name that comes with the program.
    pub fn built_in(name: &str) -> Option<Self> {
        Self::all_built_in().into_iter().find(|folder| folder.name() == name)
    }

    /// All workloads that come with the program, by name.
    pub fn all_built_in() -> Vec<Self> {
        let folders = BUILT_IN.dirs().filter(|dir| dir.get_file(dir.path().join(DEFINITION)).is_some());
        let mut names: Vec<&'static str> = folders.filter_map(|dir| dir.path().to_str()).collect();
        names.sort_unstable();
        names.into_iter().map(Self::BuiltIn).collect()
    }

    /// The workload's name: that of its folder.
    pub fn name(&self) -> String {
        match self {
            Self::BuiltIn(name) => (*name).to_owned(),
            Self::Disk(path) => {
                // `.` has no name of its own.
                let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                whole
                    .file_name()
                    .map_or_else(|| "workload".into(), |name| name.to_string_lossy())
                    .into_owned()
            }
        }
    }

    /// The directory, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Disk(path) => Some(path),
        }
    }

    /// A file of it as messages call it.
    pub fn label(&self, file: &str) -> String {
        match self {
            Self::BuiltIn(name) => format!("(built-in) {name}/{file}"),
            Self::Disk(path) => path.join(file).display().to_string(),
        }
    }

    /// The text of a file; the error says why there is none.
    pub fn read(&self, file: &str) -> Result<String, String> {
        match self {
            Self::BuiltIn(name) => BUILT_IN
                .get_file(Path::new(name).join(file))
                .and_then(|file| file.contents_utf8())
                .map(str::to_owned)
                .ok_or_else(|| "there is no such file".to_owned()),
            Self::Disk(path) => std::fs::read_to_string(path.join(file)).map_err(|e| e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_s_workloads_are_in_the_program() {
        let names: Vec<String> = Folder::all_built_in().iter().map(Folder::name).collect();
        let all = ["block-io", "build", "cache", "download", "kv", "mail", "oltp", "static-web", "tls"];
        assert_eq!(names, all);
        let folder = Folder::built_in("cache").expect("it is there");
        assert!(folder.read(DEFINITION).is_ok_and(|text| text.contains("title")));
        assert_eq!(folder.read("nothing"), Err("there is no such file".to_owned()));
    }

    #[test]
    fn a_folder_on_disk_is_named_by_its_directory() {
        assert_eq!(Folder::Disk("/tmp/my-api".into()).name(), "my-api");
        assert_eq!(Folder::Disk("workloads/my-api/".into()).name(), "my-api");
    }
}
