"""axo_gdb.py - what the actors of a process do, seen by gdb: in a live process, and in a core dump.

  axo tree [PATH] [-n MAX]     actors: path, class, state, messages that wait, restarts
  axo where                    workers: what each one runs, which message, since when
  axo mailbox PATH [-n MAX]    messages of an actor, in the order in which they will be handled
  axo use EXPRESSION           take this axo_system too: for a manual one, which has no threads

gdb loads this file by itself with a libaxo.so of its own prefix; else: gdb -x axo_gdb.py.
It reads the types of the library from its debug information. A process that crashed may be
damaged anywhere: every walk has a bound, what cannot be read is said in place of a value, and
nothing is written or called. gdb stops the process while it looks, so what is shown is one instant.
"""
import re

import gdb

# The bits of a cell's word, as in runtime/cell/state.h, and of a message, as in mailbox/message.h.
LANE = (1 << 48) - 1
RUNNING = 1 << 48
READY = 1 << 49
URGENT = 1 << 50
CLOSED = 1 << 53
TERMINATING = 1 << 54
WAITING = 1 << 55
HELD = 1 << 56
FLAGS = {"OWNED": 1, "PILL": 2, "KILL": 4, "NOTICE": 8, "SIGNAL": 16, "TRACED": 32, "TICK": 64, "BOUND": 128}
PHASES = ("new", "", "restarting", "restarting", "stopping", "stopping", "gone", "gone")
SLOT_BITS = 24

COUNT_MAX = 10000  # messages that are counted of one list
DEPTH_MAX = 1000   # steps from an actor to the root
POOLS_MAX = 70000  # more than there are numbers
ROWS_MAX = 1000    # rows of a table, if not told otherwise


class Damaged(Exception):
    """What was found cannot be: the message says where."""


