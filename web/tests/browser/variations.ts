// Unusual runs, made from the fixtures: interrupted, hostile, long, or with two modes.

import type { Concurrency, ConcurrencyStep, StepTimes } from "../../src/concurrency";
import type { CostFigure, MeteredVariant, Power } from "../../src/costs";
import type { QuantileCurve, Report, Telemetry, Trial, UserWalk, WalkedOperation } from "../../src/model";
import { fixture } from "../fixture/read";

/** An interrupted run: no verdict, no facts, and a last trial without a value. */
export function unfinished(): Report {
  const report = fixture("comparison");
  const trials = report.trials.slice(0, 3);
  const last = trials[2];
  if (last) trials[2] = { ...last, status: "failed", measured: null, phases: [], timeline: [], gates: [], saturated: null, server: null, reasons: ["apache died: see server.log"] };
  const { explanation: _, ...begun } = report;
  return {
    ...begun,
    run: { ...report.run, state: "unfinished", problems: [{ file: "trials/004-nginx/trial.json", text: "ends early: restore it from an export" }] },
    facts: null,
    verdict: null,
    trials,
    telemetry: {},
    configs: {},
  };
}

/** A run that ended by Ctrl-C: a verdict over its first blocks. */
export function interrupted(): Report {
  const report = fixture("comparison");
  const verdict = report.verdict && { ...report.verdict, complete: false };
  return { ...report, run: { ...report.run, state: "interrupted" }, verdict };
}

/** A run that has a plan and nothing else, or not even a plan. */
export function empty(plan: boolean): Report {
  const report = unfinished();
  return { ...report, run: { ...report.run, state: plan ? "running" : "damaged" }, plan: plan ? report.plan : null, trials: [] };
}

/** A run of which no trial is valid. */
export function withoutAnswer(): Report {
  const report = fixture("comparison");
  const none = { median: null, interval: null, valid: 0, response_time_curve_us: [] };
  const variants = report.verdict?.variants.map((variant) => ({ ...variant, ...none, invalid: variant.values.length, values: variant.values.map((one) => ({ ...one, valid: false })) })) ?? [];
  const verdict = report.verdict && { ...report.verdict, sentence: "inconclusive: other programs used the CPUs", comparisons: [], variants };
  const trials = report.trials.map((trial) => ({ ...trial, status: "invalid" as const, reasons: [], gates: (trial.gates ?? []).map((gate) => (gate.id === "steal" ? { ...gate, outcome: "failed" as const, message: "the hypervisor took 6.1 % of the CPU time" } : gate)) }));
  return { ...report, verdict, trials };
}

/** A run whose only comparison is a lower bound: the client was the limit for nginx. */
export function ofBound(): Report {
  const report = fixture("comparison");
  const sentence = "nginx has at least 1.97 × apache's throughput in a closed loop (95 % confidence, 4 blocks); how much more is not known, because the client was the limit for nginx";
  const bound = { estimate: null, verdict: { outcome: "difference" as const }, sentence };
  const comparisons = report.verdict?.comparisons.map((comparison) => ({ ...comparison, ...bound })) ?? [];
  return { ...report, verdict: report.verdict && { ...report.verdict, sentence, comparisons } };
}

/** A run that measured a ratio, and decided nothing. */
export function undecided(): Report {
  const report = fixture("comparison");
  const sentence = "no verdict yet on nginx against apache: stopped after 3 blocks, and the run decides after 7; so far nginx / apache is 1.62";
  const comparisons = report.verdict?.comparisons.map((comparison) => ({ ...comparison, verdict: { outcome: "inconclusive" as const }, sentence })) ?? [];
  return { ...report, verdict: report.verdict && { ...report.verdict, sentence, comparisons } };
}

