//! Values of settings: read and written, and their changes.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{Error, Knob, Unrestored};
use crate::root::Root;

/// The kernel writes no more than a page for a setting, and lists of a few.
const MOST_BYTES: u64 = 1 << 20;

/// A change of a setting, or its restoration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnobChange {
    /// The setting.
    pub knob: Knob,
    /// The value before.
    pub from: String,
    /// The value after.
    pub to: String,
}

/// The outcome of restoring settings.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restoration {
    /// The settings that have their old value again.
    pub changes: Vec<KnobChange>,
    /// The settings that do not. They stay in the journal.
    pub failures: Vec<Unrestored>,
}

/// Reads the value in a form that can be written back: the selected choice, or a list with single blanks.
pub(super) fn read(root: &Root, knob: &Knob) -> Result<String, Error> {
    // A file of /sys may wait for its next line, as those of tracing do.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let mut text = String::new();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(root.path(knob.path()));
    let done = opened.and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    done.map_err(|e| Error::access(knob, e))?;
    let value = if knob.has_choices() { crate::root::selected(&text) } else { &text };
    Ok(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

pub(super) fn write(root: &Root, knob: &Knob, value: &str) -> Result<(), Error> {
    let write = |path: &Path| -> io::Result<()> {
        // The kernel needs the value in one write.
        OpenOptions::new().write(true).truncate(true).open(path)?.write_all(format!("{value}\n").as_bytes())
    };
    write(&root.path(knob.path())).map_err(|error| Error::write(knob, value, error))
}
