//! Which of two variants is cheaper at the objective, and from which load on: servers come whole, so a kind that is cheaper for each
//! operation may be dearer while one server of the other kind is enough.

use serde::Serialize;
use stats::cost::{LifeCost, ServerKind};
use stats::quantity::OperationsPerSecond;

use super::comparison::VariantOfRun;
use super::variant::Priced;
use crate::measured::Performance;

/// The cheaper one of a pair over the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheaperOverLoad {
    /// The variant whose operation costs less.
    pub cheaper: VariantOfRun,
    /// The other one.
    pub dearer: VariantOfRun,
    /// The load, operations (or megabytes) a second, above which its fleet never costs more; 0 if it never does. Null where the two cost nearly
    /// the same.
    pub from_load_per_s: Option<f64>,
    /// In words.
    pub sentence: String,
}

/// The pairs of each run whose performance is a rate.
pub(crate) fn over_load(all: &[Priced<'_>], currency: &str) -> Vec<CheaperOverLoad> {
    let mut found = Vec::new();
    for (number, a) in all.iter().enumerate() {
        for b in all[number + 1..].iter().filter(|b| a.run.id == b.run.id) {
            if a.variant.summary.point == b.variant.summary.point {
                found.extend(pair(a, b, currency));
            }
        }
    }
    found
}

fn pair(a: &Priced<'_>, b: &Priced<'_>, currency: &str) -> Option<CheaperOverLoad> {
    let (kind_a, kind_b) = (kind(a)?, kind(b)?);
    let of_one = |kind: &ServerKind| kind.cost.value() / kind.capacity.value();
    let ((cheaper, kind), (dearer, other)) = if of_one(&kind_a) <= of_one(&kind_b) {
        ((a, kind_a), (b, kind_b))
    } else {
        ((b, kind_b), (a, kind_a))
    };
    let from = kind.cheaper_from(&other);
    let (name, other_name) = (&cheaper.cost.variant, &dearer.cost.variant);
    let Performance::Rate { scale, .. } = cheaper.variant.performance else { return None };
    // In the unit of the verdict: operations a second or an hour, or megabytes a second.
    let rate = |load: OperationsPerSecond| {
        let amount = archive::model::thousands(load.value() / scale);
        archive::model::with_unit(&amount, &cheaper.cost.unit)
    };
    let metric = &cheaper.cost.metric;
    let sentence = match from {
        None => format!("at {metric}, fleets of {name} and {other_name} cost nearly the same"),
        Some(load) if load.value() <= 0.0 => {
            format!("at {metric}, {name} is cheaper than {other_name} at any load")
        }
        Some(load) => {
            let first = other.capacity.value().min(kind.capacity.value());
            let one =
                |kind: &ServerKind| format!("{} {currency}", archive::model::thousands(kind.cost.value()));
            let below = if other.cost.value() < kind.cost.value() && first > 0.0 {
                format!(
                    "one {other_name} ({}) is cheaper than one {name} ({}) up to {}",
                    one(&other),
                    one(&kind),
                    rate(OperationsPerSecond::new(first))
                )
            } else {
                format!("which fleet is cheaper changes with the load up to {}", rate(load))
            };
            format!("at {metric}, {name} is cheaper than {other_name} from {} on; {below}", rate(load))
        }
    };
    let of = |priced: &Priced<'_>| VariantOfRun {
        run: priced.cost.run.clone(),
        variant: priced.cost.variant.clone(),
    };
    Some(CheaperOverLoad {
        cheaper: of(cheaper),
        dearer: of(dearer),
        from_load_per_s: from.map(OperationsPerSecond::value),
        sentence,
    })
}

/// One server of a variant: its cost over the life, and the lower bound of what it carries, by which fleets are sized.
fn kind(priced: &Priced<'_>) -> Option<ServerKind> {
    let Performance::Rate { figure, scale } = &priced.variant.performance else { return None };
    let capacity = Performance::per_s(figure.low.unwrap_or(figure.value), *scale);
    let cost = priced.life_cost.map(LifeCost::total)?;
    (capacity.value() > 0.0).then_some(ServerKind { cost, capacity })
}
