//! How long a slice should be: the Allan deviation of a load over time.
//!
//! Two servers that are loaded in turns are compared by neighbouring slices. What changes slowly against a slice is the
//! same in both and cancels; what changes fast averages out within a slice. The Allan deviation at a length is the scatter
//! of just these differences (Allan, Proceedings of the IEEE 54, 1966). Each slice also costs time in which nothing is
//! measured, so that the shortest is not always the best.

/// The Allan deviation of `values`, in groups of `together`, relative to their mean: the root of half the mean square of
/// the differences of neighbouring groups. None for fewer than three groups, or where the mean is not above 0.
///
/// ```
/// // A drift is small between neighbours, and larger the further they are apart.
/// let drifting: Vec<f64> = (0..100).map(|i| 1000.0 + f64::from(i)).collect();
/// let deviation = |together| stats::allan::allan_deviation(&drifting, together).unwrap();
/// assert!(deviation(10) > 9.0 * deviation(1));
/// ```
pub fn allan_deviation(values: &[f64], together: usize) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let groups: Vec<f64> = values.chunks_exact(together.max(1)).map(mean).collect();
    let overall = (groups.len() >= FEWEST_GROUPS).then(|| mean(&groups)).filter(|mean| *mean > 0.0)?;
    let squares = groups.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum::<f64>();
    let deviation = (squares / (2 * (groups.len() - 1)) as f64).sqrt() / overall;
    deviation.is_finite().then_some(deviation)
}

/// With fewer groups a deviation says nothing.
const FEWEST_GROUPS: usize = 3;

/// Groups that an estimate of a slice's length should rest on.
const WANTED_GROUPS: usize = 8;

/// The length of a slice, in values, that leaves the least scatter after a given time: the least of
/// `allan_deviation² × (length + cost)` over the lengths from `least` on, doubled each time. `cost` is the time of a slice in
/// which nothing is measured, in values. `least` where the series is too short to tell.
pub fn best_slice(values: &[f64], least: usize, cost: f64) -> usize {
    let least = least.max(1);
    let lengths = std::iter::successors(Some(least), |length| length.checked_mul(2));
    lengths
        .take_while(|length| values.len() / length >= WANTED_GROUPS)
        .filter_map(|length| Some((length, allan_deviation(values, length)?)))
        .map(|(length, deviation)| (length, deviation.powi(2) * (length as f64 + cost)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or(least, |(length, _)| length)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;

    use super::*;

    /// A thousand values: independent noise and a random walk, as parts of the level.
    fn series(noise: f64, walk: f64) -> Vec<f64> {
        let rng = &mut Pcg64::seed_from_u64(7);
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        let mut level = 1.0;
        (0..1_000)
            .map(|_| {
                level += walk * normal();
                1_000.0 * (level + noise * normal())
            })
            .collect()
    }

    #[test]
    fn independent_noise_falls_with_the_root_of_the_length() {
        let values = series(0.05, 0.0);
        let one = allan_deviation(&values, 1).expect("enough values");
        let sixteen = allan_deviation(&values, 16).expect("enough values");
        assert!((one / 0.05 - 1.0).abs() < 0.1, "{one}");
        assert!((sixteen / 0.0125 - 1.0).abs() < 0.4, "{sixteen}");
    }

    #[test]
    fn a_drift_asks_for_short_slices_and_noise_for_long_ones() {
        // Against a walk, the shortest slice is best if it costs nothing.
        assert_eq!(best_slice(&series(0.0, 0.02), 1, 0.0), 1);
        // Independent noise is the same at all lengths, but for what each slice costs.
        assert!(best_slice(&series(0.05, 0.0), 1, 2.0) >= 16);
        // Both: between.
        let between = best_slice(&series(0.05, 0.01), 1, 0.5);
        assert!((2..=32).contains(&between), "{between}");
    }

    #[test]
    fn a_short_series_has_the_least_length() {
        assert_eq!(best_slice(&[1.0; 7], 1, 1.0), 1);
        assert_eq!(best_slice(&[], 3, 1.0), 3);
        assert_eq!(allan_deviation(&[1.0, 2.0], 1), None);
        assert_eq!(allan_deviation(&[0.0; 10], 1), None);
    }
}
