#!/usr/bin/env python3
# check.py - holds the journals of node.c against each other, and against what soak.py has done.
#
#   check.py --self-test      journals with one planted breach of each kind are refused for it
#
# A line: milliseconds, an actor's serial, and
#   I node incarnation skew    begin           M, E    the actor is made; has ended
#   S kind to number           sends           G kind from number meant    gets
#   A to number                asks            a number who, x number, y number    answered, failed, refused
#   W, V, T actor              watches, unwatches, stops        N actor address_terminated existence_known
#   f number node serial       finds           F number status node, h number    found; refused
#   U, D node incarnation why  up, down        O why, L, Q status sent handled dead dropped    over, leaves, end
#   R, Z figures               now and then; when it was asked for: first when all is quiet, then when
#                              the stranger has said so many things more
import sys
from collections import Counter, defaultdict

FIGURES = ("rss", "fds", "threads", "nodes", "not_ours", "other_version", "bad_length", "other_cluster",
           "other_token", "bad_seal", "bad_form", "strangers")
REFUSED = FIGURES[4:11]
FIRST_MAYFLY = 100
# In milliseconds: what has to be answered is, so long after it was due; an event is not yet in the journal
# of a node that was killed so soon.
DUE = 4000
KILLED = 2000
# A node that has warmed up for so long grows by no more: KiB, descriptors, threads.
WARM = 5000
LONG = 20000
# Packets of lost nodes, and of the stranger's: so many at once, and for each millisecond.
STORM, STORM_MS = 1000, 2
GROWTH = {"rss": 32768, "fds": 2, "threads": 2}


class Journal:
    """What one incarnation has written."""

    def __init__(self, text):
        lines = text.split("\n")[:-1]  # a line that has no end was not written
        self.lines = [(int(ms), int(serial), letter, rest) for ms, serial, letter, *rest in map(str.split, lines)]
        begin = [rest for _, _, letter, rest in self.lines[:1] if letter == "I"]
        self.node, self.incarnation = begin[0][:2] if begin else ("", "")
        self.name = f"{self.node}.{self.incarnation}"
        self.end = self.lines[-1][0] if self.lines else 0
        self.first = {}
        for ms, _, letter, _ in self.lines:
            if letter in "ZLOQ":
                self.first.setdefault(letter, ms)

    def uid(self, serial):
        return f"{self.name}.{serial}"


def home(uid):
    return uid.rpartition(".")[0]


