//! Texts with a unit, such as `0.4 kW` and `0.40 EUR/hour`. A text without a unit, with one of another kind, or with a value that
//! no server has is refused with what to write.

use stats::cost::real_power;
use stats::quantity::{
    Amperes, Grams, GramsPerKilowattHour, Hours, Money, MoneyPerHour, MoneyPerKilowattHour, Volts, Watts,
    YEAR,
};

/// Hours of a month: a twelfth of a year, as providers bill it.
const MONTH: Hours = Hours::new(YEAR.value() / 12.0);

/// Why a text is not the quantity that is wanted; it begins with the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(String);

/// The currency of a file, a code of ISO 4217 such as EUR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Currency(String);

impl Currency {
    /// Three capital letters.
    pub fn new(code: &str) -> Result<Self, UnitError> {
        if code.len() == 3 && code.chars().all(|c| c.is_ascii_uppercase()) {
            return Ok(Self(code.to_owned()));
        }
        Err(UnitError(format!(
            "{code:?} is not a currency: write its code of three capital letters, such as EUR or USD"
        )))
    }

    /// The code.
    pub fn code(&self) -> &str {
        &self.0
    }
}

/// A number and its unit.
struct Parsed<'t> {
    text: &'t str,
    number: f64,
    unit: &'t str,
}

/// Splits a text; `example` is what to write instead.
fn split<'t>(text: &'t str, example: &str) -> Result<Parsed<'t>, UnitError> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let refused = |why: &str| UnitError(format!("{text:?} {why}: write it as {example:?}"));
    let number: f64 = match number.parse() {
        Ok(number) => number,
        Err(_) if unit.starts_with(',') => return Err(refused("has a comma in its number")),
        Err(_) => return Err(refused("does not begin with a number")),
    };
    match () {
        () if unit.is_empty() => Err(refused("has no unit")),
        () if unit.starts_with(',') => Err(refused("has a comma in its number")),
        () if number < 0.0 => Err(refused("is negative")),
        () => Ok(Parsed { text, number, unit }),
    }
}

impl Parsed<'_> {
    fn wrong_unit(&self, is: &str, example: &str) -> UnitError {
        UnitError(format!("{:?} {is}: write it as {example:?}", self.text))
    }

    /// Refuses a value that no server has: most often a wrong unit.
    fn within(&self, value: f64, least: f64, most: f64, what: &str) -> Result<f64, UnitError> {
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        Err(UnitError(format!("{:?} is not {what}: check the number and the unit", self.text)))
    }
}

/// Power: `275 W`, `0.4 kW`, or amperes × volts × power factor: `1.8 A x 240 V x 0.95`.
pub fn power(text: &str) -> Result<Watts, UnitError> {
    const EXAMPLE: &str = "275 W";
    if text.contains(['x', '×', '*']) {
        return current_times_voltage(text);
    }
    let parsed = split(text, EXAMPLE)?;
    let watts = match parsed.unit {
        "W" => parsed.number,
        "kW" => parsed.number * 1e3,
        "Wh" | "kWh" | "J" | "MJ" => return Err(parsed.wrong_unit("is energy, not power", EXAMPLE)),
        "VA" | "kVA" => {
            let is = "is apparent power, which is not what a meter of energy counts";
            return Err(parsed.wrong_unit(is, "1.8 A x 240 V x 0.95"));
        }
        "A" => return Err(parsed.wrong_unit("is a current without its voltage", "1.8 A x 240 V x 0.95")),
        _ => return Err(parsed.wrong_unit("is not in W or kW", EXAMPLE)),
    };
    let what = "the power of a server, 0.1 W to 50 kW";
    Ok(Watts::new(parsed.within(watts, 0.1, 50e3, what)?))
}

