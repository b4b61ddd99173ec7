//! Shelly plugs: the first generation's `/status`, and the RPC of the second and later ones.

use serde_json::Value;
use stats::quantity::Watts;

use super::http::HttpClient;
use crate::error::{PowerError, excerpt};
use crate::source::{PowerReading, PowerSource, SourceAbout};

/// A plug or relay with a meter.
#[derive(Debug)]
pub(crate) struct Shelly {
    about: SourceAbout,
    client: HttpClient,
    channel: u32,
    /// The path of the status, known after the first answer.
    path: Option<StatusPath>,
}

#[derive(Debug, Clone, Copy)]
enum StatusPath {
    FirstGeneration,
    /// A component of the RPC: a switch with a meter, or a meter alone.
    Component(&'static str),
}

impl Shelly {
    pub(crate) fn new(about: SourceAbout, client: HttpClient, channel: u32) -> Self {
        Self { about, client, channel, path: None }
    }

    /// Asks the plug for its generation: `/shelly` needs no password.
    fn find_path(&self) -> Result<StatusPath, PowerError> {
        let info = self.client.get("/shelly")?;
        if info.get("gen").and_then(Value::as_u64).is_none_or(|generation| generation < 2) {
            // The first generation has no `gen`, but a type such as SHPLG-S.
            if info.get("type").and_then(Value::as_str).is_some() {
                return Ok(StatusPath::FirstGeneration);
            }
            let address = format!("{}/shelly", self.client.address());
            let why = "it has neither gen nor type, as a Shelly's has".to_owned();
            return Err(PowerError::Answer { address, why });
        }
        for component in ["Switch", "PM1"] {
            match self.client.get(&self.rpc(component)) {
                Ok(_) => return Ok(StatusPath::Component(component)),
                Err(PowerError::NotThere { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(PowerError::NotThere { address: format!("{}{}", self.client.address(), self.rpc("Switch")) })
    }

    fn rpc(&self, component: &str) -> String {
        format!("/rpc/{component}.GetStatus?id={}", self.channel)
    }
}

impl PowerSource for Shelly {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        let path = match self.path {
            Some(path) => path,
            None => self.find_path()?,
        };
        self.path = Some(path);
        let watts = match path {
            StatusPath::FirstGeneration => first_generation(&self.client.get("/status")?, self.channel),
            StatusPath::Component(component) => component_status(&self.client.get(&self.rpc(component))?),
        };
        let watts =
            watts.map_err(|why| PowerError::Unmeasured { address: self.client.address().to_owned(), why })?;
        Ok(PowerReading::Power(Watts::new(watts)))
    }
}

/// `apower` of a component, W (Shelly's API documentation, "Switch" and "PM1").
fn component_status(status: &Value) -> Result<f64, String> {
    if let Some(errors) = status.get("errors").and_then(Value::as_array).filter(|errors| !errors.is_empty()) {
        let errors: Vec<&str> = errors.iter().filter_map(Value::as_str).take(3).collect();
        return Err(format!("it reports {}: see to the plug", excerpt(&errors.join(", "))));
    }
    let watts = status.get("apower").and_then(Value::as_f64);
    watts.ok_or_else(|| "its status has no apower: this model has no meter, or this channel none".to_owned())
}

/// `meters[].power`, W; an energy meter has `emeters`.
fn first_generation(status: &Value, channel: u32) -> Result<f64, String> {
    let of = |list: &str| status.get(list)?.get(channel as usize);
    let meter = of("meters").or_else(|| of("emeters"));
    let meter = meter.ok_or_else(|| format!("its status has no meter {channel}: count channels from 0"))?;
    if meter.get("is_valid") == Some(&Value::Bool(false)) {
        return Err("its meter says that it is not valid now: see to the plug".to_owned());
    }
    meter
        .get("power")
        .and_then(Value::as_f64)
        .ok_or_else(|| "its meter has no power: use another model".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_generations_give_watts() {
        let plus = json!({"id": 0, "source": "init", "output": true, "apower": 8.9, "voltage": 237.5, "current": 0.1,
            "aenergy": {"total": 6.5, "by_minute": [45.2, 47.1, 88.3], "minute_ts": 1_626_935_779}});
        assert_eq!(component_status(&plus), Ok(8.9));
        let plug_s = json!({"relays": [{"ison": true}], "meters": [
            {"power": 62.03, "overpower": 0.0, "is_valid": true, "timestamp": 1, "total": 100, "counters": [62.0]}]});
        assert_eq!(first_generation(&plug_s, 0), Ok(62.03));
        let em = json!({"emeters": [{"power": 1.0, "is_valid": true}, {"power": 2.0, "is_valid": true}]});
        assert_eq!(first_generation(&em, 1), Ok(2.0));
    }

    #[test]
    fn a_plug_that_does_not_measure_says_why() {
        assert!(component_status(&json!({"id": 0, "output": true})).unwrap_err().contains("no apower"));
        let hot = json!({"apower": 1.0, "errors": ["overtemp"]});
        assert!(component_status(&hot).unwrap_err().contains("overtemp"));
        assert!(first_generation(&json!({"meters": []}), 0).unwrap_err().contains("no meter 0"));
        let invalid = json!({"meters": [{"power": 0.0, "is_valid": false}]});
        assert!(first_generation(&invalid, 0).unwrap_err().contains("not valid"));
        assert!(first_generation(&json!({"meters": [{"power": "62"}]}), 0).is_err());
    }
}
