//! Writes a run directory as one stream.

use crate::{
    error::{ArchiveError, Result},
    id::RunId,
    layout::is_part_of_record,
};
use flate2::{Compression, write::GzEncoder};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{Read, Write},
    path::{Path, PathBuf},
};

/// Writes the run in `dir` to `out`.
pub(crate) fn export(dir: &Path, id: &RunId, out: impl Write) -> Result<()> {
    let mut tar = builder(out);
    for name in record_files(dir)? {
        let path = dir.join(&name);
        let file = File::open(&path).map_err(ArchiveError::io(&path))?;
        let length = file.metadata().map_err(ArchiveError::io(&path))?.len();
        // A log may grow during the export; its size is already in the header.
        append(&mut tar, file.take(length), length, &Path::new(id.as_str()).join(name))?;
    }
    finish(tar)
}

/// Writes files that are not those of the directory: `file` gives the name and the content for each name.
pub(super) fn export_replaced(
    names: Vec<PathBuf>,
    out: impl Write,
    mut file: impl FnMut(&Path) -> Result<(PathBuf, Vec<u8>)>,
) -> Result<()> {
    let mut tar = builder(out);
    for name in names {
        let (name, bytes) = file(&name)?;
        append(&mut tar, &bytes[..], bytes.len() as u64, &name)?;
    }
    finish(tar)
}

fn builder<W: Write>(out: W) -> tar::Builder<GzEncoder<W>> {
    tar::Builder::new(GzEncoder::new(out, Compression::default()))
}

fn finish<W: Write>(tar: tar::Builder<GzEncoder<W>>) -> Result<()> {
    let mut out = tar.into_inner().and_then(GzEncoder::finish).map_err(ArchiveError::Packing)?;
    out.flush().map_err(ArchiveError::Packing)
}

/// The files of the record, relative to the run directory, in a fixed order, so that the same run gives the same export.
pub(super) fn record_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    collect(dir, Path::new(""), &mut names)?;
    names.retain(|name| {
        name.iter().map(OsStr::to_str).collect::<Option<Vec<_>>>().is_some_and(|n| is_part_of_record(&n))
    });
    names.sort();
    Ok(names)
}

/// The regular files of a run directory, relative to it.
fn collect(dir: &Path, below: &Path, names: &mut Vec<PathBuf>) -> Result<()> {
    let folder = dir.join(below);
    for entry in fs::read_dir(&folder).map_err(ArchiveError::io(&folder))? {
        let entry = entry.map_err(ArchiveError::io(&folder))?;
        let kind = entry.file_type().map_err(ArchiveError::io(entry.path()))?;
        let name = below.join(entry.file_name());
        if kind.is_dir() {
            collect(dir, &name, names)?;
        } else if kind.is_file() {
            names.push(name);
        }
    }
    Ok(())
}

/// Appends one file with a header that does not depend on the machine.
///
/// The format is POSIX ustar, with names up to 255 bytes. Longer names need extensions that [`super::import`] refuses.
fn append(tar: &mut tar::Builder<impl Write>, content: impl Read, length: u64, name: &Path) -> Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o644);
    header.set_mtime(MTIME);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(length);
    header
        .set_path(name)
        .and_then(|()| {
            header.set_cksum();
            tar.append(&header, content)
        })
        .map_err(ArchiveError::Packing)
}

/// The modification time of every file in an export, Unix seconds: the time of a file depends on the machine. Zero is
/// taken for an error by some tools.
const MTIME: u64 = 1_153_704_088;
