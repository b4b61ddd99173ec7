// The facts of the variants side by side with their differences marked, of host and client, and the configuration files.

import { source } from "../charts/figure";
import { el, folding, table, type Child } from "../dom";
import { factRows } from "../derive/facts";
import { counted } from "../derive/format";
import type { FactMap, Report } from "../model";
import { nothing, type Section } from "./section";

export function factsSection(report: Report): Section {
  const { facts } = report;
  return {
    id: "facts",
    title: "Facts and configuration",
    short: "Facts",
    body: facts
      ? [...variants(report), el("h3", {}, "Host and client"), folded("Host", facts.host), ...Object.entries(facts.hosts ?? {}).map(([name, own]) => folded(`Host ${name}`, own)), folded("Client", facts.client), ...configs(report), source("facts.json and the configuration files of each trial")]
      : [nothing("This run recorded no facts."), ...configs(report)],
  };
}

/** Differences that the fairness check lists are not repeated. */
function variants({ facts, verdict }: Report): Child[] {
  if (!facts || facts.variants.length === 0) return [];
  const listed = new Set((verdict?.fairness ?? []).map(({ key }) => key.replace(/^knob[. ]/, "knob ")));
  const rows = factRows(facts.variants).filter((row) => !(row.differs && listed.has(row.key)));
  const head = ["Fact", ...facts.variants.map((variant) => variant.name)];
  const cells = (wanted: boolean): Child[][] =>
    rows.filter((row) => row.differs === wanted).map((row) => [row.key, ...row.values.map((value) => (value === null ? "–" : wanted ? marked(value) : folding(value)))]);
  const [differing, same] = [cells(true), cells(false)];
  const alone = facts.variants.length === 1;
  return [
    listed.size > 0 ? el("p", { class: "note" }, "What the ", el("a", { href: "#fairness" }, "fairness check"), " lists is not repeated here.") : null,
    differing.length > 0 ? table(listed.size > 0 ? "Other facts that differ between the variants" : "Facts that differ between the variants", head, differing) : null,
    same.length > 0 ? el("details", {}, el("summary", {}, alone ? counted(same.length, "fact") : `${counted(same.length, "fact")} that are the same for all variants`), table("Facts", head, same)) : null,
  ];
}

/** A value that differs. One that is too long to be marked is only folded. */
function marked(value: string): Child {
  const shown = folding(value);
  return typeof shown === "string" ? el("mark", {}, shown) : shown;
}

function folded(name: string, facts: FactMap): Child {
  const rows = Object.entries(facts);
  if (rows.length === 0) return null;
  return el("details", {}, el("summary", {}, `${name}: ${counted(rows.length, "fact")}`), table(name, ["Fact", "Value"], rows.map(([fact, value]) => [fact, folding(value)])));
}

function configs({ facts, configs: texts }: Report): Child[] {
  const names = new Map(facts?.variants.flatMap((variant) => variant.config.map(({ name, file }) => [file, `${variant.name}: ${name}`] as const)) ?? []);
  const files = Object.entries(texts);
  if (files.length === 0) return [];
  return [
    el("h3", {}, "Configuration files, as the servers read them"),
    ...files.map(([file, text]) => el("details", { class: "config" }, el("summary", {}, names.get(file) ?? file, " ", el("code", {}, file)), el("pre", { tabindex: 0, "aria-label": file }, text))),
  ];
}
