//! Differences between the variants, and what each means for the comparison.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One fact in which the variants differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The fact, such as `allocator`.
    pub key: String,
    /// Its value for each variant; a variant without the fact is missing.
    pub values: BTreeMap<String, String>,
    /// How the difference affects the comparison.
    pub class: DifferenceClass,
    /// What the difference means here, in a sentence.
    pub remark: String,
}

/// How a difference affects a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceClass {
    /// One variant does less work, or works by other means: another allocator, another durability.
    ApplesToOranges,
    /// The plan does not ask for the difference, and nothing explains it.
    Unexplained,
    /// The difference follows from what is compared, such as the version of another server.
    Expected,
    /// The difference is what is compared.
    TheVariantItself,
}

/// A tuning that one variant has and another could have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OneSidedTuning {
    /// Its name, such as `allocator`.
    pub tuning: String,
    /// The variant that has it, by its name in the plan.
    pub variant: String,
    /// Why the other one does not have it.
    pub why: String,
    /// Whether it was tried on the other one.
    pub was_tried: bool,
}

/// A known source of error that applies to this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    /// Stable name and anchor of the heading in `docs/BIAS.md`, such as `loopback`.
    pub id: String,
    /// A sentence for the report.
    pub text: String,
}