/** A run whose server never answered some operations: the client gave them up after a second. */
export function withoutAnswers(): Report {
  const report = fixture("comparison");
  const gaveUp = { gave_up_from_us: 1_000_000 };
  const slow = (curve: QuantileCurve): QuantileCurve => curve.map(([share, us]) => [share, share > 0.995 ? 1_204_000 : us]);
  const trials = report.trials.map((trial) => ({
    ...trial,
    phases: (trial.phases ?? []).map((phase) => ({
      ...phase,
      ...gaveUp,
      response_time_us: { ...phase.response_time_us, p99: 1_204_000 },
      response_time_curve_us: slow(phase.response_time_curve_us ?? []),
    })),
  }));
  const variants = report.verdict?.variants.map((variant) => ({ ...variant, ...gaveUp, response_time_curve_us: slow(variant.response_time_curve_us ?? []) })) ?? [];
  const verdict = report.verdict && { ...report.verdict, variants };
  return { ...report, trials, verdict };
}

/** A run of an earlier version, which did not record what the client added to each operation. */
export function withoutClientPart(): Report {
  const report = fixture("comparison");
  const trials = report.trials.map((trial) => ({
    ...trial,
    phases: (trial.phases ?? []).map(({ client: { delay_us: _, stamped: __, ...client }, ...phase }) => ({ ...phase, client })),
  }));
  return { ...report, trials };
}

/** A run that measured CPU time instead of capacity. */
export function ofCpuTime(): Report {
  const report = fixture("comparison");
  const cpu_time = { rate_per_s: 20_000, cpu_s: 0.8, operations: 40_000, user_us: 8.25, system_us: 11.75, between_s: 0.02 };
  const trials = report.trials.map((trial) => ({ ...trial, measured: trial.measured && { ...trial.measured, metric: "CPU time an operation at 20,000/s", unit: "µs", value: 20, higher_is_better: false }, cpu_time }));
  const summaries = report.verdict?.variants.map((variant) => ({ ...variant, cpu_time_us: { user: 8.25, system: 11.75 } })) ?? [];
  const verdict = report.verdict && { ...report.verdict, metric: "CPU time an operation at 20,000/s", unit: "µs", higher_is_better: false, replaced: REPLACED, variants: summaries };
  const plan = report.plan && { ...report.plan, measure: { metric: "cpu_time" as const, rate_per_s: 20_000 } };
  return { ...report, plan, trials, verdict };
}

/** A run whose servers have companions. */
export function ofParts(): Report {
  const report = ofCpuTime();
  const parts = [
    { part: "database", cpu_share: 0.7, cpu_us: 14, cores: 0.7, peak_rss_bytes: 120 * 2 ** 20 },
    { part: "server", cpu_share: 0.3, cpu_us: 6, cores: 0.3, peak_rss_bytes: 48 * 2 ** 20 },
  ];
  const variants = report.verdict?.variants.map((variant) => ({ ...variant, parts })) ?? [];
  return { ...report, verdict: report.verdict && { ...report.verdict, variants } };
}

/** A run whose load has users: a walk over three pages, one of which missed its limit. */
export function ofUsers(): Report {
  const report = ofCpuTime();
  const operation = (name: string, begun: number, declared_percent: number, next_percent: number[], declared_next_percent: number[]): WalkedOperation =>
    ({ name, begun, declared_percent, next_percent, declared_next_percent, delay: "cycle exp:5s", declared_delay_s: 4.97, actual_delay_s: 5.02 });
  const users: UserWalk = {
    count: 100,
    count_by_littles_law: 99.6,
    begun: 1_000,
    declared_delay_s: 4.97,
    drawn_delay_s: 4.98,
    actual_delay_s: 5.02,
    operations: [
      operation("home", 503, 50, [0, 58.9, 41.1], [0, 60, 40]),
      { ...operation("item", 398, 40, [75.3, 24.7, 0], [75, 25, 0]), limit: "p90<2s", meets_limit: true },
      { ...operation("buy", 99, 10, [100, 0, 0], [100, 0, 0]), limit: "p90<1s", meets_limit: false },
    ],
  };
  const variants = report.verdict?.variants.map((variant) => ({ ...variant, users, users_per_core: 4_120.4 })) ?? [];
  return { ...report, verdict: report.verdict && { ...report.verdict, variants } };
}

