#!/bin/bash
# console_test.sh - libaxo-console by its clients: what each page says, what it refuses, what it does
# without memory, while all workers hang, when its address is taken, after a restart, at the end; and
# what systemd is told. test/support/console/serve.c does what it is told to. promtool, prometheus and
# curl are left out where they are not, and so is all of it where libaxo-console is not built.
set -eu
cd "$(dirname "$0")/../.."
if [ ! -e /usr/include/microhttpd.h ] || [ ! -e /usr/include/systemd/sd-daemon.h ]; then
    echo "left out: no libaxo-console (Debian: libmicrohttpd-dev libsystemd-dev)"
    exit 0
fi
variant=${VARIANT:-debug}
program=${BUILD:-build}/$variant/test/support/console/serve
log=$(mktemp)
trap 'rm -f "$log"' EXIT
env -u MAKEFLAGS make --no-print-directory VARIANT="$variant" BUILD="${BUILD:-build}" "$program" \
    >"$log" 2>&1 || { cat "$log"; exit 1; }
python3 test/support/console/clients.py "$program"
