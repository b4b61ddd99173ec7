//! Meters on the network: plugs, rack PDUs and BMCs. Each answer is limited in size and time, and none is trusted.

mod authorization;
pub(crate) mod dcmi;
mod http;
mod pdu;
mod redfish;
mod shelly;
mod snmp;
mod tasmota;
mod tls;

pub(crate) use http::{HttpClient, LoginUse};
pub(crate) use pdu::{Outlet, Pdu, PduModel};
pub(crate) use redfish::Redfish;
pub(crate) use shelly::Shelly;
pub(crate) use snmp::{SnmpClient, SnmpVersion};
pub(crate) use tasmota::Tasmota;
pub(crate) use tls::ServerTrust;
