//! Files that another user may replace by a link, a pipe or a device while this process opens them. Only regular files
//! are opened, without following links and without blocking.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

/// A link is an error, and a pipe without a peer does not block.
const NO_LINK: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);

/// Opens a file for reading. The last part of the path may not be a link; the directory must be trusted.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(bits(NO_LINK)).open(path).map_err(explain)?;
    regular(&file)?;
    Ok(file)
}

/// Opens a file below a directory for reading. No part of `path` may be a link or lead out of the directory, and the file
/// may not have a second name: that could be a file of another user.
pub fn open_below(directory: &Path, path: &Path) -> io::Result<File> {
    // One part after the other: openat2(2) does this at once, since Linux 5.6.
    let mut file = File::open(directory)?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(refusal("it leads out of its directory")) };
        let kind = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
        let opened = openat(&file, name, OFlags::RDONLY | OFlags::CLOEXEC | NO_LINK | kind, Mode::empty());
        file = File::from(opened.map_err(|error| explain(error.into()))?);
    }
    if regular(&file)?.nlink() > 1 {
        return Err(refusal("it has a second name (a hard link)"));
    }
    Ok(file)
}

/// Opens a file for appending, and creates it with access for its owner only if it is missing. It is an error if it
/// belongs to a user other than this one and `owner`, or if it has a second name.
pub(crate) fn append(path: &Path, owner: Option<u32>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(bits(NO_LINK));
    let file = options.open(path).map_err(explain)?;
    let metadata = regular(&file)?;
    let may_own = |uid: u32| uid == rustix::process::geteuid().as_raw() || Some(uid) == owner;
    match metadata.nlink() {
        1 if may_own(metadata.uid()) => Ok(file),
        1 => Err(refusal("it belongs to another user")),
        _ => Err(refusal("it has a second name (a hard link)")),
    }
}

/// Reads a file, which may be reached by links, if it is a regular one of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(bits(OFlags::NONBLOCK)).open(path)?;
    if regular(&file)?.len() > limit {
        return Err(refusal("it is too long"));
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn bits(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

fn regular(file: &File) -> io::Result<Metadata> {
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(metadata) } else { Err(refusal("it is not a regular file")) }
}

fn refusal(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// The kernel calls a link that may not be followed "too many levels of links", and a pipe without a reader "no device".
fn explain(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => refusal("it is a link, which is not followed"),
        Some(Errno::NOTDIR) => refusal("a part of its path is a link or no directory"),
        Some(Errno::NXIO) => refusal("it is not a regular file"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, mknodat};
    use std::fs;
    use std::os::unix::fs::symlink;

    fn reason<T>(result: io::Result<T>) -> String {
        result.err().expect("it is refused").to_string()
    }

    #[test]
    fn links_and_pipes_are_refused_at_once() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let at = |name: &str| directory.path().join(name);
        fs::write(at("log"), "text")?;
        symlink(at("log"), at("link"))?;
        symlink(directory.path(), at("up"))?;
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;

        open(&at("log"))?;
        open_below(directory.path(), Path::new("log"))?;
        append(&at("log"), None)?;
        assert_eq!(read(&at("link"), 4)?, b"text");
        for (name, why) in [("link", "a link"), ("pipe", "not a regular file")] {
            assert!(reason(open(&at(name))).contains(why), "{name}");
            assert!(reason(open_below(directory.path(), Path::new(name))).contains(why), "{name}");
            assert!(reason(append(&at(name), None)).contains(why), "{name}");
        }
        assert!(reason(read(&at("pipe"), 4)).contains("not a regular file"));
        assert!(reason(read(&at("log"), 3)).contains("too long"));
        assert!(reason(open_below(directory.path(), Path::new("up/log"))).contains("a link"));
        assert!(reason(open_below(directory.path(), Path::new("../log"))).contains("out of its directory"));
        Ok(())
    }

    #[test]
    fn a_file_with_a_second_name_is_refused() -> io::Result<()> {
        let directory = tempfile::tempdir()?;
        let (log, other) = (directory.path().join("log"), directory.path().join("other"));
        fs::write(&log, "text")?;
        fs::hard_link(&log, &other)?;
        assert!(reason(open_below(directory.path(), Path::new("log"))).contains("second name"));
        assert!(reason(append(&log, None)).contains("second name"));
        fs::remove_file(other)?;
        append(&log, None)?;
        Ok(())
    }
}