fn current_times_voltage(text: &str) -> Result<Watts, UnitError> {
    const EXAMPLE: &str = "1.8 A x 240 V x 0.95";
    let refused = |why: &str| UnitError(format!("{text:?} {why}: write it as {EXAMPLE:?}"));
    let factors: Vec<&str> = text.split(['x', '×', '*']).map(str::trim).collect();
    let (current, voltage, factor) = match factors[..] {
        [current, voltage] => (current, voltage, "1"),
        [current, voltage, factor] => (current, voltage, factor),
        _ => return Err(refused("is not amperes × volts × power factor")),
    };
    let number = |text: &str, unit: &str| text.strip_suffix(unit)?.trim().parse::<f64>().ok();
    let (Some(amperes), Some(volts)) = (number(current, "A"), number(voltage, "V")) else {
        return Err(refused("is not amperes × volts × power factor"));
    };
    let factor = factor.parse::<f64>().ok().filter(|factor| *factor > 0.0 && *factor <= 1.0);
    let Some(factor) = factor else { return Err(refused("has a power factor outside 0 to 1")) };
    let watts = real_power(Amperes::new(amperes), Volts::new(volts), factor);
    let parsed = Parsed { text, number: watts.value(), unit: "W" };
    parsed.within(parsed.number, 0.1, 50e3, "the power of a server, 0.1 W to 50 kW")?;
    Ok(watts)
}

/// Whether a text gives power as amperes × volts without a power factor: an upper bound.
pub fn is_apparent(text: &str) -> bool {
    text.split(['x', '×', '*']).count() == 2
}

/// Checks that a unit begins with the file's currency; returns what follows it.
fn in_currency<'p>(parsed: &'p Parsed<'_>, currency: &Currency, example: &str) -> Result<&'p str, UnitError> {
    if let Some(rest) = parsed.unit.strip_prefix(currency.code())
        && (rest.is_empty() || rest.starts_with('/'))
    {
        return Ok(rest);
    }
    let other = parsed.unit.split('/').next().unwrap_or_default().trim();
    if Currency::new(other).is_ok() {
        return Err(UnitError(format!(
            "{:?} is in {other}, and the currency of this file is {}: convert it, because exchange rates change",
            parsed.text,
            currency.code()
        )));
    }
    let is = format!("is not in {}, the currency of this file", currency.code());
    Err(parsed.wrong_unit(&is, example))
}

/// An amount of money: `3446 EUR`.
pub fn money(text: &str, currency: &Currency) -> Result<Money, UnitError> {
    let example = format!("3446 {}", currency.code());
    let parsed = split(text, &example)?;
    match in_currency(&parsed, currency, &example)? {
        "" => Ok(Money::new(parsed.number)),
        _ => Err(parsed.wrong_unit("is a rate, and a price has no time: use the key rate", &example)),
    }
}

/// A price for a time: `0.40 EUR/hour`, `290 EUR/month` (of 730 hours), `2500 EUR/year`.
pub fn hourly_rate(text: &str, currency: &Currency) -> Result<MoneyPerHour, UnitError> {
    let example = format!("0.40 {}/hour", currency.code());
    let parsed = split(text, &example)?;
    let hours = match in_currency(&parsed, currency, &example)? {
        "/h" | "/hour" => Hours::new(1.0),
        "/month" => MONTH,
        "/year" => YEAR,
        "" => return Err(parsed.wrong_unit("has no time: it may be for an hour or for a month", &example)),
        _ => return Err(parsed.wrong_unit("is not for an hour, a month or a year", &example)),
    };
    Ok(MoneyPerHour::new(parsed.number / hours.value()))
}

/// A price of energy: `0.24 EUR/kWh`, `240 EUR/MWh`.
pub fn energy_price(text: &str, currency: &Currency) -> Result<MoneyPerKilowattHour, UnitError> {
    let example = format!("0.24 {}/kWh", currency.code());
    let parsed = split(text, &example)?;
    let price = match in_currency(&parsed, currency, &example)? {
        "/kWh" => parsed.number,
        "/MWh" => parsed.number / 1e3,
        "/kW" => return Err(parsed.wrong_unit("is a price of power, not of energy", &example)),
        _ => return Err(parsed.wrong_unit("is not a price for a kWh", &example)),
    };
    let most = if UNITS_OF_A_EURO.contains(&currency.code()) { 5.0 } else { f64::MAX };
    let price = parsed.within(price, 0.0, most, "the price of a kWh, which no grid sells for more than 5")?;
    Ok(MoneyPerKilowattHour::new(price))
}

