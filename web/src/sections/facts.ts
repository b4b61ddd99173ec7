// The host, the client, and the variants side by side with their differences marked; configurations as they were.

import { source } from "../charts/figure";
import { el, folding, table, type Child } from "../dom";
import { factRows } from "../derive/facts";
import { counted } from "../derive/format";
import type { Flat, Report } from "../model";
import { nothing, type Section } from "./section";

export function factsSection(report: Report): Section {
  const { facts } = report;
  return {
    id: "facts",
    title: "Facts and configuration",
    short: "Facts",
    body: facts
      ? [...sides(report), el("h3", {}, "Host and client"), folded("Host", facts.host), folded("Client", facts.client), ...configs(report), source("facts.json and the configurations beside each trial")]
      : [nothing("The facts of this run were not recorded."), ...configs(report)],
  };
}

function sides({ facts }: Report): Child[] {
  if (!facts || facts.variants.length === 0) return [];
  const rows = factRows(facts.variants);
  const head = ["Fact", ...facts.variants.map((variant) => variant.name)];
  const cells = (wanted: boolean): Child[][] =>
    rows.filter((row) => row.differs === wanted).map((row) => [row.key, ...row.values.map((value) => (wanted ? marked(value ?? "–") : folding(value ?? "–")))]);
  const [differing, same] = [cells(true), cells(false)];
  const alone = facts.variants.length === 1;
  return [
    differing.length > 0 ? table("Variants side by side: what differs", head, differing) : null,
    same.length > 0 ? el("details", {}, el("summary", {}, alone ? counted(same.length, "fact") : `${counted(same.length, "fact")} the same on all sides`), table("Facts", head, same)) : null,
  ];
}

/** A value that differs; one that is too long to be marked letter by letter is only folded. */
function marked(value: string): Child {
  const shown = folding(value);
  return typeof shown === "string" ? el("mark", {}, shown) : shown;
}

function folded(name: string, facts: Flat): Child {
  const rows = Object.entries(facts);
  if (rows.length === 0) return null;
  return el("details", {}, el("summary", {}, `${name}: ${counted(rows.length, "fact")}`), table(name, ["Fact", "Value"], rows.map(([fact, value]) => [fact, folding(value)])));
}

function configs({ facts, configs: texts }: Report): Child[] {
  const names = new Map(facts?.variants.flatMap((variant) => variant.config.map(({ name, file }) => [file, `${variant.name}: ${name}`] as const)) ?? []);
  const files = Object.entries(texts);
  if (files.length === 0) return [];
  return [
    el("h3", {}, "Configurations, as the servers read them"),
    ...files.map(([file, text]) => el("details", { class: "config" }, el("summary", {}, names.get(file) ?? file, " ", el("code", {}, file)), el("pre", { tabindex: 0, "aria-label": file }, text))),
  ];
}
