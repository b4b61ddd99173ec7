// One trial over time. A list and two buttons choose the trial.

import { timelineChart } from "../../charts/timeline";
import { el } from "../../dom";
import { cellKey, pointText, type Cell } from "../../derive/cells";
import type { SeriesStyle } from "../../derive/palette";
import { hasTimeline } from "../../derive/timeline";
import type { Report, Trial } from "../../model";
import { terms } from "../../terms";
import type { Section } from "../section";

export function timelineSection(report: Report, cells: readonly Cell[], style: (cell: Cell) => SeriesStyle): Section | null {
  const trials = report.trials.filter(hasTimeline);
  const first = trials.find((trial) => trial.status === "valid") ?? trials[0];
  const section = { id: "time", title: terms`One [[trial]] over time`, short: "Timeline" };
  if (!first) return null;
  const chart = el("div", { class: "chosen", "aria-live": "polite" });
  const choice = el("select", { id: "trial-choice" }, ...trials.map((trial) => el("option", { value: trial.number }, name(trial))));
  const show = (trial: Trial): void => {
    const cell = cells.find((one) => one.key === cellKey(trial.variant, trial.point));
    choice.value = String(trial.number);
    chart.replaceChildren(
      ...(trial.status === "valid" ? [] : [el("p", { class: "notice" }, `This trial ${trial.status === "failed" ? "" : "is "}${trial.status}: ${(trial.reasons ?? []).join("; ") || "no reason recorded"}.`)]),
      timelineChart(report, trial, cell ? style(cell).colour : "var(--series-0)"),
    );
  };
  const step = (by: number): void => {
    const at = trials.findIndex((trial) => String(trial.number) === choice.value);
    const next = trials[(at + by + trials.length) % trials.length];
    if (next) show(next);
  };
  choice.addEventListener("change", () => {
    const trial = trials.find((one) => String(one.number) === choice.value);
    if (trial) show(trial);
  });
  const button = (text: string, label: string, by: number): HTMLElement => {
    const made = el("button", { type: "button", "aria-label": label }, text);
    made.addEventListener("click", () => step(by));
    return made;
  };
  // Marks of other charts link here: #trial-7.
  const follow = (): void => {
    const number = /^#trial-(\d+)$/.exec(location.hash)?.[1];
    const trial = trials.find((one) => String(one.number) === number);
    if (!trial) return;
    show(trial);
    document.getElementById(section.id)?.scrollIntoView();
    choice.focus({ preventScroll: true });
  };
  addEventListener("hashchange", follow);
  show(first);
  requestAnimationFrame(follow);
  return {
    ...section,
    body: [
      el("p", {}, ...terms`The shaded bands are the [[phases]] of the trial. The value of the trial comes from the blue one, the [[measured phase]].`),
      el("div", { class: "chooser" }, el("label", { for: "trial-choice" }, "Trial"), choice, button("←", "Previous trial", -1), button("→", "Next trial", 1)),
      chart,
    ],
  };
}

function name(trial: Trial): string {
  const at = pointText(trial.point);
  // A kind has many machines.
  const on = trial.host && trial.variant.includes("@kind:") ? ` on ${trial.host}` : "";
  return `${trial.number} – ${trial.variant}${on}${at ? `, ${at}` : ""}, block ${trial.block}${trial.status === "valid" ? "" : ` (${trial.status})`}`;
}
