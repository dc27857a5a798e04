#!/usr/bin/env python3
# plot_accepted.py - the pictures of README.md, from the accepted results.
#
#   bench/plot_accepted.py BASELINE WORK_FOLDER PICTURE_FOLDER
#
# BASELINE is bench/baseline.json. Data, gnuplot's scripts, SVG and PNG go to WORK_FOLDER, the SVG
# files to PICTURE_FOLDER too: peers.svg (how many times better axo is), actors.svg, trees.svg,
# workers.svg, memory.svg (how costs grow, W18 to W20).
import json
import os
import shutil
import sys

import plot

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
PEERS = {"erlang": "Erlang/OTP", "caf": "CAF", "go": "Go", "tokio": "tokio"}
WIDE = "set lmargin 11\nset key top left samplen 2\nset grid\n"


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def of_bench(lines, name):
    return [line for line in lines if line.get("bench") == name]


class Data:
    """Columns of numbers for gnuplot, each in a file of its own."""

    def __init__(self, folder, picture):
        self.folder, self.picture, self.count = folder, picture, 0

    def curve(self, title, points):
        """A plot's part that draws (x, median, least, most)."""
        path = os.path.join(self.folder, f"{self.picture}_{self.count}.dat")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(" ".join(map(str, point)) + "\n" for point in points)
        colour = COLOURS[self.count % len(COLOURS)]
        self.count += 1
        return (f"{plot.quoted(path)} using 1:2 with lines lw 2 lc rgb '{colour}' "
                f"title {plot.quoted(title)}, {plot.quoted(path)} using 1:2:3:4 with yerrorbars "
                f"lc rgb '{colour}' lw 1.5 pt 7 ps 0.4 notitle")


def spread(line, value, scale=1.0):
    """Median, least and most of a value; None: the figure."""
    found = line if value is None else line["values"][value]
    return tuple(found[key] * scale for key in ("median", "min", "max"))


def inverse(line):
    """ns of one, where the figure is how many there are in a second."""
    return 1e9 / line["median"], 1e9 / line["max"], 1e9 / line["min"]


def actors_script(folder, lines):
    found, data = of_bench(lines, "W18"), Data(folder, "actors")
    parts = [data.curve("a message, all in pairs at once",
                        [(line["options"]["actors"], *inverse(line)) for line in found])]
    for value, title in (("churn_ns", "one more: spawn, message, stop"),
                         ("restart_ns", "restart of one of them"),
                         ("spawn_ns", "making all of them, an actor")):
        parts.append(data.curve(title, [(line["options"]["actors"], *spread(line, value))
                                        for line in found]))
    return (f"{WIDE}set title 'cost by number of living actors, all of one parent'\n"
            "set logscale xy\nset xrange [5:2e6]\nset xlabel 'actors'\nset ylabel 'ns'\n"
            "set format x '10^%T'\nset yrange [5:10000]\nplot " + ", ".join(parts) + "\n")


def trees_script(folder, lines):
    text = "set multiplot layout 1,2\n"
    for name, title, axis in (("W19d", "chains", "depth"), ("W19w", "one parent", "children")):
        found, data = of_bench(lines, name), Data(folder, name)
        parts = [data.curve(words, [(line["options"]["size"], *spread(line, value))
                                    for line in found])
                 for value, words in (("spawn_ns", "spawn, an actor"),
                                      ("stop_ns", "stop of the tree, an actor"),
                                      ("remake_ns", "restart of the tree, an actor"),
                                      ("escalate_ns", "escalation and resume, an actor"),
                                      ("restart_ns", "restart of the last leaf"))]
        text += (f"{WIDE}set title {plot.quoted(title)}\nset logscale xy\n"
                 f"set xlabel {plot.quoted(axis)}\nset ylabel 'ns'\nset format x '10^%T'\n"
                 "set yrange [50:20000]\nplot " + ", ".join(parts) + "\n")
    return text + "unset multiplot\n"


