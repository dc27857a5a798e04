#!/bin/bash
# install.sh - puts axo below a prefix, and takes it away again with the folders that it made.
#
#   tools/install/install.sh library|tools|uninstall [build/release]
#
# PREFIX, LIBDIR, INCDIR, BINDIR, DATADIR, DOCDIR, MANDIR, VERSION and ABI come from the Makefile; all
# that is written is below DESTDIR. DATADIR/axo/installed.txt lists each file ("f") and each folder
# that was not there before ("d"), without DESTDIR, so that a staged tree may be moved. What an earlier
# installation put down stays listed.
set -eu
shopt -s nullglob
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
say() { printf '%s\n' "$*"; }
die() {
    say "error: $*" >&2
    exit 1
}
for place in PREFIX LIBDIR INCDIR BINDIR DATADIR DOCDIR MANDIR; do
    [[ ${!place} == /* ]] || die "$place=${!place} is not an absolute path"
    printf -v "$place" %s "$(realpath -ms -- "${!place}")"
done
list=$DATADIR/axo/installed.txt

# ---- one thing put down
note() { printf '%s\n' "$1" >>"$DESTDIR$list"; }
made=()
folder() {
    [ -d "$DESTDIR$1" ] && return
    [ "$1" = / ] || [ -z "$1" ] || folder "${1%/*}"
    install -d -m 755 "$DESTDIR$1/"
    [ -z "$1" ] || made+=("d $1")
}
put() { # mode, folder, file...
    local mode=$1 to=$2 file
    shift 2
    [ $# -gt 0 ] || return 0
    folder "$to"
    for file; do note "f $to/${file##*/}"; done
    install -m "$mode" "$@" "$DESTDIR$to/"
}
link() { # what it says, folder, name
    folder "$2"
    note "f $2/$3"
    ln -sfn "$1" "$DESTDIR$2/$3"
}
pages() { # the manual pages of these sections
    local section page files
    if [ ! -e "$manual/list" ]; then
        say "note: there are no manual pages; make man needs python3"
        return
    fi
    for section; do
        files=()
        while read -r page; do files+=("$manual/$page"); done < <(grep "^man$section/" "$manual/list")
        put 644 "$MANDIR/man$section" "${files[@]}"
    done
}
# The template's @NAMES@ are variables of this script.
fill() { # folder, template
    local text name
    text=$(<"$2")
    for name in $(grep -oE '@[A-Z_]+@' "$2" | tr -d @ | sort -u); do
        text=${text//"@$name@"/"${!name}"}
    done
    name=${2##*/}
    folder "$1"
    printf '%s\n' "$text" >"$scratch/${name%.in}"
    put 644 "$1" "$scratch/${name%.in}"
}

# ---- the components
beside() { # a library of its own, if it was built; what it stands on
    if [ ! -e "$built/libaxo-$1.so.$VERSION" ]; then
        say "note: no libaxo-$1: it was not built, without $2"
        return
    fi
    put 644 "$INCDIR/axo" "include/axo/${1//-/_}.h"
    [ "$1" != record ] || put 644 "$INCDIR/axo" include/axo/report.h
    [ "$1" != cluster ] || put 644 "$INCDIR/axo" include/axo/grain.h
    put 644 "$LIBDIR" "$built/libaxo-$1.a"
    put 755 "$LIBDIR" "$built/libaxo-$1.so.$VERSION"
    link "libaxo-$1.so.$VERSION" "$LIBDIR" "libaxo-$1.so.$ABI"
    link "libaxo-$1.so.$ABI" "$LIBDIR" "libaxo-$1.so"
    fill "$LIBDIR/pkgconfig" "tools/install/axo-$1.pc.in"
}
library() {
    local PC_LIBDIR PC_INCDIR CMAKE_INCDIR MAJOR MINOR POINTER_BYTES
    local header headers=()
    for header in include/axo/*.h include/axo/*.hpp; do
        case $header in */console.h | */process.h | */record.h | */report.h | */durable.h | */durable_nats.h | */cluster.h | */grain.h) ;; *) headers+=("$header") ;; esac
    done
    put 644 "$INCDIR/axo" "${headers[@]}"
    put 644 "$LIBDIR" "$built/libaxo.a" "$built/axo-lockcount.o"
    put 755 "$LIBDIR" "$built/libaxo.so.$VERSION"
    link "libaxo.so.$VERSION" "$LIBDIR" "libaxo.so.$ABI"
    # Not beside the library, where ldconfig takes it for one: gdb looks here by the library's path.
    put 644 "$DATADIR/gdb/auto-load$LIBDIR" "$built/libaxo.so.$VERSION-gdb.py"
    put 644 "$DATADIR/axo" tools/axo_gdb.py # a gdb of another prefix is given it by -x
    link "libaxo.so.$ABI" "$LIBDIR" libaxo.so

    PC_LIBDIR=${LIBDIR/#"$PREFIX/"/'${prefix}/'}
    PC_INCDIR=${INCDIR/#"$PREFIX/"/'${prefix}/'}
    fill "$LIBDIR/pkgconfig" tools/install/axo.pc.in
    CMAKE_INCDIR=$INCDIR
    if [[ $LIBDIR == "$PREFIX"/* && $INCDIR == "$PREFIX"/* ]]; then
        CMAKE_INCDIR="\${_axo_libdir}/$(realpath -ms --relative-to="$LIBDIR" "$INCDIR")"
    fi
    IFS=. read -r MAJOR MINOR _ <<<"$VERSION"
    # The class of an ELF file is its fifth byte: 1 for 32 bits, 2 for 64.
    POINTER_BYTES=$((4 * $(od -An -tu1 -j4 -N1 "$built/libaxo.so.$VERSION")))
    fill "$LIBDIR/cmake/axo" tools/install/axoConfig.cmake.in
    fill "$LIBDIR/cmake/axo" tools/install/axoConfigVersion.cmake.in

    beside console "libmicrohttpd and libsystemd"
    beside process libseccomp
    beside record libaxo
    beside durable liblmdb
    beside durable-nats "liblmdb and libnats"
    beside cluster libnats

    put 644 "$DOCDIR" LICENSE README.md CHANGELOG*.md
    put 644 "$DOCDIR/examples" test/example/*.[ch] test/example/*.cpp test/example/SERVERS.md \
        test/example/cluster.sh
    put 644 "$DOCDIR/examples/engine" test/example/engine/*
    put 644 "$DOCDIR/examples/brain" test/example/brain/*
    pages 3 7
    refresh
}
tools() {
    put 755 "$BINDIR" "$built/bench/axo-restart-bench" "$built/tools/axo-top" tools/record/axo-replay
    put 644 "$MANDIR/man1" tools/top/axo-top.1
    pages 1
}
uninstall() {
    local kind path
    [ -e "$DESTDIR$list" ] || die "nothing is installed: there is no $DESTDIR$list"
    while read -r kind path; do
        case $kind$path in
        *//* | */../* | */..) die "$DESTDIR$list: not a path of install.sh: $path" ;;
        f/*) rm -f -- "$DESTDIR$path" ;;
        d/*) made+=("$path") ;;
        *) die "$DESTDIR$list: not a line of install.sh: $kind $path" ;;
        esac
    done <"$DESTDIR$list"
    rm -f "$DESTDIR$list"
    # Below comes before above; what others have put into a folder keeps it.
    while read -r path; do
        [ -z "$path" ] || [ -L "$DESTDIR$path" ] || [ ! -d "$DESTDIR$path" ] ||
            rmdir --ignore-fail-on-non-empty -- "$DESTDIR$path"
    done < <(printf '%s\n' "${made[@]}" | LC_ALL=C sort -r)
    refresh
}

# The cache of ld.so, where that has the folder of the library.
refresh() {
    local path covered=
    [ -z "$DESTDIR" ] || return 0
    while read -r path; do
        [ "$(realpath -m -- "$path")" = "$(realpath -m -- "$LIBDIR")" ] && covered=1
    done < <(ldconfig -v -N -X 2>/dev/null | sed -n 's|^\(/[^:]*\):.*|\1|p')
    if [ -z "$covered" ]; then
        [ "$component" = uninstall ] || say "note: ld.so does not look into $LIBDIR; a program finds" \
            "the library there by its run path (-Wl,-rpath,$LIBDIR) or by LD_LIBRARY_PATH"
    elif [ "$(id -u)" = 0 ]; then
        ldconfig
    else
        say "note: ld.so looks into $LIBDIR, but its cache is old; as root: ldconfig"
    fi
}

component=$1
built=${2:-}
if [ "$component" = uninstall ]; then
    uninstall
    exit
fi
manual=${built%/*}/man
# Also what failed half-way can be taken away.
finish() {
    local line
    rm -rf "$scratch"
    [ -d "$DESTDIR$DATADIR/axo" ] || return 0
    for line in "${made[@]}"; do note "$line"; done
    line=$(awk '!seen[$0]++' "$DESTDIR$list")
    printf '%s\n' "$line" >"$DESTDIR$list"
}
scratch=$(mktemp -d)
trap finish EXIT
folder "$DATADIR/axo"
note "f $list"
chmod 644 "$DESTDIR$list"
"$component"
say "installed below $DESTDIR$PREFIX: $component; $DESTDIR$list says what"
