//! Sources on the network as a user describes them: a table `[power.NAME]` of the file of targets, or `KIND=ADDRESS` on the command
//! line. Secrets are named, never written.

mod texts;

use std::path::PathBuf;

use serde::Deserialize;
use url::{Host, Url};

use self::texts::{bare, host_and_port, one_part, percent, shown};
use crate::boundary::Boundary;
use crate::network::{
    HttpClient, LoginUse, Outlet, Pdu, PduModel, Redfish, ServerTrust, Shelly, SnmpClient, SnmpVersion,
    Tasmota, dcmi::Dcmi,
};
use crate::secret::{Login, Secret, SecretPlace};
use crate::source::{PowerSource, SourceAbout};

/// The keys of a source. Which of them a kind has is in docs/COST.md; another one is refused.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceKeys {
    /// `shelly`, `tasmota`, `redfish`, `ipmi-dcmi`, `apc-rpdu2`, `apc-rpdu` or `raritan-px2`.
    pub kind: Option<String>,
    /// A URL, or a host with its port.
    pub address: Option<String>,
    /// `wall` or `dc`, where the device does not say it.
    pub boundary: Option<String>,
    /// The largest error of a reading, such as `1 %`.
    pub uncertainty: Option<String>,
    /// The user of the device.
    pub user: Option<String>,
    /// The variable of the environment that has the password.
    pub password_env: Option<String>,
    /// The file that has the password.
    pub password_file: Option<PathBuf>,
    /// The variable of the environment that has the community.
    pub community_env: Option<String>,
    /// The file that has the community.
    pub community_file: Option<PathBuf>,
    /// A file of certificates, or `unverified`.
    pub certificate: Option<String>,
    /// The channel of a plug, from 0.
    pub channel: Option<u32>,
    /// The chassis of a BMC.
    pub chassis: Option<String>,
    /// The module of an APC, from 1.
    pub module: Option<u32>,
    /// The PDU in its chain, from 1.
    pub pdu: Option<u32>,
    /// The inlet of a PDU, from 1.
    pub inlet: Option<u32>,
    /// The outlet of a PDU, from 1; without it, the whole PDU.
    pub outlet: Option<u32>,
    /// The version of SNMP: `1` or `2c`.
    pub version: Option<String>,
}

/// A source whose keys are right. It is not opened yet, and its secrets are not read.
#[derive(Debug, Clone)]
pub struct SourceDescription {
    about: SourceAbout,
    device: Device,
}

#[derive(Debug, Clone)]
enum Device {
    Shelly(Web, u32),
    Tasmota(Web, u32),
    Redfish(Web, Option<String>),
    Dcmi { host: String, port: u16, login: LoginPlace },
    Pdu { address: String, model: PduModel, community: Option<SecretPlace>, version: SnmpVersion },
}

/// A device that speaks HTTP.
#[derive(Debug, Clone)]
struct Web {
    url: Url,
    login: Option<LoginPlace>,
    trust: ServerTrust,
}

#[derive(Debug, Clone)]
struct LoginPlace {
    user: String,
    password: SecretPlace,
}

impl LoginPlace {
    fn read(&self) -> Result<Login, String> {
        Ok(Login { user: self.user.clone(), password: self.password.read()? })
    }
}

/// Each kind with the keys that it has beside `kind`, `address`, `boundary` and `uncertainty`, and an address of it.
const KINDS: &[(&str, &[&str], &str)] = &[
    ("shelly", &["channel", "user", "password", "certificate"], "http://10.0.0.31"),
    ("tasmota", &["channel", "user", "password", "certificate"], "http://10.0.0.31"),
    ("redfish", &["chassis", "user", "password", "certificate"], "https://10.0.0.9"),
    ("ipmi-dcmi", &["user", "password"], "10.0.0.9"),
    ("apc-rpdu2", &["module", "outlet", "community", "version"], "10.0.0.9"),
    ("apc-rpdu", &["community", "version"], "10.0.0.9"),
    ("raritan-px2", &["pdu", "inlet", "outlet", "community", "version"], "10.0.0.9"),
];

