//! Claims that the authors printed, beside what their figures give: reproduced, not reproduced, or not checkable, and why.

use serde::Serialize;
use stats::cost::{DutyCycle, energy_a_year, implied_energy_price};
use stats::quantity::{KilowattHours, Money, OperationsPerSecond, PowerUsageEffectiveness, Watts, YEAR};

use super::data::{Published, PublishedResult, number};

/// A printed claim beside what the figures give.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// What is claimed, or asked.
    pub claim: String,
    /// As printed.
    pub printed: String,
    /// As computed, with the formula.
    pub computed: String,
    /// How the two compare.
    pub outcome: Outcome,
    /// Why, and what remains open.
    pub why: String,
}

/// How a printed claim and the computed figure compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The figures give it.
    Reproduced,
    /// The figures give something else.
    Differs,
    /// Figures that it needs are not published.
    NotCheckable,
}

impl Outcome {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Differs => "differs",
            Self::NotCheckable => "cannot be checked",
        }
    }
}

/// Amperes are printed with one decimal: half of the last digit.
const HALF_OF_THE_LAST_DIGIT: f64 = 0.05;

pub(super) fn all(published: &Published) -> Vec<Check> {
    let mut checks = energy_prices(published);
    checks.push(one_energy_price(published));
    checks.extend(energy_of_a_million(published));
    checks.push(cooling(published));
    checks.extend(nameplates(published));
    checks.push(mail_ratio(published));
    checks.push(swap_improvement(published));
    checks.push(printed_swap(published));
    checks.extend(break_even(published));
    checks
}

/// The figures of power with a yearly cost.
fn yearly_costs(published: &Published) -> impl Iterator<Item = (&PublishedResult, &str, Watts, Money)> {
    published.results.iter().filter_map(|result| {
        let name = &published.systems[result.system.as_ref()?].name;
        Some((result, name.as_str(), result.watts_at_load()?, Money::new(result.eur_a_year?)))
    })
}

fn energy_of_a_year(watts: Watts) -> KilowattHours {
    let site = PowerUsageEffectiveness::new(1.0).expect("1 is the least");
    energy_a_year(watts, watts, DutyCycle::ALL_DAY, site)
}

/// The price of energy that a yearly cost implies, lowest and highest by the rounding of the amperes.
fn implied_prices(result: &PublishedResult, watts: Watts, cost: Money) -> (f64, f64) {
    let rounding = HALF_OF_THE_LAST_DIGIT / result.amps_mean.unwrap_or(f64::INFINITY);
    let price = |factor: f64| implied_energy_price(cost, energy_of_a_year(watts * factor)).value();
    (price(1.0 + rounding), price(1.0 - rounding))
}

/// The prices that explain all yearly costs.
fn common_prices(published: &Published) -> (f64, f64) {
    yearly_costs(published)
        .map(|(result, _, watts, cost)| implied_prices(result, watts, cost))
        .fold((0.0, f64::INFINITY), |(low, high), (from, to)| (f64::max(low, from), f64::min(high, to)))
}

fn energy_prices(published: &Published) -> Vec<Check> {
    let (low, high) = common_prices(published);
    let check = |(result, name, watts, cost): (&PublishedResult, &str, Watts, Money)| {
        let energy = energy_of_a_year(watts);
        let price = implied_energy_price(cost, energy).value();
        let (from, to) = implied_prices(result, watts, cost);
        let common = f64::midpoint(low, high);
        Check {
            claim: format!("energy cost a year of a {name}"),
            printed: format!("{} EUR", number(cost.value())),
            computed: format!(
                "{} V × {} A × 8,760 h = {} kWh: the printed cost implies {price:.4} EUR/kWh ({from:.4} to {to:.4} with the rounding of \
                 the amperes)",
                result.volts.unwrap_or_default(),
                result.amps_mean.unwrap_or_default(),
                number(energy.value()),
            ),
            outcome: if from <= common && common <= to { Outcome::Reproduced } else { Outcome::Differs },
            why: format!(
                "with {common:.4} EUR/kWh, at a power factor of 1 and without cooling; the price itself was not printed"
            ),
        }
    };
    yearly_costs(published).map(check).collect()
}

