//! The plan of a run on live traffic: a TOML file, parsed once into numbers and addresses. docs/LIVE-TRAFFIC.md has every key.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::inputs::slo::{Bound, Quantity, Slo};
use load::inputs::units::{parse_duration, parse_duration_or_zero, parse_share};
use serde::Deserialize;
use thiserror::Error;

use crate::balancer::interface::HIGHEST_WEIGHT;
use crate::guard::HardLimits;
use crate::ramp::{RampRules, usual_multiples};
use crate::rollout::{CanaryRules, WEIGHTS, usual_steps};
use crate::weights::Participants;

/// The largest file that is read as a plan.
const MOST_BYTES: u64 = 1 << 20;

/// Why a plan cannot be used: one line with the key, the reason and the remedy.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The file cannot be read.
    #[error("cannot read the plan {}: {source}", file.display())]
    Unreadable {
        /// The plan.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// It is no plan: not TOML, a key that is missing, or one that does not exist.
    #[error("{}: {reason}; docs/LIVE-TRAFFIC.md has every key", file.display())]
    Text {
        /// The plan.
        file: PathBuf,
        /// What the parser says, in one line.
        reason: String,
    },
    /// A key has a value that cannot be used.
    #[error("{key}: {reason}")]
    Key {
        /// The key, with its table.
        key: &'static str,
        /// Why, and what to write.
        reason: String,
    },
}

fn bad(key: &'static str, reason: impl Into<String>) -> PlanError {
    PlanError::Key { key, reason: reason.into() }
}

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
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawServer {
    name: String,
    address: String,
    health: Option<String>,
    #[serde(default)]
    proxy_protocol: bool,
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
}

/// What is given on the command line in place of a key of the plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides {
    /// The least time of a step.
    pub dwell: Option<Duration>,
    /// The candidate's largest share of all traffic, 0 to 1.
    pub max_share: Option<f64>,
}

/// Where the balancer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedBalancer {
    /// The admin socket.
    pub socket: PathBuf,
    /// The name of the backend.
    pub backend: String,
    /// Where the log arrives, as text.
    pub log: String,
    /// The balancer's configuration file, if it may be read.
    pub configuration: Option<PathBuf>,
    /// How long the lease is valid without a renewal.
    pub lease: Duration,
}

/// A server that joins the backend for the run. It runs already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedServer {
    /// Its name in the backend.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// The path of a page that answers while the server is well. None: a connection suffices.
    pub health: Option<String>,
    /// Whether the balancer sends the PROXY protocol.
    pub proxy_protocol: bool,
}

