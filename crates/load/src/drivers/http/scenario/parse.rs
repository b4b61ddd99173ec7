//! Reads a scenario from the tables of a workload: the keys of HTTP in `[load.users]`, and `[[load.op]]` with its steps.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::driver::check;
use super::spec::{BrowserCache, CookieSlots, HttpScenario, HttpStep, ScenarioOperation, ValueSlot};
use crate::drivers::error::OperationError;
use crate::drivers::mix::MixError;

/// Keys of `[load.users]` that are of HTTP.
pub(in crate::drivers::http) const USER_KEYS: &[&str] = &["cookies", "values", "cache"];

/// Slots by their number, or with their length.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawCookies {
    Slots(u16),
    Whole(CookieSlots),
}

/// Reads and checks a scenario. `own` has keys of [`USER_KEYS`] only.
pub(in crate::drivers::http) fn parse(
    mut own: DeTable<'_>,
    operations: Vec<Spanned<DeValue<'_>>>,
) -> Result<HttpScenario, MixError> {
    let first = operations.first().map_or(0..0, Spanned::span);
    let own_span = own.values().next().map_or(first, Spanned::span);
    let cookies = match own.remove("cookies").map(read).transpose()? {
        None => CookieSlots::default(),
        Some(RawCookies::Slots(slots)) => CookieSlots { slots, ..CookieSlots::default() },
        Some(RawCookies::Whole(cookies)) => cookies,
    };
    let values: Option<BTreeMap<String, ValueSlot>> = own.remove("values").map(read).transpose()?;
    let cache: Option<BrowserCache> = own.remove("cache").map(read).transpose()?;
    let mut scenario = HttpScenario {
        cookies,
        values: values.unwrap_or_default(),
        cache: cache.unwrap_or_default(),
        operations: Vec::new(),
    };
    let mut spans = Vec::new();
    for operation in operations {
        let (operation, of_steps) = parse_operation(operation)?;
        scenario.operations.push(operation);
        spans.push(of_steps);
    }
    check(&scenario, "localhost").map_err(|refused| {
        let span = refused.step.map_or(own_span, |(operation, step)| spans[operation][step].clone());
        MixError::Operation { span, error: refused.error }
    })?;
    Ok(scenario)
}

/// An operation, and where its steps stand. One without `step` is its only step.
fn parse_operation(
    operation: Spanned<DeValue<'_>>,
) -> Result<(ScenarioOperation, Vec<Range<usize>>), MixError> {
    let span = operation.span();
    let refused =
        |what: &str| MixError::Operation { span: span.clone(), error: OperationError(what.to_owned()) };
    let DeValue::Table(mut table) = operation.into_inner() else {
        return Err(refused("op: write each operation as a table [[load.op]]"));
    };
    let name =
        table.remove("name").ok_or_else(|| refused("op: give it a name: `next` and the answer use it"))?;
    let name: String = read(name)?;
    // Its reader was that of the walk.
    table.remove("weight");
    let steps = match table.remove("step") {
        None => vec![Spanned::new(span.clone(), DeValue::Table(table))],
        Some(steps) => {
            if let Some((key, _)) = table.iter().next() {
                let what = format!("{}: {name:?} has steps: give it in a step", key.get_ref());
                return Err(MixError::Operation { span: key.span(), error: OperationError(what) });
            }
            match steps.into_inner() {
                DeValue::Array(steps) => steps.into_iter().collect(),
                _ => return Err(refused("step: write each step as a table [[load.op.step]]")),
            }
        }
    };
    if steps.is_empty() {
        return Err(refused("step: give at least one"));
    }
    let spans = steps.iter().map(Spanned::span).collect();
    let steps = steps.into_iter().map(read::<HttpStep>).collect::<Result<_, _>>()?;
    Ok((ScenarioOperation { name, steps }, spans))
}

fn read<T: DeserializeOwned>(value: Spanned<DeValue<'_>>) -> Result<T, MixError> {
    Ok(T::deserialize(ValueDeserializer::from(value))?)
}
