//! What is known of a user's machines, and which one a variant ran on.

use stats::cost::DutyCycle;
use stats::quantity::{
    Grams, GramsPerKilowattHour, Hours, Money, MoneyPerHour, MoneyPerKilowattHour, PowerUsageEffectiveness,
    RackUnits,
};

use super::target_meter::TargetMeter;
use crate::power::MachinePower;
use crate::unit_text::Currency;

/// The machines of a user, with what their site costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// The currency of all money in it.
    pub currency: Currency,
    /// Energy of the site over energy of its computers.
    pub pue: Option<PowerUsageEffectiveness>,
    /// What a kilowatt-hour costs.
    pub price_per_kwh: Option<MoneyPerKilowattHour>,
    /// Carbon of a kilowatt-hour.
    pub grid_intensity: Option<GramsPerKilowattHour>,
    /// For how long a server is used.
    pub life: Option<Hours>,
    /// How long a day it is at load.
    pub cycle: DutyCycle,
    /// The machines, in the order of their names.
    pub targets: Vec<Target>,
}

/// How a machine is paid for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Acquisition {
    /// Bought, at this price.
    Bought(Money),
    /// Rented, with its energy.
    Rented(MoneyPerHour),
}

/// One kind of machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// The variants that ran on it: `nginx`, or `RUN/nginx` of one run. Empty: the variant of the target's name, those of the host or of
    /// the kind of hosts with this name, or all of them if it is the only target.
    pub variants: Vec<String>,
    /// How it is paid for.
    pub acquisition: Option<Acquisition>,
    /// Its height.
    pub rack_units: Option<RackUnits>,
    /// Its power at load, or else its nameplate.
    pub load: Option<MachinePower>,
    /// Its power when idle.
    pub idle: Option<MachinePower>,
    /// Carbon of making it.
    pub embodied: Option<Grams>,
    /// The meter of its power.
    pub meter: Option<TargetMeter>,
    /// Its CPUs, to estimate the power of an operation from CPU time.
    pub cpus: Option<u32>,
}

/// Why a variant has no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// None fits.
    #[error(
        "no target describes the machine of {variant}: name it in the file, as in [target.NAME] with variants = [\"{variant}\"]"
    )]
    None {
        /// The variant.
        variant: String,
    },
    /// More than one fits.
    #[error("the targets {one} and {other} both describe the machine of {variant}: name it in one of them")]
    Several {
        /// The variant.
        variant: String,
        /// A target.
        one: String,
        /// Another one.
        other: String,
    },
}

impl Targets {
    /// The machine of a variant of a run.
    pub fn of(&self, run: &str, variant: &str) -> Result<&Target, NoTarget> {
        let describes = |target: &&Target| match &target.variants[..] {
            [] => self.targets.len() == 1 || target.name == variant || is_host(&target.name, variant),
            names => names.iter().any(|name| is_variant(name, run, variant)),
        };
        let mut found = self.targets.iter().filter(describes);
        match (found.next(), found.next()) {
            (Some(target), None) => Ok(target),
            (None, _) => Err(NoTarget::None { variant: variant.to_owned() }),
            (Some(one), Some(other)) => Err(NoTarget::Several {
                variant: variant.to_owned(),
                one: one.name.clone(),
                other: other.name.clone(),
            }),
        }
    }
}

/// Whether a variant ran on the host with this name, or on hosts of this kind: `nginx@old:sendfile=off`, `nginx@kind:small#2`.
fn is_host(target: &str, variant: &str) -> bool {
    let Some((_, place)) = variant.split_once('@') else { return false };
    let name = place.strip_prefix("kind:").unwrap_or(place);
    name.split([':', '#']).next() == Some(target)
}

/// Whether a name of the file means this variant: `nginx`, or `0543-nginx/nginx` where a part of the run's id comes first.
fn is_variant(name: &str, run: &str, variant: &str) -> bool {
    // The value of a knob may be a path.
    let of_run = |(part, name): (&str, &str)| name == variant && !part.is_empty() && run.contains(part);
    name == variant || name.split_once('/').is_some_and(of_run)
}
