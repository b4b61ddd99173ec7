//! Reads a run directory from one file. The file may come from an untrusted source, so everything in it is checked.
//!
//! Only plain files with the names of a run directory are accepted, within limits. They are unpacked to a hidden folder,
//! which becomes a run when it is complete and its plan can be read.

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

/// Limits of an import. A thorough sweep has some thousand files and a gigabyte.
#[derive(Debug, Clone, Copy)]
struct ImportLimits {
    files: usize,
    bytes: u64,
}

const LIMITS: ImportLimits = ImportLimits { files: 100_000, bytes: 8 << 30 };

/// Adds the run in `file` to `root`.
pub(crate) fn import(root: &Path, file: &Path) -> Result<RunId> {
    import_within(root, file, LIMITS)
}

fn import_within(root: &Path, file: &Path, limits: ImportLimits) -> Result<RunId> {
    let refused = |problem: String| ArchiveError::Import { path: file.to_path_buf(), problem };
    let packed = File::open(file).map_err(ArchiveError::io(file))?;
    let staged = tempfile::Builder::new()
        .prefix(layout::IMPORTING)
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir_in(root)
        .map_err(ArchiveError::io(root))?;
    let lock = File::open(staged.path()).map_err(ArchiveError::io(staged.path()))?;
    lock.lock().map_err(ArchiveError::io(staged.path()))?;

    let id = unpack(packed, staged.path(), limits).map_err(|error| match error {
        UnpackError::Refused(problem) => refused(problem),
        UnpackError::Archive(error) => error,
    })?;
    let unpacked = staged.path().join(id.as_str());
    let run = Run::open(&unpacked)?;
    if run.plan.is_none() {
        let problem = run.problems.first().map_or(String::new(), |problem| problem.text.clone());
        return Err(refused(format!("{} cannot be read: {problem}", layout::PLAN)));
    }
    let marker = unpacked.join(layout::IMPORTED);
    File::create_new(&marker).map_err(ArchiveError::io(&marker))?;
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

/// Why unpacking failed: the file was refused, or the file system failed.
enum UnpackError {
    Refused(String),
    Archive(ArchiveError),
}

fn unpack(packed: File, into: &Path, limits: ImportLimits) -> Result<RunId, UnpackError> {
    // One byte more than the limit distinguishes a file of exactly this size from a longer one.
    let limited = GzDecoder::new(io::BufReader::new(packed)).take(limits.bytes + 1);
    let mut tar = tar::Archive::new(limited);
    let unreadable =
        |error: io::Error| UnpackError::Refused(format!("not a complete export (.tar.gz of a run): {error}"));
    let mut run: Option<RunId> = None;
    let (mut count, mut bytes) = (0, 0_u64);
    // Raw, because extensions such as long names would be read into memory whatever their size.
    for entry in tar.entries().map_err(unreadable)?.raw(true) {
        let mut entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        let shown = path.display().to_string();
        let refused = |why: &str| UnpackError::Refused(format!("{shown:?} {why}"));
        if entry.header().entry_type().is_dir() {
            continue;
        }
        if !entry.header().entry_type().is_file() {
            return Err(refused("is not a plain file"));
        }
        let (id, name) = split(&path).ok_or_else(|| refused("is not a file of a run"))?;
        if run.get_or_insert_with(|| id.clone()) != &id {
            return Err(refused("belongs to another run than the files before"));
        }
        count += 1;
        bytes = bytes.saturating_add(entry.size());
        if count > limits.files || bytes > limits.bytes {
            let most = limits.bytes >> 20;
            return Err(UnpackError::Refused(format!("more than {} files or {most} MiB", limits.files)));
        }
        write(&mut entry, &into.join(id.as_str()).join(name), &shown)?;
    }
    run.ok_or_else(|| UnpackError::Refused("there is no run in it".to_owned()))
}

/// Writes one new file, without its mode and owner in the archive.
fn write(entry: &mut impl Read, path: &Path, shown: &str) -> Result<(), UnpackError> {
    let io_error = |error| UnpackError::Archive(ArchiveError::io(path)(error));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(io_error)?;
    }
    let mut file = match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(UnpackError::Refused(format!("{shown:?} is in it twice")));
        }
        created => created.map_err(io_error)?,
    };
    // A read error is a fault of the archive, a write error one of the disk.
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = entry
            .read(&mut buffer)
            .map_err(|error| UnpackError::Refused(format!("{shown:?} is cut short or damaged: {error}")))?;
        if read == 0 {
            return file.sync_all().map_err(io_error);
        }
        io::Write::write_all(&mut file, &buffer[..read]).map_err(io_error)?;
    }
}

/// The run and the file name of a path in the archive; `None` if it is not a file of a run.
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
    layout::is_part_of_record(names).then(|| (id, names.iter().collect()))
}
