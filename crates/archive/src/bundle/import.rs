//! From one file to a run directory. The file may come from anyone: nothing in it is believed before it is checked.
//!
//! Only plain files with the names of a run directory are taken, into a hidden folder, within bounds; it becomes a
//! run when it is whole and its plan can be read.

use crate::{
    error::{ArchiveError, Result},
    files,
    id::RunId,
    layout,
    run::Run,
};
use flate2::read::GzDecoder;
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

/// Bounds of what an import may become. A thorough sweep has some thousand files and a gigabyte.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    files: usize,
    bytes: u64,
}

const BOUNDS: Bounds = Bounds { files: 100_000, bytes: 8 << 30 };

/// Takes the run in `file` into `root`.
pub(crate) fn import(root: &Path, file: &Path) -> Result<RunId> {
    import_within(root, file, BOUNDS)
}

fn import_within(root: &Path, file: &Path, bounds: Bounds) -> Result<RunId> {
    let refused = |problem: String| ArchiveError::Import { path: file.to_path_buf(), problem };
    let packed = File::open(file).map_err(ArchiveError::io(file))?;
    let staged = tempfile::Builder::new()
        .prefix(".importing-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir_in(root)
        .map_err(ArchiveError::io(root))?;
    let lock = File::open(staged.path()).map_err(ArchiveError::io(staged.path()))?;
    lock.lock().map_err(ArchiveError::io(staged.path()))?;

    let id = unpack(packed, staged.path(), bounds).map_err(|error| match error {
        Unpack::Refused(problem) => refused(problem),
        Unpack::Archive(error) => error,
    })?;
    let unpacked = staged.path().join(id.as_str());
    let run = Run::open(&unpacked)?;
    if run.plan.is_none() {
        let problem = run.problems.first().map_or(String::new(), |problem| problem.text.clone());
        return Err(refused(format!("{} cannot be read: {problem}", layout::PLAN)));
    }
    let dir = root.join(id.as_str());
    if dir.exists() {
        return Err(ArchiveError::Exists { id });
    }
    fs::rename(&unpacked, &dir).map_err(|error| match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => ArchiveError::Exists { id: id.clone() },
        _ => ArchiveError::io(&dir)(error),
    })?;
    files::sync_folder(root).map_err(ArchiveError::io(root))?;
    Ok(id)
}

/// Why unpacking ended: the file is at fault, or our disk.
enum Unpack {
    Refused(String),
    Archive(ArchiveError),
}

fn unpack(packed: File, into: &Path, bounds: Bounds) -> Result<RunId, Unpack> {
    // A byte more than allowed tells a file of just this size from a longer one.
    let limited = GzDecoder::new(io::BufReader::new(packed)).take(bounds.bytes + 1);
    let mut tar = tar::Archive::new(limited);
    let unreadable =
        |error: io::Error| Unpack::Refused(format!("not a whole export (.tar.gz of a run): {error}"));
    let mut run: Option<RunId> = None;
    let (mut count, mut bytes) = (0, 0_u64);
    // Raw: extensions for long names and the like would be read into memory whole, whatever their size.
    for entry in tar.entries().map_err(unreadable)?.raw(true) {
        let mut entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        let shown = path.display().to_string();
        let refused = |why: &str| Unpack::Refused(format!("{shown:?} {why}"));
        if entry.header().entry_type().is_dir() {
            continue;
        }
        if !entry.header().entry_type().is_file() {
            return Err(refused("is no plain file"));
        }
        let (id, name) = split(&path).ok_or_else(|| refused("is no file of a run"))?;
        if run.get_or_insert_with(|| id.clone()) != &id {
            return Err(refused("is of another run than the files before"));
        }
        count += 1;
        bytes = bytes.saturating_add(entry.size());
        if count > bounds.files || bytes > bounds.bytes {
            let most = bounds.bytes >> 20;
            return Err(Unpack::Refused(format!("more than {} files or {most} MiB", bounds.files)));
        }
        write(&mut entry, &into.join(id.as_str()).join(name), &shown)?;
    }
    run.ok_or_else(|| Unpack::Refused("there is no run in it".to_owned()))
}

/// Writes one file that must not be there yet, without the mode and owner that the archive gives it.
fn write(entry: &mut impl Read, path: &Path, shown: &str) -> Result<(), Unpack> {
    let ours = |error| Unpack::Archive(ArchiveError::io(path)(error));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(ours)?;
    }
    let mut file = match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Unpack::Refused(format!("{shown:?} is in it twice")));
        }
        created => created.map_err(ours)?,
    };
    // Whose fault a failure is: reading is the archive's, writing is the disk's.
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = entry
            .read(&mut buffer)
            .map_err(|error| Unpack::Refused(format!("{shown:?} is cut short or damaged: {error}")))?;
        if read == 0 {
            return file.sync_all().map_err(ours);
        }
        io::Write::write_all(&mut file, &buffer[..read]).map_err(ours)?;
    }
}

/// The run that a path in the archive belongs to, and the file's name in it, where it is one of a run's.
fn split(path: &Path) -> Option<(RunId, PathBuf)> {
    let parts: Vec<&str> = path
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let (id, names) = parts.split_first()?;
    let id: RunId = id.parse().ok()?;
    layout::is_of_record(names).then(|| (id, names.iter().collect()))
}
