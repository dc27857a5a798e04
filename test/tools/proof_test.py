#!/usr/bin/env python3
# proof_test.py - tools/proof.py runs what a plan says, counts it, and does not hide what is short.
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BARS = "1 | 5 | 9 | things\n2 | 0 | 0 | others\n34 | <= 60 min | - | wall time\n"


class Proof(unittest.TestCase):
    def proof(self, plan, bars=BARS, words=("ci",)):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "test"))
            for name, text in (("proof.plan", plan), ("bars.txt", bars)):
                with open(os.path.join(root, "test", name), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "proof.py"),
                                   *words, "--root", root], capture_output=True, text=True,
                                  env={**os.environ, "BUILD": "build"}, check=False)
            return done.returncode, done.stdout + done.stderr

    def last(self, output):
        return output.rstrip().splitlines()[-1]

    def test_counts_are_summed(self):
        code, output = self.proof("a | ci | 9 | echo 7 passed, 0 failed\nb | ci | 9 | true\n")
        self.assertEqual((code, self.last(output)), (0, "8 passed, 0 failed"))

    def test_a_failing_step_fails_and_shows_its_end(self):
        code, output = self.proof("a | ci | 9 | echo the reason; false\nb | ci | 9 | true\n")
        self.assertEqual((code, self.last(output)), (1, "1 passed, 1 failed"))
        self.assertIn("| the reason", output)

    def test_a_step_that_says_failed_fails(self):
        code, output = self.proof("a | ci | 9 | echo 3 passed, 2 failed; exit 1\n")
        self.assertEqual((code, self.last(output)), (1, "3 passed, 2 failed"))

    def test_a_step_out_of_time_is_ended(self):
        code, output = self.proof("a | ci | 1 | sleep 30 | cat\n")
        self.assertEqual((code, self.last(output)), (1, "0 passed, 1 failed"))
        self.assertIn("not over after 1 s", output)

    def test_plans_contain_each_other(self):
        plan = ("a | ci | 9 | true\nb | proof | 9 | true\nc | soak | 9 | true\n"
                "d | short | 9 | true\ne | short | 9 | true\n")
        self.assertIn("3 passed, 0 failed", self.last(self.proof(plan)[1]))
        self.assertIn("2 passed, 0 failed", self.last(self.proof(plan, words=("proof",))[1]))
        self.assertIn("1 passed, 0 failed", self.last(self.proof(plan, words=("soak",))[1]))

    def test_a_bar_has_its_figures(self):
        code, output = self.proof("a | ci | 9 | echo bar 1 met: 6 things; echo bar 2 met: 0\n")
        self.assertEqual(code, 0)
        self.assertIn("met: 6 things", output)

    def test_a_bar_without_a_figure_says_so(self):
        self.assertIn("no figure in this plan", self.proof("a | ci | 9 | true\n")[1])

    def test_a_short_bar_needs_a_reason(self):
        plan = "a | ci | 9 | echo bar 1 met: 5; echo bar 1 short: 3 things\n"
        code, output = self.proof(plan)
        self.assertEqual((code, self.last(output)), (1, "1 passed, 1 failed"))
        self.assertIn("SHORT: 5; 3 things", output)
        code, output = self.proof(plan, BARS + "1 short: there are no more\n")
        self.assertEqual(code, 0)
        self.assertIn("because: there are no more", output)

    def test_a_met_bar_has_no_reason(self):
        code, output = self.proof("a | ci | 9 | echo bar 1 met: 5\n", BARS + "1 short: few\n")
        self.assertEqual(code, 1)
        self.assertIn("drop its reason", output)

    def test_an_unknown_bar_fails(self):
        self.assertEqual(self.proof("a | ci | 9 | echo bar 7 met: 5\n")[0], 1)

    def test_a_malformed_plan_is_refused(self):
        for line in ("a | ci | 9\n", "a | nightly | 9 | true\n", "a | ci | soon | true\n",
                     "a | ci | 9 | true\na | ci | 9 | true\n"):
            self.assertEqual(self.proof(line)[0], 2, line)


if __name__ == "__main__":
    unittest.main()
