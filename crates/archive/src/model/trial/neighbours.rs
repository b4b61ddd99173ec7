//! How much the copies of a server disturb each other: what each carried alone, and beside the others.

use serde::{Deserialize, Serialize};

use crate::model::{or_more, thousands};

/// The copies of a server in closed loops: each alone, and all at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    /// Connections of each copy.
    pub connections: u32,
    /// Rounds: in each, every copy had one slice alone, and all had one together.
    pub rounds: u32,
    /// Length of a slice, seconds.
    pub slice_s: f64,
    /// Each copy, in the order of their ports.
    pub instances: Vec<InstanceLoads>,
    /// All of them together.
    pub all: CarriedLoad,
    /// Why the client was the limit of a copy, where it was: it then seems less disturbed than it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_reasons: Vec<String>,
}

/// A copy of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceLoads {
    /// While no other copy was loaded.
    pub alone: CarriedLoad,
    /// While all were.
    pub beside: CarriedLoad,
}

/// What was carried in a closed loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CarriedLoad {
    /// Operations per second that succeeded.
    pub throughput_per_s: f64,
    /// Median response time, microseconds; `None` where no operation ended.
    pub p50_us: Option<u64>,
    /// 99th percentile of response time, microseconds; `None` where no operation ended.
    pub p99_us: Option<u64>,
    /// The least response time that is a lower bound, microseconds: an operation was given up. `None` where all had an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_up_from_us: Option<u64>,
}

impl InstanceLoads {
    /// The share of its throughput that the copy lost to the others, at most 1; negative where it gained. None where it carried
    /// nothing alone.
    pub fn slowed(&self) -> Option<f64> {
        let alone = self.alone.throughput_per_s;
        (alone > 0.0).then(|| 1.0 - self.beside.throughput_per_s / alone)
    }
}

/// What one copy of a server carried alone, and beside its neighbours: medians over all copies of the valid trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NeighbourEffect {
    /// Operations per second of a copy while no other was loaded.
    pub alone_per_s: f64,
    /// The same while all were.
    pub beside_per_s: f64,
    /// The share of its throughput that a copy lost to the others; negative where it gained.
    pub slowed: f64,
    /// 99th percentile of response time alone, microseconds; `None` where no operation ended.
    pub alone_p99_us: Option<f64>,
    /// The same while all were loaded.
    pub beside_p99_us: Option<f64>,
    /// The least response time that is a lower bound, microseconds: an operation was given up. `None` where all had an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_up_from_us: Option<u64>,
    /// Valid trials in which the client was the limit of a copy: the share may then be too low.
    pub client_limited: u32,
}

impl NeighbourEffect {
    /// The effect in a sentence, without the variant's name.
    pub fn sentence(&self) -> String {
        let Self { alone_per_s, beside_per_s, slowed, client_limited, .. } = self;
        let what = if *slowed < 0.0 { "faster" } else { "slower" };
        let (alone, beside, percent) =
            (thousands(*alone_per_s), thousands(*beside_per_s), slowed.abs() * 100.0);
        let p99 = self.alone_p99_us.zip(self.beside_p99_us);
        let shown = |us| or_more(thousands(us), us, self.gave_up_from_us);
        let p99 = p99.map(|(alone, beside)| format!(", p99 {} and {} µs", shown(alone), shown(beside)));
        let limit = if *client_limited > 0 { "; the client was the limit, so it may be more" } else { "" };
        format!(
            "an instance carries {alone}/s alone and {beside}/s while all are loaded: {percent:.1} % {what}{}{limit}",
            p99.unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effect_is_a_sentence_with_its_direction() {
        let effect = NeighbourEffect {
            alone_per_s: 120_000.0,
            beside_per_s: 90_000.0,
            slowed: 0.25,
            alone_p99_us: Some(110.0),
            beside_p99_us: Some(1_240.0),
            gave_up_from_us: None,
            client_limited: 0,
        };
        assert_eq!(
            effect.sentence(),
            "an instance carries 120,000/s alone and 90,000/s while all are loaded: 25.0 % slower, p99 110 and 1,240 µs"
        );
        let given_up = NeighbourEffect { gave_up_from_us: Some(1_200), ..effect }.sentence();
        assert!(given_up.ends_with("p99 110 and ≥ 1,240 µs"), "{given_up}");
        let faster = NeighbourEffect { slowed: -0.01, beside_p99_us: None, client_limited: 2, ..effect };
        let said = faster.sentence();
        assert!(said.ends_with("1.0 % faster; the client was the limit, so it may be more"), "{said}");
    }
}
