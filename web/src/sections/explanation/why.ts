// Why a server is no faster: what may limit it with the evidence, what was tried, its resources, where its CPU time goes, where it
// waits, what makes requests slow, and what is unknown. The order is that of the terminal.

import { source } from "../../charts/figure";
import { elasticityChart, pairsChart } from "../../charts/tried";
import { capital, MISSING, number, quantity, sentenceCase, time, unbroken } from "../../derive/format";
import { breakable, el, table, type Child } from "../../dom";
import type { EvidenceFigure, ExaminedResource, ExplainedServer, ServerStatistic, Suspect, SuspectWord } from "../../explained";
import type { Report } from "../../model";
import { terms } from "../../terms";
import { differenceSection } from "./difference";
import { profileParts } from "./profile";
import { nothing, type Section } from "../section";
import { slowParts } from "./slow";
import { waitParts } from "./waits";

const WORDS: Record<SuspectWord, string> = { limits: "bad", shared: "bad", suspected: "unsure", cleared: "good" };

/** A section for each server, and one for their difference; none where no server was studied. */
export function whySections(report: Report): Section[] {
  const { explanation } = report;
  if (explanation?.basis !== "study") return [];
  const { servers, difference } = explanation;
  const alone = servers.length === 1;
  const sections = servers.map((server, at): Section => {
    const id = at === 0 ? "why" : `why-${at + 1}`;
    return {
      id,
      title: alone ? "Why" : ["Why: ", ...breakable(server.variant)],
      short: alone ? "Why" : `Why ${server.variant}`,
      body: body(server, report, id),
    };
  });
  return difference ? [...sections, differenceSection(difference, report.compared_functions, servers, report.profiles ?? {})] : sections;
}

function body(server: ExplainedServer, { profiles = {} }: Report, id: string): Child[] {
  const { held, suspects, perturbations = [], statistics = [], unknown = [], profile, waits, slow_requests: slow } = server;
  return [
    el("p", { class: "lead" }, ...breakable(ended(sentenceCase(server.sentence)))),
    el("p", { class: "basis" }, ...terms`Held with ${number(held.connections)} connections in a [[closed loop]]: ${number(held.throughput_per_s)}/s, mean [[response time]] ${time(held.mean_response_us)}.`),
    el("h3", {}, ...terms`[[Suspects]]`),
    suspects.length > 0 ? el("div", { class: "suspects" }, ...suspects.map(suspectCard)) : nothing("No figure names a resource that limits it."),
    perturbations.length > 0 ? el("h3", {}, ...terms`What was tried: [[perturbations|perturbation]]`) : null,
    perturbations.length > 0 ? el("ul", { class: "sentences" }, ...perturbations.map(({ sentence }) => el("li", {}, ...breakable(ended(capital(sentence)))))) : null,
    elasticityChart(perturbations, server.variant, id),
    pairsChart(perturbations, server.variant, id),
    el("h3", {}, "Resources"),
    resourceTable(server.resources, server.variant),
    statistics.length > 0 ? statisticTable(statistics, server.variant) : null,
    source("explanation.json"),
    ...(profile ? profileParts(profile, profiles[profile.folded], server.variant, id) : []),
    ...(waits ? waitParts(waits, profiles[waits.folded], server.variant, id) : []),
    ...(slow ? slowParts(slow, server.variant, id) : []),
    el("h3", {}, "What could not be told"),
    unknown.length > 0
      ? el("ul", { class: "unknown" }, ...unknown.map(({ what, why }) => el("li", {}, el("strong", {}, what), `: ${why}`)))
      : nothing("Everything that was asked for could be told."),
  ];
}

/** A sentence with its full stop. */
export function ended(sentence: string): string {
  return `${unbroken(sentence.replace(/\.$/, ""))}.`;
}

/** A suspect with its evidence, and what could be done. */
export function suspectCard({ title, word, sentence, evidence, remedies = [], rule, source: from }: Suspect): HTMLElement {
  return el(
    "article",
    { class: "suspect" },
    el("h4", {}, el("span", { class: `chip ${WORDS[word] ?? ""}` }, word), " ", title),
    el("p", {}, ...breakable(ended(capital(sentence)))),
    evidence.length > 0
      ? el("ul", { class: "evidence" }, ...evidence.map(({ text, about, source: place }) => el("li", {}, el("strong", {}, text), ` ${about} `, el("small", {}, `from ${place}`))))
      : null,
    remedies.length > 0 ? el("p", { class: "remedies-head" }, "What could be done:") : null,
    remedies.length > 0 ? el("ul", { class: "remedies" }, ...remedies.map((remedy) => el("li", {}, remedy))) : null,
    el("p", { class: "note" }, `Rule ${rule}: ${from}`),
  );
}

/** The resources of a server, with the source of each figure. */
export function resourceTable(resources: readonly ExaminedResource[], variant: string): Child {
  if (resources.length === 0) return nothing("No resource was examined.");
  return table(
    terms`[[Service demand]], [[utilisation]] and [[saturation]] of each resource, with the source of each figure`,
    ["Resource", "Demand", "In use", "Waiting", "Why a figure is missing"],
    resources.map(({ title, demand, utilisation, saturation, missing }) => [title, cell(demand), cell(utilisation), cell(saturation), missing ?? ""]),
    `Resources of ${variant}`,
  );
}

/** A figure above its meaning and its source. */
function cell(figure: EvidenceFigure | null | undefined): Child {
  if (!figure) return MISSING;
  return el("span", { title: `${figure.about}; from ${figure.source}` }, figure.text, el("br"), el("small", {}, figure.source));
}

function statisticTable(statistics: readonly ServerStatistic[], variant: string): Child {
  return table(
    `Statistics of ${variant} itself, over the plain slices`,
    ["Statistic", "Value", "An operation", "Limit", "Meaning"],
    statistics.map(({ name, value, unit, per_operation, limit, about }) => [name, quantity(value, unit), number(per_operation), number(limit), about]),
  );
}
