//! Tests of targets.toml: a whole file, and one line for each mistake.

use stats::quantity::{Grams, Hours, Money, MoneyPerHour, Watts, YEAR};

use crate::power::Boundary;
use crate::targets::{Acquisition, NoTarget, Targets};

const FILE: &str = r#"currency       = "EUR"
pue            = 1.54
price_per_kwh  = "0.24 EUR/kWh"
grid_intensity = "380 g/kWh"
life           = "4 years"
hours_at_load  = "8 h/day"

[target.old]
variants      = ["apache", "0543/nginx"]
price         = "3446 EUR"
rack_units    = 2
nameplate     = "500 W"
load          = "1.6 A x 240 V x 0.95"
idle          = "118 W"
boundary      = "wall"
measured_with = "clamp meter"
embodied      = "1200 kg"
cpus          = 4

[target.cloud]
variants = ["h2o"]
rate     = "292 EUR/month"
"#;

#[test]
fn every_key_is_read() {
    let targets = Targets::parse("targets.toml", FILE).unwrap();
    assert_eq!((targets.currency.code(), targets.pue.unwrap().value()), ("EUR", 1.54));
    assert_eq!((targets.life, targets.cycle.of_a_day()), (Some(YEAR * 4.0), Hours::new(8.0)));
    let [cloud, old] = &targets.targets[..] else { panic!("{targets:?}") };
    assert_eq!(cloud.acquisition, Some(Acquisition::Rented(MoneyPerHour::new(0.40))));
    assert_eq!(old.acquisition, Some(Acquisition::Bought(Money::new(3446.0))));
    assert_eq!((old.rack_units.unwrap().value(), old.cpus), (2.0, Some(4)));
    assert_eq!(old.embodied, Some(Grams::new(1.2e6)));
    let load = old.load.as_ref().unwrap();
    assert_eq!((load.watts, load.boundary), (Watts::new(1.6 * 240.0 * 0.95), Boundary::Wall));
    assert_eq!(load.source, "typed in by hand: clamp meter");
}

#[test]
fn a_nameplate_is_the_power_at_load_where_nobody_typed_another() {
    let text = "currency = \"USD\"\n[target.a]\nnameplate = \"275 W\"";
    let targets = Targets::parse("targets.toml", text).unwrap();
    let load = targets.targets[0].load.as_ref().unwrap();
    assert_eq!((load.boundary, load.source.as_str()), (Boundary::Nameplate, "the nameplate"));
    assert_eq!(load.label(), "275 W nameplate (estimate)");
}

#[test]
fn amperes_without_a_power_factor_are_apparent_power() {
    let text = "currency = \"USD\"\n[target.a]\nload = \"1 A x 240 V\"\nboundary = \"wall\"";
    let targets = Targets::parse("targets.toml", text).unwrap();
    assert_eq!(targets.targets[0].load.as_ref().unwrap().source, "typed in by hand, apparent power");
}

#[test]
fn a_variant_finds_its_machine() {
    let targets = Targets::parse("targets.toml", FILE).unwrap();
    let of = |run, variant| targets.of(run, variant).map(|target| target.name.as_str());
    assert_eq!(of("20261122T054315Z-nginx", "apache"), Ok("old"));
    assert_eq!(of("20261122T054315Z-nginx", "nginx"), Ok("old"));
    let none = of("20261123T000000Z-nginx", "nginx").unwrap_err();
    assert_eq!(none, NoTarget::None { variant: "nginx".to_owned() });
    let twice = FILE.replace("[\"h2o\"]", "[\"apache\"]");
    let twice = Targets::parse("targets.toml", &twice).unwrap();
    assert!(matches!(twice.of("run", "apache"), Err(NoTarget::Several { .. })));
    // One target without names describes every variant; of several, the one with the variant's name.
    let one = Targets::parse("t", "currency = \"EUR\"\n[target.any]").unwrap();
    assert_eq!(one.of("run", "nginx").unwrap().name, "any");
    let two = Targets::parse("t", "currency = \"EUR\"\n[target.nginx]\n[target.apache]").unwrap();
    assert_eq!(two.of("run", "apache").unwrap().name, "apache");
    // A target with the name of a host, or of a kind of hosts, describes what ran there.
    let hosts = Targets::parse("t", "currency = \"EUR\"\n[target.old]\n[target.new]").unwrap();
    assert_eq!(hosts.of("run", "nginx@new").unwrap().name, "new");
    assert_eq!(hosts.of("run", "nginx@kind:old").unwrap().name, "old");
}

