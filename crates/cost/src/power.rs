//! Watts with their boundary and source. Without a meter, watts are an estimate, and are called one.

use serde::Serialize;
use stats::quantity::Watts;

/// What a figure of power includes. Figures of different boundaries are never compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The processor's package, as RAPL counts it: no fans, disks, network cards or losses of the power supply.
    Package,
    /// Behind the power supply.
    Dc,
    /// At the plug.
    Wall,
    /// The maker's limit of the power supply or the machine: what it may take, not what it takes.
    Nameplate,
}

impl Boundary {
    /// The boundary with this name in a file. A nameplate has a key of its own.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Package, Self::Dc, Self::Wall].into_iter().find(|boundary| boundary.name() == name)
    }

    /// The name in files and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Dc => "dc",
            Self::Wall => "wall",
            Self::Nameplate => "nameplate",
        }
    }

    /// Whether an energy bill counts these watts, or more than them.
    pub fn is_billed(self) -> bool {
        matches!(self, Self::Wall | Self::Nameplate)
    }
}

/// Power as somebody stated it.
#[derive(Debug, Clone, PartialEq)]
pub struct StatedPower {
    /// How much.
    pub watts: Watts,
    /// What it includes.
    pub boundary: Boundary,
    /// Where it is from, such as `typed in by hand: clamp meter`.
    pub source: String,
}

impl StatedPower {
    /// The figure with its boundary: `208 W wall (estimate)`. No meter recorded it beside the load, so it is an estimate.
    pub fn label(&self) -> String {
        let watts = self.watts.value();
        let digits = usize::from(watts < 10.0);
        format!("{watts:.digits$} W {} (estimate)", self.boundary.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_shown_with_its_boundary_and_as_an_estimate() {
        let of = |watts, boundary| StatedPower { watts: Watts::new(watts), boundary, source: String::new() };
        assert_eq!(of(208.4, Boundary::Wall).label(), "208 W wall (estimate)");
        assert_eq!(of(6.5, Boundary::Package).label(), "6.5 W package (estimate)");
        assert_eq!(Boundary::from_name("dc"), Some(Boundary::Dc));
        assert_eq!(Boundary::from_name("nameplate"), None, "it has a key of its own");
        assert!(!Boundary::Package.is_billed() && Boundary::Nameplate.is_billed());
    }
}
