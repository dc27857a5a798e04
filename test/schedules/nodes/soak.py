#!/usr/bin/env python3
# soak.py - nodes as processes (node.c) beside a nats-server of their own. Each second a node is killed
# and started again; nodes and the server are stopped for a while; the server is killed and comes back,
# with its store or without; clocks of the day are an hour apart; a stranger publishes what is to be
# refused, and what was said before. In a run of five only the server suffers, and no node may lose another
# one. Then all is quiet, and check.py reads what the nodes have written.
#
#   soak.py NODE [--seconds 60] [--runs 2] [--seed 1] [--membership beats|store] [--keep FOLDER] [--sanitized]
#
# By turns with each membership, unless one is named. --sanitized: how nodes grow is not looked at. Exit code 1: a run had a breach.
import argparse
import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from check import FIGURES, REFUSED, Check

NAMES = ("a", "b", "c", "d", "e")  # the first one is neither killed nor stopped
TALKERS = 3         # of a node: node.c
DOWN_S = 1.5        # node.c's down_ms
SETTLE_S = 6        # asks and finds have ended, and those who are lost are
WAIT_S = 90         # what has to happen does by then, on a busy machine
END_S = 60
SKEWS = (-3600, 0, 3600)
SPOILT = tuple(name for name in REFUSED if name != "bad_form")  # which only who has the token can make
HEAD = 45           # of a packet: tools/cluster/wire.h
EXACT = 7           # of each kind, when all is quiet
KEPT = 400          # packets that the stranger has heard
OVER = 3            # a node's exit code


class Wrong(Exception):
    """The run cannot go on, or has left something behind."""


def path_of_server():
    return shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin")


