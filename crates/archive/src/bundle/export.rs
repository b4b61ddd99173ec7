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
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

/// Writes the run in `dir` to `out`.
pub(crate) fn export(dir: &Path, id: &RunId, out: impl Write) -> Result<()> {
    let mut tar = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    let mut names = Vec::new();
    collect(dir, Path::new(""), &mut names)?;
    names.retain(|name| {
        name.iter().map(OsStr::to_str).collect::<Option<Vec<_>>>().is_some_and(|n| is_part_of_record(&n))
    });
    // In a fixed order, so that the same run gives the same file.
    names.sort();
    for name in &names {
        let path = dir.join(name);
        let file = File::open(&path).map_err(ArchiveError::io(&path))?;
        append(&mut tar, file, &Path::new(id.as_str()).join(name)).map_err(ArchiveError::Packing)?;
    }
    let mut out = tar.into_inner().and_then(GzEncoder::finish).map_err(ArchiveError::Packing)?;
    out.flush().map_err(ArchiveError::Packing)
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
fn append(tar: &mut tar::Builder<impl Write>, file: File, name: &Path) -> io::Result<()> {
    let metadata = file.metadata()?;
    let mut header = tar::Header::new_ustar();
    header.set_metadata_in_mode(&metadata, tar::HeaderMode::Deterministic);
    header.set_path(name)?;
    header.set_cksum();
    // A log may grow during the export; its size is already in the header.
    tar.append(&header, file.take(metadata.len()))
}
