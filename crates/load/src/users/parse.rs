//! How users are written: the table `[load.users]`, and the keys `delay` and `limit` of `[[load.op]]`.
//!
//! It is read in two steps, because the protocol names the operations: [`RawUsers::take`] removes what is of users before
//! the protocol reads the rest, and [`RawUsers::plan`] puts the names together.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::delay::{Delay, DelayKind};
use super::plan::{MOST_OPERATIONS, NextOperation, PassCriteria, UserPlan, VisitArrivals};
use super::ratio::RatioRule;
use crate::inputs::limits::MOST_CONNECTIONS;
use crate::inputs::rate::Arrivals;
use crate::inputs::slo::Slo;
use crate::inputs::units::UnitError;

/// How far a row may be from 100 per cent: thirds are written with two decimals.
const ROW_TOLERANCE: f64 = 0.05;

/// Visits at once unless a limit is given.
const MOST_VISITS: u32 = 1_024;

/// Keys of `[load.users]`, beside those of the protocol.
pub const USER_KEYS: &[&str] =
    &["count", "arrivals", "limit", "start", "delay", "next", "sequence", "leave", "pass"];
/// The name in a row of who leaves.
const LEAVE: &str = "leave";
/// Keys of an operation that are of users.
pub const OPERATION_KEYS: &[&str] = &["delay", "limit"];

/// Why users are not as they are written.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// They do not have the form.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A mistake at this place of the text.
    #[error("{what}")]
    At {
        /// Bytes of the text.
        span: Range<usize>,
        /// What is wrong, and the remedy.
        what: String,
    },
}

