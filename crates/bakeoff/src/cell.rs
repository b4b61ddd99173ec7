//! What is compared in one trial of each block: a variant, in a sweep at one point of its axes.

use archive::model::{KnobValue, Plan, SweepPoint, Variant, Vary};

/// A variant at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Index of the variant in the plan.
    pub variant: usize,
    /// Where on the axes; empty in a comparison.
    pub point: SweepPoint,
}

/// All cells of a plan: every variant at every combination of the axes' values.
pub fn cells(plan: &Plan) -> Vec<Cell> {
    let mut points = vec![SweepPoint::new()];
    for axis in &plan.sweep {
        let name = axis.vary.to_string();
        points = points
            .iter()
            .flat_map(|point| {
                axis.values.iter().map(|value| {
                    let mut point = point.clone();
                    point.insert(name.clone(), value.clone());
                    point
                })
            })
            .collect();
    }
    (0..plan.variants.len())
        .flat_map(|variant| points.iter().map(move |point| Cell { variant, point: point.clone() }))
        .collect()
}

/// The cells at a point, which are compared with each other, in the order of the plan.
pub fn at_point(cells: &[Cell], point: &SweepPoint) -> Vec<usize> {
    (0..cells.len()).filter(|&cell| cells[cell].point == *point).collect()
}

impl Cell {
    /// The variant with the axes' values for its knobs.
    pub fn variant(&self, plan: &Plan) -> Variant {
        let mut variant = plan.variants[self.variant].clone();
        for axis in &plan.sweep {
            if let (Vary::Knob(knob), Some(value)) = (&axis.vary, self.point.get(&axis.vary.to_string())) {
                variant.knobs.insert(knob.clone(), value.clone());
            }
        }
        variant
    }

    /// Connections of the client here.
    pub fn connections(&self, plan: &Plan) -> u32 {
        let varied = self.point.get(&Vary::Connections.to_string()).and_then(KnobValue::as_f64);
        varied.map_or(plan.load.connections, |n| n as u32)
    }

    /// Offered rate here, where that is an axis.
    pub fn rate_per_s(&self) -> Option<f64> {
        self.point.get(&Vary::Rate.to_string()).and_then(KnobValue::as_f64)
    }

    /// Its name for people: `apache`, or `apache at connections 64`.
    pub fn name(&self, plan: &Plan) -> String {
        let name = &plan.variants[self.variant].name;
        if self.point.is_empty() {
            return name.clone();
        }
        format!("{name} at {}", at(&self.point))
    }
}

/// A point of a sweep for people: `connections 64, threads 2`.
pub fn at(point: &SweepPoint) -> String {
    let axes: Vec<String> = point.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
    axes.join(", ")
}
