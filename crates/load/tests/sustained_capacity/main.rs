//! How true is a capacity? The search of `load::capacity` and the curve of `stats::error_budget` against simulated servers whose
//! capacity is known: first come, first served, on a machine whose speed wanders and that stalls now and then.
//!
//! `cargo test --release -p load --test sustained_capacity -- --ignored --nocapture` prints the table of decision 0033. No
//! server is started and no clock is read.

mod alone;
mod simulated;

use std::time::Duration;

use load::capacity::levels::{LevelPlan, LevelSearch};
use load::capacity::{BudgetUse, StartingLoop};
use load::inputs::slo::Slo;
use stats::confidence::Confidence;
use stats::error_budget::{Arrivals, BudgetCurve, Spending, by_bound};
use stats::ratio::{self, IntervalMethod};

use simulated::{Case, Machine, OBJECTIVE, Pauses, Server, case, closed_loop, slice, truth};

const SLICE_S: f64 = 0.06;
/// One block in this many begins with a lasting closed loop, as comparisons have.
const LASTING_EACH: u64 = 3;

const CASES: [Case; 9] = [
    case("50,000/s, equal", 50_000.0, Pauses::None, true),
    case("2,000/s, equal", 2_000.0, Pauses::None, true),
    case("pauses 30 ms each 20,000; steady", 50_000.0, Pauses::ByWork(0.03, 20_000), false),
    case("pauses 10 ms each 25,000; equal", 50_000.0, Pauses::ByWork(0.01, 25_000), true),
    case("pauses 200 ms each 200,000; steady", 50_000.0, Pauses::ByWork(0.2, 200_000), false),
    case("pauses 500 ms each 500,000; steady", 50_000.0, Pauses::ByWork(0.5, 500_000), false),
    case("pauses 10 ms each 2 s by the clock; steady", 50_000.0, Pauses::ByClock(0.01, 2.0), false),
    case("pauses 30 ms each 5 s by the clock; steady", 50_000.0, Pauses::ByClock(0.03, 5.0), false),
    Case {
        name: "50,000/s, equal, noise twice as large",
        per_s: 50_000.0,
        pauses: Pauses::None,
        has_equal: true,
        noise: 2.0,
        slow: 0.0,
    },
];

/// The case of the test that always runs, and what that server carries, by `truth`.
const PAUSING: usize = 2;
const PAUSING_CARRIES: f64 = 6_600.0;

/// The levels of a block of a comparison: what a server's search spends at each rate.
fn block(
    servers: &mut [Server; 2],
    loops: [f64; 2],
    (machine, offset): (&mut Machine, &mut f64),
    load_s: f64,
    seed: u64,
) -> [Vec<Vec<Spending>>; 2] {
    let slo: Slo = OBJECTIVE.parse().expect("an objective");
    let plan = LevelPlan::new(Duration::from_secs_f64(load_s), &slo);
    let mut searches = loops.map(|per_s| LevelSearch::new(&StartingLoop::at(per_s), plan, seed));
    let mut spent: [Vec<(f64, BudgetUse)>; 2] = [Vec::new(), Vec::new()];
    let mut own = [0.0; 2];
    loop {
        let mut is_over = true;
        for (index, server) in servers.iter_mut().enumerate() {
            let Some(next) = searches[index].next() else { continue };
            is_over = false;
            let of_slice = slice(server, (machine, offset), next, &slo, (SLICE_S, &mut own[index]));
            let is_same = |(rate, _): &(f64, BudgetUse)| rate.total_cmp(&next.rate_per_s).is_eq();
            if !spent[index].last().is_some_and(is_same) {
                spent[index].push((next.rate_per_s, BudgetUse::default()));
            }
            spent[index].last_mut().expect("a level").1.add(&of_slice.spent);
            searches[index].add(&of_slice);
        }
        if is_over {
            return spent.map(|levels| {
                levels.iter().map(|(rate, spent)| spent.spendings(*rate, Arrivals::Open)).collect()
            });
        }
    }
}

struct Found {
    /// Of the first server, operations a second.
    capacity: f64,
    /// Logarithms of the ratio of the first to the second, and of its interval.
    ratio: f64,
    low: f64,
    high: f64,
}

