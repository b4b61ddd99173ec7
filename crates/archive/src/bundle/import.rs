//! Reads a run directory from one file. The file may come from an untrusted source, so everything in it is checked.
//!
//! Only plain files with the names of a run directory are accepted, within limits. They are unpacked to a hidden folder,
//! which becomes a run when it is complete and its plan can be read; no other file is parsed before. Whatever the file
//! contains, memory stays small: entries are copied through one buffer.

use super::bounded::{Bounded, TooLarge};
use crate::{
    error::{ArchiveError, Result},
    files,
    id::RunId,
    layout,
    run::read_plan,
};
use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Maximum number of files and folders. A thorough sweep has some thousand.
const MAX_ENTRIES: usize = 100_000;

/// Maximum number of bytes, unpacked. A thorough sweep has a gigabyte.
const MAX_BYTES: u64 = 8 << 30;

/// Maximum size of a file of the run directory, which is read whole, also where only a list of runs is wanted. A plan has some
/// kilobytes, the verdict of the largest sweep some megabytes.
const MAX_HEAD_BYTES: [(&str, u64); 7] = [
    (layout::PLAN, 1 << 20),
    (layout::TAGS, 1 << 20),
    (layout::FACTS, 64 << 20),
    (layout::VERDICT, 64 << 20),
    (layout::EXPLANATION, 64 << 20),
    (layout::CONCURRENCY, 64 << 20),
    (layout::TUNING, 64 << 20),
];

/// Maximum size of `trial.json`, and of all of a run, which are read together.
const MAX_TRIAL_BYTES: u64 = 64 << 20;
const MAX_TRIALS_BYTES: u64 = 1 << 30;

/// How far the clock of the machine that made a run may be ahead. The id of a run has the time of its start.
const MAX_AHEAD: Duration = Duration::from_hours(48);

/// Maximum size of a file in the folder of a trial. Logs are the largest.
const MAX_TRIAL_FILE_BYTES: u64 = 1 << 30;

/// Maximum length of a path in the file: what POSIX ustar has room for, with the slash between its two parts.
const MAX_PATH_BYTES: usize = 256;