/// The names of all kinds, for errors.
fn kinds() -> String {
    KINDS.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>().join(", ")
}

impl SourceKeys {
    /// Parses `KIND=ADDRESS[,KEY=VALUE…]`, such as `apc-rpdu2=10.0.0.9,outlet=5`. The error says what is wrong in one line.
    pub fn from_argument(text: &str) -> Result<Self, String> {
        let example =
            "write it as KIND=ADDRESS, such as shelly=http://10.0.0.31 or apc-rpdu2=10.0.0.9,outlet=5";
        let mut parts = text.split(',');
        let (kind, address) =
            parts.next().and_then(|first| first.split_once('=')).ok_or_else(|| example.to_owned())?;
        let mut keys =
            Self { kind: Some(kind.to_owned()), address: Some(address.to_owned()), ..Self::default() };
        for part in parts {
            let (key, value) =
                part.split_once('=').ok_or_else(|| format!("{part:?} is no KEY=VALUE: {example}"))?;
            keys.set(key, value)?;
        }
        Ok(keys)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let text = || Some(value.to_owned());
        let number =
            || value.parse().map(Some).map_err(|_| format!("{key}: {value:?} is not a number from 0 on"));
        match key {
            "boundary" => self.boundary = text(),
            "uncertainty" => self.uncertainty = text(),
            "user" => self.user = text(),
            "password_env" => self.password_env = text(),
            "password_file" => self.password_file = Some(value.into()),
            "community_env" => self.community_env = text(),
            "community_file" => self.community_file = Some(value.into()),
            "certificate" => self.certificate = text(),
            "chassis" => self.chassis = text(),
            "version" => self.version = text(),
            "channel" => self.channel = number()?,
            "module" => self.module = number()?,
            "pdu" => self.pdu = number()?,
            "inlet" => self.inlet = number()?,
            "outlet" => self.outlet = number()?,
            "password" | "community" => {
                return Err(format!(
                    "{key}: every user sees a command line: name a variable as {key}_env, or a file as {key}_file"
                ));
            }
            _ => return Err(format!("{key} is not a key of a power source: see docs/COST.md")),
        }
        Ok(())
    }

    /// Checks the keys of the source with this name. The error says what is wrong, in one line, and begins with the key.
    pub fn check(self, name: &str) -> Result<SourceDescription, String> {
        let kind =
            self.kind.as_deref().ok_or_else(|| format!("kind is missing: write one of {}", kinds()))?;
        let known = KINDS.iter().find(|(known, ..)| *known == kind);
        let (kind, allowed, example) =
            known.ok_or_else(|| format!("kind: {kind:?} is none: write one of {}", kinds()))?;
        let address = self
            .address
            .clone()
            .ok_or_else(|| format!("address is missing: write one such as {example:?}"))?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 40 || !name.chars().all(is_name) {
            return Err(format!(
                "{name:?} is no name of a power source: use letters, digits, - and _, 40 at most"
            ));
        }
        self.refuse_foreign(kind, allowed)?;
        let boundary = self.boundary(kind)?;
        let uncertainty_percent = self.uncertainty.as_deref().map(percent).transpose()?;
        let (device, origin) = self.device(kind, &address, example)?;
        let about = SourceAbout { name: name.to_owned(), kind, origin, boundary, uncertainty_percent };
        Ok(SourceDescription { about, device })
    }

    /// Refuses a key that this kind does not have: it would have no effect.
    fn refuse_foreign(&self, kind: &str, allowed: &[&str]) -> Result<(), String> {
        let given = [
            ("user", self.user.is_some()),
            ("password", self.password_env.is_some() || self.password_file.is_some()),
            ("community", self.community_env.is_some() || self.community_file.is_some()),
            ("certificate", self.certificate.is_some()),
            ("channel", self.channel.is_some()),
            ("chassis", self.chassis.is_some()),
            ("module", self.module.is_some()),
            ("pdu", self.pdu.is_some()),
            ("inlet", self.inlet.is_some()),
            ("outlet", self.outlet.is_some()),
            ("version", self.version.is_some()),
        ];
        match given.iter().find(|(key, is_given)| *is_given && !allowed.contains(key)) {
            Some((key, _)) => Err(format!("{key}: a source of the kind {kind} has none: remove it")),
            None => Ok(()),
        }
    }

