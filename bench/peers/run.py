#!/usr/bin/env python3
# run.py - axo and its peers on the same workloads, in turns; a table of figures and of ratios.
#
#   bench/peers/run.py --build build [--rounds 5] [--workers 2,1] [--only W1,W8a] [--peers axo,go]
#                      [--minutes 12] [--quick] [--out build/bench/peers.json]
#
# In each round every peer runs each workload once (after its own run to warm up), one peer after
# the other, in an order that moves on by one from round to round: all see the same weather. First with
# all workers, then with each other number of them. A run during which other processes used more than
# FOREIGN_MAX of the processors is taken again, at most RETRIES times; one that stays disturbed is
# dropped and counted, but in a quick run. A row of fewer than QUIET_MIN runs has a tilde.
#
# Before and after each run it is probed how long a cache line takes from one processor to another and
# how fast they run (bench/place.h). A run was near or far, or it is mixed: one before and the other
# after, or the speed changed. Only runs that were near, or far, at one speed make a pair: of one round,
# else of the nearest in which they were alike. A ratio says how many times better axo is, of the two
# runs of a pair: axo/peer for what should be high, peer/axo for what should be low. Of each peer there is
# also how many times more a second worker gets done, and 1000 actors beside a million.
#
# The median, least and most are over the rounds. The first line of the JSON file is the machine;
# then one line a result, {"workload", "on", "peer", "unit", "median", ...}, one a ratio, {"workload",
# "on", "row", "ratio_to", "median", ...}, and one a ratio of a peer to itself, {"row", "own", ...}.
# "on" is the number of workers that was asked for, "workers" that of those that ran.
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
NEAR_NS = 80.0  # as in bench/place.h
SAME_SPEED = 1.1
PEERS = ("axo", "erlang", "caf", "go", "tokio", "tbb", "floor")
# Those that are left out where their packages are not.
OPTIONAL = ("tokio", "tbb")
COLUMNS = ("axo", "erlang", "erlang-bare", "erlang-normal", "elixir", "caf", "go", "go-panic",
           "go-supervised", "tokio", "tokio-panic", "tbb", "loop", "floor")