class Check:
    """All journals of a run. `facts`: stranger, what it has sent in all by figure; exact, what of it
    between the two Z of each node; sanitized, whether the nodes' memory is a sanitizer's, too; calm, whether
    nothing was done but to the server."""

    def __init__(self, texts, facts):
        self.journals = [j for j in map(Journal, texts) if j.node]
        self.by_name = {j.name: j for j in self.journals}
        self.facts = facts
        self.breaches = []
        self.met = Counter()
        self.final = {j.name for j in self.journals if "Z" in j.first}
        self.sent = {}
        self.made = set()
        self.ended = {}
        self.got = set()

    def breach(self, kind, journal, text):
        self.breaches.append((kind, f"{journal.name}: {text}"))

    def run(self):
        if not self.final:
            self.breaches.append(("unfinished", "no node was there at the end"))
        for journal in self.journals:
            self.collect(journal)
        for journal in self.journals:
            self.messages(journal)
            self.watches(journal)
            self.answers(journal)
            self.view(journal)
            self.figures(journal)
            self.probes(journal)
        return self.breaches

    def collect(self, journal):
        """What all of them have sent, made and ended."""
        for ms, serial, letter, rest in journal.lines:
            if letter == "S":
                self.sent[journal.uid(serial), rest[2]] = rest[1]
            elif letter == "A":
                self.sent[journal.uid(serial), rest[1]] = rest[0]
            elif letter == "M":
                self.made.add(journal.uid(serial))
            elif letter == "E":
                self.ended[journal.uid(serial)] = ms

    def messages(self, journal):
        last = {}
        gone = defaultdict(set)
        for _, serial, letter, rest in journal.lines:
            me = journal.uid(serial)
            if letter == "D":
                gone[me].add(f"{rest[0]}.{rest[1]}")
            elif letter == "N":
                gone[me].add(rest[0])
            elif letter == "G":
                self.message(journal, me, last, gone[me], rest)

    def message(self, journal, me, last, gone, rest):
        kind, sender, number, meant = rest
        what = f"{me} got {number} of {sender}"
        to = self.sent.get((sender, number))
        if to is None:
            self.breach("made up", journal, what)
        elif (meant, to) != (me, me):
            self.breach("stray", journal, f"{what}, which is for {to}")
        if (sender, number) in self.got:
            self.breach("twice", journal, what)
        elif kind != "w" and int(number) < last.get((me, sender), 0):
            self.breach("order", journal, f"{what} behind {last[me, sender]}")
        if home(sender) in gone:
            self.breach("after loss", journal, f"{what}, whose node is lost")
        if sender in gone:
            self.breach("after end", journal, f"{what}, of whose end it was told")
        self.got.add((sender, number))
        if kind != "w":  # an ask has a sender of its own
            last[me, sender] = int(number)
        self.met["references passed on"] += kind == "p" and home(sender) != journal.name
        self.met["messages" if home(sender) != journal.name else "messages within a node"] += 1

    def watches(self, journal):
        watched = {}
        lost = {f"{rest[0]}.{rest[1]}" for _, _, letter, rest in journal.lines if letter == "D"}
        quiet = journal.first.get("Z")
        for ms, serial, letter, rest in journal.lines:
            if letter == "W":
                watched[serial, rest[0]] = ms
            elif letter == "V":
                watched.pop((serial, rest[0]), None)
            elif letter == "N":
                if watched.pop((serial, rest[0]), None) is None:
                    self.breach("notice without watch", journal, f"{serial} of {rest[0]}")
                self.notice(journal, ms, rest, lost)
            elif letter == "Z" and ms == quiet:
                self.unanswered(journal, watched, quiet)

    def notice(self, journal, ms, rest, lost):
        """The target has ended, or its node is lost here."""
        target, address = rest[0], rest[1] == "1"
        self.met["nodes lost to a watcher" if address else "ends told"] += home(target) != journal.name
        if address:
            end = min(journal.end - KILLED, journal.first.get("L", ms + 1) - 1, journal.first.get("O", ms + 1) - 1)
            if home(target) not in lost and ms <= end:
                self.breach("notice without end", journal, f"of {target}, whose node is not lost")
        elif target in self.made or home(target) not in self.by_name:
            if self.ended.get(target, ms + 1) > ms:
                self.breach("notice without end", journal, f"of {target}, which lives")

    def unanswered(self, journal, watched, quiet):
        for serial, target in watched:
            if self.ended.get(journal.uid(serial), quiet) < quiet:
                continue
            other = self.by_name.get(home(target))
            ended = self.ended.get(target, quiet) < quiet - DUE
            if ended or other is None or (other.name not in self.final and other.end < quiet - DUE):
                self.breach("unanswered", journal, f"{serial} watches {target}, which has ended")

    def answers(self, journal):
        """Of asks and finds."""
        waits = {}
        quiet = journal.first.get("Z")
        for ms, serial, letter, rest in journal.lines:
            if letter in "Af":
                number, asked = (rest[1], rest[0]) if letter == "A" else (rest[0], rest[1])
                waits[serial, number] = (ms, asked)
            elif letter in "axyFh":
                self.answer(journal, waits.pop((serial, rest[0]), None), serial, letter, rest)
            elif letter == "Z" and ms == quiet:
                for (who, number), (since, _) in waits.items():
                    if since < quiet - DUE and self.ended.get(journal.uid(who), quiet) >= quiet:
                        self.breach("no answer", journal, f"{who} has asked {number}")

    def answer(self, journal, asked, serial, letter, rest):
        if asked is None:
            self.breach("answer twice", journal, f"{serial} {letter} {rest[0]}")
            return
        who = rest[1] if letter == "a" else rest[2] if letter == "F" and rest[1] == "0" else None
        if who is not None and who != asked[1]:
            self.breach("stray", journal, f"{serial} has asked {asked[1]}, and {who} answers")
        self.met[{"a": "answers", "x": "asks that failed", "F": "finds"}.get(letter, "refused")] += 1

    def view(self, journal):
        """Who is up, as each talker is told."""
        up = defaultdict(dict)
        known = set()
        quiet = journal.first.get("Z")
        for ms, serial, letter, rest in journal.lines:
            if letter in "UD" and serial < FIRST_MAYFLY:
                node, name = rest[0], f"{rest[0]}.{rest[1]}"
                if letter == "D":
                    if self.facts["calm"] and (quiet is None or ms < quiet):
                        self.breach("needless loss", journal, f"{serial}: of {name}")
                    if up[serial].pop(node, None) != name:
                        self.breach("view", journal, f"{serial}: {name} is down, which was not up")
                    continue
                self.met["nodes up"] += 1
                if (serial, name) in known or node in up[serial]:
                    self.breach("view", journal, f"{serial}: {name} is up, and {node} was")
                known.add((serial, name))
                up[serial][node] = name
            elif letter == "Z" and ms == quiet:
                others = self.final - {journal.name}
                for who, nodes in up.items():
                    if set(nodes.values()) != others:
                        self.breach("view", journal, f"{who} sees {sorted(nodes.values())} at the end")

    def probes(self, journal):
        """In the end each talker of a node reaches one of each other node."""
        quiet = journal.first.get("Z")
        for serial in self.talkers(journal) if quiet is not None else ():
            answered = {home(rest[1]) for ms, who, letter, rest in journal.lines
                        if letter == "a" and who == serial and ms >= quiet}
            for name in sorted(self.final - {journal.name} - answered):
                self.breach("unreached", journal, f"{serial} has no answer of {name}")

    @staticmethod
    def talkers(journal):
        return {serial for _, serial, letter, _ in journal.lines if letter == "M" and serial < FIRST_MAYFLY}

    def figures(self, journal):
        rows = [(ms, letter, dict(zip(FIGURES, map(int, rest)))) for ms, _, letter, rest in journal.lines
                if letter in "RZ"]
        for _, _, row in rows[-1:]:
            self.met["strangers' packets"] += row["strangers"]
            for name in REFUSED:
                if row[name] > self.facts["stranger"][name]:
                    self.breach("figures", journal, f"{name} {row[name]}, sent {self.facts['stranger'][name]}")
        for (since, _, one), (ms, _, row) in zip(rows, rows[1:]):
            if row["strangers"] - one["strangers"] > STORM + STORM_MS * (ms - since):
                self.breach("storm", journal, f"{row['strangers'] - one['strangers']} strangers in {ms - since} ms")
        ends = [(ms, rest) for ms, _, letter, rest in journal.lines if letter == "Q"]
        for _, (status, sent, *parts) in ends:
            if status != "0" or int(sent) != sum(map(int, parts)):
                self.breach("account", journal, f"status {status}, sent {sent}, {parts}")
        if journal.name in self.final:
            self.last_figures(journal, rows, bool(ends))

    def last_figures(self, journal, rows, ended):
        marks = [row for _, letter, row in rows if letter == "Z"]
        if len(marks) != 2 or not ended:
            self.breach("unfinished", journal, f"{len(marks)} of 2 marks, end: {ended}")
            return
        for name in REFUSED:
            if marks[1][name] - marks[0][name] != self.facts["exact"][name]:
                self.breach("figures", journal, f"{name} {marks[0][name]}, then {marks[1][name]}, "
                                                f"sent {self.facts['exact'][name]}")
        warm = [row for ms, _, row in rows if ms - journal.lines[0][0] <= WARM]
        if warm and journal.end - journal.lines[0][0] > LONG:
            self.met["nodes that lived long"] += 1
            for name, most in GROWTH.items():
                if name == "rss" and self.facts["sanitized"]:
                    continue
                if marks[1][name] > max(row[name] for row in warm) + most:
                    self.breach("growth", journal, f"{name} {marks[1][name]}, {warm[-1][name]} before")


