//! Plugs with the firmware Tasmota: `Status 10` has the sensors.

use serde_json::Value;
use stats::quantity::Watts;

use super::http::HttpClient;
use crate::error::{PowerError, excerpt};
use crate::secret::Login;
use crate::source::{PowerReading, PowerSource, SourceAbout};

/// A plug. It takes its password in the address of a request.
#[derive(Debug)]
pub(crate) struct Tasmota {
    about: SourceAbout,
    client: HttpClient,
    login: Option<Login>,
    channel: u32,
}

/// Tasmota's documentation, "Commands": `Status 10` is the information of the sensors.
const PATH: &str = "/cm?cmnd=Status%2010";

impl Tasmota {
    /// `client` has no login of its own.
    pub(crate) fn new(about: SourceAbout, client: HttpClient, login: Option<Login>, channel: u32) -> Self {
        Self { about, client, login, channel }
    }
}

impl PowerSource for Tasmota {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        let path = match &self.login {
            None => PATH.to_owned(),
            Some(Login { user, password }) => {
                let mut query = url::form_urlencoded::Serializer::new(String::new());
                query.append_pair("user", user).append_pair("password", password.expose());
                format!("/cm?{}&cmnd=Status%2010", query.finish())
            }
        };
        let status = self.client.get_hidden(&path, PATH)?;
        let address = || self.client.address().to_owned();
        if let Some(warning) = status.get("WARNING") {
            let why = excerpt(warning.as_str().unwrap_or("a warning"));
            return Err(PowerError::Refused { address: address(), why, keys: "user and password_env" });
        }
        let watts =
            watts(&status, self.channel).map_err(|why| PowerError::Unmeasured { address: address(), why })?;
        Ok(PowerReading::Power(Watts::new(watts)))
    }
}

/// `StatusSNS.ENERGY.Power`, W: a number, or a list with one for each channel.
fn watts(status: &Value, channel: u32) -> Result<f64, String> {
    let sensors = status.get("StatusSNS").ok_or("its status has no StatusSNS: this is no Tasmota")?;
    let energy = sensors.get("ENERGY").ok_or("its sensors have no ENERGY: this model has no meter")?;
    let power = match energy.get("Power") {
        Some(Value::Array(channels)) => channels.get(channel as usize),
        Some(power) if channel == 0 => Some(power),
        _ => None,
    };
    power
        .and_then(Value::as_f64)
        .ok_or_else(|| format!("its ENERGY has no Power of channel {channel}: count channels from 0"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plugs_with_one_and_with_several_channels_give_watts() {
        let one = json!({"StatusSNS": {"Time": "2026-01-01T00:00:00", "ENERGY": {
            "TotalStartTime": "2026-01-01T00:00:00", "Total": 3.185, "Yesterday": 3.058, "Today": 0.127, "Power": 32,
            "ApparentPower": 54, "ReactivePower": 43, "Factor": 0.6, "Voltage": 235, "Current": 0.23}}});
        assert_eq!(watts(&one, 0), Ok(32.0));
        assert!(watts(&one, 1).unwrap_err().contains("no Power of channel 1"));
        let two = json!({"StatusSNS": {"ENERGY": {"Power": [32, 5.5]}}});
        assert_eq!(watts(&two, 1), Ok(5.5));
    }

    #[test]
    fn a_plug_without_a_meter_says_so() {
        assert!(watts(&json!({"StatusSNS": {"Time": "x"}}), 0).unwrap_err().contains("no meter"));
        assert!(watts(&json!({"Status": {}}), 0).unwrap_err().contains("no Tasmota"));
        assert!(watts(&json!({"StatusSNS": {"ENERGY": {"Power": null}}}), 0).is_err());
    }
}
