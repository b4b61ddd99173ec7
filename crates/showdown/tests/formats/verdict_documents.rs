//! The documents of a verdict and of several sessions, with every key and every choice. The others are in `documents`.

use archive::model::{
    Caveat, Comparison, ComparisonSide, ComparisonVerdict, ConfidenceInterval, CpuTimeModes, CurvePoint,
    Difference, DifferenceClass, FORMAT, InconclusiveReason, IntervalMethod, LeftOutRun, MethodError, Mode,
    NeighbourEffect, NoFitReason, OddStarts, PairOverSessions, PartSummary, RatioDrift, RatioEstimate,
    RatioOfMeans, Refusal, RefusedWhen, Scalability, ScalabilityFit, SessionEstimate, SessionRun, Sessions,
    SweepCurve, TrialValue, VariantSummary, Verdict,
};

use crate::documents::{curve, map, point, text, user_walk};

pub fn verdict() -> Verdict {
    let classes = [
        DifferenceClass::ApplesToOranges,
        DifferenceClass::Unexplained,
        DifferenceClass::Expected,
        DifferenceClass::TheVariantItself,
    ];
    Verdict {
        format: FORMAT,
        reached_unix_ms: 1,
        sentence: text(),
        machine: Some(text()),
        metric: text(),
        unit: text(),
        higher_is_better: true,
        complete: true,
        settled_after_blocks: Some(8),
        replaced: Some(text()),
        interrupted: Some(false),
        comparisons: comparisons(),
        variants: vec![VariantSummary {
            name: text(),
            point: point(),
            values: vec![TrialValue { trial: 1, value: 1.5, valid: true }],
            median: Some(1.5),
            interval: Some(ConfidenceInterval { low: 1.5, high: 2.5 }),
            valid: 1,
            invalid: 1,
            failed_starts: 1,
            modes: vec![Mode { centre: 1.5, trials: vec![1] }],
            counters_per_s: map(1.5),
            cpu_time_us: Some(CpuTimeModes { user: 1.5, system: 2.5 }),
            parts: vec![PartSummary {
                part: text(),
                cpu_share: 0.5,
                cpu_us: Some(1.5),
                cores: 1.5,
                peak_rss_bytes: 1,
            }],
            users_per_core: Some(1.5),
            users: Some(user_walk()),
            neighbours: Some(NeighbourEffect {
                alone_per_s: 2.5,
                beside_per_s: 1.5,
                slowed: 0.4,
                alone_p99_us: Some(1.5),
                beside_p99_us: Some(2.5),
                gave_up_from_us: Some(1),
                client_limited: 1,
            }),
            response_time_curve_us: curve(),
            gave_up_from_us: Some(1),
        }],
        curves: laws().map(sweep_curve).to_vec(),
        fairness: classes
            .map(|class| Difference { key: text(), values: map(text()), class, remark: text() })
            .to_vec(),
        caveats: vec![Caveat { id: text(), text: text() }],
        method: vec![MethodError { source: text(), within: 0.04 }],
        refusals: [RefusedWhen::Always, RefusedWhen::UnlessDisturbed, RefusedWhen::Never]
            .map(|when| Refusal { gate: text(), limit: text(), why: text(), when })
            .to_vec(),
    }
}

pub fn sessions() -> Sessions {
    Sessions {
        first: text(),
        runs: vec![SessionRun { run: text(), reached_unix_ms: 1, machine: Some(text()) }],
        left_out: vec![LeftOutRun { run: text(), why: text() }],
        pairs: vec![PairOverSessions {
            a: text(),
            b: text(),
            point: point(),
            ratio: 1.5,
            low: 1.4,
            high: 1.6,
            between: Some(0.1),
            sessions: vec![SessionEstimate { run: text(), ratio: 1.5, low: 1.4, high: 1.6 }],
            sentence: text(),
        }],
    }
}

fn comparisons() -> Vec<Comparison> {
    let inconclusive = |reason| ComparisonVerdict::Inconclusive { reason };
    let verdicts = [
        ComparisonVerdict::Difference { higher: ComparisonSide::A, at_least: 0.5 },
        ComparisonVerdict::Difference { higher: ComparisonSide::B, at_least: 0.5 },
        ComparisonVerdict::NoDifferenceShown { within: 0.5 },
        inconclusive(InconclusiveReason::TooWide { within: 0.5, useful: 0.1 }),
        inconclusive(InconclusiveReason::TooFewBlocks { blocks: 1, needed: 3 }),
        inconclusive(InconclusiveReason::NotPositive { block: 1, a: text(), b: text() }),
        inconclusive(InconclusiveReason::ClientLimited { variants: vec![text()] }),
        inconclusive(InconclusiveReason::ServerFailed { variants: vec![text()] }),
        inconclusive(InconclusiveReason::UnequalDisturbance { a_share: 0.3, b_share: 0.1 }),
        inconclusive(InconclusiveReason::NoVerdictYet { blocks: 1, needed: 4 }),
    ];
    let methods = [IntervalMethod::StudentT, IntervalMethod::SignedRank];
    let comparison = |(verdict, method)| Comparison {
        a: text(),
        b: text(),
        point: point(),
        estimate: Some(RatioEstimate {
            ratio: 1.5,
            low: 1.4,
            high: 1.6,
            blocks: 6,
            confidence: 0.95,
            method,
            log_sd: 0.1,
        }),
        means: Some(RatioOfMeans { ratio: 1.5, low: 1.4, high: 1.6, confidence: 0.95 }),
        odd_starts: vec![OddStarts { variant: text(), trials: vec![1], of: 7, factor: 0.5 }],
        drift: Some(RatioDrift { per_block: 0.1, low: 0.05, high: 0.15, blocks: 6, is_shown: true }),
        verdict,
        smallest_difference: Some(0.1),
        sentence: text(),
    };
    verdicts.into_iter().zip(methods.into_iter().cycle()).map(comparison).collect()
}

fn laws() -> [Scalability; 7] {
    let refused = |reason| Scalability::Refused { reason };
    [
        Scalability::Fitted(ScalabilityFit {
            gamma: 1.5,
            alpha: 0.1,
            beta: 0.1,
            peak_load: 1.5,
            peak_throughput: 1.5,
            relative_error: 0.1,
            largest_load: 1.5,
        }),
        refused(NoFitReason::NotPositive { index: 1 }),
        refused(NoFitReason::TooFewLoads { loads: 1, needed: 6 }),
        refused(NoFitReason::NoCurvature { loss: 0.1 }),
        refused(NoFitReason::PoorFit { relative_error: 0.1 }),
        refused(NoFitReason::NoPeak { ceiling: 1.5 }),
        refused(NoFitReason::PeakBeyondRange { peak_load: 1.5, largest_load: 1.5 }),
    ]
}

fn sweep_curve(usl: Scalability) -> SweepCurve {
    SweepCurve {
        variant: text(),
        axis: text(),
        fixed: point(),
        points: vec![CurvePoint { at: 1.5, median: 1.5, min: 1.5, max: 1.5 }],
        usl: Some(usl),
    }
}
