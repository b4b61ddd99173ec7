//! Values of a plan: how each kind is parsed, and why one cannot be used.

use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::inputs::slo::{Bound, Quantity, Slo};
use load::inputs::units::{parse_duration, parse_share};
use notation::source_text::{FileError, SourceText, line_of};
use serde::de::DeserializeOwned;
use thiserror::Error;
use toml::de::DeTable;

use crate::balancer::log::receiver::{BadLogAddress, LogAddress};
use crate::name::{BadName, Name};

/// The largest file that is read as a plan.
const MOST_BYTES: u64 = 1 << 20;

/// Why a plan cannot be used: one line with the file, the line, the key, the reason and the remedy.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The file cannot be read.
    #[error("cannot read the plan {}: {source}: name a file, docs/LIVE-TRAFFIC.md has an example", file.display())]
    Unreadable {
        /// The plan.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// It is no plan: not TOML, a key that is missing, or one that does not exist.
    #[error("{0}; docs/LIVE-TRAFFIC.md has every key")]
    Text(FileError),
    /// A key has a value that cannot be used.
    #[error("{0}")]
    Value(FileError),
}

/// A key whose value cannot be used.
#[derive(Debug)]
pub(super) struct BadValue {
    /// The key, with its table.
    key: &'static str,
    /// Why, and what to write.
    reason: String,
}

/// A key whose value cannot be used, and what to write.
pub(super) fn bad(key: &'static str, reason: impl Into<String>) -> BadValue {
    BadValue { key, reason: reason.into() }
}

impl BadValue {
    /// The error, with the line of the key in the plan.
    pub(super) fn in_plan(self, text: &str, file: &Path) -> PlanError {
        let source = SourceText { file: &file.to_string_lossy(), text };
        let message = format!("{}: {}", self.key, self.reason);
        PlanError::Value(source.error_at_line(line_of_key(text, self.key), message))
    }
}

/// The line of a key such as `[rules] margin`. If it is not there, that of its table; if this is not there either, the first one.
fn line_of_key(text: &str, key: &str) -> usize {
    let (table, key) = key.trim_start_matches('[').split_once(']').unwrap_or_default();
    let Ok(plan) = DeTable::parse(text) else { return 1 };
    let Some((name, of_table)) = plan.get_ref().get_key_value(table) else { return 1 };
    let keys = of_table.get_ref().as_table();
    let found = keys.and_then(|keys| keys.get_key_value(key.trim())).map(|(key, _)| key);
    line_of(text, found.unwrap_or(name).span().start)
}

