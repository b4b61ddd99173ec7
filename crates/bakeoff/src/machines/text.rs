//! The machine of the servers and the day, short enough for a sentence: `on 1 CPU of an AMD EPYC 7B13, 28 November`.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use archive::model::{Facts, FlatFacts, Plan, PlannedHost, Variant, plural};

use crate::plan::cpus::cpu_list;

/// Marks in the names of processors that say nothing.
const NOISE: &[&str] = &["(R)", "(TM)", "(r)", "(tm)", " CPU", " Processor"];

/// The machine of the servers and the day; none where the facts name no processor.
pub fn machine_text(plan: &Plan, facts: &Facts) -> Option<String> {
    let of_variants: Vec<(&str, String)> = plan
        .variants
        .iter()
        .map(|variant| Some((variant.name.as_str(), machine_of(plan, facts, variant)?)))
        .collect::<Option<_>>()?;
    let distinct: BTreeSet<&String> = of_variants.iter().map(|(_, machine)| machine).collect();
    let machines = match distinct.first() {
        Some(only) if distinct.len() == 1 => format!("on {only}"),
        _ => {
            let each = of_variants.iter().map(|(name, machine)| format!("{name} on {machine}"));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    Some(format!("{machines}, {}", day(facts.taken_unix_ms)?))
}

/// An answer with the machine that it is about. One that says nothing needs none.
pub fn on_machine(sentence: String, machine: Option<&str>) -> String {
    match machine {
        Some(machine) if !sentence.starts_with("inconclusive") => format!("{sentence}; {machine}"),
        _ => sentence,
    }
}

/// The server's CPUs: of this machine those of the plan, of another one those that its host allows, or all.
fn machine_of(plan: &Plan, facts: &Facts, variant: &Variant) -> Option<String> {
    let on_host = |host: &PlannedHost| {
        let of_host = facts.hosts.get(&host.name)?;
        let count = host.cpus.as_ref().map_or_else(|| online(of_host), |cpus| count(cpus))?;
        Some((count, model(of_host)?))
    };
    let mut distinct: BTreeSet<(usize, String)> = BTreeSet::new();
    if plan.is_here(variant) {
        distinct.insert((count(&plan.cpus.server)?, model(&facts.host)?));
    } else {
        for host in plan.hosts_of(variant) {
            distinct.insert(on_host(host)?);
        }
    }
    let texts = distinct
        .into_iter()
        .map(|(cpus, model)| format!("{} of {} {model}", plural(cpus as u64, "CPU"), article(&model)));
    let text = texts.collect::<Vec<_>>().join(" or ");
    (!text.is_empty()).then_some(text)
}

/// The fewest CPUs that a server of the plan has; none where that is not known.
pub fn fewest_server_cpus(plan: &Plan, facts: &Facts) -> Option<usize> {
    let of_hosts = plan.variants.iter().flat_map(|variant| plan.hosts_of(variant)).filter_map(|host| {
        host.ssh.as_ref()?;
        host.cpus.as_ref().map_or_else(|| online(facts.hosts.get(&host.name)?), |cpus| count(cpus))
    });
    let here = plan.variants.iter().any(|variant| plan.is_here(variant)).then(|| count(&plan.cpus.server));
    of_hosts.chain(here.flatten()).min()
}

fn count(cpus: &str) -> Option<usize> {
    cpu_list(cpus).ok().map(|cpus| cpus.len())
}

fn online(facts: &FlatFacts) -> Option<usize> {
    facts.get("cpu.online")?.parse().ok()
}

/// `AMD EPYC 7B13`: without marks, cores and the word processor.
fn model(facts: &FlatFacts) -> Option<String> {
    let name = NOISE.iter().fold(facts.get("cpu.model")?.clone(), |name, noise| name.replace(noise, ""));
    let words: Vec<&str> = name.split_whitespace().filter(|word| !word.ends_with("-Core")).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn article(model: &str) -> &'static str {
    if model.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']) { "an" } else { "a" }
}

/// The day in UTC; none where the time was not recorded.
fn day(unix_ms: u64) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const LATEST_MS: u64 = 253_402_300_800_000;
    let time = (1..LATEST_MS).contains(&unix_ms).then(|| UNIX_EPOCH + Duration::from_millis(unix_ms))?;
    let date = humantime::format_rfc3339_seconds(time).to_string();
    let (month, day) = (date.get(5..7)?.parse::<usize>().ok()?, date.get(8..10)?.parse::<u32>().ok()?);
    Some(format!("{day} {}", MONTHS.get(month.checked_sub(1)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::{PLAN, planned_host};

    const NOVEMBER_28: u64 = 1_795_824_000_000;

    fn facts(model: &str) -> FlatFacts {
        let facts = [("cpu.model", model), ("cpu.online", "4")];
        facts.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn a_machine_is_its_processor_and_the_servers_part_of_it() {
        let plan: Plan = PLAN.parse().expect("a plan");
        let text = |model: &str| {
            machine_text(&plan, &Facts { host: facts(model), taken_unix_ms: NOVEMBER_28, ..Facts::default() })
        };
        assert_eq!(text("AMD EPYC 7B13").as_deref(), Some("on 1 CPU of an AMD EPYC 7B13, 28 November"));
        assert_eq!(
            text("Intel(R) Xeon(R) CPU @ 2.20GHz").as_deref(),
            Some("on 1 CPU of an Intel Xeon @ 2.20GHz, 28 November")
        );
        assert_eq!(
            text("AMD Ryzen 9 5950X 16-Core Processor").as_deref(),
            Some("on 1 CPU of an AMD Ryzen 9 5950X, 28 November")
        );
        assert_eq!(machine_text(&plan, &Facts::default()), None);
        assert_eq!(fewest_server_cpus(&plan, &Facts::default()), Some(1));
    }

    #[test]
    fn variants_on_two_machines_name_both() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        plan.hosts = vec![planned_host("old", "10.0.0.1"), planned_host("new", "10.0.0.2")];
        plan.hosts[0].cpus = Some("0-1".to_owned());
        plan.variants[0].host = Some("old".to_owned());
        plan.variants[1].host = Some("new".to_owned());
        let hosts = [("old".to_owned(), facts("Xeon")), ("new".to_owned(), facts("AMD EPYC 7B13"))];
        let facts = Facts { hosts: hosts.into(), taken_unix_ms: NOVEMBER_28, ..Facts::default() };
        assert_eq!(
            machine_text(&plan, &facts).as_deref(),
            Some("nginx on 2 CPUs of a Xeon, apache on 4 CPUs of an AMD EPYC 7B13, 28 November")
        );
        assert_eq!(fewest_server_cpus(&plan, &facts), Some(2));
    }
}
