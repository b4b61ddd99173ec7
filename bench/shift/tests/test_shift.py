"""Tests of what is counted, and of what the page says."""

import tempfile
import tomllib
import unittest
from pathlib import Path

from shift import case, page, program, series
from shift.bed import Bed, Look, candidate_of
from shift.faults import FAULTS
from shift.mail import MailBed
from shift.remaining import Part, in_words

STAT = """# pxname,svname,stot,econ,eresp,status,weight,hrsp_5xx,
web,old,10,0,0,no check,64,0,
web,candidate,7,1,2,DOWN 1/2,4,3,
web,BACKEND,17,0,0,UP,64,0,
"""


class Looks(unittest.TestCase):
    def test_the_candidate_is_found_by_the_names_of_the_fields(self):
        look = candidate_of(STAT, 1.0)
        self.assertEqual((look.weight, look.requests, look.errors, look.status), (4, 7, 6, "DOWN 1/2"))
        self.assertFalse(look.takes)
        self.assertTrue(candidate_of(STAT.replace("DOWN 1/2", "UP"), 1.0).takes)
        self.assertFalse(candidate_of(STAT.replace("DOWN 1/2,4", "UP,0"), 1.0).takes)
        self.assertFalse(candidate_of(STAT.replace("web,candidate", "web,other"), 1.0).takes)

    def test_requests_after_it_takes_nothing_are_counted(self):
        looks = [Look(at, 0, "MAINT", requests, 0) for at, requests in [(1, 5), (2, 6), (3, 6), (4, 8)]]
        self.assertEqual(case.requests_after(looks, 1.5), 2)
        self.assertEqual(case.requests_after(looks, 4.5), 0)

    def test_the_seed_determines_the_moments(self):
        moments = [case.moment_of(1, "reload", repeat) for repeat in range(20)]
        self.assertEqual(moments, [case.moment_of(1, "reload", repeat) for repeat in range(20)])
        self.assertTrue(all(1.0 <= moment <= case.LONGEST_MOMENT_S for moment in moments))
        self.assertEqual(len(set(moments)), 20)


class Steps(unittest.TestCase):
    def test_what_happens_to_the_balancer_happens_in_each_step(self):
        self.assertEqual([case.step_of(FAULTS["reload"], repeat) for repeat in (1, 2, 3)], [16, 64, 16])
        self.assertEqual([case.step_of(FAULTS["crash"], repeat) for repeat in (1, 2, 3)], [16, 16, 16])


class Plans(unittest.TestCase):
    def test_a_plan_has_all_old_servers_and_the_rules(self):
        with tempfile.TemporaryDirectory() as directory:
            bed = Bed(Path("showdown"), Path(directory), old_count=2)
            plan = tomllib.loads(bed.plan(dwell="5s", steps=[16, 64], margin=4).read_text())
            self.assertEqual(plan["old"]["servers"], ["old1", "old2"])
            self.assertEqual(plan["rules"], {"objective": "p99<100ms", "dwell": "5s", "steps": [16, 64], "margin": 4})
            mail_plan = tomllib.loads(MailBed(Path(directory)).plan().read_text())
            self.assertEqual(mail_plan["candidate"]["mail_log"], f"{directory}/candidate/maillog")

    def test_the_capacity_of_the_ramp_is_reached_at_its_multiple(self):
        share = series.RAMP_CAPACITY / (series.RAMP_OLDS + series.RAMP_CAPACITY)
        busy = series.RAMP_RATE * share * float(series.RAMP_SERVICE.removesuffix("ms")) / 1000
        self.assertAlmostEqual(busy, 1.0, places=2)


class Programs(unittest.TestCase):
    def test_rows_of_other_commits_are_set_aside(self):
        columns = {"cases": ["fault", "repeat", *program.BY]}
        now = {"commit": "new", "profile": "release", "date": "2026-12-01"}
        with tempfile.TemporaryDirectory() as directory:
            work, published = Path(directory) / "work", Path(directory) / "results"
            work.mkdir()
            (work / "cases.csv").write_text("fault,repeat,commit,profile,date\ncrash,1,old,release,x\ncrash,2,new,release,x\n")
            self.assertEqual(program.set_aside(work, published, columns, now), 1)
            self.assertIn("crash,2,new", (work / "cases.csv").read_text())
            self.assertNotIn("old", (work / "cases.csv").read_text())
            self.assertIn("crash,1,old", (published / "earlier/cases.csv").read_text())

    def test_a_new_directory_continues_with_the_published_rows(self):
        columns = {"cases": ["fault", "commit"], "series": ["series", "commit"]}
        with tempfile.TemporaryDirectory() as directory:
            work, published = Path(directory) / "work", Path(directory) / "results"
            published.mkdir()
            (published / "cases.csv").write_text("fault,commit\ncrash,new\n")
            (published / "series.csv").write_text("series\nother columns\n")
            program.continue_published(work, published, columns)
            self.assertEqual([path.name for path in work.iterdir()], ["cases.csv"])

    def test_the_time_left_is_that_of_the_rollouts_so_far(self):
        parts = [Part("equal", 40, 6, 602.0), Part("ramp", 0, 1, 60.0)]
        self.assertEqual(in_words(parts), "about 1 h 11 min left")
        parts[0].took(300.0)
        self.assertEqual(in_words(parts), "about 35 min left")


class Mailboxes(unittest.TestCase):
    def test_each_message_is_counted_by_its_id(self):
        with tempfile.TemporaryDirectory() as directory:
            for server, message_id in [("old", "<1@x>"), ("candidate", "<2@x>"), ("control", "<1@x>")]:
                folder = Path(directory) / server / "mail/all/new"
                folder.mkdir(parents=True)
                (folder / "one").write_text(f"Received: x\nMessage-ID: {message_id}\n\nText\n")
            found, at_candidate = MailBed(Path(directory)).delivered()
            self.assertEqual((found["<1@x>"], found["<2@x>"], at_candidate), (2, 1, 1))