/// A checked plan.
#[derive(Debug, Clone)]
pub struct ShiftPlan {
    /// The text that was checked.
    pub text: String,
    /// Where the balancer is.
    pub balancer: PlannedBalancer,
    /// The servers that carry the traffic, by their names in the backend.
    pub old: Vec<String>,
    /// The new server.
    pub candidate: PlannedServer,
    /// The old version, started at the same time as the candidate.
    pub control: Option<PlannedServer>,
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
        Self::parse(text, overrides).map_err(|error| match error {
            PlanError::Text { reason, .. } => PlanError::Text { file: file.to_owned(), reason },
            other => other,
        })
    }

    fn parse(text: String, overrides: Overrides) -> Result<Self, PlanError> {
        let raw: RawPlan = toml::from_str(&text).map_err(|error| PlanError::Text {
            file: PathBuf::new(),
            reason: error.message().lines().collect::<Vec<_>>().join(" "),
        })?;
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
        let max_share = share("[rules] max_share", rules.max_share.as_deref(), "50%")?;
        let plan = Self {
            balancer: PlannedBalancer {
                socket: raw.balancer.socket,
                backend: raw.balancer.backend,
                log: raw.balancer.log,
                configuration: raw.balancer.configuration,
                lease: time("[balancer] lease", raw.balancer.lease.as_deref(), "2s", parse_duration)?,
            },
            old: raw.old.servers,
            candidate: server(raw.candidate, "[candidate] address")?,
            control: raw.control.map(|control| server(control, "[control] address")).transpose()?,
            quantile,
            margin,
            negligible: share("[rules] negligible", rules.negligible.as_deref(), "0.2%")?,
            alpha: share("[rules] alpha", rules.alpha.as_deref(), "1%")?,
            steps,
            dwell_s,
            longest_s: longest.as_secs(),
            max_share: overrides.max_share.unwrap_or(max_share),
            hard: HardLimits {
                failed: share("[rules] hard_failed", rules.hard_failed.as_deref(), "2%")?,
                late: share("[rules] hard_late", rules.hard_late.as_deref(), "50%")?,
                objective_ms,
            },
            text,
        };
        plan.check_names()?;
        Ok(plan)
    }

    fn check_names(&self) -> Result<(), PlanError> {
        if self.old.is_empty() {
            return Err(bad("[old] servers", "name the servers that carry the traffic, such as [\"old1\"]"));
        }
        let added = std::iter::once(&self.candidate).chain(&self.control).map(|server| &server.name);
        let mut names = BTreeSet::new();
        for name in self.old.iter().chain(added) {
            if !names.insert(name) {
                return Err(bad(
                    "[candidate], [control], [old]",
                    format!("{name} is named twice: name each server once"),
                ));
            }
        }
        Ok(())
    }

    /// The servers of a canary. A canary needs a control.
    pub fn canary_participants(&self) -> Result<Participants, PlanError> {
        let Some(control) = &self.control else {
            let reason =
                "a canary compares with a fresh server of the old version: add [control], or pass --ramp";
            return Err(bad("[control]", reason));
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
            return Err(bad(
                "[rules] max_share",
                "no step has so small a share: give more, or add a smaller weight to steps",
            ));
        }
        Ok(CanaryRules {
            steps,
            dwell_s: self.dwell_s,
            longest_s: self.longest_s,
            margin: self.margin,
            negligible: self.negligible,
            alpha: self.alpha,
            hard: self.hard,
        })
    }

    /// The numbers of a ramp.
    pub fn ramp_rules(&self) -> Result<RampRules, PlanError> {
        let multiples = usual_multiples(self.max_share, self.old.len());
        if multiples.is_empty() {
            let reason = "the share of one old server is larger: give more";
            return Err(bad("[rules] max_share", reason));
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

fn read_text(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(file)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

/// One percentile and its limit in whole ms.
fn objective(text: &str) -> Result<(f64, u32), PlanError> {
    const EXPECTED: &str = "one percentile of the response time in whole ms, such as p99<200ms";
    let slo: Slo = text.parse().map_err(|_| bad("[rules] objective", EXPECTED))?;
    let times: Vec<&Bound> = slo.bounds().iter().filter(|bound| bound.quantity != Quantity::Errors).collect();
    match times[..] {
        [Bound { quantity: Quantity::Percentile(percent), limit }]
            if *limit >= 1000.0 && *percent < 100.0 =>
        {
            Ok((*percent, (limit / 1000.0) as u32))
        }
        _ => Err(bad("[rules] objective", EXPECTED)),
    }
}

fn server(raw: RawServer, key: &'static str) -> Result<PlannedServer, PlanError> {
    let address =
        raw.address.parse().map_err(|_| bad(key, "an address with a port, such as 127.0.0.1:8081"))?;
    let RawServer { name, health, proxy_protocol, .. } = raw;
    Ok(PlannedServer { name, address, health, proxy_protocol })
}

fn time<E: std::fmt::Display>(
    key: &'static str,
    text: Option<&str>,
    default: &str,
    parse: impl Fn(&str) -> Result<Duration, E>,
) -> Result<Duration, PlanError> {
    parse(text.unwrap_or(default)).map_err(|error| bad(key, error.to_string()))
}

fn share(key: &'static str, text: Option<&str>, default: &str) -> Result<f64, PlanError> {
    parse_share(text.unwrap_or(default)).map_err(|error| bad(key, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
[balancer]
socket = "/run/haproxy/admin.sock"
backend = "web"
log = "127.0.0.1:5140"

[old]
servers = ["old1", "old2"]

[candidate]
name = "candidate"
address = "127.0.0.1:8081"

[control]
name = "control"
address = "127.0.0.1:8082"

[rules]
objective = "p99<200ms"
"#;

    fn parse(text: &str) -> Result<ShiftPlan, PlanError> {
        ShiftPlan::parse(text.to_owned(), Overrides::default())
    }

    #[test]
    fn a_short_plan_has_the_usual_numbers() {
        let plan = parse(PLAN).unwrap();
        let rules = plan.canary_rules().unwrap();
        assert_eq!(rules.steps.len(), 5);
        assert_eq!((rules.dwell_s, rules.longest_s, rules.margin, rules.alpha), (300, 3600, 1.25, 0.01));
        assert_eq!(rules.hard, HardLimits { failed: 0.02, late: 0.5, objective_ms: 200 });
        assert_eq!(plan.canary_participants().unwrap().control.as_deref(), Some("control"));
        // Of two old servers, two old servers' share is a half.
        assert_eq!(plan.ramp_rules().unwrap().multiples, [1.0, 1.5, 2.0]);
    }

    #[test]
    fn options_replace_keys() {
        let overrides = Overrides { dwell: Some(Duration::from_secs(7)), max_share: Some(0.01) };
        let plan = ShiftPlan::parse(PLAN.to_owned(), overrides).unwrap();
        let rules = plan.canary_rules().unwrap();
        assert_eq!((rules.dwell_s, rules.steps.len()), (7, 1));
        assert!(plan.ramp_rules().unwrap_err().to_string().starts_with("[rules] max_share: "));
    }

    #[test]
    fn a_mistake_is_named_with_its_key_and_what_to_write() {
        for (from, to, text) in [
            ("p99<200ms", "p99<200us", "[rules] objective: one percentile of the response time in whole ms"),
            ("p99<200ms", "p99<200ms,p50<10ms", "[rules] objective: one percentile"),
            ("p99<200ms\"", "p99<200ms\"\nmargin = 0.5", "[rules] margin: a ratio above 1"),
            ("p99<200ms\"", "p99<200ms\"\nsteps = [4, 1]", "[rules] steps: rising weights"),
            (
                "p99<200ms\"",
                "p99<200ms\"\ndwell = \"2h\"",
                "[rules] longest: a step has no time beyond its dwell",
            ),
            ("p99<200ms\"", "p99<200ms\"\nalpha = \"x\"", "[rules] alpha: "),
            ("p99<200ms\"", "p99<200ms\"\nmargn = 2", "unknown field `margn`"),
            ("127.0.0.1:8081", "8081", "[candidate] address: an address with a port"),
            ("\"old1\", \"old2\"", "", "[old] servers: name the servers"),
            ("\"control\"", "\"old1\"", "old1 is named twice"),
            ("backend = \"web\"", "", "missing field `backend`"),
        ] {
            let found = parse(&PLAN.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(found.contains(text), "{found} lacks {text}");
            assert_eq!(found.lines().count(), 1, "{found}");
        }
    }

    #[test]
    fn a_canary_needs_a_control_and_a_ramp_does_not() {
        let without = PLAN.replace("[control]\nname = \"control\"\naddress = \"127.0.0.1:8082\"\n", "");
        let plan = parse(&without).unwrap();
        assert!(plan.canary_participants().unwrap_err().to_string().contains("pass --ramp"));
        assert_eq!(plan.ramp_participants().control, None);
    }

    /// The page has each key of a plan, and no other.
    #[test]
    fn every_key_is_documented() {
        let page = include_str!("../../../docs/LIVE-TRAFFIC.md");
        let (_, section) = page.split_once("## The plan").expect("the section");
        let section = section.split("\n## ").next().expect("its end");
        let rows = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
            .filter_map(|row| row.split('`').next());
        let documented: BTreeSet<&str> = rows.collect();
        let mut accepted = BTreeSet::new();
        for table in ["balancer", "old", "candidate", "control", "rules"] {
            // The parser lists the keys of a table where one does not exist.
            let text = PLAN.replace(&format!("[{table}]"), &format!("[{table}]\nno_such_key = 1"));
            let error = parse(&text).unwrap_err().to_string();
            let (_, expected) = error.split_once("expected ").unwrap_or_else(|| panic!("{error}"));
            let keys = expected.split('`').skip(1).step_by(2);
            accepted.extend(keys.map(|key| format!("{table}.{key}")));
        }
        let accepted: BTreeSet<&str> = accepted.iter().map(String::as_str).collect();
        assert_eq!(documented, accepted);
    }
}