/** A run of transfers that broke at 800: up to 200 they were comfortable, and from 400 on no new client was answered. */
export function ofTransfers(): Report {
  const report = fixture("comparison");
  const [variant] = report.plan?.variants ?? [];
  if (!report.plan || !variant) throw new Error("a plan with a variant");
  const times = (p99_us: number): StepTimes => ({ count: p99_us === 0 ? 0 : 90, p50_us: p99_us / 10, p99_us, max_us: p99_us * 2 });
  const step = (transfers: number, in_progress: number, p99_us: number): ConcurrencyStep => ({
    transfers,
    in_progress,
    attempts: transfers * 5,
    successes: in_progress * 5,
    availability: in_progress / transfers,
    rise_s: 1,
    hold_s: 5,
    is_steady: true,
    first_byte: times(p99_us),
    first_byte_of_rise: times(9_000),
    completion: times(0),
    probes: 100,
    probes_failed: p99_us === 0 ? 100 : 0,
    stalled_share: 0,
    errors: in_progress < transfers ? { timeout: transfers - in_progress } : {},
    read_interval_s: 5.8,
    client_late_p99_us: 11_000,
    client_late_limit_us: 1_450_000,
    client_behind_share: 0.001,
    client_cpu_cores: 0.02,
    client_bytes: 4 << 20,
    server_cpu_cores: 0.01,
    server_bytes: (20 << 20) + in_progress * 20_000,
    kernel_bytes: in_progress * 12_000,
    tcp_bytes: in_progress * 9_000,
    available_bytes: 20e9,
    counters: {},
  });
  const concurrency: Concurrency = {
    made_unix_ms: 1_795_000_000_000,
    sentence: "apache is comfortable up to 200 downloads at once; it breaks at 800, with an availability of 47 % (under 50 %): the server served 379 and no more",
    variant: "apache",
    download: "download",
    pace_bytes_per_s: 100,
    read_interval_s: 11.5,
    processes: 1,
    sources: 4,
    ended: "the break is known",
    breaking_point: 800,
    comfortable_point: 200,
    limits: [{ name: "local ports", value: "28232 an address, 60000 addresses", allows: 1_524_528_000, is_changed: false, remedy: "widen net.ipv4.ip_local_port_range" }],
    steps: [step(100, 100, 600_000), step(200, 200, 800_000), step(400, 379, 0), step(800, 379, 0), step(566, 380, 0)],
    recovery: { after_transfers: 800, answered_after_s: 2.5, watched_s: 4.5 },
    ran_out: [{ what: "workers", sentence: "the server served 379 and no more", evidence: ["timeout: 421"], remedy: "raise the server's limit of connections, workers or threads" }],
  };
  const steps = { from: 100, to: 2_000, step: 2, finer: 1, until_availability: 0.5, pace_bytes_per_s: 100, hold: "5s", hold_last: "1m", begin_per_s: 10_000, comfort_availability: 0.999, comfort_first_byte: "1s" };
  const { explanation: _, ...others } = report;
  return { ...others, plan: { ...report.plan, kind: "concurrency", variants: [variant], concurrency: steps }, verdict: null, trials: [], telemetry: {}, configs: {}, concurrency };
}

