//! An explanation with every key and every choice. A new field does not compile without an entry here.

use archive::model::{
    CpuDifference, CpuProfile, Elasticity, ExaminedResource, ExplainedServer, Explanation, ExplanationBasis,
    FORMAT, Figure, FrameCost, FrameDifference, LoopLoad, PerturbationOutcome, PerturbedPair,
    RequestFunction, RequestPart, RequestStep, ServerStatistic, SlowRequests, Suspect, SuspectWord,
    ThreadsMeanwhile, TracedRequest, Unknown, WaitKindTime, WaitPlace, WaitProfile, WaitWaker,
};

fn text() -> String {
    "text".to_owned()
}

fn figure() -> Figure {
    Figure { name: text(), value: 0.5, unit: text(), text: text(), about: text(), source: text() }
}

fn suspect(word: SuspectWord) -> Suspect {
    Suspect {
        rule: text(),
        resource: text(),
        title: text(),
        word,
        sentence: text(),
        evidence: vec![figure()],
        tried: Some(text()),
        remedies: vec![text()],
        source: text(),
    }
}

fn server() -> ExplainedServer {
    let words = [SuspectWord::Limits, SuspectWord::Shared, SuspectWord::Suspected, SuspectWord::Cleared];
    ExplainedServer {
        variant: text(),
        sentence: text(),
        closed_loop: LoopLoad {
            connections: 16,
            server_cpus: text(),
            slices: 5,
            length_s: 5.0,
            throughput_per_s: 1000.0,
            mean_response_us: 16_000.0,
            loop_share: 1.0,
            cpu_us_per_operation: Some(900.0),
            client_utilisation: Some(0.4),
        },
        resources: vec![ExaminedResource {
            id: text(),
            title: text(),
            demand: Some(figure()),
            utilisation: Some(figure()),
            saturation: Some(figure()),
            missing: Some(text()),
        }],
        suspects: words.map(suspect).into(),
        perturbations: vec![PerturbationOutcome {
            id: text(),
            resource: text(),
            title: text(),
            pairs: vec![PerturbedPair {
                plain_per_s: 1000.0,
                perturbed_per_s: 800.0,
                resource_left: 0.8,
                plain_first: true,
            }],
            elasticity: Some(Elasticity { value: 1.0, low: 0.9, high: 1.1, pairs: 8, confidence: 0.983 }),
            sentence: text(),
        }],
        statistics: vec![ServerStatistic {
            name: text(),
            value: 1.0,
            unit: text(),
            per_operation: Some(0.1),
            limit: Some(256.0),
            about: text(),
        }],
        unknown: vec![Unknown { what: text(), why: text() }],
        profile: Some(CpuProfile {
            period_us: 10101.0,
            cpu_us: 8.0,
            folded: text(),
            samples: 100,
            lost: 0,
            level: text(),
            throughput_ratio: Some(0.98),
            frames: vec![FrameCost { frame: text(), module: text(), self_us: 1.0, total_us: 2.0 }],
            waking_us: Some(0.2),
            kernel_us: Some(0.3),
            rest_us: 0.1,
        }),
        waits: Some(WaitProfile {
            folded: text(),
            operations: 1000.0,
            length_s: 2.0,
            stopped_after_s: Some(1.0),
            sampled: 10,
            lost: 1,
            level: text(),
            throughput_ratio: Some(0.97),
            kinds: vec![WaitKindTime { kind: text(), us: 1.0, waits: Some(0.5) }],
            idle_us: 5.0,
            places: vec![WaitPlace {
                kind: text(),
                is_lock: true,
                is_idle: false,
                functions: vec![text()],
                threads: vec![text()],
                us: 1.0,
                waits: Some(0.5),
                wakers: vec![WaitWaker { who: text(), functions: vec![text()], share: 1.0 }],
            }],
        }),
        slow_requests: Some(slow_requests()),
    }
}

fn slow_requests() -> SlowRequests {
    SlowRequests {
        sentence: text(),
        operations: 1000,
        traced: 1,
        median_us: 100.0,
        slow_us: 900.0,
        level: text(),
        stopped_after_s: Some(0.5),
        throughput_ratio: Some(0.97),
        parts: vec![RequestPart { part: text(), slow_us: 800.0, median_us: 0.0 }],
        functions: vec![RequestFunction { frame: text(), module: text(), share: 0.5 }],
        requests: vec![TracedRequest {
            is_slow: true,
            operation: text(),
            response_us: 950.0,
            steps: vec![RequestStep {
                from_us: 0.0,
                us: 950.0,
                part: text(),
                thread: text(),
                functions: vec![text()],
                is_likely: true,
                woken_by: text(),
            }],
            meanwhile: vec![ThreadsMeanwhile {
                threads: text(),
                on_cpu: 1.0,
                runnable: 0.5,
                blocked: 0.5,
                idle: 2.0,
            }],
        }],
    }
}

pub fn explanation(basis: ExplanationBasis) -> Explanation {
    Explanation {
        format: FORMAT,
        basis,
        can_be_studied: (basis == ExplanationBasis::Trials).then_some(true),
        made_unix_ms: 1,
        sentence: text(),
        workload: text(),
        servers: vec![server()],
        difference: Some(CpuDifference {
            sentence: text(),
            a_cpu_us: 8.0,
            b_cpu_us: 9.0,
            a: text(),
            b: text(),
            frames: vec![FrameDifference {
                module: text(),
                frame: text(),
                a_us: 1.0,
                b_us: 2.0,
                low_us: 0.5,
                high_us: 1.5,
                is_significant: true,
            }],
        }),
    }
}
