//! How much the copies of a server disturb each other, after the value of a trial: in rounds of slices, each copy is loaded alone,
//! and all are loaded at the same time, each by workers and connections of its own.

use std::thread;
use std::time::{Duration, Instant};

use archive::model::{CarriedLoad, InstanceLoads, Neighbours};
use load::engine::{LoadOutcome, RunContext, RunError};
use load::record::Micros;
use load::slices::{LoadedServer, SETTLE_CLOSED};
use load::spec::{LoadPart, LoadSpec, Shape};
use load::summary::Summary;
use load::validity::BrokenRule;

use super::record::phases::{ClientCounts, add_times};
use crate::plan::preset::interval_of;

const ROUNDS: u32 = 5;

/// Loads the copies of a server, one for each address of the load. What was offered is added to the counts. None where the user
/// interrupts.
pub fn measure(
    spec: &LoadSpec,
    context: &RunContext,
    length: Duration,
    counts: &mut ClientCounts,
) -> Result<Option<Neighbours>, RunError> {
    let clients = context.clients.len().max(1) as u32;
    let connections = (spec.connections / spec.addresses.len() as u32).max(clients);
    let mut copies: Vec<Copy<'_>> = spec
        .of_each_address()
        .map(|own| {
            let own = own.with_connections(connections).with_workers(clients);
            Copy { load: LoadedServer::new(own, context, Instant::now()), alone: None, beside: None }
        })
        .collect();
    for round in 0..ROUNDS {
        let part = LoadPart {
            shape: Shape::closed(),
            warmup: SETTLE_CLOSED,
            duration: Some(length),
            requests: None,
            interval: interval_of(length),
            seed: spec.part.seed.wrapping_add(u64::from(round)),
            ..spec.part.clone()
        };
        // Both orders alike often, as far as that is possible.
        for is_alone in [round % 2 == 0, round % 2 != 0] {
            let outcomes =
                if is_alone { one_by_one(&mut copies, &part) } else { together(&mut copies, &part) };
            for (copy, outcome) in copies.iter_mut().zip(outcomes?) {
                counts.add(&outcome);
                if outcome.interrupted {
                    return Ok(None);
                }
                let merged = if is_alone { &mut copy.alone } else { &mut copy.beside };
                match merged {
                    Some(merged) => merged.append(outcome, length * round),
                    none => *none = Some(outcome),
                }
            }
        }
    }
    Ok(found(&copies, connections, length))
}

/// A copy of a server with its load, and what was measured.
struct Copy<'a> {
    load: LoadedServer<'a>,
    alone: Option<LoadOutcome>,
    beside: Option<LoadOutcome>,
}

fn one_by_one(copies: &mut [Copy<'_>], part: &LoadPart) -> Result<Vec<LoadOutcome>, RunError> {
    copies.iter_mut().map(|copy| copy.load.run(part, &mut |_| {})).collect()
}

fn together(copies: &mut [Copy<'_>], part: &LoadPart) -> Result<Vec<LoadOutcome>, RunError> {
    thread::scope(|scope| {
        let loads = copies.iter_mut().map(|copy| &mut copy.load);
        let threads: Vec<_> = loads.map(|load| scope.spawn(|| load.run(part, &mut |_| {}))).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect()
    })
}

fn found(copies: &[Copy<'_>], connections: u32, length: Duration) -> Option<Neighbours> {
    let mut all_times: Option<Micros> = None;
    let (mut instances, mut client_reasons) = (Vec::new(), Vec::new());
    for copy in copies {
        let (alone, beside) = copy.alone.as_ref().zip(copy.beside.as_ref())?;
        add_times(&mut all_times, times(beside));
        instances.push(InstanceLoads {
            alone: carried(per_s(alone), &times(alone), gave_up_from(alone)),
            beside: carried(per_s(beside), &times(beside), gave_up_from(beside)),
        });
        client_reasons.extend([alone, beside].into_iter().flat_map(client_limits));
    }
    client_reasons.dedup();
    let of_all = instances.iter().map(|one: &InstanceLoads| one.beside);
    let gave_up_from_us = of_all.clone().filter_map(|beside| beside.gave_up_from_us).min();
    let all = carried(of_all.map(|beside| beside.throughput_per_s).sum(), &all_times?, gave_up_from_us);
    let slice_s = length.as_secs_f64();
    Some(Neighbours { connections, rounds: ROUNDS, slice_s, instances, all, client_reasons })
}

fn times(outcome: &LoadOutcome) -> Micros {
    outcome.total.response_times()
}

fn gave_up_from(outcome: &LoadOutcome) -> Option<u64> {
    outcome.total.gave_up_from_us()
}

fn per_s(outcome: &LoadOutcome) -> f64 {
    let ended = outcome.total.succeeded().saturating_sub(outcome.drain.succeeded());
    ended as f64 / outcome.measured.as_secs_f64().max(1e-9)
}

fn carried(throughput_per_s: f64, times: &Micros, gave_up_from_us: Option<u64>) -> CarriedLoad {
    let at = |quantile| (!times.is_empty()).then(|| times.value_at_quantile(quantile));
    CarriedLoad { throughput_per_s, p50_us: at(0.5), p99_us: at(0.99), gave_up_from_us }
}

fn client_limits(outcome: &LoadOutcome) -> Vec<String> {
    let is_of_cpu =
        |rule: &&BrokenRule| matches!(rule.kind(), BrokenRule::ClientCpu { .. } | BrokenRule::Starved { .. });
    Summary::of(outcome).rules_broken.iter().filter(is_of_cpu).map(ToString::to_string).collect()
}
