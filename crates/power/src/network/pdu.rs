//! Rack PDUs of APC and Raritan by SNMP: where their watts are, and in which unit.

use stats::quantity::Watts;

use super::snmp::SnmpClient;
use crate::error::PowerError;
use crate::source::{PowerReading, PowerSource, SourceAbout};

/// A PDU's inlet or outlet.
#[derive(Debug)]
pub(crate) struct Pdu {
    about: SourceAbout,
    client: SnmpClient,
    address: String,
    model: PduModel,
    /// The decimal digits of a Raritan's reading, known after the first answer.
    digits: Option<i32>,
}

/// What is metered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlet {
    /// All that the PDU feeds: a module of APC's, an inlet of Raritan's.
    All(u32),
    /// One outlet.
    One(u32),
}

/// The tree of objects of a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PduModel {
    /// APC's `rPDU2` (`PowerNet-MIB`).
    ApcRpdu2(Outlet),
    /// APC's first generation, the whole PDU.
    ApcRpdu,
    /// Raritan's PX2 and later (PDU2-MIB); the number of the PDU in its chain, from 1.
    RaritanPx2(u32, Outlet),
}

/// `PowerNet-MIB`, below `.1.3.6.1.4.1.318.1.1`.
const APC: [u64; 9] = [1, 3, 6, 1, 4, 1, 318, 1, 1];

/// PDU2-MIB, below `.1.3.6.1.4.1.13742.6`.
const RARITAN: [u64; 8] = [1, 3, 6, 1, 4, 1, 13742, 6];

/// `activePower` in the MIB's `SensorTypeEnumeration`, and `watt` in its `SensorUnitsEnumeration`.
const ACTIVE_POWER: u64 = 5;
const WATT: i64 = 3;

/// What APC's agent says where it has no meter.
const UNSUPPORTED: i64 = -1;

fn oid(tree: &[u64], rest: &[u64]) -> Vec<u64> {
    [tree, rest].concat()
}

/// The objects of a sensor of Raritan's: its value, its unit, its decimal digits.
fn raritan(pdu: u32, outlet: Outlet) -> [Vec<u64>; 3] {
    let (value, settings, number) = match outlet {
        Outlet::All(inlet) => ([5, 2, 3, 1], [3, 3, 4, 1], inlet),
        Outlet::One(outlet) => ([5, 4, 3, 1], [3, 5, 4, 1], outlet),
    };
    let index = [u64::from(pdu), u64::from(number), ACTIVE_POWER];
    let of = |table: [u64; 4], column: u64| oid(&RARITAN, &[&table[..], &[column], &index[..]].concat());
    [of(value, 4), of(settings, 6), of(settings, 7)]
}

impl Pdu {
    pub(crate) fn new(about: SourceAbout, client: SnmpClient, address: String, model: PduModel) -> Self {
        Self { about, client, address, model, digits: None }
    }

    fn integer(&mut self, oid: &[u64]) -> Result<i64, PowerError> {
        let value = self.client.integer(oid)?;
        value.ok_or_else(|| {
            let shown: Vec<String> = oid.iter().map(u64::to_string).collect();
            PowerError::NotThere { address: format!("{} at .{}", self.address, shown.join(".")) }
        })
    }

    fn watts(&mut self) -> Result<f64, PowerError> {
        match self.model {
            // rPDU2DeviceStatusPower, hundredths of kW; rPDU2OutletMeteredStatusPower, W.
            PduModel::ApcRpdu2(Outlet::All(module)) => {
                let path = oid(&APC, &[26, 4, 3, 1, 5, u64::from(module)]);
                self.apc(&path).map(|hundredths| hundredths * 10.0)
            }
            PduModel::ApcRpdu2(Outlet::One(outlet)) => {
                self.apc(&oid(&APC, &[26, 9, 4, 3, 1, 7, u64::from(outlet)]))
            }
            // rPDUIdentDevicePowerWatts.
            PduModel::ApcRpdu => self.apc(&oid(&APC, &[12, 1, 16, 0])),
            PduModel::RaritanPx2(pdu, outlet) => self.raritan(pdu, outlet),
        }
    }

    fn apc(&mut self, path: &[u64]) -> Result<f64, PowerError> {
        match self.integer(path)? {
            UNSUPPORTED => Err(PowerError::Unmeasured {
                address: self.address.clone(),
                why:
                    "this model has no meter there: use the whole PDU instead of an outlet, or another meter"
                        .to_owned(),
            }),
            value => Ok(value as f64),
        }
    }

    fn raritan(&mut self, pdu: u32, outlet: Outlet) -> Result<f64, PowerError> {
        let [value, unit, digits] = raritan(pdu, outlet);
        let digits = match self.digits {
            Some(digits) => digits,
            None => self.raritan_digits(&unit, &digits)?,
        };
        self.digits = Some(digits);
        Ok(self.integer(&value)? as f64 / 10_f64.powi(digits))
    }

    /// The decimal digits of a Raritan's reading, after its unit was checked.
    fn raritan_digits(&mut self, unit: &[u64], digits: &[u64]) -> Result<i32, PowerError> {
        let unit = self.integer(unit)?;
        if unit != WATT {
            let why = format!("its unit is number {unit} of the MIB, and {WATT} is watt");
            return Err(PowerError::Answer { address: self.address.clone(), why });
        }
        let digits = self.integer(digits)?;
        let few = i32::try_from(digits).ok().filter(|digits| (0..=6).contains(digits));
        few.ok_or_else(|| {
            let why = format!("{digits} decimal digits make no sense");
            PowerError::Answer { address: self.address.clone(), why }
        })
    }
}

impl PowerSource for Pdu {
    fn about(&self) -> &SourceAbout {
        &self.about
    }

    fn read(&mut self) -> Result<PowerReading, PowerError> {
        Ok(PowerReading::Power(Watts::new(self.watts()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_raritan_are_where_its_mib_has_them() {
        let shown = |oid: &[u64]| oid.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
        let [value, unit, digits] = raritan(1, Outlet::All(1));
        assert_eq!(shown(&value), "1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5");
        assert_eq!(shown(&unit), "1.3.6.1.4.1.13742.6.3.3.4.1.6.1.1.5");
        assert_eq!(shown(&digits), "1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5");
        let [value, _, digits] = raritan(2, Outlet::One(7));
        assert_eq!(shown(&value), "1.3.6.1.4.1.13742.6.5.4.3.1.4.2.7.5");
        assert_eq!(shown(&digits), "1.3.6.1.4.1.13742.6.3.5.4.1.7.2.7.5");
    }
}
