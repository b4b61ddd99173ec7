// How to measure it again: the commands, the seed, the versions, and what of the plan matters.

import { source } from "../charts/figure";
import { el, table } from "../dom";
import { commandLine } from "../derive/command";
import { counted, date } from "../derive/format";
import type { Report } from "../model";
import { nothing, type Section } from "./section";

export function rerunSection(report: Report): Section {
  const { plan, run, facts, verdict } = report;
  const section = { id: "rerun", title: "Run it again", short: "Rerun" };
  if (!plan) return { ...section, body: [nothing("The plan of this run cannot be read.")] };
  const rows = [
    ["Run", run.id],
    ["Began", facts ? date(facts.taken_unix_ms) : report.trials[0] ? date(report.trials[0].started_unix_ms) : "–"],
    ["Verdict", verdict ? date(verdict.reached_unix_ms) : "–"],
    ["Seed", String(plan.seed)],
    ["Blocks", `${plan.blocks} (${plan.length})${plan.spare_blocks ? `, and at most ${plan.spare_blocks} more for trials that do not count` : ""}`],
    ["Client", `${counted(plan.load.connections, "connection")}, ${counted(plan.load.threads, "thread")}, ${cpus(plan.cpus.client)}`],
    ["Server", cpus(plan.cpus.server)],
    ...(plan.background
      ? [["Background", `${plan.background.rate_per_s}/s over ${counted(plan.background.connections, "connection")}`]]
      : []),
    ["Warm-up", `${plan.warm_up.least} to ${plan.warm_up.most}`],
    ["Phases", `closed loop ${plan.phases.closed_loop}, search step ${plan.phases.search_step}, measure ${plan.phases.measure}, curve step ${plan.phases.curve_step}`],
    ["Measured by", `showdown ${plan.showdown}`],
    ["Report by", report.made_by],
    ["Tags", (plan.tags ?? run.tags).join(", ") || "–"],
  ];
  return {
    ...section,
    body: [
      el("p", {}, "The same plan, with the same seed:"),
      command(`showdown run ${commandLine([`${run.dir}/plan.toml`])}`),
      el("p", {}, "As it was typed, with a seed of its own:"),
      command(commandLine(plan.command)),
      table("The plan in short", ["What", "Value"], rows),
      source("plan.toml and facts.json"),
    ],
  };
}

function cpus(list: string): string {
  return /^\d+$/.test(list) ? `CPU ${list}` : `CPUs ${list}`;
}

function command(text: string): HTMLElement {
  return el("pre", { class: "command", tabindex: 0, "aria-label": "Command" }, text);
}