/// Whether one price of energy explains all printed costs, within the rounding of the amperes.
fn one_energy_price(published: &Published) -> Check {
    let (low, high) = common_prices(published);
    let costs: Vec<String> = yearly_costs(published).map(|(.., cost)| number(cost.value())).collect();
    let fits = low <= high;
    Check {
        claim: "one price of energy explains all yearly costs".to_owned(),
        printed: format!("{} EUR", costs.join(", ")),
        computed: if fits {
            format!("any price from {low:.4} to {high:.4} EUR/kWh, with amperes rounded to 0.1 A")
        } else {
            "no price fits all of them".to_owned()
        },
        outcome: if fits { Outcome::Reproduced } else { Outcome::Differs },
        why: "the implied prices differ by as much as the rounding of the amperes explains".to_owned(),
    }
}

/// What the energy of a million requests cost, from the printed yearly cost and the same client.
fn energy_of_a_million(published: &Published) -> Vec<Check> {
    let check = |(result, name, _, cost): (&PublishedResult, &str, Watts, Money)| {
        let is_rate = |other: &&PublishedResult| {
            other.system == result.system
                && other.metric.as_deref() == Some("requests/s")
                && other.client.as_deref() == Some("siege, 11 machines")
        };
        let of_the_client = published.results.iter().find(is_rate)?;
        let rate = of_the_client.value?;
        let note = of_the_client.note.as_ref().map_or(String::new(), |note| format!("; the rate: {note}"));
        let requests = OperationsPerSecond::new(rate) * YEAR;
        let million = cost * (1e6 / requests.value());
        Some(Check {
            claim: format!("energy cost of a million requests on a {name}, at its highest rate all year"),
            printed: "not printed".to_owned(),
            computed: format!(
                "{} EUR a year / ({} requests/s × 8,760 h) = {:.5} EUR a million",
                number(cost.value()),
                number(rate),
                million.value()
            ),
            outcome: Outcome::NotCheckable,
            why: format!("without the price of the machine, which is not published for all three{note}"),
        })
    };
    yearly_costs(published).filter_map(check).collect()
}

fn cooling(published: &Published) -> Check {
    let tripled: Vec<String> = yearly_costs(published).map(|(.., cost)| number(cost.value() * 3.0)).collect();
    Check {
        claim: "cooling roughly triples the cost of energy".to_owned(),
        printed: "roughly 3 ×".to_owned(),
        computed: format!("a PUE of 3: {} EUR a year", tripled.join(", ")),
        outcome: Outcome::NotCheckable,
        why: "no energy of the site was published; the Uptime Institute's survey of 2025 has a mean PUE of 1.54".to_owned(),
    }
}

/// What a nameplate says beside what the machine took: why it is an estimate.
fn nameplates(published: &Published) -> Vec<Check> {
    let check = |result: &PublishedResult| {
        let (nameplate, watts) = (result.nameplate_watts?, result.watts_at_load()?);
        let name = &published.systems[result.system.as_ref()?].name;
        let more = (nameplate / watts.value() - 1.0) * 100.0;
        Some(Check {
            claim: format!("power of a {name} by its nameplate"),
            printed: format!("{nameplate} W"),
            computed: format!(
                "{} V × {} A = {:.0} W when busy: the nameplate is {more:.0} % above it",
                result.volts?,
                result.amps_busy?,
                watts.value()
            ),
            outcome: Outcome::Differs,
            why:
                "a nameplate is a limit, not what the machine takes; volts × amperes is an upper bound itself"
                    .to_owned(),
        })
    };
    published.results.iter().filter_map(check).collect()
}

/// A figure of the file, by its evaluation and the beginning of its variant.
fn figure(published: &Published, source: &str, system: &str, variant: &str) -> f64 {
    let is_it = |result: &&PublishedResult| {
        result.source == source
            && result.system.as_deref() == Some(system)
            && result.variant.as_deref().unwrap_or_default() == variant
            && result.value.is_some()
    };
    let found = published.results.iter().find(is_it).and_then(|result| result.value);
    found.expect("the data file is part of the program, and a test runs every check")
}

fn mail_ratio(published: &Published) -> Check {
    let of = |system, variant| figure(published, "isp-mail-2006", system, variant);
    let printed = of("t2000", "libumem on the T2000 only, four zones");
    let allocator = of("v210", "libumem against without");
    Check {
        claim: "traffic of a T2000 over that of a V210, both with the faster allocator".to_owned(),
        printed: format!("{} × (the T2000 alone has the allocator)", number(printed)),
        computed: format!("{} / {} = {:.1} ×", number(printed), number(allocator), printed / allocator),
        outcome: Outcome::Differs,
        why: "the allocator makes the V210 faster too: a fair ratio gives it to both sides".to_owned(),
    }
}

