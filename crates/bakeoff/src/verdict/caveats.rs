//! The caveats of a run: what can still mislead, from its facts and plan. Each has an entry in `docs/BIAS.md`, whose
//! heading is the caveat's id.

use archive::model::{Caveat, DelayedAck, Facts, Measure, Plan, Variant};
use workload::is_kernel_setting;

use crate::machines::shared_cpus::client_and_server_share_cpus;
use crate::machines::shared_kernel::{self, are_on_different_machines, is_on_this_machine};
use crate::machines::text::fewest_server_cpus;
use crate::plan::cpus::RunCpus;
use crate::plan::kind_assignment;
use crate::verdict::company::{caveat as company, stolen_time};
use crate::verdict::fairness::build_knobs;
use crate::verdict::input::FinishedTrials;

/// A caveat and the condition under which it applies.
struct CaveatRule {
    /// Heading of its entry in `docs/BIAS.md`.
    id: &'static str,
    text: &'static str,
    applies: fn(&Plan, &Facts, &FinishedTrials) -> bool,
}

/// The client's fact that names which side generates the load.
pub const MADE_BY: &str = "load_made_by";
/// Its value where the program under test does, which speaks the protocol of `docs/BYOD.md`.
pub const MADE_BY_SERVER: &str = "server";

/// Whether this program generates the load.
pub fn has_client(facts: &Facts) -> bool {
    facts.client.get(MADE_BY).is_none_or(|side| side != MADE_BY_SERVER)
}

/// Whether server and client have a CPU in common.
pub fn shares_cpus(plan: &Plan) -> bool {
    RunCpus::of(plan).is_ok_and(|cpus| cpus.are_shared())
}

fn has_servers_here(plan: &Plan, facts: &Facts) -> bool {
    plan.variants.iter().any(|variant| is_on_this_machine(plan, facts, variant))
}

/// With fewer server CPUs, contention between them hardly shows.
const MANY_CPUS: usize = 8;

/// Whether two variants are the same server in different builds.
fn has_builds_of_one_program(plan: &Plan, facts: &Facts) -> bool {
    let builds = build_knobs(&plan.variants, facts);
    plan.variants.iter().any(|a| plan.variants.iter().any(|b| are_other_builds(a, b, &builds)))
}

fn are_other_builds(a: &Variant, b: &Variant, builds: &[&str]) -> bool {
    a.server == b.server && builds.iter().any(|knob| a.knobs.get(*knob) != b.knobs.get(*knob))
}

