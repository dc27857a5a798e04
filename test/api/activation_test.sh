#!/bin/bash
# activation_test.sh - the units of test/example/SERVERS.md are good ones, and what they say holds: a
# socket that is passed under a name is served by test/example/echo_server.c, also whom it was opened
# for, and its path stays. What is not installed is left out, and said.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v systemd-socket-activate >/dev/null; then
    echo "left out: systemd-socket-activate is not there; Debian's systemd"
    exit 0
fi
stage=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; rm -rf "$stage"' EXIT
failed() {
    echo "$*"
    cat "$stage"/*.log
    exit 1
}
program=$(realpath -m "${BUILD:-build}/debug/test/example/echo_server")
env -u MAKEFLAGS make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" \
    "${BUILD:-build}/debug/test/example/echo_server" >"$stage/make.log" 2>&1 || failed make

# ---- the page's units, with the program of this build and a path of this test
python3 - test/example/SERVERS.md "$stage" <<'END_OF_UNITS'
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
for name, text in re.findall(r"^`/etc/systemd/system/([\w.]+)`\n\n```ini\n(.*?)```", page, re.M | re.S):
    open(f"{sys.argv[2]}/{name}", "w", encoding="utf-8").write(text)
END_OF_UNITS
says() { sed -n "s/^$2=//p" "$stage/$1"; }
path=$(says echo.socket ListenStream)
name=$(says echo.socket FileDescriptorName)
read -r installed address <<<"$(says echo.service ExecStart)"
[ -n "$path" ] && [ "$address" = "systemd:$name" ] && [ "${installed##*/}" = "${program##*/}" ] ||
    failed "the units do not fit: $path $name $installed $address"
sed -i "s|$path|$stage/socket|" "$stage/echo.socket"
sed -i "s|$installed|$program|" "$stage/echo.service"
if command -v systemd-analyze >/dev/null; then
    SYSTEMD_UNIT_PATH="$stage:" systemd-analyze verify --man=no --recursive-errors=no \
        "$stage/echo.socket" "$stage/echo.service" >"$stage/verify.log" 2>&1 || failed "systemd-analyze"
    ! grep -F "$stage/echo" "$stage/verify.log" || failed "systemd-analyze does not like the units"
else
    echo "left out: systemd-analyze is not there; Debian's systemd"
fi

# ---- one life: the socket is there before the program, which serves until SIGTERM
activate() { # address of the program
    systemd-socket-activate -l "$stage/socket" "--fdname=$name" "$program" "$1" >"$stage/run.log" 2>&1 &
    server=$!
    for _ in $(seq 2000); do
        [ ! -S "$stage/socket" ] || return 0
        sleep 0.01
    done
    failed "nobody listens"
}
talk() {
    python3 - "$stage/socket" "$1" <<'END_OF_CLIENT' || failed "the client"
import socket, sys
it = socket.socket(socket.AF_UNIX)
it.settimeout(30)
it.connect(sys.argv[1])
it.sendall(sys.argv[2].encode())
it.shutdown(socket.SHUT_WR)
got = b""
while True:
    piece = it.recv(4096)
    if not piece:
        break
    got += piece
assert got == sys.argv[2].encode(), got
END_OF_CLIENT
}
for round in 1 2; do
    rm -f "$stage/socket"
    activate "$address"
    talk "hello $round"
    talk "and again"
    grep -q "^echo_server" "/proc/$server/comm" || failed "it is not the program that answers"
    kill -TERM $server
    wait $server || failed "exit code $?"
    server=
    [ -S "$stage/socket" ] || failed "the program has removed the path, which is systemd's"
done
echo "1 passed, 0 failed"
