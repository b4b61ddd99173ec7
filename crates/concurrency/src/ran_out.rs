//! What ran out, from what a step shows. Each has its evidence; the first is the most likely.

use archive::model::{ConcurrencyStep, RanOut, thousands};

use crate::lateness::{is_late, late_reads};

/// A server that uses this share of its CPUs has none left.
const BUSY: f64 = 0.95;

/// What a step is compared with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    /// CPUs of the server, where they are known.
    pub server_cpus: Option<usize>,
    /// Whether the client has the same.
    pub shares_cpus: bool,
    /// The number of TCP's pages above which it is under pressure.
    pub tcp_pressure_bytes: Option<u64>,
    /// The last lines of the server's logs.
    pub last_words: Vec<String>,
    /// Whether the run let the transfers go because memory was nearly used up.
    pub is_out_of_memory: bool,
    /// Why the server does not run any more.
    pub ended: Option<String>,
}

/// What ran out in a step that broke the server, or ended the run.
pub(crate) fn ran_out(step: &ConcurrencyStep, setting: &Setting) -> Vec<RanOut> {
    let mut found = Vec::new();
    let mut add = |what: &str, sentence: String, evidence: Vec<String>, remedy: &str| {
        let (what, remedy) = (what.to_owned(), remedy.to_owned());
        found.push(RanOut { what, sentence, evidence, remedy });
    };
    of_client(step, setting, &mut add);
    of_server(step, setting, &mut add);
    found
}

/// Takes what ran out: its name, a sentence, the evidence and the remedy.
type Add<'a> = dyn FnMut(&str, String, Vec<String>, &str) + 'a;

fn errors(step: &ConcurrencyStep, kind: &str) -> u64 {
    step.errors.get(kind).copied().unwrap_or_default()
}

fn shown(what: &str, count: u64) -> String {
    format!("{what}: {}", thousands(count as f64))
}

/// What ends everything, and what is the client's.
fn of_client(step: &ConcurrencyStep, setting: &Setting, add: &mut Add<'_>) {
    let errors = |kind: &str| errors(step, kind);
    if let Some(ended) = &setting.ended {
        add(
            "server",
            "the server ended".to_owned(),
            vec![ended.clone()],
            "read its log, and the kernel's for the memory killer",
        );
    }
    if setting.is_out_of_memory {
        let evidence =
            vec![shown("available bytes", step.available_bytes), shown("kernel bytes", step.kernel_bytes)];
        add(
            "memory",
            "the machine's memory was nearly used up".to_owned(),
            evidence,
            "add memory, or fewer transfers",
        );
    }
    if errors("no_descriptors") > 0 {
        let evidence = vec![shown("no descriptor", errors("no_descriptors"))];
        add(
            "descriptors",
            "the client's processes ran out of descriptors".to_owned(),
            evidence,
            "raise the hard limit of open files",
        );
    }
    if errors("no_ports") > 0 {
        let evidence = vec![shown("no local port", errors("no_ports"))];
        add(
            "ports",
            "the client ran out of local ports".to_owned(),
            evidence,
            "widen net.ipv4.ip_local_port_range",
        );
    }
    if is_late(step) {
        let cores = format!("client CPU: {:.2} cores", step.client_cpu_cores);
        let behind = step.client_behind_share.filter(|share| *share > 0.0);
        let behind =
            behind.map(|share| format!("it fell further behind by {:.1} % of the time", share * 100.0));
        let evidence = [late_reads(step), cores].into_iter().chain(behind).collect();
        add(
            "client",
            "the client was too slow for the pace".to_owned(),
            evidence,
            "stop other programs, lower --client-rate, or give the client more CPUs",
        );
    }
}

