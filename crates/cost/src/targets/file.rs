//! The keys of targets.toml, and the checks that need several of them.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use ::power::SourceDescription;
use serde::Deserialize;
use stats::cost::DutyCycle;
use stats::quantity::{MoneyPerKilowattHour, PowerUsageEffectiveness, RackUnits};
use toml::{Spanned, Value};

use super::error::TargetsError;
use super::meters::{self, SourceKeys};
use super::plausible::{self, Parsed};
use super::target::{Acquisition, Target, Targets};
use super::target_meter::TargetMeter;
use crate::power::{Boundary, MachinePower, stated_boundary};
use crate::unit_text::{self, Currency, UnitError};
use notation::source_text::{FileError, SourceText};

/// A value that must be a text with a unit, or a meter. Anything else gets an error that says so.
type Text = Option<Spanned<Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    currency: Option<Spanned<String>>,
    pue: Option<Spanned<f64>>,
    price_per_kwh: Text,
    grid_intensity: Text,
    life: Text,
    hours_at_load: Text,
    #[serde(default)]
    target: BTreeMap<String, Spanned<RawTarget>>,
    #[serde(default)]
    power: BTreeMap<String, Spanned<SourceKeys>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTarget {
    #[serde(default)]
    variants: Vec<String>,
    price: Text,
    rate: Text,
    rack_units: Option<Spanned<f64>>,
    nameplate: Text,
    load: Text,
    idle: Text,
    boundary: Option<Spanned<String>>,
    meter: Text,
    measured_with: Option<String>,
    embodied: Text,
    cpus: Option<Spanned<u32>>,
}

/// Reads texts of one file.
struct Reader<'t> {
    source: SourceText<'t>,
    currency: Currency,
}

impl Reader<'_> {
    fn text<T>(
        &self,
        key: &str,
        example: &str,
        raw: Text,
        parse: impl Fn(&str) -> Result<T, UnitError>,
    ) -> Result<Option<Parsed<T>>, FileError> {
        let Some(raw) = raw else { return Ok(None) };
        let span = raw.span();
        let refused = |why: String| self.source.error(&span, format!("{key}: {why}"));
        let text = match raw.into_inner() {
            Value::String(text) => text,
            Value::Integer(number) => {
                return Err(refused(format!("{number} has no unit: write it as {example:?}")));
            }
            Value::Float(number) => {
                return Err(refused(format!("{number} has no unit: write it as {example:?}")));
            }
            _ => return Err(refused(format!("it is not a text: write it as {example:?}"))),
        };
        let value = parse(&text).map_err(|why| refused(why.to_string()))?;
        Ok(Some(Parsed { value, text, span }))
    }
}

impl Targets {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, TargetsError> {
        let label = path.display().to_string();
        let text =
            fs::read_to_string(path).map_err(|source| TargetsError::Read { path: label.clone(), source })?;
        Ok(Self::parse(&label, &text)?)
    }

    /// Parses a file's text; errors begin with its name and a line.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        parse(file, text)
    }
}

fn parse(file: &str, text: &str) -> Result<Targets, FileError> {
    let source = SourceText { file, text };
    let raw: RawFile = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
    let start = 0..0;
    let Some(currency) = raw.currency else {
        return Err(source.error(&start, "there is no currency: write one, such as currency = \"EUR\""));
    };
    let code = Currency::new(currency.get_ref());
    let code = code.map_err(|why| source.error(&currency.span(), format!("currency: {why}")))?;
    let reader = Reader { source, currency: code.clone() };
    let energy_price = format!("0.24 {}/kWh", code.code());
    let price_per_kwh = reader.text("price_per_kwh", &energy_price, raw.price_per_kwh, |text| {
        unit_text::energy_price(text, &code)
    })?;
    let grid_intensity =
        reader.text("grid_intensity", "380 g/kWh", raw.grid_intensity, unit_text::grid_intensity)?;
    let life = reader.text("life", "4 years", raw.life, unit_text::life)?;
    let hours = reader.text("hours_at_load", "8 h/day", raw.hours_at_load, unit_text::hours_a_day)?;
    let cycle = hours.and_then(|hours| DutyCycle::hours_a_day(hours.value)).unwrap_or(DutyCycle::ALL_DAY);
    let pue = raw.pue.map(|pue| {
        let message =
            "pue: it is the energy of the site over that of its computers, from 1 to 10, such as 1.54";
        PowerUsageEffectiveness::new(*pue.get_ref()).ok_or_else(|| source.error(&pue.span(), message))
    });
    if raw.target.is_empty() {
        return Err(
            source.error(&start, "there is no target: write [target.NAME] with its price and its watts")
        );
    }
    let meters = meters::check(&source, raw.power)?;
    let mut targets = Vec::new();
    for (name, spanned) in raw.target {
        let table = spanned.span();
        let price_of_energy = price_per_kwh.as_ref().map(|price| price.value);
        let target = spanned.into_inner().check(name, &table, &reader, &meters, price_of_energy)?;
        // A meter measures the idle power, too.
        let needs_idle =
            !cycle.is_all_day() && target.load.is_some() && target.idle.is_none() && target.meter.is_none();
        if needs_idle {
            let message = format!(
                "target {} has no idle power, and it is at load for {} h a day only: write idle = \"… W\"",
                target.name,
                cycle.of_a_day().value()
            );
            return Err(source.error(&table, message));
        }
        targets.push(target);
    }
    Ok(Targets {
        currency: code,
        pue: pue.transpose()?,
        price_per_kwh: price_per_kwh.map(|price| price.value),
        grid_intensity: grid_intensity.map(|intensity| intensity.value),
        life: life.map(|life| life.value),
        cycle,
        targets,
    })
}

