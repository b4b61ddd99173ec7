//! Room on the disk: what the data of so many users take, and which directory, how much and what to do where there is too little.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Error, Result, anyhow, ensure};

use super::rows::Scale;

/// Bytes of a database without rows: log, system tables, temporary tables. Measured with 25 users: 228 MB in all, with 100: 407 MB.
const DATABASE: u64 = 200 << 20;
/// Bytes of a person and of an event: a thumbnail in whole blocks, the rows and their indices, and the file that they are loaded from.
const PERSON: u64 = 12 << 10;
const EVENT: u64 = 28 << 10;

/// What the data take while they are made, at most.
pub fn needed_bytes(scale: Scale) -> u64 {
    DATABASE + u64::from(scale.persons) * PERSON + u64::from(scale.events) * EVENT
}

/// Refuses to begin where there is too little room.
pub fn check(directory: &Path, needed: u64, remedy: &str) -> Result<()> {
    // Where it is not known, whatever does not fit is named later.
    let Some(left) = left_bytes(directory) else { return Ok(()) };
    ensure!(left >= needed, "{}", too_little(directory, needed, Some(left), remedy));
    Ok(())
}

/// The error with what was needed, if the reason is the room on the disk.
pub fn explain(error: Error, directory: &Path, needed: u64, remedy: &str) -> Error {
    if !is_of_room(&error) {
        return error;
    }
    let text = too_little(directory, needed, left_bytes(directory), remedy);
    // A program says the same of each file.
    let error = format!("{error:#}");
    let first = error.split(" / ").next().unwrap_or(&error);
    anyhow!("{text} ({first})")
}

fn too_little(directory: &Path, needed: u64, left: Option<u64>, remedy: &str) -> String {
    let left = left.map_or(String::new(), |left| format!(", and {} MB are left", left >> 20));
    format!("{}: {} MB are needed{left}: make room, {remedy}", directory.display(), needed.div_ceil(1 << 20))
}

/// What this user may still write there.
fn left_bytes(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Whether the system, or a program by its last words, says that a disk is full, or that a limit of the user is reached.
fn is_of_room(error: &Error) -> bool {
    let text = format!("{error:#}").to_lowercase();
    let says =
        ["no space left on device", "quota exceeded", "file too large", "disk full", "error 28", "errno: 28"];
    error.chain().any(is_limit) || says.iter().any(|words| text.contains(words))
}

/// Whether a cause is the system's error of a disk or a limit.
fn is_limit(cause: &(dyn std::error::Error + 'static)) -> bool {
    let kind = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge))
}

/// The length of all files below a directory.
pub fn length_of(directory: &Path) -> std::io::Result<u64> {
    let mut length = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        length +=
            if entry.file_type()?.is_dir() { length_of(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_names_the_directory_the_bytes_and_the_remedy() {
        let directory = tempfile::tempdir().expect("a directory");
        assert!(check(directory.path(), 0, "x").is_ok());
        let error = check(directory.path(), u64::MAX, "choose another --cache").expect_err("it is too much");
        let (text, name) = (error.to_string(), directory.path().display().to_string());
        assert!(text.starts_with(&format!("{name}: 17592186044416 MB are needed, and ")), "{text}");
        assert!(text.ends_with(" MB are left: make room, choose another --cache"), "{text}");
    }

    #[test]
    fn an_error_of_a_full_disk_says_what_was_needed() {
        let full = std::io::Error::from_raw_os_error(28);
        let explained =
            explain(Error::from(full).context("/c/p1.jpg"), Path::new("/nowhere"), 5 << 20, "leave");
        assert_eq!(
            explained.to_string(),
            "/nowhere: 5 MB are needed: make room, leave (/c/p1.jpg: No space left on device (os error 28))"
        );
        let said =
            anyhow!("mariadbd ended with exit status: 1: preallocating 100663296 bytes failed with error 28");
        assert!(explain(said, Path::new("/x"), 1, "leave").to_string().contains("1 MB are needed"));
        let other = explain(anyhow!("no such file"), Path::new("/x"), 1, "leave");
        assert_eq!(other.to_string(), "no such file");
    }
}
