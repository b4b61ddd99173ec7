// The time line of one trial: its phases as bands, and the CPU time of server, client and hypervisor from the columns of
// the telemetry.

import type { Phase, PhaseKind, Telemetry } from "../model";

export interface Band {
  kind: PhaseKind;
  start: number;
  end: number;
  /** Consecutive phases of this kind. */
  phases: number;
  label: string;
}

const NAMES: Record<PhaseKind, string> = {
  closed_loop: "closed loop",
  search_step: "search step",
  measure: "measured",
  curve_step: "curve step",
  background: "background",
};

export function phaseName(kind: PhaseKind): string {
  return NAMES[kind] ?? String(kind);
}

/** Consecutive phases of one kind as one band: `search step × 7`. */
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

/** The numbers in a list of CPUs such as `0-3,8`. A range has at most 4,096 CPUs. */
export function cpuList(text: string): number[] {
  return text.split(",").flatMap((part) => {
    const [from, to] = part.trim().split("-").map(Number);
    if (part.trim() === "" || from === undefined || !Number.isInteger(from)) return [];
    const last = Number.isInteger(to) ? Math.min(to ?? from, from + 4095) : from;
    return Array.from({ length: Math.max(0, last - from + 1) }, (_, place) => from + place);
  });
}

export interface CpuLine {
  what: "server" | "client's CPUs" | "steal";
  t_s: number;
  cores: number;
}

/** Kinds of CPU time in which a CPU does no work. */
const IDLE = new Set(["idle", "iowait", "steal"]);

/** Cores in use over time: by the server's processes, on the client's CPUs, and as steal by the hypervisor. */
export function cpuLines(telemetry: Telemetry | undefined, clientCpus: readonly number[]): CpuLine[] {
  if (!telemetry) return [];
  const client = new Set(clientCpus.map(String));
  const lines: [CpuLine["what"], (name: string) => boolean][] = [
    ["server", (name) => name === "server.cpu.user" || name === "server.cpu.system"],
    ["client's CPUs", (name) => {
      const [first, cpu, kind] = name.split(".");
      return first === "cpu" && client.has(cpu ?? "") && !IDLE.has(kind ?? "idle");
    }],
    ["steal", (name) => /^cpu\.\d+\.steal$/.test(name)],
  ];
  return lines.flatMap(([what, wanted]) => {
    const columns = telemetry.columns.filter((column) => wanted(column.name));
    if (columns.length === 0) return [];
    return telemetry.t_s.flatMap((t_s, row) => {
      const values = columns.map((column) => column.values[row] ?? null);
      if (values.every((value) => value === null)) return [];
      return [{ what, t_s, cores: values.reduce<number>((sum, value) => sum + (value ?? 0), 0) }];
    });
  });
}
