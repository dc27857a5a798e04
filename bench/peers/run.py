#!/usr/bin/env python3
# run.py - axo and its peers on the same workloads, in turns; a table of figures and of ratios.
#
#   bench/peers/run.py --build build [--rounds 5] [--workers 2] [--only W1,W8a] [--peers axo,go]
#                      [--minutes 12] [--quick] [--out build/bench/peers.json]
#
# In each round every peer runs each workload once (after its own run to warm up), one peer after
# the other, in an order that moves on by one from round to round: all see the same weather. A run
# during which other processes used more than FOREIGN_MAX of the processors is taken again, at most
# RETRIES times. One that stays disturbed counts only where fewer than QUIET_MIN rounds were quiet,
# and has a tilde. A ratio says how many times better axo is, of the two runs of one round: axo/peer
# for what should be high, peer/axo for what should be low.
# The median, least and most are over the rounds. The first line of the JSON file is the machine;
# then one line a result, {"workload", "peer", "unit", "median", ...}, and one a ratio,
# {"workload", "row", "ratio_to", "median", ...}.
import argparse
import glob
import json
import os
import platform
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOREIGN_MAX = 0.06
RETRIES = 1
QUIET_MIN = 3
TIMEOUT_S = 600
QUICK_DIVIDE = 20
PEERS = ("axo", "erlang", "caf", "go", "floor")
COLUMNS = ("axo", "erlang", "erlang-bare", "erlang-normal", "elixir", "caf", "go",
           "go-supervised", "floor")

TITLES = {
    "W1": "ping-pong, 1 pair", "W2": "ping-pong, 8 pairs", "W2k": "ping-pong, 1000 pairs",
    "W3a": "ring of 100, 1 token", "W3b": "ring of 1000, 100 tokens",
    "W4": "4 producers, 1 consumer", "W5": "skynet, 1 M leaves", "W6": "spawn, one message, stop",
    "W7": "idle actor", "W8a": "restart, back to back", "W8b": "restart, paced at 1 kHz",
    "W8c": "restart, 10 000 busy actors", "W9a": "parent restarted, its 1000 children kept",
    "W9b": "parent restarted, its 1000 children made again", "W10": "all to all, 64 actors",
    "W11": "1000 pinged beside 64 busy", "W12s": "foreign thread: the send",
    "W12r": "foreign thread to running worker", "W12p": "foreign thread to parked worker",
    "F-call": "call through a pointer", "F-rmw": "locked addition",
    "F-line": "cache line to another thread", "F-jump": "setjmp and longjmp",
    "F-alloc": "malloc and free", "F-wake": "futex wake",
}
# Workloads in which a foreign thread keeps one of the processors.
FEWER = {"W12s", "W12r"}
# What one program of axo measures together; its full and its quick options.
GROUPS = [
    (["W1"], "w1_*", "--pairs 1 --messages 3000000", "--messages 150000"),
    (["W2"], "w1_*", "--pairs 8 --messages 3000000", "--messages 150000"),
    (["W2k"], "w1_*", "--pairs 1000 --messages 3000000", "--messages 150000"),
    (["W3a"], "w3_*", "--actors 100 --tokens 1 --hops 3000000", "--hops 150000"),
    (["W3b"], "w3_*", "--actors 1000 --tokens 100 --hops 3000000", "--hops 150000"),
    (["W4"], "w4_*", "--credits 0", "--messages 50000"),
    (["W5"], "w5_*", "", "--leaves 10000"),
    (["W6"], "w6_*", "", "--actors 50000"),
    (["W7"], "w7_*", "", "--actors 50000"),
    (["W8a", "W8b", "W8c"], "w8_*", "--ms 2000", "--ms 500"),
    (["W9a", "W9b"], "w9_*", "", "--rounds 5"),
    (["W10"], "w10_*", "--messages 3072000", "--messages 153600"),
    (["W11"], "w11_*", "--ms 2000", "--ms 500"),
    (["W12s", "W12r"], "w12_*", "--sends 300000 --stamps 10000 --wakes 1",
     "--sends 100000 --stamps 2000"),
    (["W12p"], "w12_*", "--sends 1000 --stamps 1 --wakes 1000", "--wakes 100"),
    (["F-call", "F-rmw", "F-line", "F-jump", "F-alloc", "F-wake"], None, "", ""),
]
# Rows of the table beside the figure of a workload: key in a run, word, unit.
TAILS = [("p50_ns", "p50", "ns"), ("p99_ns", "p99", "ns"), ("p999_ns", "p99.9", "ns")]
EXTRA = {"W4": [("peak_bytes", "peak", "bytes")], "W5": [("peak_bytes", "peak", "bytes")],
         "W8a": TAILS, "W8b": TAILS[1:], "W8c": TAILS[1:], "W11": TAILS, "W12r": TAILS[1:],
         "W12p": TAILS[1:]}
