//! The files that a workload serves: their description, and a cache that generates them once for all trials.
//!
//! A set of files lies in the cache under a digest of its description. It is written to a temporary directory and then
//! renamed, so it is complete or absent. A lock allows one process at a time to write to a cache. The next process
//! removes what a killed one left.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rand::distr::Alphanumeric;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Part of the digest. Change it when the generator changes, so that old files are not used.
const GENERATOR: &str = "showdown data 1";

/// The kind of content of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileContent {
    /// Random bytes, which cannot be compressed: packages, images, archives.
    #[default]
    Random,
    /// Words and lines, which compress to less than half: pages, scripts, indices.
    Text,
}

/// A file to generate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Its path below the data directory.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The kind of its content.
    pub content: FileContent,
}

/// Why the files could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Writing failed.
    #[error(
        "cannot write the workload's data ({needed} bytes) to {path}: {source}: free some space, or choose another directory"
    )]
    Write {
        /// The cache.
        path: PathBuf,
        /// The size of all files.
        needed: u64,
        /// The system's error.
        source: io::Error,
    },
}

/// The prefix of directories with incomplete files.
const UNFINISHED: &str = ".unfinished-";

/// The directory with these files. They are generated if they are not in `cache` yet.
pub fn prepare(files: &[DataFile], cache: &Path) -> Result<PathBuf, DataError> {
    let ready = cache.join(digest(files));
    if !is_complete(files, &ready) {
        let needed = files.iter().map(|file| file.bytes).sum();
        make(files, cache, &ready).map_err(|source| DataError::Write {
            path: cache.to_owned(),
            needed,
            source,
        })?;
    }
    Ok(ready)
}

fn is_complete(files: &[DataFile], ready: &Path) -> bool {
    let is_there =
        |file: &DataFile| fs::metadata(ready.join(&file.path)).is_ok_and(|found| found.len() == file.bytes);
    ready.is_dir() && files.iter().all(is_there)
}

fn make(files: &[DataFile], cache: &Path, ready: &Path) -> io::Result<()> {
    make_cache(cache)?;
    let lock = File::options().append(true).create(true).open(cache.join(".lock"))?;
    lock.lock()?;
    if is_complete(files, ready) {
        // Another process has generated them in the meantime.
        return Ok(());
    }
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    // It is removed if anything fails.
    let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(cache)?;
    for file in files {
        let path = unfinished.path().join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(cache))?;
        write(file, &path)?;
        // The workers of a server may run as another user: the umask must not lock them out.
        for directory in path.ancestors().skip(1).take_while(|at| at.starts_with(unfinished.path())) {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
        }
    }
    if ready.exists() {
        // Files are missing from it, or have another size.
        fs::remove_dir_all(ready)?;
    }
    fs::rename(unfinished.path(), ready)?;
    let _ = unfinished.keep();
    Ok(())
}

