//! Makes up the slow requests of nginx and apache.

use crate::model::{
    RequestFunction, RequestPart, RequestStep, SlowRequests, ThreadsMeanwhile, TracedRequest,
};

/// The slow requests of a server of the example: those of nginx wait behind others, those of apache for a lock.
pub(super) fn of(variant: &str) -> SlowRequests {
    if variant == "nginx" { nginx() } else { apache() }
}

fn nginx() -> SlowRequests {
    let thread = "nginx";
    let slow = vec![
        step(0.0, 4.0, "client late", ""),
        step(4.0, 310.0, "behind other operations of its thread", thread),
        step(314.0, 9.0, "on the CPU", thread),
        step(323.0, 2.0, "reply on its way", ""),
    ];
    let median = vec![
        step(0.0, 1.0, "client late", ""),
        step(1.0, 70.0, "behind other operations of its thread", thread),
        step(71.0, 8.0, "on the CPU", thread),
        step(79.0, 2.0, "reply on its way", ""),
    ];
    let what = "its thread serves other operations first (240 µs more)";
    slow_requests(
        "nginx",
        what,
        (81.0, 290.0),
        [slow, median],
        vec![meanwhile(thread, [0.97, 0.03, 0.0, 0.0])],
    )
}

fn apache() -> SlowRequests {
    let thread = "httpd";
    let functions = ["apr_thread_mutex_lock", "ap_run_log_transaction", "ap_process_request"];
    let lock = RequestStep {
        functions: functions.map(str::to_owned).to_vec(),
        is_likely: true,
        woken_by: "httpd: apr_thread_mutex_unlock ← ap_run_log_transaction".to_owned(),
        ..step(62.0, 2100.0, "blocked: lock", thread)
    };
    let slow = vec![
        step(0.0, 2.0, "client late", ""),
        step(2.0, 24.0, "network and accept queue", ""),
        step(26.0, 36.0, "on the CPU", thread),
        lock,
        step(2162.0, 140.0, "waiting for a CPU", thread),
        step(2302.0, 11.0, "on the CPU", thread),
        step(2313.0, 3.0, "reply on its way", ""),
    ];
    let median = vec![
        step(0.0, 1.0, "client late", ""),
        step(1.0, 20.0, "network and accept queue", ""),
        step(21.0, 44.0, "on the CPU", thread),
        step(65.0, 3.0, "reply on its way", ""),
    ];
    let what =
        "its thread is blocked (lock) in apr_thread_mutex_lock ← ap_run_log_transaction (2,100 µs more)";
    slow_requests(
        "apache",
        what,
        (68.0, 1900.0),
        [slow, median],
        vec![meanwhile(thread, [0.9, 0.6, 2.5, 12.0])],
    )
}

fn slow_requests(
    variant: &str,
    what: &str,
    (median_us, slow_us): (f64, f64),
    steps: [Vec<RequestStep>; 2],
    meanwhile: Vec<ThreadsMeanwhile>,
) -> SlowRequests {
    let took = |steps: &[RequestStep]| steps.iter().map(|step| step.us).sum::<f64>();
    let [slow, median] = steps;
    let us = |steps: &[RequestStep], part: &str| {
        steps.iter().filter(|step| step.part == part).map(|step| step.us).sum::<f64>()
    };
    let mut parts: Vec<RequestPart> = Vec::new();
    for step in slow.iter().chain(&median) {
        if parts.iter().all(|known| known.part != step.part) {
            let part = step.part.clone();
            parts.push(RequestPart { slow_us: us(&slow, &part), median_us: us(&median, &part), part });
        }
    }
    parts.sort_by(|a, b| (b.slow_us - b.median_us).total_cmp(&(a.slow_us - a.median_us)));
    let request = |is_slow, steps: Vec<RequestStep>, meanwhile| TracedRequest {
        is_slow,
        operation: "get-1k".to_owned(),
        response_us: took(&steps),
        steps,
        meanwhile,
    };
    SlowRequests {
        sentence: format!(
            "a slow operation takes {variant} {:.0} µs, a median one {:.0} µs, mostly because {what}",
            took(&slow),
            took(&median)
        ),
        operations: 160_000,
        traced: 41,
        median_us,
        slow_us,
        level: "every switch, wake, read and send of its threads, stacks of some".to_owned(),
        stopped_after_s: Some(0.5),
        throughput_ratio: Some(0.96),
        parts,
        functions: vec![
            RequestFunction {
                frame: "tcp_sendmsg_locked".to_owned(),
                module: "kernel".to_owned(),
                share: 0.31,
            },
            RequestFunction { frame: "memcpy".to_owned(), module: "libc.so.6".to_owned(), share: 0.12 },
        ],
        requests: vec![request(true, slow, meanwhile.clone()), request(false, median, meanwhile)],
    }
}

fn step(from_us: f64, us: f64, part: &str, thread: &str) -> RequestStep {
    RequestStep {
        from_us,
        us,
        part: part.to_owned(),
        thread: thread.to_owned(),
        functions: Vec::new(),
        is_likely: false,
        woken_by: String::new(),
    }
}

fn meanwhile(threads: &str, [on_cpu, runnable, blocked, idle]: [f64; 4]) -> ThreadsMeanwhile {
    ThreadsMeanwhile { threads: threads.to_owned(), on_cpu, runnable, blocked, idle }
}
