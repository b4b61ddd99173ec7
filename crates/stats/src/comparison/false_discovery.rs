//! Many tests at once: which of them have found something, when some of what is found may be false.
//!
//! A profile has hundreds of functions. At 5 % each, dozens would differ by chance. The procedure of Benjamini and Hochberg
//! keeps the expected share of false ones among all that are called different below a rate. Source: Y. Benjamini & Y. Hochberg,
//! "Controlling the false discovery rate", J. R. Statist. Soc. B 57 (1995). It holds for independent tests and for those that
//! depend positively (Benjamini & Yekutieli, Ann. Statist. 29, 2001).

/// The adjusted p-value of each test: what is at most `rate` is a discovery at that rate. In the order of `p`; a value that is
/// no probability counts as 1.
///
/// ```
/// use stats::false_discovery::adjusted;
/// assert_eq!(adjusted(&[0.01, 0.04, 0.03]), [0.03, 0.04, 0.04]);
/// ```
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let probability = |at: usize| if (0.0..=1.0).contains(&p[at]) { p[at] } else { 1.0 };
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|x, y| probability(*y).total_cmp(&probability(*x)));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 1.0_f64;
    for (above, at) in order.into_iter().enumerate() {
        let rank = (p.len() - above) as f64;
        least = least.min(probability(at) * (p.len() as f64 / rank));
        adjusted[at] = least;
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
    fn the_example_of_benjamini_and_hochberg() {
        // Their section 3.2: 15 hypotheses; at a rate of 5 % the first four are rejected, by Bonferroni the first three.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let found = adjusted(&p).into_iter().filter(|q| *q <= 0.05).count();
        assert_eq!(found, 4);
    }

    #[test]
    fn without_any_difference_one_run_of_twenty_discovers_something() {
        let rng = &mut Pcg64::seed_from_u64(5);
        let runs = 2000;
        let mut discoveries = |correct: bool| {
            (0..runs)
                .filter(|_| {
                    let p: Vec<f64> = (0..100).map(|_| rng.random()).collect();
                    let q = if correct { adjusted(&p) } else { p };
                    q.iter().any(|q| *q <= 0.05)
                })
                .count()
        };
        assert!(discoveries(true) <= runs / 14);
        assert!(discoveries(false) > runs / 2);
    }

    proptest! {
        #[test]
        fn adjusted_values_keep_the_order_and_are_not_smaller(p in prop::collection::vec(0.0..=1.0_f64, 0..30)) {
            let q = adjusted(&p);
            for (i, p_i) in p.iter().enumerate() {
                prop_assert!(q[i] >= *p_i && q[i] <= 1.0);
                for (j, p_j) in p.iter().enumerate() {
                    prop_assert!(p_i > p_j || q[i] <= q[j]);
                }
            }
        }
    }
}
