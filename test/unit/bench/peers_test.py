#!/usr/bin/env python3
# peers_test.py - which runs make a pair, which are dropped, and against whom a goal is met.
import contextlib
import io
import json
import os
import stat
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
sys.path[:0] = [os.path.join(ROOT, "bench", "peers"), os.path.join(ROOT, "tools")]
sys.dont_write_bytecode = True

import figures  # noqa: E402
import run  # noqa: E402


def a_run(figure, place="near", link=1.0, foreign=0.0, unit="messages/s"):
    return dict({key: None for key in run.KEYS}, figure=figure, unit=unit, workers=2, note="",
                peak_bytes=1, place=place, link_ns=link, foreign=foreign)


class PlaceTest(unittest.TestCase):
    def place(self, ways, links=(1.0, 1.0)):
        return run.place_of(*({"line_ns": way, "link_ns": link} for way, link in zip(ways, links)))[0]

    def test_near_and_far(self):
        self.assertEqual(self.place((28, 79.9)), "near")
        self.assertEqual(self.place((80, 155)), "far")

    def test_mixed(self):
        self.assertEqual(self.place((28, 155)), "mixed")
        self.assertEqual(self.place((-1, 28)), "mixed")
        self.assertEqual(self.place((28, 28), (1.0, 1.2)), "mixed")
        self.assertEqual(self.place((28, 28), (1.0, 1.09)), "near")

    def test_one_processor_and_no_probe(self):
        self.assertEqual(self.place((0, 0)), "alone")
        self.assertEqual(run.place_of(None, None)[0], "unknown")

    def test_the_limits_are_those_of_the_harness(self):
        with open(os.path.join(ROOT, "bench", "place.h"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn(f"#define PLACE_NEAR_NS  {run.NEAR_NS}", text)
        self.assertIn(f"#define PLACE_SPEED    {run.SAME_SPEED}", text)


class PairTest(unittest.TestCase):
    def figures(self, mine, theirs):
        return sorted((one["figure"], other["figure"]) for one, other in run.pairs_of(mine, theirs))

    def test_of_one_round(self):
        self.assertEqual(self.figures([a_run(1), a_run(2)], [a_run(3), a_run(4)]), [(1, 3), (2, 4)])

    def test_near_is_no_pair_of_far(self):
        self.assertEqual(self.figures([a_run(1)], [a_run(2, "far")]), [])

    def test_mixed_is_no_pair_of_mixed(self):
        self.assertEqual(self.figures([a_run(1, "mixed")], [a_run(2, "mixed")]), [])

    def test_another_speed_is_no_pair(self):
        self.assertEqual(self.figures([a_run(1)], [a_run(2, link=1.2)]), [])

    def test_the_nearest_round_has_the_like(self):
        mine = [a_run(1), a_run(2, "far"), None, a_run(3, "far")]
        theirs = [a_run(4, "far"), a_run(5), a_run(6, "far"), a_run(7, "mixed")]
        self.assertEqual(self.figures(mine, theirs), [(1, 5), (2, 4), (3, 6)])

    def test_each_run_once(self):
        self.assertEqual(len(run.pairs_of([a_run(1), a_run(2)], [a_run(3), None])), 1)


class SumTest(unittest.TestCase):
    def test_disturbed_runs_are_dropped_and_counted(self):
        rounds = [{"axo": a_run(8), "go": a_run(2)}, {"axo": a_run(9, foreign=0.07), "go": a_run(3)}]
        kept, dropped = run.calm({("W1", 2): rounds})
        self.assertEqual(dropped, {("W1", 2, "axo"): 1, ("W1", 2, "go"): 0})
        lines = list(run.result_lines(("W1", 2), kept["W1", 2], dropped))
        self.assertEqual([(line["peer"], line["median"], line["repeats"], line["dropped"])
                          for line in lines], [("axo", 8, 1, 1), ("go", 2.5, 2, 0)])
        self.assertEqual([(line["median"], line["repeats"])
                          for line in run.ratio_lines(("W1", 2), kept)], [(4, 1)])

    def test_where_the_runs_were(self):
        rounds = [{"axo": a_run(8)}, {"axo": a_run(9, "far")}, {"axo": a_run(9, "far")}]
        line = next(run.result_lines(("W1", 2), rounds, {}))
        self.assertEqual(line["places"], {"near": 1, "far": 2})

    def test_a_peer_on_one_worker_is_a_peer(self):
        results = {("W1", 2): [{"axo": a_run(8), "go": a_run(4)}],
                   ("W1", 1): [{"axo": a_run(9), "go": a_run(2)}]}
        self.assertEqual([(line["ratio_to"], line["median"])
                          for line in run.ratio_lines(("W1", 2), results)], [("go", 2), ("go (1)", 4)])
        own = [(line["row"], line["own"], line["median"]) for line in run.own_lines(results)]
        self.assertEqual(own, [("W1 on 2 / 1", "axo", 8 / 9), ("W1 on 2 / 1", "go", 2)])

    def test_time_and_actors(self):
        results = {("W9a", 2): [{"axo": a_run(200, unit="ns")}], ("W9a", 1): [{"axo": a_run(100, unit="ns")}],
                   ("W18k", 2): [{"axo": a_run(50)}], ("W18m", 2): [{"axo": a_run(20)}]}
        own = {line["row"]: line["median"] for line in run.own_lines(results)}
        self.assertEqual(own, {"W9a on 2 / 1": 0.5, "W18k / W18m": 2.5})

    def test_on_one_worker_but_what_needs_a_processor_beside(self):
        settings = run.settings_of(["--workers", "2,1", "--only", "W1,W12r,F-line", "--peers", "axo"])
        self.assertEqual([(on, group[0][0]) for on, group in run.turns(settings)],
                         [(2, "W1"), (1, "W1"), (2, "W12s"), (2, "F-call")][:2] +
                         [(2, group[0]) for group, *_ in run.GROUPS
                          if {"W12r", "F-line"} & set(group)])


class ToolTest(unittest.TestCase):
    """run.py whole, on programs that say what they are told."""

    def run_on(self, programs, *arguments):
        with tempfile.TemporaryDirectory() as build:
            for name, text in programs.items():
                path = os.path.join(build, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\n{text}\n")
                os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
            said, argv = io.StringIO(), sys.argv
            sys.argv = ["run.py", "--build", build, "--quick", "--rounds", "2", *arguments]
            try:
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
                    code = run.main()
            finally:
                sys.argv = argv
            path = os.path.join(build, "bench", "peers.json")
            with open(path, encoding="utf-8") as file:
                return code, said.getvalue(), [json.loads(line) for line in file]

    AXO = ("echo '{\"bench\":\"W1\",\"unit\":\"messages/s\",\"median\":8,\"workers\":2,"
           "\"peak_rss_bytes\":1}'")
    GO = ("echo '{\"workload\":\"W1\",\"peer\":\"go\",\"unit\":\"messages/s\",\"median\":2,"
          "\"workers\":2,\"peak_bytes\":1}'")

    def test_without_its_packages_a_peer_is_left_out(self):
        code, said, lines = self.run_on({"release/bench/w1_x": self.AXO, "bench/peers/go": self.GO},
                                        "--peers", "axo,go,tokio", "--only", "W1", "--workers", "2")
        self.assertEqual(code, 0, said)
        self.assertIn("tokio is left out: it is not built", said)
        self.assertEqual([line["median"] for line in lines if "ratio_to" in line], [4])

    def test_the_probe_says_where_a_run_was(self):
        place = "echo '{\"line_ns\":%s,\"link_ns\":1.0}'"
        programs = {"release/bench/w1_x": self.AXO, "bench/peers/go": self.GO,
                    "bench/peers/place": place % 120}
        code, said, lines = self.run_on(programs, "--peers", "axo,go", "--only", "W1", "--workers", "2")
        self.assertEqual(code, 0, said)
        self.assertEqual([line["places"] for line in lines if "peer" in line], [{"far": 2}] * 2)
        # Near before each run and far after it: nothing makes a pair.
        flips = "test -e \"$0.far\" && rm \"$0.far\" && exec echo '{\"line_ns\":120,\"link_ns\":1.0}'\n" \
                "touch \"$0.far\"\n" + place % 30
        code, said, lines = self.run_on(dict(programs, **{"bench/peers/place": flips}), "--peers", "axo,go",
                                        "--only", "W1", "--workers", "2")
        self.assertEqual(code, 0, said)
        self.assertEqual([line["places"] for line in lines if "peer" in line], [{"mixed": 2}] * 2)
        self.assertEqual([line for line in lines if "ratio_to" in line], [])


def line_of(workload, peer, median, **rest):
    return dict({"workload": workload, "title": "t", "peer": peer, "unit": "messages/s", "median": median,
                 "min": median, "max": median, "repeats": 5, "workers": 2, "disturbed": 0, "values": {},
                 "note": ""}, **rest)


class GoalTest(unittest.TestCase):
    """What is said of a goal of 3 times the best of W1."""

    def goals(self, lines, goal=None, quoted=None, slower=None, counts=""):
        """The goals beside these results, with so many instructions."""
        with tempfile.TemporaryDirectory() as folder:
            results, path = os.path.join(folder, "results"), os.path.join(folder, "goals")
            with open(results, "w", encoding="utf-8") as file:
                machine = {"machine": {"workers": 2}}
                file.write("\n".join(map(json.dumps, [machine, *lines])) + "\n")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"goals": [goal or {"row": "W1", "times": 3, "note": "why"}], "less": ["W5"],
                           "quoted": quoted or [], "slower": slower or {}}, file)
            for name, text in (("instructions", "made by | gcc\n" + counts),
                               ("lines", "# x\na message | 3.02 | 0.01\n")):
                with open(os.path.join(folder, f"{name}.txt"), "w", encoding="utf-8") as file:
                    file.write(text)
            return figures.Goals(figures.Results(results), path, folder)

    def said(self, *arguments, **named):
        return list(self.goals(*arguments, **named).rows())[-1]

    AXO = line_of("W1", "axo", 12)
    GO = {"workload": "W1", "row": "W1", "ratio_to": "go", "median": 4}
    PONY = [{"from": "x", "anchors": {"W1": {"go": 10}}, "figures": {"Pony": {"W1": 20}}}]

    def test_met_against_what_was_measured(self):
        self.assertEqual(self.said([self.AXO, self.GO])[3:], ["4 × Go", "–", "met"])

    def test_a_better_peer_on_one_worker_counts(self):
        one = dict(self.GO, ratio_to="go (1)", median=2)
        self.assertEqual(self.said([self.AXO, self.GO, one])[3:],
                         ["2 × Go on one worker", "–", "missed: why"])

    def test_a_better_quoted_peer_counts(self):
        # Pony does twice what Go does there: 4 times Go is twice Pony.
        self.assertEqual(self.said([self.AXO, self.GO], quoted=self.PONY)[3:],
                         ["4 × Go", "2 × Pony", "missed: why"])

    def test_a_quoted_peer_of_which_less_is_better(self):
        lines = [line_of("W5", "axo", 12, unit="ns"), dict(self.GO, workload="W5", row="W5")]
        quoted = [{"from": "x", "anchors": {"W5": {"go": 20}}, "figures": {"Pony": {"W5": 10}}}]
        self.assertEqual(self.said(lines, {"row": "W5", "times": 3}, quoted)[4:], ["2 × Pony", "missed"])

    def test_one_that_was_measured_is_not_quoted(self):
        pony = dict(self.GO, ratio_to="Pony", median=3.5)
        self.assertEqual(self.said([self.AXO, self.GO, pony], quoted=self.PONY)[3:],
                         ["3.5 × Pony", "–", "met"])

    def test_the_floor_is_no_peer(self):
        floor = dict(self.GO, ratio_to="floor", median=0.5)
        self.assertEqual(self.said([self.AXO, self.GO, floor])[5], "met")

    def test_not_measured(self):
        self.assertEqual(self.said([line_of("W2", "axo", 1)])[2:], ["–", "–", "–", "not measured"])

    def test_a_limit(self):
        goal = {"row": "W1", "most": 13}
        self.assertEqual(self.said([self.AXO], goal)[5], "met")
        self.assertEqual(self.said([self.AXO], dict(goal, most=11))[5], "missed")

    def test_what_a_second_worker_slows(self):
        with tempfile.TemporaryDirectory() as folder:
            results = os.path.join(folder, "results")
            own = [{"workload": work, "on": 2, "row": f"{work} on 2 / 1", "own": "axo", "median": ratio,
                    "min": ratio, "max": ratio} for work, ratio in (("W1", 0.99), ("W4", 0.8))]
            with open(results, "w", encoding="utf-8") as file:
                file.write("\n".join(map(json.dumps, [{"machine": {"workers": 2}}, self.AXO, *own])))
            self.assertEqual(figures.Goals(figures.Results(results)).slower(),
                             {"W4": "0.8 × (0.8 to 0.8)"})

    def own(self, ratio, peer="axo", work="W4"):
        return {"workload": work, "row": f"{work} on 2 / 1", "own": peer, "median": ratio, "min": ratio,
                "max": ratio}

    def test_a_slower_row_needs_a_reason(self):
        said = self.goals([self.AXO, self.own(0.8)])
        self.assertEqual((said.unexplained(), said.stale()), (["W4"], []))
        self.assertIn("- W4, 0.8 × (0.8 to 0.8): **why is not known.**", figures.slower(said))
        said = self.goals([self.AXO, self.own(0.8)], slower={"W4": "{locked a message} of them"})
        self.assertEqual((said.unexplained(), said.stale()), ([], []))
        self.assertIn("- W4, 0.8 × (0.8 to 0.8): 3.02 of them", figures.slower(said))

    def test_a_reason_that_is_left_over(self):
        said = self.goals([self.AXO, self.own(0.99)], slower={"W4": "x"})
        self.assertEqual((said.unexplained(), said.stale()), ([], ["W4"]))
        self.assertEqual(self.goals([self.AXO], slower={"W4": "x"}).stale(), [])  # not measured

    def test_floors_of_a_message(self):
        # 12 million a second are 83 ns; 3 of 10 ns and 2.5 are 32.5.
        goal = {"row": "W1", "message_floors": 2}
        axo, floor = line_of("W1", "axo", 12e6, unit="messages/s"), line_of("F-rmw", "floor", 10, unit="ns")
        self.assertEqual(self.said([axo, floor], goal)[1:],
                         ["<= 2 × the floor of a message", "12 M/s, 2.56 × the floor", "–", "–", "missed"])
        self.assertEqual(self.said([axo, floor], dict(goal, message_floors=2.6))[5], "met")
        self.assertEqual(self.said([axo], goal)[5], "not measured")

    def test_instructions(self):
        axo, goal = line_of("W1", "axo", 12e6, unit="messages/s"), {"row": "W1", "instructions": 170}
        for count, state in (("W1 | 170.0 | x\n", "met"), ("W1 | 170.1 | x\n", "missed"),
                             ("W2 | 1.0 | x\n", "not measured")):
            self.assertEqual(self.said([axo], goal, counts=count)[5], state)
        self.assertEqual(self.said([axo], goal, counts="W1 | 170.1 | x\n")[2], "12 M/s, 170 instructions")

    def test_the_fewest_to_the_most(self):
        lines = [self.AXO] + [{"bench": "W18", "median": median} for median in (9, 5, 3)]
        goal = {"growth": "W18", "title": "grown", "most": 2.5}
        self.assertEqual(self.said(lines, goal), ["grown", "<= 2.5 ×", "3 ×", "", "", "missed"])
        self.assertEqual(self.said(lines, dict(goal, most=3))[5], "met")
        self.assertEqual(self.said([self.AXO], goal)[2:], ["–", "", "", "not measured"])

    def test_a_note_has_its_counts(self):
        note = ("{instructions W1} and {locked a message} and {lines a message}; {floor F-line}, {two W4}, "
                "{others W4}")
        lines = [self.AXO, line_of("F-line", "floor", 142.3, unit="ns"), self.own(0.9),
                 self.own(0.5, "go"), self.own(0.7, "caf")]
        goal = {"row": "W1", "most": 11, "note": note}
        self.assertEqual(self.said(lines, goal, counts="W1 | 179.3 | x\n")[5],
                         "missed: 179 and 3.02 and 0.01; 142 ns, 0.9 ×, 0.5 × to 0.7 ×")
        with self.assertRaisesRegex(figures.Refused, "nothing is accepted of {locked x}"):
            self.said(lines, dict(goal, note="{locked x}"))

    def test_a_better_row_of_theirs(self):
        goal = {"row": "W4c", "times_of": "W4", "times": 1.5}
        lines = [line_of("W4c", "axo", 12), line_of("W4", "go", 10), line_of("W4", "axo", 99)]
        self.assertEqual(self.said(lines, goal)[3:], ["1.2 × Go", "–", "missed"])

    def test_the_goals_of_the_page_are_of_rows(self):
        with open(os.path.join(ROOT, "bench", "goals.json"), encoding="utf-8") as file:
            said = json.load(file)
        known = {row for work in run.TITLES for _, row, _ in run.rows(work, "")}
        wanted = [part for goal in said["goals"] for part in [goal] + goal.get("more", [])]
        self.assertEqual([part for part in wanted if part.get("row", "W1") not in known], [])
        for source in said["quoted"]:
            rows = set(source["anchors"]).union(*source["figures"].values())
            self.assertEqual(rows - known, set())
        self.assertEqual(set(said["slower"]) - known, set())


if __name__ == "__main__":
    unittest.main()
