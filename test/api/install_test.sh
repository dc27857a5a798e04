#!/bin/bash
# install_test.sh - what `make install` puts down serves a C and two C++ programs, shared and static,
# through pkg-config alone; the cache of ld.so is renewed where it has the library; `make uninstall`
# leaves everything as it was before.
set -eu
trap 'echo "line $LINENO: failed"' ERR
cd "$(dirname "$0")/../.."
root=$PWD
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
fail() {
    echo "$*"
    exit 1
}
make_release() {
    make --no-print-directory VARIANT=release BUILD="${BUILD:-build}" CC="${CC:-cc}" "$@" \
        >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
}
staged() { make_release DESTDIR="$stage/root" PREFIX=/usr "$@"; }
tree() { (cd "$stage/$1" && find . -printf '%p %y %m %l\n' | LC_ALL=C sort); }

# ---- what is put down; some of its folders were there before, one with another's file
mkdir -p "$stage/root/usr/lib/pkgconfig" "$stage/root/usr/share/man"
: >"$stage/root/usr/lib/pkgconfig/other.pc"
tree root >"$stage/before"
staged install
[ ! -e "$stage/root/usr/bin" ] || fail "the tool comes with the library"
for file in include/axo/axo.h include/axo/axo.hpp include/axo/cpp_actor.hpp lib/axo-lockcount.o lib/libaxo.a lib/libaxo.so lib/pkgconfig/axo.pc \
    lib/cmake/axo/axoConfig.cmake lib/cmake/axo/axoConfigVersion.cmake share/doc/axo/LICENSE \
    share/doc/axo/README.md share/doc/axo/examples/hello_supervisor.c \
    share/doc/axo/examples/hello.cpp share/axo/installed.txt \
    share/doc/axo/examples/SERVERS.md share/axo/axo_gdb.py \
    share/gdb/auto-load/usr/lib/libaxo.so.*-gdb.py share/man/man3/axo_send.3 share/man/man7/axo.7; do
    compgen -G "$stage/root/usr/$file" >/dev/null || fail "not installed: $file"
done
! grep -rE '@[A-Z_]+@' "$stage/root/usr/lib/cmake" "$stage/root/usr/lib/pkgconfig" ||
    fail "a template's word was left"
(cd "$stage/root" && find . ! -type d ! -name other.pc | sed 's/^\.//' | LC_ALL=C sort) >"$stage/files"
sed -n 's/^f //p' "$stage/root/usr/share/axo/installed.txt" | LC_ALL=C sort >"$stage/listed"
diff "$stage/files" "$stage/listed" || fail "the list differs from what is there"
staged install-tools
[ -e "$stage/root/usr/share/man/man1/axo-restart-bench.1" ] || fail "no page of the tool"
"$stage/root/usr/bin/axo-restart-bench" --version | grep -q '^axo-restart-bench [0-9.]*$'
tree root >"$stage/once"
cp "$stage/root/usr/share/axo/installed.txt" "$stage/list"
staged install
tree root | diff "$stage/once" - || fail "a second installation changes something"
cmp "$stage/list" "$stage/root/usr/share/axo/installed.txt"
if make -n VARIANT=release BUILD="$stage/none" install | grep -q bench/restart; then
    fail "install builds the tool"
fi
for variant in asan sim; do
    if make -n VARIANT=$variant install >"$stage/log" 2>&1; then fail "$variant can be installed"; fi
done