/** A report that was made with a file of targets: one variant has no price, and its watts are of a nameplate. */
export function withCost(): Report {
  const figure = (value: number) => ({ value, low: value * 0.9, high: value * 1.1 });
  const power = (watts: number, boundary: string, source: string) => ({ watts, boundary, source, is_estimate: true });
  const nginx = {
    variant: "nginx",
    target: "large",
    unit: "/s",
    performance: figure(127_000),
    power_at_load: power(200, "wall", "typed in by hand: clamp meter"),
    power_idle: power(118, "wall", "typed in by hand: clamp meter"),
    operations_per_joule: figure(635),
    swap: figure(317.5),
    energy_kwh_a_year: 2628,
    energy_cost_a_year: 525.6,
    total_cost: 6102.4,
    cost_of_a_million: figure(0.00038),
    carbon_kg_a_year: null,
    carbon_g_of_a_million: null,
    missing: [{ figure: "carbon", why: "the file of targets has no grid_intensity" }],
  };
  const apache = {
    ...nginx,
    variant: "apache",
    target: "small",
    power_at_load: power(100, "nameplate", "the nameplate"),
    power_idle: null,
    total_cost: null,
    cost_of_a_million: null,
    missing: [{ figure: "total cost", why: "target small has no price and no rate" }],
  };
  const published = [
    { year: 2006, system: "Sun Fire T2000", metric: "requests/s", value: "5,718", variant: "Solaris 10", client: "siege, 11 machines", caveat: "withdrawn" },
  ];
  const cost = {
    currency: "EUR",
    life_years: 4,
    hours_at_load_a_day: 24,
    pue: 1.5,
    price_per_kwh: 0.2,
    grid_intensity_g_per_kwh: null,
    variants: [nginx, apache],
    comparisons: [{ sentence: "nginx does 3.20 × the operations of apache for each joule (95 % CI 3.10–3.30; estimate)" }],
    over_load: [{ sentence: "at capacity at p99<5ms, nginx is cheaper than apache from 81,900/s on; one apache (2,190 EUR) is cheaper than one nginx (2,628 EUR) up to 81,900/s" }],
    notes: ["Watts called an estimate are typed in or of a nameplate: no meter recorded them beside the load. Each has its boundary"],
    published,
  };
  return { ...fixture("comparison"), cost };
}

/** Watts of two meters of different boundaries at three levels and in active idle, and a meter that was lost in two trials. */
export function metered(): Report {
  const report = fixture("comparison");
  const figure = (value: number): CostFigure => ({ value, low: value * 0.99, high: value * 1.01 });
  const boundaries = [["rack", "apc-rpdu2", "wall", 92, 74], ["rapl-package", "rapl", "package", 14, 47]] as const;
  const variants = ["nginx", "apache"].flatMap((variant, place) =>
    boundaries.map(([name, kind, boundary, idle, load]): MeteredVariant => {
      const levels = [1, 0.5, 0.1, 0].map((share) => {
        const watts = idle + load * share ** 0.8 * (1 + place * 0.06);
        const work = (131_000 - 48_000 * place) * share;
        return { share, work_per_s: work, watts: figure(watts), operations_per_joule: figure(work / watts), p99_us: share === 0 ? null : 420 + 3900 * share ** 6 };
      });
      const [full, , , last] = levels;
      if (!full || !last) throw new Error("four levels");
      return {
        variant,
        meter: { name, kind, boundary, uncertainty_percent: null, is_indicative: true },
        trials: 8,
        watts_at_load: full.watts,
        watts_idle: last.watts,
        operations_per_joule: full.operations_per_joule,
        overall_operations_per_joule: figure(full.operations_per_joule.value * 0.8),
        levels,
      };
    }),
  );
  const power: Power = {
    variants,
    comparisons: [{ sentence: "nginx does 1.62 × the operations of apache for each joule (95 % CI 1.60–1.64; wall, indicative)" }],
    lost: ["rack gave no watts at a level of trials 7, 8: 10.0.0.9:161 does not answer"],
    notes: ["Watts of different boundaries contain each other: they are not added or compared"],
  };
  const watts: Record<string, Telemetry> = {};
  for (const trial of report.trials) {
    const from = trial.duration_s;
    trial.power = {
      meters: boundaries.map(([name, , boundary]) => ({ name, boundary })),
      levels: [1, 0.5, 0.1, 0].map((share, place) => ({ share, start_s: from + place * 10 + 3, length_s: 7 })),
    };
    trial.duration_s += 40;
    const t_s = Array.from({ length: 40 }, (_, second) => from + second);
    const column = ([name, , boundary, idle, load]: (typeof boundaries)[number]): Telemetry["columns"][number] => ({
      name,
      unit: "W",
      help: boundary,
      values: t_s.map((_, second) => idle + load * ([1, 0.5, 0.1, 0][Math.floor(second / 10)] ?? 0)),
    });
    watts[String(trial.number)] = { t_s, columns: boundaries.map(column) };
  }
  return { ...report, power, watts };
}

