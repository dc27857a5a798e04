#!/usr/bin/env python3
# s1_kv.py - the rows S1 to S6 of a server: kv_server.c, plain programs of epoll and io_uring,
# redis-server and Erlang in turns, as a table.
#
#   s1_kv.py KV_SERVER PEERS [--quick] [--pairs N]
#
# --pairs N: only io_uring beside epoll, one thread each, N pairs in turns.
# PEERS: the folder with the built peers. "kv-2 / it": how many times more GETs a second kv_server on
# two workers answers, of pairs of one round.
# It ends with an error if kv_server's own counters do not add up, or if answers are lost.
import argparse
import csv
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

PING = b"*1\r\n$4\r\nPING\r\n"
BIG = 100000
CLIENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../test/example/kv_clients.py")


def request(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Server:
    """A server that listens, and what it takes of the machine."""

    def __init__(self, name, programs):
        kind, _, workers = name.partition("-")
        self.name, self.is_axo, self.totals = name, kind == "kv", ""
        commands = {"kv": [programs["kv"], "--port", "0", "--workers", workers],
                    "epoll": [programs["peers"] + "/epoll", workers],
                    "uring": [programs["peers"] + "/uring"],
                    "erlang": ["erl", "-noshell", "-noinput", "+S", workers, "+P", "1000000",
                               "-pa", programs["peers"], "-s", "kv", "start"]}
        if kind in commands:
            self.process = subprocess.Popen(commands[kind], stdout=subprocess.PIPE, text=True,
                                            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])
            return
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no",
             "--maxclients", "20000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(500):
            try:
                self.connect().close()
                return
            except ConnectionRefusedError:
                time.sleep(0.01)
        sys.exit("redis-server does not listen")

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 60)

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def benchmark(self, test, requests, *options):
        """Requests a second, and p50 and p99 in ms."""
        done = subprocess.run(["redis-benchmark", "-p", str(self.port), "-t", test, "-n", str(requests),
                               "--csv", *options], capture_output=True, text=True, timeout=120, check=True)
        row = list(csv.DictReader(line for line in done.stdout.splitlines() if line[:1] == '"'))[0]
        return float(row["rps"]), float(row["p50_latency_ms"]), float(row["p99_latency_ms"])

    def tail(self, test, requests, *options):
        """Requests a second, p99 and p99.9 in ms; the last is the distribution's row 99.902."""
        text = subprocess.run(["redis-benchmark", "-p", str(self.port), "-t", test, "-n",
                               str(requests), "--precision", "3", *options], capture_output=True,
                              text=True, timeout=120, check=True).stdout
        rows = [(float(part), float(ms)) for part, ms in re.findall(
            r"^([0-9.]+)% <= ([0-9.]+) milliseconds \(cumulative", text, re.MULTILINE)]
        rate = float(re.findall(r"throughput summary: ([0-9.]+)", text)[-1])
        p99 = float(text.rstrip().splitlines()[-1].split()[-2])
        return rate, p99, next(ms for part, ms in rows if part >= 99.9)

    def stop(self):
        """ms from SIGTERM to the end."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        took = (time.monotonic() - begin) * 1000
        if self.is_axo:
            self.totals = self.process.stdout.read()
            if code != 0:
                sys.exit(f"{self.name}: exit code {code}: {self.totals}")
        return took


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def s1(names, program, size, rounds):
    """Throughput, latency, CPU; the servers in turns, medians. Ratios are of one round."""
    forms = [("1 connection", ["-c", "1"], size // 2), ("50", ["-c", "50"], size),
             ("50, pipeline 16", ["-c", "50", "-P", "16"], size * 10)]
    row("S1 connections", "server", "SET k/s", "GET k/s", "GET p50 ms", "GET p99 ms", "CPU s a million",
        "kv-2 / it")
    row(*["---"] * 8)
    for title, options, count in forms:
        found = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:
                server = Server(name, program)
                sets = server.benchmark("set", count, *options)
                gets = server.benchmark("get", count, *options)
                found[name].append((sets[0] / 1000, gets[0] / 1000, gets[1], gets[2],
                                    server.cpu_s() * 1e6 / (2 * count)))
                server.stop()
        for name in names:
            cells = [statistics.median(column) for column in zip(*found[name])]
            times = [ours[1] / its[1] for ours, its in zip(found["kv-2"], found[name])]
            row(title, name, f"{cells[0]:.0f}", f"{cells[1]:.0f}", f"{cells[2]:.2f}", f"{cells[3]:.2f}",
                f"{cells[4]:.2f}", f"{statistics.median(times):.2f} ({min(times):.2f}-{max(times):.2f})")


def pairs(program, size, count):
    """How many times more io_uring answers than epoll, and how much of its CPU time it takes."""
    row("connections", "pairs", "epoll SET k/s", "io_uring / epoll", "GET k/s", "io_uring / epoll",
        "CPU s a million", "io_uring / epoll")
    row(*["---"] * 8)
    for title, options, requests in (("50", ["-c", "50"], size),
                                     ("50, pipeline 16", ["-c", "50", "-P", "16"], size * 10)):
        found = {"epoll-1": [], "uring-1": []}
        for i in range(count):
            for name in sorted(found, reverse=i % 2 == 1):
                server = Server(name, program)
                sets, gets = (server.benchmark(test, requests, *options)[0] for test in ("set", "get"))
                found[name].append((sets / 1000, gets / 1000, server.cpu_s() * 1e6 / (2 * requests)))
                server.stop()
        cells = []
        for epoll, uring in zip(zip(*found["epoll-1"]), zip(*found["uring-1"])):
            times = [its / ours for its, ours in zip(uring, epoll)]
            middle = statistics.median(epoll)
            cells += [f"{middle:.2f}" if middle < 10 else f"{middle:.0f}",
                      f"{statistics.median(times):.2f} ({min(times):.2f}-{max(times):.2f})"]
        row(title, str(count), *cells)


def has_uring(peers):
    """Whether it was built, and the kernel lets it run: containers often do not."""
    if not os.path.exists(peers + "/uring"):
        return False
    with subprocess.Popen([peers + "/uring"], stdout=subprocess.PIPE, text=True) as process:
        listens = process.stdout.readline() != ""
        process.terminate()
    if not listens:
        print("s1_kv: io_uring is left out: the kernel refuses it", file=sys.stderr)
    return listens


def s2(name, program, connections):
    """Connections that have been answered once, and are silent now."""
    server = Server(name, program)
    first = server.connect()
    first.sendall(PING)
    first.recv(16)
    before = server.resident()
    clients = []
    for _ in range(connections):
        it = server.connect()
        it.sendall(PING)
        clients.append(it)
    for it in clients:
        it.recv(16)
    cost = (server.resident() - before) / connections
    for it in clients:
        it.close()
    server.stop()
    return f"{cost:.0f} bytes"


def s3(name, program, size, rounds):
    """A hundredth as many requests beside, which fail the shard that gets them, or fetch a key: what
    is the others' throughput, p99 and p99.9, in turns; medians, and of p99.9 the ratios of the pairs."""
    server = Server(name, program)
    plain = server.benchmark("get", size, "-c", "50")[0]
    sent = [0]

    def beside(over, words):
        it = server.connect()
        begin = time.monotonic()
        done = 0
        while not over.is_set():
            due = int((time.monotonic() - begin) * plain / 100)
            while done < due:
                it.sendall(request(*words, b"key%d" % done))
                it.recv(64)
                done += 1
            time.sleep(0.001)
        it.close()
        sent[0] += done if words[0] == b"DEBUG" else 0

    def one(*words):
        over = threading.Event()
        thread = threading.Thread(target=beside, args=(over, words))
        thread.start()
        found = server.tail("get", size, "-c", "50")
        over.set()
        thread.join()
        return found

    both = [(one(b"GET"), one(b"DEBUG", b"POISON")) for _ in range(rounds)]
    server.stop()
    clean, hurt = ([statistics.median(c) for c in zip(*which)] for which in zip(*both))
    moved = sorted(poisoned[2] / harmless[2] for harmless, poisoned in both)
    return (f"{clean[0] / 1000:.0f} k/s, p99 {clean[1]:.2f} ms, p99.9 {clean[2]:.2f} ms; with "
            f"{sent[0] // rounds} failures {hurt[0] / 1000:.0f} k/s, p99 {hurt[1]:.2f} ms, "
            f"p99.9 {hurt[2]:.2f} ms, {statistics.median(moved):.2f} x ({moved[0]:.2f}-{moved[-1]:.2f}) in "
            f"{rounds} pairs")


