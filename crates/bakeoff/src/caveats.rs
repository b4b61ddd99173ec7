//! What can still mislead in a run, from its facts and plan: the entries of `docs/BIAS.md` that apply.

use archive::model::{Caveat, Facts, Plan};
use host::CpuSet;
use workload::is_kernel_setting;

/// One rule: its anchor in `docs/BIAS.md`, when it applies, and what to say.
struct Rule {
    id: &'static str,
    text: &'static str,
    applies: fn(&Plan, &Facts) -> bool,
}

/// The fact of the client that says who makes the load.
pub const MADE_BY: &str = "load_made_by";
/// Its value where that is the program under test, which speaks the protocol of `docs/BYOD.md`.
pub const MADE_BY_SERVER: &str = "server";

fn has_client(facts: &Facts) -> bool {
    facts.client.get(MADE_BY).is_none_or(|who| who != MADE_BY_SERVER)
}

const RULES: &[Rule] = &[
    Rule {
        id: "one-machine",
        text: "Client and server run on one machine: they share caches, memory bandwidth and the kernel, and a server that makes the kernel work harder slows its client too.",
        applies: |_, facts| has_client(facts),
    },
    Rule {
        id: "own-load",
        text: "The program under test makes its load and times it: its clock, its counts and its idea of an operation are believed, and a stall of all its threads shows as few operations, not as long ones.",
        applies: |_, facts| !has_client(facts),
    },
    Rule {
        id: "loopback",
        text: "The load goes over loopback: no network card, no interrupts, no propagation delay; what a network costs is not in these numbers.",
        applies: |_, facts| has_client(facts),
    },
    Rule {
        id: "shared-cpus",
        text: "Server and client share CPUs, so the client's work is taken from the server's.",
        applies: |plan, facts| {
            let parse = |text: &str| text.parse::<CpuSet>().ok();
            match (parse(&plan.cpus.server), parse(&plan.cpus.client)) {
                (Some(server), Some(client)) => has_client(facts) && !server.intersection(&client).is_empty(),
                _ => false,
            }
        },
    },
    Rule {
        id: "virtual-cpus",
        text: "The CPUs are virtual: the hypervisor may take time away (steal is watched) and waking an idle CPU is slow, which can put a server in one of two modes from restart to restart.",
        applies: |_, facts| {
            facts
                .host
                .iter()
                .any(|(key, value)| key.contains("hypervisor") && !value.is_empty() && value != "none")
        },
    },
    Rule {
        id: "background",
        text: "A fixed load ran background the measured one: its operations are in the server's work and in none of the values.",
        applies: |plan, _| plan.background.is_some(),
    },
    Rule {
        id: "kernel",
        text: "A setting of the kernel is compared: it holds for the whole machine, so the client has it, too, and what it does to the client is in the ratio.",
        applies: |plan, facts| {
            let swept = plan.sweep.iter().map(|axis| axis.vary.to_string());
            let set = plan.variants.iter().flat_map(|variant| variant.knobs.keys().cloned());
            has_client(facts) && swept.chain(set).any(|name| is_kernel_setting(&name))
        },
    },
    Rule {
        id: "one-minute",
        text: "The quick preset measures for seconds: effects that need minutes (compaction, log rotation, garbage collection, thermal limits) do not show.",
        applies: |plan, _| plan.length == archive::model::Length::Quick,
    },
];

/// The caveats of a run.
pub fn caveats(plan: &Plan, facts: &Facts) -> Vec<Caveat> {
    let applying = RULES.iter().filter(|rule| (rule.applies)(plan, facts));
    applying.map(|rule| Caveat { id: rule.id.to_owned(), text: rule.text.to_owned() }).collect()
}
