#!/usr/bin/env python3
# restart_bench_test.py - axo-restart-bench: options, wrong options, every output, and its sums.
#
#   test/unit/bench/restart_bench_test.py PROGRAM [unittest's options]
#
# Runs are as short as they can be: no figure is judged, only that figures are there and agree.
import csv
import glob
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM = os.path.abspath(sys.argv.pop(1))
SHORT = ["--duration", "0.02", "--warmup", "0.005"]
ONCE = SHORT + ["--repeats", "1"]
LIMIT_S = 50
# Among the default of 10 000 actors that are always ready, one that is not waits for a second of
# the processors' time, several times in a restart that is waited for to its end: few are enough.
FEW = ["--burners", "20"]
PHASES = ["suspend", "decide", "clear", "rebuild", "resume"]
MARKS = ["failure", "suspended", "decided", "cleared", "rebuilt", "message"]
RANKS = ["p50_ns", "p90_ns", "p99_ns", "p99.9_ns", "max_ns"]
CSV_COLUMNS = ["case", "figure", "unit", "better", "median", "min", "max", "runs", "disturbed",
               "complete", "workers", "variant", "commit"]
ROW = re.compile(r" *(\d+\.\d{3}) (\d\.\d{12}) +(\d+)(?: +(\d+\.\d\d))?$")


