//! Makes up the facts of a host and of servers, and their differences.

use crate::{
    layout,
    model::{
        ConfigFile, Difference, DifferenceClass, FORMAT, Facts, FlatFacts, KnobValue, Variant, VariantFacts,
    },
};

/// The facts of each server: name, version, build, allocator, configuration.
pub(super) const SERVERS: [(&str, &str, &str, &str, &str); 3] = [
    ("nginx", "nginx/1.22.1", "gcc 12.2.0, -O2 --with-threads", "jemalloc 5.3.0", NGINX),
    ("apache", "Apache/2.4.62 (Debian)", "gcc 12.2.0, -O2, APR 1.7.2", "glibc malloc", APACHE),
    ("memcached", "memcached 1.6.18", "gcc 12.2.0, -O2", "glibc malloc", "-p {port} -t {threads} -m 1024\n"),
];

const NGINX: &str = "\
worker_processes 1;
error_log stderr warn;

events {
    worker_connections 4096;
}

http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;

    server {
        listen 127.0.0.1:8080 reuseport;
        root data/www;
    }
}
";

const APACHE: &str = "\
ServerName localhost
Listen 127.0.0.1:8081
LoadModule mpm_event_module modules/mod_mpm_event.so
DocumentRoot data/www

StartServers 1
ThreadsPerChild 64
MaxRequestWorkers 256
KeepAlive On
MaxKeepAliveRequests 0
EnableSendfile On
";

fn flat(pairs: &[(&str, &str)]) -> FlatFacts {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The name and the text of a server's configuration file.
pub(super) fn config(server: &str) -> (&'static str, &'static str) {
    let text = SERVERS.iter().find(|known| known.0 == server).map_or("", |known| known.4);
    match server {
        "nginx" => ("nginx.conf", text),
        "apache" => ("httpd.conf", text),
        _ => ("command-line", text),
    }
}

/// The facts of a run with these variants. The configuration of a variant is that of its `first_trial`.
pub(super) fn of(variants: &[Variant], taken_unix_ms: u64, first_trial: impl Fn(&str) -> u32) -> Facts {
    let variants = variants.iter().map(|variant| {
        let known = SERVERS.iter().find(|known| known.0 == variant.server).unwrap_or(&SERVERS[0]);
        let folder = layout::trial_folder(first_trial(&variant.name), &variant.name);
        let name = config(&variant.server).0;
        let mut knobs = variant.knobs.clone();
        knobs.entry("workers".to_owned()).or_insert(KnobValue::Integer(1));
        VariantFacts {
            name: variant.name.clone(),
            version: known.1.to_owned(),
            build: known.2.to_owned(),
            allocator: known.3.to_owned(),
            libc: "glibc 2.36".to_owned(),
            knobs,
            config: vec![ConfigFile {
                name: name.to_owned(),
                file: format!("{folder}/{}/{name}", layout::CONFIG),
            }],
            facts: flat(&[("package", known.0), ("limits.nofile", "20000 / 20000"), ("made_up", "yes")]),
        }
    });
    Facts {
        hosts: std::collections::BTreeMap::default(),
        network: Vec::new(),
        shared_network: Vec::new(),
        format: FORMAT,
        taken_unix_ms,
        host: flat(&[
            ("made_up", "yes"),
            ("machine.distribution", "Debian GNU/Linux 12 (bookworm)"),
            ("machine.virtualization", "kvm"),
            ("kernel.release", "6.18.0"),
            ("kernel.thp", "madvise"),
            ("cpu.model", "Example CPU 2.5 GHz"),
            ("cpu.online", "2"),
            ("cpu.caches", "L1d 48K L2 2M L3 105M"),
            ("cpu.mitigations.spectre_v2", "Mitigation: Enhanced / Automatic IBRS"),
            ("memory.total_bytes", "25274793984"),
            ("swap.total_bytes", "0"),
            ("sysctls.net.core.somaxconn", "4096"),
        ]),
        resumed: Vec::new(),
        workload: FlatFacts::new(),
        client: flat(&[("showdown", env!("CARGO_PKG_VERSION")), ("cpus", "1"), ("threads", "1")]),
        variants: variants.collect(),
    }
}

/// The differences between nginx and Apache httpd, one of each class.
pub(super) fn differences() -> Vec<Difference> {
    let difference = |key: &str, a: &str, b: &str, class, remark: &str| Difference {
        key: key.to_owned(),
        values: flat(&[("nginx", a), ("apache", b)]),
        class,
        remark: remark.to_owned(),
    };
    vec![
        difference(
            "allocator",
            "jemalloc 5.3.0",
            "glibc malloc",
            DifferenceClass::ApplesToOranges,
            "A different allocator can cause a difference by itself: use the same one for both.",
        ),
        difference(
            "limits.memlock",
            "unlimited",
            "8388608",
            DifferenceClass::Unexplained,
            "The plan does not ask for this difference.",
        ),
        difference(
            "build",
            "gcc 12.2.0, -O2 --with-threads",
            "gcc 12.2.0, -O2, APR 1.7.2",
            DifferenceClass::Expected,
            "Different programs are built differently.",
        ),
        difference(
            "server",
            "nginx/1.22.1",
            "Apache/2.4.62 (Debian)",
            DifferenceClass::TheVariantItself,
            "This is what is compared.",
        ),
    ]
}
