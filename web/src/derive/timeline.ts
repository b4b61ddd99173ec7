// The time line of one trial: its phases as bands, and the CPU time of server, client and hypervisor from the columns of
// the telemetry.

import type { Phase, PhaseKind, Telemetry, Trial, TrialPower } from "../model";

export interface Band {
  kind: PhaseKind | "power_level";
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

/** When a phase ended. The slices of one phase lie between those of other servers and other phases. */
export function phaseEnd(phase: Phase): number {
  return phase.start_s + (phase.slices?.span_s ?? phase.length_s);
}

/** The levels of load at which watts were measured, after the phases. */
export function levelBands(power: TrialPower | undefined): Band[] {
  return (power?.levels ?? []).map(({ share, start_s: start, length_s: length }) => ({
    kind: "power_level" as const,
    start,
    end: start + length,
    phases: 1,
    label: share === 0 ? "idle" : `watts ${Math.round(share * 100)} %`,
  }));
}

/** Consecutive phases of one kind as one band: `search step × 7`. The slices of a search and of its measured phase lie among
 * each other, so that they are one band. */
export function bands(phases: readonly Phase[]): Band[] {
  const found: Band[] = [];
  for (const phase of phases) {
    const last = found[found.length - 1];
    if (last && (last.kind === phase.kind || (phase.slices && phase.start_s < last.end))) {
      last.start = Math.min(last.start, phase.start_s);
      last.end = Math.max(last.end, phaseEnd(phase));
      last.phases += 1;
      last.kind = phase.kind;
      last.label = phase.slices ? "in turns" : `${phaseName(phase.kind)} × ${last.phases}`;
    } else {
      const label = phase.slices ? "in turns" : phaseName(phase.kind);
      found.push({ kind: phase.kind, start: phase.start_s, end: phaseEnd(phase), phases: 1, label });
    }
  }
  return found;
}

/** Which band a time belongs to, by its place from 1. Between two bands the server was not loaded, so no line joins them. */
export function bandAt(bands: readonly Band[], t_s: number): number {
  return bands.filter((band) => band.start <= t_s).length;
}

/** The phase that a point of the time line belongs to: of those that overlap, the one with the nearest load. */
export function phaseAt(phases: readonly Phase[], t_s: number, offered_per_s: number | null | undefined): Phase | undefined {
  const here = phases.filter((phase) => t_s >= phase.start_s && t_s < phaseEnd(phase));
  const distance = (phase: Phase): number => Math.abs((phase.offered_per_s ?? 0) - (offered_per_s ?? 0));
  return here.sort((a, b) => distance(a) - distance(b))[0];
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
  // Runs of earlier releases have no clock of the server's processes, only the clock ticks of two modes.
  const hasClock = telemetry.columns.some(({ name }) => name === "server.cpu.time");
  const ofServer = hasClock ? ["server.cpu.time"] : ["server.cpu.user", "server.cpu.system"];
  const lines: [CpuLine["what"], (name: string) => boolean][] = [
    ["server", (name) => ofServer.includes(name)],
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

/** Whether a trial has anything to draw over time, so that links may lead to it. */
export function hasTimeline(trial: Trial): boolean {
  return (trial.timeline ?? []).length > 0;
}
