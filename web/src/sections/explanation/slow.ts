// What makes requests slow: the parts of slow operations beside those of median ones, one of each step by step, and what the threads of
// the server did meanwhile.

import { waterfallChart } from "../../charts/waterfall";
import { capital, counted, number, percent } from "../../derive/format";
import { breakable, el, table, type Child } from "../../dom";
import type { SlowRequests, TracedRequest } from "../../explained";
import { terms } from "../../terms";
import { functionName, throughputWhileWatching, us } from "./profile";

/** Functions of the table. */
const SHOWN = 12;

export function slowParts(slow: SlowRequests, variant: string, id: string): Child[] {
  const { sentence, operations, traced, slow_us: limit, level, throughput_ratio: ratio, stopped_after_s: stopped, parts, functions = [], requests } = slow;
  const notes = [
    `0.1 % of ${counted(operations, "operation")} take longer than ${us(limit)}; the steps of ${number(traced)} are known.`,
    `Seen: ${level}.`,
    throughputWhileWatching(ratio),
    stopped === null || stopped === undefined ? "" : `The first ${number(stopped)} s were watched: then watching ended by itself, because it used too much CPU time or memory.`,
  ];
  return [
    el("h3", {}, "Slow requests"),
    el("p", {}, ...breakable(`${capital(sentence)}.`)),
    el("p", { class: "note" }, notes.filter((note) => note !== "").join(" ")),
    table(
      terms`What the [[response time]] of ${variant} consists of, on average`,
      ["Part", "Slow", "Median", "More"],
      parts.map(({ part, slow_us: of_slow, median_us: of_median }) => [part, us(of_slow), us(of_median), us(of_slow - of_median)]),
    ),
    ...requests.map((request) => waterfallChart(request, variant, id)),
    ...requests.slice(0, 1).map((request) => threadTable(request, variant)),
    functions.length > 0
      ? table(
          `What threads of ${variant} ran while they had slow operations`,
          ["Function", "Share of the samples"],
          functions.slice(0, SHOWN).map((found) => [el("span", {}, ...breakable(functionName(found))), percent(found.share)]),
        )
      : null,
  ];
}

function threadTable({ meanwhile, is_slow: isSlow }: TracedRequest, variant: string): Child {
  return table(
    `What the threads of ${variant} did meanwhile: the mean number in each state during the ${isSlow ? "slow" : "median"} operation`,
    ["Threads", "On a CPU", "Waiting for a CPU", "Blocked", "Waiting for work"],
    meanwhile.map(({ threads, on_cpu: onCpu, runnable, blocked, idle }) => [threads, number(onCpu), number(runnable), number(blocked), number(idle)]),
  );
}
