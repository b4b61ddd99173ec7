"""The page of the matrix, from its rows: docs/results/faults.md."""

from __future__ import annotations

from shared.figures import Rows
from shared.markdown import facts_table, plural, shell, table
from shared.results import Settings

from .case import CHECKS
from .faults import FAULTS

NAMES = {
    "processes_left": "processes left",
    "settings_changed": "settings changed",
    "files_lost": "files lost",
    "scratch_left": "scratch left",
    "unreadable": "run unreadable",
    "wrong_message": "message or exit code wrong",
    "next_start": "not resumed",
}


def render(rows: Rows, settings: Settings) -> str:
    """The page as Markdown."""
    servers = [name for name in ("nginx", "mariadb") if any(row["server"] == name for row in rows)]
    bad = [row for row in rows if is_bad(row)]
    lines = [_line(fault, server, rows) for fault in FAULTS for server in servers]
    return f"""# Faults

Showdown in {plural(len(rows), "case")}, each with one fault at a random moment of a short comparison. {_verdict(rows, bad)}

{table(["fault", "server", "cases", *NAMES.values(), "exit codes"], [line for line in lines if line])}

Numbers are cases in which a check failed. The plan has three blocks of two variants, of which one sets a kernel setting.

| check | what it says |
|---|---|
| processes left | a process of the run's name space was there 15 s after the end |
| settings changed | the kernel setting did not have its old value 10 s after the end, or after the next start |
| files lost | a file of a trial that was complete before the fault is gone, changed or not readable |
| scratch left | a scratch directory was there after the next start |
| run unreadable | `showdown list` or `showdown show` failed |
| message or exit code wrong | an exit code or message that the fault does not explain, or a panic |
| not resumed | `showdown resume` did not end in a verdict over all blocks, after the cause of the fault was removed |

{_failures(bad)}{_note(settings)}## How the faults are made

{table(["fault", "what happens"], [[f"`{name}`", fault.about] for name, fault in FAULTS.items()])}

- Each case has a mount name space with file systems of its own for runs, scratch and journal.
- MariaDB is one process of many threads, so it has no worker to kill. Its tables have 500 rows.
- **clock-step** does not set the machine's clock. The wall clock of Showdown's own processes steps, by libfaketime; servers and
  the kernel keep theirs. The monotonic clock does not step.
- **out-of-memory**: Showdown and all that it starts are in a group of 300 MB. A process that the kernel spares takes nearly all
  of it for a second, so the kernel kills Showdown, a supervisor, or the server.
- The moment is a random share of the duration of an undisturbed run, from the seed.

## Where and how

{shell([str(settings.get("commands", "make bench-faults"))])}

{facts_table(settings, without=("note",))}

The rows are in [cases.csv](faults/cases.csv). A stopped bench continues with the same command.
"""


def is_bad(row: dict) -> bool:
    """Whether a check of the case failed."""
    return any(row[check] for check in CHECKS)


def _note(settings: Settings) -> str:
    """What became of the cases since, where a person has added it to run.json."""
    return f"{settings['note']}\n\n" if "note" in settings else ""


def _verdict(rows: Rows, bad: Rows) -> str:
    return f"In {len(rows) - len(bad)} of them all checks passed." if bad else "All checks passed in all of them."


def _line(fault: str, server: str, rows: Rows) -> list[str] | None:
    own = [row for row in rows if (row["fault"], row["server"]) == (fault, server)]
    if not own:
        return None
    failed = [str(sum(1 for row in own if row[check])) for check in NAMES]
    codes = sorted({int(row["exit"]) for row in own})
    counted = [f"{code} ({sum(1 for row in own if int(row['exit']) == code)})" for code in codes]
    return [f"`{fault}`", server, str(len(own)), *failed, ", ".join(counted)]


def _failures(bad: Rows) -> str:
    if not bad:
        return ""
    rows = [
        [f"`{row['fault']}`", row["server"], row["moment"], "; ".join(f"{NAMES[check]}: {row[check]}" for check in CHECKS if row[check])]
        for row in bad
    ]
    return f"## Checks that failed\n\n{table(['fault', 'server', 'moment', 'what was found'], rows)}\n\n"
