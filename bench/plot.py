#!/usr/bin/env python3
# plot.py - the results of `make bench` as pictures: throughput.svg and .png, latency.svg and .png.
#
#   bench/plot.py RESULTS FOLDER
#
# RESULTS is the folder with results.json and the *.hgrm files; data and gnuplot's scripts are left
# in FOLDER beside the pictures. Throughput: medians with least and greatest run, on a log scale.
# Latency: one curve a percentile file, HdrHistogram's axes.
import json
import os
import re
import subprocess
import sys

TERMINALS = {"svg": "svg size {w},{h} noenhanced font 'sans,12' background 'white'",
             "png": "pngcairo size {w},{h} noenhanced font 'sans,11' background 'white'"}
ROW = re.compile(r"\s*([\d.]+)\s+([\d.]+)\s+(\d+)(?:\s+([\d.]+))?\s*$")


def bars(lines):
    """(label, median, min, max) of each result that is a rate; names that repeat say their words."""
    rates = [line for line in lines if line["unit"].endswith("/s")]
    names = [line["bench"] for line in rates]
    found = []
    for line in rates:
        label = line["bench"]
        if names.count(label) > 1:
            words = [word for word in line["options"].values() if isinstance(word, str)]
            label = " ".join([label] + words)
        found.append((f"{label} {line['unit']}", line["median"], line["min"], line["max"]))
    return found


def curve(path):
    """(1/(1-p), value) of each row of a percentile file but the last, whose p is 1."""
    points = []
    with open(path, encoding="utf-8") as file:
        for text in file:
            row = ROW.match(text)
            if row and row.group(4):
                points.append((float(row.group(4)), max(float(row.group(1)), 1.0)))
    return points


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def throughput_script(folder, rates):
    data = os.path.join(folder, "throughput.dat")
    with open(data, "w", encoding="utf-8") as file:
        for at, (label, median, low, high) in enumerate(rates):
            file.write(f"{at} {median} {low} {high} \"{label}\"\n")
    return ("set title 'throughput: median, least and greatest run'\nset logscale y\nset grid y\n"
            "unset key\nset boxwidth 0.7\nset style fill solid 0.5\nset ylabel 'a second'\n"
            "set format y '%.0s %c'\nset xtics rotate by -40\n"
            f"set xrange [-0.7:{len(rates) - 0.3}]\nset yrange [1:*]\n"
            f"plot {quoted(data)} using 1:2:xtic(5) with boxes lc rgb '#4477aa', "
            "'' using 1:2:3:4 with yerrorbars lc rgb '#222222' pt 0 lw 1.5\n")


def latency_script(folder, curves):
    parts = []
    for name, points in curves:
        data = os.path.join(folder, f"{name}.dat")
        with open(data, "w", encoding="utf-8") as file:
            file.writelines(f"{odds} {value}\n" for odds, value in points)
        parts.append(f"{quoted(data)} using 1:2 with lines lw 2 title {quoted(name)}")
    return ("set title 'latency by percentile'\nset logscale xy\nset grid\nset key outside right\n"
            "set xlabel 'percentile'\nset ylabel 'time'\n"
            "set xtics ('p0' 1,'p50' 2,'p90' 10,'p99' 100,'p99.9' 1000,'p99.99' 1e4,"
            "'p99.999' 1e5,'p99.9999' 1e6)\n"
            "set ytics ('1 ns' 1,'10 ns' 10,'100 ns' 100,'1 us' 1e3,'10 us' 1e4,'100 us' 1e5,"
            "'1 ms' 1e6,'10 ms' 1e7,'100 ms' 1e8,'1 s' 1e9)\nplot " + ", ".join(parts) + "\n")


def draw(folder, name, script, width=1200, height=640):
    for kind, terminal in TERMINALS.items():
        path = os.path.join(folder, f"{name}.gp")
        picture = os.path.join(folder, f"{name}.{kind}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"set terminal {terminal.format(w=width, h=height)}\n"
                       f"set output {quoted(picture)}\n{script}")
        subprocess.run(["gnuplot", path], check=True)
        if os.path.getsize(picture) == 0:
            sys.exit(f"plot: {picture} is empty")
        print(picture)


def main():
    results, folder = sys.argv[1], sys.argv[2]
    source = os.path.join(results, "results.json")
    if not os.path.exists(source):
        sys.exit(f"plot: there is no {source}: run `make bench` first")
    with open(source, encoding="utf-8") as file:
        rates = bars([json.loads(line) for line in file if line.strip()])
    names = sorted(name for name in os.listdir(results) if name.endswith(".hgrm"))
    curves = [(name[:-len(".hgrm")], curve(os.path.join(results, name))) for name in names]
    curves = [(name, points) for name, points in curves if points]
    os.makedirs(folder, exist_ok=True)
    if rates:
        draw(folder, "throughput", throughput_script(folder, rates))
    if curves:
        draw(folder, "latency", latency_script(folder, curves))
    if not rates and not curves:
        sys.exit(f"plot: {results} has neither rates nor latencies")


if __name__ == "__main__":
    main()
