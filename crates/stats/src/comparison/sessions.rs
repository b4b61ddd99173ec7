//! One ratio from several sessions of one plan: other times, other starts of the machine, other machines of its type.
//!
//! Within a session, the ratio of the same two servers varies less than from session to session: memory is laid out otherwise, a
//! virtual machine has other neighbours. The interval of a session does not contain that. A random-effects model does: each
//! session has its own true ratio, around a common one.
//!
//! * Variation between sessions, τ²: `DerSimonian` & Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials 7 (1986).
//! * Interval of the common ratio: Hartung & Knapp, "On tests of the overall treatment effect in meta-analysis with normally
//!   distributed responses", Statistics in Medicine 20 (2001), and Sidik & Jonkman (2002), with Student's t of k − 1 degrees of
//!   freedom. It is never narrower than with the plain standard error (Röver, Knapp & Friede, BMC Med. Res. Meth. 15, 2015): by
//!   chance three sessions may agree better than their own intervals allow.
//!
//! Two sessions do not show how much sessions vary: the interval of their t has a factor of 12.7. Under three, there is none.

use crate::confidence::{Confidence, ConfidenceInterval};
use crate::sample::location::t_quantile;
use statrs::distribution::{ContinuousCDF, Normal};

/// Fewest sessions that show how much sessions vary.
pub const FEWEST_SESSIONS: usize = 3;

/// The ratio of one session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionRatio {
    /// Its logarithm.
    pub log_ratio: f64,
    /// The standard error of that, from the blocks of the session.
    pub standard_error: f64,
}

impl SessionRatio {
    /// From an interval of so many blocks: half its width on the logarithmic scale is t times the standard error. `None` for an
    /// interval that is none.
    pub fn of_interval(
        ratio: f64,
        interval: ConfidenceInterval,
        blocks: usize,
        confidence: Confidence,
    ) -> Option<Self> {
        let quantile = t_quantile(blocks.checked_sub(1)?, 1.0 - confidence.alpha() / 2.0)?;
        let standard_error = (interval.high / interval.low).ln() / 2.0 / quantile;
        let is_usable =
            ratio > 0.0 && ratio.is_finite() && standard_error >= 0.0 && standard_error.is_finite();
        // Equal blocks have an interval without width; a session that weighs infinitely would be the only one.
        is_usable.then(|| Self { log_ratio: ratio.ln(), standard_error: standard_error.max(1e-6) })
    }
}

/// The ratio over sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioOverSessions {
    /// The common ratio.
    pub ratio: f64,
    /// Its interval. Under three sessions: of these sessions alone, without the variation between sessions.
    pub interval: ConfidenceInterval,
    /// Standard deviation of the log ratio from session to session; `None` under three.
    pub between: Option<f64>,
    /// Number of sessions.
    pub sessions: usize,
}

/// Combines sessions; `None` without one.
pub fn combine(sessions: &[SessionRatio], confidence: Confidence) -> Option<RatioOverSessions> {
    let within = weighted_mean(sessions, 0.0)?;
    let of = |centre: f64, half: f64| ConfidenceInterval {
        low: (centre - half).exp(),
        high: (centre + half).exp(),
    };
    if sessions.len() < FEWEST_SESSIONS {
        let z = Normal::standard().inverse_cdf(1.0 - confidence.alpha() / 2.0);
        return Some(RatioOverSessions {
            ratio: within.mean.exp(),
            interval: of(within.mean, z / within.weight.sqrt()),
            between: None,
            sessions: sessions.len(),
        });
    }
    let degrees = (sessions.len() - 1) as f64;
    let weights = || sessions.iter().map(|session| session.standard_error.powi(-2));
    let of_weights = within.weight - weights().map(|weight| weight * weight).sum::<f64>() / within.weight;
    let between = ((within.scatter - degrees) / of_weights).max(0.0);
    let all = weighted_mean(sessions, between)?;
    let widened = (all.scatter / degrees).max(1.0);
    let half =
        t_quantile(sessions.len() - 1, 1.0 - confidence.alpha() / 2.0)? * (widened / all.weight).sqrt();
    Some(RatioOverSessions {
        ratio: all.mean.exp(),
        interval: of(all.mean, half),
        between: Some(between.sqrt()),
        sessions: sessions.len(),
    })
}

