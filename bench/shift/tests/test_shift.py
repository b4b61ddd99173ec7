"""Tests of what is counted, and of what the page says."""

import unittest

from shift import case, page
from shift.bed import Look, candidate_of

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


class Page(unittest.TestCase):
    def row(self, **found: object) -> dict:
        well = {"fault": "crash", "repeat": "1", "at_s": "3.0", "out_s": "0.41", "after": "0", "left": "", "exit": "1"}
        return well | {"message": "rolled back", "users": "1000", "failed": "2", "candidate": "50", "seconds": "40"} | found

    def test_all_is_well(self):
        text = page.render([self.row(), self.row(repeat="2", out_s="0.51")], {"date": "2026-11-29"})
        self.assertIn("All of them keep their bars.", text)
        self.assertIn("| `crash` | 2 | 0.46 (0.41–0.51) | ≤ 3 s | 0 | 4 of 2,000 | 1 (2) |", text)
        self.assertNotIn("Bars that were not kept", text)

    def test_what_is_wrong_is_named(self):
        for found, words in [
            ({"out_s": "3.20"}, "after 3.20 s"),
            ({"out_s": "", "after": ""}, "went on taking requests"),
            ({"after": "4"}, "4 requests after that"),
            ({"left": "candidate UP 4"}, "left in the balancer: candidate UP 4"),
        ]:
            text = page.render([self.row(**found)], {})
            self.assertIn("0 of them keep their bars.", text)
            self.assertIn(words, text)
        self.assertEqual(page.problems(self.row(left="candidate MAINT 0; control MAINT 0")), [])


if __name__ == "__main__":
    unittest.main()
