#!/usr/bin/env python3
# kv_cluster_clients.py - clients of kv_cluster.c's nodes while these are killed: each knows what its
# keys may be by what was answered, and looks whether they are.
#
#   kv_cluster_clients.py FOLDER --threads T --seed N
#
# FOLDER has a file NODE.port for each node that can be connected to. The clients go on until there is
# a file `quiet` in it: all nodes are up then. In the end each key is asked for at each node, and the
# number of keys is compared. A line for what is wrong, exit code 1.
#
# A key has one client, and a set of values that it may have: one, as long as all is answered. A
# request without an answer, or with -DOWN that says "it may be done", leaves the values before it and
# behind it. It may be done later, too, so nothing more is asked to be done with its key.
import argparse
import glob
import os
import random
import sys
import threading
import time

from kv_clients import Client, Wrong, request

KEYS = 30
BATCH = 16
BATCHES = 20        # with one connection
WAIT_S = 30
CHUNK = 200


class Key:
    """A key, and the values that it may have."""

    def __init__(self, name):
        self.name = name
        self.values = {None}
        self.sure = True    # all that was asked is answered


def after(what, value):
    """The value behind a request, and the answer."""
    if what[0] == "SET":
        return what[2], b"+OK"
    if what[0] == "DEL":
        return None, int(value is not None)
    if what[0] == "INCR":
        number = int(value or 0) + 1
        return b"%d" % number, number
    return value, value


def answered(key, what, answer):
    """None: there was no answer."""
    text = answer if isinstance(answer, bytes) and answer[:1] == b"-" else b""
    if text.startswith(b"-DOWN") and text.endswith(b"nothing is done"):
        return
    if answer is Key or (text.startswith(b"-DOWN") and text.endswith(b"it may be done")):
        key.values |= {after(what, value)[0] for value in key.values}
        key.sure = key.sure and what[0] == "GET"
        return
    fits = {after(what, value)[0] for value in key.values if after(what, value)[1] == answer}
    if not fits:
        raise Wrong(f"{what[0]} {key.name}: {str(answer)[:80]}, and it was one of {str(key.values)[:200]}")
    key.values = fits


def port_of(node, folder):
    with open(os.path.join(folder, node + ".port"), encoding="ascii") as file:
        return int(file.read())


def nodes_of(folder):
    return [os.path.basename(path)[:-len(".port")] for path in sorted(glob.glob(os.path.join(folder, "*.port")))]


class Load(threading.Thread):
    """A client: what it asks for, and what it knows."""

    def __init__(self, number, folder, seed):
        super().__init__()
        self.number, self.folder = number, folder
        self.chance = random.Random(seed * 1000 + number)
        self.keys, self.closed = [], []
        self.asked = self.acknowledged = self.down = self.broken = 0
        self.wrong = None

    def fresh(self):
        kind = "n" if self.chance.random() < 0.5 else "t"
        return Key(f"{kind}{self.number}.{len(self.closed) + len(self.keys)}")

    def what(self, key):
        if self.chance.random() < 0.2:
            return ("DEL", key.name)
        if self.chance.random() < 0.3:
            return ("GET", key.name)
        if key.name[0] == "n":
            return ("INCR", key.name)
        self.asked += 1
        text = b"%d.%d" % (self.number, self.asked)
        return ("SET", key.name, text + b"." * self.chance.choice((0, 10, 3000)))

    def batch(self, client):
        """Some requests at once; what has no answer is told to the keys, too."""
        asked = []
        for _ in range(self.chance.randrange(1, BATCH)):
            key = self.chance.choice(self.keys)
            asked.append((key, self.what(key)))
        done = 0
        try:
            client.send(b"".join(request(*what) for _, what in asked))
            for key, what in asked:
                answer = client.answer()
                answered(key, what, answer)
                done += 1
                self.down += isinstance(answer, bytes) and answer[:5] == b"-DOWN"
                self.acknowledged += what[0] != "GET" and not (isinstance(answer, bytes) and answer[:1] == b"-")
        finally:
            for key, what in asked[done:]:
                answered(key, what, Key)
            self.closed += [key for key in self.keys if not key.sure]
            self.keys = [key for key in self.keys if key.sure]

    def run(self):
        try:
            while not os.path.exists(os.path.join(self.folder, "quiet")):
                try:
                    with Client(port_of(self.chance.choice(nodes_of(self.folder)), self.folder)) as client:
                        for _ in range(BATCHES):
                            while len(self.keys) < KEYS:
                                self.keys.append(self.fresh())
                            self.batch(client)
                except (EOFError, OSError):
                    self.broken += 1
                    time.sleep(0.05)
        except Wrong as wrong:
            self.wrong = wrong


def ask_all(client, names):
    """The values of keys; None: a node is down."""
    values = []
    for at in range(0, len(names), CHUNK):
        values += client.say("MGET", *names[at:at + CHUNK])
    count = client.say("DBSIZE")
    down = any(isinstance(value, bytes) and value[:5] == b"-DOWN" for value in values + [count])
    return None if down else (values, count)


def look(node, folder, keys):
    """All keys, by way of one node."""
    end = time.monotonic() + WAIT_S
    with Client(port_of(node, folder)) as client:
        found = ask_all(client, [key.name for key in keys])
        while found is None and time.monotonic() < end:
            time.sleep(0.2)
            found = ask_all(client, [key.name for key in keys])
    if found is None:
        raise Wrong(f"{node} holds a node down for {WAIT_S} s")
    for key, value in zip(keys, found[0]):
        if value not in key.values:
            raise Wrong(f"at {node} {key.name} is {str(value)[:80]}, not one of {str(key.values)[:200]}")
        key.values = {value} # at the next node too
    there = sum(value is not None for value in found[0])
    if found[1] != there:
        raise Wrong(f"{found[1]} keys, of which {there} were made")
    return there


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    loads = [Load(number, args.folder, args.seed) for number in range(args.threads)]
    for load in loads:
        load.start()
    for load in loads:
        load.join()
    try:
        for load in loads:
            if load.wrong is not None:
                raise load.wrong
        time.sleep(1) # what a broken connection has asked is done by then, or never
        keys = [key for load in loads for key in load.keys + load.closed]
        there = [look(node, args.folder, keys) for node in nodes_of(args.folder)][0]
    except (Wrong, EOFError, OSError) as error:
        print(f"{type(error).__name__}: {error}")
        return 1
    total = {name: sum(getattr(load, name) for load in loads) for name in ("acknowledged", "down", "broken")}
    closed = sum(len(load.closed) for load in loads)
    print(f"{total['acknowledged']} changes acknowledged, {total['down']} refused as down, {total['broken']} connections "
          f"broken, {closed} keys without an answer, {there} of {len(keys)} keys there")
    if min(total.values()) == 0 or closed == 0:
        print("no node was killed under load")
        return 1
    return 0


sys.exit(main())
