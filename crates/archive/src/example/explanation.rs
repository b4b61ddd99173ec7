//! Makes up an explanation of nginx and apache: what limits them, what was tried, where their CPU time goes, and where they wait.

use super::{common, facts, requests, waits};
use crate::{
    error::Result,
    id::RunId,
    model::{
        CpuDifference, CpuProfile, Elasticity, ExaminedResource, ExplainedServer, Explanation,
        ExplanationBasis, Figure, FrameCost, FrameDifference, LoopLoad, Measure, PerturbationOutcome,
        PerturbedPair, PlannedStudy, RunKind, ServerStatistic, Suspect, SuspectWord, Unknown, Variant,
    },
    writer::RunWriter,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, SystemTime},
};

/// Samples of nginx by stack, outermost function first.
const NGINX: &str = "\
nginx;main;ngx_worker_process_cycle;ngx_epoll_process_events;epoll_wait;do_syscall_64_[k];do_epoll_wait_[k] 60
nginx;main;ngx_worker_process_cycle;ngx_http_process_request;ngx_http_parse_request_line 48
nginx;main;ngx_worker_process_cycle;ngx_http_process_request;ngx_open_cached_file;open64;do_syscall_64_[k];do_filp_open_[k] 90
nginx;main;ngx_worker_process_cycle;ngx_http_process_request;ngx_linux_sendfile_chain;sendfile64;do_syscall_64_[k];tcp_sendmsg_locked_[k] 210
nginx;main;ngx_worker_process_cycle;ngx_http_process_request;ngx_linux_sendfile_chain;sendfile64;do_syscall_64_[k];tcp_sendmsg_locked_[k];_raw_spin_unlock_irqrestore_[k] 70
nginx;main;ngx_worker_process_cycle;ngx_http_wait_request_handler;recv;do_syscall_64_[k];tcp_recvmsg_[k] 96
nginx;main;ngx_worker_process_cycle;[nginx+0x54130] 26
";

/// Samples of apache. It reads `.htaccess` files, allocates more, and has no sendfile.
const APACHE: &str = "\
httpd;start_thread;worker_thread;ap_process_request;ap_directory_walk;open64;do_syscall_64_[k];do_filp_open_[k] 180
httpd;start_thread;worker_thread;ap_process_request;ap_directory_walk;apr_palloc;malloc 130
httpd;start_thread;worker_thread;ap_process_request;ap_core_output_filter;writev;do_syscall_64_[k];tcp_sendmsg_locked_[k] 220
httpd;start_thread;worker_thread;ap_process_request;ap_core_output_filter;writev;do_syscall_64_[k];tcp_sendmsg_locked_[k];_raw_spin_unlock_irqrestore_[k] 72
httpd;start_thread;worker_thread;ap_process_request;ap_read_request;recv;do_syscall_64_[k];tcp_recvmsg_[k] 98
httpd;start_thread;worker_thread;ap_queue_pop_something;futex;do_syscall_64_[k];futex_wait_[k] 84
httpd;start_thread;worker_thread;<lost frames> 16
";

pub(super) fn write(root: &Path, started: SystemTime) -> Result<RunId> {
    let command = "showdown explain nginx apache --on-op get-1k --slow-request --tag made-up";
    let mut plan = common::plan(Measure::MaxThroughput, 1);
    plan.kind = RunKind::Explain;
    plan.study = Some(PlannedStudy {
        slice: Duration::from_secs(1),
        plain_slices: 5,
        experiments: 3,
        pairs: 4,
        profiled_slice: Duration::from_secs(2),
        profiled_rounds: 6,
        slow_requests: true,
    });
    plan.command = command.split(' ').map(str::to_owned).collect();
    plan.on_op = Some("get-1k".to_owned());
    let variant = |name: &str| Variant {
        name: name.to_owned(),
        server: name.to_owned(),
        host: None,
        knobs: BTreeMap::new(),
    };
    plan.variants = ["nginx", "apache"].map(variant).to_vec();
    let run = RunWriter::create(root, &plan, started)?;
    let mut facts = facts::of(&plan.variants, common::unix_ms(started), |_| 1);
    // Configurations are files of trials, which this run does not have.
    facts.variants.iter_mut().for_each(|variant| variant.config.clear());
    run.facts(&facts)?;
    let mut servers = vec![nginx(), apache()];
    for (server, folded) in servers.iter_mut().zip([NGINX, APACHE]) {
        let name = run.profile(&server.variant, folded)?;
        let cpu_us = server.closed_loop.cpu_us_per_operation.unwrap_or_default();
        server.profile = Some(profile(name, folded, cpu_us));
        server.waits = Some(waits::write(&run, &server.variant)?);
        server.slow_requests = Some(requests::of(&server.variant));
    }
    let difference = difference(&servers);
    let made = common::unix_ms(started);
    let explanation = Explanation::new(&plan.workload, ExplanationBasis::Study, made, servers, difference);
    run.explanation(&explanation)?;
    Ok(run.id().clone())
}