/// The text of a file that may be a plan.
pub(super) fn read_text(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(file)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

/// What a text says, or which of its keys is wrong.
pub(super) fn from_toml<T: DeserializeOwned>(text: &str, file: &Path) -> Result<T, PlanError> {
    let source = SourceText { file: &file.to_string_lossy(), text };
    toml::from_str(text).map_err(|error| PlanError::Text(source.toml_error(&error)))
}

/// One percentile and its limit in whole ms: HAProxy's log has no smaller unit.
pub(super) fn objective(text: &str) -> Result<(f64, u32), BadValue> {
    let slo: Slo = text.parse().map_err(|_| no_objective(text))?;
    // A bound that is not written is there, too: the one that objectives have by default.
    if text.split(',').any(|bound| bound.trim_start().starts_with("errors")) {
        let reason = format!(
            "{text:?} has a bound of errors, which is not an objective here: write it as hard_failed, such as hard_failed = \"0.1%\""
        );
        return Err(bad("[rules] objective", reason));
    }
    let times: Vec<&Bound> = slo.bounds().iter().filter(|bound| bound.quantity != Quantity::Errors).collect();
    let [Bound { quantity: Quantity::Percentile(percent), limit: limit_us }] = times[..] else {
        return Err(no_objective(text));
    };
    let milliseconds = (limit_us / 1000.0).round();
    // What a number of seconds cannot be exactly is less than a nanosecond here.
    let is_whole = (limit_us - 1000.0 * milliseconds).abs() < 0.001;
    if *percent < 100.0 && milliseconds >= 1.0 && is_whole {
        Ok((*percent, milliseconds as u32))
    } else {
        Err(no_objective(text))
    }
}

fn no_objective(text: &str) -> BadValue {
    let reason =
        format!("{text:?} is not one percentile of the response time in whole ms, such as p99<200ms");
    bad("[rules] objective", reason)
}

/// A time, or the default of its key.
pub(super) fn time<E: std::fmt::Display>(
    key: &'static str,
    text: Option<&str>,
    default: &str,
    parse: impl Fn(&str) -> Result<Duration, E>,
) -> Result<Duration, BadValue> {
    parse(text.unwrap_or(default)).map_err(|error| bad(key, error.to_string()))
}

/// Where a log arrives.
pub(super) fn log(text: &str) -> Result<LogAddress, BadValue> {
    text.parse().map_err(|error: BadLogAddress| bad("[balancer] log", error.to_string()))
}

pub(super) fn name(key: &'static str, text: String) -> Result<Name, BadValue> {
    text.try_into().map_err(|error: BadName| bad(key, error.to_string()))
}

pub(super) fn names(key: &'static str, texts: Vec<String>) -> Result<Vec<Name>, BadValue> {
    let mut names = Vec::new();
    for text in texts {
        names.push(name(key, text)?);
    }
    Ok(names)
}

/// A text that is no percentage.
#[derive(Debug, Error)]
#[error("{text:?} is not a percentage above 0% and up to 100%, with its sign: such as 2%")]
pub struct NoPercentage {
    text: String,
}

/// A percentage as a share, 0 to 1. It needs its sign: `0.01` may be meant for 1 %.
pub fn parse_percentage(text: &str) -> Result<f64, NoPercentage> {
    let no_percentage = NoPercentage { text: text.to_owned() };
    if !text.trim().ends_with('%') {
        return Err(no_percentage);
    }
    parse_share(text).map_err(|_| no_percentage)
}

/// A share, 0 to 1, or the default of its key.
pub(super) fn share(key: &'static str, text: Option<&str>, default: &str) -> Result<f64, BadValue> {
    parse_percentage(text.unwrap_or(default)).map_err(|error| bad(key, error.to_string()))
}

/// The probability of a false alarm, or its default.
pub(super) fn alpha(text: Option<&str>) -> Result<f64, BadValue> {
    let alpha = share("[rules] alpha", text, "1%")?;
    if alpha >= 0.5 {
        return Err(bad(
            "[rules] alpha",
            "every second alarm may be a false one: give less than 50%, such as 1%",
        ));
    }
    Ok(alpha)
}

/// An address where a server listens.
pub(super) fn address(key: &'static str, text: &str) -> Result<SocketAddr, BadValue> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Ok(address),
        _ => Err(bad(key, format!("{text:?} is not an IP address with a port, such as 127.0.0.1:8081"))),
    }
}

/// The admin socket, which is a file.
pub(super) fn socket(path: PathBuf) -> Result<PathBuf, BadValue> {
    let is_tcp = path.to_str().is_some_and(|text| text.parse::<SocketAddr>().is_ok());
    if is_tcp || path.as_os_str().is_empty() {
        let reason = format!(
            "\"{}\" is not the path of a socket, such as /run/haproxy/admin.sock: HAProxy's `stats socket` has it",
            path.display()
        );
        return Err(bad("[balancer] socket", reason));
    }
    Ok(path)
}

/// A time that is not shorter than a second.
pub(super) fn seconds(key: &'static str, text: Option<&str>, default: &str) -> Result<Duration, BadValue> {
    let time = time(key, text, default, parse_duration)?;
    if time < Duration::from_secs(1) {
        return Err(bad(key, "it is shorter than a second: give 1s or more"));
    }
    Ok(time)
}