# ---- pkg-config
export PKG_CONFIG_PATH=$stage/root/usr/lib/pkgconfig
grep -q '^Requires.private: liburcu-qsbr liburcu-cds ck$' "$PKG_CONFIG_PATH/axo.pc"
grep -q '^Libs: -L${libdir} -laxo$' "$PKG_CONFIG_PATH/axo.pc"
grep -q '^Libs.private: -pthread$' "$PKG_CONFIG_PATH/axo.pc"
strict="-Wall -Wextra -Wpedantic -Werror"
# Both ways to find a staged tree say the same.
for find in sysroot prefix; do
    case $find in
    sysroot) export PKG_CONFIG_SYSROOT_DIR=$stage/root; ask="pkg-config" ;;
    prefix) unset PKG_CONFIG_SYSROOT_DIR; ask="pkg-config --define-prefix" ;;
    esac
    cflags=$($ask --cflags axo)
    libs=$($ask --libs axo)
    case $cflags in *"$stage/root/usr/include"*) ;; *) fail "$find: cflags: $cflags" ;; esac
    [ "${libs% }" = "-L$stage/root/usr/lib -laxo" ] || fail "$find: libs: $libs"
    # What libaxo.a needs beside itself, with the archive named so that the linker has no choice.
    static=$($ask --libs --static axo | sed 's/-laxo/-l:libaxo.a/')
    for word in -lurcu-qsbr -lurcu-cds -lck -pthread; do
        case " $static " in *" $word "*) ;; *) fail "$find: static: $static" ;; esac
    done

    cd "$stage"
    # shellcheck disable=SC2086
    {
        "${CC:-cc}" -std=c11 $strict $cflags "$root/test/api/consumer.c" -o c_shared $libs
        "${CC:-cc}" -std=c11 $strict $cflags "$root/test/api/consumer.c" -o c_static $static
        for std in 11 20; do
            "${CXX:-c++}" -std=c++$std $strict $cflags "$root/test/api/consumer.cpp" \
                -o cpp${std}_shared $libs
            "${CXX:-c++}" -std=c++$std $strict $cflags "$root/test/api/consumer.cpp" \
                -o cpp${std}_static $static
        done
        for std in 17 20; do
            "${CXX:-c++}" -std=c++$std $strict $cflags "$root/test/example/hello.cpp" \
                -o hpp${std}_shared $libs
        done
    }
    cd "$root"
    for program in c_shared cpp11_shared cpp20_shared; do
        LD_LIBRARY_PATH=$stage/root/usr/lib "$stage/$program"
        soname=$(readelf -dW "$stage/$program" | sed -n 's/.*NEEDED.*\[\(libaxo\.so\.[0-9.]*\)\].*/\1/p')
        [ -n "$soname" ] || fail "$program does not need the soname"
        # The names that it uses are wanted in the version of that soname.
        readelf -VW "$stage/$program" | grep -A1 "File: $soname " |
            grep -q "Name: AXO_${soname#libaxo.so.} " || fail "$program needs no version"
    done
    for std in 17 20; do
        LD_LIBRARY_PATH=$stage/root/usr/lib "$stage/hpp${std}_shared" |
            diff test/example/hello.expected -
    done
    for program in c_static cpp11_static cpp20_static; do
        "$stage/$program"
        if readelf -d "$stage/$program" | grep -q libaxo; then
            fail "$program needs the shared library"
        fi
    done
done

# ---- libaxo-console, -process, -durable, -durable-nats, -cluster, where they are built, and -record: libraries of their own, so libaxo
# needs no more than before
export PKG_CONFIG_PATH=$stage/root/usr/lib/pkgconfig
needed() { readelf -dW "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p'; }
ldd "$stage/root/usr/lib/libaxo.so" | sed 's/^[[:space:]]*//; s/ .*//; s|.*/||' >"$stage/stands"
while read -r library; do
    case $library in
    linux-vdso.so.* | ld-linux*.so.* | libc.so.* | libpthread.so.* | libgcc_s.so.*) ;;
    liburcu-qsbr.so.* | liburcu-cds.so.* | liburcu-common.so.* | libck.so.*) ;;
    *) fail "libaxo stands on $library, too" ;;
    esac
done <"$stage/stands"
for library in libc liburcu-qsbr libck; do
    grep -q "^$library\.so\." "$stage/stands" || fail "ldd does not name $library: $(cat "$stage/stands")"
done
beside() { # a library of its own, one of its functions, an example: they are there, and programs of both sorts
    local name=$1 upper=${1^^} example=${3:-$1}
    upper=${upper//-/_}
    for file in "include/axo/${name//-/_}.h" "lib/libaxo-$name.a" "lib/libaxo-$name.so" \
        "lib/pkgconfig/axo-$name.pc" "share/man/man3/$2.3"; do
        [ -e "$stage/root/usr/$file" ] || fail "not installed: $file"
    done
    # shellcheck disable=SC2046,SC2086
    {
        "${CC:-cc}" -std=gnu11 $strict $($ask --cflags "axo-$name") "test/example/$example.c" \
            -o "$stage/${name}_shared" $($ask --libs "axo-$name")
        "${CC:-cc}" -std=gnu11 $strict $($ask --cflags "axo-$name") "test/example/$example.c" \
            -o "$stage/${name}_static" $($ask --libs --static "axo-$name" |
            sed -E "s/-laxo((-[a-z]+)*)( |$)/-l:libaxo\\1.a\\3/g")
    }
    readelf --dyn-syms -W "$stage/root/usr/lib/libaxo-$name.so" |
        sed -n "s/.* \(axo_[a-z_]*\)@@AXO_${upper}_.*/\1/p" | sort |
        diff "tools/$name/symbols.txt" - || fail "libaxo-$name has other names"
    if needed "$stage/${name}_static" | grep axo; then fail "${name}_static needs a shared axo"; fi
}
without() { # the library, and the packages that it wants
    [ ! -e "$stage/root/usr/include/axo/${1//-/_}.h" ] || fail "a header without its library"
    echo "left out: libaxo-$1 (Debian: $2)"
}
ask="pkg-config --define-prefix"
if [ -e /usr/include/microhttpd.h ] && [ -e /usr/include/systemd/sd-daemon.h ]; then
    beside console axo_console_start
    for program in console_shared console_static; do
        LD_LIBRARY_PATH=$stage/root/usr/lib "$stage/$program" "unix:$stage/socket" &
        server=$!
        for _ in $(seq 1000); do
            [ ! -e "$stage/socket" ] || break
            sleep 0.01
        done
        python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"GET /health HTTP/1.0\r\n\r\n")
