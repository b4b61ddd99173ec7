//! A variant at one point of a sweep: each block has one trial of it. In a comparison there is one point, without axes.

use archive::model::{KnobValue, Plan, SweepPoint, Variant, Vary};

/// A variant at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantPoint {
    /// Index of the variant in the plan.
    pub variant: usize,
    /// Values of the axes; empty in a comparison.
    pub point: SweepPoint,
}

/// Every variant of a plan at every combination of the axes' values.
pub fn variant_points(plan: &Plan) -> Vec<VariantPoint> {
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
        .flat_map(|variant| points.iter().map(move |point| VariantPoint { variant, point: point.clone() }))
        .collect()
}

/// Indices of the variants at one point, which are compared with each other, in the plan's order.
pub fn at_point(variant_points: &[VariantPoint], point: &SweepPoint) -> Vec<usize> {
    (0..variant_points.len()).filter(|&index| variant_points[index].point == *point).collect()
}

impl VariantPoint {
    /// The variant, with its knobs set to the axes' values.
    pub fn variant(&self, plan: &Plan) -> Variant {
        let mut variant = plan.variants[self.variant].clone();
        for axis in &plan.sweep {
            if let (Vary::Knob(knob), Some(value)) = (&axis.vary, self.point.get(&axis.vary.to_string())) {
                variant.knobs.insert(knob.clone(), value.clone());
            }
        }
        variant
    }

    /// Number of client connections at this point.
    pub fn connections(&self, plan: &Plan) -> u32 {
        let axes = [Vary::Connections, Vary::Users].map(|vary| vary.to_string());
        let varied = axes.iter().find_map(|axis| self.point.get(axis)?.as_f64());
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a plan's values are whole and at most a million"
        )]
        varied.map_or(plan.load.connections, |n| n as u32)
    }

    /// Offered rate at this point, where the rate is an axis.
    pub fn rate_per_s(&self) -> Option<f64> {
        self.point.get(&Vary::Rate.to_string()).and_then(KnobValue::as_f64)
    }

    /// Its name for people: `apache`, or `apache at connections 64`.
    pub fn name(&self, plan: &Plan) -> String {
        let name = &plan.variants[self.variant].name;
        if self.point.is_empty() {
            return name.clone();
        }
        format!("{name} at {}", point_text(&self.point))
    }
}

/// A point of a sweep for people: `connections 64, threads 2`.
pub fn point_text(point: &SweepPoint) -> String {
    let axes: Vec<String> = point.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
    axes.join(", ")
}