def number(value):
    """A plain or an atomic integer or pointer."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT:
        value = value["v"]
    return int(value)


def pointer(address, name):
    return gdb.Value(address).cast(gdb.lookup_type(name).pointer())


def follow(value, name):
    """The struct that an atomic pointer leads to; None: NULL."""
    address = number(value)
    return pointer(address, name).dereference() if address else None


def text(value, size=64):
    """A C string, whatever is in it."""
    address = int(value)
    if address == 0:
        return None
    raw = b""
    try:
        # One page at a time: a string may end just below one that is not there.
        while len(raw) < size and b"\0" not in raw:
            room = min(size - len(raw), 4096 - (address + len(raw)) % 4096)
            raw += bytes(gdb.selected_inferior().read_memory(address + len(raw), room))
    except gdb.MemoryError:
        if not raw:
            return f"<no text at {address:#x}>"
    raw = raw.split(b"\0")[0]
    return "".join(chr(c) if 32 <= c < 127 else "?" for c in raw)


def walk(address, step, bound):
    """The addresses of a list; Damaged if it is a ring. After `bound` it ends with None."""
    seen = set()
    while address:
        if address in seen:
            raise Damaged(f"a ring at {address:#x}")
        if len(seen) == bound:
            yield None
            return
        seen.add(address)
        yield address
        address = step(address)


def duration(ns):
    if ns < 0:
        return "?"
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= size:
            return f"{ns / size:.1f} {unit}"
    return f"{ns} ns"


def table(head, rows, right):
    """Columns as wide as what is in them."""
    rows = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        cells = [cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


class System:
    """An axo_system, read through its types."""

    def __init__(self, address):
        self.address = address
        self.value = pointer(address, "axo_system").dereference()
        self.core = self.value["core"]
        shelf = gdb.lookup_type("axo__shelf")
        low, high = shelf["cells"].type.range()
        self.chunk = high - low + 1

    def name(self):
        return text(self.value["name"].address, 64)

    # ---- cells

    def cell(self, slot):
        if slot >= number(self.core["table"]["slots"]):
            raise Damaged(f"there is no slot {slot}")
        shelf = follow(self.core["table"]["chunks"][slot // self.chunk], "axo__shelf")
        if shelf is None:
            raise Damaged(f"slot {slot} has no memory")
        return shelf["cells"][slot % self.chunk]

    def cold(self, cell):
        slot = int(cell["slot"])
        shelf = follow(self.core["table"]["chunks"][slot // self.chunk], "axo__shelf")
        if shelf is None or int(shelf["cells"][slot % self.chunk].address) != int(cell.address):
            raise Damaged(f"a cell at {int(cell.address):#x} says that it is slot {slot}")
        return shelf["cold"][slot % self.chunk]

    @staticmethod
    def extra(cell):
        return follow(cell["extra"], "axo__extra")

    def bits(self, cell):
        return number(cell["self"]) >> SLOT_BITS << SLOT_BITS | int(cell["slot"])

    def find(self, bits):
        """The living cell of a reference; None."""
        slot = bits & ((1 << SLOT_BITS) - 1)
        if slot >= number(self.core["table"]["slots"]):
            return None
        cell = self.cell(slot)
        return cell if number(cell["self"]) == bits else None

    def own_name(self, cell):
        extra = self.extra(cell)
        name = int(extra["name"]) if extra is not None else 0
        if name:
            record = pointer(name, "axo__name")
            return text(record["text"].address, min(int(record["length"]) + 1, 512))
        return f"${self.bits(cell):x}"

    def named(self, cell):
        """The name, or what is known if it cannot be read."""
        try:
            return self.own_name(cell)
        except gdb.MemoryError as error:
            return f"<slot {int(cell['slot'])}: {error}>"

    def path(self, cell):
        names = []
        for _ in range(DEPTH_MAX):
            if int(cell["parent"]) == 0:
                return "/" + "/".join(reversed(names))
            names.append(self.own_name(cell))
            cell = self.cell(int(cell["parent"]) - 1)
        raise Damaged("an actor with more ancestors than there can be")

    def told(self, cell):
        """The path, or what is known if it cannot be read."""
        try:
            return self.path(cell)
        except (Damaged, gdb.MemoryError) as error:
            return f"<slot {int(cell['slot'])}: {error}>"

    def who(self, bits):
        if bits == 0:
            return "-"
        try:
            cell = self.find(bits)
            return self.path(cell) if cell is not None else f"${bits:x} (gone)"
        except (Damaged, gdb.MemoryError) as error:
            return f"${bits:x} <{error}>"

    def class_name(self, cell):
        word = self.cold(cell)["cls"]["v"]
        if int(word) == 0:
            return "?"
        cls = word.cast(gdb.lookup_type("axo_class").pointer())
        return text(cls["name"]) or "actor"

    def children(self, cell, bound):
        """Youngest first, as the cells are linked; None: there are more."""
        extra = self.extra(cell)
        family = int(extra["family"]) if extra is not None else 0
        if not family:
            return
        first = int(pointer(family, "axo__family")["children"])

        def step(address):
            link = int(self.cold(pointer(address, "axo__cell").dereference())["next"])
            return int(self.cell(link - 1).address) if link else 0
        for address in walk(first, step, bound):
            yield None if address is None else pointer(address, "axo__cell").dereference()

    def state(self, cell):
        word = number(cell["state"]["word"])
        if word & CLOSED:
            return "gone"
        phase = PHASES[int(cell["phase"]) & 7]
        if word & RUNNING:
            return "running" + (f", {phase}" if phase else "")
        if phase:
            return phase
        if word & TERMINATING:
            return "stopping"
        if word & HELD:
            return "suspended"
        if word & WAITING:
            return "parked"
        return "queued" if word & (LANE | READY | URGENT) else "idle"

    # ---- messages

    @staticmethod
    def next_message(address):
        return int(pointer(address, "axo__message")["node"]["next"])

    def lists(self, cell):
        """Where messages wait, in the order of handling: name, first, whether newest comes first."""
        extra = self.extra(cell)
        if extra is not None:
            yield "front", int(extra["front"]["first"]), False
        if not int(cell["bounded"]):
            # what lies in `rest` is older than what has been turned, and newest first
            yield "inbox", int(cell["inbox"]["rest"]), True
            yield "inbox", int(cell["inbox"]["first"]), False
            yield "lane", number(cell["state"]["word"]) & LANE, True
        elif extra is not None and int(extra["bounded"]):
            bounded = extra["bounded"].dereference()
            yield "control", int(bounded["control"]["first"]), False
            yield "mailbox", int(bounded["rest"]["first"]), False
            yield "late", int(bounded["late"]["first"]), False
        if extra is not None and int(extra["stash"]["first"]):
            yield "stash", int(extra["stash"]["first"]), False

    def entries(self, cell):
        """Of a priority mailbox: a heap, in the order in which its messages come out."""
        extra = self.extra(cell)
        if extra is None or not int(cell["bounded"]) or not int(extra["bounded"]):
            return []
        bounded = extra["bounded"].dereference()
        count = int(bounded["entry_count"])
        if count > int(bounded["entry_room"]):
            raise Damaged(f"a heap of {count} entries with room for {int(bounded['entry_room'])}")
        if count == 0:
            return []
        entries = [bounded["entries"][i] for i in range(min(count, COUNT_MAX))]
        entries.sort(key=lambda e: (int(e["priority"]), int(e["number"])))
        return [int(entry["message"]) for entry in entries]

    def messages(self, cell, bound):
        """(where, address) of each message; an address of None: there are more, a text: damage."""
        for where, first, reverse in self.lists(cell):
            found = []
            try:
                for address in walk(first, self.next_message, bound):
                    found.append(address)
            except (Damaged, gdb.MemoryError) as error:
                found.append(f"<{error}>")
            for address in reversed(found) if reverse else found:
                yield where, address
            if where == "mailbox":
                for address in self.entries(cell):
                    yield where, address

    def waiting(self, cell):
        """How many messages wait; "n+": at least so many, "n?": the list is damaged."""
        count, mark = 0, ""
        try:
            for where, address in self.messages(cell, COUNT_MAX):
                if where == "stash":
                    continue
                if address is None:
                    mark = "+"
                elif isinstance(address, str):
                    mark = "?"
                else:
                    count += 1
        except (Damaged, gdb.MemoryError):
            mark = "?"
        return f"{count}{mark}"

    # ---- workers

    def pools(self):
        yield self.value["sched"].address
        step = lambda address: int(pointer(address, "axo__sched")["next"])
        for address in walk(int(self.value["pools"]), step, POOLS_MAX):
            if address is not None:
                yield pointer(address, "axo__sched")

    def workers(self):
        """(name, worker) of each that there is."""
        for pool in self.pools():
            pool = pool.dereference()
            count, spares = int(pool["worker_count"]), int(pool["spare_count"])
            if count > 1024 or spares > 64:
                raise Damaged(f"a pool of {count} workers")
            for i in range(count + spares):
                if int(pool["grown"]):
                    worker = follow(pool["grown"][i], "axo__worker")
                    if worker is None:
                        break
                else:
                    if not int(pool["workers"]):
                        break
                    worker = pool["workers"][i]
                yield self.worker_name(worker), worker

    @staticmethod
    def worker_name(worker):
        thread = worker["thread"]
        if not int(worker["has_thread"]) or not int(thread["body"]):
            return "host"
        return f"{text(thread['body']['name'], 16)}{int(thread['number'])}"


class Systems:
    """The systems of the process: its threads lead to them."""

    def __init__(self):
        self.used = []

    @staticmethod
    def of_thread():
        """The system of the selected thread; 0: it is none of the library's."""
        try:
            worker = gdb.parse_and_eval("(unsigned long)axo__self")
            if int(worker):
                return int(pointer(int(worker), "axo__worker")["local"]["core"]["system"])
        except gdb.error:
            pass
        # Without libthread_db there are no thread-local words; the frames say the same.
        try:
            frame = gdb.newest_frame()
            for _ in range(DEPTH_MAX):
                if frame is None:
                    break
                if frame.name() in ("posix_thread_run", "posix_thread_main"):
                    for name in ("thread", "argument"):
                        try:
                            address = int(frame.read_var(name))
                        except (ValueError, gdb.error):
                            continue
                        thread = pointer(address, "axo__os_thread")
                        if (text(thread["body"]["name"], 16) or "") == "axo/reclaim":
                            break
                        worker = pointer(int(thread["arg"]), "axo__worker")
                        return int(worker["local"]["core"]["system"])
                frame = frame.older()
        except gdb.error:
            pass
        return 0

    def all(self):
        try:
            gdb.lookup_type("axo__worker")
        except gdb.error:
            raise gdb.GdbError("axo: libaxo's debug information is missing; Debian has it in libaxo0.1-dbgsym")
        found = list(self.used)
        selected = gdb.selected_thread()
        frame = None
        try:
            frame = gdb.selected_frame()
        except gdb.error:
            pass
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
            thread.switch()
            address = self.of_thread()
            if address and address not in found:
                found.append(address)
        if selected is not None:
            selected.switch()
        if frame is not None and frame.is_valid():
            frame.select()
        if not found:
            raise gdb.GdbError("axo: no thread here is a worker; for a manual system: axo use EXPRESSION")
        return [System(address) for address in found]


