#!/bin/bash
# console_top_test.sh - axo-top on a console: its tree, who waits for whom, mailboxes, a hung worker by
# the exit code, its screen in tmux; what is no console, a console that has no memory, one that has gone.
set -eu
cd "$(dirname "$0")/../.."
variant=${VARIANT:-debug}
build=${BUILD:-build}/$variant
if [ ! -e /usr/include/microhttpd.h ] || [ ! -e /usr/include/systemd/sd-daemon.h ] ||
    [ ! -e /usr/include/jansson.h ] || [ -z "$(compgen -G "/usr/include/*curl/curl.h" || compgen -G "/usr/include/*/curl/curl.h")" ]; then
    echo "left out: Debian's libmicrohttpd-dev, libsystemd-dev, libcurl4-openssl-dev, libjansson-dev"
    exit 0
fi
scratch=$(mktemp -d)
started=()
finish() {
    local id
    for id in "${started[@]}"; do kill -9 "$id" 2>/dev/null || :; done
    tmux -L axo-console-$$ kill-server 2>/dev/null || :
    rm -rf "$scratch"
}
trap finish EXIT
trap 'echo "line $LINENO: failed"' ERR
fail() {
    echo "$*"
    exit 1
}
env -u MAKEFLAGS make --no-print-directory VARIANT="$variant" BUILD="${BUILD:-build}" \
    "$build/test/support/console/serve" "$build/tools/axo-top" >"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; exit 1; }
top=$(realpath "$build")/tools/axo-top
look() { # expected exit code, arguments
    local expected=$1 code=0
    shift
    timeout 30 "$top" "$@" >"$scratch/log" 2>&1 || code=$?
    cat "$scratch/log"
    [ "$code" = "$expected" ] || fail "axo-top $* ends with $code, not $expected"
}
says() {
    # shellcheck disable=SC2001 # an expression
    grep -qE "^$(sed 's/ \+/ +/g' <<<"$1") *\$" "$scratch/log" || fail "it does not say: $1"
}
say() { # a word to the program, which does it
    echo "$*" >&5
    local answer
    while read -r -t 60 answer <&6; do
        [ "$answer" != "done" ] || return 0
    done
    fail "no answer to $*"
}
serve() { # address
    rm -f "$scratch/in" "$scratch/out"
    mkfifo "$scratch/in" "$scratch/out"
    "$build/test/support/console/serve" "$1" <"$scratch/in" >"$scratch/out" 2>"$scratch/err" &
    started+=($!)
    exec 5>"$scratch/in" 6<"$scratch/out"
    say bound
}

# ---- a unix socket: at rest, parked, hung
serve "unix:$scratch/socket"
look 0 --once "unix:$scratch/socket"
says "axo-top: system serve at unix:$scratch/socket, 2 workers, [0-9]+ actors"
says "sent [0-9]+ handled [0-9]+ failures 0 .*"
says "health: everybody moved within 1000 ms"
says "/user/a hang idle 0 0 0 - -"
look 0 --once --interval 0.2 --actors 1 "unix:$scratch/socket"
says "sent [0-9]+/s [(][0-9]+[)] handled .*"
says "... and [0-9]+ more"
say park
look 0 --once --hung 1000 --sort queued "unix:$scratch/socket"
says "/user/sender sender parked 0 0 0 - - waits for /user/full"
[ "$(grep -A1 ^ACTOR "$scratch/log" | sed -n '2s/ .*//p')" = /user/full ] || fail "not the fullest first"
say go
say hang
sleep 0.3
look 4 --once --hung 0.2 "unix:$scratch/socket"
says "health: /user/[a-z]+ HUNG in a callback for .* late"
says "/user/a hang HUNG 0[+]? 0 0 [0-9.]+ ms 7.*"
look 0 --once --hung 1000 "unix:$scratch/socket"
says "/user/a hang running 0[+]? 0 0 [0-9.]+ ms 7.*"

# ---- its screen, until the process goes
if command -v tmux >/dev/null; then
    tmux -L axo-console-$$ -f /dev/null new-session -d -x 110 -y 24 \
        "'$top' --interval 0.1 --hung 0.2 'unix:$scratch/socket' 2>'$scratch/end'; echo \$? >'$scratch/code'; sleep 60"
    for _ in $(seq 300); do
        tmux -L axo-console-$$ capture-pane -p >"$scratch/log" 2>/dev/null || :
        ! grep -q "HUNG in a callback" "$scratch/log" || break
        sleep 0.1
    done
    cat "$scratch/log"
    says "sort tree .*"
    tmux -L axo-console-$$ send-keys m
    for _ in $(seq 300); do
        tmux -L axo-console-$$ capture-pane -p >"$scratch/log" 2>/dev/null || :
        ! grep -q "^sort queued" "$scratch/log" || break
        sleep 0.1
    done
    says "sort queued .*"