def storm_fails(number, siblings, percent, seed):
    """What storm.c decides for a message, from its number and the seed alone."""
    mask = 2**64 - 1
    value = (number + seed * 0x9e3779b97f4a7c15) & mask
    value = ((value ^ value >> 30) * 0xbf58476d1ce4e5b9) & mask
    value = ((value ^ value >> 27) * 0x94d049bb133111eb) & mask
    dice = (value ^ value >> 31) >> 11
    return number % siblings % 2 == 1 and \
        dice / 2**53 < percent / 100 / (siblings // 2 / siblings)


def percentile_text(path):
    """((value, level, count, odds) of each row, footer's numbers by name) of HdrHistogram's text."""
    with open(path, encoding="ascii") as file:
        lines = file.read().split("\n")
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"], path
    rows = []
    for line in lines[2:]:
        found = ROW.match(line)
        if found:
            rows.append((float(found.group(1)), float(found.group(2)), int(found.group(3))))
    footer = {name: float(value)
              for name, value in re.findall(r"(\w[\w ]*?) +=\s+([\d.]+)", "\n".join(lines))}
    return rows, footer


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *arguments, **options):
        return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=self.folder,
                              universal_newlines=True, timeout=LIMIT_S, check=False, **options)

    def measure(self, *arguments, **options):
        """A run that has to succeed: what it printed."""
        done = self.start(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def lines(self, *arguments):
        """The JSON lines of a run."""
        return [json.loads(line)
                for line in self.measure(*arguments, "--json", "-").stdout.splitlines()]


class Options(Case):
    BAD = [
        (["--nonsense"], "--nonsense: no such option"),
        (["-x"], "no such option"),
        (["word"], '"word": everything is an option'),
        (["--depth"], "--depth: needs a value"),
        (["--list=3"], "takes no value"),
        (["--depth", "0"], '--depth: "0" is no whole number from 1 to 10000'),
        (["--depth", "10001"], "--depth"),
        (["--depth", "1,"], '--depth: "" is no whole number'),
        (["--depth", "1.5"], "--depth"),
        (["--depth", "-1"], "--depth"),
        (["--depth", "0x10"], "--depth"),
        (["--depth", "1e3"], "--depth"),
        (["--children", "1000001"], "--children"),
        (["--siblings", "x"], "--siblings"),
        (["--queue", "0"], "--queue"),
        (["--queue", ",".join(["1"] * 65)], "more than 64 values"),
        (["--queue", "1" * 100], "too long"),
        (["--mode", "warm"], '--mode: "warm" is none of: hot, paced, loaded'),
        (["--mode", "hot,,paced"], "--mode"),
        (["--how", "signal"], "none of: status, fail, throw, segv, abort"),
        (["--how", "status,segv", "--depth", "2"], "a crash takes what is below it along"),
        (["--how", "abort", "--children", "1"], "a crash takes what is below it along"),
        (["--how", "kill", "--children", "1"], "--how: kill"),
        (["--how", "kill", "--mode", "loaded"], "--how: kill"),
        (["--how", "kill", "--storm", "1"], "kill is not for --storm"),
        (["--scope", "none"], "--scope"),
        (["--family", "none"], "--family"),
        (["--storm", "51"], "--storm: \"51\" is no number from 0 to 50"),
        (["--storm", "nan"], "--storm"),
        (["--storm", "1", "--mode", "hot"], "--storm: goes with"),
        (["--storm", "1", "--siblings", "1"], "a storm needs two"),
        (["--storm", "1", "--rate", "10000000", "--duration", "10"], "too many to remember"),
        (["--storm", "1", "--rate", "10"], "fewer than siblings"),
        (["--suite", "all"], "none of: report, reference, crashes, quick"),
        (["--suite", "quick", "--depth", "2"], "--suite: has its own --depth"),
        (["--suite", "quick", "--rate", "2"], "--rate: not with --suite"),
        (["--family", "remake"], "--family: needs"),
        (["--scope", "all"], "--scope: needs --siblings"),
        (["--rate", "5"], "hot has none"),
        (["--mode", "paced", "--rate", "1,2"], "--rate: takes one value"),
        (["--burn", "5"], "--burn: is for --storm"),
        (["--burners", "5"], "--burners: is for --mode loaded"),
        (["--workers", "257"], "--workers"),
        (["--workers", ""], "--workers"),
        (["--duration", "0"], "--duration"),
        (["--duration", "1s"], "--duration"),
        (["--duration", "."], "--duration"),
        (["--warmup", "-1"], "--warmup"),
        (["--repeats", "0"], "--repeats"),
        (["--repeats", "101"], "--repeats"),
        (["--at-least", "0"], "--at-least"),
        (["--seed", "0"], "--seed"),
        (["--seed", "99999999999999999999"], "--seed"),
        (["--total", "0"], "--total"),
        (["--total", "1", "--duration", "1"], "one of them"),
        (["--total", "0.5"], "too few"),
        (["--json", "none/x.json"], "--json: there is no folder none"),
        (["--json", "."], "--json: . is no ordinary file"),
        (["--json", ""], "--json"),
        (["--csv", "pipe"], "--csv: pipe is no ordinary file"),
        (["--json", "-", "--csv", "-"], "only one of"),
        (["--marks", "m.csv", "--no-phases"], "--marks"),
        (["--percentiles", "pipe/x"], "--percentiles"),
        (["--out", "pipe"], "--out: pipe is no folder"),
        (["--out", ""], "--out"),
        (["--depth", ",".join(map(str, range(1, 21))), "--children",
          ",".join(map(str, range(1, 21)))], "more than 256 cases"),
    ]

    def test_bad_options(self):
        os.mkfifo(self.path("pipe"))
        for arguments, words in self.BAD:
            with self.subTest(arguments=arguments):
                done = self.start("--csv", "good.csv", "--out", "good", *arguments) \
                    if not {"--csv", "--out"} & set(arguments) else self.start(*arguments)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(words, done.stderr)
                self.assertTrue(done.stderr.startswith("axo-restart-bench: "), done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(os.listdir(self.folder), ["pipe"])

    def test_folder_that_cannot_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root writes everywhere")
        os.mkdir(self.path("closed"), 0o500)
        done = self.start("--json", "closed/x.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write in closed", done.stderr)

    def test_no_gnuplot(self):
        bare = dict(os.environ, PATH="/nonexistent")
        done = self.start("--plots", "p", *ONCE, env=bare)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no gnuplot", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])
        done = self.measure("--out", "o", *ONCE, env=bare)
        self.assertIn("no plots", done.stderr)
        self.assertEqual(glob.glob(self.path("o/*.svg")), [])
        self.assertTrue(os.path.exists(self.path("o/restart.json")))

    def test_help_lists_every_option(self):
        done = self.measure("--help")
        told = set(re.findall(r"--[a-z][a-z-]+", done.stdout))
        for option in sorted(told):
            valued = re.search(rf"^.*{option} (LIST|NAME|N|S|NS|FILE|DIR)\b", done.stdout, re.M)
            said = self.start(option if valued else option + "=1")
            self.assertEqual(said.returncode, 2, option)
            self.assertIn("needs a value" if valued else "takes no value", said.stderr)
        with open(os.path.join(os.path.dirname(__file__), "../../../bench/restart/options.c"),
                  encoding="utf-8") as file:
            source = file.read()
        known = {"--" + name for name in re.findall(r'{"([a-z-]+)", (?:required|no)_argument', source)}
        known |= {"--" + name for name in re.findall(r"LIST_(?:WORDS|NUMBERS)\((\w+),", source)
                  if name != "field"}
        self.assertEqual(told, known)

    def test_version(self):
        self.assertRegex(self.measure("--version").stdout, r"^axo-restart-bench \d+\.\d+\.\d+\n$")

    def test_cases_are_the_product_without_doubles(self):
        done = self.measure("--list", "--mode", "hot,paced", "--children", "0,2", "--family",
                            "keep,remake", "--scope", "one,all", "--siblings", "0,3")
        self.assertEqual(done.stdout.split(), [
            f"{mode}-status{rest}" for mode in ("hot", "paced") for rest in (
                "", "-siblings3-one", "-siblings3-all", "-children2-keep",
                "-children2-keep-siblings3-one", "-children2-keep-siblings3-all",
                "-children2-remake", "-children2-remake-siblings3-one",
                "-children2-remake-siblings3-all")])
        self.assertEqual(os.listdir(self.folder), [])

    def test_suites(self):
        for suite, most in (("report", 16), ("reference", 40), ("quick", 20)):
            names = self.measure("--list", "--suite", suite).stdout.split()
            self.assertEqual(len(names), len(set(names)))
            self.assertTrue(5 < len(names) < most, names)

    def test_total_is_divided(self):
        line = self.lines("--total", "0.2", "--repeats", "2", "--warmup", "0.01")[0]
        self.assertAlmostEqual(line["options"]["duration_s"], 0.2 / 4 - 0.01)


class Restarts(Case):
    SHAPES = ["--depth", "1,3", "--children", "0,2", "--family", "keep,remake", "--siblings", "2",
              "--scope", "one,all", "--queue", "3"]

    def check_line(self, line, runs):
        self.assertEqual(line["repeats"], runs)
        self.assertTrue(line["complete"])
        self.assertEqual(line["unit"], "ns")
        for name in ("cpu", "cpus", "kernel", "load"):
            self.assertIn(name, line["machine"])
        for name in ("compiler", "flags", "variant", "library"):
            self.assertIn(name, line["build"])
        self.assertTrue(line["commit"])
        self.assertGreaterEqual(line["counters"]["restarts"], 1)
        self.assertEqual(line["build"]["variant"], os.path.basename(os.path.dirname(
            os.path.dirname(PROGRAM))))
        self.assertGreater(line["peak_rss_bytes"], 0)
        for name, value in dict(line["values"], figure=line).items():
            self.assertLessEqual(value["min"], value["median"], name)
            self.assertLessEqual(value["median"], value["max"], name)
            self.assertIn(value["better"], ("less", "more"))
        ranks = [line["values"][name]["median"] for name in RANKS]
        self.assertEqual(ranks, sorted(ranks))
        self.assertGreater(ranks[0], 0)
        self.assertEqual(line["median"], ranks[0])

    def test_every_shape_in_every_output(self):
        self.measure(*self.SHAPES, *ONCE, "--json", "a.json", "--csv", "a.csv", "--markdown", "a.md",
                     "--marks", "marks.csv", "--percentiles", "deep/er")
        with open(self.path("a.json"), encoding="utf-8") as file:
            lines = [json.loads(text) for text in file]
        self.assertEqual(len(lines), 14)
        with open(self.path("a.csv"), encoding="utf-8", newline="") as file:
            table = list(csv.reader(file))
        self.assertEqual(table[0], CSV_COLUMNS)
        with open(self.path("marks.csv"), encoding="utf-8", newline="") as file:
            marks = list(csv.DictReader(file))
        with open(self.path("a.md"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("`axo-restart-bench " + " ".join(self.SHAPES + ONCE) + "`", page)
        for line in lines:
            name = line["options"]["case"]
            with self.subTest(case=name):
                self.check_line(line, 1)
                self.check_csv(line, [row for row in table[1:] if row[0] == name])
                self.check_marks(line, [row for row in marks if row["case"] == name])
                self.check_texts(line, self.path("deep/er"))
                self.assertEqual(page.count(f"| {name} "), page.count(f"| {name} *") or 3)
        self.assertEqual({row["case"] for row in marks},
                         {line["options"]["case"] for line in lines})
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["a.csv", "a.json", "a.md", "deep", "marks.csv"])
        self.assertEqual(glob.glob(self.path("deep/er/*.part*")), [])

    def check_csv(self, line, rows):
        self.assertEqual([row[1] for row in rows], list(line["values"]))
        for row in rows:
            self.assertEqual(len(row), len(CSV_COLUMNS))
            value = line["values"][row[1]]
            self.assertEqual([float(text) for text in row[4:7]],
                             [value["median"], value["min"], value["max"]])
            self.assertEqual(row[3], value["better"])
            self.assertEqual(row[2] == "ns", row[1].endswith("_ns"))
            self.assertEqual(row[7:11], [str(line["repeats"]), str(line["disturbed"]), "1", str(line["workers"])])

    def check_marks(self, line, rows):
        """Each restart's phases add up to its whole; and so do their means."""
        self.assertTrue(rows)
        sums = dict.fromkeys(PHASES, 0)
        for row in rows:
            times = [int(row[mark]) for mark in MARKS]
            self.assertEqual(times[0], 0)
            self.assertEqual(times, sorted(times))
            for phase, before, after in zip(PHASES, times, times[1:]):
                sums[phase] += after - before
        values = {name: value["median"] for name, value in line["values"].items()}
        if len(rows) < 65536:
            for phase in PHASES:
                self.assertAlmostEqual(values[phase + "_mean_ns"] / (sums[phase] / len(rows) or 1), 1,
                                       7)
        whole = sum(int(row["message"]) for row in rows)
        self.assertEqual(sum(sums.values()), whole)
        self.assertAlmostEqual(sum(values[phase + "_mean_ns"] for phase in PHASES) /
                               values["recorded_mean_ns"], 1, 7)
        longest = max(int(row["message"]) for row in rows)
        self.assertLessEqual(longest, values["recorded_max_ns"])
        if len(rows) < 65536:
            self.assertEqual(longest, values["recorded_max_ns"])

    def check_texts(self, line, folder):
        values = {name: value["median"] for name, value in line["values"].items()}
        touched = line["options"]["depth"] + line["options"]["children"] + \
            (line["options"]["siblings"] if line["options"]["scope"] == "all" else 0)
        kinds = ["", "recorded", *PHASES] + (["ready"] if touched > 1 else [])
        name = line["options"]["case"]
        for kind in kinds:
            path = os.path.join(folder, name + (f"-{kind}" if kind else "") + ".hgrm")
            rows, footer = percentile_text(path)
            self.assertEqual(footer["Total count"], rows[-1][2])
            self.assertEqual([row[1] for row in rows], sorted(row[1] for row in rows))
            self.assertEqual([row[2] for row in rows], sorted(row[2] for row in rows))
            begin = kind + "_" if kind else ""
            self.assertEqual(footer["Max"], values[begin + "max_ns"])
            half = next(row[0] for row in rows if row[2] * 2 >= footer["Total count"])
            self.assertEqual(half, values[begin + "p50_ns"])
        counts = {kind: percentile_text(os.path.join(folder, f"{name}-{kind}.hgrm"))[1]["Total count"]
                  for kind in ["recorded", *PHASES]}
        self.assertEqual(len(set(counts.values())), 1, counts)
        self.assertEqual(os.path.exists(os.path.join(folder, name + "-ready.hgrm")), touched > 1)

    def test_modes_hows_workers_and_repeats(self):
        lines = self.lines("--mode", "hot,paced,loaded", "--how", "status,fail,throw", "--depth",
                           "2", "--family", "keep,remake", *FEW, "--rate", "500",
                           "--repeats", "2", "--duration", "0.05", "--warmup", "0.005", "--workers",
                           "4", "--no-phases", "--csv", "c.csv")
        self.assertEqual(len(lines), 18)
        with open(self.path("c.csv"), encoding="utf-8", newline="") as file:
            table = list(csv.reader(file))
        for line in lines:
            self.check_line(line, 2)
            self.check_csv(line, [row for row in table if row[0] == line["options"]["case"]])
            self.assertEqual(line["workers"], 4)
            self.assertNotIn("suspend_mean_ns", line["values"])
            self.assertEqual("missed" in line["values"], line["options"]["mode"] != "hot")
            self.assertEqual("load_per_s" in line["values"], line["options"]["mode"] == "loaded")

    def test_crashes(self):
        for line in self.lines("--mode", "hot,paced", "--how", "segv,abort", "--depth", "1,2",
                               "--children", "0,3", "--family", "remake", "--siblings", "2",
                               "--scope", "one,all", "--rate", "500", *ONCE):
            self.check_line(line, 1)

    def test_processes_that_are_killed(self):
        if "built without libaxo-process" in self.start("--how", "kill", "--list").stderr:
            self.skipTest("built without libaxo-process")
        for line in self.lines("--mode", "hot,paced", "--how", "kill", "--rate", "200", *ONCE):
            self.check_line(line, 1)
            self.assertNotIn("suspend_mean_ns", line["values"])

    def test_one_worker_a_deep_tree_and_a_long_queue(self):
        for line in self.lines("--workers", "1", "--depth", "40", "--children", "30", "--family",
                               "keep,remake", "--queue", "1,100", *ONCE):
            self.check_line(line, 1)
            self.assertEqual(line["workers"], 1)

    def test_standard_output_is_the_file_alone(self):
        done = self.measure(*ONCE, "--csv", "-", "--json", "b.json")
        rows = list(csv.reader(io.StringIO(done.stdout)))
        self.assertEqual(rows[0], CSV_COLUMNS)
        self.assertTrue(all(len(row) == len(CSV_COLUMNS) for row in rows))
        self.assertIn("hot-status", done.stderr)

    def test_compare_reads_the_lines(self):
        self.measure(*SHORT, "--repeats", "3", "--json", "b.json")
        compare = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../bench/compare.py")
        done = subprocess.run([sys.executable, compare, "b.json", "b.json"], cwd=self.folder,
                              stdout=subprocess.PIPE, universal_newlines=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("0 values moved", done.stdout)

    def test_at_least(self):
        line = self.lines("--mode", "paced", "--rate", "400", "--at-least", "30", *ONCE,
                          "--percentiles", "p")[0]
        self.assertEqual(line["options"]["at_least"], 30)
        for kind in ("", "-recorded"):
            _, footer = percentile_text(self.path(f"p/paced-status{kind}.hgrm"))
            self.assertGreaterEqual(footer["Total count"], 30)


class Storms(Case):
    def test_accounting_is_exact(self):
        siblings, rate, seconds, warmup, seed = 11, 20000, 0.05, 0.01, 9
        self.measure("--storm", "0,1,10", "--siblings", str(siblings), "--rate", str(rate),
                     "--duration", str(seconds), "--warmup", str(warmup), "--seed", str(seed),
                     "--repeats", "1", "--how", "throw", "--json", "s.json", "--percentiles", ".")
        each = round(rate * seconds)
        begin = round(rate * warmup) + each
        with open(self.path("s.json"), encoding="utf-8") as file:
            lines = [json.loads(text) for text in file]
        self.assertEqual([line["options"]["storm_percent"] for line in lines], [0, 1, 10])
        for line in lines:
            percent = line["options"]["storm_percent"]
            failing = sum(storm_fails(number, siblings, percent, seed)
                          for number in range(begin, begin + each))
            odd = sum(number % siblings % 2 for number in range(begin, begin + each))
            calm = sum(number % siblings % 2 == 0 for number in range(begin - each, begin))
            self.assertEqual(line["values"]["messages"]["median"], each)
            self.assertEqual(line["values"]["failures"]["median"], failing)
            self.assertEqual(failing == 0, percent == 0)
            wanted = {"": each - odd, "-calm": calm, "-sick": odd - failing, "-rebuilt": failing,
                      "-late": each}
            for kind, count in wanted.items():
                path = self.path(line["options"]["case"] + kind + ".hgrm")
                self.assertEqual(os.path.exists(path), count > 0)
                if count > 0:
                    self.assertEqual(percentile_text(path)[1]["Total count"], count, kind)
            ratio = line["values"]["p99.9_ns"]["median"] / line["values"]["calm_p99.9_ns"]["median"]
            self.assertAlmostEqual(line["values"]["p99.9_over_calm"]["median"] / ratio, 1, 6)

    def test_a_share_of_all_messages_fails(self):
        count = sum(storm_fails(number, 100, 10, 1) for number in range(100000))
        self.assertAlmostEqual(count / 100000, 0.1, 2)


class Files(Case):
    def test_whole_or_not_at_all(self):
        for name in ("a.json", "a.csv"):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("as it was\n")

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        done = self.start(*ONCE, "--csv", "a.csv", "--json", "a.json", "--percentiles", "p",
                          preexec_fn=small_files, restore_signals=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("nothing is written", done.stderr)
        self.assertEqual([name for name in sorted(os.listdir(self.folder)) if name != "p"],
                         ["a.csv", "a.json"])
        self.assertEqual(glob.glob(self.path("p/*")), [])
        for name in ("a.json", "a.csv"):
            with open(self.path(name), encoding="utf-8") as file:
                self.assertEqual(file.read(), "as it was\n")

    def test_interrupted(self):
        child = subprocess.Popen(
            [PROGRAM, "--children", "0,1", "--repeats", "50", "--duration", "0.05", "--warmup",
             "0", "--json", "i.json", "--csv", "i.csv", "--markdown", "i.md", "--progress"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
            universal_newlines=True)
        for line in child.stderr:
            if re.search(r"hot-status: ([1-9]\d* of 50 runs|\d+ of 50 runs, [1-9])", line):
                child.send_signal(signal.SIGINT)
                break
        output, _ = child.communicate(timeout=LIMIT_S)
        self.assertEqual(child.returncode, 130)
        self.assertIn("incomplete", output)
        with open(self.path("i.json"), encoding="utf-8") as file:
            lines = [json.loads(text) for text in file]
        self.assertEqual(len(lines), 1)
        self.assertFalse(lines[0]["complete"])
        self.assertTrue(0 < lines[0]["repeats"] < 50)
        with open(self.path("i.csv"), encoding="utf-8", newline="") as file:
            self.assertTrue(all(row["complete"] == "0" for row in csv.DictReader(file)))
        with open(self.path("i.md"), encoding="utf-8") as file:
            self.assertIn("incomplete: it was interrupted", file.read())

    def test_plots(self):
        if shutil.which("gnuplot") is None:
            self.skipTest("no gnuplot")
        self.measure("--suite", "quick", *FEW, *ONCE, "--plots", "p p/q")
        for name in ("latency", "phases", "storm"):
            tree = xml.etree.ElementTree.parse(self.path(f"p p/q/restart-{name}.svg"))
            self.assertTrue(tree.getroot().tag.endswith("svg"))
            with open(self.path(f"p p/q/restart-{name}.png"), "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
            self.assertTrue(os.path.exists(self.path(f"p p/q/restart-{name}.gp")))
        self.assertEqual(len(os.listdir(self.path("p p/q"))), 9)


if __name__ == "__main__":
    unittest.main()