/// Currencies of which a unit is worth a third to three of a euro: what a kWh costs at most is known in them.
const UNITS_OF_A_EURO: [&str; 8] = ["EUR", "USD", "GBP", "CHF", "CAD", "AUD", "NZD", "SGD"];

/// Carbon of generated energy: `380 g/kWh`, `0.38 kg/kWh`.
pub fn grid_intensity(text: &str) -> Result<GramsPerKilowattHour, UnitError> {
    const EXAMPLE: &str = "380 g/kWh";
    let parsed = split(text, EXAMPLE)?;
    let grams = match parsed.unit {
        "g/kWh" | "kg/MWh" => parsed.number,
        "kg/kWh" => parsed.number * 1e3,
        _ => return Err(parsed.wrong_unit("is not carbon for a kWh", EXAMPLE)),
    };
    let what = "the intensity of a grid, 0 to 2,000 g/kWh";
    Ok(GramsPerKilowattHour::new(parsed.within(grams, 0.0, 2e3, what)?))
}

/// A mass of carbon: `1200 kg`, `1.2 t`.
pub fn carbon_mass(text: &str) -> Result<Grams, UnitError> {
    const EXAMPLE: &str = "1200 kg";
    let parsed = split(text, EXAMPLE)?;
    match parsed.unit {
        "g" => Ok(Grams::new(parsed.number)),
        "kg" => Ok(Grams::new(parsed.number * 1e3)),
        "t" => Ok(Grams::new(parsed.number * 1e6)),
        _ => Err(parsed.wrong_unit("is not in kg or t", EXAMPLE)),
    }
}

/// A span of years or months: `4 years`, `48 months`.
pub fn life(text: &str) -> Result<Hours, UnitError> {
    const EXAMPLE: &str = "4 years";
    let parsed = split(text, EXAMPLE)?;
    let years = match parsed.unit {
        "year" | "years" => parsed.number,
        "month" | "months" => parsed.number / 12.0,
        _ => return Err(parsed.wrong_unit("is not in years or months", EXAMPLE)),
    };
    Ok(YEAR * parsed.within(years, 1.0 / 12.0, 30.0, "the life of a server, a month to 30 years")?)
}

