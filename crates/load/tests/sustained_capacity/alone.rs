//! `load --find-capacity` of one simulated server, and a load without a break at its answer half a minute later.

use std::time::Duration;

use load::capacity::levels::{LevelPlan, LevelSearch};
use load::capacity::{BudgetUse, StartingLoop};
use load::inputs::slo::Slo;
use load::record::Micros;
use rand::SeedableRng;
use rand_distr::{Distribution, Exp};
use rand_pcg::Pcg64Mcg;
use stats::error_budget::Spending;

use super::simulated::{Case, LIMIT_S, Machine, OBJECTIVE, Pauses, Server, case, closed_loop, slice, truth};

/// Time of the search, as `--duration` has it if nobody says it, seconds.
const SEARCH_S: f64 = 30.0;
/// Between the search and the load at its answer: the curve, and half a minute.
const LATER_S: f64 = 42.0;
const LOADED_S: f64 = 30.0;
/// The largest share of late operations that counts as sustained in that load.
const MOST_LATE: f64 = 0.015;
/// As shares of the true capacity: lower answers leave out more than they should.
const NEAR: f64 = 0.95;

const CASES: [Case; 6] = [
    Case { noise: QUIET, ..case("steady, quiet machine", 50_000.0, Pauses::None, true) },
    Case { noise: QUIET, slow: 0.05, ..case("steady, speed wanders by 5 %", 50_000.0, Pauses::None, true) },
    case("steady, noisy machine", 50_000.0, Pauses::None, true),
    Case { slow: 0.05, ..case("steady, noisy machine, speed wanders by 5 %", 50_000.0, Pauses::None, true) },
    Case { noise: QUIET, ..case("pauses 30 ms each 20,000", 50_000.0, Pauses::ByWork(0.03, 20_000), true) },
    Case { noise: QUIET, ..case("pauses 200 ms each 200,000", 50_000.0, Pauses::ByWork(0.2, 200_000), true) },
];
/// Of the noise of the other simulations.
const QUIET: f64 = 0.3;

struct Searched {
    /// Operations a second; none if no rate was sustained.
    capacity: Option<f64>,
    /// The share that was late in the load after the search.
    late: f64,
    /// How long the search took.
    took_s: f64,
}

fn search(case: &Case, seed: u64) -> Option<Searched> {
    let slo: Slo = OBJECTIVE.parse().expect("an objective");
    let mut machine = Machine::new(seed, case.noise, case.slow);
    let mut server = Server::new(seed ^ 1, case.per_s, case.pauses);
    let mut offset = 0.0;
    let closed = closed_loop(&mut server, &mut machine, &mut offset, SEARCH_S / 2.0);
    server.free = 0.0;
    let load = Duration::from_secs_f64(SEARCH_S);
    let plan = LevelPlan::new(load, &slo).with_soaks();
    let closed = StartingLoop { per_s: closed.ln_rate.exp(), standstills: Some(standstills(&slo, closed)) };
    let mut search = LevelSearch::new(&closed, plan, seed);
    let mut own = 0.0;
    while let Some(next) = search.next() {
        let length_s = plan.level().as_secs_f64() / 5.0;
        search.add(&slice(&mut server, (&mut machine, &mut offset), next, &slo, (length_s, &mut own)));
    }
    let took_s = offset;
    let soak = search.soaked()?;
    offset += LATER_S;
    let begin = own;
    server.free = server.free.max(begin);
    let mut arrivals = Pcg64Mcg::seed_from_u64(seed ^ 3);
    let gap = Exp::new(soak.rate_per_s).expect("a rate");
    let (mut due, mut late, mut all) = (begin, 0_u64, 0_u64);
    while due < begin + LOADED_S {
        due += gap.sample(&mut arrivals);
        all += 1;
        late += u64::from(server.ends(due, &mut machine, offset - begin) - due >= LIMIT_S);
    }
    let capacity = soak.is_sustained().then_some(soak.rate_per_s);
    Some(Searched { capacity, late: late as f64 / all as f64, took_s })
}

/// What the standstills of a closed loop spent, in operations.
fn standstills(slo: &Slo, closed: Spending) -> BudgetUse {
    let (late, all) = (closed.spent as u64, (closed.budget * 100.0) as u64);
    let mut times = Micros::new(3).expect("three digits");
    times.record_n(1_000, all - late.min(all)).expect("a time");
    times.record_n(8_000, late.min(all)).expect("a time");
    BudgetUse::of_times(slo, &times, 0)
}

/// A server whose knee is steep was found at a rate that it did not sustain half a minute later (decision 0068).
#[test]
fn a_steady_server_sustains_what_was_found() {
    let found: Vec<Searched> = (0..4).filter_map(|run| search(&CASES[0], run)).collect();
    let good = found.iter().filter(|found| found.capacity.is_some() && found.late <= MOST_LATE);
    assert!(good.count() >= 3, "{:?}", found.iter().map(|found| found.late).collect::<Vec<_>>());
}

/// `RUNS` in the environment is another number of searches, and `ONLY` a part of the names of servers.
#[test]
#[ignore = "a simulation of some minutes, for decision 0068"]
#[expect(clippy::print_stdout, reason = "the table is what it is run for")]
fn the_table_of_searches() {
    let runs: u64 = std::env::var("RUNS").map_or(40, |text| text.parse().expect("a number"));
    let only = std::env::var("ONLY").unwrap_or_default();
    println!(
        "| server | truth | found / truth: 10th percentile, median, 90th | late by at most 1.5 % | within 5 % below the truth | not sustained | took |"
    );
    println!("|---|---|---|---|---|---|---|");
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        let truth = truth(case, case.per_s, case.pauses);
        let found: Vec<Searched> = (0..runs).filter_map(|run| search(case, 1_000 + run)).collect();
        let mut shares: Vec<f64> = found.iter().filter_map(|found| Some(found.capacity? / truth)).collect();
        shares.sort_by(f64::total_cmp);
        let at = |share: f64| shares.get((shares.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
        let sustained = found.iter().filter(|found| found.capacity.is_some() && found.late <= MOST_LATE);
        let near = shares.iter().filter(|share| **share >= NEAR).count();
        let took = found.iter().map(|found| found.took_s).sum::<f64>() / found.len() as f64;
        println!(
            "| {} | {truth:.0}/s | {:.2}, {:.2}, {:.2} | {} of {runs} | {near} | {} | {took:.0} s |",
            case.name,
            at(0.1),
            at(0.5),
            at(0.9),
            sustained.count(),
            runs - shares.len() as u64
        );
    }
}