SCALE = {"ms": ("ns", 1e6), "us": ("ns", 1e3), "s": ("ns", 1e9), "bytes": ("bytes/actor", 1.0)}


def rows(workload, unit):
    """(key in a run, name of the row, its unit) of a workload."""
    return [("figure", workload, unit)] + \
        [(key, f"{workload} {word}", its) for key, word, its in EXTRA.get(workload, [])]


def better_is_more(unit):
    return unit.endswith("/s")


def value_of(values, key):
    """A value of axo's line: a number, or the median of a spread."""
    value = values.get(key)
    return value.get("median") if isinstance(value, dict) else value


def one_run(line):
    """A line of a program, axo's or a peer's, as (workload, peer, run)."""
    unit, scale = SCALE.get(line["unit"], (line["unit"], 1.0))
    run = {"unit": unit, "figure": line["median"] * scale, "workers": line["workers"],
           "note": line.get("note", ""),
           "peak_bytes": line.get("peak_bytes", line.get("peak_rss_bytes"))}
    values = dict(line, **line.get("values", {}))
    for key, word, _ in TAILS + [("max_ns", "max", "ns")]:
        value = value_of(values, key)
        run[key] = value if value is not None else value_of(values, word + "_ns")
    return line.get("workload", line.get("bench")), line.get("peer", "axo"), run


# ---- running

def busy_s():
    """Seconds that all processors were busy since the machine started."""
    with open("/proc/stat", encoding="ascii") as stat:
        used = [int(word) for word in stat.readline().split()[1:9]]
    return (sum(used) - used[3] - used[4]) / os.sysconf("SC_CLK_TCK")


def spent_s():
    spent = os.times()
    return spent.children_user + spent.children_system + spent.user + spent.system


