#!/usr/bin/env python3
# kv_clients.py - clients of kv_server.c, as they are in the world: bytes one by one, halves of
# connections, resets, readers that do not read, poison, storms.
#
#   kv_clients.py PORT scene...            each once; a line for what is wrong, exit code 1
#   kv_clients.py PORT --seconds S scene...  again and again, in an order of chance, so long
import argparse
import random
import socket
import struct
import sys
import time

WAIT_S = 60
BIG = b"v" * 100000
# KV_OUTSTANDING of kv.h, and what a connection takes besides.
OUTSTANDING = 262144
A_CONNECTION = 16384
# From there the fault injector lets connections break.
BREAKS_AT = "127.0.0.2"


class Wrong(Exception):
    """The server has answered what it should not."""


def request(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


class Client:
    """A connection, and the answers that come over it."""

    def __init__(self, port, address="127.0.0.1", room=None):
        """`room`: bytes that the kernel keeps of what is not read, so that the server has the rest."""
        self.socket = socket.socket()
        if room is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.settimeout(WAIT_S)
        self.socket.bind((address, 0))
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        piece = self.socket.recv(1 << 16)
        self.rest += piece
        return piece != b""

    def line(self):
        while b"\r\n" not in self.rest:
            if not self.more():
                raise EOFError
        line, self.rest = self.rest.split(b"\r\n", 1)
        return line

    def answer(self):
        """b"+OK" and b"-ERR" as they are, a number, bytes, None, a list."""
        line = self.line()
        if line[:1] in b"+-":
            return line
        number = int(line[1:])
        if line[:1] == b":" or number < 0:
            return number if line[:1] == b":" else None
        if line[:1] == b"*":
            return [self.answer() for _ in range(number)]
        if line[:1] != b"$":
            raise Wrong(f"no answer: {line[:80]!r}")
        while len(self.rest) < number + 2:
            if not self.more():
                raise EOFError
        text, self.rest = self.rest[:number], self.rest[number + 2:]
        return text

    def say(self, *words):
        self.send(request(*words))
        return self.answer()

    def end(self):
        """Nothing but the end comes."""
        if self.rest or self.more():
            raise Wrong(f"{self.rest[:80]!r} in place of the end")

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def same(got, wanted):
    if got != wanted:
        raise Wrong(f"{str(got)[:200]} in place of {str(wanted)[:200]}")


TALK = [(("SET", "{k}", b"\r\n*3\r\n\0"), b"+OK"), (("GET", "{k}"), b"\r\n*3\r\n\0"),
        (("MSET", "{k}1", "a", "{k}2", ""), b"+OK"),
        (("MGET", "{k}1", "{k}none", "{k}2"), [b"a", None, b""]), (("DEL", "{k}1", "{k}2", "{k}3"), 2),
        (("PING",), b"+PONG"), (("INCR", "{k}n"), 1), (("INCR", "{k}n"), 2),
        (("EXISTS", "{k}", "{k}n", "{k}x"), 2), (("INCR", "{k}"),
         b"-ERR value is not an integer or out of range"), (("DEL", "{k}n"), 1),
        (("ECHO", "hello"), b"hello"), (("NONSENSE",), b"-ERR unknown command"),
        (("DEBUG", "POISON", "{k}"), b"-ERR failed: poison"), (("DEL", "{k}"), 1)]


def talk(key):
    return [tuple(word.format(k=key) if isinstance(word, str) else word for word in words)
            for words, _ in TALK], [answer for _, answer in TALK]


def fresh():
    return f"k{random.getrandbits(60):x}"


def bytewise(port):
    """However the bytes of requests arrive, the answers are the same, in the requests' order."""
    asked, wanted = talk(fresh())
    data = b"".join(request(*words) for words in asked)
    for step in (1, 2, 3, 7, 16, len(data)):
        with Client(port) as it:
            for at in range(0, len(data), step):
                it.send(data[at:at + step])
            same([it.answer() for _ in wanted], wanted)
    for at in range(1, len(data), 11):
        with Client(port) as it:
            it.send(data[:at])
            it.send(data[at:])
            same([it.answer() for _ in wanted], wanted)


def typed(port):
    """Lines as one types them."""
    key = fresh()
    with Client(port) as it:
        it.send(b"\r\nPING\r\n  set %s 12  \nGet %s\r\n" % ((key.encode(),) * 2))
        same([it.answer() for _ in range(3)], [b"+PONG", b"+OK", b"12"])
        it.send(b"DEL %s\r\nQUIT\r\nPING\r\n" % key.encode())
        same([it.answer(), it.answer()], [1, b"+OK"])
        it.end()


def malformed(port):
    """What is no request is told, and ends the connection, behind the answers to what came before."""
    for data in (b"*1\r\n:1\r\n", b"*x\r\n", b"*-1\r\n", b"*1\r\n$-5\r\n", b"*1\r\n$4\r\nPINGxx",
                 b"*2000\r\n", b"x" * 5000, b"*1\r\n$99999999999999999999\r\n"):
        with Client(port) as it:
            it.send(request("PING") + data)
            same(it.answer(), b"+PONG")
            same(it.answer()[:19], b"-ERR Protocol error")
            it.end()
    with Client(port) as it:
        it.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2000000\r\n")
        same(it.answer(), b"-ERR Protocol error: the request is too long")
        it.end()


def half(port):
    """Who ends his direction gets all answers, and the end."""
    key = fresh()
    with Client(port) as it:
        same(it.say("SET", key, BIG), b"+OK")
    with Client(port) as it:
        it.send(request("GET", key) * 100 + request("PI"))
        it.send(request("PING")[:-3])       # never whole
        it.socket.shutdown(socket.SHUT_WR)
        for _ in range(100):
            same(it.answer(), BIG)
        same(it.answer(), b"-ERR unknown command")
        it.end()
    with Client(port) as it:
        same(it.say("DEL", key), 1)


def resets(port):
    """Connections that are reset, in the middle of a request and with answers on their way."""
    key = fresh()
    with Client(port) as it:
        same(it.say("SET", key, BIG), b"+OK")
    for data in (b"*3\r\n$3\r\nSE", request("GET", key) * 200, request("SET", key, BIG)[:-5000],
                 request("MGET", *[key] * 500), b""):
        it = Client(port)
        it.send(data)
        if random.random() < 0.5:
            it.socket.recv(10) if b"GET" in data else None
        it.reset()
    with Client(port) as it:
        same(it.say("GET", key), BIG)
        same(it.say("DEL", key), 1)


def slow(port):
    """Readers that do not read, while others are answered; and they get all of it in the end."""
    key = fresh()
    with Client(port) as other:
        same(other.say("SET", key, BIG), b"+OK")
        readers = [Client(port) for _ in range(8)]
        for it in readers:
            it.send(request("GET", key) * 200)
        for i in range(200):
            same(other.say("INCR", key + "n"), i + 1)
        for it in readers:
            for _ in range(200):
                same(it.answer(), BIG)
            it.socket.close()
        same(other.say("DEL", key, key + "n"), 2)


def held(port):
    """A hundred that ask for a little and then for 10 MB each, and read nothing: the server holds a
    part of what the kernel does not, others are answered, and who reads in the end gets all. What
    one of them has held at most, and what the system has for each that waits; --bytes."""
    key = fresh()
    with Client(port) as other:
        same(other.say("SET", key, BIG), b"+OK")
        before = info(other, "bytes")
        those = [Client(port, room=16384) for _ in range(100)]
        for it in those:
            it.send(request("GET", key + "none") * 60 + request("GET", key) * 100)
        for i in range(500):
            same(other.say("INCR", key + "n"), i + 1)
        taken = quiet = done = 0
        end = time.monotonic() + WAIT_S
        # until only these questions are executed, for longer than TCP waits to ask a closed window again
        while quiet < 50 and time.monotonic() < end:
            time.sleep(0.02)
            taken = info(other, "bytes")
            before_that, done = done, info(other, "executed")
            quiet = quiet + 1 if done == before_that + 2 else 0
        for i, it in enumerate(those):
            for n in range(160 if i % 20 == 0 else 0):
                same(it.answer(), BIG if n >= 60 else None)
            it.socket.close()
        same(other.say("DEL", key, key + "n"), 2)
        one, each = info(other, "held_most"), (taken - before) // len(those)
        print(f"{one} bytes held by one, {each} taken for each")
        if min(one, 2 * each) < len(BIG):
            raise Wrong("hardly anything is held")
        return one, each


def info(client, name):
    text = client.say("INFO").decode()
    return int(next(line for line in text.split("\r\n") if line.startswith(name + ":")).split(":")[1])


def readers(port):
    """--answer-max: not a byte beyond the bound."""
    one, each = held(port)
    if one > OUTSTANDING:
        raise Wrong(f"a reader holds {one} bytes")
    # the block of an answer that is partly written is there until its last byte has gone
    if each > OUTSTANDING + len(BIG) + A_CONNECTION:
        raise Wrong(f"{each} bytes are taken for each reader")


def strangers(port):
    """The server learns how long answers are: behind short ones a window of long ones is let in."""
    one, each = held(port)
    if max(one, each - A_CONNECTION) > 32 * (len(BIG) + 100):
        raise Wrong(f"a reader holds {one} bytes, and {each} are taken for each")


def poison(port):
    """A shard fails under one request of many, a connection under its own; the others go on."""
    keys = [fresh() for _ in range(20)]
    with Client(port) as it, Client(port) as other:
        same(other.say("SET", keys[0], "kept"), b"+OK")
        for key in keys[1:]:
            it.send(request("SET", key, key) + request("DEBUG", "POISON", key) + request("GET", key))
        for key in keys[1:]:
            same([it.answer() for _ in range(3)], [b"+OK", b"-ERR failed: poison", key.encode()])
        it.send(request("PING") + request("DEBUG", "PANIC") + request("PING"))
        try:
            while it.answer() == b"+PONG":
                pass
            raise Wrong("a connection that has failed answers")
        except (EOFError, ConnectionResetError):
            pass
        same(other.say("GET", keys[0]), b"kept")
        same(other.say("DEL", *keys), 20)


def many(port):
    """More keys in a request than answers are under way at a time."""
    keys = [f"{fresh()}{i}" for i in range(500)]
    with Client(port) as it:
        same(it.say("MSET", *[word for key in keys for word in (key, key + "v")]), b"+OK")
        it.send(request("MGET", *keys) + request("EXISTS", *keys) + request("MGET", keys[0]))
        same(it.answer(), [(key + "v").encode() for key in keys])
        same([it.answer(), it.answer()], [500, [(keys[0] + "v").encode()]])
        same(it.say("DEL", *keys), 500)


def storm(port):
    """Many connections at once, of which few say something."""
    all_of_them = [Client(port) for _ in range(300)]
    for it in all_of_them[:30]:
        same(it.say("PING"), b"+PONG")
    for it in all_of_them:
        if random.random() < 0.5:
            it.reset()
        else:
            it.socket.close()


def model(port):
    """A client's own keys, against a dictionary."""
    keys = [fresh() for _ in range(8)]
    known = {}
    with Client(port) as it:
        for _ in range(50):
            data, wanted = b"", []
            for _ in range(random.randrange(1, 40)):
                key, what = random.choice(keys), random.random()
                if what < 0.4:
                    known[key] = random.randbytes(random.choice((0, 3, 50, 5000)))
                    data, wanted = data + request("SET", key, known[key]), wanted + [b"+OK"]
                elif what < 0.8:
                    data, wanted = data + request("GET", key), wanted + [known.get(key)]
                elif what < 0.95:
                    data += request("DEL", key)
                    wanted.append(int(known.pop(key, None) is not None))
                else:
                    data += request("DEBUG", "POISON", key)
                    wanted.append(b"-ERR failed: poison")
            it.send(data)
            same([it.answer() for _ in wanted], wanted)
        it.say("DEL", *keys)


def shaken(port):
    """Bytes in pieces of any size, a reset or a half-close at any of them: what comes is right."""
    asked, wanted = talk(fresh())
    data = b"".join(request(*words) for words in asked) * 3
    end = random.randrange(len(data) + 1)
    at = 0
    with Client(port) as it:
        try:
            while at < end:
                step = min(end, at + random.randrange(1, 200))
                it.send(data[at:step])
                at = step
            if random.random() < 0.5:
                it.reset()
                return
            it.socket.shutdown(socket.SHUT_WR)
            for answer in wanted:
                same(it.answer(), answer)
        except EOFError:
            if end == len(data):
                raise Wrong("answers are lost") from None


def broken(port):
    """Connections that the fault injector of the server's sockets breaks at any call: what is
    answered has happened, once, and nothing has that was not asked for."""
    key = fresh()
    asked = sure = 0
    for _ in range(20):
        try:
            with Client(port, BREAKS_AT) as it:
                for _ in range(20):
                    count = random.randrange(1, 40)
                    asked += count
                    it.send(request("INCR", key) * count)
                    for _ in range(count):
                        got = it.answer()
                        if not sure < got <= asked:
                            raise Wrong(f"{got} behind {sure}, of {asked}")
                        sure = got
        except (EOFError, ConnectionError):
            pass
    with Client(port) as it:
        got = it.say("GET", key)
        if not sure <= int(got) <= asked:
            raise Wrong(f"{got!r} at the end, of {sure} that were answered and {asked} in all")
        same(it.say("DEL", key), 1)


def urgent(port):
    """A byte that is urgent ends a read, and is no part of the stream: what is behind it is read, too."""
    for _ in range(20):
        with Client(port) as it:
            it.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            it.send(request("PING"))
            it.socket.send(b"!", socket.MSG_OOB)
            it.send(request("PING"))
            it.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
            same([it.answer(), it.answer()], [b"+PONG", b"+PONG"])


def idle(port):
    """--idle-ms: who is silent is closed."""
    with Client(port) as it:
        same(it.say("PING"), b"+PONG")
        it.end()


def bound(port):
    """--connections 2: the third waits for one of them to end."""
    with Client(port) as first, Client(port) as second:
        same([first.say("PING"), second.say("PING")], [b"+PONG", b"+PONG"])
        third = Client(port)
        third.send(request("PING"))
        same(first.say("PING"), b"+PONG")
        second.send(request("QUIT"))
        same(second.answer(), b"+OK")
        second.end()
        second.socket.close()
        same(third.answer(), b"+PONG")
        third.socket.close()


def counted(port):
    """Asks until the server ends; says how many answers have come. They are 1, 2, 3, ..."""
    clients = [Client(port) for _ in range(8)]
    keys = [fresh() for _ in clients]
    counts = [0] * len(clients)
    open_ones = set(range(len(clients)))
    print("going", flush=True)
    while open_ones:
        for i in list(open_ones):
            try:
                clients[i].send(request("INCR", keys[i]) * 16)
                for _ in range(16):
                    counts[i] += 1
                    same(clients[i].answer(), counts[i])
            except (EOFError, ConnectionError):
                counts[i] -= 1
                open_ones.discard(i)
    print(f"received {sum(counts)}", flush=True)


SCENES = {scene.__name__: scene for scene in (
    bytewise, typed, malformed, half, resets, slow, readers, strangers, poison, many, storm, model, shaken, broken,
    urgent, idle, bound, counted)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("scenes", nargs="+", choices=sorted(SCENES))
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args()
    random.seed(args.seed)
    end = time.monotonic() + args.seconds
    rounds = 0
    while True:
        for name in args.scenes if args.seconds == 0 else [random.choice(args.scenes)]:
            try:
                SCENES[name](args.port)
            except (Wrong, EOFError, OSError) as error:
                print(f"{name}: {type(error).__name__}: {error}")
                return 1
        rounds += 1
        if time.monotonic() >= end:
            break
    if args.seconds:
        print(f"{rounds} scenes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
