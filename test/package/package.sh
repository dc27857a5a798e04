#!/bin/bash
# package.sh - what a user gets, built and used from outside the tree: make install with pkg-config
# and CMake, README's own line, the Debian packages.
#
#   test/package/package.sh build
#
# What writes to /usr runs where the file system is this process's own (sandbox.sh): the machine stays
# as it is. Where that cannot be (not root), these cases are counted as skipped. The last line is
# "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
build=$1
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL VARIANT DESTDIR LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH
export AXO_DEPS_DONE=1
version=$(sed -n 's/^#define AXO_VERSION_[A-Z]* //p' include/axo/version.h | paste -sd.)
passed=0
failed=0
skipped=0
is() { # what, and a command that must hold; what it says is shown when it does not
    local what=$1 start=$SECONDS
    shift
    if "$@" >"$stage/said" 2>&1; then
        passed=$((passed + 1))
        echo "  ok    $what ($((SECONDS - start)) s)"
    else
        failed=$((failed + 1))
        echo "  FAIL  $what"
        tail -n 20 "$stage/said" | sed 's/^/        | /'
    fi
}
refused() { # text that must be said, and a command that must fail
    local text=$1
    shift
    ! "$@" >"$stage/refused" 2>&1 && tr -s '\n ' ' ' <"$stage/refused" | grep -F -- "$text" ||
        { cat "$stage/refused"; return 1; }
}
put() { make --no-print-directory BUILD="$build" "$@"; }

# ---- an installation below a prefix of its own, moved to another place afterwards
first=$stage/first
moved=$stage/moved/axo
is "make install" put PREFIX="$first" install install-tools
mkdir -p "${moved%/*}" "$stage/outside"
cp test/api/consumer.c test/api/consumer.cpp test/package/outside/CMakeLists.txt "$stage/outside"

# The environment, static words, then the compiler's own.
pc_program() {
    local where=$1 define=$2 words=$3
    shift 3
    (
        cd "$stage/outside" || exit 1
        export PKG_CONFIG_PATH=$where/lib/pkgconfig
        # shellcheck disable=SC2046,SC2086 # words
        "${CC:-cc}" consumer.c $words $(pkg-config $define --cflags --libs "$@" axo) -o program &&
            LD_LIBRARY_PATH=$where/lib ./program
    )
}
is "pkg-config, shared" pc_program "$first" "" ""
is "pkg-config, all static" pc_program "$first" "" -static --static
no_build_folders() { ! grep -rnF -e "$root" -e /x86_64 "$first"/lib/{pkgconfig,cmake}; }
is "nothing of the build's folders" no_build_folders
mv "$first" "$moved"
is "pkg-config, shared, moved" pc_program "$moved" --define-prefix ""
is "pkg-config, all static, moved" pc_program "$moved" --define-prefix -static --static
all_static() { ! readelf -d "$stage/outside/program" | grep NEEDED; }
is "that program needs no library" all_static

cmake_project() { # prefix, words of cmake; configures, builds, runs all there is
    local prefix=$1
    shift
    rm -rf "$stage/cmake"
    cmake -S "$stage/outside" -B "$stage/cmake" -DCMAKE_PREFIX_PATH="$prefix" "$@" || return 1
    cmake --build "$stage/cmake" -j2 && (cd "$stage/cmake" && ctest --output-on-failure)
}
programs() { # what was built and run
    [ "$(cd "$stage/cmake" && find . -maxdepth 1 -type f -perm -u+x -printf '%f\n' | sort |
        paste -sd' ')" = "$1" ]
}
needs() { readelf -d "$stage/cmake/$1" | grep -q 'NEEDED.*\[libaxo\.so\.[0-9.]*\]'; }
configure() { cmake -S "$stage/outside" -B "$stage/cmake" -DCMAKE_PREFIX_PATH="$moved" "$@"; }
is "CMake, C and C++" cmake_project "$moved" "-DWANT=0.1;REQUIRED;CONFIG"
is "CMake, all four programs" programs "axo_c axo_cpp axo_static_c axo_static_cpp"
is "CMake, axo::axo is shared" needs axo_c
is "CMake, axo::axo is shared in C++" needs axo_cpp
is "CMake, axo::axo_static is not" eval '! needs axo_static_c && ! needs axo_static_cpp'
is "CMake, C alone" cmake_project "$moved" "-DUSE=C" "-DWANT=REQUIRED;COMPONENTS;static"
# As /lib leads to /usr/lib, beside which there is no /include.
mkdir "$stage/linked"
ln -s "$moved/lib" "$stage/linked/lib"
is "CMake, C++ alone, by a link" cmake_project "$stage/linked" -DUSE=CXX
is "CMake, without what static needs" cmake_project "$moved" -DUSE=C -DMISSING=ON
is "CMake, then without axo::axo_static" programs "axo_c"
rm -rf "$stage/cmake"
is "CMake, static asked for" refused "libck (component static)" \
    configure -DUSE=C -DMISSING=ON "-DWANT=COMPONENTS;static"
is "CMake, no such component" refused "(component none)" configure -DUSE=C "-DWANT=COMPONENTS;none"
# The version: this, a range around it; not newer, not another soname.
IFS=. read -r major minor patch <<<"$version"
for want in "$major.$minor" "$version;EXACT" "$version...<$major.$((minor + 1))" \
    "$major.$minor...$version" "$major"; do
    rm -rf "$stage/cmake"
    is "CMake, version $want" configure -DUSE=NONE "-DWANT=$want;REQUIRED"