const RULES: &[CaveatRule] = &[
    CaveatRule {
        id: "one-machine",
        text: "Client and server run on one machine. They share caches, memory bandwidth and the kernel: a server that makes the kernel work harder also slows its client.",
        applies: |plan, facts, _| has_client(facts) && has_servers_here(plan, facts),
    },
    CaveatRule {
        id: "own-load",
        text: "The program under test generates and times its own load. Its clock, its counts and its definition of an operation are not checked independently, and a stall of all its threads shows as fewer operations instead of long ones (coordinated omission).",
        applies: |_, facts, _| !has_client(facts),
    },
    CaveatRule {
        id: "loopback",
        text: "The load goes over the loopback interface: no network card, no interrupts, no propagation delay. The cost of a network is not in these numbers.",
        applies: |plan, facts, _| has_client(facts) && has_servers_here(plan, facts),
    },
    CaveatRule {
        id: "cpu-time",
        text: "CPU time is what the kernel charges to the server's processes. Over loopback, the sender's CPU also does the receiver's protocol work: a part of the server's network cost is charged to the client, and the other way round. What kernel threads do is charged to nobody.",
        applies: |plan, _, _| plan.measure.is_cpu_time(),
    },
    CaveatRule {
        id: "shared-cpus",
        text: "Server and client share CPUs: CPU time that the client uses is missing from the server.",
        applies: |plan, facts, _| has_client(facts) && client_and_server_share_cpus(plan, facts),
    },
    CaveatRule {
        id: "virtual-cpus",
        text: "The CPUs are virtual. The hypervisor may take CPU time (steal has a gate), and an idle CPU wakes up slowly, so that a server may run at one of two speeds from restart to restart.",
        applies: |_, facts, _| {
            facts
                .host
                .iter()
                .any(|(key, value)| key.contains("hypervisor") && !value.is_empty() && value != "none")
        },
    },
    CaveatRule {
        id: "these-machines",
        text: "The variants run on different machines, fewer than six of each kind. Machines of one type differ from each other, so the ratio is about these machines and not about their types.",
        applies: |plan, facts, _| {
            are_on_different_machines(plan, facts) && kind_assignment::sets_of_kinds(plan).is_none()
        },
    },
    CaveatRule {
        id: "network",
        text: "The load goes over the network to the servers' machines. Its round trips are in the response times, and what it carries at most limits the throughput: `showdown hosts` measures both.",
        applies: |plan, facts, _| {
            plan.variants.iter().any(|variant| !is_on_this_machine(plan, facts, variant))
        },
    },
    CaveatRule {
        id: "background",
        text: "A fixed background load ran beside the measured load. The server carries it out, but its operations are not counted in the results.",
        applies: |plan, _, _| plan.background.is_some(),
    },
    CaveatRule {
        id: "kernel",
        text: "The variants differ in a kernel setting, which applies to the whole machine. It affects the client too, and that effect is part of the ratio.",
        applies: |plan, facts, _| {
            let swept = plan.sweep.iter().map(|axis| axis.vary.to_string());
            let set = plan.variants.iter().flat_map(|variant| variant.knobs.keys().cloned());
            has_client(facts) && swept.chain(set).any(|name| is_kernel_setting(&name))
        },
    },
    CaveatRule {
        id: "rare-pauses",
        text: "A pause that comes less often than a server was loaded is in no figure. A server that collects garbage, writes checkpoints or compacts once a minute may carry less than a run of some minutes finds: measure for longer (--thorough, --for 2h).",
        applies: |plan, _, _| plan.measure.is_capacity(),
    },
    CaveatRule {
        id: "points",
        text: "Each point of a sweep has intervals of 95 % of its own, which its pairs share and the points do not: of 20 points at which two servers are equal, one seems to show a difference. Believe what neighbouring points show as well, or compare at one point.",
        applies: |plan, _, _| !plan.sweep.is_empty() && plan.variants.len() > 1,
    },
    CaveatRule {
        id: "resumed",
        text: "The run was interrupted and resumed. The trials of a block are from one side of the gap, so each ratio is of one time; the values of one variant are from several times.",
        applies: |_, facts, _| facts.resumed.iter().any(|resumption| resumption.kept_trials > 0),
    },
    CaveatRule {
        id: "one-minute",
        text: "A start is loaded for seconds: about 4 with the quick preset, 10 by default, 30 with --thorough. A warm-up that takes longer is only seen as a ratio that still moves; effects of minutes (compaction, log rotation, garbage collection, thermal limits) do not show.",
        applies: |plan, _, _| !matches!(plan.measure, Measure::BreakingPoint | Measure::OneByOne { .. }),
    },
    CaveatRule {
        id: "few-cpus",
        text: "The servers had fewer than 8 CPUs: locks, cache lines and accept queues that many CPUs contend for do not show.",
        applies: |plan, facts, _| fewest_server_cpus(plan, facts).is_some_and(|cpus| cpus < MANY_CPUS),
    },
    CaveatRule {
        id: "builds",
        text: "The variants are one program in two builds. Where a linker places functions can change the speed by some percent, and restarts do not change that: a small difference may be of the builds and not of the change between them.",
        applies: |plan, facts, _| has_builds_of_one_program(plan, facts),
    },
    CaveatRule {
        id: "long-log",
        text: "A server wrote a log of more than 2 MiB in a trial. Writing it is part of its work: compare servers that log alike. Only beginning and end of the log are kept.",
        applies: |_, _, trials| trials.all().any(|trial| trial.files.logs_left_out_bytes > 0),
    },
];

/// Heading of the entry in `docs/BIAS.md` about hosts that are one machine, whose names are in the caveat.
pub const ONE_KERNEL: &str = "one-kernel";

/// Heading of the entry in `docs/BIAS.md` about replies that wait for an acknowledgement.
pub const DELAYED_ACK: &str = "delayed-ack";

/// The caveat of servers whose small replies end one delayed acknowledgement after their first byte, with the variants that do so; none
/// where none does.
fn delayed_ack(plan: &Plan, trials: &FinishedTrials) -> Option<Caveat> {
    let mut found: Option<&DelayedAck> = None;
    let mut names = Vec::new();
    for variant in &plan.variants {
        let of_variant = trials.all().filter(|trial| trial.variant == variant.name);
        let seen = of_variant.flat_map(|trial| &trial.phases).find_map(|phase| phase.delayed_ack.as_ref());
        if let Some(seen) = seen {
            names.push(variant.name.as_str());
            found.get_or_insert(seen);
        }
    }
    let DelayedAck { operation, gap_us } = found?;
    let text = format!(
        "Replies of {} to {operation} end {:.0} ms after their first byte. A server that writes a reply in two parts waits for the \
         client's delayed acknowledgement (Nagle's algorithm): let it set TCP_NODELAY, or write the reply at once. Otherwise this wait \
         is what is compared.",
        names.join(" and "),
        *gap_us as f64 / 1e3
    );
    Some(Caveat { id: DELAYED_ACK.to_owned(), text })
}

