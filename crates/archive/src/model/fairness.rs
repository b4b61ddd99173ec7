//! Differences between the sides, and what each means for the comparison.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One fact in which the variants differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The fact, such as `allocator`.
    pub key: String,
    /// Its value by variant; a variant without it is left out.
    pub values: BTreeMap<String, String>,
    /// What the difference is.
    pub class: DifferenceClass,
    /// What it means here, in a sentence.
    pub remark: String,
}

/// What a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceClass {
    /// One side does less than the other, or with other means: another allocator, another durability.
    ApplesToOranges,
    /// Nobody asked for it and nothing explains it.
    Unexplained,
    /// It follows from what is compared, such as the version of another server.
    Expected,
    /// It is what is compared.
    TheVariantItself,
}

/// Something that can still mislead, and applies to this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    /// Stable name, the heading's anchor in `docs/BIAS.md`, such as `loopback`.
    pub id: String,
    /// A sentence for the report.
    pub text: String,
}
