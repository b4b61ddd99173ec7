// The live part of an entry's page: where the run is, what each side does, how precise it is so far, and its log.

import { el } from "../dom";
import { Charts } from "./charts";
import { duration, empty, left, percent, take, type RunEvent, type RunView } from "./run_view";
import { follow } from "./stream";

/** The page draws so often at most. */
const DRAW_MS = 500;

const count = (value: number): string => Math.round(value).toLocaleString("en");
const ms = (us: number | null): string => (us === null ? "–" : `${(us / 1000).toPrecision(3)} ms`);

export function run(section: HTMLElement): void {
  const find = (selector: string): HTMLElement => section.querySelector<HTMLElement>(selector) ?? section;
  const [facts, sides, log, connection] = [find("dl.facts"), find(".sides"), find("pre.log"), find(".connection")];
  const charts = new Charts(find(".charts"));
  const aim = section.dataset.aim ? Number(section.dataset.aim) : null;
  let view = empty();
  let isEnded = false;
  let waiting = false;

  const draw = (): void => {
    waiting = false;
    facts.replaceChildren(...rows(view, aim, isEnded).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
    sides.replaceChildren(table(view));
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
    const lines = view.log.join("\n");
    if (log.textContent !== lines) log.textContent = lines;
    if (isAtEnd) log.scrollTop = log.scrollHeight;
    charts.draw(view);
  };
  const later = (): void => {
    if (!waiting) setTimeout(draw, DRAW_MS);
    waiting = true;
  };
  const shown = section.dataset.state;
  follow(section.dataset.entry ?? "", {
    reset: () => {
      view = empty();
      later();
    },
    line: (data) => {
      take(view, JSON.parse(data) as RunEvent);
      later();
    },
    state: (data) => {
      const state = (JSON.parse(data) as { state: string }).state;
      const isOver = ["done", "failed", "cancelled", "lost"].includes(state);
      // What the page offers depends on the state: it is made anew, with what can be done now.
      if (state !== shown && (isOver || state === "waiting")) location.reload();
      const label = document.querySelector("#state .state");
      if (label && label.textContent !== state) {
        label.textContent = state;
        label.className = `state ${state}`;
      }
    },
    connected: (now) => {
      const note = now ? "" : "The server does not answer: what is shown may be old.";
      if (connection.textContent !== note) connection.textContent = note;
    },
    end: () => {
      isEnded = true;
      later();
    },
  });
}

/** Where the run is, as names and values. */
function rows(view: RunView, aim: number | null, isEnded: boolean): [string, string][] {
  const found: [string, string][] = [];
  if (!isEnded && view.doing !== "") found.push(["Now", view.block > 0 ? `block ${view.block}: ${view.doing}` : view.doing]);
  if (view.planned > 0) found.push(["Trials", `${view.done} of ${view.planned}`]);
  const seconds = left(view);
  if (!isEnded && seconds !== null) found.push(["Left", `about ${duration(seconds)}`]);
  if (view.halfWidth !== null) {
    const within = view.within ?? aim;
    const goal = within === null ? "" : `; the aim is ${percent(within)}`;
    const expected = view.expectedHalfWidth === null || isEnded ? "" : `; ${percent(view.expectedHalfWidth)} is to be expected`;
    found.push(["Precision so far", `${percent(view.halfWidth)}${goal}${expected}`]);
  }
  if (!isEnded) {
    for (const [host, { busy, cpus }] of view.hosts) found.push([`CPUs of ${host}`, `${Math.round(busy * 100)} % of ${cpus} busy`]);
  }
  if (view.company !== null) found.push(["Beside it", view.company]);
  if (view.sentence !== null) found.push(["Answer", view.sentence]);
  return found;
}

/** The newest figures of each side: they change from second to second, and are no result. */
function table(view: RunView): HTMLElement | string {
  if (view.sides.size === 0) return "";
  const head = ["Side", "Throughput now", "p50 now", "p99 now", "Failed operations", "Valid trials", "Trials that do not count"];
  const body = [...view.sides].map(([name, side]) => {
    const tick = side.ticks.at(-1);
    const cells = [tick ? `${count(tick.throughput_per_s)}/s` : "–", ms(tick?.p50_us ?? null), ms(tick?.p99_us ?? null), count(side.failed), `${side.valid}`, `${side.invalid}`];
    return el("tr", {}, el("th", { scope: "row" }, name === "" ? "all" : name), ...cells.map((cell) => el("td", {}, cell)));
  });
  return el("table", {}, el("thead", {}, el("tr", {}, ...head.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, ...body));
}