SYSTEMS = Systems()


def options(argument, path_needed):
    """A path (may be None) and the bound of rows."""
    words = gdb.string_to_argv(argument)
    bound, path = ROWS_MAX, None
    while words:
        word = words.pop(0)
        if word == "-n":
            if not words or not re.fullmatch(r"[1-9]\d*", words[0]):
                raise gdb.GdbError("axo: -n wants a number")
            bound = int(words.pop(0))
        elif path is None and not word.startswith("-"):
            path = word
        else:
            raise gdb.GdbError(f"axo: what is {word}?")
    if path_needed and path is None:
        raise gdb.GdbError("axo: which actor? a path as axo tree shows it, or the bits of a reference")
    return path, bound


def look_up(path):
    """(system, cell) of a path, or of a reference's bits; the first system that has it."""
    if re.fullmatch(r"0x[0-9a-fA-F]+|\d+", path):
        for system in SYSTEMS.all():
            cell = system.find(int(path, 0))
            if cell is not None:
                return system, cell
        raise gdb.GdbError(f"axo: no actor has the reference {path}")
    for system in SYSTEMS.all():
        cell = system.value["cells"][0].dereference()
        for word in [word for word in path.split("/") if word]:
            for child in system.children(cell, COUNT_MAX):
                if child is not None and system.named(child) == word:
                    cell = child
                    break
            else:
                cell = None
                break
        if cell is not None:
            return system, cell
    raise gdb.GdbError(f"axo: no actor has the path {path}")