/// A mean with the sum of its weights, and the weighted squares around it.
struct WeightedMean {
    mean: f64,
    weight: f64,
    scatter: f64,
}

fn weighted_mean(sessions: &[SessionRatio], between: f64) -> Option<WeightedMean> {
    let weight = |session: &SessionRatio| 1.0 / (session.standard_error.powi(2) + between);
    let sum: f64 = sessions.iter().map(weight).sum();
    if sum <= 0.0 || !sum.is_finite() {
        return None;
    }
    let mean = sessions.iter().map(|session| weight(session) * session.log_ratio).sum::<f64>() / sum;
    let scatter = sessions.iter().map(|session| weight(session) * (session.log_ratio - mean).powi(2)).sum();
    Some(WeightedMean { mean, weight: sum, scatter })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal as NormalNoise};
    use rand_pcg::Pcg64;

    /// The share of 2,000 series of sessions whose interval holds the common ratio: 1 % of error within a session.
    fn coverage(sessions: usize, between: f64) -> f64 {
        let rng = &mut Pcg64::seed_from_u64(2);
        let (of_session, within) =
            (NormalNoise::new(0.0, between).unwrap(), NormalNoise::new(0.0, 0.01).unwrap());
        let holds = |_: &i32| {
            let series: Vec<SessionRatio> = (0..sessions)
                .map(|_| {
                    let log_ratio = of_session.sample(rng) + within.sample(rng);
                    SessionRatio { log_ratio, standard_error: 0.01 }
                })
                .collect();
            combine(&series, Confidence::P95).unwrap().interval.contains(1.0)
        };
        (0..2000).filter(holds).count() as f64 / 2000.0
    }

    #[test]
    fn three_sessions_or_more_contain_the_common_ratio_in_95_percent() {
        for between in [0.0, 0.02, 0.06] {
            for sessions in [3, 4, 6, 10] {
                let share = coverage(sessions, between);
                assert!(share > 0.93, "{sessions} sessions, {between} between: {share}");
            }
        }
    }

    #[test]
    fn the_intervals_of_single_sessions_do_not() {
        assert!(coverage(1, 0.06) < 0.4 && coverage(2, 0.06) < 0.5);
    }

    #[test]
    fn two_sessions_do_not_show_how_much_sessions_vary() {
        let session = |log_ratio| SessionRatio { log_ratio, standard_error: 0.01 };
        let two = combine(&[session(0.0), session(0.1)], Confidence::P95).unwrap();
        assert_eq!((two.between, two.sessions), (None, 2));
        let three = combine(&[session(0.0), session(0.1), session(0.2)], Confidence::P95).unwrap();
        assert!(
            (three.ratio.ln() - 0.1).abs() < 1e-9
                && three.between.is_some_and(|sd| (0.09..0.11).contains(&sd))
        );
        assert!(three.interval.low < 1.0 && three.interval.high > 1.35, "{three:?}");
        assert_eq!(combine(&[], Confidence::P95), None);
    }

    #[test]
    fn an_interval_of_few_blocks_has_the_standard_error_of_its_t() {
        let interval = ConfidenceInterval { low: (-0.02447_f64).exp(), high: 0.02447_f64.exp() };
        let session = SessionRatio::of_interval(1.0, interval, 7, Confidence::P95).unwrap();
        assert!((session.standard_error - 0.01).abs() < 1e-5, "{session:?}");
        assert_eq!(SessionRatio::of_interval(f64::NAN, interval, 7, Confidence::P95), None);
        assert_eq!(SessionRatio::of_interval(1.0, interval, 0, Confidence::P95), None);
    }
}
