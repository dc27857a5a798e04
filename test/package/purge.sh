#!/bin/bash
# purge.sh - the Debian packages installed by dpkg, used, and purged: nothing is left. sandbox.sh keeps
# it from the machine.
#
#   test/package/sandbox.sh test/package/purge.sh build/deb
set -eu
trap 'echo "line $LINENO: failed"' ERR
cd "$(dirname "$0")/../.."
debs=$(cd "$1" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
lines() { find /usr /etc /var/lib/dpkg/info ! -name ld.so.cache -printf '%p %y %l\n' | LC_ALL=C sort; }
packages=$(cd "$debs" && ls ./*.deb | grep -v dbgsym | sed 's|^\./||; s|_.*||')
if dpkg -l $packages 2>/dev/null | grep '^.i'; then
    dpkg -P $packages
fi
lines >"$stage/before"
for name in $packages; do dpkg --unpack "$debs/$name"_*.deb; done
dpkg --configure $packages
[ "$(dpkg -l $packages | grep -c '^ii')" -eq "$(wc -w <<<"$packages")" ]
dpkg --verify $packages
cp test/api/consumer.c "$stage/app.c"
cp test/api/consumer.cpp test/api/consumer.c test/package/outside/CMakeLists.txt "$stage"
(cd "$stage" && cc app.c $(pkg-config --cflags --libs axo) && ./a.out)
(cd "$stage" && cc -static app.c $(pkg-config --cflags --static --libs axo) -o all && ./all)
cmake -S "$stage" -B "$stage/cmake" >/dev/null
cmake --build "$stage/cmake" -j2 >/dev/null
(cd "$stage/cmake" && ctest | tail -n 3)
cc /usr/share/doc/libaxo-dev/examples/hello_supervisor.c -o "$stage/hello" -laxo
"$stage/hello" | diff - test/example/hello_supervisor.expected
c++ -std=c++17 /usr/share/doc/libaxo-dev/examples/hello.cpp -o "$stage/hello_cpp" -laxo
"$stage/hello_cpp" | diff - test/example/hello.expected
axo-restart-bench --version
dpkg -P $packages
lines | diff "$stage/before" -
if (cd "$stage" && ./a.out) 2>/dev/null; then exit 1; fi