impl RawTarget {
    fn check(
        self,
        name: String,
        table: &Range<usize>,
        reader: &Reader<'_>,
        meters: &[SourceDescription],
        price_of_energy: Option<MoneyPerKilowattHour>,
    ) -> Result<Target, FileError> {
        let source = &reader.source;
        let code = &reader.currency;
        let price_example = format!("3446 {}", code.code());
        let price = reader.text("price", &price_example, self.price, |text| unit_text::money(text, code))?;
        let rate_example = format!("0.40 {}/hour", code.code());
        let rate =
            reader.text("rate", &rate_example, self.rate, |text| unit_text::hourly_rate(text, code))?;
        let span_of_rate = rate.as_ref().map(|rate| rate.span.clone());
        let acquisition = match (price, rate) {
            (Some(_), Some(rate)) => {
                let message =
                    format!("target {name} has a price and a rate: give the one by which it is paid for");
                return Err(source.error(&rate.span, message));
            }
            (Some(price), None) => Some(Acquisition::Bought(price.value)),
            (None, rate) => rate.map(|rate| Acquisition::Rented(rate.value)),
        };
        let rack_units = self.rack_units.map(|units| {
            let message = "rack_units: a server has more than 0 and at most 50";
            let is_height = *units.get_ref() > 0.0 && *units.get_ref() <= 50.0;
            is_height
                .then(|| RackUnits::new(*units.get_ref()))
                .ok_or_else(|| source.error(&units.span(), message))
        });
        let cpus = self.cpus.map(|cpus| {
            let message = "cpus: a server has 1 at least";
            (*cpus.get_ref() > 0).then(|| *cpus.get_ref()).ok_or_else(|| source.error(&cpus.span(), message))
        });
        let nameplate = reader.text("nameplate", "275 W", self.nameplate, unit_text::power)?;
        let load = reader.text("load", "208 W", self.load, unit_text::power)?;
        let idle = reader.text("idle", "118 W", self.idle, unit_text::power)?;
        plausible::check_order(source, [("idle", &idle), ("load", &load), ("nameplate", &nameplate)])?;
        let rack_units = rack_units.transpose()?;
        plausible::check_height(source, rack_units, [("load", &load), ("nameplate", &nameplate)])?;
        let boundary = boundary(source, table, &name, self.boundary, load.is_some() || idle.is_some())?;
        let by_hand = self.measured_with.map_or_else(
            || "typed in by hand".to_owned(),
            |instrument| format!("typed in by hand: {instrument}"),
        );
        let stated = |parsed: Parsed<_>| {
            let apparent = if unit_text::is_apparent(&parsed.text) { ", apparent power" } else { "" };
            MachinePower {
                watts: parsed.value,
                boundary: boundary.unwrap_or(Boundary::Wall),
                source: format!("{by_hand}{apparent}"),
                is_measured: false,
            }
        };
        let of_nameplate = nameplate.map(|nameplate| MachinePower {
            watts: nameplate.value,
            boundary: Boundary::Nameplate,
            source: "the nameplate".to_owned(),
            is_measured: false,
        });
        let load = load.map(stated).or(of_nameplate);
        if let (Some(Acquisition::Rented(rate)), Some(span), Some(load), Some(price)) =
            (acquisition, span_of_rate, &load, price_of_energy)
        {
            plausible::check_rate(source, &span, rate, load.watts, price)?;
        }
        let embodied = reader.text("embodied", "1200 kg", self.embodied, unit_text::carbon_mass)?;
        let meter = self.meter.map(|meter| TargetMeter::check(meter, source, meters));
        Ok(Target {
            name,
            variants: self.variants,
            acquisition,
            rack_units,
            load,
            idle: idle.map(stated),
            embodied: embodied.map(|embodied| embodied.value),
            cpus: cpus.transpose()?,
            meter: meter.transpose()?,
        })
    }
}

fn boundary(
    source: &SourceText<'_>,
    table: &Range<usize>,
    target: &str,
    raw: Option<Spanned<String>>,
    is_needed: bool,
) -> Result<Option<Boundary>, FileError> {
    const CHOICES: &str =
        "\"wall\" at the plug, \"dc\" behind the power supply, or \"package\" of the processor";
    match raw {
        Some(raw) => stated_boundary(raw.get_ref()).map(Some).ok_or_else(|| {
            source.error(&raw.span(), format!("boundary: {:?} is not {CHOICES}", raw.get_ref()))
        }),
        None if is_needed => {
            let message =
                format!("target {target} does not say what its watts include: write boundary as {CHOICES}");
            Err(source.error(table, message))
        }
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests;
