//! The plan of a run on live traffic: a TOML file, parsed once into numbers and addresses. docs/LIVE-TRAFFIC.md has every key.

mod mail;
mod values;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::inputs::units::{parse_duration, parse_duration_or_zero};
use serde::Deserialize;

use values::{
    BadValue, address, alpha, bad, from_toml, log, name, names, objective, read_text, seconds, share, socket,
    time,
};
pub use values::{NoPercentage, PlanError, parse_percentage};

use crate::balancer::interface::HIGHEST_WEIGHT;
use crate::balancer::log::receiver::LogAddress;
use crate::guard::HardLimits;
use crate::lease::Probe;
use crate::live::Joining;
use crate::mail::logs::MailSettings;
use crate::name::Name;
use crate::ramp::{RampRules, usual_multiples};
use crate::rollout::{CanaryRules, WEIGHTS, usual_steps, weights_left_out};
use crate::weights::Participants;

/// How long an answer of a health page may take.
const PROBE_MS: u64 = 1000;

/// How long the greeting of a mail server may take. A busy one lets its clients wait.
const GREETING_MS: u64 = 5000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlan {
    balancer: RawBalancer,
    old: RawOld,
    candidate: RawServer,
    control: Option<RawServer>,
    rules: RawRules,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBalancer {
    socket: PathBuf,
    backend: String,
    log: String,
    configuration: Option<PathBuf>,
    lease: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOld {
    servers: Vec<String>,
    #[serde(default)]
    mail_logs: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawServer {
    name: String,
    address: String,
    health: Option<String>,
    #[serde(default)]
    proxy_protocol: bool,
    mail_log: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRules {
    objective: String,
    margin: Option<f64>,
    negligible: Option<String>,
    alpha: Option<String>,
    steps: Option<Vec<u32>>,
    dwell: Option<String>,
    longest: Option<String>,
    max_share: Option<String>,
    hard_failed: Option<String>,
    hard_late: Option<String>,
    hard_deferred: Option<String>,
    hard_queued: Option<String>,
}

/// What is given on the command line in place of a key of the plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides {
    /// The least time of a step.
    pub dwell: Option<Duration>,
    /// The candidate's largest share of all traffic, 0 to 1.
    pub max_share: Option<f64>,
}

/// Which backend of which balancer: all that `--status` and `--abort` need of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedBackend {
    /// The admin socket.
    pub socket: PathBuf,
    /// The name of the backend.
    pub backend: Name,
}

#[derive(Debug, Deserialize)]
struct RawBackendPlan {
    balancer: RawBackend,
}

#[derive(Debug, Deserialize)]
struct RawBackend {
    socket: PathBuf,
    backend: String,
}

impl PlannedBackend {
    /// Reads these keys of a plan, whatever else is in it: a run is ended also if somebody has spoiled its plan since then.
    pub fn read(file: &Path) -> Result<Self, PlanError> {
        let text =
            read_text(file).map_err(|source| PlanError::Unreadable { file: file.to_owned(), source })?;
        let raw: RawBackendPlan = from_toml(&text, file)?;
        Self::of(raw.balancer.socket, raw.balancer.backend).map_err(|bad| bad.in_plan(&text, file))
    }

    fn of(path: PathBuf, backend: String) -> Result<Self, BadValue> {
        Ok(Self { socket: socket(path)?, backend: name("[balancer] backend", backend)? })
    }
}

/// The servers that a run has compared, by the plan in its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedNames {
    /// The new server.
    pub candidate: Name,
    /// The old version. A ramp may have it in its plan, too.
    pub control: Option<Name>,
}

#[derive(Debug, Deserialize)]
struct RawNames {
    candidate: RawName,
    control: Option<RawName>,
}

#[derive(Debug, Deserialize)]
struct RawName {
    name: Name,
}

impl PlannedNames {
    /// Reads these keys of a plan.
    pub fn read(file: &Path) -> Result<Self, PlanError> {
        let text =
            read_text(file).map_err(|source| PlanError::Unreadable { file: file.to_owned(), source })?;
        let raw: RawNames = from_toml(&text, file)?;
        Ok(Self { candidate: raw.candidate.name, control: raw.control.map(|control| control.name) })
    }
}

/// Where the balancer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedBalancer {
    /// Which backend.
    pub place: PlannedBackend,
    /// Where the log arrives.
    pub log: LogAddress,
    /// The balancer's configuration file, if it may be read.
    pub configuration: Option<PathBuf>,
    /// How long the lease is valid without a renewal.
    pub lease: Duration,
}