class Page(unittest.TestCase):
    def row(self, **found: object) -> dict:
        well = {"fault": "crash", "repeat": "1", "step": "16", "at_s": "3.0", "out_s": "0.41", "after": "0", "left": "", "exit": "1"}
        return well | {"message": "rolled back", "users": "1000", "failed": "2", "candidate": "50", "seconds": "40"} | found

    def of_series(self, name: str, **found: object) -> dict:
        well = dict.fromkeys(series.COLUMNS, "") | {"series": name, "repeat": "1", "exit": "1", "status": "rolled_back", "after_s": "90", "requests": "500"}
        return well | {"accepted": "100", "lost": "0", "twice": "0", "cut": "0", "share": "0.1"} | found

    def render(self, cases: list[dict], of_series: list[dict] | None = None, simulated: list[dict] | None = None) -> str:
        return page.render({"cases": cases, "series": of_series or [], "simulated": simulated or []}, dict.fromkeys(("cases", "series", "simulated"), []), {"date": "2026-11-29"})

    def test_all_is_well(self):
        text = self.render([self.row(), self.row(repeat="2", out_s="0.51")])
        self.assertIn("| `crash` | 2 | 0.46 (0.41–0.51) | ≤ 3 s | 0 | 4 of 2,000 | 0.01 (0.01) | 1 (2) |", text)
        self.assertIn("after ≤ 3 s | 2 of 5 | 0.46 (0.41–0.51) s; 0 requests after that | kept so far |", text)
        self.assertIn("exactly once | 0 of 20 | – | not measured |", text)
        self.assertNotIn("did not keep", text)

    def test_what_is_wrong_is_named(self):
        for found, words in [
            ({"out_s": "3.20"}, "after 3.20 s"),
            ({"out_s": "", "after": ""}, "went on taking requests"),
            ({"after": "4"}, "4 requests after that"),
            ({"message": ""}, "no answer"),
            ({"message": "no answer: error: the balancer ended"}, "no answer"),
            ({"failed": "200"}, "users saw 1.50 times the candidate's share"),
            ({"left": "candidate UP 4"}, "left in the balancer: candidate UP 4"),
        ]:
            text = self.render([self.row(**found)])
            self.assertIn("not kept: ", text)
            self.assertIn(words, text)
        self.assertEqual(page.problems(self.row(left="candidate MAINT 0; control MAINT 0")), [])
        self.assertEqual(page.problems(self.row(fault="kill-run", message="")), [], "it was killed before it had an answer")

    def test_rows_say_which_program_they_are_by(self):
        by = {"commit": "0123456789", "profile": "release", "date": "2026-12-01"}
        text = self.render([self.row(**by), self.row(repeat="2", **by), self.row(repeat="3")])
        self.assertIn("| 0123456789 | release | 2026-12-01 | crash (2) |", text)
        self.assertIn("| not recorded | not recorded | not recorded | crash (1) |", text)

    def test_rows_of_other_commits_are_in_no_bar(self):
        tables = {"cases": [self.row(message="", commit="old")], "series": [], "simulated": []}
        text = page.render(dict.fromkeys(tables, []), tables, {"date": "2026-12-01"})
        self.assertIn("0 rollouts behind", text)
        self.assertIn("1 rollout by programs of other commits, which no bar above counts; 1 of them did not keep", text)

    def test_what_is_wrong_in_a_series_is_named(self):
        for name, well, bad, words in [
            ("equal", {"status": "not_shown"}, {"status": "stopped"}, "stopped"),
            ("late", {}, {"status": "no_worse"}, "not rolled back: no_worse"),
            ("nginx", {"status": "no_worse"}, {"status": "stopped"}, "stopped"),
            ("leak", {}, {"share": "0.333"}, "only in the last step"),
            ("ramp", {"status": "carried", "carried": "2.0"}, {"status": "carried", "carried": "3.0"}, "carried 3.0"),
            ("mail", {}, {"lost": "1"}, "1 lost"),
            ("mail", {}, {"cut": "2"}, "2 cut"),
            ("mail", {}, {"left": "candidate 0"}, "left in the balancer: candidate 0"),
        ]:
            self.assertEqual(page.problems_of_series(self.of_series(name, **well)), [], name)
            self.assertEqual(page.problems_of_series(self.of_series(name, **bad)), [words])
            self.assertIn(words, self.render([], [self.of_series(name, **bad)]))

    def test_two_of_forty_equal_rollouts_may_be_rolled_back(self):
        rows = [self.of_series("equal", status="not_shown") for _ in range(38)]
        rolled_back = self.of_series("equal")
        self.assertIn("| 40 of 40 | 2 rolled back | kept |", self.render([], [*rows, rolled_back, rolled_back]))
        self.assertIn("| 41 of 40 | 3 rolled back | **not kept** |", self.render([], [*rows, *[rolled_back] * 3]))

    def test_simulated_rollouts_have_bars(self):
        simulated = [{"case": "equal, 1 % late, stalls", "rollouts": "1000", "rolled_back": "11", "median_s": "", "p90_s": ""}]
        self.assertIn("| 1,000 of 1,000 | 11 rolled back | **not kept** |", self.render([], [], simulated))
        simulated[0]["rolled_back"] = "10"
        self.assertIn("| 1,000 of 1,000 | 10 rolled back | kept |", self.render([], [], simulated))


if __name__ == "__main__":
    unittest.main()