fn compare(
    case: &Case,
    blocks: u32,
    load_s: f64,
    (closed_s, lasting_s): (f64, f64),
    seed: u64,
) -> Option<Found> {
    let mut machine = Machine::new(seed, case.noise, case.slow);
    let mut offset = 0.0;
    let [first, other] = case.servers();
    let mut spent: [Vec<Vec<Spending>>; 2] = [Vec::new(), Vec::new()];
    let mut highest = [0.0_f64; 2];
    for number in 0..u64::from(blocks) {
        let seed = seed ^ (number << 20);
        let mut servers = [Server::new(seed ^ 1, first.0, first.1), Server::new(seed ^ 2, other.0, other.1)];
        let seconds = if number.is_multiple_of(LASTING_EACH) { closed_s.max(lasting_s) } else { closed_s };
        let closed = servers.each_mut().map(|server| closed_loop(server, &mut machine, &mut offset, seconds));
        let loops = closed.map(|closed| closed.ln_rate.exp());
        for server in &mut servers {
            server.free = 0.0;
        }
        let levels = block(&mut servers, loops, (&mut machine, &mut offset), load_s, seed);
        for (server, levels) in levels.into_iter().enumerate() {
            let mut of_block: Vec<Spending> = by_bound(levels).into_iter().next().unwrap_or_default();
            of_block.push(closed[server]);
            spent[server].push(of_block);
            highest[server] = highest[server].max(loops[server]);
        }
        offset += 2.0;
    }
    let curves = highest.map(BudgetCurve::of_closed_loop);
    let values = [curves[0].block_values(&spent[0])?, curves[1].block_values(&spent[1])?];
    let pairs: Vec<(f64, f64)> = values[0].iter().zip(&values[1]).map(|(a, b)| (a.exp(), b.exp())).collect();
    let found = ratio::estimate_by(IntervalMethod::StudentT, &pairs, Confidence::P95).ok()?;
    Some(Found {
        capacity: (values[0].iter().sum::<f64>() / values[0].len() as f64).exp(),
        ratio: found.ratio.ln(),
        low: found.low.ln(),
        high: found.high.ln(),
    })
}

/// The pauses were found 1.7 times too rarely where a cycle began anew at its lowest level after each of them (decision 0033).
#[test]
fn a_server_that_pauses_by_work_is_not_found_too_high() {
    let found = (0..6).filter_map(|run| compare(&CASES[PAUSING], 7, 2.0, (1.2, 8.0), run));
    let mean = found.map(|found| found.capacity.ln()).sum::<f64>() / 6.0;
    // It was 16,600/s.
    assert!((mean - PAUSING_CARRIES.ln()).abs() < 0.6, "{} of {PAUSING_CARRIES}", mean.exp());
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// `RUNS`, `BLOCKS`, `LOAD_S` and `CLOSED_S` in the environment are other numbers of comparisons, of their blocks, and of seconds in a
/// block under load and in its closed loops. `ONLY` is a part of the names of servers.
#[test]
#[ignore = "a simulation of some minutes, for decision 0033"]
#[expect(clippy::print_stdout, reason = "the table is what it is run for")]
fn the_table_of_simulated_servers() {
    let asked = |name: &str, usual: f64| {
        std::env::var(name).ok().map_or(usual, |text| text.parse().expect("a number"))
    };
    let (runs, blocks) = (asked("RUNS", 40.0) as u64, asked("BLOCKS", 7.0) as u32);
    let load_s = asked("LOAD_S", 2.0);
    let closed_s = (asked("CLOSED_S", 1.2), asked("LASTING_S", 8.0));
    println!(
        "| servers | truth | found, median | ln(ratio): truth, mean found | half-width | holds | wrong winner |"
    );
    println!("|---|---|---|---|---|---|---|");
    let only = std::env::var("ONLY").unwrap_or_default();
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        let [truth, other] = case.servers().map(|(per_s, pauses)| truth(case, per_s, pauses));
        let ratio = (truth / other).ln();
        let found: Vec<Found> =
            (0..runs).filter_map(|run| compare(case, blocks, load_s, closed_s, 1_000 + run)).collect();
        let count = |is: &dyn Fn(&Found) -> bool| found.iter().filter(|found| is(found)).count();
        let holds = count(&|found| found.low <= ratio && ratio <= found.high);
        let wrong = count(&|found| found.low > 0.0 || (case.has_equal && found.high < 0.0));
        let mean = found.iter().map(|found| found.ratio).sum::<f64>() / found.len().max(1) as f64;
        let width = median(found.iter().map(|found| (found.high - found.low) / 2.0).collect());
        let capacity = median(found.iter().map(|found| found.capacity).collect());
        println!(
            "| {} | {truth:.0}/s | {capacity:.0}/s | {ratio:.2}, {mean:.2} | {width:.2} | {holds} of {} | {wrong} |",
            case.name,
            found.len()
        );
    }
}
