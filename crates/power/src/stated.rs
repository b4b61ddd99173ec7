//! Power that somebody typed in: a reading of an instrument, amperes × volts × power factor, or a nameplate. The texts with their
//! units are read by `cost`.

use stats::quantity::Watts;

use crate::boundary::Boundary;
use crate::error::PowerError;
use crate::source::{PowerReading, PowerSource, SourceAbout};

/// A figure that never changes, and says so by its kind: `stated` or `nameplate`.
#[derive(Debug, Clone)]
pub struct Stated {
    about: SourceAbout,
    watts: Watts,
}

impl Stated {
    /// Watts that somebody stated; `origin` says by which instrument or on which page.
    pub fn new(name: &str, watts: Watts, boundary: Boundary, origin: &str) -> Self {
        let kind = if boundary == Boundary::Nameplate { "nameplate" } else { "stated" };
        let (name, origin) = (name.to_owned(), origin.to_owned());
        Self { about: SourceAbout { name, kind, origin, boundary, uncertainty_percent: None }, watts }
    }
}

impl PowerSource for Stated {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        Ok(PowerReading::Power(self.watts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_in_is_called_that_and_never_a_measurement() {
        let mut typed =
            Stated::new("small", Watts::new(208.0), Boundary::Wall, "typed in by hand: clamp meter");
        assert_eq!(typed.read().unwrap(), PowerReading::Power(Watts::new(208.0)));
        let plate = Stated::new("plate", Watts::new(275.0), Boundary::Nameplate, "the nameplate");
        assert_eq!((typed.about().kind, plate.about().kind), ("stated", "nameplate"));
        assert!(
            !typed.about().is_measured() && !plate.about().is_measured() && plate.about().is_indicative()
        );
    }
}