else
    echo "left out: tmux is not installed"
fi
say go
echo end >&5
wait "${started[0]}"
started=()
if command -v tmux >/dev/null; then
    for _ in $(seq 300); do
        [ ! -s "$scratch/code" ] || break
        sleep 0.1
    done
    [ "$(cat "$scratch/code")" = 1 ] || fail "the screen ended with $(cat "$scratch/code")"
    grep -q "axo-top: unix:" "$scratch/end" || fail "it does not say why it ended"
fi
exec 5>&- 6<&-
look 1 --once "unix:$scratch/socket"
says "axo-top: unix:$scratch/socket: nobody listens there"

# ---- TCP; a restart; without memory for an answer
serve 127.0.0.1:0
say fail
where=-
until [ "$where" != - ]; do # it opens its address anew: another port
    echo bound >&5
    read -r -t 60 where _ <&6
    read -r -t 60 _ <&6
done
look 0 --once "http://$where/"
says "axo-top: system serve at http://$where/, 2 workers, .*"
look 0 --once --sort restarts --actors 1 "http://$where"
says "/system/console [^ ]+ [a-z]+ 0[+]? 0 1 .*"
say refuse
look 1 --once "http://$where"
says "axo-top: http://$where: .*: answered by 503"
say give
look 0 --once "http://$where"
echo end >&5
wait "${started[0]}"
started=()

# ---- what is none
look 1 --once "http://$where"
look 1 --once "unix:$scratch/none"
look 1 --once "http://[::1"
look 1 --once "http://$(head -c 600 /dev/zero | tr '\0' a)"
python3 - "$scratch/port" <<'END' &
import http.server, sys
class Odd(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = {"/stats": b"[1, 2", "/tree": b"{}"}.get(self.path.split("?")[0], b"\x00" * 100)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
it = http.server.HTTPServer(("127.0.0.1", 0), Odd)
open(sys.argv[1], "w").write(str(it.server_port))
it.handle_request()
END
started+=($!)
for _ in $(seq 300); do
    [ ! -s "$scratch/port" ] || break
    sleep 0.1
done
look 1 --once "http://127.0.0.1:$(cat "$scratch/port")"
says ".*: /stats: it is no console of axo"
# ---- nodes, of a console that says more of them than it should
rm -f "$scratch/port"
python3 - "$scratch/port" <<'END' &
import http.server, json, sys
ROW = {"node": "b", "number": 1, "up": True, "why": "", "for_ms": 61234.5, "heard_ms": 312.0, "sent": 1000,
       "received": 7, "held": 4096, "kept": 3, "lag_ms": 1500.25, "phi": 0.1}
ROWS = [ROW, ROW | {"node": "c", "up": False, "why": "silent"},
        {"node": "\x1b[2J" + 300 * "x", "up": "yes", "why": 7, "sent": -1, "for_ms": "long"}, 5]
SAID = {"/stats": {"system": "shop", "workers": 1, "now_ms": 1}, "/tree": {"actors": [], "more": False},
        "/health": {"good": True}, "/nodes": {"here": "a", "rows": ROWS}}
class Nodes(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(SAID[self.path.split("?")[0]]).encode())
    def log_message(self, *args):
        pass
it = http.server.HTTPServer(("127.0.0.1", 0), Nodes)
open(sys.argv[1], "w").write(str(it.server_port))
it.serve_forever()
END
started+=($!)
for _ in $(seq 300); do
    [ ! -s "$scratch/port" ] || break
    sleep 0.1
done
look 0 --once "http://127.0.0.1:$(cat "$scratch/port")"
says "node a: 1 others up, 3 lost"
says "b up 61.2 s 0.3 s 1000 7 4096 3 1.5 s"
says "c LOST silent 61.2 s 0.3 s 1000 7 4096 3 1.5 s"
says "[?]\[2Jx+ LOST 0.0 s 0.0 s 0 0 0 0 0.0 s"
look 0 --once --actors 1 "http://127.0.0.1:$(cat "$scratch/port")"
says "... and 3 more"
{ kill "${started[-1]}" && wait "${started[-1]}" || :; } 2>/dev/null

# ---- bad usage
look 2 --once --sort rate "unix:$scratch/socket"
says "axo-top: a console is not sorted by rate"
look 2 --once --sort nothing "unix:$scratch/socket"