/// A checked plan.
#[derive(Debug, Clone)]
pub struct ShiftPlan {
    /// The file that was read.
    file: PathBuf,
    /// The text that was checked.
    pub text: String,
    /// Where the balancer is.
    pub balancer: PlannedBalancer,
    /// The servers that carry the traffic, by their names in the backend.
    pub old: Vec<Name>,
    /// The new server.
    pub candidate: Joining,
    /// The old version, started at the same time as the candidate.
    pub control: Option<Joining>,
    /// The logs of mail servers. None if this is no mail.
    pub mail: Option<MailSettings>,
    /// The percentile of the objective, 0 to 100.
    pub quantile: f64,
    margin: f64,
    negligible: f64,
    alpha: f64,
    steps: Vec<u32>,
    dwell_s: u64,
    longest_s: u64,
    max_share: f64,
    hard: HardLimits,
}

impl ShiftPlan {
    /// Reads and checks a plan.
    pub fn read(file: &Path, overrides: Overrides) -> Result<Self, PlanError> {
        let text =
            read_text(file).map_err(|source| PlanError::Unreadable { file: file.to_owned(), source })?;
        Self::parse(&text, file, overrides)
    }

    fn parse(text: &str, file: &Path, overrides: Overrides) -> Result<Self, PlanError> {
        let raw: RawPlan = from_toml(text, file)?;
        Self::check(raw, text, file, overrides).map_err(|bad| bad.in_plan(text, file))
    }

    fn check(raw: RawPlan, text: &str, file: &Path, overrides: Overrides) -> Result<Self, BadValue> {
        let rules = raw.rules;
        let (quantile, objective_ms) = objective(&rules.objective)?;
        let dwell = time("[rules] dwell", rules.dwell.as_deref(), "5m", parse_duration_or_zero)?;
        let longest = time("[rules] longest", rules.longest.as_deref(), "1h", parse_duration)?;
        let dwell_s = overrides.dwell.unwrap_or(dwell).as_secs();
        if longest.as_secs() <= dwell_s {
            let reason = format!("a step has no time beyond its dwell of {dwell_s} s: give more");
            return Err(bad("[rules] longest", reason));
        }
        let margin = rules.margin.unwrap_or(1.25);
        if !(margin > 1.0 && margin <= 100.0) {
            return Err(bad("[rules] margin", "a ratio above 1 that does not matter, such as 1.25"));
        }
        let steps = rules.steps.unwrap_or_else(|| WEIGHTS.to_vec());
        let is_rising = steps.windows(2).all(|pair| pair[0] < pair[1]);
        if steps.is_empty()
            || !is_rising
            || steps[0] == 0
            || steps.iter().any(|weight| *weight > HIGHEST_WEIGHT)
        {
            return Err(bad("[rules] steps", "rising weights from 1 to 256, such as [1, 4, 16, 32, 64]"));
        }
        let queued = seconds("[rules] hard_queued", rules.hard_queued.as_deref(), "10m")?;
        let mail_logs = mail::PlannedLogs {
            old: raw.old.mail_logs,
            candidate: (raw.candidate.name.clone(), raw.candidate.mail_log.clone()),
            control: raw.control.as_ref().map(|control| (control.name.clone(), control.mail_log.clone())),
        };
        let max_share = share("[rules] max_share", rules.max_share.as_deref(), "50%")?;
        let plan = Self {
            balancer: PlannedBalancer {
                place: PlannedBackend::of(raw.balancer.socket, raw.balancer.backend)?,
                log: log(&raw.balancer.log)?,
                configuration: raw.balancer.configuration,
                lease: seconds("[balancer] lease", raw.balancer.lease.as_deref(), "2s")?,
            },
            old: names("[old] servers", raw.old.servers)?,
            candidate: server(raw.candidate, &CANDIDATE_KEYS)?,
            control: raw.control.map(|control| server(control, &CONTROL_KEYS)).transpose()?,
            mail: mail_logs.settings(queued.as_secs())?,
            quantile,
            margin,
            negligible: share("[rules] negligible", rules.negligible.as_deref(), "0.2%")?,
            alpha: alpha(rules.alpha.as_deref())?,
            steps,
            dwell_s,
            longest_s: longest.as_secs(),
            max_share: overrides.max_share.unwrap_or(max_share),
            hard: HardLimits {
                failed: share("[rules] hard_failed", rules.hard_failed.as_deref(), "2%")?,
                late: share("[rules] hard_late", rules.hard_late.as_deref(), "50%")?,
                deferred: share("[rules] hard_deferred", rules.hard_deferred.as_deref(), "50%")?,
                queued_s: queued.as_secs(),
                objective_ms,
            },
            text: text.to_owned(),
            file: file.to_owned(),
        };
        plan.check_servers()?;
        Ok(plan)
    }

