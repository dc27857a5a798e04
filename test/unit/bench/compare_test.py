#!/usr/bin/env python3
# compare_test.py - bench/compare.py: what it calls moved, and its exit codes.
import json
import os
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path.insert(0, os.path.join(ROOT, "bench"))
sys.dont_write_bytecode = True

import compare  # noqa: E402


def result(median, low, high, better="more", name="W1", runs=5, options=None, values=None, cpu="x"):
    return {"bench": name, "unit": "messages/s", "better": better, "median": median, "min": low,
            "max": high, "repeats": runs, "disturbed": 0, "workers": 2, "values": values or {},
            "options": options or {"pairs": 1}, "machine": {"cpu": cpu, "cpus": 2}, "build": {}}


class CompareTest(unittest.TestCase):
    def run_on(self, before, after, *arguments):
        """The exit code and what was said."""
        said = []
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, lines in (("a", before), ("b", after)):
                paths.append(os.path.join(folder, name))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    for line in lines:
                        file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
            code = compare.main(paths + list(arguments), said.append)
        return code, "\n".join(said)

    def test_overlap_is_noise(self):
        code, said = self.run_on([result(100, 80, 120)], [result(70, 60, 80)])
        self.assertEqual(code, 0)
        self.assertIn("0 values moved, 1 did not", said)

    def test_worse_beyond_the_limit(self):
        code, said = self.run_on([result(100, 95, 105)], [result(80, 78, 82)])
        self.assertEqual(code, 1)
        self.assertIn("-20.0 %  worse  REGRESSION", said)

    def test_worse_within_the_limit(self):
        code, said = self.run_on([result(100, 99, 101)], [result(96, 95, 97)])
        self.assertEqual(code, 0)
        self.assertIn("worse", said)
        self.assertNotIn("REGRESSION", said)
        self.assertEqual(self.run_on([result(100, 99, 101)], [result(96, 95, 97)],
                                     "--limit", "0.03")[0], 1)

    def test_the_limit_itself_is_no_regression(self):
        self.assertEqual(self.run_on([result(100, 100, 100)], [result(75, 75, 75)],
                                     "--limit", "0.25")[0], 0)

    def test_only_like_is_compared_with_like(self):
        before, after = result(100, 95, 105), result(50, 48, 52)
        near = dict(before, place="near", link_ns=1.0)
        for other, said in ((dict(after, place="far", link_ns=1.0), "not judged: near before, far after"),
                            (dict(after, place="near", link_ns=1.3), "not judged: the processors' speed"),
                            (dict(after, place="mixed", link_ns=1.0), "not judged: near before, mixed")):
            code, output = self.run_on([near], [other])
            self.assertEqual(code, 0)
            self.assertIn(said, output)
        self.assertEqual(self.run_on([near], [dict(after, place="near", link_ns=1.05)])[0], 1)
        self.assertEqual(self.run_on([before], [dict(after, place="near", link_ns=1.0)])[0], 1)

    def test_better(self):
        code, said = self.run_on([result(100, 95, 105)], [result(150, 140, 160)])
        self.assertEqual(code, 0)
        self.assertIn("+50.0 %  better", said)

    def test_less_is_better(self):
        self.assertEqual(self.run_on([result(100, 95, 105, "less")],
                                     [result(150, 140, 160, "less")])[0], 1)
        self.assertEqual(self.run_on([result(100, 95, 105, "less")],
                                     [result(50, 45, 55, "less")])[0], 0)

    def test_values_count_as_figures_do(self):
        p99 = {"better": "less", "median": 10, "min": 9, "max": 11}
        late = {"better": "less", "median": 30, "min": 29, "max": 31}
        code, said = self.run_on([result(100, 95, 105, values={"p99_ns": p99})],
                                 [result(100, 95, 105, values={"p99_ns": late})])
        self.assertEqual(code, 1)
        self.assertIn("W1/p99_ns", said)
        self.assertIn("+200.0 %  worse  REGRESSION", said)

    def test_options_tell_results_apart(self):
        code, said = self.run_on([result(100, 99, 101), result(10, 9, 11, options={"pairs": 8})],
                                 [result(100, 99, 101), result(10, 9, 11, options={"pairs": 9})])
        self.assertEqual(code, 0)
        self.assertIn("only before", said)
        self.assertIn("only after", said)

    def test_the_cost_of_the_clock_is_no_option(self):
        code, said = self.run_on([result(100, 99, 101, options={"clock_cost_ns": 1})],
                                 [result(50, 49, 51, options={"clock_cost_ns": 2})])
        self.assertEqual(code, 1)

    def test_several_lines_widen_the_range(self):
        code, _ = self.run_on([result(100, 99, 101), result(60, 59, 61)], [result(70, 69, 71)])
        self.assertEqual(code, 0)

    def test_too_few_runs(self):
        code, said = self.run_on([result(100, 99, 101, runs=2)], [result(10, 9, 11)])
        self.assertEqual(code, 0)
        self.assertIn("not judged", said)

    def test_another_machine_is_said(self):
        _, said = self.run_on([result(1, 1, 1)], [result(1, 1, 1, cpu="y")])
        self.assertIn("different machines", said)

    def test_the_peers_results(self):
        def peers(figure, ratio):
            return [{"machine": {"cpu": "x", "cpus": 2}},
                    {"workload": "W1", "peer": "axo", "unit": "messages/s", "median": figure,
                     "min": figure, "max": figure, "repeats": 5, "workers": 2, "disturbed": 0,
                     "values": {"p50_ns": {"median": 1e9 / figure, "min": 1e9 / figure,
                                           "max": 1e9 / figure, "repeats": 5}}},
                    {"workload": "W1", "peer": "go", "unit": "messages/s", "median": figure,
                     "min": 1, "max": 2, "repeats": 5, "workers": 2, "disturbed": 0, "values": {}},
                    {"workload": "W1", "row": "W1", "ratio_to": "go", "median": ratio,
                     "min": ratio, "max": ratio, "repeats": 5}]
        code, said = self.run_on(peers(100, 4), peers(50, 3), "--all")
        self.assertEqual(code, 1)
        self.assertIn("3 regressions", said)
        self.assertIn("W1 / go", said)
        self.assertEqual(self.run_on(peers(100, 4), peers(120, 4))[0], 0)

    def test_unusable_files(self):
        self.assertEqual(self.run_on([], [result(1, 1, 1)])[0], 2)
        self.assertEqual(self.run_on(["{"], [result(1, 1, 1)])[0], 2)
        self.assertEqual(self.run_on(['{"bench":"W1"}'], [result(1, 1, 1)])[0], 2)
        self.assertEqual(self.run_on([result(1, 1, 1, name="W2")], [result(1, 1, 1)])[0], 2)
        said = []
        self.assertEqual(compare.main(["/nonexistent/a", "/nonexistent/b"], said.append), 2)


if __name__ == "__main__":
    unittest.main()