def start(command):
    """What a program printed, and the share of the processors that others used meanwhile."""
    begin, busy, spent = time.monotonic(), busy_s(), spent_s()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=TIMEOUT_S, universal_newlines=True, stdin=subprocess.DEVNULL)
    wall = (time.monotonic() - begin) * len(os.sched_getaffinity(0))
    foreign = max(0.0, (busy_s() - busy) - (spent_s() - spent)) / max(wall, 1e-9)
    if done.returncode != 0:
        raise RuntimeError(f"ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], foreign


def command_of(peer, group, settings):
    """How a peer is started for a group of workloads; None if it has no program for it."""
    workloads, program, full, quick = group
    workers = max(1, settings.workers - 1) if FEWER & set(workloads) else settings.workers
    common = ["--workers", str(workers), "--repeats", "1"]
    if peer == "axo":
        found = sorted(glob.glob(f"{settings.build}/release/bench/{program}")) if program else []
        found = [path for path in found if os.access(path, os.X_OK) and not path.endswith(".d")]
        return found[:1] and found[:1] + common + full.split() + \
            (quick.split() if settings.quick else []) + ["--json", "-"]
    if workloads[0].startswith("F-") and peer != "floor":
        return None
    folder = os.path.join(settings.build, "bench", "peers")
    begin = [f"{folder}/erlang/run.sh", f"{folder}/erlang"] if peer == "erlang" else \
        [f"{folder}/{peer}"]
    wanted = [name for name in workloads if name in settings.only]
    return begin + common + ["--only", ",".join(wanted), "--divide",
                             str(QUICK_DIVIDE if settings.quick else 1)]


def take(peer, group, settings, failures):
    """One turn of a peer: its runs by (workload, peer)."""
    command = command_of(peer, group, settings)
    if not command:
        return {}
    for _ in range(RETRIES + 1):
        try:
            lines, foreign = start(command)
        except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            failures.append(f"{peer} {','.join(group[0])}: {error}")
            return {}
        if foreign <= FOREIGN_MAX or settings.quick:
            break
    got = {}
    for line in lines:
        workload, name, run = one_run(line)
        if len(lines) == 1 and workload not in TITLES:
            workload = group[0][0]
        if workload in settings.only and workload in group[0]:
            got[workload, name] = dict(run, foreign=foreign)
    return got


def measure_round(index, settings, results, failures):
    """One round: every peer in turn on every group of workloads."""
    turn = index % len(settings.peers)
    for group in [group for group in GROUPS if set(group[0]) & settings.only]:
        begin = time.monotonic()
        for peer in settings.peers[turn:] + settings.peers[:turn]:
            for (workload, name), run in take(peer, group, settings, failures).items():
                rounds = results.setdefault(workload, [])
                rounds.extend({} for _ in range(index + 1 - len(rounds)))
                rounds[index][name] = run
        print(f"round {index + 1}: {','.join(group[0])}: {time.monotonic() - begin:.1f} s",
              file=sys.stderr)


def measure(settings):
    """{workload: [{peer: run} for each round]}, what failed, and how many rounds there were."""
    results, failures, begin = {}, [], time.monotonic()
    for index in range(settings.rounds):
        passed = (time.monotonic() - begin) / 60
        if settings.minutes and index >= QUIET_MIN and \
                passed * (index + 1) / index > settings.minutes:
            print(f"{index} rounds took {passed:.1f} minutes: no more", file=sys.stderr)
            return results, failures, index
        measure_round(index, settings, results, failures)
    return results, failures, settings.rounds


# ---- summing up

def spread(values):
    ordered = sorted(values)
    count = len(ordered)
    return {"median": (ordered[count // 2] + ordered[(count - 1) // 2]) / 2, "min": ordered[0],
            "max": ordered[-1], "repeats": count}


def peers_of(rounds):
    return [peer for peer in COLUMNS if any(peer in one for one in rounds)]


def quiet(rounds, names):
    """The rounds that count for these peers: the quiet ones, or all if there are too few."""
    there = [one for one in rounds if all(name in one for name in names)]
    calm = [one for one in there if all(one[name]["foreign"] <= FOREIGN_MAX for name in names)]
    return calm if len(calm) >= min(QUIET_MIN, len(there)) else there


def result_lines(workload, rounds):
    for peer in peers_of(rounds):
        runs = [one[peer] for one in quiet(rounds, [peer])]
        line = {"workload": workload, "title": TITLES[workload], "peer": peer,
                "unit": runs[0]["unit"], **spread([run["figure"] for run in runs]),
                "workers": runs[0]["workers"],
                "disturbed": sum(run["foreign"] > FOREIGN_MAX for run in runs),
                "peak_bytes": max(run["peak_bytes"] or 0 for run in runs)}
        values = {}
        for key in ("p50_ns", "p99_ns", "p999_ns", "max_ns", "peak_bytes"):
            known = [run[key] for run in runs if run[key] is not None]
            if known:
                values[key] = spread(known)
                if key != "peak_bytes":
                    line[key] = values[key]["median"]
        yield dict(line, values=values, note=runs[0]["note"])


def ratio_lines(workload, rounds):
    """How many times better axo is, of pairs from one round."""
    for peer in [name for name in peers_of(rounds) if name != "axo"]:
        pairs = [(one["axo"], one[peer]) for one in quiet(rounds, ["axo", peer])]
        for key, name, unit in rows(workload, pairs[0][0]["unit"] if pairs else ""):
            known = [(axo[key], other[key]) for axo, other in pairs if axo[key] and other[key]]
            if known:
                yield {"workload": workload, "row": name, "ratio_to": peer,
                       **spread([axo / other if better_is_more(unit) else other / axo
                                 for axo, other in known])}


def words(value, unit):
    """A figure for people."""
    if unit == "ns":
        steps = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (0, "ns")]
    elif unit == "bytes":
        steps = [(2**20, "MiB"), (2**10, "KiB"), (0, "B")]
    elif unit == "bytes/actor":
        steps = [(0, "B")]
    else:
        steps = [(1e6, "M/s"), (1e3, "k/s"), (0, "/s")]
    for least, word in steps:
        if value >= least:
            return f"{value / (least or 1):.3g} {word}" if value / (least or 1) < 1000 else \
                f"{value / (least or 1):.0f} {word}"
    return f"{value:.3g}"


def times(value):
    """A ratio for people."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def table(results):
    for workload in [name for name in TITLES if name in results]:
        rounds = results[workload]
        names = peers_of(rounds)
        first = next(one[name] for name in names for one in rounds if name in one)
        ratios = {(line["row"], line["ratio_to"]): line for line in ratio_lines(workload, rounds)}
        print(f"\n{workload}: {TITLES[workload]}")
        for key, name, unit in rows(workload, first["unit"]):
            for peer in names:
                runs = [one[peer] for one in quiet(rounds, [peer])]
                known = [run[key] for run in runs if run[key] is not None]
                if not known:
                    continue
                got = spread(known)
                mark = "~" if any(run["foreign"] > FOREIGN_MAX for run in runs) else " "
                ratio = ratios.get((name, peer))
                print(f"  {name:<10} {peer:<14}{mark}{words(got['median'], unit):>10}  "
                      f"({words(got['min'], unit)} .. {words(got['max'], unit)})" +
                      ("" if ratio is None else f"   axo {times(ratio['median'])} x "
                       f"({times(ratio['min'])} .. {times(ratio['max'])})"))
        for peer in names:
            note = next((one[peer]["note"] for one in rounds if peer in one), "")
            if note:
                print(f"      {peer}: {note}")


# ---- the machine

def said(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              universal_newlines=True, check=False, cwd=ROOT).stdout.strip()
    except OSError:
        return ""


def package(name):
    return said("dpkg-query", "-W", "-f", "${Version}", name) or "unknown"


def machine(settings):
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        cpu = re.search(r"model name\s*: (.*)", info.read())
    version = open(os.path.join(ROOT, "include/axo/version.h"), encoding="utf-8").read()
    numbers = [re.search(rf"AXO_VERSION_{part} (\d+)", version).group(1)
               for part in ("MAJOR", "MINOR", "PATCH")]
    dirty = "-dirty" if said("git", "status", "--porcelain", "--untracked-files=no") else ""
    return {"cpu": cpu.group(1) if cpu else "unknown", "cpus": len(os.sched_getaffinity(0)),
            "kernel": platform.release(), "load": round(os.getloadavg()[0], 2),
            "workers": settings.workers, "rounds": settings.rounds, "quick": settings.quick,
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "versions": {"axo": ".".join(numbers) + " " +
                         (said("git", "rev-parse", "--short", "HEAD") or "unknown") + dirty,
                         "compiler": said(os.environ.get("CC", "cc"), "--version").split("\n")[0],
                         "erlang": package("erlang-base"), "elixir": package("elixir"),
                         "caf": package("libcaf-dev"),
                         "go": said("go", "env", "GOVERSION") or "unknown"}}


def machine_words(what):
    return (f"{what['cpu']}, {what['cpus']} processors, Linux {what['kernel']}, load "
            f"{what['load']}, {what['workers']} workers, {what['rounds']} rounds; " +
            ", ".join(f"{name} {version}" for name, version in what["versions"].items()))


def settings_of(arguments):
    parser = argparse.ArgumentParser(description="axo and its peers on the same workloads")
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="names of workloads, comma between")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--minutes", type=float, default=0,
                        help="begin no round that would end later, but 3 in any case")
    parser.add_argument("--quick", action="store_true", help="small sizes, 3 rounds")
    parser.add_argument("--out", help="the JSON lines; BUILD/bench/peers.json")
    settings = parser.parse_args(arguments)
    settings.build = os.path.abspath(settings.build)
    settings.rounds = settings.rounds or (3 if settings.quick else 5)
    settings.only = set(settings.only.split(",")) - {""} or set(TITLES)
    settings.peers = settings.peers.split(",")
    settings.out = settings.out or os.path.join(settings.build, "bench", "peers.json")
    unknown = (settings.only - set(TITLES)) | (set(settings.peers) - set(PEERS))
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return settings


def main():
    settings = settings_of(sys.argv[1:])
    where = machine(settings)
    print(machine_words(where))
    results, failures, where["rounds"] = measure(settings)
    table(results)
    with open(settings.out, "w", encoding="utf-8") as out:
        out.write(json.dumps({"machine": where}) + "\n")
        for workload in [name for name in TITLES if name in results]:
            for line in [*result_lines(workload, results[workload]),
                         *ratio_lines(workload, results[workload])]:
                out.write(json.dumps(line) + "\n")
    print(f"\nwritten to {settings.out}")
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures or not results else 0


if __name__ == "__main__":
    sys.exit(main())