fn figure(name: &str, value: f64, unit: &str, text: &str, about: &str, source: &str) -> Figure {
    let [name, unit, text, about, source] = [name, unit, text, about, source].map(str::to_owned);
    Figure { name, value, unit, text, about, source }
}

fn busy(share: f64, text: &str) -> Figure {
    let about = "share of the time in which the server's CPUs were busy";
    figure("server_cpus.busy", share, "share", text, about, "/proc/stat")
}

fn closed_loop(throughput_per_s: f64, cpu_us: f64) -> LoopLoad {
    LoopLoad {
        connections: 64,
        server_cpus: "0".to_owned(),
        slices: 5,
        length_s: 5.0,
        throughput_per_s,
        mean_response_us: 62.0 * 1e6 / throughput_per_s,
        loop_share: 62.0 / 64.0,
        cpu_us_per_operation: Some(cpu_us),
        client_utilisation: Some(0.58),
    }
}

fn resources(share: f64, text: &str, cpu: &str, cpu_us: f64) -> Vec<ExaminedResource> {
    let resource = |id: &str, title: &str| ExaminedResource {
        id: id.to_owned(),
        title: title.to_owned(),
        demand: None,
        utilisation: None,
        saturation: None,
        missing: None,
    };
    let about = "CPU time of the server for each operation";
    let waited = "threads of the server that waited for a CPU, on average";
    let used = "share of its cores that the client used";
    vec![
        ExaminedResource {
            utilisation: Some(figure(
                "client.utilisation",
                0.58,
                "share",
                "58 %",
                used,
                "client's CPU clocks",
            )),
            ..resource("client", "client CPUs")
        },
        ExaminedResource {
            demand: Some(figure("server.cpu_per_op", cpu_us, "µs", cpu, about, "CPU clocks of processes")),
            utilisation: Some(busy(share, text)),
            saturation: Some(figure(
                "threads.runnable",
                0.4,
                "threads",
                "0.4 threads",
                waited,
                "samples of threads",
            )),
            ..resource("server_cpu", "server CPUs")
        },
        ExaminedResource {
            missing: Some("the server's statistics do not name it".to_owned()),
            ..resource("configured_limit", "configured limit")
        },
    ]
}

fn tried(
    id: &str,
    resource: &str,
    title: &str,
    per_s: f64,
    elasticity: f64,
    half: f64,
) -> PerturbationOutcome {
    let pair = |place: u32| {
        let plain_per_s = per_s * (1.0 + 0.01 * f64::from(place % 3) - 0.01);
        let left = 0.8_f64;
        let lost = elasticity + half * (f64::from(place % 4) - 1.5) / 2.0;
        let perturbed_per_s = plain_per_s * left.powf(lost);
        PerturbedPair {
            plain_per_s,
            perturbed_per_s,
            resource_left: left,
            plain_first: place.is_multiple_of(2),
        }
    };
    let (low, high) = (elasticity - half, elasticity + half);
    PerturbationOutcome {
        id: id.to_owned(),
        resource: resource.to_owned(),
        title: title.to_owned(),
        pairs: (0..8).map(pair).collect(),
        elasticity: Some(Elasticity { value: elasticity, low, high, pairs: 8, confidence: 0.983 }),
        sentence: format!("{title}: elasticity {elasticity:.2} (interval {low:.2} to {high:.2}, 8 pairs)"),
    }
}

