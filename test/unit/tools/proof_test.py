#!/usr/bin/env python3
# proof_test.py - tools/proof.py runs what a plan says, counts it, and does not hide what is short.
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BARS = ("1 | ci | >= 5 / == 0 | >= 9 / == 0 | make soak ONLY=c | things\n"
        "2 | proof | < 0.5 | same | | others\n34 | ci | <= 60 | - | | minutes\n")
FREE = "34 | ci | <= 60 | - | | minutes\n"
ONE = "a | ci | 9 | echo bar 1 is 6 / 0: things\n"


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
        code, output = self.proof("a | ci | 9 | echo 7 passed, 0 failed\nb | ci | 9 | true\n", FREE)
        self.assertEqual((code, self.last(output)), (0, "8 passed, 0 failed"))

    def test_a_failing_step_fails_and_shows_its_end(self):
        code, output = self.proof("a | ci | 9 | echo the reason; false\nb | ci | 9 | true\n", FREE)
        self.assertEqual((code, self.last(output)), (1, "1 passed, 1 failed"))
        self.assertIn("| the reason", output)
        self.assertIn("failed: a: the reason\nfailed: a: exit code 1;", output.split("bars: ")[1])

    def test_a_step_that_says_failed_fails(self):
        code, output = self.proof("a | ci | 9 | echo 3 passed, 2 failed; exit 1\n", FREE)
        self.assertEqual((code, self.last(output)), (1, "3 passed, 2 failed"))

    def test_a_step_out_of_time_is_ended(self):
        code, output = self.proof("a | ci | 1 | sleep 30 | cat\n", FREE)
        self.assertEqual((code, self.last(output)), (1, "0 passed, 1 failed"))
        self.assertIn("not over after 1 s", output)

    def test_plans_contain_each_other(self):
        plan = ("a | ci | 9 | true\nb | proof | 9 | true\nc | soak | 9 | true\n"
                "d | short | 9 | true\ne | short | 9 | true\n")
        self.assertIn("3 passed, 0 failed", self.last(self.proof(plan, FREE)[1]))
        for words, count in (("proof", 2), ("soak", 1)):
            self.assertIn(f"{count} passed, 0 failed",
                          self.last(self.proof(plan, FREE, (words,))[1]))

    def test_a_bar_has_its_figures(self):
        code, output = self.proof(ONE)
        self.assertEqual(code, 0)
        self.assertIn("met: 6 / 0 (things)", output)
        self.assertIn("release >= 9 / == 0: not run: make soak ONLY=c", output)

    def test_a_plan_must_fill_its_bars(self):
        code, output = self.proof("a | ci | 9 | true\n")
        self.assertEqual((code, self.last(output)), (1, "1 passed, 1 failed"))
        self.assertIn("NO FIGURE", output)
        self.assertEqual(self.proof("a | ci | 9 | true\n", words=("ci", "--only", "a"))[0], 0)

    def test_a_larger_plan_fills_more(self):
        plan = ONE + "b | proof | 9 | echo bar 2 is 0.4: ms\n"
        self.assertEqual(self.proof(ONE, words=("proof",))[0], 1)
        self.assertEqual(self.proof(plan, words=("proof",))[0], 0)

    def test_a_smaller_plan_does_not_judge(self):
        code, output = self.proof(ONE + "b | short | 9 | echo bar 2 is 7: ms\n")
        self.assertEqual(code, 0)
        self.assertIn("7 (ms); judged by make proof", output)

    def test_the_soak_judges_the_release(self):
        code, output = self.proof("c | soak | 9 | echo bar 1 is 8 / 0: things\n", words=("soak",))
        self.assertEqual(code, 1)
        self.assertIn("SHORT: 8 / 0", output)
        self.assertEqual(self.proof("c | soak | 9 | echo bar 1 is 9 / 0: x\n", words=("soak",))[0], 0)
        self.assertEqual(self.proof("c | soak | 9 | true\n", words=("soak",))[0], 1)

    def test_each_condition_counts(self):
        for figures in ("4 / 0", "5 / 1", "6", "- / 0", "4.99 / 0"):
            plan = f"a | ci | 9 | echo bar 1 is {figures}: things\n"
            self.assertEqual(self.proof(plan)[0], 1, figures)

    def test_a_short_bar_needs_a_reason(self):
        plan = "a | ci | 9 | echo bar 1 is 5 / 0: things; echo bar 1 is 3 / 0: others\n"
        code, output = self.proof(plan)
        self.assertEqual((code, self.last(output)), (1, "1 passed, 1 failed"))
        self.assertIn("SHORT: 5 / 0 (things); 3 / 0 (others)", output)
        code, output = self.proof(plan, BARS + "1 short: there are no more\n")
        self.assertEqual(code, 0)
        self.assertIn("because: there are no more", output)

    def test_a_met_bar_has_no_reason(self):
        code, output = self.proof(ONE, BARS + "1 short: few\n")
        self.assertEqual(code, 1)
        self.assertIn("drop its reason", output)

    def test_an_unknown_bar_fails(self):
        self.assertEqual(self.proof(ONE + "b | ci | 9 | echo bar 7 is 5: x\n")[0], 1)

    def test_a_malformed_table_is_refused(self):
        for line in ("3 | ci | 5 | same | | x\n", "3 | night | == 5 | same | | x\n",
                     "3 | ci | == 5 | same | x\n", "1 | ci | == 5 | same | | x\n"):
            self.assertEqual(self.proof(ONE, BARS + line)[0], 2, line)

    def test_a_malformed_plan_is_refused(self):
        for line in ("a | ci | 9\n", "a | nightly | 9 | true\n", "a | ci | soon | true\n",
                     "a | ci | 9 | true\na | ci | 9 | true\n"):
            self.assertEqual(self.proof(line)[0], 2, line)

    def test_what_soaks_is_in_the_plan(self):
        """Each command of the table that is a part of make soak has a step."""
        with open(os.path.join(ROOT, "test", "proof.plan"), encoding="utf-8") as file:
            steps = [line.split("|")[0] for line in file if line.split("|")[1:2] == [" soak "]]
        with open(os.path.join(ROOT, "test", "bars.txt"), encoding="utf-8") as file:
            words = re.findall(r"make soak ONLY=(\S+)", file.read())
        self.assertGreater(len(words), 4)
        for word in words:
            self.assertTrue([step for step in steps if word in step], word)

    def test_the_fuzzers_fill_both_of_their_bars(self):
        """A fuzzer in the place of libFuzzer's: what it has found is crashes and reports."""
        for code, found in ((0, 0), (77, 1)):
            with tempfile.TemporaryDirectory() as build:
                program = os.path.join(build, "fuzz", "asan", "test", "fuzz", "fuzz_ring")
                os.makedirs(os.path.dirname(program))
                with open(program, "w", encoding="utf-8") as file:
                    file.write("#!/bin/sh\necho stat::number_of_executed_units: 12\n"
                               f"echo stat::average_exec_per_sec: 6\nexit {code}\n")
                os.chmod(program, 0o755)
                done = subprocess.run(["test/fuzz/run.sh", "fuzz", "fuzz_ring", "2", "1"],
                                      cwd=ROOT, capture_output=True, text=True, check=False,
                                      env={**os.environ, "BUILD": build})
            self.assertEqual(done.returncode, int(code != 0), done.stdout + done.stderr)
            self.assertIn(f"bar 20 is 2 / 12 / {found}: ", done.stdout)
            self.assertIn(f"bar 12 is {found}: ", done.stdout)


if __name__ == "__main__":
    unittest.main()
