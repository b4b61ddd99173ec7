//! The folder of the harness in a directory of runs: its database, its lock, the file by which the command line finds the server, and
//! deleted runs. Only its owner can read it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use queue::api::{FOLDER, SERVER_FILE, ServerFile};

/// The folder.
#[derive(Clone, Debug)]
pub struct HarnessFolder(PathBuf);

/// The same for a controller of this machine, with the secret of controllers.
const CONTROLLER_FILE: &str = "controller.json";

impl HarnessFolder {
    /// Creates it, for its owner alone.
    pub fn create(runs: &Path) -> io::Result<Self> {
        fs::create_dir_all(runs)?;
        let path = runs.join(FOLDER);
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?,
        }
        Ok(Self(path.canonicalize()?))
    }

    /// Which one of all machines: the name of this one, and the path.
    pub fn name(&self) -> String {
        format!("{}:{}", this_host(), self.0.display())
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.0.join("queue.sqlite")
    }

    /// Where deleted runs wait for 30 days.
    pub fn trash(&self) -> PathBuf {
        self.0.join("trash")
    }

    /// Plans and output of attempts.
    pub fn attempts(&self) -> PathBuf {
        self.0.join("attempts")
    }

    /// The file with the id of the controller of this folder.
    pub fn controller_id(&self) -> PathBuf {
        self.0.join("controller.id")
    }

    /// Takes a lock of this name until the file is closed; none where another process has it.
    pub fn lock(&self, name: &str) -> io::Result<Option<File>> {
        let file = File::options().create(true).append(true).open(self.0.join(name))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Says where the server is, to its owner's other programs.
    pub fn publish(&self, url: &str, person: &str, controller: &str) -> io::Result<()> {
        self.write(SERVER_FILE, &ServerFile { url: url.to_owned(), token: person.to_owned() })?;
        self.write(CONTROLLER_FILE, &ServerFile { url: url.to_owned(), token: controller.to_owned() })
    }

    /// The server of this folder, as a controller finds it.
    pub fn server_of_controller(&self) -> Option<ServerFile> {
        serde_json::from_slice(&fs::read(self.0.join(CONTROLLER_FILE)).ok()?).ok()
    }

    /// The server of this folder, as its owner finds it.
    pub fn server(&self) -> Option<ServerFile> {
        serde_json::from_slice(&fs::read(self.0.join(SERVER_FILE)).ok()?).ok()
    }

    fn write(&self, name: &str, file: &ServerFile) -> io::Result<()> {
        // A temporary file of this library can be read by its owner alone.
        let mut new = tempfile::NamedTempFile::new_in(&self.0)?;
        new.write_all(serde_json::to_string(file)?.as_bytes())?;
        new.persist(self.0.join(name)).map(drop).map_err(|error| error.error)
    }
}

/// The name of this machine.
pub fn this_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
