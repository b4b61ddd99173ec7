//! A workload as it goes to another machine: the files of its folder. That machine unpacks and reads it there, so that it
//! starts servers from the same bytes. A built-in workload goes by its name, because both machines run the same program.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::definition::{FileError, Workload};
use crate::digests;
use crate::folder::Folder;

/// The most that is sent of a workload, with the folder of its servers: a message has a limit, too.
const MOST_BYTES: u64 = 32 << 20;

/// Why a workload cannot be packed or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file cannot be read or written.
    #[error("cannot copy {path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The folders have more than a workload needs.
    #[error("with {folder}, the workload has more than {} MB, which are copied to the host: keep only its own files in its folders", MOST_BYTES >> 20)]
    TooLarge {
        /// The folder with which it is too much.
        folder: String,
    },
    /// A path that leads out of the folder.
    #[error("{path:?} is not a path inside of a workload's folder")]
    Path {
        /// The path.
        path: String,
    },
    /// The other program has no such workload, or another one of the same name.
    #[error(
        "the workload {name} over there differs from the one here: use the same build of showdown on both"
    )]
    Different {
        /// The workload.
        name: String,
    },
    /// It cannot be read over there.
    #[error(transparent)]
    Definition(#[from] FileError),
}

/// A workload as it is sent to another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedWorkload {
    /// The name of its definition in its folder.
    file: String,
    folder: PackedFolder,
    /// The folder of its servers, where that is another one.
    servers_of: Option<PackedFolder>,
    digests: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PackedFolder {
    name: String,
    /// None for a built-in one.
    files: Option<Vec<PackedFile>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PackedFile {
    path: String,
    is_executable: bool,
    /// In base 64.
    bytes: String,
}

impl PackedWorkload {
    /// The digests of its files, which identify it.
    pub fn digests(&self) -> &BTreeMap<String, String> {
        &self.digests
    }

    /// Writes its files below this directory, and reads it there.
    pub fn unpack(&self, into: &Path) -> Result<Workload, PackError> {
        let folder = self.folder.unpack(into)?;
        if let Some(folder) = &self.servers_of {
            folder.unpack(into)?;
        }
        let workload = Workload::read(&folder, &self.file)?;
        if workload.digests() == self.digests {
            Ok(workload)
        } else {
            Err(PackError::Different { name: self.folder.name.clone() })
        }
    }
}

impl Workload {
    /// Its files, for another machine. Hidden files and links are left out, as they have no digest.
    pub fn packed(&self) -> Result<PackedWorkload, PackError> {
        let mut room = MOST_BYTES;
        let folder = PackedFolder::of(&self.folder, &mut room)?;
        let servers_of =
            self.uses_servers_of_another().then(|| PackedFolder::of(&self.server_folder, &mut room));
        Ok(PackedWorkload {
            file: self.definition_file().to_owned(),
            folder,
            servers_of: servers_of.transpose()?,
            digests: self.digests(),
        })
    }
}

impl PackedFolder {
    /// `room`: how many bytes it may have; those that it has are taken from it.
    fn of(folder: &Folder, room: &mut u64) -> Result<Self, PackError> {
        let name = folder.name();
        let Some(directory) = folder.directory() else { return Ok(Self { name, files: None }) };
        let mut files = Vec::new();
        for path in digests::files_of(directory) {
            let from = directory.join(&path);
            let failed = |source| PackError::File { path: from.display().to_string(), source };
            let metadata = fs::metadata(&from).map_err(failed)?;
            let too_large = || PackError::TooLarge { folder: directory.display().to_string() };
            *room = room.checked_sub(metadata.len()).ok_or_else(too_large)?;
            files.push(PackedFile {
                path,
                is_executable: metadata.permissions().mode() & 0o111 != 0,
                bytes: STANDARD.encode(fs::read(&from).map_err(failed)?),
            });
        }
        Ok(Self { name, files: Some(files) })
    }

    fn unpack(&self, into: &Path) -> Result<Folder, PackError> {
        let Some(files) = &self.files else {
            let different = || PackError::Different { name: self.name.clone() };
            return Folder::built_in(&self.name).ok_or_else(different);
        };
        let directory = below(into, &self.name)?;
        make_directory(&directory)?;
        for file in files {
            let path = below(&directory, &file.path)?;
            let failed = |source| PackError::File { path: path.display().to_string(), source };
            if let Some(parent) = path.parent() {
                make_directory(parent)?;
            }
            let bytes = STANDARD.decode(&file.bytes).map_err(|error| failed(io::Error::other(error)))?;
            let mode = if file.is_executable { 0o755 } else { 0o644 };
            let mut to = OpenOptions::new();
            let mut to = to.write(true).create_new(true).mode(mode).open(&path).map_err(failed)?;
            to.write_all(&bytes).map_err(failed)?;
        }
        Ok(Folder::Disk(directory))
    }
}

fn below(directory: &Path, path: &str) -> Result<PathBuf, PackError> {
    let mut parts = Path::new(path).components().peekable();
    let is_inside = parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)));
    if is_inside { Ok(directory.join(path)) } else { Err(PackError::Path { path: path.to_owned() }) }
}

