//! The number of the run directory's formats.

/// Version of the run directory's formats. It rises when an older reader would read a file wrongly;
/// `crate::upgrade` reads files of earlier formats.
pub const FORMAT: u32 = 2;
