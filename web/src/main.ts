// Puts the page together: reads the data, gives every variant its look, and lays the sections under one another.

import { cells, type Cell } from "./derive/cells";
import { groupOf, mainAxis } from "./derive/groups";
import { looks, type Look } from "./derive/palette";
import { readData } from "./data";
import { el } from "./dom";
import type { Report } from "./model";
import { comparisonsSection } from "./sections/comparisons";
import { factsSection } from "./sections/facts";
import { fairnessSection } from "./sections/fairness";
import { loadSection, percentileSection } from "./sections/latency";
import { rerunSection } from "./sections/rerun";
import { resourceSection } from "./sections/resources";
import { render, type Section } from "./sections/section";
import { sweepSection } from "./sections/sweep";
import { timelineSection } from "./sections/timeline";
import { trialsSection } from "./sections/trials";
import { validitySection } from "./sections/validity";
import { verdictSection } from "./sections/verdict";
import { unfoldOnPaper } from "./print";
import { themeButton } from "./theme";

function sections(report: Report): Section[] {
  const groups = cells(report);
  const axis = mainAxis(report);
  const lookOf = looks([...new Set(groups.map((cell) => groupOf(cell, axis)))]);
  const look = (cell: Cell): Look => lookOf(groupOf(cell, axis));
  const sweep = sweepSection(report, axis, lookOf);
  const all: (Section | null)[] = [
    report.plan?.kind === "sweep" ? sweep : null,
    comparisonsSection(report),
    trialsSection(report, groups, (cell) => groupOf(cell, axis), lookOf),
    loadSection(report, groups, look),
    percentileSection(report, groups, look),
    timelineSection(report, groups, look),
    resourceSection(groups, look),
    validitySection(report),
    fairnessSection(report),
    report.plan?.kind === "sweep" ? null : sweep,
    factsSection(report),
    rerunSection(report),
  ];
  return all.filter((section): section is Section => section !== null);
}

function show(report: Report, page: HTMLElement): void {
  document.title = `${report.verdict?.sentence ?? report.run.id} – Showdown`;
  const parts = sections(report);
  page.append(
    el("a", { class: "skip", href: "#main" }, "Skip to the report"),
    el(
      "header",
      { class: "top" },
      el("span", { class: "brand" }, "Showdown"),
      el("nav", { "aria-label": "Sections" }, el("ul", {}, ...parts.map(({ id, short }) => el("li", {}, el("a", { href: `#${id}` }, short))))),
      themeButton(),
    ),
    el("main", { id: "main", tabindex: -1 }, verdictSection(report), ...parts.map(render)),
    el("footer", {}, el("p", {}, `${report.run.id} · ${report.made_by}`)),
  );
}

unfoldOnPaper();
const page = document.getElementById("page");
if (page) {
  const report = readData();
  if (report) show(report, page);
  else page.append(el("main", {}, el("h1", {}, "This page holds no run"), el("p", {}, "Make a report with: showdown report RUN")));
}
