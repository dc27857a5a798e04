#!/bin/bash
# chat_test.sh - test/example/chat.c with real connections: what one says all in his room hear, in one
# order, nobody else does; who does not read is dropped and holds nobody up.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; rm -rf "$stage"' EXIT
program=${BUILD:-build}/debug/test/example/chat
make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" "$program" >"$stage/log" 2>&1 ||
    { cat "$stage/log"; exit 1; }
"$program" "unix:$stage/chat" 2>"$stage/err" &
server=$!
timeout 100 python3 - "$stage/chat" <<'END_OF_CLIENT' || { cat "$stage/err"; exit 1; }
import socket, sys, threading, time

class Member:
    def __init__(self, name, room):
        for _ in range(2000):
            self.socket = socket.socket(socket.AF_UNIX)
            try:
                self.socket.connect(sys.argv[1])
                break
            except OSError:
                self.socket.close()
                time.sleep(0.01)
        self.socket.settimeout(60)
        self.file = self.socket.makefile("r", newline="\n")
        self.say("early")
        self.hears("* /join ROOM")
        self.say(f"/nick {name}\r")
        self.hears("* so it is")
        self.say(f"/join {room}")
        self.hears("* you are in")

    def say(self, line):
        self.socket.sendall(line.encode() + b"\n")

    def hears(self, line):
        got = self.file.readline()
        if got != line + "\n":
            sys.exit(f"{got!r} in place of {line!r}")

a, b, c = Member("a", "hall"), Member("b", "hall"), Member("c", "kitchen")
a.say("hello")
for it in (a, b):
    it.hears("a: hello")
c.say("/nick ../x")
c.hears("* that is no name")
c.say("alone")
c.hears("c: alone")
c.say("/join hall")
c.hears("* you are in")
b.say("all")
for it in (a, b, c):
    it.hears("b: all")

# Three talk at once: everybody hears the same order.
COUNT = 2000
heard = {}
def talk(it, name):
    def speak():
        for i in range(COUNT):
            it.say(f"{i}")
    speaker = threading.Thread(target=speak)
    speaker.start()
    heard[name] = [it.file.readline() for _ in range(3 * COUNT)]
    speaker.join()
threads = [threading.Thread(target=talk, args=row) for row in ((a, "a"), (b, "b"), (c, "c"))]
for it in threads:
    it.start()
for it in threads:
    it.join()
if not heard["a"] == heard["b"] == heard["c"]:
    sys.exit("not the same order")
for name in "abc":
    if [line for line in heard["a"] if line[0] == name] != [f"{name}: {i}\n" for i in range(COUNT)]:
        sys.exit(f"not what {name} has said")

# One that does not read.
slow = Member("slow", "hall")
said = 0
for said in range(20000):
    a.say("x" * 900)
    for it in (a, b, c):
        it.hears("a: " + "x" * 900)
    if said % 100 == 0 and "does not read" in open(sys.argv[1].replace("/chat", "/err"), encoding="utf-8").read():
        break
else:
    sys.exit("who does not read is not dropped")
try:
    while slow.socket.recv(65536):
        pass
except ConnectionResetError:
    pass
c.say("y" * 2000)
c.hears("* that is too long")
if c.file.readline() != "":
    sys.exit("c is still there")
a.say("/quit")
if a.file.readline() != "":
    sys.exit("a is still there")
b.say("alone")
b.hears("b: alone")
END_OF_CLIENT
kill -TERM $server
code=0
wait $server || code=$?
server=
[ "$code" = 0 ] || { echo "exit code $code"; exit 1; }
echo "1 passed, 0 failed"
