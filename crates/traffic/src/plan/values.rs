//! Values of a plan: how each kind is parsed, and why one cannot be used.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::inputs::slo::{Bound, Quantity, Slo};
use load::inputs::units::parse_share;
use notation::source_text::{FileError, SourceText};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::balancer::log::receiver::{BadLogAddress, LogAddress};
use crate::name::{BadName, Name};

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
    #[error("{0}; docs/LIVE-TRAFFIC.md has every key")]
    Text(FileError),
    /// A key has a value that cannot be used.
    #[error("{key}: {reason}")]
    Key {
        /// The key, with its table.
        key: &'static str,
        /// Why, and what to write.
        reason: String,
    },
}

/// A key whose value cannot be used, and what to write.
pub(super) fn bad(key: &'static str, reason: impl Into<String>) -> PlanError {
    PlanError::Key { key, reason: reason.into() }
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

/// One percentile and its limit in whole ms.
pub(super) fn objective(text: &str) -> Result<(f64, u32), PlanError> {
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

/// A time, or the default of its key.
pub(super) fn time<E: std::fmt::Display>(
    key: &'static str,
    text: Option<&str>,
    default: &str,
    parse: impl Fn(&str) -> Result<Duration, E>,
) -> Result<Duration, PlanError> {
    parse(text.unwrap_or(default)).map_err(|error| bad(key, error.to_string()))
}

/// Where a log arrives.
pub(super) fn log(text: &str) -> Result<LogAddress, PlanError> {
    text.parse().map_err(|error: BadLogAddress| bad("[balancer] log", error.to_string()))
}

pub(super) fn name(key: &'static str, text: String) -> Result<Name, PlanError> {
    text.try_into().map_err(|error: BadName| bad(key, error.to_string()))
}

pub(super) fn names(key: &'static str, texts: Vec<String>) -> Result<Vec<Name>, PlanError> {
    let mut names = Vec::new();
    for text in texts {
        names.push(name(key, text)?);
    }
    Ok(names)
}

/// A share, 0 to 1, or the default of its key.
pub(super) fn share(key: &'static str, text: Option<&str>, default: &str) -> Result<f64, PlanError> {
    parse_share(text.unwrap_or(default)).map_err(|error| bad(key, error.to_string()))
}
