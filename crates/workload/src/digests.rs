//! Digests of a workload's files, so that a run that is resumed can tell whether they are the same, and of programs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::definition::Workload;
use crate::folder::Folder;

/// At most this many files of a folder have a digest: a user's folder may contain the tree of a whole project.
const MOST_FILES: usize = 1_000;

/// A larger file is compared by its size.
const MOST_BYTES: u64 = 16 << 20;

/// Levels of directories below the folder.
const MOST_LEVELS: usize = 6;

impl Workload {
    /// The files of the workload, and of the workload whose servers it uses: SHA-256 by name, such as
    /// `static-web/nginx.conf`. Hidden files and links are left out. A file that cannot be read has the error.
    pub fn digests(&self) -> BTreeMap<String, String> {
        let mut digests = of_folder(&self.folder);
        if self.uses_servers_of_another() {
            digests.extend(of_folder(&self.server_folder));
        }
        digests
    }
}

fn of_folder(folder: &Folder) -> BTreeMap<String, String> {
    let name = folder.name();
    let mut digests = BTreeMap::new();
    match folder.directory() {
        None => {
            let files = folder.built_in_files().into_iter();
            digests.extend(files.map(|(path, bytes)| (path, hex(&Sha256::digest(bytes)))));
        }
        Some(directory) => add_directory(&mut digests, directory, &name, 0),
    }
    digests
}

/// The files of a folder on disk that have digests, as paths relative to it.
pub(crate) fn files_of(directory: &Path) -> Vec<String> {
    let mut digests = BTreeMap::new();
    add_directory(&mut digests, directory, "", 0);
    digests.into_keys().map(|path| path.trim_start_matches('/').to_owned()).collect()
}

fn add_directory(digests: &mut BTreeMap<String, String>, directory: &Path, name: &str, level: usize) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.map(|entry| (entry.file_name(), entry)).collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (file, entry) in entries {
        let file = file.to_string_lossy().into_owned();
        let path = format!("{name}/{file}");
        let Ok(kind) = entry.file_type() else { continue };
        if file.starts_with('.') || file == "__pycache__" || digests.len() >= MOST_FILES {
            continue;
        }
        if kind.is_dir() && level < MOST_LEVELS {
            add_directory(digests, &entry.path(), &path, level + 1);
        } else if kind.is_file() {
            let digest = of_file(&entry.path()).unwrap_or_else(|error| format!("cannot be read: {error}"));
            digests.insert(path, digest);
        }
    }
}

fn of_file(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > MOST_BYTES {
        return Ok(format!("{size} bytes"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(hex(&Sha256::digest(&bytes)))
}

/// The SHA-256 of a program, however large it is.
pub(crate) fn of_program(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut piece) = (File::open(path)?, Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&piece[..count]),
        }
    }
}

/// Bytes in hex, as digests are written.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("text in memory is written");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn the_digests_of_a_folder_change_with_its_files() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let name = Folder::Disk(folder.path().to_owned()).name();
        fs::write(folder.path().join("workload.toml"), "a")?;
        fs::create_dir(folder.path().join("conf"))?;
        fs::write(folder.path().join("conf/x"), "b")?;
        fs::write(folder.path().join(".hidden"), "c")?;
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("link"))?;
        let before = of_folder(&Folder::Disk(folder.path().to_owned()));
        let names: Vec<&String> = before.keys().collect();
        assert_eq!(names, [&format!("{name}/conf/x"), &format!("{name}/workload.toml")]);
        fs::write(folder.path().join("conf/x"), "B")?;
        let after = of_folder(&Folder::Disk(folder.path().to_owned()));
        assert_ne!(before[&format!("{name}/conf/x")], after[&format!("{name}/conf/x")]);
        Ok(())
    }

    #[test]
    fn a_workload_with_the_servers_of_another_has_the_files_of_both() {
        let tls = Catalogue::with("/nowhere").find("tls").expect("a built-in workload").digests();
        for file in ["tls/workload.toml", "static-web/workload.toml", "static-web/nginx.conf"] {
            assert!(tls.get(file).is_some_and(|digest| digest.len() == 64), "{file}: {tls:?}");
        }
    }
}
