//! Axes of a sweep as users write them: `threads=1,2`, `connections=1..1024`, `rate=10k..80k`.

use archive::model::{Axis, KnobValue, Vary};

use crate::limits::MOST_VALUES;

/// An axis that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--vary {text:?}: {problem}: write NAME=VALUE,VALUE or NAME=FROM..TO, such as threads=1,2 or connections=1..1024"
)]
pub struct AxisError {
    text: String,
    problem: AxisProblem,
}

/// What is wrong with an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum AxisProblem {
    #[error("it has no \"=\"")]
    NoEquals,
    #[error("the range does not go from a smaller to a larger number")]
    Range,
    #[error("connections and rate take numbers")]
    NotNumeric,
    #[error("a name or a value is empty")]
    Empty,
    #[error("it has more than {MOST_VALUES} values")]
    TooMany,
}

/// Parses an axis. A range goes up by doubling and includes its end.
pub fn parse(text: &str) -> Result<Axis, AxisError> {
    let refused = |problem| AxisError { text: text.to_owned(), problem };
    let (name, values) = text.split_once('=').ok_or_else(|| refused(AxisProblem::NoEquals))?;
    let vary = Vary::from(name.trim().to_owned());
    let number = |word: &str| match vary {
        Vary::Rate => load::inputs::units::parse_rate(word).ok(),
        Vary::Connections | Vary::Users | Vary::Knob(_) => {
            load::inputs::units::parse_count(word).ok().map(|n| n as f64)
        }
    };
    let values: Vec<KnobValue> = match values.split_once("..") {
        Some((from, to)) => {
            let (from, to) = number(from.trim())
                .zip(number(to.trim()))
                .filter(|(from, to)| from < to)
                .ok_or_else(|| refused(AxisProblem::Range))?;
            let doubled = std::iter::successors(Some(from), |at| Some(at * 2.0)).take_while(|at| *at < to);
            doubled.chain([to]).map(knob_value).collect()
        }
        None => values
            .split(',')
            .map(str::trim)
            .map(|word| number(word).map_or_else(|| KnobValue::from(word), knob_value))
            .collect(),
    };
    if matches!(vary, Vary::Connections | Vary::Users | Vary::Rate)
        && values.iter().any(|v| v.as_f64().is_none())
    {
        return Err(refused(AxisProblem::NotNumeric));
    }
    if name.trim().is_empty() || values.contains(&KnobValue::Text(String::new())) {
        return Err(refused(AxisProblem::Empty));
    }
    if values.len() > MOST_VALUES {
        return Err(refused(AxisProblem::TooMany));
    }
    Ok(Axis { vary, values })
}

fn knob_value(number: f64) -> KnobValue {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number up to 2^53")]
    let whole = (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64);
    whole.map_or(KnobValue::Number(number), KnobValue::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        parse(text).expect("an axis").values.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_range_doubles_and_a_list_is_kept() {
        assert_eq!(values("connections=1..10"), ["1", "2", "4", "8", "10"]);
        assert_eq!(values("connections=1..1024").len(), 11);
        assert_eq!(values("threads=1,2"), ["1", "2"]);
        assert_eq!(values("mpm=event,prefork"), ["event", "prefork"]);
        assert_eq!(values("rate=10k..30k"), ["10000", "20000", "30000"]);
    }

    #[test]
    fn a_malformed_axis_is_refused_with_the_syntax() {
        for text in ["threads", "=1", "threads=", "threads=2..1", "connections=a,b", "connections=1,,2"] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains("write NAME=VALUE"), "{error}");
        }
    }
}
