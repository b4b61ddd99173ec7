//! The warm-up: closed loops until the server is ready to be measured.

use std::time::Duration;

use archive::model::{Measure, Plan, WarmUpOutcome};
use load::capacity::BudgetUse;
use load::engine::{LoadOutcome, RunError};
use load::inputs::slo::Slo;
use load::record::Interval;
use load::slices::LoopPace;

use super::load_phases::LoadPhases;
use super::steadiness::{SteadyQuantity, WarmUpGoal, check_loop};
use crate::event::{Event, Observer};
use crate::plan::preset::interval_of;
use crate::warm_up_loop::WarmUpLoops;

/// The result of a warm-up.
pub struct WarmedUp {
    /// How it ended.
    pub outcome: WarmUpOutcome,
    /// Why the server is not in a steady state; none if it is.
    pub unsteady: Option<String>,
    /// The last loop.
    pub run: LoadOutcome,
    /// Its steady part.
    pub measured: Interval,
    /// Length of that.
    pub length: Duration,
    /// What the standstills of the last loop, and of the lasting loop, spent of the plan's objective; none where the loops say nothing of
    /// standstills, or where no capacity is searched.
    pub standstills: Option<BudgetUse>,
}

impl WarmedUp {
    /// How fast its steady part went.
    pub fn pace(&self) -> LoopPace {
        LoopPace::of(&self.run, &self.measured, self.length)
    }
}

/// Runs closed loops on the server of this name until throughput and p99 are steady, or until the limit of the plan. Then the lasting
/// loop follows, if there is one. Where a capacity is searched under an objective, the last loop and the lasting loop have what the
/// standstills spent of the objective.
pub fn warm_up(
    plan: &Plan,
    (name, slo): (&str, Option<&Slo>),
    goal: WarmUpGoal,
    loops: WarmUpLoops,
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<WarmedUp, RunError> {
    let quantity =
        if plan.measure == Measure::MaxBytes { SteadyQuantity::Bytes } else { SteadyQuantity::Operations };
    let (mut before, mut earlier, mut length) = (Duration::ZERO, None, loops.each);
    loop {
        observe(Event::Doing { what: format!("warming up {name} in a closed loop") });
        let run = loads.closed_loop(length, interval_of(length), observe)?.outcome;
        let checked = check_loop(&run, before, earlier, quantity, goal);
        before += length;
        // Where operations take longer than the loop, the next loop begins them anew.
        let next = if checked.series.is_empty() { length * 2 } else { length };
        if checked.unsteady.is_none() || loads.interrupted || before + next > plan.warm_up.max {
            let standstills = match slo {
                Some(slo) if plan.measure.is_capacity() => {
                    standstills_of(slo, &run, (loops.lasting, interval_of(length)), loads, observe)?
                }
                _ => None,
            };
            return Ok(WarmedUp {
                standstills,
                outcome: checked.outcome,
                unsteady: checked.unsteady,
                measured: checked.measured,
                length: checked.length,
                run,
            });
        }
        length = next;
        earlier = Some(checked.series);
    }
}

/// What the standstills of the last loop, and of a lasting one, spend of an objective. The lasting loop follows now, with intervals of this
/// length.
fn standstills_of(
    slo: &Slo,
    last: &LoadOutcome,
    (lasting, interval): (Option<Duration>, Duration),
    loads: &mut LoadPhases<'_>,
    observe: &mut Observer<'_>,
) -> Result<Option<BudgetUse>, RunError> {
    let in_last = loads.count_standstills(slo, last);
    let Some(lasting) = lasting else { return Ok(in_last) };
    if loads.interrupted {
        return Ok(in_last);
    }
    observe(Event::Doing { what: "looking for pauses in a closed loop".to_owned() });
    let run = loads.closed_loop(lasting, interval, observe)?.outcome;
    Ok(match (in_last, loads.count_standstills(slo, &run)) {
        (Some(mut sum), Some(in_lasting)) => {
            sum.add(&in_lasting);
            Some(sum)
        }
        (in_last, in_lasting) => in_last.or(in_lasting),
    })
}
