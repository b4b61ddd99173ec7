//! The text of a plan: what a submission says, read once.

use archive::model::{Plan, PlanParseError};
use queue::api::MOST_PLAN_BYTES;
use queue::host_identity;

use crate::secrets::hex_digest;

/// A plan, and what the queue needs of it.
#[derive(Clone, Debug)]
pub struct PlanText {
    /// The plan.
    pub plan: Plan,
    /// What it is in a line.
    pub title: String,
    /// The digest of the plan without what changes from one repetition to the next.
    pub question: String,
    /// The hosts that it needs beside the machine of its controller.
    pub hosts: Vec<String>,
}

/// Why a text is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanTextError {
    /// It is too long.
    #[error(
        "the plan has {bytes} bytes, {MOST_PLAN_BYTES} at most: a plan of `showdown plan` has some kilobytes"
    )]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It cannot be read.
    #[error("{}: correct it, or make one with `showdown plan`", at_line(.0))]
    Unreadable(PlanParseError),
}

fn at_line(error: &PlanParseError) -> String {
    match error.line {
        Some(line) => format!("plan, line {line}: {}", error.problem),
        None => format!("plan: {}", error.problem),
    }
}

impl PlanText {
    /// Reads it.
    pub fn read(text: &str) -> Result<Self, PlanTextError> {
        if text.len() > MOST_PLAN_BYTES {
            return Err(PlanTextError::TooLong { bytes: text.len() });
        }
        let plan: Plan = text.parse().map_err(PlanTextError::Unreadable)?;
        let mut names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
        if let Some(url) = plan.concurrency.as_ref().and_then(|steps| steps.url.as_deref()) {
            names.push(url);
        }
        let title = format!("{} {}", plan.kind.name(), names.join(" "));
        let mut hosts: Vec<String> =
            plan.hosts.iter().filter_map(|host| host.ssh.as_deref().map(host_identity)).collect();
        hosts.sort();
        hosts.dedup();
        let question = Plan {
            seed: 0,
            command: Vec::new(),
            showdown: String::new(),
            tags: Vec::new(),
            fail_if: None,
            confirms: None,
            ..plan.clone()
        };
        let question = toml::to_string(&question).unwrap_or_else(|_| text.to_owned());
        Ok(Self { title: title.chars().take(200).collect(), question: hex_digest(&question), hosts, plan })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_repetitions_are_one_question_and_another_plan_is_not() -> Result<(), Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let id = archive::example::comparison(root.path(), 2)?;
        let text = std::fs::read_to_string(root.path().join(id.as_str()).join("plan.toml"))?;
        let plan = PlanText::read(&text)?;
        assert_eq!(plan.title, "compare nginx apache");
        let again = toml::to_string(&Plan { seed: plan.plan.seed ^ 1, ..plan.plan.clone() })?;
        assert_eq!(PlanText::read(&again)?.question, plan.question);
        let longer = toml::to_string(&Plan { blocks: plan.plan.blocks + 1, ..plan.plan.clone() })?;
        assert_ne!(PlanText::read(&longer)?.question, plan.question);
        let hosts = "[[hosts]]\nname = \"a\"\nssh = \"ops@Lab1\"\naddress = \"10.0.0.1\"\n\n\
                     [[hosts]]\nname = \"b\"\nssh = \"lab1\"\naddress = \"10.0.0.1\"\n";
        assert_eq!(PlanText::read(&format!("{text}\n{hosts}"))?.hosts, ["lab1"], "both are one machine");
        let error = PlanText::read("format = 2\nbad").expect_err("no plan");
        assert!(error.to_string().starts_with("plan, line 2: "), "{error}");
        Ok(())
    }
}
