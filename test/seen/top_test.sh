#!/bin/bash
# top_test.sh - axo-top: as text on a system that hangs, works, and is dead; files that are no boards;
# its screen without a terminal, on one that goes; in tmux, wide and narrow, when the process goes. The
# screens are printed.
set -eu
cd "$(dirname "$0")/../.."
. test/seen/scene.sh
top=$(realpath "$build")/tools/axo-top
[ -x "$top" ] || fail "no $top: make test builds it"
board=$scratch/board
look() { # expected exit code, arguments
    local expected=$1 code=0
    shift
    timeout 20 "$top" "$@" >"$scratch/log" 2>&1 || code=$?
    cat "$scratch/log"
    [ "$code" = "$expected" ] || fail "axo-top $* ends with $code, not $expected"
}

# ---- a system that hangs: found by the exit code and by a line
scene_begin still "$board"
[ "$(stat -c %a "$board")" = 600 ] || fail "others may read the board"
sleep 0.3
look 4 --once --hung 0.2 "$board"
says "axo-top: system seen, process $still alive, up .*s, 9 actors listed"
says "axo/w[01] [0-9]+ HUNG /user/hung sleeper 77 .* /user/shop/till1"
says "axo/w[01] [0-9]+ HUNG /user/tight sleeper 77 .* -"
says "/user/shop/till1 till alive .* 2 2 2 code 13"
says ".* fail /user/shop/till1 code 13"
says ".* started /user/shop/till1 instance 3"
look 0 --once --hung 1000 --events 0 --actors 1 "$board"
says "axo/w[01] [0-9]+ runs /user/hung .*"
says "... and 8 more"
look 4 --once --hung 0 --sort restarts --actors 1 "$board"
says "/user/shop/till1 till alive .*"

# ---- killed: the board stays, and says what it was at
kill -9 "$still"
wait "$still" 2>/dev/null || :
look 3 --once "$board"
says "axo-top: system seen, process $still DEAD .*"
says "axo/w[01] [0-9]+ .* /user/hung sleeper 77 .*"
still=
# ... until the next one takes its place, and takes it away when it ends well
scene_begin manual "$board"
look 0 --once "$board"
says "axo-top: system seen, process $still alive, .*"
scene_end
[ ! -e "$board" ] || fail "a board is left of a system that has ended"

# ---- of another namespace of processes, as in a container: its number means nothing here
if unshare --pid --fork true 2>/dev/null; then
    mkfifo "$scratch/there"
    unshare --pid --fork --kill-child "$scene" still "$board" <"$scratch/there" >"$scratch/out" &
    still=$!
    exec 6>"$scratch/there"
    tries=0
    until grep -q ready "$scratch/out"; do
        [ $((tries += 1)) -lt 600 ] || fail "the scene is not ready after 30 s"
        sleep 0.05
    done
    sleep 0.3
    look 4 --once --hung 0.2 "$board"
    says "axo-top: system seen, process [0-9]+ of another namespace .*"
    says "axo/w[01] .* HUNG /user/hung sleeper 77 .*"
    exec 6>&-
    kill -9 "$still"
    wait "$still" 2>/dev/null || :
    still=
    rm -f "$board"
else
    echo "left out: a process of another namespace; unshare may not"
fi

# ---- a crash under load
(ulimit -c 0 && exec "$scene" crash "$board") >/dev/null 2>&1 || :
look 3 --once --sort rate "$board"
says "axo/w[01] [0-9]+ .* /user/crasher crasher 99 .*"
says "/user/[$][0-9a-f]+ pair .* code 5"
! grep -q "(torn)" "$scratch/log" || echo "a record was torn by the crash"

# ---- what is no board
look 1 --once "$scratch/none"
says "axo-top: .*none: No such file or directory"
: >"$scratch/empty"
look 1 --once "$scratch/empty"
says "axo-top: .*empty: it is no board of axo"
head -c 100000 /dev/urandom >"$scratch/noise"
look 1 --once "$scratch/noise"
says "axo-top: .*: it is no board of axo"
mkfifo "$scratch/fifo"
look 1 --once "$scratch/fifo"
says "axo-top: .*: it is no regular file"
look 1 --once "$scratch"
says "axo-top: .*: it is no regular file"
head -c 100000 "$board" >"$scratch/cut"
look 1 --once "$scratch/cut"
says "axo-top: .*: it is a board that is damaged or was cut"
# every word of the header in turn is a number that cannot be: refused, or shown, and nothing else
for word in $(seq 0 31); do
    cp "$board" "$scratch/odd"
    printf '\377\377\377\377\377\377\377\377' |
        dd of="$scratch/odd" bs=8 seek="$word" conv=notrunc status=none
    code=0
    timeout 20 "$top" --once "$scratch/odd" >"$scratch/log" 2>&1 || code=$?
    case $code in 0 | 1 | 3 | 4) ;; *) fail "word $word: axo-top ends with $code" ;; esac
done
# records that are noise: shown, with what is no character as a question mark
cp "$board" "$scratch/odd"
dd if=/dev/urandom of="$scratch/odd" bs=512 seek=1 count=200 conv=notrunc status=none
code=0
timeout 20 "$top" --once --gone "$scratch/odd" >"$scratch/log" 2>&1 || code=$?
case $code in 3 | 4) ;; *) fail "noise: axo-top ends with $code" ;; esac
! LC_ALL=C grep -q "[^ -~]" "$scratch/log" || fail "noise reaches the terminal"

