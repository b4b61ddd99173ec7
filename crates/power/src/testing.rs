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
    /// Whether the last reading lasts.
    repeats: bool,
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
        Box::new(Self { about, readings: readings.into(), repeats: false })
    }

    /// The same; the last reading lasts: that its device is not there, or its watts.
    pub(crate) fn repeating(
        boundary: Boundary,
        readings: Vec<Result<PowerReading, PowerError>>,
    ) -> Box<dyn PowerSource> {
        let about = Self::boxed(boundary, Vec::new()).about().clone();
        Box::new(Self { about, readings: readings.into(), repeats: true })
    }
}

impl PowerSource for Scripted {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        let next = self.readings.pop_front().expect("the test reads no further");
        if self.repeats && self.readings.is_empty() {
            self.readings.push_back(match &next {
                Ok(reading) => Ok(reading.clone()),
                Err(error) => {
                    let PowerError::NotThere { address } = error else {
                        unreachable!("no other lasts in a test")
                    };
                    Err(PowerError::NotThere { address: address.clone() })
                }
            });
        }
        next
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