assert s.makefile("rb").read().split()[1] in (b"200", b"503")' "$stage/socket"
        kill $server
        wait $server || fail "$program ends with $?"
    done
else
    without console "libmicrohttpd-dev libsystemd-dev"
fi
if [ -e /usr/include/seccomp.h ]; then
    beside process axo_process_spawn
    for program in process_shared process_static; do
        LD_LIBRARY_PATH=$stage/root/usr/lib "$stage/$program" | diff test/example/process.expected - ||
            fail "$program says something else"
    done
else
    without process libseccomp-dev
fi
beside record axo_record_start flight_recorder
for file in include/axo/report.h share/man/man3/axo_report_play.3 bin/axo-replay; do
    [ -e "$stage/root/usr/$file" ] || fail "not installed: $file"
done
"$stage/root/usr/bin/axo-replay" --help | grep -q "^usage: axo-replay report " || fail "axo-replay says no usage"
for program in record_shared record_static; do
    LD_LIBRARY_PATH=$stage/root/usr/lib "$stage/$program" | diff test/example/flight_recorder.expected - ||
        fail "$program says something else"
done
if [ -e /usr/include/lmdb.h ]; then
    beside durable axo_durable_spawn
    for program in durable_shared durable_static; do
        LD_LIBRARY_PATH=$stage/root/usr/lib "$stage/$program" | diff test/example/durable.expected - ||
            fail "$program says something else"
    done
else
    without durable liblmdb-dev
fi
if [ -e /usr/include/lmdb.h ] && [ -e /usr/include/nats/nats.h ]; then
    beside durable-nats axo_store_open_stream durable
    for program in durable-nats_shared durable-nats_static; do
        LD_LIBRARY_PATH=$stage/root/usr/lib "$stage/$program" | diff test/example/durable.expected - ||
            fail "$program says something else"
    done
else
    without durable-nats "liblmdb-dev libnats-dev"
fi
if [ -e /usr/include/nats/nats.h ]; then
    beside cluster axo_cluster_start
else
    without cluster libnats-dev
fi
unset PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH

# ---- nothing is left, also where the tree was moved, and of others' files nothing is missing
staged uninstall
tree root | diff "$stage/before" - || fail "uninstall leaves something"
if make -s DESTDIR="$stage/root" PREFIX=/usr uninstall >"$stage/log" 2>&1; then
    fail "there is nothing to uninstall, and it says nothing"
fi
staged install
mv "$stage/root" "$stage/moved"
: >"$stage/moved/usr/include/axo/theirs.h"
make_release DESTDIR="$stage/moved" PREFIX=/usr uninstall
[ -e "$stage/moved/usr/include/axo/theirs.h" ] || fail "another's file is gone"
rm -r "$stage/moved/usr/include"
tree moved | diff "$stage/before" - || fail "uninstall of a moved tree leaves something"

# ---- the cache of ld.so; prefix without DESTDIR, and an ldconfig of this test
mkdir "$stage/bin" "$stage/real"
cat >"$stage/bin/ldconfig" <<END
#!/bin/bash
if [ \$# -eq 0 ]; then echo renewed >>"$stage/renewed"; fi
echo "$stage/\$(cat "$stage/covered"): (from <builtin>:0)"
END
# shellcheck disable=SC2016
printf '#!/bin/sh\necho $USER_ID\n' >"$stage/bin/id"
chmod +x "$stage"/bin/*
real() { # user, folder that the cache has; renewals
    : >"$stage/renewed"
    echo "$2" >"$stage/covered"
    PATH=$stage/bin:$PATH USER_ID=$1 make_release PREFIX="$stage/real" "${@:4}"
    [ "$(wc -l <"$stage/renewed")" -eq "$3" ] || fail "ldconfig: ${*:4}: $(cat "$stage/renewed" "$stage/log")"
}
tree real >"$stage/before"
real 0 real/lib 1 install
real 0 real/lib 1 uninstall
real 0 real/lib 0 install DESTDIR="$stage/else"
real 0 elsewhere 0 install
grep -q "note: ld.so does not look into $stage/real/lib" "$stage/log"
real 1000 real/lib 0 install
grep -q "as root: ldconfig" "$stage/log"
real 1000 real/lib 0 uninstall
tree real | diff "$stage/before" - || fail "uninstall leaves something below PREFIX"