export const REPLACED = "CPU time an operation at 20,000/s was measured instead of capacity at p99 < 5 ms, because the client was the limit for nginx: it needed 95 % of its cores";

export const ATTACK = `</script><script>window.attacked = true</script><img src="http://203.0.113.1/x.png" onerror="window.attacked = true"><svg onload="window.attacked = true">`;

/** A run whose texts all try to inject markup. */
export function hostile(): Report {
  const text = JSON.stringify(fixture("comparison"));
  const report = JSON.parse(text) as Report;
  report.run.problems = [{ file: ATTACK, text: ATTACK }];
  report.run.tags = [ATTACK];
  report.made_by = ATTACK;
  if (report.plan) report.plan.command = ["showdown", ATTACK];
  if (report.verdict) {
    report.verdict.sentence = ATTACK;
    report.verdict.metric = ATTACK;
    report.verdict.caveats = [{ id: ATTACK, text: ATTACK }];
    for (const difference of report.verdict.fairness ?? []) difference.remark = ATTACK;
  }
  for (const trial of report.trials) {
    trial.reasons = [ATTACK];
    for (const gate of trial.gates ?? []) gate.message = ATTACK;
    if (trial.saturated) trial.saturated.evidence = [ATTACK];
  }
  if (report.facts) report.facts.host = { [ATTACK]: ATTACK };
  report.configs = { [ATTACK]: ATTACK };
  const renamed = (name: string): string => (name === "nginx" ? ATTACK : name);
  for (const variant of [...(report.plan?.variants ?? []), ...(report.verdict?.variants ?? []), ...(report.facts?.variants ?? [])]) variant.name = renamed(variant.name);
  for (const trial of report.trials) trial.variant = renamed(trial.variant);
  return report;
}

/** A sweep with comparisons at three of its points, with ratios from 0.12 to 30. */
export function several(): Report {
  const report = fixture("sweep");
  const [one] = fixture("comparison").verdict?.comparisons ?? [];
  if (!report.verdict || !one?.estimate) return report;
  const { estimate } = one;
  report.verdict.comparisons = [0.12, 1.6, 30].map((times, place) => ({
    ...one,
    point: { threads: String(2 ** place) },
    estimate: { ...estimate, ratio: times, low: times * 0.9, high: times * 1.1 },
  }));
  return report;
}

/** Two hundred trials of the same two variants. */
export function long(): Report {
  const report = fixture("comparison");
  const trials: Trial[] = Array.from({ length: 10 }, (_, round) =>
    report.trials.map((trial) => ({ ...trial, number: trial.number + 20 * round, block: trial.block + 10 * round })),
  ).flat();
  return { ...report, trials };
}