TITLES = {
    "W1": "ping-pong, 1 pair", "W2": "ping-pong, 8 pairs", "W2k": "ping-pong, 1000 pairs",
    "W3a": "ring of 100, 1 token", "W3b": "ring of 1000, 100 tokens",
    "W4": "4 producers, 1 consumer", "W4c": "4 producers, held back, 1 consumer",
    "W5": "skynet, 1 M leaves", "W6": "spawn, one message, stop",
    "W7": "idle actor", "W8a": "restart, back to back",
    "W8w": "restart, whole: text, decider, hooks, memory", "W8b": "restart, paced at 1 kHz",
    "W8c": "restart, 10 000 busy actors", "W9a": "parent restarted, its 1000 children kept",
    "W9b": "parent restarted, its 1000 children made again",
    "W9c": "parent of 1000 restarted, 10 000 busy actors", "W10": "all to all, 64 actors",
    "W11": "1000 pinged beside 64 busy", "W12s": "foreign thread: the send",
    "W12r": "foreign thread to running worker", "W12p": "foreign thread to parked worker",
    "W18k": "1000 actors, all in pairs at once", "W18m": "a million actors, all in pairs at once",
    "W22": "one to each of 1000, in rounds",
    "G2": "a frame's phase: 10 000 actors, 1 us each, lent threads",
    "G2o": "a frame's phase: 10 000 actors, 1 us each, own workers",
    "G3": "a frame's phase: 10 000 actors, nothing to do, lent threads",
    "G3o": "a frame's phase: 10 000 actors, nothing to do, own workers",
    "G2m": "the same as G2, sent by one call", "G2om": "the same as G2o, sent by one call",
    "G3m": "the same as G3, sent by one call", "G3om": "the same as G3o, sent by one call",
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
    (["W4", "W4c"], "w4_*", "--credits 256", "--messages 50000"),
    (["W5"], "w5_*", "", "--leaves 10000"),
    (["W6"], "w6_*", "", "--actors 50000"),
    (["W7"], "w7_*", "", "--actors 50000"),
    (["W8a", "W8b", "W8c"], "w8_r*", "--ms 2000", "--ms 500"),
    (["W8w"], "w8_w*", "", "--restarts 50000"),
    (["W9a", "W9b"], "w9_c*", "", "--rounds 5"),
    (["W9c"], "w9_l*", "--ms 5000", "--ms 500"),
    (["W10"], "w10_*", "--messages 3072000", "--messages 153600"),
    (["W11"], "w11_*", "--ms 2000", "--ms 500"),
    (["W12s", "W12r"], "w12_*", "--sends 300000 --stamps 10000 --wakes 1",
     "--sends 100000 --stamps 2000"),
    (["W12p"], "w12_*", "--sends 1000 --stamps 1 --wakes 1000", "--wakes 100"),
    (["W18k"], "w18_*", "--actors 1000 --messages 4000000 --restarts 1 --churn 1",
     "--messages 1000000"),
    (["W18m"], "w18_*", "--actors 1000000 --messages 4000000 --restarts 1 --churn 1",
     "--actors 50000 --messages 1000000"),
    (["W22"], "w22_*", "", "--rounds 150"),
    (["G2", "G2o", "G3", "G3o", "G2m", "G2om", "G3m", "G3om"], "g2_*", "", "--phases 5"),
    (["F-call", "F-rmw", "F-line", "F-jump", "F-alloc", "F-wake"], None, "", ""),
]
# Rows of the table beside the figure of a workload: key in a run, word, unit.
TAILS = [("p50_ns", "p50", "ns"), ("p99_ns", "p99", "ns"), ("p999_ns", "p99.9", "ns")]
PEAK = [("peak_bytes", "peak", "bytes")]
WORST = [("max_ns", "max", "ns")]
LAST = [(f"last_{key}", f"last child {word}", "ns") for key, word, _ in TAILS[:2] + WORST]
EXTRA = {"W4": PEAK, "W4c": PEAK, "W5": PEAK, "W8a": TAILS, "W8w": TAILS, "W8b": TAILS[1:],
         "W8c": TAILS[1:] + WORST, "W9c": TAILS[1:] + WORST + LAST, "W11": TAILS,
         "W12r": TAILS[1:], "W12p": TAILS[1:]}
KEYS = [key for key, _, _ in TAILS + WORST + LAST]
# Ratios of a peer to itself: the name, the better workload, the worse.
OWN = [("W18k / W18m", "W18k", "W18m")]
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
    for key in KEYS:
        value = value_of(values, key)
        run[key] = value if value is not None else value_of(values, key.replace("p999", "p99.9"))
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


def seen(settings):
    """What the machine is like now: a line's way and the time of a link; None: not known."""
    done = said(os.path.join(settings.build, "bench", "peers", "place"))
    return json.loads(done) if done else None


def place_of(before, after):
    """(where a run was, the mean time of a link), of what was seen before and after it."""
    if before is None or after is None:
        return "unknown", 0.0
    links = before["link_ns"], after["link_ns"]
    ways = before["line_ns"], after["line_ns"]
    link = sum(links) / 2
    if max(links) >= SAME_SPEED * min(links) or min(ways) < 0:
        return "mixed", link
    if max(ways) == 0:
        return "alone", link
    if (ways[0] < NEAR_NS) != (ways[1] < NEAR_NS):
        return "mixed", link
    return "near" if ways[0] < NEAR_NS else "far", link


def alike(one, other):
    """Whether two runs make a pair."""
    if one["place"] != other["place"] or one["place"] == "mixed":
        return False
    return max(one["link_ns"], other["link_ns"]) <= SAME_SPEED * min(one["link_ns"], other["link_ns"])


