//! Names of the files of a run directory. All other modules use these constants.

use crate::id::slug;

/// The plan.
pub const PLAN: &str = "plan.toml";
/// Facts of the host, the client and the variants.
pub const FACTS: &str = "facts.json";
/// The verdict. A run without it is unfinished.
pub const VERDICT: &str = "verdict.json";
/// Words to find the run by, if they were changed after the plan.
pub const TAGS: &str = "tags.json";
/// What limits the servers, in a run that explains and has no trials.
pub const EXPLANATION: &str = "explanation.json";
/// How many downloads a server has in progress at once, in a run of `showdown concurrency`, which has no trials.
pub const CONCURRENCY: &str = "concurrency.json";
/// What `showdown tune` has tried and kept.
pub const TUNING: &str = "tuning.json";
/// The folder of the runs in which a search has tried tunings: each is a run directory.
pub const SEARCH: &str = "search";
/// The folder of profiles.
pub const PROFILES: &str = "profiles";
/// The folder of trials.
pub const TRIALS: &str = "trials";
/// The results of a trial, in its folder. A trial without it was cut off.
pub const TRIAL: &str = "trial.json";
/// The load of a trial as an `HdrHistogram` log.
pub const LOAD_LOG: &str = "load.hlog";
/// The host's telemetry during a trial.
pub const TELEMETRY: &str = "telemetry.parquet";
/// The telemetry of this machine in a trial whose server is elsewhere, in the trial's folder.
pub const CLIENT_TELEMETRY: &str = "client-telemetry.parquet";
/// The watts of each meter, in a trial's folder.
pub const POWER: &str = "power.parquet";
/// The effective configuration files of a trial's server.
pub const CONFIG: &str = "config";
/// Marks a run that was imported. It stays on this machine: hidden files are not exported.
pub const IMPORTED: &str = ".imported";
/// The output of a trial's server.
pub const SERVER_LOG: &str = "server.log";

/// The name of a variant's profile, relative to the run directory, such as `profiles/nginx.folded`.
pub fn profile(variant: &str) -> String {
    format!("{PROFILES}/{}.folded", variant_slug(variant))
}

/// The name of the waits of a variant, relative to the run directory, such as `profiles/nginx.waits.folded`.
pub fn waits(variant: &str) -> String {
    format!("{PROFILES}/{}.waits.folded", variant_slug(variant))
}

/// The folder of a trial relative to the run directory, such as `trials/003-apache`.
pub fn trial_folder(number: u32, variant: &str) -> String {
    format!("{TRIALS}/{number:03}-{}", variant_slug(variant))
}

fn variant_slug(variant: &str) -> String {
    let slug = slug(variant);
    if slug.is_empty() { "variant".to_owned() } else { slug }
}

/// Maximum depth of a file of a run: `trials/003-apache/config/sites/…`.
const MAX_DEPTH: usize = 8;

/// Whether a file with these path components, relative to the run directory, is part of the record. A report is not: it
/// can be made again.
pub(crate) fn is_part_of_record(names: &[&str]) -> bool {
    names.iter().all(|name| is_plain(name))
        && match names {
            [name] => [PLAN, FACTS, VERDICT, EXPLANATION, CONCURRENCY, TUNING, TAGS].contains(name),
            [SEARCH, _, rest @ ..] => rest.first() != Some(&SEARCH) && is_part_of_record(rest),
            [PROFILES, _] => true,
            [TRIALS, _, ..] => (3..=MAX_DEPTH).contains(&names.len()),
            _ => false,
        }
}

/// Whether a folder with these path components, relative to the run directory, may have files of the record below it.
pub(crate) fn is_folder_of_record(names: &[&str]) -> bool {
    names.iter().all(|name| is_plain(name))
        && names.len() < MAX_DEPTH
        && names.first().is_none_or(|first| [TRIALS, PROFILES, SEARCH].contains(first))
}

/// A name without control characters, which could reach a terminal, and not hidden.
fn is_plain(name: &str) -> bool {
    !is_hidden(name) && !name.contains(char::is_control)
}

/// Hidden files are being written or were left by a crash. They are not part of the record.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// What the name of a run's folder begins with while the run is created, imported or removed.
pub(crate) const CREATING: &str = ".creating-";
pub(crate) const IMPORTING: &str = ".importing-";
pub(crate) const REMOVING: &str = ".removing-";
/// The same of the folder in which `showdown tune` keeps the runs of a search until it has an answer.
pub const TUNING_RUNS: &str = ".tuning-";

/// Whether a folder has such a name. Any other hidden folder belongs to somebody else.
pub(crate) fn is_staging(name: &str) -> bool {
    [CREATING, IMPORTING, REMOVING, TUNING_RUNS].iter().any(|prefix| name.starts_with(prefix))
}

/// The telemetry of a host that makes the load, in a trial's folder.
pub fn telemetry_of_client(host: &str) -> String {
    format!("client-telemetry-{host}.parquet")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_run_are_part_of_the_record() {
        for names in [
            &["plan.toml"][..],
            &["explanation.json"],
            &["concurrency.json"],
            &["tuning.json"],
            &["search", "20261121T005139Z-a-7f3a", "trials", "001-a", "config", "x"],
            &["profiles", "nginx.folded"],
            &["profiles", "nginx.waits.folded"],
            &["trials", "001-a", "trial.json"],
            &["trials", "001-a", "config", "x"],
        ] {
            assert!(is_part_of_record(names), "{names:?}");
        }
        for names in [
            &[][..],
            &["report.html"],
            &["trials", "x"],
            &["trials", "001-a", ".writing-x"],
            &["x", "plan.toml"],
            &["search", "plan.toml"],
            &["search", "a", "search", "b", "plan.toml"],
            &["profiles"],
            &["profiles", "x", "y"],
        ] {
            assert!(!is_part_of_record(names), "{names:?}");
        }
    }

    #[test]
    fn trial_folders_sort_by_number_and_have_the_variant() {
        assert_eq!(trial_folder(3, "apache:mpm=event"), "trials/003-apache-mpm-event");
        assert_eq!(trial_folder(1234, "../../x"), "trials/1234-x");
        assert_eq!(trial_folder(1, "中"), "trials/001-variant");
    }
}
