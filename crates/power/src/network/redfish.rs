//! BMCs that speak Redfish. The present schema (`EnvironmentMetrics`, `PowerSubsystem`) is asked first, then the one that DMTF
//! deprecated in 2020.4 (`Power`).

use std::time::{Duration, Instant};

use serde_json::Value;
use stats::quantity::Watts;

use super::http::HttpClient;
use crate::boundary::Boundary;
use crate::error::{PowerError, excerpt};
use crate::source::{PowerReading, PowerSource, SourceAbout};

const CHASSIS: &str = "/redfish/v1/Chassis";

/// More members than this are not asked for: a blade centre has 16 blades.
const MOST_MEMBERS: usize = 32;

/// The time for all requests of a reading. A BMC takes up to a second for one.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A BMC.
#[derive(Debug)]
pub(crate) struct Redfish {
    about: SourceAbout,
    client: HttpClient,
    /// The chassis that the user named.
    chassis: Option<String>,
    /// Where the watts are, known after the first answer.
    place: Option<Place>,
    /// When the present reading must end.
    deadline: Instant,
}

/// Where a chassis has its power.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// `PowerWatts.Reading` of this path.
    Environment(String),
    /// The sum of `InputPowerWatts.Reading` of these metrics of power supplies.
    Supplies(Vec<String>),
    /// `PowerControl[0].PowerConsumedWatts` of this path.
    Legacy(String),
}

impl Redfish {
    /// `about` has the boundary that the user stated, or `Unknown`: the schema does not say on which side of the power supply the
    /// power of a chassis is measured.
    pub(crate) fn new(about: SourceAbout, client: HttpClient, chassis: Option<String>) -> Self {
        Self { about, client, chassis, place: None, deadline: Instant::now() }
    }

    /// What is at this path.
    fn ask(&self, path: &str) -> Result<Value, PowerError> {
        if Instant::now() >= self.deadline {
            let why = format!(
                "it needs more than {} s for a reading; with chassis = \"…\" it is asked less",
                TIMEOUT.as_secs()
            );
            return Err(PowerError::NoAnswer { address: self.client.address().to_owned(), why });
        }
        self.client.get(path)
    }