fn swap_improvement(published: &Published) -> Check {
    let of = |variant| figure(published, "mysql-2006", "t2000", variant);
    let (before, tuned) = (of("before tuning"), of("tuned"));
    let printed = figure(published, "mysql-2006", "t2000", "");
    let found = (tuned / before - 1.0) * 100.0;
    let watts = (1.0 + printed / 100.0) / (tuned / before);
    Check {
        claim: "improvement of the T2000 by tuning MySQL".to_owned(),
        printed: format!("{printed:.1} % at 32 threads"),
        computed: format!("SWaP {before:.1} → {tuned:.1} is {found:.1} %"),
        outcome: Outcome::Differs,
        why: format!(
            "the percentage may be of the throughput at 32 threads and the SWaP of another point; or the watts fell to {:.1} % of before. \
             The printed percentage is also nearly the first SWaP itself",
            watts * 100.0
        ),
    }
}

fn printed_swap(published: &Published) -> Check {
    let of = |system, variant| figure(published, "mysql-2006", system, variant);
    let (t2000, dl145) = (of("t2000", "tuned"), of("dl145", ""));
    Check {
        claim: "SWaP of a T2000 over that of a DL145 G2 with MySQL".to_owned(),
        printed: format!("{t2000:.2} and {dl145:.2}"),
        computed: format!("{t2000:.2} / {dl145:.2} = {:.2} ×", t2000 / dl145),
        outcome: Outcome::NotCheckable,
        why: "neither performance nor watts are printed, so the SWaP itself cannot be computed, only the ratio of two".to_owned(),
    }
}

/// How much faster the new machine had to be, from list prices alone.
fn break_even(published: &Published) -> Vec<Check> {
    let old = &published.systems["dl145"];
    let check = |system: &str| {
        let new = &published.systems[system];
        let base = *old.list_price_usd.first()?;
        let ratios: Vec<String> = new
            .list_price_usd
            .iter()
            .map(|price| format!("{} / {} = {:.2}", number(*price), number(base), price / base))
            .collect();
        Some(Check {
            claim: format!("break-even ratio of a {} over an {}, by list price", new.name, old.name),
            printed: "not printed".to_owned(),
            computed: ratios.join("; "),
            outcome: Outcome::NotCheckable,
            why: "energy is left out: the watts of the DL145 are not published".to_owned(),
        })
    };
    ["t2000", "t1000"].into_iter().filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(claim: &str) -> Check {
        let found = all(&Published::shipped()).into_iter().find(|check| check.claim.contains(claim));
        found.unwrap_or_else(|| panic!("no check of {claim}"))
    }

    #[test]
    fn each_yearly_cost_implies_a_price_of_energy() {
        for (system, price) in
            [("Sun Fire T2000", "0.0999"), ("Dell 2850", "0.1040"), ("Dell 7250", "0.1044")]
        {
            let check = check(&format!("energy cost a year of a {system}"));
            assert!(check.computed.contains(price) && check.outcome == Outcome::Reproduced, "{check:?}");
        }
        let one = check("one price of energy");
        assert_eq!(one.outcome, Outcome::Reproduced);
        assert!(one.computed.contains("from 0.1016 to 0.1051"), "{one:?}");
    }

    #[test]
    fn eight_times_becomes_4_4_when_both_sides_have_the_allocator() {
        assert_eq!(check("T2000 over that of a V210").computed, "8 / 1.8 = 4.4 ×");
    }

    #[test]
    fn the_improvement_by_tuning_is_not_the_printed_one() {
        let check = check("improvement of the T2000");
        assert_eq!(check.computed, "SWaP 18.3 → 22.2 is 21.5 %");
        assert_eq!((check.outcome, check.printed.as_str()), (Outcome::Differs, "18.3 % at 32 threads"));
        assert!(check.why.contains("97.4 %"), "{check:?}");
    }

    #[test]
    fn a_nameplate_is_above_what_the_machine_took() {
        assert!(check("Sun Fire T2000 by its nameplate").computed.contains("8 % above"), "T2000");
        assert!(check("Sun Fire T1000 by its nameplate").computed.contains("35 % above"), "T1000");
    }

    #[test]
    fn what_cannot_be_checked_says_what_is_missing() {
        for check in all(&Published::shipped()) {
            assert!(!check.why.is_empty() && !check.computed.is_empty(), "{check:?}");
        }
    }
}
