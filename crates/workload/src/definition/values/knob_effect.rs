//! What a knob changes beside the speed of its server. Who tries knobs decides what follows.

use serde::Deserialize;

/// What another value of a knob changes beside the speed of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnobEffect {
    /// The work: with other data, two values cannot be compared.
    Work,
    /// What a crash loses.
    Durability,
}