    /// A plug or a PDU is at the plug. A BMC does not say where it measures.
    fn boundary(&self, kind: &str) -> Result<Boundary, String> {
        let is_bmc = ["redfish", "ipmi-dcmi"].contains(&kind);
        match self.boundary.as_deref() {
            None if is_bmc => Ok(Boundary::Unknown),
            None | Some("wall") => Ok(Boundary::Wall),
            Some("dc") if is_bmc => Ok(Boundary::Dc),
            Some("dc") => Err(format!("boundary: a source of the kind {kind} is at the plug: remove it")),
            Some(other) => Err(format!(
                "boundary: {other:?} is neither \"wall\" at the plug nor \"dc\" behind the power supply"
            )),
        }
    }

    fn device(&self, kind: &str, address: &str, example: &str) -> Result<(Device, String), String> {
        match kind {
            "shelly" | "tasmota" | "redfish" => {
                let web = self.web(kind, address, example)?;
                let origin = web.url.as_str().trim_end_matches('/').to_owned();
                let channel = self.channel.unwrap_or(0);
                let device = match kind {
                    "shelly" => Device::Shelly(web, channel),
                    "tasmota" => Device::Tasmota(web, channel),
                    _ => Device::Redfish(
                        web,
                        self.chassis.clone().map(|chassis| one_part(&chassis)).transpose()?,
                    ),
                };
                Ok((device, origin))
            }
            "ipmi-dcmi" => {
                let (host, port) = host_and_port(address, 623, example)?;
                let login = self
                    .login()?
                    .ok_or("user is missing: a BMC wants a user and password_env or password_file")?;
                let origin = shown(&host, port);
                Ok((Device::Dcmi { host: bare(&host), port, login }, origin))
            }
            _ => {
                let (host, port) = host_and_port(address, 161, example)?;
                let address = shown(&host, port);
                let device = Device::Pdu {
                    address: address.clone(),
                    model: self.model(kind)?,
                    community: secret(
                        "community",
                        self.community_env.as_deref(),
                        self.community_file.as_ref(),
                    )?,
                    version: self.version(kind)?,
                };
                Ok((device, address))
            }
        }
    }

