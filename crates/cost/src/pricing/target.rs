//! What a machine costs, takes and gives off, without any performance.

use serde::Serialize;
use stats::cost::{LifeCost, energy_a_year};
use stats::quantity::{Grams, Hours, KilowattHours, Money, Watts, YEAR};

use super::watts::MeasuredPower;
use crate::power::MachinePower;
use crate::targets::{Acquisition, Target, Targets};

/// A figure, or what it lacks.
pub(crate) type Found<T> = Result<T, String>;

/// A figure that cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The figure.
    pub figure: String,
    /// What it lacks.
    pub why: String,
}

/// What a target costs, without any performance.
pub(crate) struct TargetCosting<'t> {
    pub target: &'t Target,
    pub targets: &'t Targets,
    /// The watts of a meter, instead of those of the file.
    pub measured: Option<&'t MeasuredPower>,
}

impl TargetCosting<'_> {
    pub(crate) fn lacks(&self, key: &str) -> String {
        format!("target {} has no {key}", self.target.name)
    }

    pub(crate) fn at_load(&self) -> Found<&MachinePower> {
        let stated = || {
            self.target.load.as_ref().ok_or_else(|| self.lacks("load, no nameplate and no watts of a meter"))
        };
        self.measured.map_or_else(stated, |measured| Ok(&measured.load))
    }

    pub(crate) fn idle(&self) -> Option<&MachinePower> {
        self.measured.and_then(|measured| measured.idle.as_ref()).or(self.target.idle.as_ref())
    }

    /// Power at load and when idle that a bill counts: a meter's, or what is stated of the same machine at the wall.
    fn billed(&self) -> Found<(Watts, Option<&MachinePower>)> {
        let power = self.at_load()?;
        if power.boundary.is_billed() {
            let idle = if power.is_measured { self.idle() } else { self.target.idle.as_ref() };
            return Ok((power.watts, idle));
        }
        if let Some(stated) = self.target.load.as_ref().filter(|stated| stated.boundary.is_billed()) {
            return Ok((stated.watts, self.target.idle.as_ref()));
        }
        Err(format!(
            "the watts of target {} are of the boundary {}: a bill counts those at the wall",
            self.target.name,
            power.boundary.name()
        ))
    }

    /// Whether its energy follows from watts that a meter measured.
    pub(crate) fn bills_measured_watts(&self) -> bool {
        self.measured.is_some_and(|measured| measured.load.boundary.is_billed())
    }

    pub(crate) fn energy(&self) -> Found<KilowattHours> {
        let (load, idle) = self.billed()?;
        let idle = match idle {
            Some(idle) if !idle.boundary.is_billed() && !self.targets.cycle.is_all_day() => {
                return Err(format!(
                    "the idle watts of target {} are not those at the wall",
                    self.target.name
                ));
            }
            Some(idle) => idle.watts,
            // The parser refuses this for a target without a meter.
            None if !self.targets.cycle.is_all_day() => return Err(self.lacks("idle power")),
            None => load,
        };
        let pue = self.targets.pue.ok_or("the file of targets has no pue")?;
        Ok(energy_a_year(load, idle, self.targets.cycle, pue))
    }

    pub(crate) fn energy_cost(&self) -> Found<Money> {
        if let Some(Acquisition::Rented(_)) = self.target.acquisition {
            return Err("the rate includes the energy".to_owned());
        }
        let price = self.targets.price_per_kwh.ok_or("the file of targets has no price_per_kwh")?;
        Ok(self.energy()? * price)
    }

    fn life(&self) -> Found<Hours> {
        self.targets.life.ok_or_else(|| "the file of targets has no life".to_owned())
    }

    pub(crate) fn life_cost(&self) -> Found<LifeCost> {
        match self.target.acquisition {
            None => Err(self.lacks("price and no rate")),
            Some(Acquisition::Rented(rate)) => Ok(LifeCost::rented(rate, self.life()?)),
            Some(Acquisition::Bought(price)) => {
                Ok(LifeCost::bought(price, self.energy_cost()?, self.life()?))
            }
        }
    }

    pub(crate) fn carbon_a_year(&self) -> Found<Grams> {
        let intensity = self.targets.grid_intensity.ok_or("the file of targets has no grid_intensity")?;
        let of_energy = self.energy()? * intensity;
        match self.target.embodied {
            Some(embodied) => Ok(of_energy + embodied / (self.life()? / YEAR)),
            None => Ok(of_energy),
        }
    }
}

/// The figure, or a note of what it lacks.
pub(crate) fn keep<T>(figure: &str, found: Found<T>, missing: &mut Vec<Missing>) -> Option<T> {
    found.map_err(|why| missing.push(Missing { figure: figure.to_owned(), why })).ok()
}