/// A mistake in the file: what is replaced by what, and the error.
#[test]
fn each_mistake_is_one_line_with_its_place_its_reason_and_its_remedy() {
    let mistakes = [
        ("currency       = \"EUR\"\n", "", ":1: there is no currency: write one, such as currency = \"EUR\""),
        (
            "\"EUR\"\n",
            "\"euro\"\n",
            ":1: currency: \"euro\" is not a currency: write its code of three capital letters, such as EUR or USD",
        ),
        (
            "1.54",
            "0.54",
            ":2: pue: it is the energy of the site over that of its computers, from 1 to 10, such as 1.54",
        ),
        ("\"0.24 EUR/kWh\"", "0.24", ":3: price_per_kwh: 0.24 has no unit: write it as \"0.24 EUR/kWh\""),
        ("\"4 years\"", "4", ":5: life: 4 has no unit: write it as \"4 years\""),
        (
            "\"3446 EUR\"",
            "\"3446 USD\"",
            ":10: price: \"3446 USD\" is in USD, and the currency of this file is EUR: convert it, because exchange rates change",
        ),
        (
            "rack_units    = 2",
            "rack_units    = 0",
            ":11: rack_units: a server has more than 0 and at most 50",
        ),
        (
            "\"500 W\"",
            "\"500 kW\"",
            ":12: nameplate: \"500 kW\" is not the power of a server, 0.1 W to 50 kW: check the number and the unit",
        ),
        (
            "\"500 W\"",
            "\"0.2 kW\"",
            ":13: load = \"1.6 A x 240 V x 0.95\" is above nameplate = \"0.2 kW\": check the units, and which is which",
        ),
        (
            "\"500 W\"",
            "\"50 kW\"",
            ":12: nameplate = \"50 kW\" is more than a machine of 2 rack units can take: check the unit",
        ),
        (
            "\"118 W\"",
            "\"1.18 kW\"",
            ":14: idle = \"1.18 kW\" is above load = \"1.6 A x 240 V x 0.95\": check the units, and which is which",
        ),
        (
            "idle          = \"118 W\"\n",
            "",
            ":8: target old has no idle power, and it is at load for 8 h a day only: write idle = \"… W\"",
        ),
        (
            "\"wall\"",
            "\"plug\"",
            ":15: boundary: \"plug\" is not \"wall\" at the plug, \"dc\" behind the power supply, or \"package\" of the processor",
        ),
        (
            "boundary      = \"wall\"\n",
            "",
            ":8: target old does not say what its watts include: write boundary as \"wall\" at the plug, \"dc\" behind the power supply, or \"package\" of the processor",
        ),
        (
            "\"292 EUR/month\"",
            "\"292 EUR\"",
            ":22: rate: \"292 EUR\" has no time: it may be for an hour or for a month: write it as \"0.40 EUR/hour\"",
        ),
        (
            "variants = [\"h2o\"]",
            "price = \"1 EUR\"",
            ":22: target cloud has a price and a rate: give the one by which it is paid for",
        ),
        ("cpus          = 4", "cpus          = 0", ":18: cpus: a server has 1 at least"),
        (
            "embodied ",
            "embodyed ",
            ":17: unknown key \"embodyed\" (did you mean \"embodied\"? available: variants, price, rate, rack_units, nameplate, load, idle, boundary, meter, measured_with, embodied, cpus)",
        ),
    ];
    for (from, to, message) in mistakes {
        assert!(FILE.contains(from), "{from}");
        let error = Targets::parse("targets.toml", &FILE.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.to_string(), format!("targets.toml{message}"));
    }
    // Only together with the watts and the price of energy.
    let rented = |rate: &str| {
        let text = format!(
            "currency = \"EUR\"\nprice_per_kwh = \"0.24 EUR/kWh\"\n[target.a]\nrate = \"{rate}\"\nload = \"208 W\"\nboundary = \"wall\"\n"
        );
        Targets::parse("targets.toml", &text).map_err(|error| error.to_string())
    };
    assert!(rented("0.40 EUR/hour").is_ok() && rented("292 EUR/month").is_ok());
    for rate in ["292 EUR/hour", "0.40 EUR/month"] {
        let error = rented(rate).unwrap_err();
        assert!(error.starts_with("targets.toml:4: rate: it includes the energy, and is "), "{error}");
    }
    let none = Targets::parse("targets.toml", "currency = \"EUR\"").unwrap_err();
    assert!(none.message.starts_with("there is no target"), "{none}");
}

/// The keys that the parser knows, from its error about an unknown one.
fn known_keys(text: &str) -> Vec<String> {
    let error = Targets::parse("t", text).unwrap_err().message;
    let (_, keys) = error.split_once("available: ").unwrap_or_else(|| panic!("{error}"));
    keys.trim_end_matches(')').split(", ").map(str::to_owned).collect()
}

#[test]
fn the_page_documents_every_key() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/COST.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let documented: Vec<&str> = rows.map(|(key, _)| key).collect();
    let tables = ["", "currency = \"EUR\"\n[target.a]\n", "currency = \"EUR\"\n[power.a]\n"];
    let known = tables.map(|table| known_keys(&format!("{table}zzzz = 1"))).concat();
    for key in &known {
        assert!(documented.contains(&key.as_str()), "docs/COST.md lacks {key}");
    }
    assert!(documented.iter().all(|key| known.iter().any(|known| known == key)), "{documented:?}");
}

#[test]
fn the_example_of_the_page_is_read() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/COST.md")).unwrap();
    let example = page.split("```").find_map(|block| block.strip_prefix("toml\n")).unwrap();
    let targets = Targets::parse("docs/COST.md", example).unwrap();
    assert_eq!(targets.targets.len(), 2);
}
