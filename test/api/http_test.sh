#!/bin/bash
# http_test.sh - test/example/http_server.c with real clients: curl, ab, wrk, and those of
# http_clients.py. What it counts adds up, and nothing is left. What is not installed is left out, and
# said. HTTP_VARIANT=asan: of another build.
set -eu
cd "$(dirname "$0")/../.."
if [ ! -e /usr/include/http_parser.h ]; then
    echo "left out: http_parser.h is not there; Debian's libhttp-parser-dev"
    exit 0
fi
variant=${HTTP_VARIANT:-debug}
program=${BUILD:-build}/$variant/test/example/http_server
stage=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; rm -rf "$stage"' EXIT
make --no-print-directory VARIANT="$variant" BUILD="${BUILD:-build}" "$program" >"$stage/log" 2>&1 ||
    { cat "$stage/log"; exit 1; }
failed() {
    echo "$*"
    tail -n 30 "$stage/out" "$stage/err" 2>/dev/null
    exit 1
}
begin() { # options
    : >"$stage/out"
    "$program" --port 0 --workers 2 "$@" >"$stage/out" 2>"$stage/err" &
    server=$!
    for _ in $(seq 2000); do
        port=$(sed -n 's/^listening at 127.0.0.1://p' "$stage/out")
        [ -z "$port" ] || break
        kill -0 $server 2>/dev/null || break
        sleep 0.01
    done
    [ -n "$port" ] || failed "it does not listen"
    at=http://127.0.0.1:$port
}
end() { # sets $totals; an argument: it has been told to
    local code=0
    [ $# -gt 0 ] || kill -TERM $server
    wait $server || code=$?
    server=
    totals=$(sed -n '$p' "$stage/out")
    [ "$code" = 0 ] || failed "exit code $code"
}
total() { sed -n "s/.*\b$1 \([0-9]*\).*/\1/p" <<<"$totals"; }
clients() { HTTP_SERVER=$server timeout 100 python3 test/example/http_clients.py "$port" "$@" ||
    failed "clients: $*"; }

begin --body-max 65536
clients bytewise pipeline methods expect malformed half poison leave shaken

if command -v curl >/dev/null; then
    curl() { command curl -sS --noproxy '*' --max-time 60 "$@"; }
    head -c 60000 /dev/urandom >"$stage/body"
    [ "$(curl "$at/hello" "$at/slow?ms=5" -w '%{http_code} %{num_connects}\n')" = \
        $'hello\n200 1\nslow\n200 0' ] || failed "curl: two by one connection"
    for how in "" "-H Transfer-Encoding:chunked" "-H Expect:100-continue"; do
        # shellcheck disable=SC2086 # words
        curl $how --data-binary "@$stage/body" "$at/echo" >"$stage/back" || failed "curl $how"
        cmp "$stage/body" "$stage/back" || failed "curl $how: not what was sent"
    done
    [ "$(curl -I "$at/hello" | tr -d '\r' | sed -n 's/^Content-Length: //p')" = 6 ] || failed "curl -I"
    [ "$(curl -T "$stage/body" -o "$stage/back" -w '%{http_code}' "$at/echo")" = 405 ] || failed "curl -T"
    [ "$(curl --http2 -o "$stage/back" -w '%{http_code} %{http_version}' "$at/")" = "200 1.1" ] ||
        failed "curl --http2"
    code=0
    curl "$at/poison" >"$stage/log" 2>&1 || code=$?
    [ $code = 52 ] || failed "curl /poison: $code, not 52, which is an empty answer"
    [ "$(curl "$at/poison/worker" -w '%{http_code}')" = $'failed: poison\n500' ] || failed "curl poison"
else
    echo "left out: curl"
fi

if command -v ab >/dev/null; then
    printf 'a body' >"$stage/small"
    for form in "-k $at/hello" "$at/hello" "-k -p $stage/small $at/echo" "-k -i $at/hello"; do
        # shellcheck disable=SC2086 # words
        timeout 100 ab -q -n 2000 -c 20 $form >"$stage/log" 2>&1 || failed "ab $form: $(cat "$stage/log")"
        grep -q '^Complete requests: *2000$' "$stage/log" && grep -q '^Failed requests: *0$' "$stage/log" &&
            ! grep -q '^Non-2xx' "$stage/log" || failed "ab $form: $(cat "$stage/log")"
    done
else
    echo "left out: ab (Debian: apache2-utils)"
fi

if command -v wrk >/dev/null; then
    timeout 100 wrk -t 1 -c 30 -d 1 "$at/hello" >"$stage/log" 2>&1 || failed "wrk"
    grep -q 'requests in' "$stage/log" && ! grep -qE 'Non-2xx|Socket errors' "$stage/log" ||
        failed "wrk: $(cat "$stage/log")"
else
    echo "left out: wrk (Debian: wrk)"
fi
if "$program" --port "$port" >"$stage/second" 2>&1; then failed "two servers at a port"; fi
end
grep -q 'failed in receive of .*code 14 "poison"' "$stage/err" || failed "the log does not tell"
grep -q 'code 13 "poison"' "$stage/err" || failed "the log does not tell of the worker"
[ "$(total restarts)" -ge 16 ] && [ "$(total gone)" -ge 10 ] || failed "$totals"

begin --ask-ms 50 --idle-ms 1500 --read-ms 150
clients late
end
begin --write-ms 50
clients unread
end
begin
clients term
end told
[ "$(total answered)" = "$(total requests)" ] || failed "$totals"
echo "1 passed, 0 failed"
