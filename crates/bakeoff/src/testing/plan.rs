//! The plan of most tests: a comparison of two servers of web pages, and a host for it.

use archive::model::PlannedHost;

/// A host of a plan, behind an ssh destination of its own name.
pub fn planned_host(name: &str, address: &str) -> PlannedHost {
    PlannedHost {
        name: name.to_owned(),
        ssh: Some(name.to_owned()),
        address: address.to_owned(),
        kind: None,
        cpus: None,
        become_root: None,
    }
}

/// A plan of four blocks of two variants, and two spare blocks.
pub const PLAN: &str = r#"
format = 2
showdown = "0.1.0"
command = ["showdown", "compare", "nginx", "apache"]
kind = "compare"
workload = "static-web"
length = "quick"
seed = 1
blocks = 4
spare_blocks = 2
measure = { metric = "max_throughput" }
load = { connections = 64, threads = 1 }
cpus = { server = "0", client = "1" }
warm_up = { min = "1s", max = "10s" }
phases = { closed_loop = "1s", search_step = "1s", measure = "1s", curve_step = "1s" }
variants = [{ name = "nginx", server = "nginx", knobs = {} }, { name = "apache", server = "apache", knobs = {} }]
"#;
