//! Statistics of a run as they are read again.

use super::*;
use stats::{steady::detect_steady_state, verdict::compare};

/// Converts a value of `stats`, and reads it back from its JSON.
fn assert_reads_back<T: Into<U>, U: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
    value: T,
) {
    let value: U = value.into();
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<U>(&json).unwrap(), value, "{json}");
}

#[test]
fn results_of_the_statistics_read_back_from_their_json() {
    for blocks in
        [vec![(2.0, 1.0); 6], vec![(1.0, f64::NAN); 6], vec![(1.0, 2.0), (2.0, 1.0), (1.0, 1.0)], vec![]]
    {
        let comparison = compare(&blocks, &verdict::VerdictRule::default());
        assert_reads_back::<_, ComparisonVerdict>(comparison.verdict);
        if let Some(estimate) = comparison.estimate {
            assert_reads_back::<_, RatioEstimate>(estimate);
        }
    }
    for series in [vec![1.0; 3], vec![0.0; 100], vec![f64::NAN; 100], (0..100).map(f64::from).collect()] {
        let state = detect_steady_state(&series, steady::DriftTolerance::THROUGHPUT);
        assert_reads_back::<_, SteadyState>(state);
    }
    let law = |n: f64| 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0));
    let points = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|load| usl::LoadPoint { load, throughput: law(load) });
    for points in [&points[..], &points[..3]] {
        assert_reads_back::<_, Scalability>(usl::fit(points));
    }
}
