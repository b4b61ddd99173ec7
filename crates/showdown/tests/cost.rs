//! Published evaluations, cost and fleets as a user calls them, with recorded runs.

use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A directory to work in.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null()).output().expect("showdown runs")
    }

    /// A made-up comparison of nginx and apache with so many blocks; returns its id.
    fn comparison(&self, blocks: u32) -> String {
        let id = archive::example::comparison(&self.0.path().join("runs"), blocks).expect("a run");
        id.to_string()
    }

    /// A file of targets.
    fn targets(&self, text: &str) {
        std::fs::write(self.0.path().join("targets.toml"), text).expect("a file");
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.prints(args)).expect("JSON")
    }

    /// What a command prints that succeeds.
    fn prints(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The one line of a command that is refused with this exit code.
    fn is_refused(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let line = text(&output.stderr);
        assert_eq!((output.status.code(), line.lines().count()), (Some(code), 1), "{args:?}: {line}");
        assert!(output.stdout.is_empty(), "{args:?}");
        line
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Two machines; nginx ran on the large one.
const TARGETS: &str = include_str!("../../cost/fixtures/two-machines.toml");

mod cost {
    use super::{Home, TARGETS};

    #[test]
    fn each_variant_has_its_costs_with_intervals() {
        let home = Home::new();
        home.comparison(8);
        home.targets(TARGETS);
        let text = home.prints(&["cost"]);
        assert!(text.starts_with("nginx is cheaper than apache: a million operations cost 0.4"), "{text}");
        for part in [
            "200 W wall (estimate)",
            "100 W nameplate (estimate)",
            "SWaP = performance / (rack units × watts)",
            "2,628 kWh",
            "525.60 EUR",
            "6,102.40 EUR",
            "no energy cost a year of apache: the rate includes the energy",
            "the file of targets has no grid_intensity",
            "no meter recorded them beside the load",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let json = home.json(&["cost", "--format", "json"]);
        let nginx = &json["variants"][0];
        let of = |figure: &str, bound: &str| nginx[figure][bound].as_f64().expect("a number");
        assert!(of("cost_of_a_million", "low") < of("cost_of_a_million", "value"));
        let product = of("cost_of_a_million", "low") * of("performance", "high");
        assert!(
            (product / (of("cost_of_a_million", "value") * of("performance", "value")) - 1.0).abs() < 1e-9
        );
    }

    #[test]
    fn the_report_has_a_section_of_costs_where_targets_are_named() {
        let home = Home::new();
        home.comparison(8);
        home.targets(TARGETS);
        let page = |args: &[&str]| {
            let path = home.prints(args);
            std::fs::read_to_string(home.0.path().join(path.trim())).expect("the page")
        };
        let with = page(&["report", "--targets", "targets.toml"]);
        assert!(with.contains("\"cost_of_a_million\":{") && with.contains("Sun Fire T2000"));
        let without = page(&["report"]);
        assert!(!without.contains("\"cost_of_a_million\":{") && !without.contains("Sun Fire T2000"));
        let line = home.is_refused(2, &["report", "--targets", "targets.toml", "--format", "csv"]);
        assert!(line.contains("--targets goes with --format html"), "{line}");
    }

    #[test]
    fn a_run_of_format_1_has_costs_too() {
        let home = Home::new();
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../archive/tests/format-1/sweep.tar.gz");
        home.prints(&["import", fixture]);
        home.targets("currency = \"EUR\"\n[target.any]\nload = \"100 W\"\nboundary = \"dc\"");
        let text = home.prints(&["cost", "latest"]);
        assert!(text.contains("memcached") && text.contains("100 W dc (estimate)"), "{text}");
        assert!(text.contains("of the boundary dc: a bill counts those at the wall"), "{text}");
    }

    #[test]
    fn runs_of_two_days_are_compared_without_pairing() {
        let home = Home::new();
        let first = home.comparison(8);
        let other = home.0.path().join("other");
        let second = archive::example::comparison(&other, 10).expect("a run");
        home.targets("currency = \"EUR\"\n[target.any]\nload = \"100 W\"\nboundary = \"wall\"");
        let path = other.join(second.as_str()).display().to_string();
        let text = home.prints(&["cost", &first, &path]);
        assert!(text.contains("No difference in operations a joule shown between nginx of "), "{text}");
    }

    #[test]
    fn each_mistake_is_one_line() {
        let home = Home::new();
        let run = home.comparison(3);
        let line = home.is_refused(2, &["cost"]);
        assert!(line.contains("cannot read targets.toml") && line.contains("docs/COST.md"), "{line}");
        let mistakes = [
            (
                TARGETS.replace("\"200 W\"", "200"),
                "targets.toml:10: load: 200 has no unit: write it as \"208 W\"",
            ),
            (
                TARGETS.replace("0.20 EUR/kWh", "0.20 USD/kWh"),
                "targets.toml:3: price_per_kwh: \"0.20 USD/kWh\" is in USD",
            ),
            (
                TARGETS.replace("[\"nginx\"]", "[\"h2o\"]"),
                "targets.toml: no target describes the machine of nginx",
            ),
            (
                TARGETS.replace("[\"nginx\"]", "[\"nginx\", \"apache\"]"),
                "both describe the machine of apache",
            ),
        ];
        for (targets, message) in mistakes {
            home.targets(&targets);
            let line = home.is_refused(2, &["cost"]);
            assert!(line.contains(message), "{message} is not in {line}");
        }
        home.targets(TARGETS);
        assert!(home.is_refused(1, &["cost", "2099"]).contains("2099"));
        assert!(home.is_refused(1, &["cost", "latest", &run]).contains("is named twice"));
    }
}

mod size {
    use super::{Home, TARGETS};

    const LOAD: &str = "400k req/s at p99<5ms";

    #[test]
    fn fleets_of_each_kind_are_sized_and_compared() {
        let home = Home::new();
        home.comparison(8);
        home.targets(TARGETS);
        let args = ["size", "--for", LOAD, "--headroom", "30%", "--spares", "1", "--zones", "3"];
        let args = [&args[..], &["--targets", "targets.toml"]].concat();
        let text = home.prints(&args);
        for part in [
            "servers of nginx carry 400,000/s at p99<5ms.",
            "1 nginx replaces 1.6",
            "it costs the same for each operation at 0.70: it pays.",
            "Headroom 30 %, 1 spare, 3 zones, one of which may be lost.",
            "no rack units of apache: target small has no rack_units",
            "One server was measured.",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let json = home.json(&[&args[..], &["--format", "json"]].concat());
        let nginx = &json["kinds"][0];
        let number = |key: &str| nginx[key].as_f64().expect("a number");
        let lower = nginx["capacity_per_s"]["low"].as_f64().expect("a bound");
        assert!((number("usable_per_s") / (0.7 * lower) - 1.0).abs() < 1e-9);
        let in_a_zone = (200_000.0 / number("usable_per_s")).ceil() as u64;
        assert_eq!(nginx["servers"].as_u64(), Some(3 * in_a_zone + 1));
    }

    #[test]
    fn what_was_not_measured_is_refused_with_the_command_that_measures_it() {
        let home = Home::new();
        home.comparison(8);
        let line = home.is_refused(1, &["size", "--for", "400k req/s at p99<1us"]);
        assert!(line.contains("at no rate of its curve does it meet p99<1us in every trial"), "{line}");
        assert!(line.contains("compare with --slo 'p99<1us'"), "{line}");
        let looser = home.prints(&["size", "--for", "400k req/s at p99<8ms"]);
        assert!(looser.contains("p99<5ms (stricter)") && looser.contains("fewer servers may do"), "{looser}");
    }

    #[test]
    fn a_throughput_sizes_no_fleet() {
        let home = Home::new();
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../archive/tests/format-1/sweep.tar.gz");
        home.prints(&["import", fixture]);
        let line = home.is_refused(1, &["size", "--for", LOAD]);
        assert!(line.contains("without an objective: compare with --slo 'p99<5ms'"), "{line}");
    }

    #[test]
    fn each_mistake_is_one_line() {
        let home = Home::new();
        home.comparison(3);
        let mistakes = [
            (&["size"][..], "--for"),
            (&["size", "--for", "120k at p99<5ms"], "has no unit"),
            (&["size", "--for", "120k req/s"], "the number of servers follows from a load and an objective"),
            (&["size", "--for", LOAD, "--headroom", "30"], "write a percentage"),
            (&["size", "--for", LOAD, "--zones", "0"], "--zones"),
            (&["size", "--for", LOAD, "--targets", "none.toml"], "cannot read none.toml"),
        ];
        for (args, message) in mistakes {
            let line = home.is_refused(2, args);
            assert!(line.contains(message), "{message} is not in {line}");
        }
    }
}

mod published {
    use super::Home;

    #[test]
    fn figures_are_listed_with_year_client_and_caveat() {
        let text = Home::new().prints(&["published", "--workload", "static-web"]);
        assert!(text.contains("2006 a mirror service's evaluation of a Sun Fire T2000"), "{text}");
        assert!(text.contains("5,718 requests/s, client siege, 11 machines"), "{text}");
        assert!(text.contains("caveat: mean of 5 runs; withdrawn"), "{text}");
        assert!(!text.contains("memcached"), "{text}");
    }

    #[test]
    fn claims_are_checked() {
        let home = Home::new();
        let text = home.prints(&["published"]);
        for part in ["8 / 1.8 = 4.4 ×", "18.3 → 22.2 is 21.5 %", "implies 0.0999 EUR/kWh"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let page = home.prints(&["published", "--format", "md"]);
        assert!(page.starts_with("# Published evaluations"), "{page}");
        home.prints(&["published", "--format", "md", "-o", "cost.md"]);
        assert_eq!(std::fs::read_to_string(home.0.path().join("cost.md")).expect("the page"), page);
    }

    #[test]
    fn an_unknown_workload_is_refused_with_the_known_ones() {
        let line = Home::new().is_refused(2, &["published", "--workload", "web"]);
        assert!(line.contains("build, cache, kv, mail, olio, oltp, power, static-web"), "{line}");
    }
}