done
for want in "$major.$((minor + 1))" "$((major + 1)).0" "$major.$minor.$((patch + 1))" \
    "$major.$minor.9;EXACT" "$major.$((minor + 1))...$((major + 1))" "0.0...<$version" 0.0; do
    rm -rf "$stage/cmake"
    is "CMake, not version $want" refused "considered but not accepted" \
        configure -DUSE=NONE "-DWANT=$want;REQUIRED"
done
cat >"$stage/pointers.cmake" <<END
set(PACKAGE_FIND_VERSION $version)
set(PACKAGE_FIND_VERSION_MAJOR $major)
set(PACKAGE_FIND_VERSION_MINOR $minor)
set(PACKAGE_FIND_VERSION_COUNT 3)
set(CMAKE_SIZEOF_VOID_P \${BYTES})
include($moved/lib/cmake/axo/axoConfigVersion.cmake)
if(PACKAGE_VERSION_UNSUITABLE OR NOT PACKAGE_VERSION_COMPATIBLE)
  message(FATAL_ERROR "unsuitable: \${PACKAGE_VERSION}")
endif()
END
bytes=$(($(getconf LONG_BIT) / 8))
is "CMake, pointers of this size" cmake -DBYTES=$bytes -P "$stage/pointers.cmake"
is "CMake, pointers of another" refused unsuitable cmake -DBYTES=$((12 - bytes)) -P "$stage/pointers.cmake"
mv "$moved/lib/libaxo.so.$version" "$stage/gone"
is "CMake, a library that is gone" refused "lacks: $moved/lib/libaxo.so.$version" \
    cmake -S "$stage/outside" -B "$stage/none" -DCMAKE_PREFIX_PATH="$moved"
mv "$stage/gone" "$moved/lib/libaxo.so.$version"
mv "$moved" "$first"
is "make uninstall" put PREFIX="$first" uninstall
is "nothing is left" [ ! -e "$first" ]
# Headers that are not below the prefix: then the files say where they are.
first=$stage/apart
is "make install, headers apart" put PREFIX="$first" INCDIR="$stage/headers" install
is "pkg-config, headers apart" pc_program "$first" "" ""
is "CMake, headers apart" cmake_project "$first" -DUSE=C
is "make uninstall, headers apart" put PREFIX="$first" INCDIR="$stage/headers" uninstall
is "nothing is left of both" [ ! -e "$first" -a ! -e "$stage/headers" ]

# ---- Debian's packages
debs=$build/deb
is "make deb" put deb
is "lintian" lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs "$debs"/*.changes
deb() { echo "$debs/$1"_"$version"-*.deb; }
field() { dpkg-deb -f "$(deb "$1")" "$2" | grep -E -- "$3"; }
abi=${version%.*}
is "libaxo-dev wants its library" field libaxo-dev Depends "libaxo$abi \(= $version-.*libck-dev, liburcu-dev"
is "the library wants liburcu and CK" field "libaxo$abi" Depends "libck0.*liburcu"
is "both can be there for two machines" eval \
    'field libaxo-dev Multi-Arch same && field "libaxo$abi" Multi-Arch same'
for name in "libaxo$abi" libaxo-dev "libaxo-console$abi" libaxo-console-dev "libaxo-process$abi" \
    libaxo-process-dev "libaxo-record$abi" libaxo-record-dev "libaxo-durable$abi" libaxo-durable-dev \
    "libaxo-durable-nats$abi" libaxo-durable-nats-dev "libaxo-cluster$abi" \
    libaxo-cluster-dev axo-tools; do
    is "$name unpacks" dpkg-deb -x "$(deb "$name")" "$stage/deb"
done
library=$stage/deb/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
versions() { # the node, the names in it, and the same in the package's list
    readelf -VW "$library/libaxo.so.$abi" | grep "Name: AXO_$abi$" &&
        readelf --dyn-syms -W "$library/libaxo.so.$abi" | sed -n "s/.* \(axo_.*\)@@AXO_$abi$/\1/p" |
        sort | diff - test/api/symbols.txt &&
        dpkg-deb -I "$(deb "libaxo$abi")" symbols | sed -n "s/^ \(axo_.*\)@AXO_$abi .*/\1/p" |
        sort | diff - test/api/symbols.txt
}
is "every name has its version" versions
manual() {
    [ -e "$stage/deb/usr/share/man/man3/axo_send.3.gz" ] && [ -e "$stage/deb/usr/share/man/man7/axo.7.gz" ] &&
        [ -e "$stage/deb/usr/share/man/man1/axo-restart-bench.1.gz" ]
}
is "the manual pages are in them" manual
no_paths() { ! grep -raF "$root" "$stage/deb"; }
is "no folder of the build is in them" no_paths
deb_program() {
    (
        cd "$stage/outside" || exit 1
        export PKG_CONFIG_PATH=$library/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage/deb
        # shellcheck disable=SC2046 # words
        "${CXX:-c++}" consumer.cpp $(pkg-config --cflags --libs axo) -o program &&
            LD_LIBRARY_PATH=$library ./program
    )
}
is "a program with the unpacked packages" deb_program
is "the tool of the packages" "$stage/deb/usr/bin/axo-restart-bench" --version

# ---- in /usr, as a user does it
if [ "$(id -u)" = 0 ] && test/package/sandbox.sh true 2>"$stage/said"; then
    is "README's line after make install" test/package/sandbox.sh test/package/readme.sh "$build"
    is "apt's way: installed, used, purged" test/package/sandbox.sh test/package/purge.sh "$debs"
else
    skipped=2
    echo "  skipped: installations in /usr: not root, or no mounts here: $(tail -n 1 "$stage/said")"
fi
echo "$passed passed, $failed failed$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
[ "$failed" -eq 0 ]