/// Servers that drop root's rights enter it.
fn make_directory(path: &Path) -> Result<(), PackError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(|source| PackError::File { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;
    use crate::folder::DEFINITION;

    fn packed(reference: &str) -> PackedWorkload {
        let packed = Catalogue::with("/nowhere").find(reference).expect("a workload").packed();
        let text = serde_json::to_string(&packed.expect("it can be packed")).expect("plain data");
        serde_json::from_str(&text).expect("it reads back")
    }

    #[test]
    fn a_folder_on_disk_is_the_same_over_there() -> Result<(), Box<dyn std::error::Error>> {
        let (here, there) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let folder = here.path().join("mine");
        fs::create_dir_all(folder.join("bin"))?;
        let text = "title = \"Mine\"\nservers_of = \"static-web\"\n[load]\nprotocol = \"http\"\nslo = \"p99<5ms\"\n\
                    [[load.op]]\npath = \"/1k\"\n";
        fs::write(folder.join(DEFINITION), text)?;
        fs::write(folder.join("bin/tool"), [0, 255, 10])?;
        fs::set_permissions(folder.join("bin/tool"), fs::Permissions::from_mode(0o700))?;
        let packed = packed(&folder.display().to_string());
        let workload = packed.unpack(there.path())?;
        assert_eq!((workload.title.as_str(), workload.name.as_str()), ("Mine", "mine"));
        assert!(workload.servers.iter().any(|server| server.name == "nginx"));
        let tool = there.path().join("mine/bin/tool");
        assert_eq!(fs::read(&tool)?, [0, 255, 10]);
        assert!(fs::metadata(&tool)?.permissions().mode() & 0o100 != 0, "it can be executed");
        Ok(())
    }

    #[test]
    fn a_built_in_one_goes_by_its_name_and_must_be_the_same() {
        let there = tempfile::tempdir().expect("a directory");
        let mut cache = packed("cache");
        assert!(cache.unpack(there.path()).is_ok());
        cache.digests.insert("cache/other".to_owned(), "0".to_owned());
        let error = cache.unpack(there.path()).expect_err("another one").to_string();
        assert!(error.starts_with("the workload cache over there differs"), "{error}");
    }

    #[test]
    fn a_workload_and_the_folder_of_its_servers_have_one_limit() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        fs::write(directory.path().join("large"), [0; 1_000])?;
        let folder = Folder::Disk(directory.path().to_owned());
        let mut room = 1_500;
        assert!(PackedFolder::of(&folder, &mut room).is_ok());
        let error = PackedFolder::of(&folder, &mut room).expect_err("500 bytes are left").to_string();
        assert!(error.contains("more than 32 MB"), "{error}");
        Ok(())
    }

    #[test]
    fn a_path_that_leads_out_of_the_folder_is_refused() {
        let there = tempfile::tempdir().expect("a directory");
        for path in ["../x", "/etc/x", "a/../../x", ""] {
            let file = PackedFile { path: path.to_owned(), is_executable: false, bytes: String::new() };
            let folder = PackedFolder { name: "w".to_owned(), files: Some(vec![file]) };
            assert!(matches!(folder.unpack(there.path()), Err(PackError::Path { .. })), "{path}");
        }
    }
}