    /// The same; none if nothing is there.
    fn get(&self, path: &str) -> Result<Option<Value>, PowerError> {
        match self.ask(path) {
            Ok(value) => Ok(Some(value)),
            Err(PowerError::NotThere { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn unmeasured(&self, why: impl Into<String>) -> PowerError {
        PowerError::Unmeasured { address: self.client.address().to_owned(), why: why.into() }
    }

    /// Finds the one chassis with power.
    fn find(&self) -> Result<Place, PowerError> {
        let paths = match &self.chassis {
            Some(chassis) => vec![format!("{CHASSIS}/{chassis}")],
            None => members(&self.ask(CHASSIS)?),
        };
        let mut found = Vec::new();
        for path in paths {
            if let Some(place) = self.place_in(&path)? {
                found.push((path, place));
            }
        }
        let names: Vec<&str> = found.iter().filter_map(|(path, _)| path.rsplit('/').next()).collect();
        match found.len() {
            0 => Err(self.unmeasured(
                "no chassis has a power reading: the BMC is too old, or the user may not see it",
            )),
            1 => Ok(found.remove(0).1),
            _ => Err(self.unmeasured(format!(
                "several chassis have a power reading ({}), and one may contain another: name one as chassis",
                excerpt(&names.join(", "))
            ))),
        }
    }

    fn place_in(&self, chassis: &str) -> Result<Option<Place>, PowerError> {
        let path = format!("{chassis}/EnvironmentMetrics");
        if self.get(&path)?.is_some_and(|metrics| environment(&metrics).is_ok()) {
            return Ok(Some(Place::Environment(path)));
        }
        if let Some(supplies) = self.get(&format!("{chassis}/PowerSubsystem/PowerSupplies"))? {
            let metrics: Vec<String> =
                members(&supplies).iter().map(|supply| format!("{supply}/Metrics")).collect();
            if !metrics.is_empty() && self.sum_of(&metrics).is_ok() {
                return Ok(Some(Place::Supplies(metrics)));
            }
        }
        let path = format!("{chassis}/Power");
        let is_legacy = self.get(&path)?.is_some_and(|power| legacy(&power).is_ok());
        Ok(is_legacy.then_some(Place::Legacy(path)))
    }

    fn sum_of(&self, metrics: &[String]) -> Result<f64, PowerError> {
        let mut sum = 0.0;
        for path in metrics {
            sum += supply(&self.ask(path)?).map_err(|why| self.unmeasured(why))?;
        }
        Ok(sum)
    }
}

impl PowerSource for Redfish {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        self.deadline = Instant::now() + TIMEOUT;
        let place = match self.place.take() {
            Some(place) => place,
            None => self.find()?,
        };
        // The inputs of the power supplies are the plug.
        if matches!(place, Place::Supplies(_)) && self.about.boundary == Boundary::Unknown {
            self.about.boundary = Boundary::Wall;
        }
        let of = |path: &str, parse: fn(&Value) -> Result<f64, String>| {
            parse(&self.ask(path)?).map_err(|why| self.unmeasured(why))
        };
        let watts = match &place {
            Place::Environment(path) => of(path, environment),
            Place::Supplies(metrics) => self.sum_of(metrics),
            Place::Legacy(path) => of(path, legacy),
        };
        self.place = Some(place);
        Ok(PowerReading::Power(Watts::new(watts?)))
    }
}

/// The paths of a collection's members. Only paths of this service: a link to another host would take the password there.
fn members(collection: &Value) -> Vec<String> {
    let members = collection.get("Members").and_then(Value::as_array).into_iter().flatten();
    let paths = members.filter_map(|member| member.get("@odata.id")?.as_str());
    let own =
        paths.filter(|path| path.starts_with("/redfish/") && !path.contains(['?', '#', ' ', '\r', '\n']));
    own.map(|path| path.trim_end_matches('/').to_owned()).take(MOST_MEMBERS).collect()
}

/// A reading in watts. Where a unit is given it must be W.
fn reading(sensor: Option<&Value>, name: &str) -> Result<f64, String> {
    let sensor = sensor.ok_or_else(|| format!("there is no {name}: the BMC does not measure it"))?;
    if let Some(unit) = sensor.get("ReadingUnits").and_then(Value::as_str).filter(|unit| *unit != "W") {
        return Err(format!("{name} is in {}, not in W: it is not used", excerpt(unit)));
    }
    let number = sensor.get("Reading").and_then(Value::as_f64);
    number.ok_or_else(|| format!("{name} has no reading now: the machine may be off"))
}

fn environment(metrics: &Value) -> Result<f64, String> {
    reading(metrics.get("PowerWatts"), "PowerWatts")
}

fn supply(metrics: &Value) -> Result<f64, String> {
    reading(metrics.get("InputPowerWatts"), "InputPowerWatts of a power supply")
}

/// The first entry is the chassis; further ones are parts of it.
fn legacy(power: &Value) -> Result<f64, String> {
    let control = power.get("PowerControl").and_then(|controls| controls.get(0));
    let control = control.ok_or("there is no PowerControl: the BMC does not measure power")?;
    let watts = control.get("PowerConsumedWatts").and_then(Value::as_f64);
    watts.ok_or_else(|| "PowerConsumedWatts has no value now: the machine may be off".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_schema_gives_watts() {
        let metrics = json!({"@odata.type": "#EnvironmentMetrics.v1_3_0.EnvironmentMetrics",
            "PowerWatts": {"DataSourceUri": "/redfish/v1/Chassis/1U/Sensors/TotalPower", "Reading": 374},
            "EnergykWh": {"Reading": 325_675}});
        assert_eq!(environment(&metrics), Ok(374.0));
        assert_eq!(supply(&json!({"InputPowerWatts": {"Reading": 187.5}})), Ok(187.5));
        let power = json!({"PowerControl": [{"MemberId": "0", "Name": "System Power Control",
            "PowerConsumedWatts": 344, "PowerMetrics": {"IntervalInMin": 30, "AverageConsumedWatts": 319}}]});
        assert_eq!(legacy(&power), Ok(344.0));
    }

    #[test]
    fn what_is_not_a_number_of_watts_is_refused() {
        let null = json!({"PowerWatts": {"Reading": null}});
        assert!(environment(&null).unwrap_err().contains("no reading now"));
        let kilo = json!({"PowerWatts": {"Reading": 0.3, "ReadingUnits": "kW"}});
        assert!(environment(&kilo).unwrap_err().contains("is in kW, not in W"));
        assert!(legacy(&json!({"PowerControl": []})).unwrap_err().contains("does not measure"));
        assert!(legacy(&json!({"PowerControl": [{"PowerConsumedWatts": null}]})).is_err());
        assert!(legacy(&json!([1])).is_err());
    }

    #[test]
    fn members_are_paths_of_this_service() {
        let collection = json!({"Members": [{"@odata.id": "/redfish/v1/Chassis/1U/"},
            {"@odata.id": "//evil.example/redfish"}, {"@odata.id": "@evil.example/"}, {"@odata.id": 7}, "x"]});
        assert_eq!(members(&collection), ["/redfish/v1/Chassis/1U"]);
        assert!(members(&json!({"Members": "x"})).is_empty());
    }
}
