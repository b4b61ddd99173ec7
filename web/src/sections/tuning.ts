// What a search for tunings has found: the answer, the figures before and after, and each tuning with what became of it.

import { source } from "../charts/figure";
import { counted, MISSING, number, quantity, sentenceCase, unbroken } from "../derive/format";
import { breakable, el, table, type Child } from "../dom";
import type { Report } from "../model";
import type { BeforeAfter, TriedTuning, TuningRatio, TuningRecord } from "../tuned";
import { terms } from "../terms";
import type { Section } from "./section";

/** Null where the run is not that of a search. */
export function tuningSection({ tuning }: Report): Section | null {
  if (!tuning) return null;
  const body: Child[] = [
    el("p", {}, el("strong", {}, ...breakable(`${sentenceCase(tuning.sentence)}.`))),
    el("p", { class: "basis" }, ...basis(tuning)),
    tuning.before_after.length > 0 ? table("Before and after, means of the confirmation", ["Figure", "Before", "After", "Ratio (95 % CI)"], tuning.before_after.map(before)) : null,
    tried("Tunings that were tried", tuning.tried),
    tried("Weaker durability or security: tried because it was asked for, never kept", tuning.weaker),
    ...tuning.take_home.flatMap(({ file, lines }) => [el("h3", {}, `Take home: ${file}`), el("pre", {}, lines.join("\n"))]),
    tuning.not_tried.length > 0
      ? el("details", {}, el("summary", {}, `Not tried (${tuning.not_tried.length})`), table("Tunings that were not tried", ["Tuning", "Why"], tuning.not_tried.map(({ tuning: name, why }) => [code(name), words(why)])))
      : null,
    el("details", {}, el("summary", {}, "The search, step by step"), el("ol", {}, ...tuning.steps.map(({ name, learnt }) => el("li", {}, ...breakable(`${sentenceCase(name)}: ${learnt}.`))))),
    source("tuning.json"),
  ];
  return { id: "tuning", title: tuning.headline ? "What made it faster" : "What was tried", short: "Tuning", body };
}

function basis({ equal_sentence, headline, ended }: TuningRecord): Child[] {
  const noise = equal_sentence ? `${equal_sentence} ` : "";
  const end = ended === null ? "" : ` The search ended early: ${ended}.`;
  const rests = headline ? "The headline rests on fresh blocks alone." : "Nothing is kept.";
  return [noise, ...terms`${rests} See [[confirmation]].`, end];
}

function before({ what, unit, before, after, ratio: change }: BeforeAfter): Child[] {
  return [sentenceCase(what), quantity(before, unit), quantity(after, unit), change ? ratio(change) : MISSING];
}

function tried(caption: string, all: TriedTuning[]): Child {
  if (all.length === 0) return null;
  const rank = { kept: 0, dropped: 1, refused: 2 };
  const rows = [...all].sort((a, b) => rank[a.outcome] - rank[b.outcome]).map(row);
  return table(caption, ["Tuning", "Sets", "Outcome", "Screened", "Own gain (95 % CI)", "Mechanism", "Why"], rows);
}

function row({ tuning, settings, outcome, screened, blocks, own, own_confirmed, mechanism, why }: TriedTuning): Child[] {
  const set = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const selected = outcome === "kept" && !own_confirmed ? " in the trials that selected it" : "";
  return [code(tuning), code(set.join(" ")), outcome, seen(screened, blocks), own ? words(`${ratio(own)}${selected}`) : MISSING, moved(mechanism), words(why)];
}

function seen(screened: number | null, blocks: number): Child {
  return screened === null ? MISSING : words(`${screened.toFixed(3)} × in ${counted(blocks, "block")}`);
}

function moved(mechanism: TriedTuning["mechanism"]): Child {
  if (!mechanism || mechanism.ratio === null) return MISSING;
  return words(`${mechanism.figure} ${number(mechanism.ratio)} ×${mechanism.moved ? "" : ", not seen to move"}`);
}

function ratio({ ratio: value, low, high }: TuningRatio): string {
  return `${value.toFixed(3)} × (${low.toFixed(3)}–${high.toFixed(3)})`;
}

function code(text: string): Child {
  return el("code", {}, ...breakable(text));
}

function words(text: string): Child {
  return el("span", {}, ...breakable(unbroken(text)));
}