    fn check_servers(&self) -> Result<(), BadValue> {
        if self.old.is_empty() {
            return Err(bad("[old] servers", "name the servers that carry the traffic, such as [\"old1\"]"));
        }
        let old = self.old.iter().map(|name| ("[old] servers", name));
        let candidate = [(CANDIDATE_KEYS.name, &self.candidate.name)];
        let control = self.control.iter().map(|control| (CONTROL_KEYS.name, &control.name));
        let mut names = BTreeSet::new();
        for (key, name) in old.chain(candidate).chain(control) {
            if !names.insert(name) {
                return Err(bad(key, format!("{name} is named twice: name each server once")));
            }
        }
        let address = self.candidate.address;
        if self.control.as_ref().is_some_and(|control| control.address == address) {
            let reason = format!("{address} is the candidate's, too: start the old version at another one");
            return Err(bad(CONTROL_KEYS.address, reason));
        }
        Ok(())
    }

    /// The error of a key, with its line.
    fn bad_value(&self, key: &'static str, reason: impl Into<String>) -> PlanError {
        bad(key, reason).in_plan(&self.text, &self.file)
    }

    /// The servers of a run that join the backend.
    pub fn joining(&self, participants: &Participants) -> Vec<Joining> {
        let mut joining = vec![self.candidate.clone()];
        if participants.control.is_some() {
            joining.extend(self.control.clone());
        }
        joining
    }

    /// The servers of a canary. A canary needs a control.
    pub fn canary_participants(&self) -> Result<Participants, PlanError> {
        let Some(control) = &self.control else {
            let reason =
                "a canary compares with a fresh server of the old version: add [control], or pass --ramp";
            return Err(self.bad_value("[control]", reason));
        };
        let control = Some(control.name.clone());
        Ok(Participants { candidate: self.candidate.name.clone(), control, old: self.old.clone() })
    }

    /// The servers of a ramp, which has no control.
    pub fn ramp_participants(&self) -> Participants {
        Participants { candidate: self.candidate.name.clone(), control: None, old: self.old.clone() }
    }

    /// The numbers of a canary.
    pub fn canary_rules(&self) -> Result<CanaryRules, PlanError> {
        let steps = usual_steps(&self.steps, self.margin, self.max_share, self.old.len());
        if steps.is_empty() {
            return Err(self.bad_value(
                "[rules] max_share",
                "no step has so small a share: give more, or add a smaller weight to steps",
            ));
        }
        Ok(CanaryRules {
            steps,
            left_out: weights_left_out(&self.steps, self.max_share, self.old.len()),
            max_share: self.max_share,
            dwell_s: self.dwell_s,
            longest_s: self.longest_s,
            margin: self.margin,
            negligible: self.negligible,
            alpha: self.alpha,
            is_mail: self.mail.is_some(),
            hard: self.hard,
        })
    }

    /// The numbers of a ramp.
    pub fn ramp_rules(&self) -> Result<RampRules, PlanError> {
        let multiples = usual_multiples(self.max_share, self.old.len());
        if multiples.is_empty() {
            let reason = "the share of one old server is larger: give more";
            return Err(self.bad_value("[rules] max_share", reason));
        }
        Ok(RampRules {
            multiples,
            dwell_s: self.dwell_s,
            longest_s: self.longest_s,
            quantile: self.quantile,
            alpha: self.alpha,
            hard: self.hard,
        })
    }
}

/// The keys of a server, for errors.
struct ServerKeys {
    name: &'static str,
    address: &'static str,
    health: &'static str,
}

const CANDIDATE_KEYS: ServerKeys =
    ServerKeys { name: "[candidate] name", address: "[candidate] address", health: "[candidate] health" };
const CONTROL_KEYS: ServerKeys =
    ServerKeys { name: "[control] name", address: "[control] address", health: "[control] health" };

fn server(raw: RawServer, keys: &ServerKeys) -> Result<Joining, BadValue> {
    let RawServer { name: text, address: place, health, proxy_protocol, mail_log } = raw;
    let probe = match health {
        Some(_) if mail_log.is_some() => {
            return Err(bad(keys.health, "a mail server is asked by SMTP: remove it, or mail_log"));
        }
        None if mail_log.is_some() => {
            Probe::Smtp { sends_proxy_header: proxy_protocol, within_ms: GREETING_MS }
        }
        None => Probe::Connect,
        Some(path) if path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Probe::Http { path, within_ms: PROBE_MS }
        }
        Some(path) => {
            return Err(bad(keys.health, format!("{path:?} is not a path such as /health, without spaces")));
        }
    };
    Ok(Joining {
        name: name(keys.name, text)?,
        address: address(keys.address, &place)?,
        probe,
        sends_proxy_header: proxy_protocol,
        most_connections: None,
    })
}

#[cfg(test)]
mod tests;
