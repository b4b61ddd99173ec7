// Watts and operations a joule beside the load, where the run has a meter: a row for each variant and meter, and the watts of the levels
// of load. Watts of different boundaries are in charts of their own.

import { wattsChart } from "../../charts/watts";
import { breakable, el, table, type Child } from "../../dom";
import { MISSING, capital, number, responseTime } from "../../derive/format";
import type { MeteredVariant } from "../../costs";
import type { Report } from "../../model";
import { seriesStyles } from "../../derive/palette";
import { figure, sentenceList, workOf } from "./costfigure";
import type { Section } from "../section";

export function powerSection({ power, verdict, plan }: Report): Section | null {
  if (!power) return null;
  // In the order of the plan, so that a variant of a comparison has its colour, also where another one has no watts.
  const planned = (plan?.variants ?? []).map(({ name }) => name);
  const style = seriesStyles([...new Set([...planned, ...power.variants.map(({ variant }) => variant)])]);
  const work = workOf(verdict?.unit);
  const hasOverall = power.variants.some(({ overall_operations_per_joule: overall }) => overall !== null);
  const meters = [...new Set(power.variants.map(({ meter }) => meter.boundary))];
  const leveled = power.variants.filter(({ levels }) => levels.length > 2);
  const body: Child[] = [
    sentenceList(power.comparisons.map(({ sentence }) => sentence)),
    power.variants.length === 0
      ? null
      : table(
          "Watts and operations a joule, with the 95 % confidence interval of the valid trials",
          ["Variant", "Meter", "Watts include", "Watts at load", "Watts idle", `${capital(work)} a joule`, ...(hasOverall ? ["Over all levels"] : []), "Trials"],
          power.variants.map((variant) => [
            el("span", {}, ...breakable(variant.variant)),
            meter(variant),
            variant.meter.boundary,
            figure(variant.watts_at_load),
            figure(variant.watts_idle),
            figure(variant.operations_per_joule),
            ...(hasOverall ? [figure(variant.overall_operations_per_joule)] : []),
            number(variant.trials),
          ]),
        ),
    ...meters.flatMap((boundary) => {
      const of = leveled.filter((variant) => variant.meter.boundary === boundary);
      return of.length === 0 ? [] : [wattsChart(boundary, of, work, style)];
    }),
    leveled.length === 0 ? null : levels(leveled, work),
    sentenceList([...power.lost, ...power.notes]),
  ];
  return { id: "power", title: "Power", short: "Power", body };
}

function meter({ meter: { name, kind, is_indicative: indicative, uncertainty_percent: percent } }: MeteredVariant): Child {
  const error = indicative ? "indicative" : `±${number(percent)} %`;
  return [name, el("br"), el("small", {}, `${kind}, ${error}`)];
}

/** Operations a joule of each level: the page has it as a table, the chart has the watts. */
function levels(variants: readonly MeteredVariant[], work: string): Child {
  const rows = variants.flatMap((variant) =>
    variant.levels.map((level) => [
      el("span", {}, ...breakable(variant.variant)),
      `${variant.meter.name} (${variant.meter.boundary})`,
      level.share === 0 ? "active idle" : `${Math.round(level.share * 100)} %`,
      `${number(level.work_per_s)}/s`,
      responseTime(level.p99_us, level.gave_up_from_us),
      figure(level.watts),
      level.share === 0 ? MISSING : figure(level.operations_per_joule),
    ]),
  );
  return el("details", {}, el("summary", {}, "Each level of load"), table("Levels of load", ["Variant", "Meter", "Load", work, "p99", "Watts", `${work} a joule`], rows));
}
