#!/usr/bin/env python3
# lines_test.py - by how much a count of lines.py may move, and how many a run has done.
import contextlib
import io
import os
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path.insert(0, os.path.join(ROOT, "bench", "lines"))
sys.dont_write_bytecode = True

import lines  # noqa: E402

ACCEPTED = "# x\nmessage | 1.04 | 0.00\nrestart | 24.00 | 0.10\n"


class LinesTest(unittest.TestCase):
    def check(self, **counts):
        """The exit code and the last line for these counts, beside those that are accepted."""
        guard, out = lines.guard, io.StringIO()
        lines.guard = lambda folder: counts
        try:
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
                path = os.path.join(folder, "lines.txt")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(ACCEPTED)
                code = lines.check(folder, path)
        finally:
            lines.guard = guard
        return code, out.getvalue().rstrip().splitlines()[-1]

    def test_two_percent_and_the_least(self):
        good, bad = (0, "2 passed, 0 failed"), (1, "1 passed, 1 failed")
        for message, restart, result in (((1.04, 0.0), (24.0, 0.1), good),
                                         ((1.06, 0.099), (24.47, 0.199), good),
                                         ((1.02, 0.0), (23.53, 0.0), good),
                                         ((1.063, 0.0), (24.0, 0.1), bad),
                                         ((1.017, 0.0), (24.0, 0.1), bad),
                                         ((1.04, 0.0), (24.49, 0.1), bad),
                                         ((1.04, 0.0), (23.51, 0.1), bad),
                                         ((1.04, 0.101), (24.0, 0.1), bad),
                                         ((1.04, 0.0), (24.0, 0.201), bad)):
            self.assertEqual(self.check(message=message, restart=restart), result)

    def test_lines_of_a_thread_outside(self):
        outside, lines.OUTSIDE = lines.OUTSIDE, ("message",)
        try:
            self.assertEqual(self.check(message=(1.04, 9.0), restart=(24.0, 0.1)), (0, "2 passed, 0 failed"))
            self.assertEqual(self.check(message=(1.04, 9.0), restart=(24.0, 9.0)), (1, "1 passed, 1 failed"))
        finally:
            lines.OUTSIDE = outside

    def test_one_that_is_not_accepted(self):
        self.assertEqual(self.check(message=(1.04, 0.0), restart=(24.0, 0.1), other=(3.0, 0.0)),
                         (1, "2 passed, 1 failed"))

    def test_one_that_is_not_counted_any_more(self):
        self.assertEqual(self.check(message=(1.04, 0.0)), (1, "1 passed, 1 failed"))

    def test_how_many_a_run_has_done(self):
        case = ("x", "program", "", "--rounds", (2, 7), 100)
        self.assertEqual(lines.done_of(case, 7, {}), 700)
        self.assertEqual(lines.done_of(case[:5] + ("handled",), 7, {"handled": 9}), 9)

    def test_names(self):
        names = [case[0] for case in lines.CASES]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(set(lines.NOT_GUARDED + lines.OUTSIDE) - set(names), set())


if __name__ == "__main__":
    unittest.main()