/// The caveats that apply to a run.
pub fn caveats(plan: &Plan, facts: &Facts, trials: &FinishedTrials) -> Vec<Caveat> {
    let one_kernel = shared_kernel::sentences(plan, facts).into_iter();
    let one_kernel = one_kernel.map(|text| Caveat { id: ONE_KERNEL.to_owned(), text: format!("{text}.") });
    let stolen_time = stolen_time::caveat(plan, facts, trials);
    let applying = RULES.iter().filter(|rule| (rule.applies)(plan, facts, trials));
    let applying = applying.map(|rule| Caveat { id: rule.id.to_owned(), text: rule.text.to_owned() });
    let company = company::caveat(plan, trials);
    one_kernel.chain(delayed_ack(plan, trials)).chain(applying).chain(company).chain(stolen_time).collect()
}

#[cfg(test)]
mod tests {
    use archive::model::{KnobValue, SweepPoint, Trial, VariantFacts};

    use super::*;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::VariantPoint;
    use crate::run::first_block::tests::closed_loop;
    use crate::trial::blank;
    use workload::BINARY;

    #[test]
    fn every_caveat_has_a_heading_in_the_bias_page() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/BIAS.md");
        let page = std::fs::read_to_string(page).expect("the page of biases");
        let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let with_figures = [ONE_KERNEL, DELAYED_ACK, company::OTHERS, stolen_time::STOLEN_TIME];
        for id in RULES.iter().map(|rule| rule.id).chain(with_figures) {
            assert!(headings.contains(&id), "docs/BIAS.md has no heading \"## {id}\"");
        }
    }

    #[test]
    fn two_builds_of_one_server_are_named_and_two_servers_are_not() {
        let plan: Plan = crate::testing::plan::PLAN.parse().expect("a plan");
        let ids = |plan: &Plan| -> Vec<String> {
            caveats(plan, &Facts::default(), &FinishedTrials::default()).into_iter().map(|c| c.id).collect()
        };
        assert!(!ids(&plan).contains(&"builds".to_owned()) && ids(&plan).contains(&"few-cpus".to_owned()));
        let mut builds = plan.clone();
        builds.variants[1].server = "nginx".to_owned();
        builds.variants[1].knobs.insert(BINARY.to_owned(), KnobValue::Text("/opt/nginx".to_owned()));
        assert!(ids(&builds).contains(&"builds".to_owned()));
        let mut images = builds.clone();
        images.variants[1].knobs = [("image".to_owned(), KnobValue::Text("api:2".to_owned()))].into();
        assert!(!ids(&images).contains(&"builds".to_owned()));
        let listed = [("build_knobs".to_owned(), "image".to_owned())].into();
        let of_image = VariantFacts { name: "nginx".to_owned(), facts: listed, ..VariantFacts::default() };
        let facts = Facts { variants: vec![of_image], ..Facts::default() };
        let found = caveats(&images, &facts, &FinishedTrials::default());
        assert!(found.iter().any(|caveat| caveat.id == "builds"));
        let mut many = plan;
        many.cpus.server = "0-7".to_owned();
        assert!(!ids(&many).contains(&"few-cpus".to_owned()));
    }
    #[test]
    fn replies_that_wait_for_an_acknowledgement_are_named_with_their_server() {
        let plan: Plan = crate::testing::plan::PLAN.parse().expect("a plan");
        let text_of = |delayed_ack: Option<DelayedAck>| {
            let mut trials = FinishedTrials::default();
            for variant in 0..2 {
                let scheduled = ScheduledTrial {
                    number: 1,
                    block: 1,
                    position: variant as u32 + 1,
                    variant_point: variant,
                };
                let trial = blank(&plan, &scheduled, &VariantPoint { variant, point: SweepPoint::new() });
                let mut phase = closed_loop(86.0, 0.1);
                phase.delayed_ack = if variant == 1 { delayed_ack.clone() } else { None };
                trials.push(variant, Trial { phases: vec![phase], ..trial });
            }
            let caveats = caveats(&plan, &Facts::default(), &trials);
            caveats.into_iter().find(|caveat| caveat.id == DELAYED_ACK).map(|caveat| caveat.text)
        };
        let text =
            text_of(Some(DelayedAck { operation: "GET /".to_owned(), gap_us: 43_900 })).expect("a caveat");
        let begin =
            format!("Replies of {} to GET / end 44 ms after their first byte.", plan.variants[1].name);
        assert!(text.starts_with(&begin) && text.contains("TCP_NODELAY"), "{text}");
        assert_eq!(text_of(None), None);
    }
}
