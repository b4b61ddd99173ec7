// Formats numbers for readers: thousands separators, about four significant digits, and a unit. Inputs have the archive's
// units (microseconds, bytes, shares of 1). What is measured is left to the callers.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
/** What a cell without a figure shows. */
export const MISSING = "–";
/** The least count of events, such as waits an operation, that is written with its digits. */
const LEAST_COUNT = 0.001;
/** Units in which a value is written as its size asks for. */
const SCALED: ReadonlySet<string> = new Set(["µs", "B", "bytes", "B/s", "share"]);
/** Keeps a number and its unit on one line. */
const JOIN = "\u00a0";

/** A number with about four significant digits: `131,043`, `52.31`, `0.0123`. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  const size = Math.abs(value);
  if (size >= 1000 || Number.isInteger(value)) return whole.format(value);
  if (size >= 100) return value.toFixed(1);
  if (size >= 1) return value.toFixed(2);
  return value === 0 ? "0" : String(Number(value.toPrecision(3)));
}

/** A value in the unit of a measure: `131,043/s`, `4.82 ms`. */
export function quantity(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  if (unit === "µs") return time(value);
  if (unit === "B" || unit === "bytes") return bytes(value);
  // As networks and disks are sold.
  if (unit === "B/s") return scaled(value, 1_000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);
  if (unit === "share") return percent(value);
  // A plain number, and how often something happens.
  if (unit === "1" || unit === "1/s") return count(value) + unit.slice(1);
  return unit.startsWith("/") || unit === "" ? number(value) + unit : number(value) + JOIN + unit;
}

/** How often something happens. Nobody reads the digits of what hardly ever does. */
function count(value: number): string {
  return value > 0 && value < LEAST_COUNT ? `below ${LEAST_COUNT}` : number(value);
}

/** Microseconds in the unit that fits: `820 µs`, `4.82 ms`, `1.20 s`. */
export function time(us: number | null | undefined): string {
  if (us === null || us === undefined || !Number.isFinite(us)) return MISSING;
  if (us < 1_000) return `${trim(us)}${JOIN}µs`;
  if (us < 1_000_000) return `${trim(us / 1_000)}${JOIN}ms`;
  return `${trim(us / 1_000_000)}${JOIN}s`;
}

/** A response time: from `gaveUpFrom` on, at which the client gave operations up, it is a lower bound: `≥ 1.20 s`. */
export function responseTime(us: number | null | undefined, gaveUpFrom: number | null | undefined): string {
  return typeof us === "number" && typeof gaveUpFrom === "number" && us >= gaveUpFrom ? `≥${JOIN}${time(us)}` : time(us);
}

/** Microseconds for the round values of an axis: `5 ms`. */
export function timeTick(us: number): string {
  if (us < 1_000) return `${Number(us.toPrecision(6))}${JOIN}µs`;
  if (us < 1_000_000) return `${Number((us / 1_000).toPrecision(6))}${JOIN}ms`;
  return `${Number((us / 1_000_000).toPrecision(6))}${JOIN}s`;
}

/** A number beside an axis: `120k`, `1.5M`. */
export function tick(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(6))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(6))}k`;
  return size >= 1000 ? whole.format(value) : String(Number(value.toPrecision(6)));
}

/** Bytes in powers of 1,024. */
export function bytes(value: number): string {
  return scaled(value, 1_024, ["B", "KiB", "MiB", "GiB", "TiB"]);
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let rest = value;
  let power = 0;
  while (Math.abs(rest) >= base && power < units.length - 1) {
    rest /= base;
    power += 1;
  }
  return `${power === 0 ? whole.format(rest) : trim(rest)}${JOIN}${units[power]}`;
}

/** A share of 1 as a percentage: `97 %`, `0.31 %`. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return MISSING;
  const value = share * 100;
  const size = Math.abs(value);
  const text = size >= 10 || value === 0 ? value.toFixed(0) : size >= 1 ? value.toFixed(1) : String(Number(value.toPrecision(2)));
  return `${text}${JOIN}%`;
}

/** A share with so many digits that it does not read as one of the limits beside it: `49.96 %` beside 50 %. */
export function shareBeside(share: number, limits: readonly number[]): string {
  const others = limits.filter((limit) => limit !== share);
  const short = percent(share);
  if (others.every((limit) => percent(limit) !== short)) return short;
  const reads = (digits: number, of: number): number => Number((of * 100).toFixed(digits));
  const digits = [1, 2, 3, 4, 5, 6].find((count) => others.every((limit) => reads(count, limit) !== reads(count, share)));
  return digits === undefined ? short : `${reads(digits, share)}${JOIN}%`;
}

/** A confidence level: `95 %`, and `99.9 %` where fewer digits would read as certainty. */
export function level(share: number): string {
  const digits = [0, 1, 2, 3].find((count) => Number((share * 100).toFixed(count)) < 100) ?? 4;
  return `${(share * 100).toFixed(digits)}${JOIN}%`;
}

/** An interval beside its value: `52,000–52,600` for `/s`, and `980 µs–1.02 ms` where the unit follows from the size. */
export function bounds(low: number, high: number, unit: string): string {
  const write = SCALED.has(unit) ? (value: number) => quantity(value, unit) : number;
  return `${write(low)}–${write(high)}`;
}

/** Seconds from the start of a trial: `12.4 s`. */
export function seconds(value: number): string {
  return `${Number(value.toFixed(1))}${JOIN}s`;
}

/** A ratio: `1.62 ×`, and `1.012 ×` near 1, as the verdict writes it. */
export function ratio(value: number): string {
  const isNearOne = value >= 0.9 && value < 1.1;
  return `${value >= 100 ? whole.format(value) : value.toFixed(value >= 10 ? 1 : isNearOne ? 3 : 2)}${JOIN}×`;
}

/** Unix milliseconds as an unambiguous date: `2026-11-21 00:51 UTC`. */
export function date(unixMs: number): string {
  if (!Number.isFinite(unixMs) || Math.abs(unixMs) > 8.64e15) return MISSING;
  return `${new Date(unixMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** `a`, `a and b`, `a, b and c`. */
export function list(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/** Keeps each number and its unit on one line: `95 % CI`, `5 ms`, `1.60 ×`. */
export function unbroken(text: string): string {
  return text.replace(/(\d) (%( CI)?|×|ns|µs|us|ms|s|blocks?)(?=\W|$)/g, (all) => all.replace(/ /g, JOIN)).replace(/ < (?=\d)/g, `${JOIN}<${JOIN}`);
}

/** The text with its first letter in upper case. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A sentence of the verdict or of an explanation as a sentence of the page: its own words start with a capital, and the names of
    variants do not change. */
export function sentenceCase(text: string): string {
  return text.replace(/^(inconclusive|no (difference|verdict yet)|alike in most|what limits|nothing (that|is)|the search for|there is no tuning|an operation|in a closed loop|the client was|at )/, capital);
}

/** `1 trial`, `2 trials`. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${whole.format(count)} ${count === 1 ? noun : nouns}`;
}

function trim(value: number): string {
  if (value >= 100) return whole.format(value);
  return String(Number(value.toFixed(value >= 10 ? 1 : 2)));
}