pub(super) fn at(span: &Range<usize>, what: impl Into<String>) -> ScenarioError {
    ScenarioError::At { span: span.clone(), what: what.into() }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    #[serde(default)]
    count: Option<Spanned<u32>>,
    #[serde(default)]
    arrivals: Option<Spanned<String>>,
    #[serde(default)]
    limit: Option<Spanned<u32>>,
    #[serde(default)]
    leave: Option<Spanned<f64>>,
    #[serde(default)]
    start: Option<Spanned<String>>,
    #[serde(default)]
    delay: Option<RawDelay>,
    #[serde(default)]
    sequence: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    pass: Option<Spanned<RawPass>>,
    /// Always empty. It exists so that an error about an unknown key lists `next`.
    #[serde(default, rename = "next")]
    _next: IgnoredAny,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDelay {
    #[serde(default)]
    cycle: Option<Spanned<String>>,
    #[serde(default)]
    think: Option<Spanned<String>>,
    #[serde(default)]
    min: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPass {
    #[serde(default)]
    mix: Option<f64>,
    #[serde(default)]
    delay: Option<f64>,
    #[serde(default)]
    ratios: Vec<Spanned<String>>,
}

/// The row of an operation: where its name stands, and the shares of the next ones with their places.
type RawRow = (Range<usize>, BTreeMap<String, (Range<usize>, f64)>);

/// What is written of an operation, beside what the protocol reads.
#[derive(Debug)]
struct RawOperation {
    span: Range<usize>,
    weight: Option<f64>,
    delay: Option<RawDelay>,
    limit: Option<Spanned<String>>,
}

/// The users of a load as they are written.
#[derive(Debug)]
pub struct RawUsers {
    span: Range<usize>,
    table: RawTable,
    next: Option<(Range<usize>, BTreeMap<String, RawRow>)>,
    operations: Vec<RawOperation>,
}

impl RawUsers {
    /// Removes what is of users from the table `users` and from the operations. Keys that `own` names are of the protocol, and
    /// returned.
    pub fn take<'t>(
        users: Spanned<DeValue<'t>>,
        operations: &mut [Spanned<DeValue<'t>>],
        own: &[&str],
    ) -> Result<(Self, DeTable<'t>), ScenarioError> {
        let span = users.span();
        let DeValue::Table(mut table) = users.into_inner() else {
            return Err(at(&span, "users: write it as a table [load.users]"));
        };
        let mut of_protocol = DeTable::new();
        for key in own {
            if let Some((name, value)) = table.remove_entry(*key) {
                of_protocol.insert(name, value);
            }
        }
        let next = table.remove("next").map(read_rows).transpose()?;
        let table: RawTable = read(Spanned::new(span.clone(), DeValue::Table(table)))?;
        let operations = operations.iter_mut().map(RawOperation::take).collect::<Result<_, _>>()?;
        Ok((Self { span, table, next, operations }, of_protocol))
    }

    /// How many users there are, or visits at once.
    pub fn count(&self) -> u32 {
        let count = self.table.count.as_ref().or(self.table.limit.as_ref());
        count.map_or(MOST_VISITS, |count| *count.get_ref())
    }

    /// The visits that arrive; none where users stay.
    pub fn visits(&self) -> Result<Option<VisitArrivals>, ScenarioError> {
        let Some(text) = &self.table.arrivals else { return Ok(None) };
        let (arrivals, rate) = match text.get_ref().split_once(':') {
            Some(("poisson", rate)) => (Arrivals::Poisson, rate),
            Some(("constant", rate)) => (Arrivals::Constant, rate),
            _ => {
                let what = "arrivals: write poisson or constant with visits a second, such as \"poisson:20/s\" or \"poisson:10,20,40/60s\"";
                return Err(at(&text.span(), what));
            }
        };
        let rate = rate.trim().parse().map_err(|error| at(&text.span(), format!("arrivals: {error}")))?;
        Ok(Some(VisitArrivals { rate, arrivals }))
    }

    /// Checks that there are users or visits.
    fn check_population(&self) -> Result<(), ScenarioError> {
        let RawTable { count, arrivals, limit, .. } = &self.table;
        let count = match (count, arrivals, limit) {
            (Some(count), Some(_), _) => {
                return Err(at(&count.span(), "count: users stay or arrive: give count or arrivals"));
            }
            (Some(_), None, Some(limit)) => {
                return Err(at(
                    &limit.span(),
                    "limit: it is of visits: leave it out, or give arrivals instead of count",
                ));
            }
            (None, None, _) => {
                return Err(at(&self.span, "users: give a count of users who stay, or arrivals of visits"));
            }
            (Some(count), None, None) => count,
            (None, Some(_), Some(limit)) => limit,
            (None, Some(_), None) => return Ok(()),
        };
        if *count.get_ref() == 0 || *count.get_ref() > MOST_CONNECTIONS {
            return Err(at(&count.span(), "users: give a number from 1 to 1,000,000"));
        }
        Ok(())
    }

    /// The plan for operations and counters of these names.
    pub fn plan(&self, names: &[String], counters: &[&str]) -> Result<UserPlan, ScenarioError> {
        self.check_population()?;
        self.visits()?;
        if names.len() > MOST_OPERATIONS {
            let what = format!("users: {} operations: at most {MOST_OPERATIONS}", names.len());
            return Err(at(&self.span, what));
        }
        let place = |name: &Spanned<String>, key: &str| {
            place_of(names, name.get_ref())
                .ok_or_else(|| at(&name.span(), no_operation(key, name.get_ref(), names)))
        };
        let start = self.table.start.as_ref().map(|start| place(start, "start")).transpose()?;
        let next = match (&self.next, &self.table.sequence) {
            (Some((span, _)), Some(_)) => {
                return Err(at(span, "next: there is a sequence too: give one of the two"));
            }
            (Some((span, rows)), None) => self.matrix(span, rows, names, start.unwrap_or(0))?,
            (None, Some(sequence)) => {
                let order: Vec<u16> = sequence
                    .get_ref()
                    .iter()
                    .map(|name| place(name, "sequence"))
                    .collect::<Result<_, _>>()?;
                if order.is_empty() || order.len() > MOST_OPERATIONS {
                    let what = format!("sequence: give from 1 to {MOST_OPERATIONS} operations");
                    return Err(at(&sequence.span(), what));
                }
                if order.first().copied() != start
                    && let Some(start) = self.table.start.as_ref()
                {
                    return Err(at(
                        &start.span(),
                        "start: a sequence begins with its first operation: leave it out",
                    ));
                }
                NextOperation::Sequence(order)
            }
            (None, None) => self.weights()?,
        };
        let (next, leave) = self.leaving(next, names)?;
        let start = if matches!(next, NextOperation::Matrix(_)) { Some(start.unwrap_or(0)) } else { start };
        let default = self.table.delay.as_ref().map(RawDelay::read).transpose()?;
        let delay = |operation: &RawOperation| {
            let own = operation.delay.as_ref().map(RawDelay::read).transpose()?;
            Ok(own.or(default).unwrap_or(Delay::NONE))
        };
        let limit = |operation: &RawOperation| {
            let Some(limit) = &operation.limit else { return Ok(None) };
            let parsed = limit.get_ref().parse::<Slo>();
            parsed.map(Some).map_err(|error| at(&limit.span(), format!("limit: {error}")))
        };
        Ok(UserPlan {
            start,
            next,
            leave,
            delays: self.operations.iter().map(delay).collect::<Result<_, ScenarioError>>()?,
            limits: self.operations.iter().map(limit).collect::<Result<_, ScenarioError>>()?,
            pass: self.pass(names, counters)?,
        })
    }

    /// The shares that leave after each operation, and the rows of those that stay.
    fn leaving(
        &self,
        next: NextOperation,
        names: &[String],
    ) -> Result<(NextOperation, Vec<f64>), ScenarioError> {
        let of_all = match &self.table.leave {
            None => 0.0,
            Some(percent) if (0.0..=100.0).contains(percent.get_ref()) => percent.get_ref() / 100.0,
            Some(percent) => return Err(at(&percent.span(), "leave: give per cent from 0 to 100")),
        };
        let mut leave = vec![of_all; names.len()];
        if let Some((_, rows)) = &self.next {
            for (name, (_, row)) in rows {
                let Some((span, percent)) = row.get(LEAVE) else { continue };
                if of_all > 0.0 {
                    return Err(at(
                        span,
                        format!(
                            "next.{name}: leave is given for all operations already: give one of the two"
                        ),
                    ));
                }
                if let Some(place) = place_of(names, name) {
                    leave[usize::from(place)] = percent / 100.0;
                }
            }
        }
        if self.table.arrivals.is_some() && leave.iter().all(|share| *share == 0.0) {
            let what = "users: no visit would end: say in per cent how many leave, such as leave = 10, or in a row of next";
            return Err(at(&self.span, what));
        }
        Ok((next, leave))
    }

    fn pass(&self, names: &[String], counters: &[&str]) -> Result<PassCriteria, ScenarioError> {
        let Some(pass) = &self.table.pass else { return Ok(PassCriteria::default()) };
        let RawPass { mix, delay, ratios } = pass.get_ref();
        let default = PassCriteria::default();
        let ratio = |text: &Spanned<String>| {
            let refuse = |what: String| at(&text.span(), format!("pass.ratios: {what}"));
            let rule: RatioRule =
                text.get_ref().parse().map_err(|error: UnitError| refuse(error.to_string()))?;
            let is_known = |name: &&String| counters.contains(&name.as_str()) || names.contains(name);
            let unknown = [&rule.part, &rule.of].into_iter().find(|name| !is_known(name)).cloned();
            match unknown {
                None => Ok(rule),
                Some(name) => {
                    Err(refuse(format!("there is no counter or operation {name:?}: count it in a step")))
                }
            }
        };
        let criteria = PassCriteria {
            mix: mix.unwrap_or(default.mix),
            delay: delay.unwrap_or(default.delay),
            ratios: ratios.iter().map(ratio).collect::<Result<_, _>>()?,
        };
        let fits = |limit: f64| limit > 0.0 && limit <= 100.0;
        if fits(criteria.mix) && fits(criteria.delay) {
            return Ok(criteria);
        }
        Err(at(&pass.span(), "pass: give limits above 0 and up to 100, such as { mix = 2, delay = 2 }"))
    }

    fn weights(&self) -> Result<NextOperation, ScenarioError> {
        let weights: Vec<f64> =
            self.operations.iter().map(|operation| operation.weight.unwrap_or(1.0)).collect();
        let wrong = |weight: &f64| !(weight.is_finite() && *weight >= 0.0);
        if let Some(operation) =
            self.operations.iter().find(|operation| operation.weight.as_ref().is_some_and(wrong))
        {
            return Err(at(&operation.span, "weight: give each operation a weight of 0 or more"));
        }
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 {
            return Err(at(&self.span, "users: no operation has a weight: give one above 0, or next"));
        }
        Ok(NextOperation::Weights(weights.iter().map(|weight| weight / sum).collect()))
    }

    fn matrix(
        &self,
        span: &Range<usize>,
        rows: &BTreeMap<String, RawRow>,
        names: &[String],
        start: u16,
    ) -> Result<NextOperation, ScenarioError> {
        if let Some(operation) = self.operations.iter().find(|operation| operation.weight.is_some()) {
            return Err(at(&operation.span, "weight: the rows of next say how often: leave it out"));
        }
        if let Some((name, (span, _))) = rows.iter().find(|(name, _)| place_of(names, name).is_none()) {
            return Err(at(span, no_operation("next", name, names)));
        }
        let mut matrix = Vec::new();
        for name in names {
            let Some((span, row)) = rows.get(name) else {
                return Err(at(span, format!("next: there is no row for {name:?}: say what comes after it")));
            };
            matrix.push(read_row(name, span, row, names)?);
        }
        let reached = reachable(&matrix, start.into());
        if let Some(lost) = (0..names.len()).find(|operation| !reached[*operation]) {
            let what = format!(
                "next: no user comes to {:?} from {:?}: give it a share in a row, or remove it",
                names[lost],
                names[usize::from(start)]
            );
            return Err(at(&rows[&names[lost]].0, what));
        }
        Ok(NextOperation::Matrix(matrix))
    }
}

impl RawOperation {
    fn take(operation: &mut Spanned<DeValue<'_>>) -> Result<Self, ScenarioError> {
        let span = operation.span();
        let DeValue::Table(table) = operation.get_mut() else {
            return Err(at(&span, "op: write each operation as a table [[load.op]]"));
        };
        let weight = table.get("weight").cloned().map(read).transpose()?;
        let delay = table.remove("delay").map(read).transpose()?;
        let limit = table.remove("limit").map(read).transpose()?;
        Ok(Self { span, weight, delay, limit })
    }
}

impl RawDelay {
    fn read(&self) -> Result<Delay, ScenarioError> {
        let (kind, length) = match (&self.cycle, &self.think) {
            (Some(cycle), None) => (DelayKind::Cycle, cycle),
            (None, Some(think)) => (DelayKind::Think, think),
            (Some(cycle), Some(_)) => {
                return Err(at(
                    &cycle.span(),
                    "delay: give a cycle, from start to start, or a think time, from end to start",
                ));
            }
            (None, None) => {
                let span = self.min.as_ref().map_or(0..0, Spanned::span);
                return Err(at(&span, "delay: give a cycle or a think time, such as { cycle = \"exp:5s\" }"));
            }
        };
        let min = self.min.as_ref().map(|min| min.get_ref().as_str());
        Delay::parse(kind, length.get_ref(), min)
            .map_err(|error| at(&length.span(), format!("delay: {error}")))
    }
}

/// Reads a value; an error of it has its place.
pub(super) fn read<T: DeserializeOwned>(value: Spanned<DeValue<'_>>) -> Result<T, ScenarioError> {
    Ok(T::deserialize(ValueDeserializer::from(value))?)
}

fn place_of(names: &[String], name: &str) -> Option<u16> {
    names.iter().position(|known| known == name).and_then(|place| u16::try_from(place).ok())
}

fn no_operation(key: &str, name: &str, names: &[String]) -> String {
    format!("{key}: there is no operation {name:?}: the operations are {}", names.join(", "))
}

fn read_rows(next: Spanned<DeValue<'_>>) -> Result<(Range<usize>, BTreeMap<String, RawRow>), ScenarioError> {
    let span = next.span();
    let DeValue::Table(table) = next.into_inner() else {
        return Err(at(
            &span,
            "next: write a row for each operation, such as home = { login = 40, search = 60 }",
        ));
    };
    let mut rows = BTreeMap::new();
    for (name, row) in table {
        let row_span = row.span();
        let DeValue::Table(row) = row.into_inner() else {
            return Err(at(
                &row_span,
                format!("next.{}: write the row as {{ NAME = PERCENT, … }}", name.get_ref()),
            ));
        };
        let mut shares = BTreeMap::new();
        for (to, percent) in row {
            shares.insert(to.get_ref().to_string(), (to.span(), read(percent)?));
        }
        rows.insert(name.get_ref().to_string(), (name.span(), shares));
    }
    Ok((span, rows))
}

/// The shares of a row, which add up to 1.
fn read_row(
    name: &str,
    span: &Range<usize>,
    row: &BTreeMap<String, (Range<usize>, f64)>,
    names: &[String],
) -> Result<Vec<f64>, ScenarioError> {
    let mut shares = vec![0.0; names.len()];
    let leave = row.get(LEAVE).map_or(0.0, |(_, percent)| *percent);
    for (to, (span, percent)) in row {
        if to == LEAVE && (0.0..=100.0).contains(percent) {
            continue;
        }
        let Some(to) = place_of(names, to) else {
            return Err(at(span, no_operation(&format!("next.{name}"), to, names)));
        };
        if !(percent.is_finite() && *percent >= 0.0) {
            return Err(at(span, format!("next.{name}: {percent} is no share: give per cent of 0 or more")));
        }
        shares[usize::from(to)] = *percent;
    }
    let sum: f64 = shares.iter().sum();
    if (sum + leave - 100.0).abs() > ROW_TOLERANCE {
        let what = format!("next.{name}: the row adds up to {} per cent: make it 100", sum + leave);
        return Err(at(span, what));
    }
    // Where all leave, what would come next does not matter.
    let sum = if sum > 0.0 { sum } else { 1.0 };
    Ok(shares.into_iter().map(|percent| percent / sum).collect())
}

/// Which places a walk from `start` comes to.
fn reachable(matrix: &[Vec<f64>], start: usize) -> Vec<bool> {
    let mut reached = vec![false; matrix.len()];
    let mut open = vec![start];
    reached[start] = true;
    while let Some(from) = open.pop() {
        for (to, share) in matrix[from].iter().enumerate() {
            if *share > 0.0 && !std::mem::replace(&mut reached[to], true) {
                open.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests;