class Server:
    def __init__(self, stage):
        self.store = os.path.join(stage, "store")
        self.process = None
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"

    def start(self):
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            self.process = subprocess.Popen(
                [path_of_server(), "-a", "127.0.0.1", "-p", str(self.port), "-l", "/dev/null", "-js", "-sd", self.store],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while self.process.poll() is None:
                with socket.socket() as one:
                    if one.connect_ex(("127.0.0.1", self.port)) == 0:
                        return
                time.sleep(0.02)
        raise Wrong("the server does not start")

    def kill(self, forgets):
        self.process.kill()
        self.process.wait()
        if forgets:
            shutil.rmtree(self.store, ignore_errors=True)


class Stranger(threading.Thread):
    """A client without the token: it hears packets, and publishes them spoilt in one way, or again."""

    def __init__(self, port, seed, repeats):
        super().__init__(daemon=True)
        self.port = port
        self.chance = random.Random(seed)
        self.repeats = repeats  # kinds of packets that are said again
        self.sent = dict.fromkeys(FIGURES, 0)
        self.again = 0
        self.heard = []
        self.socket = None
        self.rest = b""
        self.ends = threading.Event()

    def connect(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=1)
        self.rest = b""
        self.socket.sendall(b'CONNECT {"verbose":false,"echo":false}\r\nSUB axo.soak 1\r\nSUB axo.soak.> 2\r\n')
        self.hear(0.2)

    def hear(self, seconds):
        """What comes in this time is kept."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.socket.settimeout(max(0.001, until - time.monotonic()))
            try:
                piece = self.socket.recv(1 << 16)
            except socket.timeout:
                return
            if not piece:
                raise OSError("the server has gone")
            self.rest += piece
            while self.take():
                pass

    def take(self):
        line, end, rest = self.rest.partition(b"\r\n")
        if not end:
            return False
        words = line.split()
        if words[:1] == [b"PING"]:
            self.socket.sendall(b"PONG\r\n")
        if words[:1] != [b"MSG"]:
            self.rest = rest
            return True
        size = int(words[-1])
        if len(rest) < size + 2:
            return False
        self.rest = rest[size + 2:]
        if len(self.heard) == KEPT:
            self.heard.pop(self.chance.randrange(KEPT))
        self.heard.append((words[1], rest[:size]))
        return True

    def publish(self, subject, data):
        self.socket.settimeout(1)
        self.socket.sendall(b"PUB %s %d\r\n%s\r\n" % (subject, len(data), data))

    def spoilt(self, kind, packet):
        """A packet that is wrong in this way, and in no other that is looked at before."""
        data = bytearray(packet)
        if kind == "not_ours":
            return self.chance.randbytes(self.chance.randrange(1, 200))
        if kind == "bad_length":
            return bytes(data[:-1]) if self.chance.random() < 0.5 and len(data) > HEAD + 9 else bytes(data) + b"\0"
        at = {"other_version": 4, "other_token": 12, "other_cluster": 16}.get(kind)
        if at is None:
            at = self.chance.randrange(HEAD, len(data))
        data[at] ^= 1 << self.chance.randrange(8)
        return bytes(data)

    def lie(self, everybody):
        """One of each kind."""
        for kind in SPOILT:
            subject, packet = self.chance.choice(self.heard)
            self.sent[kind] += 1
            self.publish(b"axo.soak" if everybody else subject, self.spoilt(kind, packet))

    def repeat(self):
        """Some of what was heard, for whom it was, and for somebody else."""
        for _ in range(5):
            subject, packet = self.chance.choice(self.heard)
            if packet[6] not in self.repeats:
                continue
            self.again += 1
            self.publish(subject, packet)
            self.publish(self.chance.choice(self.heard)[0], packet)

    def run(self):
        while not self.ends.is_set():
            try:
                self.connect()
                while not self.ends.is_set():
                    self.hear(0.05)
                    if self.heard:
                        self.lie(self.chance.random() < 0.5)
                        self.repeat()
            except OSError:
                time.sleep(0.05)

    def exact(self, count):
        """So many of each kind to everybody, when the thread has ended."""
        self.connect()
        for _ in range(count):
            self.lie(True)
        self.socket.sendall(b"PING\r\n")
        self.hear(0.5)


class Node:
    def __init__(self, run, name):
        self.run = run
        self.name = name
        self.process = None
        self.journal = ""
        self.stopped = False
        self.told = False  # that all is to be quiet

    def start(self):
        self.run.lives += 1
        self.journal = os.path.join(self.run.stage, f"{self.name}-{self.run.lives:04}.journal")
        skew = self.run.chance.choice(SKEWS) if self.run.wanders else SKEWS[NAMES.index(self.name) % 3]
        self.stopped = False
        self.told = False
        with open(os.path.join(self.run.stage, "stderr"), "ab") as errors:
            self.process = subprocess.Popen([self.run.program, self.name, self.run.server.url, self.run.membership,
                                             self.journal, str(skew), *NAMES], stdout=errors, stderr=errors)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def end(self, number):
        """By a signal; it is waited for."""
        if self.stopped:
            self.signal(signal.SIGCONT)
            self.stopped = False
        self.signal(number)
        try:
            code = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Wrong(f"{self.name} does not end") from None
        # One that has not blocked the signal yet has written nothing.
        good = {0, OVER, -number} if number == signal.SIGKILL or not os.path.exists(self.journal) else {0, OVER}
        if code not in good:
            raise Wrong(f"{self.name} has ended with {code}")

    def probes(self, marks):
        """Answers that it has got since it was marked the first time, if it was marked so often."""
        with open(self.journal, encoding="utf-8", errors="replace") as file:
            _, *since = file.read().split(" 0 Z ")
        return sum(text.count(" a ") for text in since) if len(since) == marks else 0

    def figures(self):
        """Its last row."""
        try:
            with open(self.journal, "rb") as file:
                file.seek(max(0, os.path.getsize(self.journal) - 20000))
                lines = file.read().decode(errors="replace").split("\n")[:-1]
        except OSError:
            return None
        rows = [line.split() for line in lines if line.split()[1:3] in (["0", "R"], ["0", "Z"])]
        return dict(zip(FIGURES, map(int, rows[-1][3:])), at=int(rows[-1][0])) if rows else None


class Run:
    def __init__(self, given, stage, seed, membership):
        self.program, self.stage, self.membership = given.node, stage, membership
        self.seconds, self.sanitized = given.seconds, given.sanitized
        self.chance = random.Random(f"{seed} {membership}")
        # Each life has another clock; with beats by the clock of the day, which a repeated beat of an
        # earlier one would outdo.
        self.wanders = self.chance.random() < 0.5
        self.calm = seed % 5 == 0
        self.forgets = self.chance.random() < 0.5
        self.lives = 0
        self.did = dict.fromkeys(("killed", "left", "over", "stopped", "stopped for long", "server stopped",
                                  "server killed", "store lost", "started again at the end"), 0)
        self.server = Server(stage)
        kinds = (1, 3, 4, 5) if self.wanders and membership == "beats" else (1, 2, 3, 4, 5)
        self.stranger = Stranger(self.server.port, seed, kinds)
        self.nodes = {name: Node(self, name) for name in NAMES}
        self.later = []  # (when, what)

    # ---- what is done to them

    def at(self, seconds, what):
        self.later.append((time.monotonic() + seconds, what))

    def turn(self):
        """What is due, and nodes that are over by themselves."""
        now = time.monotonic()
        due = [what for when, what in self.later if when <= now]
        self.later = [(when, what) for when, what in self.later if when > now]
        for what in due:
            what()
        for node in self.nodes.values():
            code = node.process.poll()
            if code is None:
                continue
            if code != OVER:
                raise Wrong(f"{node.name} has ended with {code}")
            self.did["over"] += 1
            node.start()

    def kill(self):
        node = self.nodes[self.chance.choice(NAMES[1:])]
        leaves = self.chance.random() < 0.2 and not node.stopped
        self.did["left" if leaves else "killed"] += 1
        node.end(signal.SIGTERM if leaves else signal.SIGKILL)
        node.start()

    def stop(self):
        node = self.nodes[self.chance.choice(NAMES[1:])]
        if node.stopped:
            return
        long = self.chance.random() < 0.4
        self.did["stopped for long" if long else "stopped"] += 1
        process = node.process
        node.stopped = True
        node.signal(signal.SIGSTOP)

        def goes_on():
            if node.process is process:
                node.stopped = False
                node.signal(signal.SIGCONT)
        self.at(self.chance.uniform(1.3, 2.5) * DOWN_S if long else self.chance.uniform(0.1, 0.5) * DOWN_S, goes_on)

    def server_fault(self):
        if self.chance.random() < 0.5:
            self.did["server stopped"] += 1
            process = self.server.process
            process.send_signal(signal.SIGSTOP)
            long = self.chance.random() < 0.2  # connections are given up meanwhile
            self.at(self.chance.uniform(6, 9) if long else self.chance.uniform(0.3, 4),
                    lambda: process.send_signal(signal.SIGCONT))
            return
        forgets = self.forgets and self.chance.random() < 0.5
        self.did["store lost" if forgets else "server killed"] += 1
        self.server.kill(forgets)
        self.at(self.chance.uniform(0, 3), self.server.start)

    def disturb(self):
        begin = time.monotonic()
        kills = 0
        stop_at, server_at = 4.5, 6.3
        while time.monotonic() - begin < self.seconds:
            passed = time.monotonic() - begin
            self.turn()
            if passed >= 3 + kills and not self.calm:
                kills += 1
                self.kill()
            if passed >= stop_at and not self.calm:
                stop_at = passed + self.chance.uniform(1, 4)
                self.stop()
            if passed >= server_at:
                server_at = passed + self.chance.uniform(6, 10)
                self.server_fault()
            time.sleep(0.01)
        while self.later:
            self.turn()
            time.sleep(0.01)

    # ---- the end

    def see_all(self, since):
        """Nodes that do not see all the others, by figures that are not older."""
        rows = {node: node.figures() for node in self.nodes.values()}
        return [node for node, row in rows.items()
                if row is None or row["at"] < since * 1000 or row["nodes"] != len(NAMES) - 1]

    def settle(self):
        """Two nodes that hold each other lost stay so; with beats one has to be started again."""
        begin = time.monotonic()
        good_since = None
        patience = begin + 15
        while good_since is None or time.monotonic() - good_since < SETTLE_S:
            self.turn()
            for node in self.nodes.values():
                if not node.told and os.path.exists(node.journal):
                    node.told = True
                    node.signal(signal.SIGUSR1)
            alone = self.see_all(time.monotonic() - 2)
            now = time.monotonic()
            good_since = None if alone else good_since or now
            if alone and self.membership == "beats" and now > patience:
                self.did["started again at the end"] += 1
                patience = now + 10
                alone[0].end(signal.SIGTERM)
                alone[0].start()
            if now - begin > WAIT_S + SETTLE_S:
                raise Wrong(f"{[node.name for node in alone]} do not see all the others: "
                            f"{[node.figures() for node in alone]}")
            time.sleep(0.1)

    def mark(self, count):
        """The figures of all nodes, in a line of their own; then all of them have asked all the others."""
        for node in self.nodes.values():
            node.signal(signal.SIGUSR2)
        until = time.monotonic() + END_S
        while time.monotonic() < until and any(node.probes(count) < count * TALKERS * (len(NAMES) - 1)
                                               for node in self.nodes.values()):
            time.sleep(0.1)

    def judge(self):
        self.stranger.ends.set()
        self.stranger.join()
        self.settle()
        self.mark(1)
        before = dict(self.stranger.sent)
        self.stranger.exact(EXACT)
        until = time.monotonic() + 10
        wanted = {node: node.figures()["bad_length"] for node in self.nodes.values()}
        while time.monotonic() < until and any(node.figures()["bad_length"] < was + EXACT
                                               for node, was in wanted.items()):
            time.sleep(0.1)
        time.sleep(0.5)
        self.mark(2)
        exact = {name: self.stranger.sent[name] - before[name] for name in REFUSED}
        for node in self.nodes.values():
            node.end(signal.SIGTERM)
        texts = []
        for path in sorted(glob.glob(os.path.join(self.stage, "*.journal"))):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
        return Check(texts, {"stranger": self.stranger.sent, "exact": exact, "sanitized": self.sanitized,
                             "calm": self.calm})

    def go(self):
        try:
            self.server.start()
            for node in self.nodes.values():
                node.start()
            self.stranger.start()
            self.disturb()
            return self.judge()
        finally:
            self.stranger.ends.set()
            for process in [node.process for node in self.nodes.values()] + [self.server.process]:
                if process is not None and process.poll() is None:
                    process.kill()
                    process.wait()


def left_behind(stage):
    """Processes that have the run's folder in their command."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                if stage.encode() in file.read():
                    found.append(path.split("/")[2])
        except OSError:
            pass
    return found


# What a run of a minute has to have met.
WANTED = ("messages", "messages within a node", "references passed on", "ends told", "nodes lost to a watcher", "answers",
          "asks that failed", "finds", "nodes up", "strangers' packets", "nodes that lived long")


def one(given, seed, membership):
    """A run: what was wrong with it."""
    stage = tempfile.mkdtemp(prefix="axo-nodes-")
    run = Run(given, stage, seed, membership)
    begin = time.monotonic()
    wrong = []
    try:
        check = run.go()
        wrong = [f"{kind}: {text}" for kind, text in check.run()]
        wrong += [f"no {word} were met" for word in WANTED
                  if check.met[word] == 0 and (given.seconds >= 30 or word != "nodes that lived long")]
        print(f"  {membership}, seed {seed}, {run.lives} lives, {time.monotonic() - begin:.0f} s, "
              f"clocks {'wander' if run.wanders else 'differ'}: "
              + ", ".join(f"{word} {count}" for word, count in list(run.did.items()) if count) + "; stranger "
              + f"{sum(run.stranger.sent.values())} spoilt, {run.stranger.again} again; "
              + ", ".join(f"{word} {count}" for word, count in sorted(check.met.items())), flush=True)
    except Wrong as why:
        wrong.append(str(why))
    except BaseException:
        shutil.rmtree(stage)
        raise
    left = left_behind(stage)
    if left:
        wrong.append(f"processes are left: {left}")
    return stage, wrong


def main():
    options = argparse.ArgumentParser()
    options.add_argument("node")
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--runs", type=int, default=2)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--membership", choices=("beats", "store"))
    options.add_argument("--keep")
    options.add_argument("--sanitized", action="store_true")
    given = options.parse_args()
    # By the way on which nodes and the server are ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if path_of_server() is None:
        print("left out: nats-server is not there; Debian's nats-server")
        return 0
    good = 0
    for i in range(given.runs):
        membership = given.membership or ("store", "beats")[i % 2]
        stage, wrong = one(given, given.seed + i, membership)
        for line in wrong[:20]:
            print(f"  {membership}, seed {given.seed + i}: {line}")
        good += not wrong
        if wrong and given.keep:
            shutil.move(stage, os.path.join(given.keep, f"{membership}-{given.seed + i}"))
        else:
            shutil.rmtree(stage)
        sys.stdout.flush()
    print(f"soak-cluster: {good} of {given.runs} runs held")
    return 0 if good == given.runs else 1


if __name__ == "__main__":
    sys.exit(main())
