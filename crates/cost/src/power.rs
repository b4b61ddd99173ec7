//! Watts with their boundary and source. Without a meter, watts are an estimate, and are called one.

pub use ::power::Boundary;
use stats::quantity::Watts;

/// What watts that somebody typed in may include. A nameplate has a key of its own.
pub(crate) fn stated_boundary(name: &str) -> Option<Boundary> {
    Boundary::from_name(name)
        .filter(|boundary| matches!(boundary, Boundary::Package | Boundary::Dc | Boundary::Wall))
}

/// Power of a machine, as a meter measured it beside a load or as somebody stated it.
#[derive(Debug, Clone, PartialEq)]
pub struct MachinePower {
    /// How much.
    pub watts: Watts,
    /// What it includes.
    pub boundary: Boundary,
    /// Where it is from, such as `typed in by hand: clamp meter`.
    pub source: String,
    /// Whether a meter recorded it beside the load. Otherwise it is an estimate.
    pub is_measured: bool,
}

impl MachinePower {
    /// The figure with its boundary: `208 W wall (estimate)`.
    pub fn label(&self) -> String {
        let watts = self.watts.value();
        let digits = usize::from(watts < 10.0);
        let estimate = if self.is_measured { "" } else { " (estimate)" };
        format!("{watts:.digits$} W {}{estimate}", self.boundary.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_shown_with_its_boundary_and_as_an_estimate() {
        let of = |watts, boundary| MachinePower {
            watts: Watts::new(watts),
            boundary,
            source: String::new(),
            is_measured: false,
        };
        let measured = MachinePower { is_measured: true, ..of(208.4, Boundary::Wall) };
        assert_eq!(measured.label(), "208 W wall");
        assert_eq!(of(208.4, Boundary::Wall).label(), "208 W wall (estimate)");
        assert_eq!(of(6.5, Boundary::Package).label(), "6.5 W package (estimate)");
        assert_eq!(stated_boundary("dc"), Some(Boundary::Dc));
        assert_eq!(stated_boundary("nameplate"), None, "it has a key of its own");
        assert_eq!(stated_boundary("dram"), None, "no server is memory only");
        assert!(!Boundary::Package.is_billed() && Boundary::Nameplate.is_billed());
    }
}
