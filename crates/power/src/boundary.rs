//! What a figure of power includes.

use serde::{Deserialize, Serialize};

/// What a figure of power includes. Figures of different boundaries are never added or compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The processors' packages, as RAPL counts them: no fans, disks, network cards or losses of the power supply.
    Package,
    /// The memory modules, as RAPL counts or estimates them.
    Dram,
    /// One device or rail of the machine, such as a graphics card.
    Component,
    /// The whole machine, behind the power supply.
    Dc,
    /// The whole machine, at the plug.
    Wall,
    /// The maker's limit of the power supply or the machine: what it may take, not what it takes.
    Nameplate,
    /// The whole machine, but the meter does not say on which side of the power supply.
    Unknown,
}

impl Boundary {
    const ALL: [Self; 7] =
        [Self::Package, Self::Dram, Self::Component, Self::Dc, Self::Wall, Self::Nameplate, Self::Unknown];

    /// The boundary with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|boundary| boundary.name() == name)
    }

    /// The name in files and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Dram => "dram",
            Self::Component => "component",
            Self::Dc => "dc",
            Self::Wall => "wall",
            Self::Nameplate => "nameplate",
            Self::Unknown => "unknown",
        }
    }

    /// Whether an energy bill counts these watts, or more than them.
    pub fn is_billed(self) -> bool {
        matches!(self, Self::Wall | Self::Nameplate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_boundary_has_one_name_everywhere() {
        for boundary in Boundary::ALL {
            assert_eq!(Boundary::from_name(boundary.name()), Some(boundary));
            assert_eq!(serde_json::to_value(boundary).unwrap(), boundary.name());
        }
        assert_eq!(Boundary::from_name("plug"), None);
        assert!(
            !Boundary::Package.is_billed()
                && !Boundary::Unknown.is_billed()
                && Boundary::Nameplate.is_billed()
        );
    }
}