def safely(function):
    """What is beyond reading ends a command with a line, never with a trace of Python."""
    def command(self, argument, from_tty):
        try:
            function(self, argument)
        except gdb.MemoryError as error:
            raise gdb.GdbError(f"axo: the process is damaged: {error}")
        except Damaged as error:
            raise gdb.GdbError(f"axo: the process is damaged: {error}")
    return command


class Axo(gdb.Command):
    """Actors of libaxo: axo tree, axo where, axo mailbox PATH, axo use EXPRESSION."""

    def __init__(self):
        super().__init__("axo", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class AxoTree(gdb.Command):
    """axo tree [PATH] [-n MAX]: actors below PATH, oldest first: path, class, state, messages that
wait ("9+": at least so many, "9?": the mailbox is damaged), restarts."""

    def __init__(self):
        super().__init__("axo tree", gdb.COMMAND_STATUS)

    @staticmethod
    def row(system, cell, path):
        try:
            instance = number(cell["instance"])
            return [path, system.class_name(cell), system.state(cell), system.waiting(cell),
                    instance - 1 if instance > 0 else 0]
        except (Damaged, gdb.MemoryError) as error:
            return [path, f"<{error}>", "?", "?", "?"]

    def rows(self, system, top, bound):
        """Depth first without recursion; a cell is shown once, whatever the links say."""
        shown = set()
        todo = [(top, system.told(top))]
        while todo:
            cell, path = todo.pop()
            if cell is None:
                yield [path, "", "", "", ""]
                continue
            if int(cell.address) in shown:
                yield [path, "<a ring>", "?", "?", "?"]
                continue
            if len(shown) == bound:
                yield [f"... more than {bound}: axo tree -n {10 * bound}", "", "", "", ""]
                return
            shown.add(int(cell.address))
            yield self.row(system, cell, path)
            # The list is youngest first, and so is the stack: the oldest comes off it first.
            prefix = path if path.endswith("/") else path + "/"
            young = []
            try:
                for child in system.children(cell, bound):
                    name = "... older ones" if child is None else system.named(child)
                    young.append((child, prefix + name))
            except (Damaged, gdb.MemoryError) as error:
                young.append((None, f"{prefix}<{error}>"))
            todo.extend(young)

    @safely
    def invoke(self, argument):
        path, bound = options(argument, False)
        head = ["PATH", "CLASS", "STATE", "WAIT", "RESTARTS"]
        if path is not None:
            system, cell = look_up(path)
            table(head, self.rows(system, cell, bound), {3, 4})
            return
        for system in SYSTEMS.all():
            print(f"system {system.name()} at {system.address:#x}")
            table(head, self.rows(system, system.value["cells"][0].dereference(), bound), {3, 4})


class AxoWhere(gdb.Command):
    """axo where: what each worker does: its thread (gdb's number), the actor, its class, the tag and
the sender of the message, and about for how long."""

    def __init__(self):
        super().__init__("axo where", gdb.COMMAND_STATUS)

    @staticmethod
    def threads():
        """gdb's numbers of threads by their pthread_t."""
        found = {}
        for thread in gdb.selected_inferior().threads():
            try:
                found[int.from_bytes(thread.handle(), "little")] = thread.num
            except gdb.error:
                pass
        return found

    @staticmethod
    def now(system):
        """The clock: of this machine for a live process; of a core dump the newest reading."""
        newest = max([number(worker["since"]) for _, worker in system.workers()], default=0)
        target = gdb.selected_inferior()
        if target.pid and target.connection and target.connection.type == "native":
            import time
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            if now >= newest:
                return now
        return newest

    def row(self, system, name, worker, threads, now):
        has_thread = int(worker["has_thread"]) != 0
        thread = threads.get(int(worker["thread"]["thread"]), "?") if has_thread else "-"
        states = ("looking for work", "parked", "no thread")
        state = number(worker["state"])
        cell = follow(worker["running"], "axo__cell")
        if cell is None:
            return [name, thread, states[state] if state < 3 else f"<state {state}>", "", "", "", ""]
        since = duration(now - number(worker["since"]))
        tag, sender = "-", "-"
        message = follow(worker["message"], "axo__message")
        if message is not None and number(worker["running_tag"]):
            tag, sender = int(message["pub"]["tag"]), system.who(int(message["pub"]["sender"]["bits"]))
        return [name, thread, system.told(cell), system.class_name(cell), tag, sender, since]

    @safely
    def invoke(self, argument):
        options(argument, False)
        threads = self.threads()
        for system in SYSTEMS.all():
            now = self.now(system)
            rows = []
            for name, worker in system.workers():
                try:
                    rows.append(self.row(system, name, worker, threads, now))
                except (Damaged, gdb.MemoryError) as error:
                    rows.append([name, "?", f"<{error}>", "", "", "", ""])
            print(f"system {system.name()} at {system.address:#x}")
            table(["WORKER", "THREAD", "ACTOR", "CLASS", "TAG", "SENDER", "FOR"], rows, {1, 4, 6})


class AxoMailbox(gdb.Command):
    """axo mailbox PATH [-n MAX]: the messages of an actor in the order of handling: where each lies, its
tag, sender, bytes and address (p *(axo_message *)...)."""

    def __init__(self):
        super().__init__("axo mailbox", gdb.COMMAND_STATUS)

    @staticmethod
    def row(system, place, where, address):
        message = pointer(address, "axo__message")
        public = message["pub"]
        flags = int(message["flags"])
        words = ",".join(name.lower() for name, bit in FLAGS.items() if flags & bit) or "-"
        return [place, where, int(public["tag"]), system.who(int(public["sender"]["bits"])), int(public["size"]),
                words, f"{int(public.address):#x}"]

    @safely
    def invoke(self, argument):
        path, bound = options(argument, True)
        system, cell = look_up(path)
        rows = []
        for name, worker in system.workers():
            running = follow(worker["running"], "axo__cell")
            message = number(worker["message"])
            if running is not None and int(running.address) == int(cell.address) and message:
                rows.append(self.row(system, "now", name, message))
        place = 0
        for where, address in system.messages(cell, COUNT_MAX):
            if len(rows) >= bound:
                rows.append(["", f"... more than {bound}: -n {10 * bound}", "", "", "", "", ""])
                break
            if address is None or isinstance(address, str):
                rows.append(["", f"{where}: {address or 'more'}", "", "", "", "", ""])
                continue
            place += 1
            try:
                rows.append(self.row(system, place, where, address))
            except gdb.MemoryError as error:
                rows.append([place, f"{where}: <{error}>", "", "", "", "", ""])
        print(f"{system.told(cell)} ({system.class_name(cell)}): {system.state(cell)}")
        table(["#", "WHERE", "TAG", "SENDER", "BYTES", "FLAGS", "AT"], rows, {0, 2, 4})


class AxoUse(gdb.Command):
    """axo use EXPRESSION: the commands show this axo_system too."""

    def __init__(self):
        super().__init__("axo use", gdb.COMMAND_STATUS, gdb.COMPLETE_EXPRESSION)

    @safely
    def invoke(self, argument):
        if not argument:
            raise gdb.GdbError("axo: which axo_system?")
        address = int(gdb.parse_and_eval(argument))
        try:
            system = System(address)
            name = system.name()
            root = int(system.value["cells"][0])
            owner = int(system.core["system"])
        except gdb.error as error:
            raise gdb.GdbError(f"axo: no axo_system: {error}")
        if owner != address or not root:
            raise gdb.GdbError(f"axo: there is no axo_system at {address:#x}")
        if address not in SYSTEMS.used:
            SYSTEMS.used.append(address)
        print(f"system {name} at {address:#x}")


for command in (Axo, AxoTree, AxoWhere, AxoMailbox, AxoUse):
    command()
