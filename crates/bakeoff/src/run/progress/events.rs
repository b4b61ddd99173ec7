//! What a run tells its user while it goes on: how many trials it has, how precise it is by now, and when it ends. It decides
//! nothing.

use archive::model::{LookSpending, RunKind};

use super::RunProgress;
use crate::event::{Event, Observer};
use crate::verdict::compute::comparisons_so_far;
use crate::verdict::input::complete_blocks;
use crate::verdict::interim_looks;
use crate::verdict::precision_forecast::PrecisionForecast;

impl RunProgress<'_> {
    /// The blocks with which the run is expected to end.
    pub(super) fn expected_blocks(&self) -> u32 {
        let complete = complete_blocks(0, &self.variant_points, &self.so_far.kept) as u32;
        interim_looks::expected_end(&self.plan, complete)
    }

    fn trials_of(&self, blocks: u32) -> u32 {
        blocks * self.variant_points.len() as u32
    }

    /// Tells that the run goes on after the look with which it was expected to end.
    pub(super) fn tell_going_on(&self, look: u32, observe: &mut Observer<'_>) {
        let blocks = self.plan.blocks;
        let company = match self.plan.spending {
            LookSpending::Late => return,
            LookSpending::Early => None,
            LookSpending::Prolonged => self.company(),
        };
        if self.plan.looks.first() == Some(&look) {
            let left = self.forecast().map(|forecast| forecast.time_until(blocks));
            let (trials, left_s) = (self.trials_of(blocks), left.map(|left| left.as_secs_f64()));
            observe(Event::GoesOn { blocks, trials, left_s, company });
        }
    }

    /// How precise the ratios of a comparison are by now.
    fn forecast(&self) -> Option<PrecisionForecast> {
        let input = self.verdict_input(None, &[]);
        (self.plan.kind == RunKind::Compare)
            .then(|| PrecisionForecast::of(&input, &comparisons_so_far(&input)))?
    }

    pub(super) fn tell_beginning(&self, observe: &mut Observer<'_>) {
        observe(Event::RunBegins {
            run: self.writer.id().as_str().to_owned(),
            dir: self.writer.dir().display().to_string(),
            trials: self.trials_of(self.expected_blocks()),
            kept: self.so_far.kept.all().len() as u32,
        });
    }

    /// Tells how precise the ratios are by now, and will be.
    pub(super) fn tell_precision(&self, observe: &mut Observer<'_>) {
        if let Some(forecast) = self.forecast() {
            let expected = forecast.expected(&self.plan);
            observe(Event::Precision {
                half_width: forecast.half_width(),
                elapsed_s: self.begun.elapsed().as_secs_f64(),
                within: interim_looks::aim(&self.plan),
                company: self.company(),
                expected_half_width: expected.map(|expected| expected.half_width),
                left_s: expected.map(|expected| expected.left.as_secs_f64()),
            });
        }
    }

    /// Tells what the aim of the plan would have needed, if the run has missed it.
    pub(super) fn tell_missed_aim(&self, observe: &mut Observer<'_>) {
        let (Some(forecast), Some(within)) = (self.forecast(), self.plan.within) else { return };
        let half_width = forecast.half_width();
        if half_width > within {
            let needed = forecast.needed(&self.plan, within);
            observe(Event::AimMissed {
                within,
                half_width,
                blocks: needed.map(|needed| needed.blocks),
                longer_s: needed.map(|needed| needed.left.as_secs_f64()),
            });
        }
    }
}
