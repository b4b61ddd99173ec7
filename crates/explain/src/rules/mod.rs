//! Rules: a file each in `crates/explain/rules`. A rule says what must be seen, what it says, and what could be done. Whether its
//! suspect limits the server is left to an experiment.
//!
//! | key | meaning |
//! |---|---|
//! | `title` | the suspect, for readers |
//! | `resource` | a resource of [`crate::resources`] |
//! | `rank` | of several suspects, the one with the smallest rank comes first: what rules out the others, then what is specific |
//! | `experiment` | how it can be tried ([`Experiment`]); without it a suspect stays suspected |
//! | `says` | the sentence; `{NAME}` is a figure or a text, and `[TEXT]` is left out where a figure in it is not known |
//! | `remedies` | what could be done |
//! | `source` | where the rule comes from |
//! | `[[when]]` | a condition: `figure`, and one of `at_least`, `at_most` and `above`; all must be met |
//! | `when.certain` | the value from which the evidence is as strong as it gets |

mod condition;
mod message;
#[cfg(test)]
mod tests;

use archive::model::Figure;
use include_dir::{Dir, include_dir};
use serde::Deserialize;

use self::condition::Condition;
use crate::experiment::Experiment;
use crate::figures::Figures;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/rules");

/// A rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// The name of its file.
    #[serde(skip)]
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) resource: String,
    pub(crate) rank: u32,
    #[serde(default)]
    pub(crate) experiment: Option<Experiment>,
    says: String,
    pub(crate) remedies: Vec<String>,
    pub(crate) source: String,
    when: Vec<Condition>,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RuleOutcome {
    /// All conditions are met.
    Holds(Finding),
    /// A condition is not met.
    NotMet,
    /// A figure is not known; the conditions on the others are met.
    NotKnown {
        /// The figure.
        figure: String,
    },
}

/// A rule that holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    /// How strong the evidence is, above 0 to 1.
    pub(crate) strength: f64,
    /// The figures of its conditions.
    pub(crate) evidence: Vec<Figure>,
    /// The sentence with its figures.
    pub(crate) sentence: String,
}

impl Rule {
    /// All rules, by rank.
    pub(crate) fn all() -> Vec<Self> {
        let mut rules: Vec<Self> = FILES
            .files()
            .map(|file| {
                let path = file.path();
                let text = file.contents_utf8().expect("a rule is text: tests read all of them");
                let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                let rule: Self = toml::from_str(text)
                    .unwrap_or_else(|error| panic!("rules/{id}.toml, which tests read: {error}"));
                Self { id, ..rule }
            })
            .collect();
        rules.sort_by(|a, b| (a.rank, &a.id).cmp(&(b.rank, &b.id)));
        rules
    }

    /// Whether it holds with these figures.
    pub(crate) fn evaluate(&self, figures: &Figures) -> RuleOutcome {
        let mut missing = None;
        let mut finding =
            Finding { strength: 1.0, evidence: Vec::new(), sentence: message::fill(&self.says, figures) };
        for condition in &self.when {
            let Some(figure) = figures.get(&condition.figure) else {
                missing.get_or_insert_with(|| condition.figure.clone());
                continue;
            };
            match condition.strength(figure.value) {
                None => return RuleOutcome::NotMet,
                Some(strength) => {
                    finding.strength = finding.strength.min(strength);
                    finding.evidence.push(figure.clone());
                }
            }
        }
        missing.map_or(RuleOutcome::Holds(finding), |figure| RuleOutcome::NotKnown { figure })
    }

    /// The names of all figures and texts that it uses.
    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<String> {
        let conditions = self.when.iter().map(|condition| condition.figure.clone());
        conditions.chain(message::names(&self.says).map(str::to_owned)).collect()
    }

    /// The values that conditions of this figure compare with.
    #[cfg(test)]
    pub(crate) fn is_consistent(&self) -> bool {
        !self.when.is_empty() && self.when.iter().all(Condition::is_consistent)
    }
}
