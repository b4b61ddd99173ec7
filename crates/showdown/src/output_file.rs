//! Files that the user names, such as with `-o`.
//!
//! | the name is | what happens |
//! |---|---|
//! | new, or a regular file | written under a hidden name beside it, then renamed: the whole file or nothing |
//! | a link to a regular file | its target is replaced in this way; the link stays |
//! | a link to nothing | refused: another user may have put it there |
//! | a character device, a pipe | written to; never replaced |
//! | `-`, or the device of standard output or standard error | written to that stream |
//! | a block device, a directory, a socket | refused |
//!
//! The name is opened for writing before it is replaced. So the kernel applies its rules, such as `fs.protected_symlinks`,
//! and a file that the user may not write is not replaced either.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

/// What a hidden name begins with.
const HIDDEN: &str = ".writing-";

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{option} {}: {problem}", path.display())]
pub struct OutputError {
    /// The option that names the file.
    option: &'static str,
    path: PathBuf,
    problem: OutputProblem,
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
enum OutputProblem {
    #[error("this is a directory: name a file in it")]
    Directory,
    #[error("this is a block device: name a file")]
    BlockDevice,
    #[error("this is a link to a file that does not exist: create the file, or name another one")]
    DanglingLink,
    #[error("it was replaced while showdown opened it: try again")]
    Replaced,
    #[error("the disk is full: make room, or name another file")]
    DiskFull,
    #[error("cannot write the file: {0}: name another one")]
    Io(io::Error),
}

impl From<io::Error> for OutputProblem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::IsADirectory => Self::Directory,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io(error),
        }
    }
}

/// A file that is being written. A regular file appears on [`OutputFile::commit`]; dropped before, it leaves nothing.
#[derive(Debug)]
pub struct OutputFile {
    option: &'static str,
    path: PathBuf,
    kind: OutputKind,
}

#[derive(Debug)]
enum OutputKind {
    /// A device, a pipe or a standard stream.
    Stream(File),
    /// A regular file. The hidden one is created by the first write, so that a long measurement before it leaves none.
    Regular { target: PathBuf, earlier: Option<EarlierFile>, hidden: Option<NamedTempFile> },
}

/// What a file that replaces another one keeps of it.
#[derive(Clone, Copy, Debug)]
struct EarlierFile {
    owner: u32,
    group: u32,
    mode: u32,
}

impl EarlierFile {
    fn of(metadata: &fs::Metadata) -> Self {
        Self { owner: metadata.uid(), group: metadata.gid(), mode: metadata.mode() & 0o777 }
    }
}

impl OutputFile {
    /// Opens the file `path`, which the user has named with `option`. Fails if it cannot be written.
    pub fn create(option: &'static str, path: &Path) -> Result<Self, OutputError> {
        let failed = |problem| OutputError { option, path: path.to_owned(), problem };
        kind_of(path).map(|kind| Self { option, path: path.to_owned(), kind }).map_err(failed)
    }

    /// Completes the file: gives a regular file its name.
    pub fn commit(mut self) -> Result<(), OutputError> {
        let done = match &mut self.kind {
            OutputKind::Stream(file) => file.flush(),
            OutputKind::Regular { target, earlier, hidden } => {
                let file = hidden.take().map_or_else(|| hide(target, *earlier), Ok);
                file.and_then(|file| {
                    file.as_file().sync_all()?;
                    file.persist(&*target).map(drop).map_err(|error| error.error)
                })
            }
        };
        done.map_err(|error| self.error(error))
    }

    /// An error of writing to this file.
    pub fn error(&self, error: io::Error) -> OutputError {
        OutputError { option: self.option, path: self.path.clone(), problem: error.into() }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            // A reader that closes the pipe early is no failure, as with standard output.
            OutputKind::Stream(file) => match file.write(bytes) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
                written => written,
            },
            OutputKind::Regular { hidden: Some(hidden), .. } => hidden.write(bytes),
            OutputKind::Regular { target, earlier, hidden } => {
                hidden.insert(hide(target, *earlier)?).write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            OutputKind::Stream(file) => file.flush(),
            OutputKind::Regular { hidden, .. } => hidden.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}

/// Writes a whole file that the user has named with `option`.
pub fn write(option: &'static str, path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let mut file = OutputFile::create(option, path)?;
    file.write_all(bytes).map_err(|error| file.error(error))?;
    file.commit()
}

fn kind_of(path: &Path) -> Result<OutputKind, OutputProblem> {
    if path == Path::new("-") {
        return Ok(OutputKind::Stream(io::stdout().as_fd().try_clone_to_owned()?.into()));
    }
    if fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device()) {
        return Err(OutputProblem::BlockDevice);
    }
    let no_tty = OFlags::NOCTTY.bits().cast_signed();
    let file = match OpenOptions::new().write(true).custom_flags(no_tty).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if path.symlink_metadata().is_ok() {
                return Err(OutputProblem::DanglingLink);
            }
            // Tries whether a file can be created there.
            hide(path, None)?;
            return Ok(OutputKind::Regular { target: path.to_owned(), earlier: None, hidden: None });
        }
        opened => opened?,
    };
    let metadata = file.metadata()?;
    if let Some(stream) = standard_stream(&metadata)? {
        return Ok(OutputKind::Stream(stream));
    }
    if !metadata.is_file() {
        return Ok(OutputKind::Stream(file));
    }
    let target = path.canonicalize()?;
    if !is_same(&target.symlink_metadata()?, &metadata) {
        return Err(OutputProblem::Replaced);
    }
    hide(&target, None)?;
    Ok(OutputKind::Regular { target, earlier: Some(EarlierFile::of(&metadata)), hidden: None })
}

/// Standard output or standard error, if it is this file. Another process may append to it as well, so it is not
/// replaced.
fn standard_stream(metadata: &fs::Metadata) -> io::Result<Option<File>> {
    for stream in [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()] {
        // A closed stream is no file.
        let Ok(stream) = stream.map(File::from) else { continue };
        if is_same(&stream.metadata()?, metadata) {
            return Ok(Some(stream));
        }
    }
    Ok(None)
}

fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Creates a file with a hidden name beside `target`, with the mode and owner of the earlier file. The umask applies to
/// a new one.
fn hide(target: &Path, earlier: Option<EarlierFile>) -> io::Result<NamedTempFile> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    let file = builder.prefix(HIDDEN).permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?;
    if let Some(earlier) = earlier {
        // Only root can keep another owner; the owner first, because a change of it clears bits of the mode.
        let _ = fchown(file.as_file(), Some(earlier.owner), Some(earlier.group));
        file.as_file().set_permissions(Permissions::from_mode(earlier.mode))?;
    }
    Ok(file)
}