def s4(name, program, size, readers):
    """Readers that ask for 200 answers of 100 kB each and read none."""
    server = Server(name, program)
    it = server.connect()
    it.sendall(request(b"SET", b"big", b"x" * BIG))
    it.recv(16)
    clean = server.benchmark("get", size, "-c", "50")
    before = server.resident()
    slow = [server.connect() for _ in range(readers)]
    for reader in slow:
        reader.sendall(request(b"GET", b"big") * 200)
    hurt = server.benchmark("get", size, "-c", "50")
    held = (server.resident() - before) / readers / 1000
    for reader in slow:
        reader.close()
    server.stop()
    return f"{held:.0f} kB a reader; the others' p99 {clean[2]:.2f} -> {hurt[2]:.2f} ms"


def s5(name, program, size):
    """Each request over a connection of its own."""
    server = Server(name, program)
    rate = server.benchmark("ping_mbulk", size, "-c", "50", "-k", "0")
    server.stop()
    return f"{rate[0] / 1000:.1f} k connections/s"


def s6(name, program):
    """SIGTERM under load: clients count the answers that they get."""
    server = Server(name, program)
    clients = subprocess.Popen([sys.executable, CLIENTS, str(server.port), "counted"],
                               stdout=subprocess.PIPE, text=True)
    clients.stdout.readline()
    time.sleep(0.5)
    took = server.stop()
    received = int(clients.communicate(timeout=60)[0].split()[-1])
    words = server.totals.replace("(", "").replace(")", "").split()
    total = {words[i]: int(words[i + 1]) for i in range(0, len(words) - 1, 2)}
    if not total["executed"] == total["answered"] == received:
        sys.exit(f"S6: received {received}, but {server.totals}")
    return f"{took:.0f} ms; executed = answered = received = {received}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("peers")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pairs", type=int)
    args = parser.parse_args()
    programs = {"kv": args.program, "peers": args.peers}
    size, rounds, idle = (20000, 1, 1000) if args.quick else (100000, 3, 10000)
    room = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100
    idle = min(idle, room)
    uring = ["uring-1"] if has_uring(args.peers) else []
    if args.pairs is not None:
        return pairs(programs, size, args.pairs) if uring else sys.exit(1)
    erlang = ["erlang-2"] if os.path.exists(args.peers + "/kv.beam") else []
    s1(["kv-1", "kv-2", "epoll-1", "epoll-2", *uring, "redis", *erlang], programs, size, rounds)
    print()
    others = ("kv-2", "epoll-2", "redis", *erlang)
    blank = [""] * (len(others) - 1)
    row("row", *others)
    row(*["---"] * (len(others) + 1))
    row(f"S2, {idle} idle connections, each", *[s2(name, programs, idle) for name in others])
    row("S3, 1 % poison", s3("kv-2", programs, size, 5 * rounds), *blank)
    row("S4, 100 slow readers", *[s4(name, programs, size, 100) for name in others])
    row("S5, a storm", *[s5(name, programs, size // 2) for name in others])
    row("S6, SIGTERM under load", s6("kv-2", programs), *blank)
    return None


sys.exit(main())