/** A variant with two modes, several comparisons, and distributions merged over trials. */
export function modes(): Report {
  const report = fixture("comparison");
  const [nginx, apache] = report.verdict?.variants ?? [];
  const curve = (number: number) => report.trials[number]?.phases?.find((phase) => phase.kind === "measure")?.response_time_curve_us ?? [];
  if (!report.verdict || !nginx || !apache) throw new Error("the fixture has two variants");
  apache.response_time_curve_us = curve(0);
  nginx.response_time_curve_us = curve(1);
  const trials = report.trials.filter((trial) => trial.variant === "apache");
  trials.forEach((trial, place) => {
    if (trial.measured && place % 2) trial.measured.value *= 0.85;
  });
  const odd = trials.filter((_, place) => place % 2).map((trial) => trial.number);
  const even = trials.filter((_, place) => place % 2 === 0).map((trial) => trial.number);
  apache.modes = [{ centre: 69_000, trials: odd }, { centre: 81_200, trials: even }];
  const [first] = report.verdict.comparisons;
  if (!first?.estimate) throw new Error("the fixture has a ratio");
  report.verdict.comparisons = [
    first,
    { ...first, a: "nginx-2", verdict: { outcome: "no_difference_shown" }, estimate: { ...first.estimate, ratio: 1.004, low: 0.985, high: 1.021 }, sentence: "no difference shown between nginx-2 and apache: within ±2.1 %" },
    { ...first, a: "nginx-3", verdict: { outcome: "inconclusive" }, estimate: null, sentence: "inconclusive: nginx-3 against apache: a ratio needs at least 3 complete blocks, and this run has 2" },
  ];
  return report;
}

/** A comparison with its ratio of means, a bound of the method, and another session. */
export function withSessions(): Report {
  const report = fixture("comparison");
  const [first] = report.verdict?.comparisons ?? [];
  if (!report.verdict || !first?.estimate) throw new Error("the fixture has a ratio");
  first.means = { ratio: 1.411, low: 1.301, high: 1.521 };
  first.sentence = "alike in most starts: nginx and apache within ±2.1 %; 2 of 14 starts of nginx at half the speed";
  report.verdict.sentence = `${first.sentence}; on 1 CPU of an AMD EPYC 7B13, 28 November`;
  report.verdict.method = [{ source: "in turns or alone", within: 0.04 }];
  report.sessions = {
    runs: [{ run: "20261121T005139Z-a-7f3a", machine: "on 1 CPU of an AMD EPYC 7B13, 21 November" }, { run: "20261128T005139Z-a-7f3b" }],
    left_out: [{ run: "20261129T005139Z-a-7f3c", why: "it has no verdict" }],
    pairs: [{ sentence: "nginx / apache, capacity: 1.400 over 2 sessions" }],
  };
  return report;
}

/** A run that explains with `--slow-request`: the first server has a slow request and a median one, and of the second none could be told. */
export function withSlowRequests(): Report {
  const report = fixture("explanation");
  const step = (from_us: number, us: number, part: string) => ({ from_us, us, part, thread: "nginx" });
  const meanwhile = [{ threads: "nginx", on_cpu: 0.9, runnable: 0.1, blocked: 0, idle: 0 }];
  const slow = {
    sentence: "slow requests of nginx wait for a CPU: 5,768 of 6,428 µs",
    operations: 26_347,
    traced: 26,
    median_us: 540,
    slow_us: 4_100,
    level: "every switch, wake, read and send of its threads, stacks of some",
    throughput_ratio: 0.99,
    parts: [
      { part: "waiting for a CPU", slow_us: 5_768, median_us: 60 },
      { part: "on the CPU", slow_us: 660, median_us: 480 },
    ],
    functions: [{ frame: "ngx_http_process_request", module: "nginx", share: 0.4 }],
    requests: [
      { is_slow: true, operation: "get-1k", response_us: 6_428, steps: [step(0, 5_768, "waiting for a CPU"), { ...step(5_768, 660, "on the CPU"), woken_by: "an interrupt" }], meanwhile },
      { is_slow: false, operation: "get-1k", response_us: 540, steps: [step(0, 60, "waiting for a CPU"), step(60, 480, "on the CPU")], meanwhile },
    ],
  };
  const { explanation } = report;
  if (!explanation) throw new Error("the fixture has an explanation");
  const servers = explanation.servers.map((server, at) => (at === 0 ? { ...server, slow_requests: slow } : server));
  return { ...report, explanation: { ...explanation, servers } };
}
