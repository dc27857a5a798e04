#!/bin/bash
# abi.sh - the ABI of the shared library against the reviewed dump.
#
#   test/static/abi.sh [--accept] build/release
#
# Types are all that the public headers give, payloads of messages too. A change that breaks programs is allowed only with
# another soname; any other has to be accepted, so that the next one is compared with it.
set -u
cd "$(dirname "$0")/../.." || exit 1
dump=test/static/abi/libaxo.abi
accept=
if [ "$1" = --accept ]; then accept=1; shift; fi
now=$1/libaxo.abi
abidw --load-all-types --headers-dir include/axo --drop-private-types --no-show-locs \
    --no-corpus-path --no-comp-dir-path --out-file "$now" "$1/libaxo.so" || exit 1
if [ -n "$accept" ]; then
    cp "$now" "$dump"
    echo "  abi: $(grep -c '<elf-symbol ' "$dump") symbols written"
    exit 0
fi
soname() { sed -n "s/.*soname='\([^']*\)'.*/\1/p" "$1" | head -n 1; }
# What only runtime/ defines is behind a pointer, or nowhere: its layout is nobody's business.
opaque=$(grep -rhoE '^(typedef )?struct [a-z_0-9]+ \{' runtime | sed 's/.*struct //; s/ {//' | sort -u |
    paste -sd'|')
printf '[suppress_type]\n  name_regexp = ^(axo__.*|_Unwind_.*|__pthread_unwind_.*|__anonymous.*|%s)$\n' "$opaque" >"$1/abi.opaque"
abidiff --non-reachable-types --suppr "$1/abi.opaque" "$dump" "$now" >"$1/abi.diff"
code=$?
if [ $((code & 3)) -ne 0 ]; then cat "$1/abi.diff"; exit 1; fi
if [ "$code" -eq 0 ]; then
    echo "bar 30 is 0: changes by abidiff, $(grep -c '<elf-symbol ' "$dump") symbols of $(soname "$dump") as before"
    exit 0
fi
cat "$1/abi.diff"
if [ $((code & 8)) -ne 0 ] && [ "$(soname "$dump")" = "$(soname "$now")" ]; then
    echo "bar 30 is 1: abidiff: an incompatible change within $(soname "$dump")"
    exit 1
fi
echo "the ABI has changed; after a review: make abi-accept"
echo "bar 30 is 1: abidiff: a change that was not reviewed"
exit 1
