//! Checks of several keys of a target together: figures that contradict each other have a wrong unit.

use std::ops::Range;

use stats::quantity::{Hours, MoneyPerHour, MoneyPerKilowattHour, RackUnits, Watts};

use notation::source_text::{FileError, SourceText};

/// A text of the file, parsed, with its place.
pub(super) struct Parsed<T> {
    pub value: T,
    pub text: String,
    pub span: Range<usize>,
}

/// The most power of a rack unit: racks that are cooled with water take 3 kW a unit.
const MOST_WATTS_OF_A_UNIT: f64 = 10e3;

/// A rented machine costs between a fiftieth of the price of its energy (a small share of a machine, with the nameplate of all of it) and 2,000
/// times that (the dearest machines with accelerators cost 200 times). A month for an hour is a factor of 730.
const SHARES_OF_ENERGY: std::ops::RangeInclusive<f64> = 0.02..=2000.0;

/// Idle is at most load, and load at most the nameplate: otherwise a unit is wrong, or two figures are swapped.
pub(super) fn check_order(
    source: &SourceText<'_>,
    ascending: [(&str, &Option<Parsed<Watts>>); 3],
) -> Result<(), FileError> {
    let given: Vec<_> =
        ascending.iter().filter_map(|(key, power)| power.as_ref().map(|p| (key, p))).collect();
    for pair in given.windows(2) {
        let [(lower, less), (higher, more)] = pair else { continue };
        if less.value > more.value {
            let message = format!(
                "{lower} = {:?} is above {higher} = {:?}: check the units, and which is which",
                less.text, more.text
            );
            return Err(source.error(&less.span, message));
        }
    }
    Ok(())
}

/// A server takes no more than a rack can cool: otherwise its watts are kilowatts.
pub(super) fn check_height(
    source: &SourceText<'_>,
    units: Option<RackUnits>,
    powers: [(&str, &Option<Parsed<Watts>>); 2],
) -> Result<(), FileError> {
    let Some(units) = units else { return Ok(()) };
    for (key, power) in powers {
        let Some(power) = power else { continue };
        if power.value.value() > MOST_WATTS_OF_A_UNIT * units.value() {
            let message = format!(
                "{key} = {:?} is more than a machine of {} rack units can take: check the unit",
                power.text,
                units.value()
            );
            return Err(source.error(&power.span, message));
        }
    }
    Ok(())
}

/// A rate includes the energy, so it is near its price: otherwise it is for another time.
pub(super) fn check_rate(
    source: &SourceText<'_>,
    span: &Range<usize>,
    rate: MoneyPerHour,
    load: Watts,
    price: MoneyPerKilowattHour,
) -> Result<(), FileError> {
    let energy = load * Hours::new(1.0) * price;
    let share = rate * Hours::new(1.0) / energy;
    if energy.value() <= 0.0 || rate.value() <= 0.0 || SHARES_OF_ENERGY.contains(&share) {
        return Ok(());
    }
    let message = format!(
        "rate: it includes the energy, and is {share:.4} × the price of the energy at load: check whether it is for an hour, a month or a year"
    );
    Err(source.error(span, message))
}
