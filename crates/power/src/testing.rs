//! A source that says what a test has written down, and files of a machine that a test makes up.

use std::collections::VecDeque;
use std::fs;

use crate::boundary::Boundary;
use crate::error::PowerError;
use crate::source::{PowerReading, PowerSource, SourceAbout};

/// Gives these readings, one after the other.
pub(crate) struct Scripted {
    about: SourceAbout,
    readings: VecDeque<Result<PowerReading, PowerError>>,
}

impl Scripted {
    pub(crate) fn boxed(
        boundary: Boundary,
        readings: Vec<Result<PowerReading, PowerError>>,
    ) -> Box<dyn PowerSource> {
        let about = SourceAbout {
            name: "scripted".to_owned(),
            kind: "scripted",
            origin: "a test".to_owned(),
            boundary,
            uncertainty_percent: None,
        };
        Box::new(Self { about, readings: readings.into() })
    }
}

impl PowerSource for Scripted {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        self.readings.pop_front().expect("the test reads no further")
    }
}

/// A directory with these files of a machine (path, text).
pub(crate) fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }
    dir
}