# a later version's board, and one that is a word longer than it says
cp "$board" "$scratch/odd"
printf '\002' | dd of="$scratch/odd" bs=1 seek=8 conv=notrunc status=none
look 1 --once "$scratch/odd"
says "axo-top: .*: it is a board of another version"
cp "$board" "$scratch/odd"
printf 12345678 >>"$scratch/odd"
look 1 --once "$scratch/odd"
says "axo-top: .*: it is a board that is damaged or was cut"

# ---- usage
look 2
look 2 --once "$board" "$board"
look 2 --sort nothing "$board"
look 2 --hung -1 "$board"
look 0 --help
look 0 --version
says "axo-top [0-9.]+"

# ---- the screen: not without a terminal, and no longer than there is one
if ! ldd "$top" | grep -q ncurses; then
    echo "left out: the screen; axo-top is built without ncurses"
    exit 0
fi
look 2 "$board"
says "axo-top: .* --once .*"
python3 - "$top" "$board" <<'END'
import os, pty, select, signal, sys, time

LIMIT_S = 20

def begin(**streams):
    """axo-top on a terminal, but for the streams that are said; a hangup does not end it."""
    child, terminal = pty.fork()
    if child == 0:
        for name, number in (("input", 0), ("output", 1)):
            if name in streams:
                os.dup2(os.open(streams[name], os.O_RDWR), number)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.environ["TERM"] = "xterm"
        os.execv(sys.argv[1], ["axo-top", "--interval", "0.2", sys.argv[2]])
    return child, terminal

def end(child):
    """How it ends, and the seconds of a processor that it took."""
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit:
        found, status, used = os.wait4(child, os.WNOHANG)
        if found == child:
            return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
        time.sleep(0.02)
    with open(f"/proc/{child}/stat", encoding="utf-8") as file:
        ticks = sum(map(int, file.read().split()[13:15]))
    os.kill(child, signal.SIGKILL)
    sys.exit(f"axo-top has not ended, and took {ticks} ticks of a processor")

def hear(terminal, word):
    said = b""
    while word not in said:
        assert select.select([terminal], [], [], LIMIT_S)[0], said
        said += os.read(terminal, 65536)

for streams in {"input": "/dev/null"}, {"output": "/dev/null"}:
    child, terminal = begin(**streams)
    code, _ = end(child)
    assert code == 2, (streams, code)
    hear(terminal, b"--once")
    os.close(terminal)
for key, expected in (b"q", 0), (None, 1):
    child, terminal = begin()
    hear(terminal, b"sort tree")
    time.sleep(1)   # some looks without a key
    if key:
        os.write(terminal, key)
        hear(terminal, b"\x1b[?1049l")
    os.close(terminal)
    code, used = end(child)
    assert code == expected and used < 2, (key, code, used)
END
command -v tmux >/dev/null || { echo "left out: the screen in tmux, which is not installed"; exit 0; }
scene_begin still "$board"
export TMUX_TMPDIR=$scratch
mux() { tmux -f /dev/null -L seen "$@"; }
shot() { # a pattern that the screen must show
    local tries=0
    until mux capture-pane -p >"$scratch/log" 2>/dev/null && grep -qE "$1" "$scratch/log"; do
        if [ $((tries += 1)) -ge 200 ]; then
            cat "$scratch/log"
            mux kill-server || :
            fail "the screen does not show: $1"
        fi
        sleep 0.05
    done
    echo "---- $2"
    cat "$scratch/log"
}
mux new-session -d -x 140 -y 40 "$top --interval 0.1 --hung 0.2 $board"
shot "HUNG +/user/hung" "140 x 40"
shot "sort tree" "by tree"
mux send-keys s
shot "sort restarts" "by restarts"
grep -A1 "^ACTOR" "$scratch/log" | tail -1 | grep -q "^/user/shop/till1" || fail "not by restarts"
mux send-keys f
shot "sort failures" "by failures"
mux send-keys t
shot "sort tree" "by tree again"
mux resize-window -x 40 -y 10 2>/dev/null || :
shot "^axo-top: system seen" "40 x 10"
awk 'length > 40 { exit 1 }' "$scratch/log" || fail "a line is wider than the screen"
mux send-keys Down Down Down Down Down Down
shot "^ACTOR" "40 x 10, six lines down"
mux resize-window -x 140 -y 40 2>/dev/null || :
mux send-keys PPage PPage
kill -9 "$still"
wait "$still" 2>/dev/null || :
shot "DEAD" "the process is gone"
still=
scene_begin manual "$board"
shot "process $still alive" "the process was started anew, and the screen follows"
kill -9 "$still"
wait "$still" 2>/dev/null || :
shot "DEAD" "and is gone again"
still=
# the file is cut under it: it ends, and the terminal is as before
mux send-keys q
tries=0
while mux has-session 2>/dev/null; do
    [ $((tries += 1)) -lt 200 ] || fail "q does not end it"
    sleep 0.05
done
mux new-session -d -x 140 -y 40 "$top --interval 0.1 $board; echo ended with \$?; stty -a | grep -q ' icanon' && stty -a | grep -q ' echo ' && echo as it was; sleep 20"
shot "DEAD" "again"
truncate -s 4096 "$board"
shot "as it was" "the board was cut"
grep -q "ended with 1" "$scratch/log" || fail "a board that was cut is no error"
mux kill-server || :
