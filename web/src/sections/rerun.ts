// How to run the same measurement again: commands, seed, versions, and a summary of the plan.

import { source } from "../charts/figure";
import { el, table, type Child } from "../dom";
import { commandLine } from "../derive/command";
import { bytes, counted, date, list, number, percent, ratio, time } from "../derive/format";
import type { Plan, Report, Run } from "../model";
import { terms } from "../terms";
import { nothing, type Section } from "./section";

/** Where the load is made: on hosts, or on these CPUs of this machine. */
function clientPlace({ clients = [], cpus: { client } }: Plan): string {
  return clients.length > 0 ? `on ${list(clients)}` : cpus(client);
}

/** After how many blocks the run may end. */
function looks({ looks = [] }: Plan): string {
  return looks.length > 0 ? `, or fewer if ${looks.join(", ")} settle it` : "";
}

export function rerunSection(report: Report): Section {
  const { plan, run, facts, verdict } = report;
  const section = { id: "rerun", title: "Run it again", short: "Rerun" };
  if (!plan) return { ...section, body: [nothing("The plan of this run cannot be read: restore plan.toml.")] };
  if (plan.kind === "explain") return { ...section, body: explained(report, plan) };
  if (plan.kind === "concurrency") return { ...section, body: [...again(run, plan), table("Summary of the plan", ["Item", "Value"], ofTransfers(report, plan)), source("plan.toml and facts.json")] };
  const rows: Child[][] = [
    ["Run", run.id],
    ["Started", facts ? date(facts.taken_unix_ms) : report.trials[0] ? date(report.trials[0].started_unix_ms) : "–"],
    ["Verdict", verdict ? date(verdict.reached_unix_ms) : "–"],
    [terms`[[Seed]]`, String(plan.seed)],
    [terms`[[Blocks]]`, `${plan.blocks} (${plan.length} preset)${looks(plan)}${plan.spare_blocks ? `, and at most ${counted(plan.spare_blocks, "spare block")} to replace invalid trials` : ""}`],
    [terms`[[Client]]`, `${counted(plan.load.connections, "connection")}, ${counted(plan.load.threads, "thread")}, ${clientPlace(plan)}`],
    [terms`[[Server]]`, serverPlace(plan)],
    ...(plan.background
      ? [[terms`[[Background load]]`, `${plan.background.rate_per_s}/s over ${counted(plan.background.connections, "connection")}`]]
      : []),
    [terms`[[Warm-up]]`, `${plan.warm_up.min} to ${plan.warm_up.max}`],
    [terms`[[In turns]]`, turns(report)],
    [terms`[[Phases]]`, `closed loop ${plan.phases.closed_loop}, search step ${plan.phases.search_step}, measured phase ${plan.phases.measure}, curve step ${plan.phases.curve_step}`],
    ["Measured with", `showdown ${plan.showdown}`],
    ["Report made with", report.made_by],
    [terms`[[Tags]]`, (plan.tags ?? run.tags).join(", ") || "–"],
  ];
  return {
    ...section,
    body: [
      ...again(run, plan),
      table("Summary of the plan", ["Item", "Value"], rows),
      source("plan.toml and facts.json"),
    ],
  };
}

/** The two commands that measure the same again; of an imported run the one that asks before it runs anything. */
function again({ dir, imported }: Run, plan: Plan): Child[] {
  const same = [el("p", {}, "Run the same plan, with the same seed:"), command(`showdown run ${commandLine([`${dir}/plan.toml`])}`)];
  if (imported) return same;
  return [
    ...same,
    el("p", {}, "Or repeat the original command, with a new seed:"),
    command(commandLine(plan.command)),
  ];
}

/** A run of transfers has steps, and neither blocks nor phases. */
function ofTransfers({ run, facts, made_by }: Report, plan: Plan): Child[][] {
  const steps = plan.concurrency;
  const hold = steps && steps.hold !== steps.hold_last ? `${steps.hold}, the last one ${steps.hold_last}` : steps?.hold;
  return [
    ["Run", run.id],
    ["Started", facts ? date(facts.taken_unix_ms) : "–"],
    [terms`[[Seed]]`, String(plan.seed)],
    ...(steps
      ? [
          [terms`[[Transfers]]`, `${number(steps.from)} to ${number(steps.to)}, each step ${ratio(steps.step)} the one before, ${counted(steps.finer, "finer step")} near the break`],
          ["Pace of a client", `${bytes(steps.pace_bytes_per_s)}/s`],
          ["Begin", `at most ${number(steps.begin_per_s)}/s`],
          ["Each step is held for", `${hold}, and until it is steady`],
          ["Broken", `availability under ${percent(steps.until_availability)}`],
          ["Comfortable", `availability of ${Number((steps.comfort_availability * 100).toPrecision(4))} % or more, and p99 to first byte up to ${steps.comfort_first_byte}`],
        ]
      : []),
    [terms`[[Client]]`, cpus(plan.cpus.client)],
    ...(serverPlace(plan) === "" ? [] : [[terms`[[Server]]`, serverPlace(plan)]]),
    ["Measured with", `showdown ${plan.showdown}`],
    ["Report made with", made_by],
    [terms`[[Tags]]`, (plan.tags ?? run.tags).join(", ") || "–"],
  ];
}

/** A run that explains has no blocks and no phases. */
function explained({ run, facts, explanation, made_by }: Report, plan: Plan): Child[] {
  const rows: Child[][] = [
    ["Run", run.id],
    ["Started", facts ? date(facts.taken_unix_ms) : "–"],
    ["Explained", explanation ? date(explanation.made_unix_ms) : "–"],
    [terms`[[Client]]`, `${counted(plan.load.connections, "connection")}, ${counted(plan.load.threads, "thread")}, ${cpus(plan.cpus.client)}`],
    [terms`[[Server]]`, serverPlace(plan)],
    ["Measured with", `showdown ${plan.showdown}`],
    ["Report made with", made_by],
    [terms`[[Tags]]`, (plan.tags ?? run.tags).join(", ") || "–"],
  ];
  return [...again(run, plan), table("Summary of the plan", ["Item", "Value"], rows), source("plan.toml and facts.json")];
}

function turns({ plan, trials }: Report): string {
  if (!plan?.turns) return "no: one server was up at a time";
  const shared = trials.map((trial) => trial.turns).filter((each) => each != null);
  const alone = shared.find((each) => "one_at_a_time" in each);
  if (alone && "one_at_a_time" in alone) return `no: ${alone.one_at_a_time.why}`;
  const slices = shared.flatMap((each) => ("in_turns" in each ? [each.in_turns.slice_s] : []));
  const [shortest, longest] = [Math.min(...slices), Math.max(...slices)].map((seconds) => time(seconds * 1e6));
  const length = slices.length === 0 ? "" : `, in slices of ${shortest === longest ? shortest : `${shortest} to ${longest}`}`;
  return `${plan.turns.load} under load for each server in a block${length}`;
}

/** The CPUs of the servers on this machine, and the other machines with servers. */
function serverPlace(plan: Plan): string {
  const others = (plan.hosts ?? []).map((host) => `${host.name}${host.kind ? ` (${host.kind})` : ""}${host.cpus ? `, ${cpus(host.cpus)}` : ""}`);
  return [...(plan.cpus.server === "" ? [] : [cpus(plan.cpus.server)]), ...others].join("; ");
}

function cpus(numbers: string): string {
  return /^\d+$/.test(numbers) ? `CPU ${numbers}` : `CPUs ${numbers}`;
}

function command(text: string): HTMLElement {
  return el("pre", { class: "command", tabindex: 0, "aria-label": "Command" }, text);
}