/// Makes the directory of the cache. The workers of a server that root starts run as another user: root's umask must not lock
/// them out of what is public anyway.
fn make_cache(cache: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = cache.ancestors().take_while(|at| !at.exists()).collect();
    fs::create_dir_all(cache)?;
    if rustix::process::geteuid().is_root() {
        for directory in missing {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

fn write(file: &DataFile, path: &Path) -> io::Result<()> {
    // The bytes follow from the path: they differ between files and are the same each time.
    let seed = Sha256::digest(file.path.as_bytes());
    let mut rng = Pcg64Mcg::seed_from_u64(u64::from_le_bytes(*seed.first_chunk().unwrap_or(&[0; 8])));
    let mut out = BufWriter::new(File::create(path)?);
    let mut left = file.bytes;
    let mut block = [0; 8192];
    while left > 0 {
        let count = left.min(block.len() as u64) as usize;
        match file.content {
            FileContent::Random => rng.fill_bytes(&mut block[..count]),
            FileContent::Text => fill_text(&mut block[..count], &mut rng),
        }
        out.write_all(&block[..count])?;
        left -= count as u64;
    }
    out.into_inner()?.set_permissions(fs::Permissions::from_mode(0o644))
}

/// Fills a block with lines of words from a small vocabulary.
fn fill_text(block: &mut [u8], rng: &mut impl Rng) {
    let mut vocabulary = Pcg64Mcg::seed_from_u64(0);
    let words: Vec<Vec<u8>> =
        (2..130).map(|n| (&mut vocabulary).sample_iter(Alphanumeric).take(2 + n % 9).collect()).collect();
    let mut at = 0;
    while at < block.len() {
        let word = &words[rng.random_range(0..words.len())];
        let end = if rng.random_range(0..12) == 0 { b'\n' } else { b' ' };
        for &byte in word.iter().chain([&end]) {
            if let Some(place) = block.get_mut(at) {
                *place = byte;
            }
            at += 1;
        }
    }
}

fn digest(files: &[DataFile]) -> String {
    let mut sha = Sha256::new();
    sha.update(GENERATOR);
    for file in files {
        sha.update(format!("\n{} {} {:?}", file.path, file.bytes, file.content));
    }
    let first_half = sha.finalize().first_chunk().map_or(0, |bytes| u128::from_be_bytes(*bytes));
    format!("{first_half:032x}")
}

/// The default cache. For root it is a directory that the users of the servers' workers can enter; for other users it
/// follows the XDG Base Directory Specification, or is a private one below the temporary directory if there is no home.
pub fn default_cache() -> io::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let root = rustix::process::geteuid().is_root().then(|| PathBuf::from("/var/cache"));
    let user = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    match root.or_else(user) {
        Some(cache) => Ok(cache.join("showdown/data")),
        None => Ok(host::scratch::private_fallback()?.join("data")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<DataFile> {
        let file = |path: &str, bytes, content| DataFile { path: path.to_owned(), bytes, content };
        vec![file("1k", 1024, FileContent::Random), file("pages/a.html", 20_000, FileContent::Text)]
    }

    #[test]
    fn files_are_generated_once_and_are_the_same_each_time() -> Result<(), Box<dyn std::error::Error>> {
        let (one, two) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let first = prepare(&files(), one.path())?;
        let page = fs::read(first.join("pages/a.html"))?;
        assert_eq!((page.len(), fs::metadata(first.join("1k"))?.len()), (20_000, 1024));
        assert!(page.is_ascii() && page.contains(&b'\n'));
        assert_eq!(fs::read(prepare(&files(), two.path())?.join("pages/a.html"))?, page);

        let written = fs::metadata(first.join("1k"))?.modified()?;
        assert_eq!(prepare(&files(), one.path())?, first);
        assert_eq!(fs::metadata(first.join("1k"))?.modified()?, written, "they are not generated again");
        for path in [first.clone(), first.join("pages")] {
            assert_eq!(fs::metadata(path)?.permissions().mode() & 0o777, 0o755);
        }
        Ok(())
    }

    #[test]
    fn an_incomplete_set_of_files_is_generated_again() -> Result<(), Box<dyn std::error::Error>> {
        let cache = tempfile::tempdir()?;
        let ready = prepare(&files(), cache.path())?;
        fs::write(ready.join("1k"), "short")?;
        fs::create_dir(cache.path().join(".unfinished-x"))?;
        prepare(&files(), cache.path())?;
        assert_eq!(fs::metadata(ready.join("1k"))?.len(), 1024);
        assert_eq!(fs::read_dir(cache.path())?.count(), 2, "only the files and the lock are left");
        Ok(())
    }

    #[test]
    fn several_threads_may_generate_the_same_files_at_once() -> Result<(), Box<dyn std::error::Error>> {
        let cache = tempfile::tempdir()?;
        let made: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| prepare(&files(), cache.path()).is_ok())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(false)).collect()
        });
        assert_eq!(made, [true; 8]);
        assert_eq!(fs::read_dir(cache.path())?.count(), 2, "only the files and the lock are left");
        Ok(())
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_named() {
        let error =
            prepare(&files(), Path::new("/proc/none")).expect_err("/proc is not writable").to_string();
        assert!(error.contains("21024 bytes") && error.contains("/proc/none"), "{error}");
    }
}
