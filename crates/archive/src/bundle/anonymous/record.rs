//! Whether a file of the record can be read: by its name, as the reader of a run does it.

use crate::{
    layout,
    model::{Concurrency, Explanation, Facts, Plan, Trial, TuningRecord, Verdict},
    run::parse_run_file,
    telemetry::Telemetry,
};
use serde::de::IgnoredAny;
use std::path::Path;

/// What is wrong with a file of this name, if it cannot be read.
pub(super) fn check(name: &Path, bytes: &[u8]) -> Result<(), String> {
    let file = name.file_name().and_then(|file| file.to_str()).unwrap_or_default();
    let is_config = name.components().any(|part| part.as_os_str() == layout::CONFIG);
    let extension = name.extension().and_then(|extension| extension.to_str());
    match (file, extension) {
        _ if is_config => Ok(()),
        (layout::PLAN, _) => {
            let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
            text.parse::<Plan>().map(drop).map_err(|error| error.to_string())
        }
        (layout::FACTS, _) => parse_run_file::<Facts>(name, bytes),
        (layout::TRIAL, _) => parse_run_file::<Trial>(name, bytes),
        (layout::VERDICT, _) => parse_run_file::<Verdict>(name, bytes),
        (layout::EXPLANATION, _) => parse_run_file::<Explanation>(name, bytes),
        (layout::CONCURRENCY, _) => parse_run_file::<Concurrency>(name, bytes),
        (layout::TUNING, _) => parse_run_file::<TuningRecord>(name, bytes),
        (layout::TAGS, _) => parse::<Vec<String>>(bytes),
        (_, Some("json")) => parse::<IgnoredAny>(bytes),
        (_, Some("parquet")) => {
            Telemetry::from_parquet(bytes.to_vec()).map(drop).map_err(|error| error.to_string())
        }
        _ => Ok(()),
    }
}

fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<(), String> {
    serde_json::from_slice::<T>(bytes).map(drop).map_err(|error| error.to_string())
}