    fn web(&self, kind: &str, address: &str, example: &str) -> Result<Web, String> {
        let refused = |why: &str| format!("address: {why}: write it as {example:?}");
        let url =
            Url::parse(address).map_err(|error| refused(&format!("{address:?} is no URL ({error})")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused(
                "it has a user or a password, which belong to the keys user and password_env",
            ));
        }
        if !["http", "https"].contains(&url.scheme()) || url.host().is_none() {
            return Err(refused(&format!("{address:?} begins with neither http:// nor https://")));
        }
        if url.query().is_some() || url.fragment().is_some() || url.path() != "/" {
            return Err(refused(&format!("{address:?} has a path, and this program knows the paths")));
        }
        let login = self.login()?;
        let is_loopback = match url.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            _ => false,
        };
        if kind == "redfish" && url.scheme() == "http" && login.is_some() && !is_loopback {
            return Err(refused("the password of a BMC would cross the network in the clear"));
        }
        let trust = match self.certificate.as_deref() {
            None => ServerTrust::System,
            Some(_) if url.scheme() == "http" => {
                return Err("certificate: http has none: remove it, or write https://".to_owned());
            }
            Some("unverified") => ServerTrust::Unverified,
            Some(file) => ServerTrust::File(file.into()),
        };
        Ok(Web { url, login, trust })
    }

    fn login(&self) -> Result<Option<LoginPlace>, String> {
        let password = secret("password", self.password_env.as_deref(), self.password_file.as_ref())?;
        match (self.user.clone(), password) {
            (Some(user), Some(password)) => Ok(Some(LoginPlace { user, password })),
            (None, None) => Ok(None),
            (Some(_), None) => {
                Err("user: there is no password for it: write password_env or password_file".to_owned())
            }
            (None, Some(_)) => Err("user is missing: write the user of this password".to_owned()),
        }
    }

    fn model(&self, kind: &str) -> Result<PduModel, String> {
        let from_one = |key: &str, number: Option<u32>| match number {
            Some(0) => Err(format!("{key}: PDUs count from 1")),
            number => Ok(number),
        };
        let outlet = from_one("outlet", self.outlet)?;
        if outlet.is_some() && (self.module.is_some() || self.inlet.is_some()) {
            return Err(
                "outlet: it is one outlet or the whole: remove outlet, or module and inlet".to_owned()
            );
        }
        let whole = |key, number| Ok::<_, String>(Outlet::All(from_one(key, number)?.unwrap_or(1)));
        Ok(match (kind, outlet) {
            ("apc-rpdu", _) => PduModel::ApcRpdu,
            ("apc-rpdu2", Some(outlet)) => PduModel::ApcRpdu2(Outlet::One(outlet)),
            ("apc-rpdu2", None) => PduModel::ApcRpdu2(whole("module", self.module)?),
            (_, outlet) => {
                let part =
                    outlet.map_or_else(|| whole("inlet", self.inlet), |outlet| Ok(Outlet::One(outlet)))?;
                PduModel::RaritanPx2(from_one("pdu", self.pdu)?.unwrap_or(1), part)
            }
        })
    }

    fn version(&self, kind: &str) -> Result<SnmpVersion, String> {
        match self.version.as_deref() {
            // The first generation's agents are older than version 2c.
            None if kind == "apc-rpdu" => Ok(SnmpVersion::V1),
            None | Some("2c") => Ok(SnmpVersion::V2c),
            Some("1") => Ok(SnmpVersion::V1),
            Some(other) => Err(format!(
                "version: {other:?} is not spoken: write \"1\" or \"2c\", and allow it in the PDU for reading only"
            )),
        }
    }
}

/// Where a secret is, if there is one.
fn secret(key: &str, variable: Option<&str>, file: Option<&PathBuf>) -> Result<Option<SecretPlace>, String> {
    match (variable, file) {
        (Some(_), Some(_)) => Err(format!("{key}_env: there is {key}_file too: keep one of them")),
        (Some(name), None) => Ok(Some(SecretPlace::Variable(name.to_owned()))),
        (None, file) => Ok(file.cloned().map(SecretPlace::File)),
    }
}

impl SourceDescription {
    /// What the source is.
    pub fn about(&self) -> &SourceAbout {
        &self.about
    }

    /// Reads the secrets and makes the source; the device is not asked yet. The error says what is missing.
    pub fn open(&self) -> Result<Box<dyn PowerSource>, String> {
        let about = self.about.clone();
        Ok(match &self.device {
            Device::Shelly(web, channel) => {
                Box::new(Shelly::new(about, web.client(Some(LoginUse::WhenAsked))?, *channel))
            }
            Device::Tasmota(web, channel) => {
                let login = web.login.as_ref().map(LoginPlace::read).transpose()?;
                Box::new(Tasmota::new(about, web.client(None)?, login, *channel))
            }
            Device::Redfish(web, chassis) => {
                Box::new(Redfish::new(about, web.client(Some(LoginUse::Always))?, chassis.clone()))
            }
            Device::Dcmi { host, port, login } => {
                Box::new(Dcmi::remote(about, host.clone(), *port, login.read()?))
            }
            Device::Pdu { address, model, community, version } => {
                // What every agent of SNMP has for reading before somebody changes it.
                let community = community.as_ref().map_or(Ok(Secret::new("public")), SecretPlace::read)?;
                let client = SnmpClient::new(address.clone(), community, *version);
                Box::new(Pdu::new(about, client, address.clone(), *model))
            }
        })
    }
}

impl Web {
    /// A client that uses the login so, or not at all.
    fn client(&self, when: Option<LoginUse>) -> Result<HttpClient, String> {
        let login = match (&self.login, when) {
            (Some(login), Some(when)) => Some((login.read()?, when)),
            _ => None,
        };
        HttpClient::new(&self.url, login, &self.trust)
    }
}

#[cfg(test)]
mod tests;
