//! The files of a workload: in a folder on disk, or compiled into this program.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use include_dir::{Dir, include_dir};
use tempfile::TempDir;

/// The built-in workloads: the repository's `workloads/`.
static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads");

/// The file that describes a workload.
pub const DEFINITION: &str = "workload.toml";

/// A built-in workload's files on disk, for a load that sends them: made when they are first asked for, and removed with the last copy.
#[derive(Clone, Debug, Default)]
pub struct Unpacked(Arc<OnceLock<TempDir>>);

impl Unpacked {
    /// The directory with the files of this folder: that of a folder on disk is its own. What cannot be unpacked is missed by name when
    /// it is read.
    pub fn directory(&self, folder: &Folder) -> Option<PathBuf> {
        let Folder::BuiltIn(name) = folder else { return folder.directory().map(Path::to_owned) };
        if self.0.get().is_none()
            && let Ok(made) = tempfile::Builder::new().prefix("showdown-workload-").tempdir()
        {
            for (path, bytes) in folder.built_in_files() {
                let path = made.path().join(path);
                let _ = path.parent().map(std::fs::create_dir_all);
                let _ = std::fs::write(path, bytes);
            }
            let _ = self.0.set(made);
        }
        self.0.get().map(|made| made.path().join(name))
    }
}

/// Where a workload's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// In this program, under this name.
    BuiltIn(&'static str),
    /// In this directory.
    Disk(PathBuf),
}

impl Folder {
    /// The built-in workload of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        Self::all_built_in().into_iter().find(|folder| folder.name() == name)
    }

    /// All built-in workloads, sorted by name.
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
                let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                absolute
                    .file_name()
                    .map_or_else(|| "workload".into(), |name| name.to_string_lossy())
                    .into_owned()
            }
        }
    }

    /// The directory, if the files are on disk.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::BuiltIn(_) => None,
            Self::Disk(path) => Some(path),
        }
    }

    /// A file's name in messages.
    pub fn label(&self, file: &str) -> String {
        match self {
            Self::BuiltIn(name) => format!("(built-in) {name}/{file}"),
            Self::Disk(path) => path.join(file).display().to_string(),
        }
    }

    /// The files of a built-in workload with their names, such as `static-web/nginx.conf`; none for one on disk.
    pub(crate) fn built_in_files(&self) -> Vec<(String, &'static [u8])> {
        let mut dirs: Vec<&'static Dir<'static>> = match self {
            Self::BuiltIn(name) => BUILT_IN.get_dir(name).into_iter().collect(),
            Self::Disk(_) => Vec::new(),
        };
        let mut files = Vec::new();
        while let Some(dir) = dirs.pop() {
            files.extend(dir.files().map(|file| (file.path().display().to_string(), file.contents())));
            dirs.extend(dir.dirs());
        }
        files
    }

    /// The text of a file. A folder on disk that other users control is refused: it says which programs run.
    pub fn read(&self, file: &str) -> io::Result<String> {
        match self {
            Self::BuiltIn(name) => BUILT_IN
                .get_file(Path::new(name).join(file))
                .and_then(|file| file.contents_utf8())
                .map(str::to_owned)
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such file")),
            Self::Disk(path) => {
                host::ownership::check(path)
                    .map_err(|why| io::Error::new(io::ErrorKind::PermissionDenied, why.to_string()))?;
                std::fs::read_to_string(path.join(file))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_s_workloads_are_built_in() {
        let names: Vec<String> = Folder::all_built_in().iter().map(Folder::name).collect();
        let all =
            ["block-io", "build", "cache", "download", "kv", "mail", "olio", "oltp", "static-web", "tls"];
        assert_eq!(names, all);
        let folder = Folder::built_in("cache").expect("cache is built in");
        assert!(folder.read(DEFINITION).is_ok_and(|text| text.contains("title")));
        let error = folder.read("nothing").expect_err("cache has no file of that name");
        assert_eq!(error.to_string(), "there is no such file");
    }

    #[test]
    fn files_of_a_built_in_workload_are_on_disk_as_long_as_it_is_used() {
        let (unpacked, olio) = (Unpacked::default(), Folder::BuiltIn("olio"));
        let (here, other) = (unpacked.directory(&olio).expect("a directory"), unpacked.clone());
        drop(unpacked);
        assert_eq!(other.directory(&olio).as_ref(), Some(&here), "it is unpacked once");
        assert!(std::fs::read(here.join("person.jpg")).is_ok_and(|image| image.starts_with(&[0xFF, 0xD8])));
        drop(other);
        assert!(!here.exists());
    }

    #[test]
    fn a_folder_on_disk_is_named_by_its_directory() {
        assert_eq!(Folder::Disk("/tmp/my-api".into()).name(), "my-api");
        assert_eq!(Folder::Disk("workloads/my-api/".into()).name(), "my-api");
    }
}