# ---- self-test: two nodes at the end, one that was killed

ZEROES = "0 0 0 0 0 0 0"
GOOD = {
    "a": f"""0 0 I a 1 0
0 1 M
1 1 U b 2 0
1 1 U c 3 0
2 1 S n b.2.1 1
3 1 A b.2.1 2
4 1 a 2 b.2.1
5 1 W b.2.100
6 1 W c.3.1
7 1 f 3 b 1
8 1 F 3 0 b
9 1 S n b.2.1 4
20 1 N b.2.100 0 1
30 1 N c.3.1 1 1
31 1 D c 3 0
40 0 R 1000 9 9 1 0 {ZEROES} 0
30000 0 Z 1000 9 9 1 0 {ZEROES} 0
30000 1 A b.2.1 5
30001 1 a 5 b.2.1
30001 0 Z 1000 9 9 1 5 5 5 5 5 5 0 0
30002 1 E
30003 0 L
30004 0 Q 0 10 7 2 1
""",
    "b": f"""0 0 I b 2 3600
0 1 M
1 1 U a 1 0
1 1 U c 3 0
2 100 M
3 1 G n a.1.1 1 b.2.1
4 1 G w a.1.1 2 b.2.1
9 1 G n a.1.1 4 b.2.1
10 1 G n c.3.1 1 b.2.1
19 100 E
31 1 D c 3 0
30000 0 Z 1000 9 9 1 0 {ZEROES} 0
30000 1 A a.1.1 5
30001 1 a 5 a.1.1
30001 0 Z 1000 9 9 1 5 5 5 5 5 5 0 0
30002 1 E
30003 0 L
30004 0 Q 0 10 7 2 1
""",
    "c": """0 0 I c 3 -3600
0 1 M
2 1 S n b.2.1 1
3 1 S n b.2.1 2
""",
}
GOT_FIRST = "3 1 G n a.1.1 1 b.2.1\n4 1 G w a.1.1 2 b.2.1\n"
GOT_LAST = "9 1 G n a.1.1 4 b.2.1\n"
# What is planted: the kind it is refused for, the journal, a text in it, what stands there instead.
PLANTED = (
    ("twice", "b", "4 1 G w", "3 1 G n a.1.1 1 b.2.1\n4 1 G w"),
    ("order", "b", GOT_FIRST + GOT_LAST, GOT_LAST + GOT_FIRST),
    ("made up", "b", "9 1 G n a.1.1 4", "9 1 G n a.1.1 6"),
    ("stray", "b", "9 1 G n a.1.1 4 b.2.1", "9 1 G n a.1.1 4 b.9.1"),
    ("stray", "b", "9 1 G n a.1.1 4 b.2.1", "9 100 G n a.1.1 4 b.2.1"),
    ("stray", "a", "a 2 b.2.1", "a 2 b.2.100"),
    ("stray", "a", "F 3 0 b", "F 3 0 c"),
    ("after loss", "b", "31 1 D c 3 0\n", "31 1 D c 3 0\n32 1 G n c.3.1 2 b.2.1\n"),
    ("after end", "a", "31 1 D c", "30 1 G n c.3.1 3 a.1.1\n31 1 D c"),
    ("notice without watch", "a", "20 1 N", "19 1 N b.2.100 0 1\n20 1 N"),
    ("notice without watch", "a", "20 1 N", "19 1 V b.2.100\n20 1 N"),
    ("notice without end", "b", "19 100 E\n", ""),
    ("notice without end", "a", "31 1 D c 3 0\n", ""),
    ("unanswered", "a", "20 1 N b.2.100 0 1\n", ""),
    ("unanswered", "a", "30 1 N c.3.1 1 1\n", ""),
    ("answer twice", "a", "4 1 a 2 b.2.1\n", "4 1 a 2 b.2.1\n5 1 x 2\n"),
    ("answer twice", "a", "8 1 F 3 0 b\n", "8 1 F 3 0 b\n8 1 F 3 0 b\n"),
    ("no answer", "a", "4 1 a 2 b.2.1\n", ""),
    ("no answer", "a", "8 1 F 3 0 b\n", ""),
    ("unreached", "a", "30001 1 a 5 b.2.1\n", "30001 1 x 5\n"),
    ("view", "a", "31 1 D c 3 0\n", "31 1 D c 3 0\n32 1 U c 3 0\n"),
    ("view", "a", "2 1 S n", "1 1 U b 4 0\n2 1 S n"),
    ("view", "a", "1 1 U b 2 0\n", ""),
    ("view", "b", "31 1 D c 3 0\n", "31 1 D a 1 0\n31 1 D c 3 0\n"),
    ("figures", "a", "1 5 5 5 5 5 5", "1 5 5 4 5 5 5"),
    ("figures", "a", "1 5 5 5 5 5 5", "1 5 5 5 5 5 6"),
    ("figures", "a", "30004 0 Q", "30004 0 R 1 9 9 1 5 5 5 5 9 5 0 0\n30004 0 Q"),
    ("figures", "b", "1 5 5 5 5 5 5 0", "1 5 5 5 5 5 5 1"),
    ("storm", "a", "1 5 5 5 5 5 5 0 0", "1 5 5 5 5 5 5 0 2000"),
    ("growth", "a", "30001 0 Z 1000", "30001 0 Z 90000"),
    ("growth", "a", "30001 0 Z 1000 9", "30001 0 Z 1000 99"),
    ("account", "b", "Q 0 10 7 2 1", "Q 0 10 7 2 0"),
    ("unfinished", "b", "30004 0 Q 0 10 7 2 1\n", ""),
)


def judge(texts, calm=False):
    same = {**dict.fromkeys(REFUSED, 5), "bad_form": 0}
    return {kind for kind, _ in Check(texts.values(), {"stranger": same, "exact": same, "sanitized": False, "calm": calm}).run()}


def self_test():
    wrong = [f"the good one is refused: {kind}" for kind in judge(GOOD)]
    for kind, name, text, planted in PLANTED:
        if GOOD[name].count(text) != 1:
            wrong.append(f"{text!r} is not once in {name}")
        found = judge({**GOOD, name: GOOD[name].replace(text, planted)})
        if kind not in found:
            wrong.append(f"{kind}: {planted!r} in {name} was taken, but for {sorted(found)}")
    if not judge({}):
        wrong.append("no journals at all are taken")
    if judge(GOOD, calm=True) != {"needless loss"}:
        wrong.append("nodes that nobody has touched may lose each other")
    for line in wrong:
        print(line)
    print(f"check.py: {len(PLANTED) + 3} journals, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] != ["--self-test"]:
        sys.exit("check.py --self-test")
    sys.exit(self_test())
