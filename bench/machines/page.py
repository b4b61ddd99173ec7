"""The page of the bench, from its rows: docs/results/machines.md."""

from __future__ import annotations

from shared.figures import Bar, Figure, Rows
from shared.markdown import bars_table, facts_table, plural, shell, table, verdict
from shared.results import Settings

from .kills import KILLS
from .measures import AGENTS, QUANTILES, RATE, SAMPLES, SERVICE
from .same import DIFFERENCE

MAX_PROGRAM_BYTES = 30_000_000
MAX_SSH_S = 0.5
MAX_START_S = 10


def render(rows: Rows, settings: Settings) -> str:
    """The page as Markdown."""
    bars = _bars(rows)
    return f"""# Hosts behind ssh

{verdict(bars)}

Measured by `make bench-machines` on {settings["date"]}, in a lab of network namespaces on one machine: each host has an sshd, mounts,
processes and a monotonic clock of its own, and all share two CPUs. Figures are medians; minimum and maximum are in brackets.

{bars_table(bars)}

{_same(rows)}{_percentiles(rows)}{_kills(rows)}{_figures(rows)}## How it is measured

- **Counts**: `showdown selftest --clients c1,c2,c3 --only counts`. HTTP and memcached, closed and open loop, with errors and drops; the
  difference is that of the worst of its counts.
- **Percentiles**: a known server answers after times of the distribution `{SERVICE}` and logs each request. {SAMPLES:,} requests are
  made by one client, and then by three, {RATE:,} a second by each: a client with less to do sleeps longer and wakes more slowly. The error is that of the percentile that is wrong by most, as a share of the server's own.
  It is compared with the largest error of one client.
- **Trial over ssh**: the same comparison with the servers on the controller and on a host. Of the two trials of a block, which take
  turns, counts the time without their loads: a warm-up is repeated where it was not steady. The figure is the median over ssh, less that
  of local ones of the same round: what ssh adds to two trials.
- **Agents**: one load of {AGENTS} hosts, from the command to its end, without the load itself.
- **One machine under two names**: c1 and c3 have one CPU in common and c2 the other one. Any difference is a false verdict.
- **Kills**: a comparison of two servers on c1, one of them with a kernel setting, is loaded from c2. A minute after the fault at the
  latest, processes, listening ports, mounts and network settings of all hosts must be those from before.

{facts_table(settings)}

{shell([str(settings.get("commands", "make bench-machines"))])}

The rows are in [cases.csv](machines/cases.csv). A stopped bench continues with the same command.
"""


def _of(rows: Rows, case: str) -> Rows:
    return [row for row in rows if row["case"] == case]


def _differences(rows: Rows) -> Figure | None:
    """Counts less the known ones."""
    return Figure.of([abs(float(row["measured"]) - float(row["known"])) for row in rows if row["known"] not in ("", "named")])


def _worst(figure: Figure | None) -> Figure | None:
    return figure and Figure.of([figure.most])


def _errors(rows: Rows, clients: int) -> list[float]:
    """Of each round, the error of the percentile that is wrong by most."""
    own = [row for row in _of(rows, "percentiles") if row["what"].startswith(f"{clients}: ")]
    rounds = sorted({row["round"] for row in own})
    return [max(_error(row) for row in own if row["round"] == number) for number in rounds]


def _error(row: dict) -> float:
    return abs(float(row["measured"]) / float(row["known"]) - 1)


def _seconds(rows: Rows, case: str, what: str) -> dict[str, float]:
    return {row["round"]: float(row["measured"]) for row in _of(rows, case) if row["what"] == what}


