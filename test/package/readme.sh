#!/bin/bash
# readme.sh - the lines of README.md about the installation, as they stand, in the real /usr/local.
# sandbox.sh keeps it from the machine.
#
#   test/package/sandbox.sh test/package/readme.sh build
set -eu
trap 'echo "line $LINENO: failed"' ERR
cd "$(dirname "$0")/../.."
lines() { find /usr/local /etc/ld.so* ! -name ld.so.cache -printf '%p %y %m %l\n' | LC_ALL=C sort; }
put() { make --no-print-directory BUILD="$1" "${@:2}"; }
[ ! -e /usr/local/share/axo/installed.txt ] || put "$1" uninstall
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
lines >"$stage/before"
# shellcheck disable=SC2016 # as it stands there
line='cc app.c $(pkg-config --cflags --libs axo)'
grep -qF '`make install PREFIX=/usr/local`' README.md
grep -qF "\`$line\`" README.md
put "$1" PREFIX=/usr/local install
put "$1" install-tools
cp test/api/consumer.c "$stage/app.c"
(cd "$stage" && eval "$line" && ./a.out && ldd a.out | grep '/usr/local/lib/libaxo\.so')
axo-restart-bench --version
for page in 3/axo_send 7/axo 1/axo-restart-bench; do
    [ -s "/usr/local/share/man/man$page.${page%/*}" ]
    if command -v man >/dev/null; then man -w "${page%/*}" "${page#*/}" | grep ^/usr/local/; fi
done
cp test/package/outside/CMakeLists.txt test/api/consumer.c "$stage"
cmake -S "$stage" -B "$stage/cmake" -DUSE=C >/dev/null
cmake --build "$stage/cmake" >/dev/null
"$stage/cmake/axo_c" && "$stage/cmake/axo_static_c"
put "$1" uninstall
lines | diff "$stage/before" -
if ldconfig -p | grep libaxo; then exit 1; fi
if (cd "$stage" && ./a.out) 2>/dev/null; then exit 1; fi
