//! Answers as they are sent.

use serde::Serialize;
use serde_json::Value;

/// An answer in its reply.
pub(super) fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).expect("answers are plain data")
}