def command_of(peer, group, on, settings):
    """How a peer is started for a group of workloads; None if it has no program for it."""
    workloads, program, full, quick = group
    workers = max(1, on - 1) if FEWER & set(workloads) else on
    common = ["--workers", str(workers), "--repeats", "1"]
    if peer == "axo":
        found = sorted(glob.glob(f"{settings.build}/release/bench/{program}")) if program else []
        found = [path for path in found if os.access(path, os.X_OK) and not path.endswith(".d")]
        return found[:1] and found[:1] + common + full.split() + \
            (quick.split() if settings.quick else []) + ["--json", "-"]
    if workloads[0].startswith("F-") and peer != "floor":
        return None
    if peer == "floor" and on != settings.workers[0]:
        return None
    folder = os.path.join(settings.build, "bench", "peers")
    begin = [f"{folder}/erlang/run.sh", f"{folder}/erlang"] if peer == "erlang" else \
        [f"{folder}/{peer}"]
    wanted = [name for name in workloads if name in settings.only]
    return begin + common + ["--only", ",".join(wanted), "--divide",
                             str(QUICK_DIVIDE if settings.quick else 1)]


def take(peer, group, on, settings, failures):
    """One turn of a peer: its runs by (workload, peer)."""
    command = command_of(peer, group, on, settings)
    if not command:
        return {}
    for _ in range(RETRIES + 1):
        before = seen(settings)
        try:
            lines, foreign = start(command)
        except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            failures.append(f"{peer} {','.join(group[0])}: {error}")
            return {}
        where, link = place_of(before, seen(settings))
        if foreign <= FOREIGN_MAX or settings.quick:
            break
    got = {}
    for line in lines:
        workload, name, run = one_run(line)
        if len(lines) == 1 and workload not in TITLES:
            workload = group[0][0]
        if workload in settings.only and workload in group[0]:
            got[workload, name] = dict(run, foreign=foreign, place=where, link_ns=link)
    return got


def turns(settings):
    """(number of workers, group) of a round: on all workers, then most on other numbers of them."""
    wanted = [group for group in GROUPS if set(group[0]) & settings.only]
    most = settings.workers[0]
    return [(on, group) for group in wanted for on in settings.workers
            if on == most or not (FEWER & set(group[0]) or group[0][0].startswith("F-"))]


def measure_round(index, settings, results, failures):
    """One round: every peer in turn on every group of workloads."""
    turn = index % len(settings.peers)
    for on, group in turns(settings):
        begin = time.monotonic()
        for peer in settings.peers[turn:] + settings.peers[:turn]:
            for (workload, name), run in take(peer, group, on, settings, failures).items():
                rounds = results.setdefault((workload, on), [])
                rounds.extend({} for _ in range(index + 1 - len(rounds)))
                rounds[index][name] = run
        print(f"round {index + 1}: {','.join(group[0])} on {on}: {time.monotonic() - begin:.1f} s",
              file=sys.stderr)


def measure(settings):
    """{(workload, workers): [{peer: run} for each round]}, what failed, how many rounds there were."""
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


def disturbed(run):
    return run["foreign"] > FOREIGN_MAX


def calm(results):
    """The results without the disturbed runs; how many of them there were, by (workload, on, peer)."""
    kept, dropped = {}, {}
    for key, rounds in results.items():
        kept[key] = [{peer: run for peer, run in one.items() if not disturbed(run)} for one in rounds]
        for peer in peers_of(rounds):
            count = sum(peer in one and disturbed(one[peer]) for one in rounds)
            dropped[(*key, peer)] = count
    return kept, dropped


def pairs_of(rounds, others):
    """The pairs of two lists of runs by round, None where there is none: each run once, with one that
    it is alike, of its own round, else of the nearest."""
    there = [(abs(i - j), i, j) for i, one in enumerate(rounds) for j, other in enumerate(others)
             if one is not None and other is not None and alike(one, other)]
    pairs, used, taken = [], set(), set()
    for _, i, j in sorted(there):
        if i not in used and j not in taken:
            used.add(i)
            taken.add(j)
            pairs.append((rounds[i], others[j]))
    return pairs


def runs_of(rounds, peer):
    return [one.get(peer) for one in rounds]


def places(runs):
    words_of = [run["place"] for run in runs]
    return {word: words_of.count(word) for word in sorted(set(words_of))}