def workers_script(folder, lines):
    data, parts = Data(folder, "workers"), []
    for name, title in (("W1", "1 pair"), ("W2k", "1000 pairs"),
                        ("W3b", "ring of 1000, 100 tokens"), ("W10", "64, all to all"),
                        ("W4c", "4 to 1, credits"), ("W6", "spawn, message, stop")):
        found = sorted(of_bench(lines, name), key=lambda line: line["workers"])
        parts.append(data.curve(title, [(line["workers"], *spread(line, None, 1e-6))
                                        for line in found]))
    cpus = next(line for line in lines if line.get("bench") == "W10")["machine"]["cpus"]
    return (f"{WIDE}set title 'throughput by workers, on {cpus} processors'\nset xlabel 'workers'\n"
            "set ylabel 'million a second'\nset yrange [0:*]\nset xrange [0.5:8.5]\n"
            "set key outside right\nplot " + ", ".join(parts) + "\n")


def memory_script(folder, lines):
    found, data = of_bench(lines, "W20"), Data(folder, "memory")
    most = max(line["options"]["messages"] for line in found)
    found = [line for line in found if line["options"]["messages"] == most]
    parts = [data.curve("resident, a message", [(line["options"]["payload"], *spread(line, None))
                                                for line in found]),
             data.curve("from the allocator",
                        [(line["options"]["payload"], *spread(line, "bytes_counted"))
                         for line in found]),
             "x title 'payload' with lines lc rgb '#222222' dt 2"]
    return (f"{WIDE}set title 'memory of a message in flight, {most} of them'\n"
            "set xlabel 'bytes of payload'\nset ylabel 'bytes'\nset yrange [0:*]\nplot " +
            ", ".join(parts) + "\n")


def peers_script(folder, lines):
    most = lines[0]["machine"]["workers"]
    ratios = {(line["row"], line["ratio_to"]): line for line in lines
              if "ratio_to" in line and line.get("on", most) == most}
    peers = [peer for peer in PEERS if any(peer == there for _, there in ratios)]
    names = [name for name in dict.fromkeys(line["workload"] for line in lines
                                            if line.get("peer") == "axo")
             if any((name, peer) in ratios for peer in peers)]
    path, parts = os.path.join(folder, "peers.dat"), []
    with open(path, "w", encoding="utf-8") as file:
        for name in names:
            found = [ratios.get((name, peer)) for peer in peers]
            file.write(" ".join([name] + [str(one["median"]) if one else "NaN"
                                          for one in found]) + "\n")
    for index, peer in enumerate(peers):
        title = plot.quoted(PEERS[peer])
        parts.append(f"{plot.quoted(path)} using {index + 2}:xtic(1) title {title} "
                     f"lc rgb '{COLOURS[index]}'")
    return ("set title 'how many times better axo is'\nset style data histograms\n"
            "set style histogram clustered gap 1\nset style fill solid 0.7 noborder\n"
            "set logscale y\nset grid y\nset key top left horizontal\n"
            "set xtics rotate by -40\nset yrange [0.1:*]\nset ylabel 'ratio'\n"
            "set arrow from graph 0,first 1 to graph 1,first 1 nohead lc rgb '#222222'\n"
            "plot " + ", ".join(parts) + "\n")


PICTURES = (("peers", 900, 380, peers_script), ("actors", 640, 400, actors_script),
            ("trees", 900, 400, trees_script), ("workers", 820, 400, workers_script),
            ("memory", 640, 320, memory_script))


def main():
    if len(sys.argv) != 4:
        sys.exit("plot_accepted.py BASELINE WORK_FOLDER PICTURE_FOLDER")
    lines, work, pictures = read(sys.argv[1]), sys.argv[2], sys.argv[3]
    os.makedirs(work, exist_ok=True)
    os.makedirs(pictures, exist_ok=True)
    for name, width, height, script in PICTURES:
        plot.draw(work, name, script(work, lines), width, height)
        shutil.copy(os.path.join(work, f"{name}.svg"), pictures)


if __name__ == "__main__":
    main()