/// Hours of each day: `8 h/day`.
pub fn hours_a_day(text: &str) -> Result<Hours, UnitError> {
    const EXAMPLE: &str = "8 h/day";
    let parsed = split(text, EXAMPLE)?;
    match parsed.unit {
        "h/day" | "hours/day" => {
            Ok(Hours::new(parsed.within(parsed.number, 0.01, 24.0, "a part of a day, up to 24 hours")?))
        }
        _ => Err(parsed.wrong_unit("is not in hours a day", EXAMPLE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn eur() -> Currency {
        Currency::new("EUR").unwrap()
    }

    #[test]
    fn texts_become_quantities_of_one_unit() {
        assert_eq!([power("275 W"), power("0.275kW")], [Ok(Watts::new(275.0)), Ok(Watts::new(275.0))]);
        assert_eq!(power("2 A x 120 V"), Ok(Watts::new(240.0)));
        assert_eq!(power("2 A × 120 V × 0.5"), Ok(Watts::new(120.0)));
        assert!(is_apparent("2 A x 120 V") && !is_apparent("2 A x 120 V x 0.9") && !is_apparent("240 W"));
        assert_eq!(money("3446 EUR", &eur()), Ok(Money::new(3446.0)));
        assert_eq!(hourly_rate("0.40 EUR/hour", &eur()), Ok(MoneyPerHour::new(0.40)));
        assert_eq!(hourly_rate("292 EUR/month", &eur()), Ok(MoneyPerHour::new(0.40)));
        assert_eq!(hourly_rate("3504 EUR/year", &eur()), Ok(MoneyPerHour::new(0.40)));
        assert_eq!(energy_price("240 EUR/MWh", &eur()), Ok(MoneyPerKilowattHour::new(0.24)));
        assert_eq!(grid_intensity("0.38 kg/kWh"), Ok(GramsPerKilowattHour::new(380.0)));
        assert_eq!(carbon_mass("1.2 t"), Ok(Grams::new(1.2e6)));
        assert_eq!([life("4 years"), life("48 months")], [Ok(YEAR * 4.0), Ok(YEAR * 4.0)]);
        assert_eq!(hours_a_day("8 h/day"), Ok(Hours::new(8.0)));
    }

    #[test]
    fn a_wrong_unit_is_refused_with_what_to_write() {
        let powers = [
            ("275", "\"275\" has no unit: write it as \"275 W\""),
            (
                "275 kW",
                "\"275 kW\" is not the power of a server, 0.1 W to 50 kW: check the number and the unit",
            ),
            ("275 kWh", "\"275 kWh\" is energy, not power: write it as \"275 W\""),
            ("275 w", "\"275 w\" is not in W or kW: write it as \"275 W\""),
            ("2,5 kW", "\"2,5 kW\" has a comma in its number: write it as \"275 W\""),
            ("-5 W", "\"-5 W\" is negative: write it as \"275 W\""),
            ("many", "\"many\" does not begin with a number: write it as \"275 W\""),
            ("1.8 A", "\"1.8 A\" is a current without its voltage: write it as \"1.8 A x 240 V x 0.95\""),
            (
                "1.8 A x 240 V x 95",
                "\"1.8 A x 240 V x 95\" has a power factor outside 0 to 1: write it as \"1.8 A x 240 V x 0.95\"",
            ),
        ];
        for (text, message) in powers {
            assert_eq!(power(text).unwrap_err().to_string(), message);
        }
        let dollars = money("3446 USD", &eur()).unwrap_err().to_string();
        assert_eq!(
            dollars,
            "\"3446 USD\" is in USD, and the currency of this file is EUR: convert it, because exchange rates change"
        );
        let sign = money("3446 €", &eur()).unwrap_err().to_string();
        assert_eq!(sign, "\"3446 €\" is not in EUR, the currency of this file: write it as \"3446 EUR\"");
        let rate = money("40 EUR/month", &eur()).unwrap_err().to_string();
        assert!(rate.contains("is a rate, and a price has no time"), "{rate}");
        let timeless = hourly_rate("40 EUR", &eur()).unwrap_err().to_string();
        assert!(timeless.contains("may be for an hour or for a month"), "{timeless}");
        let of_power = energy_price("10 EUR/kW", &eur()).unwrap_err().to_string();
        assert!(of_power.contains("is a price of power, not of energy"), "{of_power}");
        let of_a_megawatt_hour = energy_price("240 EUR/kWh", &eur()).unwrap_err().to_string();
        assert!(of_a_megawatt_hour.ends_with("for more than 5: check the number and the unit"));
        assert!(energy_price("31 JPY/kWh", &Currency::new("JPY").unwrap()).is_ok());
        assert!(Currency::new("euro").is_err() && Currency::new("€").is_err());
        assert!(life("4").is_err() && life("400 years").is_err() && hours_a_day("25 h/day").is_err());
        assert!(grid_intensity("380 kg/kWh").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (power(&text), money(&text, &eur()), hourly_rate(&text, &eur()), energy_price(&text, &eur()));
            let _ = (grid_intensity(&text), carbon_mass(&text), life(&text), hours_a_day(&text), Currency::new(&text));
        }
    }
}
