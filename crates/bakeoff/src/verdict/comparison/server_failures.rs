//! What the answer says of starts in which a server failed, and of extraordinary ones. A server that does not serve in a quarter of its
//! starts is not simply faster, so nothing is said of its speed without them.

use archive::model::{Trial, TrialStatus, plural};
use stats::describe::Sample;

use crate::gates;
use crate::plan::measure_names::{quantity, wording};
use crate::verdict::input::VerdictInput;

/// A valid start whose value is this many times the median of its variant, or a fraction of it as small, is named.
const EXTRAORDINARY: f64 = 10.0;
/// Fewer values have no median that says what is ordinary.
const FEWEST_VALUES: usize = 3;

/// `apache failed in 3 of 13 starts`; none where its server never failed.
pub fn failed_starts(input: &VerdictInput<'_>, index: usize) -> Option<String> {
    let (failed, starts) = count(input, index);
    let name = input.variant_points[index].name(input.plan);
    (failed > 0).then(|| format!("{name} failed in {failed} of {}", plural(starts, "start")))
}

/// In how many starts the server of a variant failed, and how many there were. One that was interrupted is none.
pub fn count(input: &VerdictInput<'_>, index: usize) -> (u64, u64) {
    let starts = || input.trials.of(index).filter(|trial| trial.status != TrialStatus::Interrupted);
    (starts().filter(|trial| gates::is_broken(trial)).count() as u64, starts().count() as u64)
}

/// `trial 7 of apache was extraordinary: 2/s, with a median of 14,000/s`; none where no valid trial was.
fn extraordinary_starts(input: &VerdictInput<'_>, index: usize) -> Option<String> {
    let valid: Vec<(&Trial, f64)> =
        input.trials.of(index).filter_map(|trial| Some((trial, trial.valid_value()?))).collect();
    let values: Vec<f64> = valid.iter().map(|(_, value)| *value).collect();
    let median = Sample::new(&values).ok().filter(|_| values.len() >= FEWEST_VALUES)?.median();
    let is_far = |value: f64| value * EXTRAORDINARY <= median || value >= median * EXTRAORDINARY;
    let far: Vec<&(&Trial, f64)> = valid.iter().filter(|(_, value)| is_far(*value)).collect();
    let (first, value) = far.first()?;
    let (unit, name) = (wording(&input.plan.measure).unit, input.variant_points[index].name(input.plan));
    let (value, median) = (quantity(*value, unit), quantity(median, unit));
    let more = match far.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!(
        "trial {} of {name} was extraordinary: {value}, with a median of {median}{more}",
        first.number
    ))
}

/// What belongs to each sentence about these variants, and is not in it yet.
pub fn with_starts(input: &VerdictInput<'_>, of: &[usize], mut sentence: String) -> String {
    for said in
        of.iter().flat_map(|index| [failed_starts(input, *index), extraordinary_starts(input, *index)])
    {
        if let Some(said) = said.filter(|said| !sentence.contains(said.as_str())) {
            sentence = format!("{sentence}; {said}");
        }
    }
    sentence
}
