// What probably limited each server of a comparison, from the record of its trials: nothing was tried. `why.ts` has what a study
// has found.

import { source } from "../../charts/figure";
import { sentenceCase } from "../../derive/format";
import { breakable, el, type Child } from "../../dom";
import type { ExplainedServer } from "../../explained";
import type { Report } from "../../model";
import { terms } from "../../terms";
import type { Section } from "../section";
import { ended, resourceTable, suspectCard } from "./why";

/** Null where the run has no such record, or where its servers were studied. */
export function limitsSection({ explanation, run }: Report): Section | null {
  if (explanation?.basis !== "trials") return null;
  // Earlier versions counted the servers only.
  const canBeStudied = explanation.can_be_studied ?? explanation.servers.length <= 2;
  const command = canBeStudied ? [" ", el("code", {}, `showdown explain ${run.id}`), " tests it."] : [];
  return {
    id: "limits",
    title: "What probably limited them",
    short: "Limits",
    body: [
      el("p", { class: "basis" }, ...terms`From the [[closed loop]] at the beginning of each trial, in which no other server was loaded. It is a guess from counters.`, ...command),
      ...explanation.servers.flatMap(of),
      source("explanation.json"),
    ],
  };
}

function of({ variant, sentence, suspects, resources }: ExplainedServer): Child[] {
  return [
    el("h3", {}, ...breakable(variant)),
    el("p", {}, ...breakable(ended(sentenceCase(sentence)))),
    el(
      "details",
      {},
      el("summary", {}, `Suspects and resources of ${variant}`),
      suspects.length > 0 ? el("div", { class: "suspects" }, ...suspects.map(suspectCard)) : null,
      resourceTable(resources, variant),
    ),
  ];
}
