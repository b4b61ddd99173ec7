// One request step by step: a bar for each step, from left to right in time.

import * as Plot from "@observablehq/plot";
import { counted, number } from "../derive/format";
import { breakable } from "../dom";
import type { RequestStep, TracedRequest } from "../explained";
import { terms } from "../terms";
import { us } from "../sections/explanation/profile";
import { figure } from "./figure";
import { draw, niceTicks, ticksFor } from "./plot";

const ROW = 40;
/** Shorter steps, as a share of the response time, are in the table only. */
const SHORTEST = 0.002;
/** Lengths above this are shown in milliseconds, µs. */
const MILLISECONDS = 10_000;

interface Row {
  place: number;
  from: number;
  until: number;
  colour: string;
  label: string;
  text: string;
}

/** What a step waits for, and where. */
export function stepInWords({ part, functions = [], is_likely = false }: RequestStep): string {
  return functions.length > 0 ? `${part} in ${functions.join(" ← ")}${is_likely ? ", as similar waits" : ""}` : part;
}

/** The thread works, waits for a CPU, or waits for something else. */
function colourOf(part: string): string {
  if (part === "on the CPU") return "var(--accent)";
  return part.startsWith("blocked") || part.startsWith("behind") || part === "waiting for a CPU" ? "var(--bad)" : "var(--muted)";
}

/** The steps of a request. */
export function waterfallChart(request: TracedRequest, variant: string, id: string): HTMLElement {
  const { steps, response_us: response, is_slow: isSlow, operation } = request;
  const [unit, scale] = response > MILLISECONDS ? ["ms", 1000] : ["µs", 1];
  const rows: Row[] = steps
    .filter((step) => step.us >= SHORTEST * response)
    .map((step, place) => {
      const words = stepInWords(step);
      const ended = step.woken_by ? `, ended by ${step.woken_by}` : "";
      return { place, from: step.from_us / scale, until: (step.from_us + step.us) / scale, colour: colourOf(step.part), label: `${us(step.us)}  ${words}`, text: `${words}: ${us(step.us)} from ${us(step.from_us)} on${ended}` };
    });
  const end = response / scale;
  const kind = isSlow ? "slow" : "median";
  const outline = { stroke: "var(--surface)", strokeWidth: 4 };
  return figure({
    title: [`A ${kind} operation of `, ...breakable(variant), ` (${operation}) step by step`],
    summary: `${us(response)}: ${rows.map(({ text }) => text).join(". ")}`,
    note: terms`From its intended start to its reply, as the client's kernel received it: its [[response time]]. ${counted(steps.length - rows.length, "shorter step")} only in the table.`,
    source: "explanation.json",
    id: `waterfall-${kind}-${id}`,
    table: {
      head: ["Step", "Begins after, µs", "Takes, µs", "Thread", "Ended by"],
      rows: steps.map((step) => [stepInWords(step), number(step.from_us), number(step.us), step.thread ?? "", step.woken_by ?? ""]),
    },
    draw: (width) =>
      draw(width, {
        height: rows.length * ROW + 52,
        marginLeft: 12,
        marginTop: 12,
        marginBottom: 40,
        x: { domain: [0, end], axis: null },
        y: { domain: [rows.length, 0], axis: null },
        marks: [
          Plot.axisX(niceTicks(0, end, ticksFor(width)), { label: `Time after the intended start, ${unit}`, tickSize: 4 }),
          Plot.gridX(niceTicks(0, end, ticksFor(width)), { strokeOpacity: 0.12 }),
          Plot.rect(rows, { x1: "from", x2: "until", y1: (row: Row) => row.place + 0.5, y2: (row: Row) => row.place + 0.92, fill: "colour", rx: 2, title: "text" }),
          Plot.text(rows, { frameAnchor: "left", y: (row: Row) => row.place + 0.26, text: "label", textAnchor: "start", lineWidth: Math.max(10, (width - 24) / 12), textOverflow: "ellipsis", fill: "var(--ink)", ...outline }),
        ],
      }),
  });
}