def result_lines(key, rounds, dropped):
    workload, on = key
    for peer in peers_of(rounds):
        runs = [run for run in runs_of(rounds, peer) if run is not None]
        line = {"workload": workload, "on": on, "title": TITLES[workload], "peer": peer,
                "unit": runs[0]["unit"], **spread([run["figure"] for run in runs]),
                "workers": runs[0]["workers"],
                "disturbed": sum(disturbed(run) for run in runs),
                "dropped": dropped.get((*key, peer), 0), "places": places(runs),
                "link_ns": spread([run["link_ns"] for run in runs])["median"],
                "peak_bytes": max(run["peak_bytes"] or 0 for run in runs)}
        values = {}
        for name in KEYS + ["peak_bytes"]:
            known = [run[name] for run in runs if run[name] is not None]
            if known:
                values[name] = spread(known)
                if name != "peak_bytes":
                    line[name] = values[name]["median"]
        yield dict(line, values=values, note=runs[0]["note"])


def ratio_lines(key, results):
    """How many times better axo is, of pairs; on more workers than one also than peers on one, which
    are "go (1)" then."""
    workload, on = key
    mine = runs_of(results[key], "axo")
    there = [(peer, runs_of(results[key], peer)) for peer in peers_of(results[key])]
    if on > 1 and (workload, 1) in results:
        alone = results[workload, 1]
        there += [(f"{peer} (1)", runs_of(alone, peer)) for peer in peers_of(alone)]
    for peer, theirs in there:
        if peer.split(" ")[0] == "axo":
            continue
        pairs = pairs_of(mine, theirs)
        for name, row, unit in rows(workload, pairs[0][0]["unit"] if pairs else ""):
            known = [(axo[name], other[name]) for axo, other in pairs if axo[name] and other[name]]
            if known:
                yield {"workload": workload, "on": on, "row": row, "ratio_to": peer,
                       **spread([axo / other if better_is_more(unit) else other / axo
                                 for axo, other in known])}


def own_line(name, key, peer, better, worse):
    """A ratio of a peer to itself: how many times better the first runs are."""
    pairs = pairs_of(runs_of(better, peer), runs_of(worse, peer))
    known = [(one["figure"], other["figure"], one["unit"]) for one, other in pairs
             if one["figure"] and other["figure"]]
    if not known:
        return []
    return [{"workload": key[0], "on": key[1], "row": name, "own": peer,
             **spread([one / other if better_is_more(unit) else other / one
                       for one, other, unit in known])}]


def own_lines(results):
    """What a second worker gets done more, and what 1000 actors do beside a million."""
    lines = []
    for (workload, on), rounds in results.items():
        alone = results.get((workload, 1))
        if on > 1 and alone is not None:
            for peer in peers_of(rounds):
                lines += own_line(f"{workload} on {on} / 1", (workload, on), peer, rounds, alone)
        for name, better, worse in OWN:
            if workload == worse and (better, on) in results:
                for peer in peers_of(rounds):
                    lines += own_line(name, (workload, on), peer, results[better, on], rounds)
    return lines


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


def table_row(name, unit, peer, runs, got, ratio):
    """A row of the table for people."""
    few = len(runs) < QUIET_MIN or any(disturbed(run) for run in runs)
    text = (f"  {name:<10} {peer:<14}{'~' if few else ' '}{words(got['median'], unit):>10}  "
            f"({words(got['min'], unit)} .. {words(got['max'], unit)})")
    if ratio is not None:
        text += (f"   axo {times(ratio['median'])} x ({times(ratio['min'])} .. "
                 f"{times(ratio['max'])}, {ratio['repeats']} pairs)")
    return text


def table_notes(key, rounds, dropped, own):
    """What stands below the rows of a workload."""
    for peer in peers_of(rounds):
        note = next((one[peer]["note"] for one in rounds if peer in one), "")
        runs = [run for run in runs_of(rounds, peer) if run is not None]
        where = ", ".join(f"{count} {word}" for word, count in places(runs).items())
        lost = dropped.get((*key, peer), 0)
        print(f"      {peer}: {where}" + (f"; {lost} dropped, disturbed" if lost else "") +
              (f"; {note}" if note else ""))
    for line in own:
        if (line["workload"], line["on"]) == key:
            print(f"      {line['own']}: {line['row']}: {times(line['median'])} x "
                  f"({times(line['min'])} .. {times(line['max'])}, {line['repeats']} pairs)")


