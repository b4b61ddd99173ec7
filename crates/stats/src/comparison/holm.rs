//! Several claims at once, none of which may be false: Holm's step-down correction.
//!
//! [`crate::comparison::false_discovery`] allows a share of what is found to be false. A claim that a user acts on is kept only where the
//! probability of any false one among all claims stays below the level. Source: S. Holm, "A Simple Sequentially Rejective Multiple
//! Test Procedure", Scand. J. Statist. 6 (1979), p. 65–70. It holds for any dependence between the tests.

/// The adjusted p-value of each test: a claim whose value is at most `alpha` holds at the level `alpha` together with all others that
/// do. In the order of `p`; a value that is no probability counts as 1.
///
/// ```
/// use stats::holm::adjusted;
/// assert_eq!(adjusted(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
/// ```
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let probability = |at: usize| if (0.0..=1.0).contains(&p[at]) { p[at] } else { 1.0 };
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|x, y| probability(*x).total_cmp(&probability(*y)));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0_f64;
    for (below, at) in order.into_iter().enumerate() {
        let left = (p.len() - below) as f64;
        largest = largest.max((probability(at) * left).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    #[test]
    fn a_worked_example() {
        // Holm's procedure at 5 % with these four: the smallest against 0.0125, the next against 0.0167, the next against 0.025.
        let found = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12),
            "{found:?}"
        );
    }

    #[test]
    fn without_any_difference_one_run_of_twenty_claims_something() {
        let rng = &mut Pcg64::seed_from_u64(5);
        let runs = 2000;
        let claims = |p: &[f64]| p.iter().any(|p| *p <= 0.05);
        let (mut corrected, mut plain) = (0, 0);
        for _ in 0..runs {
            let p: Vec<f64> = (0..10).map(|_| rng.random()).collect();
            corrected += i32::from(claims(&adjusted(&p)));
            plain += i32::from(claims(&p));
        }
        assert!(corrected <= runs / 15, "{corrected} of {runs}");
        assert!(plain > runs / 4, "{plain} of {runs} without the correction");
    }

    proptest! {
        #[test]
        fn an_adjusted_value_is_a_probability_and_not_below_its_own(p in prop::collection::vec(-0.5..1.5_f64, 0..30)) {
            for (own, adjusted) in p.iter().zip(adjusted(&p)) {
                prop_assert!((0.0..=1.0).contains(&adjusted));
                prop_assert!(!(0.0..=1.0).contains(own) || adjusted >= *own);
            }
        }
    }
}
