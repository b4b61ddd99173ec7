"""Tests that the committed pages are what the benches write from the committed raw figures."""

import tempfile
import unittest
from pathlib import Path

import aa.page
import archive.__main__ as archive
import company.clients
import company.page
import concurrency.page
import explain.__main__ as explain
import faults.__main__ as faults
import harness.__main__ as harness
import machines.__main__ as machines
import olio.page
import peers.report
import peers_db.report
import peers_io.report
import peers_mail.report
import precision.page
import selftest.page
import shift.__main__ as shift
import sustained.page
import truth.cases
import truth.report
import tune.page
import turns.page
import user_models.report
import users.report
import workloads.page
from peers import tables
from shared.ledger import Ledger
from shared.whole_run import RESULTS


def _precision_rows() -> Ledger:
    return Ledger(RESULTS / "precision" / "comparisons.csv", precision.page.COLUMNS)


def _aa() -> str:
    ledgers = [Ledger(RESULTS / "aa" / f"{name}.csv", aa.page.COLUMNS[name]) for name in ("comparisons", "naive")]
    return aa.page.write(*ledgers, _precision_rows())


def _company() -> str:
    columns = {"comparisons": company.page.COLUMNS, "clients": company.clients.COLUMNS}
    return company.page.write(*(Ledger(RESULTS / "company" / f"{name}.csv", of) for name, of in columns.items()))


def _sustained() -> str:
    columns = {"held": sustained.page.HELD, "winners": sustained.page.WINNERS}
    return sustained.page.write(*(Ledger(RESULTS / "sustained" / f"{name}.csv", of) for name, of in columns.items()))


def _tune() -> str:
    return tune.page.write({name: Ledger(RESULTS / "tune" / f"{name}.csv", columns) for name, columns in tune.page.COLUMNS.items()})


def _workloads() -> str:
    with tempfile.TemporaryDirectory() as directory:
        return workloads.page.write(RESULTS / "workloads", Path(directory) / "page.md").read_text()


PAGES = {
    "aa": _aa,
    "archive": lambda: archive.PAGE.text(RESULTS),
    "company": _company,
    "concurrency": lambda: concurrency.page.PAGE.text(RESULTS),
    "explain": lambda: explain.PAGE.text(RESULTS),
    "faults": lambda: faults.PAGE.text(RESULTS),
    "harness": lambda: harness.PAGE.text(RESULTS),
    "live-traffic": lambda: shift.text(RESULTS),
    "machines": lambda: machines.PAGE.text(RESULTS),
    "olio": lambda: olio.page.write(olio.page.ledgers(RESULTS), RESULTS),
    "peers": lambda: peers.report.page(tables.store(RESULTS / "peers")),
    "peers-db": lambda: peers_db.report.PAGE.text(RESULTS),
    "peers-io": lambda: peers_io.report.PAGE.text(RESULTS),
    "peers-mail": lambda: peers_mail.report.PAGE.text(RESULTS),
    "precision": lambda: precision.page.write(_precision_rows()),
    "selftest": lambda: selftest.page.write(Ledger(RESULTS / "selftest" / "tests.csv", selftest.page.COLUMNS)),
    "sustained": _sustained,
    "truth": lambda: truth.report.page(truth.cases.store(RESULTS / "truth")),
    "tune": _tune,
    "user-models": lambda: user_models.report.PAGE.text(RESULTS),
    "users": lambda: users.report.PAGE.text(RESULTS),
    "turns": lambda: turns.page.write(Ledger(RESULTS / "turns" / "comparisons.csv", turns.page.COLUMNS)),
    "workloads": _workloads,
}


ELSEWHERE = {"cost"}
"""Pages that showdown itself writes; a test of the workspace compares them with their data."""


class Pages(unittest.TestCase):
    """One page per bench."""

    def test_committed_pages_are_what_the_benches_write(self):
        for name, write in PAGES.items():
            with self.subTest(name):
                self.assertEqual((RESULTS / f"{name}.md").read_text(), write(), "run the bench with --report-only")

    def test_every_page_has_its_bench(self):
        self.assertEqual({path.stem for path in RESULTS.glob("*.md")}, set(PAGES) | ELSEWHERE)


if __name__ == "__main__":
    unittest.main()