fn suspect(word: SuspectWord, sentence: &str, evidence: Figure) -> Suspect {
    Suspect {
        rule: "server-cpu".to_owned(),
        resource: "server_cpu".to_owned(),
        title: "server CPUs".to_owned(),
        word,
        sentence: sentence.to_owned(),
        evidence: vec![evidence],
        tried: Some("burn_server_cpus".to_owned()),
        remedies: vec!["give the server more CPUs, or faster ones".to_owned()],
        source: "Lazowska et al., Quantitative System Performance (1984), chapter 5".to_owned(),
    }
}

/// The short form at the end of a comparison.
pub(super) fn of_trials(made_unix_ms: u64) -> Explanation {
    let short = |server: ExplainedServer, sentence: &str, suspects: Vec<Suspect>| ExplainedServer {
        sentence: sentence.to_owned(),
        suspects,
        perturbations: Vec::new(),
        statistics: Vec::new(),
        unknown: Vec::new(),
        ..server
    };
    let sentence = "server CPUs: the server's CPUs were busy 99 % of the time; not tried";
    let suspected = suspect(SuspectWord::Suspected, sentence, busy(0.99, "99 %"));
    let limited = "in a closed loop, nginx was probably limited by server CPUs: the server's CPUs were busy 99 % of the time";
    let servers = vec![
        short(nginx(), limited, vec![suspected]),
        short(apache(), "what limited apache is not in the record of its trials", Vec::new()),
    ];
    let explanation = Explanation::new("static-web", ExplanationBasis::Trials, made_unix_ms, servers, None);
    Explanation { can_be_studied: Some(true), ..explanation }
}

fn nginx() -> ExplainedServer {
    let statistic = |name: &str, value, unit: &str, per_operation, limit, about: &str| ServerStatistic {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        per_operation,
        limit,
        about: about.to_owned(),
    };
    let sentence = "server CPUs limits: the server's CPUs were busy 99 % of the time";
    ExplainedServer {
        variant: "nginx".to_owned(),
        sentence: "nginx is limited by server CPUs: the server's CPUs were busy 99 % of the time".to_owned(),
        closed_loop: closed_loop(131_000.0, 7.5),
        resources: resources(0.99, "99 %", "7.5 µs", 7.5),
        suspects: vec![suspect(SuspectWord::Limits, sentence, busy(0.99, "99 %"))],
        perturbations: vec![
            tried("burn_server_cpus", "server_cpu", "20 % less of the server's CPUs", 131_000.0, 0.94, 0.09),
            tried("fewer_connections", "loop", "20 % fewer connections", 131_000.0, 0.03, 0.12),
        ],
        statistics: vec![
            statistic("requests", 131_000.0, "requests/s", Some(1.0), None, "requests that it answered"),
            statistic("active", 64.0, "connections", None, Some(4096.0), "open connections"),
        ],
        unknown: vec![Unknown {
            what: "hardware counters".to_owned(),
            why: "this machine has none".to_owned(),
        }],
        profile: None,
        waits: None,
        slow_requests: None,
    }
}

fn apache() -> ExplainedServer {
    let sentence = "server CPUs is suspected: the server's CPUs were busy 87 % of the time";
    ExplainedServer {
        variant: "apache".to_owned(),
        sentence: "what limits apache is not certain; suspected: server CPUs, because the server's CPUs were busy 87 % of the time".to_owned(),
        closed_loop: closed_loop(81_000.0, 11.2),
        resources: resources(0.87, "87 %", "11.2 µs", 11.2),
        suspects: vec![suspect(SuspectWord::Suspected, sentence, busy(0.87, "87 %"))],
        perturbations: vec![tried(
            "burn_server_cpus",
            "server_cpu",
            "20 % less of the server's CPUs",
            81_000.0,
            0.41,
            0.55,
        )],
        statistics: Vec::new(),
        unknown: Vec::new(),
        profile: None,
        waits: None,
        slow_requests: None,
    }
}

