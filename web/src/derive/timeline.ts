// The time line of one trial: its ticks, its phases as bands, and CPU time of server, client and hypervisor out of
// the telemetry's columns.

import type { Phase, PhaseKind, Telemetry } from "../model";

export interface Band {
  kind: PhaseKind;
  start: number;
  end: number;
  /** How many phases of this kind follow one another here. */
  phases: number;
  label: string;
}

const NAMES: Record<PhaseKind, string> = {
  check: "check",
  populate: "populate",
  warm_up: "warm-up",
  closed_loop: "closed loop",
  search_step: "search",
  measure: "measure",
  curve_step: "curve",
  background: "background",
};

export function phaseName(kind: PhaseKind): string {
  return NAMES[kind] ?? String(kind);
}

/** Neighbouring phases of one kind as one band: `search × 7`. */
export function bands(phases: readonly Phase[]): Band[] {
  const found: Band[] = [];
  for (const phase of phases) {
    const last = found[found.length - 1];
    if (last?.kind === phase.kind) {
      last.end = phase.start_s + phase.length_s;
      last.phases += 1;
      last.label = `${phaseName(phase.kind)} × ${last.phases}`;
    } else {
      const end = phase.start_s + phase.length_s;
      found.push({ kind: phase.kind, start: phase.start_s, end, phases: 1, label: phaseName(phase.kind) });
    }
  }
  return found;
}

/** A list of CPUs such as `0-3,8` as numbers; ranges that nobody has are cut short. */
export function cpuList(text: string): number[] {
  return text.split(",").flatMap((part) => {
    const [from, to] = part.trim().split("-").map(Number);
    if (part.trim() === "" || from === undefined || !Number.isInteger(from)) return [];
    const last = Number.isInteger(to) ? Math.min(to ?? from, from + 4095) : from;
    return Array.from({ length: Math.max(0, last - from + 1) }, (_, place) => from + place);
  });
}

export interface CpuLine {
  what: "server" | "client's CPUs" | "stolen";
  t_s: number;
  cores: number;
}

/** Kinds of CPU time in which a CPU does nothing for us. */
const IDLE = new Set(["idle", "iowait", "steal"]);

/** Cores in use over time: by the server's processes, on the client's CPUs, and taken by the hypervisor. */
export function cpuLines(telemetry: Telemetry | undefined, clientCpus: readonly number[]): CpuLine[] {
  if (!telemetry) return [];
  const client = new Set(clientCpus.map(String));
  const sums: [CpuLine["what"], (name: string) => boolean][] = [
    ["server", (name) => name === "server.cpu.user" || name === "server.cpu.system"],
    ["client's CPUs", (name) => {
      const [first, cpu, kind] = name.split(".");
      return first === "cpu" && client.has(cpu ?? "") && !IDLE.has(kind ?? "idle");
    }],
    ["stolen", (name) => /^cpu\.\d+\.steal$/.test(name)],
  ];
  return sums.flatMap(([what, wanted]) => {
    const columns = telemetry.columns.filter((column) => wanted(column.name));
    if (columns.length === 0) return [];
    return telemetry.t_s.flatMap((t_s, row) => {
      const values = columns.map((column) => column.values[row] ?? null);
      if (values.every((value) => value === null)) return [];
      return [{ what, t_s, cores: values.reduce<number>((sum, value) => sum + (value ?? 0), 0) }];
    });
  });
}
