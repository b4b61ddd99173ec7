// Numbers and times as people read them.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** Three digits or more: 131,043 · 12.3 · 0.0123. */
export function amount(value: number): string {
  if (value === 0 || Math.abs(value) >= 1000) return whole.format(value);
  const digits = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.min(9, Math.max(0, 3 - digits)));
}

/** With its unit: 131,043/s · 4.71 ms. Microseconds get the unit that suits them. */
export function quantity(value: number, unit: string): string {
  if (unit === "µs") return time(value);
  return amount(value) + (unit === "" || unit.startsWith("/") ? "" : " ") + unit;
}

/** For an axis, short: 131k · 1.3M · 0.5. */
export function short(value: number): string {
  const size = Math.abs(value);
  const scaled = (by: number, letter: string) => `${Number((value / by).toPrecision(3))}${letter}`;
  if (size >= 1e9) return scaled(1e9, "G");
  if (size >= 1e6) return scaled(1e6, "M");
  if (size >= 1e4) return scaled(1e3, "k");
  if (size >= 1e3) return whole.format(value);
  return String(Number(value.toPrecision(3)));
}

/** Microseconds: 850 µs · 4.71 ms · 1.2 s. */
export function time(us: number): string {
  const in_ = (by: number, unit: string) => `${Number((us / by).toPrecision(3))} ${unit}`;
  if (us < 1e3) return in_(1, "µs");
  if (us < 1e6) return in_(1e3, "ms");
  return in_(1e6, "s");
}

/** Seconds on a clock: 49 s · 3 min 5 s. */
export function seconds(s: number): string {
  if (s < 90) return `${Number(s.toPrecision(2))} s`;
  const minutes = Math.floor(s / 60);
  return minutes < 90 ? `${minutes} min ${Math.round(s % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A share as a percentage. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`;
}

/** A ratio; three decimals near 1, where they matter. */
export function ratio(value: number): string {
  return value >= 0.9 && value < 1.1 ? value.toFixed(3) : value.toFixed(2);
}

/** Bytes: 48 MiB. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = value > 0 ? Math.min(units.length - 1, Math.floor(Math.log2(value) / 10)) : 0;
  return `${Number((value / 1024 ** step).toPrecision(3))} ${units[step]}`;
}

/** A moment in UTC: 2026-11-21 00:51 UTC. */
export function moment(unix_ms: number): string {
  const date = new Date(unix_ms);
  return Number.isNaN(date.getTime()) ? "–" : `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Names of things that come as snake_case. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}
