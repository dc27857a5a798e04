#!/bin/bash
# deb.sh - builds the Debian packages: a copy of this source with tools/debian in it, in build/deb.
#
#   tools/deb.sh [build/deb]
#
# CHECK=1: the packages' own test, which is all of `make test`, runs too. Nothing is signed.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD VARIANT CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS DESTDIR
out=${1:-build/deb}
number() { sed -n "s/^#define AXO_VERSION_$1 //p" include/axo/version.h; }
abi=$(number MAJOR).$(number MINOR)
version=$abi.$(number PATCH)
said=$(sed -n '1s/^axo (\(.*\)-[^-]*) .*/\1/p' tools/debian/changelog)
if [ "$said" != "$version" ]; then
    echo "error: tools/debian/changelog is of $said, version.h of $version" >&2
    exit 1
fi
# The library's name is that of its soname, in each file that names it.
for file in tools/debian/{control,libaxo*}; do
    if strays=$(sed 's/libaxo-\(console\|process\|record\)/libaxo/g; s/AXO_\(CONSOLE\|PROCESS\|RECORD\)_/AXO_/g' "$file" |
        grep -oE 'libaxo[0-9][0-9.]*[0-9]|AXO_[0-9.]+[0-9]|libaxo\.so\.[0-9.]*[0-9]' |
        grep -vxE "libaxo$abi|AXO_$abi|libaxo\.so\.$abi"); then
        echo "error: $file is of another soname than $abi:" $strays >&2
        exit 1
    fi
done

rm -rf "$out"
source=$out/axo-$version
mkdir -p "$source"
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$PWD" ]; then
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done
else
    find . -path "./$out" -prune -o -path ./build -prune -o -path ./.git -prune -o -path ./debian -prune -o ! -type d -print0
fi | tar -c --null -T - | tar -x -C "$source"
tar -c --sort=name --owner=0 --group=0 --numeric-owner -C "$out" "axo-$version" |
    xz -T0 -1 >"$out/axo_$version.orig.tar.xz"
cp -R tools/debian "$source/debian"
export DEB_BUILD_OPTIONS="parallel=$(nproc)$([ -n "${CHECK:-}" ] || echo ' nocheck')"
[ -n "${CHECK:-}" ] || export DEB_BUILD_PROFILES=nocheck
(cd "$source" && dpkg-buildpackage -us -uc) >"$out/log" 2>&1 || {
    tail -n 40 "$out/log"
    exit 1
}
ls "$out"/*.deb
