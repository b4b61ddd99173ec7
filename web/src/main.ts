// Assembles the page: reads the data, gives each variant its style, and appends the sections.

import { hasAnswer } from "./derive/answer";
import { cells, type Cell } from "./derive/cells";
import { groupOf, mainAxis } from "./derive/groups";
import { seriesStyles, type SeriesStyle } from "./derive/palette";
import { readData } from "./data";
import { el } from "./dom";
import type { Report } from "./model";
import { answerSection, isExplained } from "./sections/explanation/answer";
import { comparisonsSection } from "./sections/comparison/comparisons";
import { isOfTransfers, transfersAnswer, transfersSections } from "./sections/concurrency";
import { costSection } from "./sections/costs/cost";
import { factsSection } from "./sections/facts";
import { glossarySection } from "./sections/glossary";
import { fairnessSection } from "./sections/comparison/fairness";
import { loadSection, percentileSection } from "./sections/load/latency";
import { limitsSection } from "./sections/explanation/limits";
import { powerSection } from "./sections/costs/power";
import { rerunSection } from "./sections/rerun";
import { resourceSection } from "./sections/load/resources";
import { render, type Section } from "./sections/section";
import { sweepSection } from "./sections/comparison/sweep";
import { timelineSection } from "./sections/load/timeline";
import { tuningSection } from "./sections/tuning";
import { usersSection } from "./sections/load/users";
import { trialsSection } from "./sections/trials/trials";
import { validitySection } from "./sections/validity";
import { verdictSection } from "./sections/comparison/verdict";
import { whySections } from "./sections/explanation/why";
import { unfoldForPrint } from "./print";
import { onceEach } from "./terms";
import { themeButton } from "./theme";

function sections(report: Report): Section[] {
  // Such a run has no trials and no verdict, and so none of their sections.
  if (isExplained(report)) return [...whySections(report), factsSection(report), rerunSection(report)];
  if (isOfTransfers(report)) return [...transfersSections(report), factsSection(report), rerunSection(report)];
  const groups = cells(report);
  const axis = mainAxis(report);
  const styleOf = seriesStyles([...new Set(groups.map((cell) => groupOf(cell, axis)))]);
  const style = (cell: Cell): SeriesStyle => styleOf(groupOf(cell, axis));
  const sweep = sweepSection(report, axis, styleOf);
  // Without an answer, why is what a reader needs first.
  const validity = validitySection(report);
  const isAnswered = hasAnswer(report);
  const all: (Section | null)[] = [
    isAnswered ? null : validity,
    report.plan?.kind === "sweep" ? sweep : null,
    tuningSection(report),
    comparisonsSection(report),
    limitsSection(report),
    powerSection(report),
    costSection(report),
    trialsSection(report, groups, (cell) => groupOf(cell, axis), styleOf),
    loadSection(report, groups, style),
    percentileSection(report, groups, style),
    usersSection(groups),
    timelineSection(report, groups, style),
    resourceSection(groups, style),
    isAnswered ? validity : null,
    fairnessSection(report),
    report.plan?.kind === "sweep" ? null : sweep,
    factsSection(report),
    rerunSection(report),
  ];
  return all.filter((section): section is Section => section !== null);
}

function answer(report: Report): HTMLElement {
  if (isExplained(report)) return answerSection(report);
  return isOfTransfers(report) ? transfersAnswer(report) : verdictSection(report);
}

function show(report: Report, page: HTMLElement): void {
  document.title = `${report.tuning?.sentence ?? report.verdict?.sentence ?? report.explanation?.sentence ?? report.concurrency?.sentence ?? report.run.id} – Showdown`;
  const parts = sections(report);
  const main = el("main", { id: "main", tabindex: -1 }, onceEach(answer(report)), ...parts.map(render));
  const glossary = glossarySection(main);
  main.append(render(glossary));
  const menu = el(
    "header",
    { class: "top" },
    el("span", { class: "brand" }, "Showdown"),
    el("nav", { "aria-label": "Sections" }, el("ul", {}, ...[...parts, glossary].map(({ id, short }) => el("li", {}, el("a", { href: `#${id}` }, short))))),
    themeButton(),
  );
  page.append(
    el("a", { class: "skip", href: "#main" }, "Skip to the report"),
    menu,
    main,
    el("footer", {}, el("p", {}, `${report.run.id} · ${report.made_by}`)),
  );
  keepClearOf(menu);
}

/** The menu stays on top and takes as many lines as it needs: what a link leads to begins below all of them. */
function keepClearOf(menu: HTMLElement): void {
  new ResizeObserver(() => document.documentElement.style.setProperty("--menu-height", `${menu.offsetHeight}px`)).observe(menu);
}

unfoldForPrint();
const page = document.getElementById("page");
if (page) {
  const report = readData();
  if (report) show(report, page);
  else page.append(el("main", {}, el("h1", {}, "This page contains no run"), el("p", {}, "Make a report with: showdown report RUN")));
}