/// The cost of each function, as the stacks have it; 1 % of the CPU time is in no sample.
fn profile(file: String, folded: &str, cpu_us: f64) -> CpuProfile {
    let mut costs: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut samples = 0;
    for (stack, count) in folded.lines().filter_map(|line| line.rsplit_once(' ')) {
        let count: u64 = count.parse().unwrap_or_default();
        samples += count;
        let frames: Vec<&str> = stack.split(';').skip(1).collect();
        for frame in frames.iter().copied().collect::<BTreeSet<_>>() {
            costs.entry(frame).or_default().1 += count;
        }
        if let Some(last) = frames.last() {
            costs.entry(*last).or_default().0 += count;
        }
    }
    let (waking_us, rest_us) = (cpu_us * 0.02, cpu_us * 0.01);
    let us = |count: u64| (cpu_us - waking_us - rest_us) * count as f64 / samples as f64;
    let mut frames: Vec<FrameCost> = costs
        .into_iter()
        .map(|(name, (own, total))| FrameCost {
            frame: name.trim_end_matches("_[k]").to_owned(),
            module: module(name).to_owned(),
            self_us: us(own),
            total_us: us(total),
        })
        .collect();
    frames.sort_by(|a, b| b.self_us.total_cmp(&a.self_us));
    CpuProfile {
        folded: file,
        samples,
        period_us: 10_101.0,
        cpu_us,
        lost: 0,
        level: "stacks of programs and of the kernel; no hardware counters".to_owned(),
        throughput_ratio: Some(0.985),
        frames,
        waking_us: Some(waking_us),
        kernel_us: None,
        rest_us,
    }
}

fn module(name: &str) -> &'static str {
    let own = [
        ("ngx_", "nginx"),
        ("main", "nginx"),
        ("apr_", "libapr-1.so.0"),
        ("ap_", "apache2"),
        ("worker_", "apache2"),
    ];
    match own.iter().find(|(begin, _)| name.starts_with(begin)) {
        _ if name.ends_with("_[k]") => "kernel",
        _ if name.starts_with(['<', '[']) => "",
        Some((_, module)) => module,
        None => "libc.so.6",
    }
}

fn difference(servers: &[ExplainedServer]) -> Option<CpuDifference> {
    let [a, b] = servers else { return None };
    let (of_a, of_b) = (a.profile.as_ref()?, b.profile.as_ref()?);
    let own = |profile: &CpuProfile| -> BTreeMap<(String, String), f64> {
        let frames = profile.frames.iter();
        frames.map(|cost| ((cost.frame.clone(), cost.module.clone()), cost.self_us)).collect()
    };
    let (own_a, own_b) = (own(of_a), own(of_b));
    let names: BTreeSet<_> = own_a.keys().chain(own_b.keys()).collect();
    let mut frames: Vec<FrameDifference> = names
        .into_iter()
        .filter_map(|key| {
            let [a_us, b_us] = [&own_a, &own_b].map(|own| own.get(key).copied().unwrap_or_default());
            let (frame, module) = key.clone();
            let half = 0.15 + 0.05 * (a_us + b_us);
            let (low_us, high_us) = (b_us - a_us - half, b_us - a_us + half);
            let is_significant = low_us > 0.0 || high_us < 0.0;
            (a_us + b_us > 0.0).then_some(FrameDifference {
                frame,
                module,
                a_us,
                b_us,
                low_us,
                high_us,
                is_significant,
            })
        })
        .collect();
    frames.sort_by(|x, y| (y.b_us - y.a_us).abs().total_cmp(&(x.b_us - x.a_us).abs()));
    let [a_cpu_us, b_cpu_us] = [of_a.cpu_us, of_b.cpu_us];
    let sentence = format!(
        "an operation costs {} {:.2} × the CPU time of {}: {b_cpu_us:.1} µs against {a_cpu_us:.1} µs",
        b.variant,
        b_cpu_us / a_cpu_us,
        a.variant
    );
    Some(CpuDifference { sentence, a: a.variant.clone(), b: b.variant.clone(), a_cpu_us, b_cpu_us, frames })
}