/// Adds the run in `file` to `root`.
pub(crate) fn import(root: &Path, file: &Path) -> Result<RunId> {
    let refused = |problem: String| ArchiveError::Import { path: file.to_path_buf(), problem };
    let packed = File::open(file).map_err(ArchiveError::io(file))?;
    let staged = tempfile::Builder::new()
        .prefix(layout::IMPORTING)
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir_in(root)
        .map_err(ArchiveError::runs_folder(root))?;
    let lock = File::open(staged.path()).map_err(ArchiveError::io(staged.path()))?;
    lock.lock().map_err(ArchiveError::io(staged.path()))?;

    let (id, written) = unpack(packed, staged.path()).map_err(|error| match error {
        UnpackError::Refused(problem) => refused(problem),
        UnpackError::Archive(error) => error,
    })?;
    let unpacked = staged.path().join(id.as_str());
    read_plan(&unpacked).map_err(|error| {
        let problem = match error {
            ArchiveError::Unreadable { problem, .. } => problem,
            ArchiveError::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        refused(format!("{} cannot be read: {problem}", layout::PLAN))
    })?;
    let marker = unpacked.join(layout::IMPORTED);
    File::create_new(&marker).map_err(ArchiveError::io(&marker))?;
    let dir = root.join(id.as_str());
    if dir.exists() {
        return Err(ArchiveError::Exists { id });
    }
    for path in &written {
        File::open(path).and_then(|file| file.sync_all()).map_err(ArchiveError::io(path))?;
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

/// What is wrong with the packed file if it cannot be read.
fn problem_of(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<TooLarge>()) {
        Some(too_large) => too_large.to_string(),
        None => format!("not a complete export (.tar.gz of a run): {error}"),
    }
}

/// Unpacks the run; returns its id and the files that were written.
fn unpack(packed: File, into: &Path) -> Result<(RunId, Vec<PathBuf>), UnpackError> {
    let unreadable = |error: io::Error| UnpackError::Refused(problem_of(&error));
    let mut tar = tar::Archive::new(Bounded::new(io::BufReader::new(packed), MAX_BYTES));
    let mut run: Option<RunId> = None;
    let mut written = Vec::new();
    let (mut count, mut bytes, mut bytes_of_trials) = (0, 0_u64, 0_u64);
    // Raw, because extensions such as long names would be read into memory whatever their size.
    for entry in tar.entries().map_err(unreadable)?.raw(true) {
        let mut entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        let shown = path.display().to_string();
        let refused = |why: &str| UnpackError::Refused(format!("{shown:?} {why}"));
        count += 1;
        if count > MAX_ENTRIES {
            return Err(UnpackError::Refused(format!("more than {MAX_ENTRIES} files and folders")));
        }
        if path.as_os_str().len() > MAX_PATH_BYTES {
            return Err(refused(&format!("is longer than {MAX_PATH_BYTES} bytes")));
        }
        if entry.header().entry_type().is_dir() {
            // It has no content, and folders are created for their files.
            if entry.size() > 0 || !is_folder(&path) {
                return Err(refused("is not a folder of a run"));
            }
            continue;
        }
        if !entry.header().entry_type().is_file() {
            return Err(refused("is not a plain file"));
        }
        let (id, name) = split(&path).ok_or_else(|| refused("is not a file of a run"))?;
        if run.get_or_insert_with(|| id.clone()) != &id {
            return Err(refused("belongs to another run than the files before"));
        }
        if id.started() > SystemTime::now() + MAX_AHEAD {
            return Err(refused("is of a run that starts in the future: check the date of this machine"));
        }
        let most = max_bytes(&name);
        if entry.size() > most {
            return Err(refused(&format!("is larger than {} MiB", most >> 20)));
        }
        if name.file_name().is_some_and(|file| file == layout::TRIAL) {
            bytes_of_trials = bytes_of_trials.saturating_add(entry.size());
            if bytes_of_trials > MAX_TRIALS_BYTES {
                let problem = format!(
                    "the {} of its trials are larger than {} MiB",
                    layout::TRIAL,
                    MAX_TRIALS_BYTES >> 20
                );
                return Err(UnpackError::Refused(problem));
            }
        }
        bytes = bytes.saturating_add(entry.size());
        if bytes > MAX_BYTES {
            return Err(UnpackError::Refused(TooLarge::Bytes(MAX_BYTES).to_string()));
        }
        let path = into.join(id.as_str()).join(name);
        write(&mut entry, &path, &shown)?;
        written.push(path);
    }
    // The checksum is at the end.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map_err(unreadable)?;
    let id = run.ok_or_else(|| UnpackError::Refused("there is no run in it".to_owned()))?;
    Ok((id, written))
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
            .map_err(|error| UnpackError::Refused(format!("{shown:?}: {}", problem_of(&error))))?;
        if read == 0 {
            return Ok(());
        }
        io::Write::write_all(&mut file, &buffer[..read]).map_err(io_error)?;
    }
}

/// The maximum size of a file of a run.
fn max_bytes(name: &Path) -> u64 {
    let mut parts = name.components();
    let is_of_search = parts.next().is_some_and(|first| first.as_os_str() == layout::SEARCH);
    // Each run of a search has a folder of its own.
    let name = if is_of_search && parts.next().is_some() { parts.as_path() } else { name };
    let head = MAX_HEAD_BYTES.iter().find(|(head, _)| name == Path::new(head));
    let of_trial = if name.ends_with(layout::TRIAL) { MAX_TRIAL_BYTES } else { MAX_TRIAL_FILE_BYTES };
    head.map_or(of_trial, |(_, bytes)| *bytes)
}

/// Whether a path is the directory of a run or a folder in it.
fn is_folder(path: &Path) -> bool {
    let Some((id, names)) = parts(path) else { return false };
    id.parse::<RunId>().is_ok() && layout::is_folder_of_record(&names)
}

/// The run and the file name of a path in the archive; `None` if it is not a file of a run.
fn split(path: &Path) -> Option<(RunId, PathBuf)> {
    let (id, names) = parts(path)?;
    let id: RunId = id.parse().ok()?;
    layout::is_part_of_record(&names).then(|| (id, names.iter().collect()))
}

/// The first name of a relative path, and the rest; `None` if a part is not a plain name.
fn parts(path: &Path) -> Option<(&str, Vec<&str>)> {
    let mut names = path.components().map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let first = names.next()??;
    Some((first, names.collect::<Option<_>>()?))
}
