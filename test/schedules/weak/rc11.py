#!/usr/bin/env python3
# rc11.py - a second opinion on litmus_table.c: RC11 by its axioms, every candidate execution.
#
#   test/schedules/weak/rc11.py test/schedules/weak/litmus_table.c
#
# It shares nothing with the checker. All reads-from and all modification orders are tried; what
# coherence, atomicity and the order "psc" leave gives the outcomes. Those that need a circle of
# program order and reads-from must be the ones that the table calls unexplored.
import itertools
import re
import sys

ORDERS = {"rlx": "", "acq": "A", "rel": "R", "acq_rel": "AR", "sc": "ARS"}


class Event:
    """One operation; thread None: the initial store of a word."""

    def __init__(self, thread, kind, word, args, order):
        self.thread, self.kind, self.word, self.args = thread, kind, word, args
        self.order = set(order)
        if kind == "W":
            self.order.discard("A")
        if kind == "R":
            self.order.discard("R")
        self.reads = thread is not None and kind in "RAXC"


def parse(text):
    events = []
    for thread, part in enumerate(text.split("|")):
        for statement in part.split(";"):
            kind, *rest = statement.split()
            word = rest[0] if kind != "F" else None
            events.append(Event(thread, kind, word, [int(x) for x in rest[1:-1]], ORDERS[rest[-1]]))
    words = sorted({e.word for e in events if e.word})
    return words, [Event(None, "W", w, [0], "") for w in words] + events


def closure(size, edges):
    reach = [0] * size
    for a, b in edges:
        reach[a] |= 1 << b
    for k in range(size):
        for i in range(size):
            if reach[i] >> k & 1:
                reach[i] |= reach[k]
    return reach


def has_circle(reach):
    return any(reach[i] >> i & 1 for i in range(len(reach)))


def values(events, source):
    """What each reads and writes; None: a value comes out of nothing."""
    wrote = [e.args[0] if e.kind in "WX" else None for e in events]
    read = [None] * len(events)
    for _ in events:
        for r, w in source.items():
            e = events[r]
            read[r] = wrote[w]
            if read[r] is None:
                continue
            if e.kind == "A":
                wrote[r] = read[r] + e.args[0]
            elif e.kind == "C" and read[r] == e.args[0]:
                wrote[r] = e.args[1]
    return None if any(wrote[w] is None for w in source.values()) else (read, wrote)


def synchronized(events, po, source, wrote):
    edges = set()
    fences = [i for i, e in enumerate(events) if e.kind == "F"]
    for r in source:
        heads = [source[r]]
        while events[heads[-1]].reads and wrote[heads[-1]] is not None and len(heads) <= len(events):
            heads.append(source[heads[-1]])
        heads = [h for h in heads if events[h].thread is not None]
        begins = {h for h in heads if "R" in events[h].order}
        begins |= {f for f in fences for h in heads if "R" in events[f].order and (f, h) in po}
        ends = {r} if "A" in events[r].order else set()
        ends |= {f for f in fences if "A" in events[f].order and (r, f) in po}
        edges |= {(a, b) for a in begins for b in ends}
    return edges


def psc_has_circle(events, po, hb, mo, rb):
    every = range(len(events))

    def apart(a, b):
        return events[a].word != events[b].word

    def step(a, b):
        if (a, b) in po or (a, b) in mo or (a, b) in rb:
            return True
        if hb[a] >> b & 1 and events[a].word is not None and not apart(a, b):
            return True
        return any((a, x) in po and apart(a, x) and
                   any((x == y or hb[x] >> y & 1) and (y, b) in po and apart(y, b) for y in every)
                   for x in every)

    strict = [i for i in every if "S" in events[i].order]
    return has_circle(closure(len(events), [(a, b) for a in strict for b in strict
                                            if a != b and step(a, b)]))


def modification_orders(words, events, wrote):
    per_word = [[i for i, e in enumerate(events)
                 if e.thread is not None and e.word == w and wrote[i] is not None] for w in words]
    for choice in itertools.product(*[itertools.permutations(p) for p in per_word]):
        yield [[i] + list(p) for i, p in enumerate(choice)]


def outcomes(text, final):
    """Those without a circle of program order and reads-from, and those that need one."""
    words, events = parse(text)
    size = len(events)
    every = range(size)
    reads = [i for i in every if events[i].reads]
    po = {(a, b) for a in every for b in every if events[b].thread is not None and
          (events[a].thread is None or events[a].thread == events[b].thread and a < b)}
    plain, circular = set(), set()
    choices = [[w for w in every if w != r and events[w].word == events[r].word and
                events[w].kind in "WAXC"] for r in reads]
    for choice in itertools.product(*choices):
        source = dict(zip(reads, choice))
        known = values(events, source)
        if known is None:
            continue
        read, wrote = known
        rf = {(w, r) for r, w in source.items()}
        hb = closure(size, po | synchronized(events, po, source, wrote))
        if has_circle(hb):
            continue
        to = circular if has_circle(closure(size, po | rf)) else plain
        for chains in modification_orders(words, events, wrote):
            mo = {(a, b) for c in chains for i, a in enumerate(c) for b in c[i + 1:]}
            if any(wrote[r] is not None and
                   not any((w, r) in zip(c, c[1:]) for c in chains) for r, w in source.items()):
                continue
            rb = {(r, b) for r, w in source.items() for a, b in mo if a == w and b != r}
            eco = closure(size, rf | mo | rb)
            if has_circle(eco) or any(hb[a] >> b & 1 and eco[b] >> a & 1
                                      for a in every for b in every):
                continue
            if psc_has_circle(events, po, hb, mo, rb):
                continue
            last = {w: wrote[c[-1]] for w, c in zip(words, chains)}
            to.add("".join(str(read[r]) for r in reads) + "".join(str(last[w]) for w in final))
    return plain, circular - plain


def table(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, value in re.findall(r'#define (\w+) ("[^"]*")', text):
        text = re.sub(rf"\b{name}\b(?! \")", value, text)
    text = text[text.index("litmus_table[] = {"):]
    for row in re.findall(r'\{((?:\s*(?:"[^"]*"|NULL)\s*,?){6})\}', text):
        yield [x.strip('"') if x != "NULL" else "" for x in re.findall(r'"[^"]*"|NULL', row)]


def matches(pattern, outcome):
    return len(pattern) == len(outcome) and all(p in ("?", o) for p, o in zip(pattern, outcome))


def main():
    rows = list(table(sys.argv[1]))
    right = 0
    for name, text, final, allowed, forbidden, unexplored in rows:
        plain, circular = outcomes(text, final)
        same = len(plain) == int(allowed[1:]) if allowed.startswith("=") else \
            plain == set(allowed.split())
        broken = [o for o in plain | circular for p in forbidden.split() if matches(p, o)]
        if same and not broken and circular == set(unexplored.split()):
            right += 1
            continue
        print(f"  {name}: RC11 has {' '.join(sorted(plain))}; by a circle: "
              f"{' '.join(sorted(circular))}")
    print(f"rc11: {right} of {len(rows)} rows agree with the axioms")
    return 0 if right == len(rows) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
