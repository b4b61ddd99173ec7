//! Whether the mean of a few values lies above a bound: Student's one-sided t test.
//!
//! Source: Student, "The Probable Error of a Mean", Biometrika 6 (1908); Snedecor & Cochran, *Statistical Methods*, 8th ed., §5.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::sample::describe::sum_of_squares;
use crate::sample::location::t_quantile;

/// The probability of a mean as large as that of these values if the true one is `bound`. 1 for fewer than two values.
///
/// ```
/// use stats::one_sided::p_above;
/// assert!(p_above(&[0.051, 0.048, 0.052, 0.049], 0.01) < 0.001);
/// assert!(p_above(&[0.02, -0.01, 0.03, -0.02], 0.01) > 0.4);
/// ```
pub fn p_above(values: &[f64], bound: f64) -> f64 {
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return 1.0;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let error = (sum_of_squares(values) / (n - 1.0) / n).sqrt();
    if error <= f64::EPSILON {
        return if mean > bound { 0.0 } else { 1.0 };
    }
    StudentsT::new(0.0, 1.0, n - 1.0).map_or(1.0, |t| t.sf((mean - bound) / error))
}

/// How far a mean of `n` values with the standard deviation `sd`, known with `degrees` of freedom, may lie from the true one, on one
/// side with the probability `confidence`. Infinite without a degree of freedom.
pub fn margin(sd: f64, n: usize, degrees: usize, confidence: f64) -> f64 {
    if n == 0 {
        return f64::INFINITY;
    }
    t_quantile(degrees, confidence).map_or(f64::INFINITY, |t| t * sd / (n as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    #[test]
    fn the_sleep_data_of_student() {
        // The differences of his table: t = 4.0621 with 9 degrees of freedom, p = 0.00283 on two sides.
        let hours = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        assert!((p_above(&hours, 0.0) - 0.00283 / 2.0).abs() < 1e-5, "{}", p_above(&hours, 0.0));
    }

    #[test]
    fn a_bound_that_is_the_mean_is_exceeded_in_one_test_of_twenty() {
        let rng = &mut Pcg64::seed_from_u64(9);
        let normal = Normal::new(0.01, 0.02).unwrap();
        let runs = 4000;
        let claims = (0..runs)
            .filter(|_| p_above(&(0..6).map(|_| normal.sample(rng)).collect::<Vec<f64>>(), 0.01) < 0.05)
            .count();
        assert!((claims as f64 / f64::from(runs) - 0.05).abs() < 0.012, "{claims}");
    }

    #[test]
    fn equal_values_and_too_few_have_an_answer() {
        assert_eq!((p_above(&[0.1; 3], 0.0), p_above(&[0.1; 3], 0.2), p_above(&[0.1], 0.0)), (0.0, 1.0, 1.0));
        assert!((margin(0.02, 4, 3, 0.95) - 2.353 * 0.01).abs() < 1e-4);
        assert!(margin(0.02, 0, 3, 0.95).is_infinite() && margin(0.02, 2, 0, 0.95).is_infinite());
    }
}
