//! Names of the files of a run directory; nothing else in the crate spells them.

use crate::id::slug;

/// What was asked.
pub const PLAN: &str = "plan.toml";
/// Host, client and variants as found.
pub const FACTS: &str = "facts.json";
/// What may be said. A run without it is unfinished.
pub const VERDICT: &str = "verdict.json";
/// Words to find the run by, where they were changed after the plan.
pub const TAGS: &str = "tags.json";
/// The folder of trials.
pub const TRIALS: &str = "trials";
/// A trial's record, in its folder. A trial without it was cut off.
pub const TRIAL: &str = "trial.json";
/// The load of a trial as an `HdrHistogram` log.
pub const LOAD_LOG: &str = "load.hlog";
/// The host's telemetry during a trial.
pub const TELEMETRY: &str = "telemetry.parquet";
/// The effective configurations of a trial's server.
pub const CONFIG: &str = "config";
/// What the server of a trial wrote.
pub const SERVER_LOG: &str = "server.log";

/// The folder of a trial relative to the run directory, such as `trials/003-apache`.
pub fn trial_folder(number: u32, variant: &str) -> String {
    let variant = slug(variant);
    let variant = if variant.is_empty() { "variant" } else { &variant };
    format!("{TRIALS}/{number:03}-{variant}")
}

/// Hidden files are being written or were left by a crash: they are no part of the record.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trial_folders_sort_by_number_and_name_the_variant() {
        assert_eq!(trial_folder(3, "apache:mpm=event"), "trials/003-apache-mpm-event");
        assert_eq!(trial_folder(1234, "../../x"), "trials/1234-x");
        assert_eq!(trial_folder(1, "中"), "trials/001-variant");
    }
}
