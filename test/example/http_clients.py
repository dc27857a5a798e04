#!/usr/bin/env python3
# http_clients.py - clients of http_server.c: pipelines, bytes one by one, what is no request, halves
# of connections, deadlines, poison, an end under load.
#
#   http_clients.py PORT scene...     a line for what is wrong, exit code 1
import os
import random
import signal
import socket
import sys
import time

WAIT_S = 60
HEAD = b"Host: h\r\n"


class Wrong(Exception):
    """The server has answered what it should not."""


def same(got, wanted):
    if got != wanted:
        raise Wrong(f"{str(got)[:200]} in place of {str(wanted)[:200]}")


def get(path, more=b"", method=b"GET"):
    return method + b" " + path + b" HTTP/1.1\r\n" + HEAD + more + b"\r\n"


def post(body, path=b"/echo", more=b""):
    return get(path, b"Content-Length: %d\r\n" % len(body) + more, b"POST") + body


def chunked(pieces, path=b"/echo", trailer=b""):
    body = b"".join(b"%x;a=b\r\n%s\r\n" % (len(it), it) for it in pieces) + b"0\r\n" + trailer + b"\r\n"
    return get(path, b"Transfer-Encoding: chunked\r\n", b"POST") + body


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), WAIT_S)
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
        if piece == b"":
            raise EOFError(self.rest[:80])

    def until(self, mark):
        while mark not in self.rest:
            self.more()
        piece, self.rest = self.rest.split(mark, 1)
        return piece

    def answer(self, head=False):
        """Status, body, whether the connection goes on; the headers stay in self.headers."""
        lines = self.until(b"\r\n\r\n").split(b"\r\n")
        self.headers = {name.lower(): value for name, value in
                        (line.split(b": ", 1) for line in lines[1:])}
        status = int(lines[0].split(b" ")[1])
        if status == 100:
            return (100, b"", True)
        size = 0 if head else int(self.headers[b"content-length"])
        while len(self.rest) < size:
            self.more()
        body, self.rest = self.rest[:size], self.rest[size:]
        return (status, body, self.headers[b"connection"] == b"keep-alive")

    def end(self):
        try:
            self.more()
        except (EOFError, ConnectionResetError):
            return
        raise Wrong(f"{self.rest[:80]!r} in place of the end")


HELLO = (200, b"hello\n", True)
MIX = [(get(b"/hello"), HELLO), (post(b"body"), (200, b"body", True)),
       (chunked([b"a", b"bc" * 40, b"d"]), (200, b"a" + b"bc" * 40 + b"d", True)),
       (get(b"/slow?ms=1"), (200, b"slow\n", True)), (get(b"/none"), (404, b"Not Found\n", True)),
       (post(b"thrown away", b"/none"), (404, b"Not Found\n", True)),
       (b"\r\n" + get(b"/?a=b"), HELLO), (post(b""), (200, b"", True)),
       (get(b"http://h/hello"), HELLO),
       (chunked([b"x"], trailer=b"Expect: nothing\r\nHost: a\r\n"), (200, b"x", True)),
       (get(b"/poison/worker"), (500, b"failed: poison\n", True)),
       (get(b"/echo"), (405, b"Method Not Allowed\n", True)), (get(b"/hello"), HELLO)]


def bytewise(port):
    """However the bytes arrive, the answers are the same, in the requests' order."""
    data = b"".join(asked for asked, _ in MIX)
    for step in (1, 2, 7, 100, len(data)):
        with Client(port) as it:
            for at in range(0, len(data), step):
                it.send(data[at:at + step])
            same([it.answer() for _ in MIX], [wanted for _, wanted in MIX])


def pipeline(port):
    """Many at once, and the slow one holds up those behind it, not those of others."""
    with Client(port) as it, Client(port) as other:
        it.send(get(b"/slow?ms=300") + get(b"/hello") * 500 + post(b"z" * 20000) * 20)
        for _ in range(50):
            other.send(get(b"/hello"))
            same(other.answer(), HELLO)
        same(it.answer(), (200, b"slow\n", True))
        same([it.answer() for _ in range(500)], [HELLO] * 500)
        same([it.answer() for _ in range(20)], [(200, b"z" * 20000, True)] * 20)


