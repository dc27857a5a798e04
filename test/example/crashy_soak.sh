#!/bin/bash
# crashy_soak.sh - crashy_server.c under clients that make it crash in each way it can, under others that
# do not read what they have asked for, end in the middle of it, by a reset or half, and come in storms, as
# kv_clients.py's do (which speaks kv_server's protocol); beside them some are answered throughout, rightly
# each time, none later than WORST_S. Each crash is counted, and nothing is left.
#
#   crashy_soak.sh PROGRAM SECONDS
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
server=
trap 'kill -9 $server 2>/dev/null || true; rm -rf "$stage"' EXIT
"$1" "unix:$stage/crashy" >"$stage/out" 2>"$stage/err" &
server=$!
python3 - "$stage" "$2" "$server" <<'END' || { tail -n 5 "$stage/err"; exit 1; }
import os, random, socket, sys, threading, time

PATH, END = sys.argv[1] + "/crashy", time.monotonic() + float(sys.argv[2])
BUGS = [b"null", b"stack", b"divide", b"abort", b"assert"]
LOOPS = 100    # one in so many: each holds a worker for more than a second
# Both workers may be in a loop that is interrupted within two seconds, and the machine have other work.
WORST_S = 5
LONG = b"x" * 1000
crashes, answers, worst, slow_answers, resets, wrong = [], [], [], [], [], []

def connect():
    for _ in range(6000):
        it = socket.socket(socket.AF_UNIX)
        it.settimeout(60)
        try:
            it.connect(PATH)
            return it, it.makefile("rb")
        except OSError:
            it.close()
            time.sleep(0.01)
    raise OSError("nobody listens")

def expect(it, lines, line, answer):
    it.sendall(line + b"\n")
    got = lines.readline()
    if answer is None:
        int(got)
    elif got != answer:
        raise OSError(f"{line} was answered by {got}")

def steady(number):
    it, lines = connect()
    done, latest = 0, 0.0
    while time.monotonic() < END:
        text = b"%d of %d" % (done, number)
        for line, answer in ((text, text + b"\n"), (b"count", None)):
            begin = time.monotonic()
            expect(it, lines, line, answer)
            latest = max(latest, time.monotonic() - begin)
            done += 1
    answers.append(done)
    worst.append(latest)
    it.close()

def slow(number):
    """Asks for more than the kernel and the server keep for who does not read, and reads it in the end."""
    done = 0
    while time.monotonic() < END:
        it, lines = connect()
        asked = 1000
        sender = threading.Thread(target=it.sendall, args=((LONG + b"\n") * asked,))
        sender.start()
        time.sleep(0.2)
        for _ in range(asked):
            if lines.readline() != LONG + b"\n":
                raise OSError("a slow one has another answer")
        sender.join()
        done += asked
        lines.close()
        it.close()
    slow_answers.append(done)

def ending(number):
    """Ends in the middle: of a line, of answers that are under way, by half, by a reset; in storms."""
    dice, done = random.Random(100 + number), 0
    while time.monotonic() < END:
        storm = [connect() for _ in range(dice.choice((1, 1, 1, 30)))]
        for it, lines in storm:
            how = dice.randrange(4)
            it.sendall((b"count\n", LONG + b"\n", b"hal", LONG + b"\ncount\n" * 20)[how])
            if dice.randrange(2) == 0:
                it.shutdown(socket.SHUT_WR)
                lines.readline()
            lines.close()    # with answers that are not read, or come: a reset
            it.close()
            done += 1
        time.sleep(0.01)
    resets.append(done)

def bug(dice, done):
    return b"loop" if done % LOOPS == 1 else dice.choice(BUGS)

def crashing(number):
    dice, done = random.Random(number), 0
    while time.monotonic() < END:
        it, lines = connect()
        for _ in range(dice.randrange(3)):
            expect(it, lines, b"leak", b"leak\n")
        if dice.randrange(4) == 0:    # the one that all share; this connection stays
            it.sendall(b"count " + bug(dice, done) + b"\n")
            done += 1
            expect(it, lines, b"count", None)
        it.sendall(bug(dice, done) + b"\n")
        done += 1
        if lines.readline():
            raise OSError("no crash")
        lines.close()
        it.close()
        time.sleep(0.002)
    crashes.append(done)

def run(what, number):
    try:
        what(number)
    except (OSError, ValueError) as error:
        wrong.append(f"{what.__name__} {number}: {error}")

threads = [threading.Thread(target=run, args=(what, number))
           for what, count in ((steady, 4), (crashing, 4), (slow, 2), (ending, 2)) for number in range(count)]
for it in threads:
    it.start()
for it in threads:
    it.join()
for line in open(f"/proc/{sys.argv[3]}/status", encoding="ascii"):
    if line.startswith("VmRSS") and int(line.split()[1]) > 200 * 1024:
        wrong.append(line)
for _ in range(1000):
    left = len(os.listdir(f"/proc/{sys.argv[3]}/fd"))
    if left < 20:
        break
    time.sleep(0.01)
if left >= 20:
    wrong.append(f"{left} descriptors are left")
with open(sys.argv[1] + "/asked", "w", encoding="ascii") as file:
    file.write(str(sum(crashes)))
latest = max(worst, default=WORST_S)
print(f"{sum(crashes)} crashes asked for, {sum(answers)} answers beside them, the latest after "
      f"{1000 * latest:.0f} ms; {sum(slow_answers)} to slow ones, {sum(resets)} ended in the middle")
if latest >= WORST_S:
    wrong.append(f"a steady client has waited for {latest:.1f} s")
for name, counts, least in (("crash", crashes, 1), ("answer", answers, 10), ("slow answer", slow_answers, 1000),
                            ("end", resets, 10)):
    if min(counts, default=0) < least:
        wrong.append(f"hardly any {name}")
sys.exit("\n".join(wrong) if wrong else 0)
END
kill -TERM $server
wait $server || { echo "exit code $?"; exit 1; }
cat "$stage/out"
read -r crashes _ sent _ _ handled _ dead _ dropped _ < <(tr -d ',;' <"$stage/out")
[ "$crashes" -eq "$(cat "$stage/asked")" ] || { echo "other crashes than asked for"; exit 1; }
[ "$sent" -eq $((handled + dead + dropped)) ] || { echo "messages are lost"; exit 1; }
