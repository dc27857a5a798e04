#!/bin/bash
# echo_test.sh - test/example/echo_server.c as README shows it: 60 lines at most, and it says everything
# back to many at once, whatever their pace, until SIGTERM, and leaves nothing.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
source=test/example/echo_server.c
[ "$(wc -l <$source)" -le 60 ] || { echo "$source is longer than 60 lines"; exit 1; }
grep -q "a whole server in $(wc -l <$source) lines" README.md || { echo "README says another number of lines"; exit 1; }
python3 - $source README.md <<'END'
import sys
program, readme = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
shown = readme.split("## A server")[1].split("```c\n")[1].split("```")[0]
sys.exit(0 if shown.count("\n") >= 20 and shown in program else "README shows another echo_server.c")
END
make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" \
    "${BUILD:-build}/debug/test/example/echo_server" >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
"${BUILD:-build}/debug/test/example/echo_server" "unix:$stage/echo" &
server=$!
python3 - "$stage/echo" <<'END'
import os, socket, sys, threading, time

def connect():
    for _ in range(2000):
        try:
            it = socket.socket(socket.AF_UNIX)
            it.connect(sys.argv[1])
            return it
        except OSError:
            it.close()
            time.sleep(0.01)
    sys.exit("nobody listens")

wrong = []

def talk(size, step, half):
    it, sent, got = connect(), os.urandom(size), bytearray()
    def write():
        for at in range(0, size, step):
            it.sendall(sent[at:at + step])
        if half:
            it.shutdown(socket.SHUT_WR)
    writer = threading.Thread(target=write)
    writer.start()
    while len(got) < size:
        piece = it.recv(65536)
        if not piece:
            break
        got += piece
    writer.join()
    if got != sent or (half and it.recv(1)):
        wrong.append((size, step, len(got)))
    it.close()

rows = [(1, 1, True), (3000, 1, False), (65536, 7777, True), (1 << 20, 65536, True),
        (4 << 20, 1 << 20, True), (16 << 20, 1 << 16, False)] * 3
threads = [threading.Thread(target=talk, args=row) for row in rows]
for it in threads:
    it.start()
for it in threads:
    it.join()
left = connect()   # one that stays, and one that is reset
left.sendall(b"x" * 1000)
sys.exit(f"not what was sent: {wrong}" if wrong else 0)
END
descriptors=$(find "/proc/$server/fd" | wc -l)
[ "$descriptors" -lt 16 ] || { echo "$descriptors descriptors are left"; exit 1; }
kill -TERM $server
wait $server || { echo "exit code $?"; exit 1; }
[ ! -e "$stage/echo" ] || { echo "the socket is left"; exit 1; }
echo "1 passed, 0 failed"