def _bars(rows: Rows) -> list[Bar]:
    one, three = _errors(rows, 1), _errors(rows, 3)
    local, over_ssh = _seconds(rows, "trial", "local"), _seconds(rows, "trial", "over ssh")
    same = _of(rows, "same")
    false = [float(sum(row["measured"] == DIFFERENCE for row in same))] if same else []
    killed = [row for row in rows if row["case"] in KILLS and row["what"] != "message"]
    left = [float(sum(row["measured"] != "" for row in killed))] if killed else []
    agents = _of(rows, "agents")
    return [
        Bar("counts of three clients, difference from the known server's", 0, False, _worst(_differences(_of(rows, "counts")))),
        Bar("percentiles of three clients, largest error", round(max(one, default=0.0), 4), False, Figure.of(three), 4),
        Bar("two trials over ssh, longer than local ones by, s", MAX_SSH_S, False, Figure.of([over_ssh[n] - local[n] for n in local]), 2),
        Bar(f"false verdicts of one machine under two names, in {plural(len(same), 'comparison')}", 0, False, Figure.of(false)),
        *(
            Bar(f"{AGENTS} agents, {what}, s", MAX_START_S, False, Figure.of(list(_seconds(rows, "agents", f"{what}: start and end, s").values())), 1)
            for what in ("program copied", "program in the cache")
        ),
        Bar(f"requests lost or doubled in the load of {AGENTS} agents", 0, False, _worst(_differences(agents))),
        *(
            Bar(f"{row['what'].removesuffix(', bytes')} that is copied, bytes", MAX_PROGRAM_BYTES, False, Figure.of([float(row["measured"])]))
            for row in _of(rows, "size")
        ),
        Bar(f"kills that left something, of {len(killed)}", 0, False, Figure.of(left)),
    ]


def _same(rows: Rows) -> str:
    same = _of(rows, "same")
    if not same:
        return ""
    words = sorted({row["measured"] for row in same})
    counted = [[word, str(sum(row["measured"] == word for row in same))] for word in words]
    return f"## One machine under two names\n\n{table(['verdict', 'comparisons'], counted)}\n\n"


def _percentiles(rows: Rows) -> str:
    own = _of(rows, "percentiles")
    if not own:
        return ""
    lines = []
    for quantile in QUANTILES:
        cells = [f"{q:.2%} ({low:.2%}–{high:.2%})" for q, low, high in (_spread(own, clients, quantile) for clients in (1, 3))]
        lines.append([quantile.replace("_", "."), *cells])
    invalid = sum(row["detail"] != "valid" for row in own) // len(QUANTILES)
    return f"""## Errors of percentiles

{table(["", "one client", "three clients"], lines)}

Loads that a client's own rules call invalid: {invalid} of {len(own) // len(QUANTILES)}.

"""


def _spread(rows: Rows, clients: int, quantile: str) -> tuple[float, float, float]:
    figure = Figure.of([_error(row) for row in rows if row["what"] == f"{clients}: {quantile}"])
    return (figure.middle, figure.least, figure.most) if figure else (0.0, 0.0, 0.0)


def _kills(rows: Rows) -> str:
    lines, bad = [], []
    for name, kill in KILLS.items():
        own = _of(rows, name)
        left, said = ([row for row in own if (row["what"] == "message") == is_said] for is_said in (False, True))
        if own:
            unnamed = sum(row["measured"] != row["known"] for row in said)
            lines.append([kill.about, str(len(left)), str(sum(row["measured"] != "" for row in left)), str(unnamed) if kill.message else "–"])
        bad += [[kill.about, row["round"], row["what"], row["measured"] or row["detail"]] for row in left if row["measured"] != ""]
        bad += [[kill.about, row["round"], row["what"], row["detail"]] for row in said if row["measured"] != row["known"]]
    if not lines:
        return ""
    failed = f"{table(['fault', 'round', 'check', 'what was found'], bad)}\n\n" if bad else ""
    head = ["fault at a random moment", "cases", "left something", "cause not named"]
    return f"## Kills\n\n{table(head, lines)}\n\n{failed}"


def _figures(rows: Rows) -> str:
    """Trials without their loads, here and over ssh."""
    shown = [(what, Figure.of(list(_seconds(rows, "trial", what).values()))) for what in ("local", "over ssh")]
    lines = [[what, f"{figure.middle:.2f} s ({figure.least:.2f}–{figure.most:.2f})"] for what, figure in shown if figure]
    return f"## Two trials without their loads\n\n{table(['server', 'they take'], lines)}\n\n" if lines else ""
