//! `showdown facts`: what is known about this host, or what has changed on it since a run. Whether a change keeps trials from being
//! compared is left to `resume` and `confirm`.

use std::fmt::Write;

use anyhow::Context;
use archive::model::{FactChange, FlatFacts};
use archive::printable::one_line;
use bakeoff::changed_facts;
use host::Host;
use serde::Serialize;

use crate::args::options::{AnswerFormat, RunsDir};
use crate::color;
use crate::exit::CommandStatus;
use crate::show::layout::units::plural;

/// Options of `showdown facts`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown facts
  showdown facts --since latest
  showdown facts --format json")]
pub struct FactsArgs {
    /// Print only what has changed since this run: its id, a part of its id that no other run has, its directory, or `latest`
    #[arg(long, value_name = "RUN")]
    pub since: Option<String>,

    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,

    #[command(flatten)]
    pub runs: RunsDir,
}

/// The answer.
#[derive(Debug, Serialize)]
struct HostFactsAnswer {
    /// All facts of this host, by dotted names.
    facts: FlatFacts,
    /// What differs from the facts of a run, with `--since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<ChangesSinceRun>,
}

/// What differs from the facts of the host in a run.
#[derive(Debug, Serialize)]
struct ChangesSinceRun {
    run: String,
    changes: Vec<FactChange>,
}

/// Runs the verb.
pub fn run(args: &FactsArgs) -> anyhow::Result<CommandStatus> {
    let facts = Host::local().facts().flat();
    let since = match &args.since {
        None => None,
        Some(name) => Some(changes_since(name, &args.runs, &facts)?),
    };
    let answer = HostFactsAnswer { facts, since };
    args.format.print(&answer, || text(&answer))?;
    Ok(CommandStatus::Success)
}

fn changes_since(name: &str, runs: &RunsDir, now: &FlatFacts) -> anyhow::Result<ChangesSinceRun> {
    let run = runs.archive().open(name)?;
    let id = run.id.to_string();
    let recorded = run.facts.with_context(|| {
        format!("run {id} has no facts: it ended before they were recorded, or facts.json is damaged; name another run")
    })?;
    Ok(ChangesSinceRun { run: id, changes: changed_facts(&recorded.host, now) })
}

fn text(answer: &HostFactsAnswer) -> String {
    let mut out = String::new();
    let Some(ChangesSinceRun { run, changes }) = &answer.since else {
        let widest = answer.facts.keys().map(|fact| fact.chars().count()).max().unwrap_or(0);
        for (fact, value) in &answer.facts {
            let _ = writeln!(out, "{fact:widest$}  {}", one_line(value));
        }
        return out;
    };
    let heading = match changes.len() {
        0 => format!("No fact of this host has changed since {run}."),
        count => format!("{} of this host changed since {run}:", plural(count as u64, "fact")),
    };
    let _ = writeln!(out, "{}", color::heading(heading));
    for FactChange { fact, was, is } in changes {
        let _ = writeln!(out, "  {fact}: {} → {}", or_none(was), or_none(is));
    }
    out
}

fn or_none(value: &str) -> String {
    if value.is_empty() { "(none)".to_owned() } else { one_line(value).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> FlatFacts {
        pairs.iter().map(|(fact, value)| ((*fact).to_owned(), (*value).to_owned())).collect()
    }

    fn plain(answer: &HostFactsAnswer) -> String {
        anstream::adapter::strip_str(&text(answer)).to_string()
    }

    #[test]
    fn facts_are_a_line_each_and_changes_have_both_values() {
        let before = facts(&[("kernel.release", "6.1"), ("cpu.model", "X"), ("sysctls.old", "1")]);
        let now = facts(&[("kernel.release", "6.12"), ("cpu.model", "X"), ("sysctls.new", "a\nb")]);
        let all = HostFactsAnswer { facts: now.clone(), since: None };
        let lines: Vec<String> = plain(&all).lines().map(str::to_owned).collect();
        assert_eq!(lines[..2], ["cpu.model       X", "kernel.release  6.12"]);
        assert_eq!(lines.len(), 3, "a value with a line break is one line");
        let since = |changes| HostFactsAnswer {
            facts: now.clone(),
            since: Some(ChangesSinceRun { run: "R".to_owned(), changes }),
        };
        let changed = plain(&since(changed_facts(&before, &now)));
        assert!(
            changed.starts_with("3 facts of this host changed since R:\n  kernel.release: 6.1 → 6.12\n"),
            "{changed}"
        );
        assert!(changed.ends_with("  sysctls.old: 1 → (none)\n"), "{changed}");
        assert_eq!(plain(&since(changed_facts(&now, &now))), "No fact of this host has changed since R.\n");
    }
}