def methods(port):
    """HEAD tells what GET would say; 405 tells what is allowed; HTTP/1.0 ends, unless it says not to."""
    with Client(port) as it:
        it.send(get(b"/hello", method=b"HEAD") + get(b"/hello"))
        same(it.answer(head=True), (200, b"", True))
        same(it.headers[b"content-length"], b"6")
        same(it.answer(), HELLO)
        it.send(get(b"/echo", method=b"PUT"))
        same(it.answer()[0], 405)
        same(it.headers[b"allow"], b"POST")
        it.send(post(b"x", b"/hello"))
        same(it.answer()[0], 405)
        same(it.headers[b"allow"], b"GET, HEAD")
        it.send(b"GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        same(it.answer(), HELLO)
        it.send(get(b"/hello", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"))
        same(it.answer(), HELLO)
        it.send(get(b"/hello", b"Connection: close\r\n") + get(b"/hello"))
        same(it.answer(), (200, b"hello\n", False))
        it.end()
    with Client(port) as it:
        it.send(b"GET /hello HTTP/1.0\r\n\r\n")
        same(it.answer(), (200, b"hello\n", False))
        it.end()


def expect(port):
    """Who waits for 100 Continue gets it, or the answer that spares him the body."""
    with Client(port) as it:
        for _ in range(2):
            it.send(get(b"/echo", b"Content-Length: 4\r\nExpect: 100-Continue\r\n", b"POST"))
            same(it.answer()[0], 100)
            it.send(b"bo")
            it.send(b"dy")
            same(it.answer(), (200, b"body", True))
        it.send(post(b"body", more=b"Expect: 100-continue\r\n"))   # did not wait for it
        same(it.answer(), (200, b"body", True))
    for path, more, status in ((b"/none", b"Content-Length: 4\r\nExpect: 100-continue\r\n", 404),
                               (b"/echo", b"Content-Length: 4\r\nExpect: rain\r\n", 417),
                               (b"/echo", b"Content-Length: 9999999\r\nExpect: 100-continue\r\n", 413)):
        with Client(port) as it:
            it.send(get(path, more, b"POST"))
            same(it.answer()[::2], (status, False))
            it.end()


BIG = b"y" * 70000     # above --body-max 65536
BAD = [(b"GET /hello HTTP/1.1\r\n\r\n", 400), (get(b"/hello", HEAD), 400), (b"\x16\x03\x01\x02\x00", 400),
       (get(b"/hello", b"a b: c\r\n"), 400), (get(b"/echo", b"Content-Length : 1\r\n", b"POST"), 400),
       (get(b"/echo", b"Content-Length: x\r\n", b"POST"), 400),
       (get(b"/echo", b"Content-Length: 1\r\nContent-Length: 2\r\n", b"POST"), 400),
       (get(b"/echo", b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", b"POST"), 400),
       (get(b"/echo", b"Transfer-Encoding: chunked\r\n", b"POST") + b"zz\r\n", 400),
       (get(b"/echo", b"Transfer-Encoding: gzip, chunked\r\n", b"POST"), 501),
       (b"GET  HTTP/1.1\r\n\r\n", 400), (b"GET /\x01 HTTP/1.1\r\n\r\n", 400),
       (b"GET / JUNK/1.1\r\n\r\n", 400), (get(b"/hello", method=b"BREW"), 501),
       (get(b"/hello", method=b"PROPFIND"), 501), (b"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 501),
       (b"GET /hello HTTP/2.0\r\nHost: h\r\n\r\n", 505), (b"GET /hello\r\n\r\n", 505),
       (get(b"/" + b"u" * 3000), 414), (get(b"/hello", b"a: " + b"b" * 9000 + b"\r\n"), 431),
       (get(b"/hello", b"a: b\r\n" * 2000), 431), (post(BIG), 413), (chunked([BIG]), 413),
       (chunked([b"p" * 1000] * 70), 413), (chunked([b"p"] * 60000), 413)]


def malformed(port):
    """What is no request is told which way, behind the answer to what came before, and ends it."""
    for data, status in BAD:
        for step in (len(data), 1) if len(data) < 300 else (len(data), 50):
            with Client(port) as it:
                it.send(get(b"/hello"))
                same(it.answer(), HELLO)
                try:
                    for at in range(0, len(data), step):
                        it.send(data[at:at + step])
                except ConnectionError:
                    raise Wrong(f"reset by {data[:60]!r}") from None
                same((data[:60], it.answer()[::2]), (data[:60], (status, False)))
                it.end()


def half(port):
    """Who ends his direction gets all answers, and the end; the rest of a request none."""
    with Client(port) as it:
        it.send(post(b"z" * 60000) * 30 + get(b"/slow?ms=50") + get(b"/hello") + get(b"/hello")[:-3])
        it.socket.shutdown(socket.SHUT_WR)
        for _ in range(30):
            same(it.answer(), (200, b"z" * 60000, True))
        same(it.answer()[1], b"slow\n")
        same(it.answer(), HELLO)
        it.end()


def poison(port):
    """A connection and a worker fail; the others go on."""
    with Client(port) as other:
        for _ in range(10):
            with Client(port) as it:
                it.send(get(b"/hello") + get(b"/poison") + get(b"/hello"))
                try:
                    same(it.answer(), HELLO)
                    it.end()
                except (EOFError, ConnectionResetError):
                    pass
            other.send(get(b"/poison/worker") + get(b"/slow?ms=0"))
            same(other.answer(), (500, b"failed: poison\n", True))
            same(other.answer(), (200, b"slow\n", True))


def leave(port):
    """Who goes while he is to be answered."""
    for data in (get(b"/slow?ms=50"), post(b"z" * 50000) * 20, post(b"x" * 5000)[:-1], b"GET"):
        with Client(port) as it:
            it.send(data)
    with Client(port) as it:
        it.send(get(b"/hello"))
        same(it.answer(), HELLO)


def late(port):
    """--ask-ms 50: a worker that is late is not waited for. --idle-ms, --read-ms 50: nor a client."""
    with Client(port) as it:
        it.send(get(b"/slow?ms=400"))
        same(it.answer(), (504, b"late\n", True))
        it.send(get(b"/hello"))
        same(it.answer(), HELLO)
        it.end()
    with Client(port) as it:
        try:
            for byte in get(b"/" + b"h" * 1000):    # never silent, and never whole
                it.send(bytes([byte]))
                time.sleep(0.02)
            raise Wrong("a request of 20 s is waited for")
        except ConnectionError:
            pass


def unread(port):
    """--write-ms 50: who reads no answer is closed."""
    with Client(port) as it:
        try:
            it.socket.settimeout(WAIT_S)
            while True:
                it.send(post(b"z" * 60000) * 4)
        except ConnectionError:
            pass
        except TimeoutError:
            raise Wrong("a client that does not read is waited for") from None


def term(port):
    """SIGTERM: what is under way is answered with "close", and nobody else is."""
    clients = [Client(port) for _ in range(20)]
    for it in clients:
        it.send(get(b"/hello"))
        same(it.answer(), HELLO)
        it.send(get(b"/slow?ms=100") + get(b"/slow?ms=100"))
    with Client(port) as idle:
        idle.send(get(b"/hello"))
        same(idle.answer(), HELLO)
        first = clients[0].answer()
        os.kill(int(os.environ["HTTP_SERVER"]), signal.SIGTERM)
        idle.end()
    for it in clients:
        answers = [first] if it is clients[0] else []
        while not answers or answers[-1][2]:
            answers.append(it.answer())
        same([each[:2] for each in answers], [(200, b"slow\n")] * len(answers))
        it.end()


def shaken(port):
    """Bytes that are changed by chance: whatever comes, the next client is answered."""
    data = bytearray(b"".join(asked for asked, _ in MIX[:8]))
    for _ in range(40):
        changed = bytearray(data)
        for _ in range(random.randrange(1, 6)):
            changed[random.randrange(len(changed))] = random.randrange(256)
        with Client(port) as it:
            it.send(changed)
            it.socket.shutdown(socket.SHUT_WR)
            try:
                while True:
                    it.more()
            except (EOFError, ConnectionResetError):
                pass
        with Client(port) as it:
            it.send(get(b"/hello"))
            same(it.answer(), HELLO)


def main():
    for name in sys.argv[2:]:
        try:
            globals()[name](int(sys.argv[1]))
        except (Wrong, EOFError, OSError) as error:
            print(f"{name}: {type(error).__name__}: {error}")
            return 1
    return 0


sys.exit(main())