def table(results, dropped):
    own = own_lines(results)
    for key in order(results):
        rounds = results[key]
        names = peers_of(rounds)
        ratios = {(line["row"], line["ratio_to"]): line for line in ratio_lines(key, results)}
        workload, on = key
        print(f"\n{workload}: {TITLES[workload]}, on {on}")
        unit_of = next((one[name]["unit"] for name in names for one in rounds if name in one), "")
        for name, row, unit in rows(workload, unit_of):
            for peer in names:
                runs = [run for run in runs_of(rounds, peer) if run is not None]
                known = [run[name] for run in runs if run[name] is not None]
                if known:
                    print(table_row(row, unit, peer, runs, spread(known), ratios.get((row, peer))))
        table_notes(key, rounds, dropped, own)
    for (workload, on, peer), count in dropped.items():
        if not any(peer in one for one in results[workload, on]):
            print(f"\n{workload}: {peer} on {on}: no quiet run, {count} dropped")


def order(results):
    return sorted(results, key=lambda key: (list(TITLES).index(key[0]), -key[1]))


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
            "workers": settings.workers[0], "also_on": settings.workers[1:],
            "rounds": settings.rounds, "quick": settings.quick,
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "versions": {"axo": ".".join(numbers) + " " +
                         (said("git", "rev-parse", "--short", "HEAD") or "unknown") + dirty,
                         "compiler": said(os.environ.get("CC", "cc"), "--version").split("\n")[0],
                         "erlang": package("erlang-base"), "elixir": package("elixir"),
                         "caf": package("libcaf-dev"),
                         "go": said("go", "env", "GOVERSION") or "unknown",
                         **({"tokio": package("librust-tokio-dev")}
                            if "tokio" in settings.peers else {}),
                         **({"tbb": package("libtbb-dev")} if "tbb" in settings.peers else {})}}


def machine_words(what):
    return (f"{what['cpu']}, {what['cpus']} processors, Linux {what['kernel']}, load "
            f"{what['load']}, {what['workers']} workers, {what['rounds']} rounds; " +
            ", ".join(f"{name} {version}" for name, version in what["versions"].items()))


def settings_of(arguments):
    parser = argparse.ArgumentParser(description="axo and its peers on the same workloads")
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--workers", default="", help="numbers, comma between, the greatest first; "
                        "all processors and 1")
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
    try:
        numbers = [int(word) for word in settings.workers.split(",") if word]
    except ValueError:
        numbers = [0]
    if any(number < 1 for number in numbers):
        parser.error(f"--workers: {settings.workers}")
    numbers = numbers or [len(os.sched_getaffinity(0)), 1]
    settings.workers = sorted(set(numbers), reverse=True)
    settings.out = settings.out or os.path.join(settings.build, "bench", "peers.json")
    unknown = (settings.only - set(TITLES)) | (set(settings.peers) - set(PEERS))
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    for peer in [name for name in OPTIONAL if name in settings.peers]:
        if not os.access(os.path.join(settings.build, "bench", "peers", peer), os.X_OK):
            settings.peers.remove(peer)
            print(f"{peer} is left out: it is not built")
    return settings


def main():
    settings = settings_of(sys.argv[1:])
    where = machine(settings)
    print(machine_words(where))
    results, failures, where["rounds"] = measure(settings)
    results, dropped = (results, {}) if settings.quick else calm(results)
    table(results, dropped)
    with open(settings.out, "w", encoding="utf-8") as out:
        out.write(json.dumps({"machine": where}) + "\n")
        for key in order(results):
            for line in [*result_lines(key, results[key], dropped), *ratio_lines(key, results)]:
                out.write(json.dumps(line) + "\n")
        for line in own_lines(results):
            out.write(json.dumps(line) + "\n")
    print(f"\nwritten to {settings.out}")
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures or not results else 0


if __name__ == "__main__":
    sys.exit(main())
