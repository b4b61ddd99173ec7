//! What a controller accepts. The rules are in its own file: submitting a plan is running code, and no server can widen them.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use archive::model::Plan;
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
            hosts: all,
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
        for host in plan.hosts.iter().filter_map(|host| host.ssh.as_ref()) {
            if !has(&self.hosts, host) {
                return Err(format!("host {host} is not in the list `hosts` of its rules"));
            }
        }
        if plan.load.connections > self.most_connections {
            let (asked, most) = (plan.load.connections, self.most_connections);
            return Err(format!(
                "the load has {asked} connections, and its rules allow {most} (`most_connections`)"
            ));
        }
        Ok(())
    }
}

fn has(list: &[String], name: &str) -> bool {
    list.iter().any(|known| known == "*" || known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_refused_by_the_first_rule_that_it_breaks() -> Result<(), Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let id = archive::example::comparison(root.path(), 1)?;
        let plan = archive::Run::open(&root.path().join(id.as_str()))?.plan.ok_or("a plan")?;
        assert_eq!(Rules::of_owner().check(&plan), Ok(()));
        let rules: Rules = toml::from_str("workloads = [\"cache\"]\nlongest = \"2h\"")?;
        assert_eq!(rules.longest, Duration::from_hours(2));
        let why = rules.check(&plan).expect_err("it is of another workload");
        assert_eq!(why, format!("workload {} is not in the list `workloads` of its rules", plan.workload));
        let few = Rules { most_connections: 1, ..Rules::of_owner() };
        assert!(few.check(&plan).expect_err("it has more").contains("most_connections"));
        assert!(toml::from_str::<Rules>("workload = []").is_err(), "an unknown key is no rule");
        Ok(())
    }
}