/// What is the kernel's, and the server's.
fn of_server(step: &ConcurrencyStep, setting: &Setting, add: &mut Add<'_>) {
    let errors = |kind: &str| errors(step, kind);
    let counter = |name: &str| step.counters.get(name).copied().unwrap_or_default();
    let over = setting.tcp_pressure_bytes.is_some_and(|pressure| step.tcp_bytes >= pressure);
    if counter("memory_pressures") > 0 || over {
        let evidence = vec![
            shown("times under pressure", counter("memory_pressures")),
            shown("bytes charged by TCP", step.tcp_bytes),
        ];
        add(
            "tcp_mem",
            "TCP was short of memory".to_owned(),
            evidence,
            "raise net.ipv4.tcp_mem, or lower net.ipv4.tcp_notsent_lowat",
        );
    }
    let of_client = if setting.shares_cpus { step.client_cpu_cores } else { 0.0 };
    if let Some((used, cpus)) = step.server_cpu_cores.zip(setting.server_cpus)
        && used + of_client >= BUSY * cpus as f64
        && used >= of_client
    {
        let mut evidence = vec![format!("server CPU: {used:.2} of {cpus} cores")];
        if setting.shares_cpus {
            evidence.push(format!("client CPU, on the same: {of_client:.2} cores"));
        }
        add(
            "cpu",
            "the server used all of its CPUs".to_owned(),
            evidence,
            "give it more CPUs, or a cheaper configuration",
        );
    }
    // A server that serves no more does not accept, and its backlog overflows: the cause comes first.
    let refused: u64 =
        ["refused", "reset", "closed", "unexpected_reply", "timeout"].iter().map(|kind| errors(kind)).sum();
    if refused > 0 && step.in_progress < u64::from(step.transfers) {
        let sentence = format!("the server served {} and no more", thousands(step.in_progress as f64));
        let kinds = step.errors.iter().map(|(kind, count)| shown(&kind.replace('_', " "), *count));
        let evidence = kinds.chain(setting.last_words.iter().cloned()).collect();
        add("workers", sentence, evidence, "raise the server's limit of connections, workers or threads");
    }
    let backlog: u64 =
        ["listen_overflows", "syn_drops", "syn_cookies"].iter().map(|name| counter(name)).sum();
    // Each client may have met it once; a few are the noise of the rise.
    if backlog * 100 > u64::from(step.transfers) {
        let evidence = ["listen_overflows", "listen_drops", "syn_drops", "syn_cookies"]
            .iter()
            .filter(|name| counter(name) > 0)
            .map(|name| shown(&name.replace('_', " "), counter(name)));
        let sentence = "connections were not accepted in time".to_owned();
        add(
            "backlog",
            sentence,
            evidence.collect(),
            "raise the server's backlog and net.core.somaxconn, or lower --begin-rate",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(step: &ConcurrencyStep, setting: &Setting) -> Vec<String> {
        ran_out(step, setting).into_iter().map(|found| found.what).collect()
    }

    #[test]
    fn a_healthy_step_ran_out_of_nothing() {
        let step = ConcurrencyStep { transfers: 10, in_progress: 10, ..ConcurrencyStep::default() };
        assert!(names(&step, &Setting { server_cpus: Some(1), ..Setting::default() }).is_empty());
    }

    #[test]
    fn each_cause_is_named_by_its_evidence() {
        let base = ConcurrencyStep { transfers: 100, in_progress: 60, ..ConcurrencyStep::default() };
        let with_error =
            |kind: &str| ConcurrencyStep { errors: [(kind.to_owned(), 9)].into(), ..base.clone() };
        let with_counter =
            |name: &str| ConcurrencyStep { counters: [(name.to_owned(), 9)].into(), ..base.clone() };
        let setting = Setting { server_cpus: Some(2), ..Setting::default() };
        assert_eq!(names(&with_error("no_descriptors"), &setting), ["descriptors"]);
        assert_eq!(names(&with_error("no_ports"), &setting), ["ports"]);
        assert_eq!(names(&with_error("timeout"), &setting), ["workers"]);
        assert_eq!(names(&with_counter("memory_pressures"), &setting), ["tcp_mem"]);
        assert_eq!(names(&with_counter("listen_overflows"), &setting), ["backlog"]);
        let busy = ConcurrencyStep { server_cpu_cores: Some(1.97), ..base.clone() };
        assert_eq!(names(&busy, &setting), ["cpu"]);
        let late = ConcurrencyStep {
            client_late_p99_us: 2_000_000,
            client_late_limit_us: 1_000_000,
            ..base.clone()
        };
        assert_eq!(names(&late, &setting), ["client"]);
        assert_eq!(names(&base, &Setting { is_out_of_memory: true, ..setting }), ["memory"]);
    }
}
