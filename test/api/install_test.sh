#!/bin/bash
# install_test.sh - what `make install` puts down serves a C, a C++11 and a C++20 program, shared and
# static, through pkg-config alone; `make uninstall` leaves nothing.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL

make_release() {
    make --no-print-directory VARIANT=release BUILD="${BUILD:-build}" CC="${CC:-cc}" \
        DESTDIR="$stage" PREFIX=/usr "$@"
}
make_release install >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
"$stage/usr/bin/axo-restart-bench" --version | grep -q '^axo-restart-bench [0-9.]*$'
for file in include/axo/axo.h lib/libaxo.a lib/libaxo.so lib/pkgconfig/axo.pc; do
    [ -e "$stage/usr/$file" ] || { echo "not installed: $file"; exit 1; }
done

export PKG_CONFIG_PATH=$stage/usr/lib/pkgconfig
strict="-Wall -Wextra -Wpedantic -Werror"
# Both ways to find a staged tree say the same.
for find in sysroot prefix; do
    case $find in
    sysroot) export PKG_CONFIG_SYSROOT_DIR=$stage; ask="pkg-config" ;;
    prefix) unset PKG_CONFIG_SYSROOT_DIR; ask="pkg-config --define-prefix" ;;
    esac
    cflags=$($ask --cflags axo)
    libs=$($ask --libs axo)
    # What libaxo.a needs beside itself, with the archive named so that the linker has no choice.
    static=$($ask --libs --static axo | sed 's/-laxo/-l:libaxo.a/')
    case $cflags in *"$stage/usr/include"*) ;; *) echo "$find: cflags: $cflags"; exit 1 ;; esac

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
    }
    cd "$root"
    for program in c_shared cpp11_shared cpp20_shared; do
        LD_LIBRARY_PATH=$stage/usr/lib "$stage/$program"
        readelf -d "$stage/$program" | grep -q 'NEEDED.*libaxo\.so\.[0-9]' ||
            { echo "$program does not need the soname"; exit 1; }
    done
    for program in c_static cpp11_static cpp20_static; do
        "$stage/$program"
        if readelf -d "$stage/$program" | grep -q libaxo; then
            echo "$program needs the shared library"
            exit 1
        fi
    done
done

make_release uninstall >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
left=$(find "$stage/usr" ! -type d)
[ -z "$left" ] || { echo "uninstall left: $left"; exit 1; }
