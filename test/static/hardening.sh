#!/bin/bash
# hardening.sh - whether the shared library is hardened as the Makefile's flags say.
#
#   test/static/hardening.sh build/release
set -u
library=$1/libaxo.so
failed=0
count=0
# name, whether it is so
check() {
    count=$((count + 1))
    if [ "$2" -ne 0 ]; then
        failed=$((failed + 1))
        echo "  FAIL  $1"
    fi
}
has() { grep -qE -- "$2" <<<"$1"; echo $?; }
has_not() { grep -qE -- "$2" <<<"$1" && echo 1 || echo 0; }

segments=$(readelf -lW "$library")
dynamic=$(readelf -dW "$library")
symbols=$(readelf --dyn-syms -W "$library")
relocations=$(readelf -rW "$library")
header=$(readelf -hW "$library")
check "position independent" "$(has "$header" 'Type: +DYN')"
check "read-only relocations" "$(has "$segments" GNU_RELRO)"
check "all symbols bound at the start" "$(has "$dynamic" 'BIND_NOW|FLAGS.*NOW')"
check "no executable stack" "$(has "$segments" 'GNU_STACK.* RW ')"
check "no segment that is written and executed" "$(has_not "$segments" 'LOAD.* RWE ')"
check "code in pages of its own" "$(has "$segments" 'LOAD.* R E ')"
check "headers and constants are not executable" "$(has "$segments" 'LOAD +0x0+ .* R  ')"
check "no text relocations" "$(has_not "$dynamic" TEXTREL)"
check "no search path" "$(has_not "$dynamic" 'RPATH|RUNPATH')"
check "stack protector" "$(has "$symbols" '__stack_chk_fail')"
check "fortified calls" "$(has "$symbols" '__(memcpy|memset|snprintf|vsnprintf|fprintf)_chk')"
check "no exported data" "$(has_not "$symbols" ' OBJECT +GLOBAL +DEFAULT +[0-9]+ axo')"
check "no dangerous function" \
    "$(has_not "$symbols" 'UND (gets|strcpy|strcat|sprintf|vsprintf|alloca|system|popen|tmpnam)(@|$)')"
check "relocations were read" "$(has "$relocations" R_X86_64_)"
if [ "$failed" -eq 0 ]; then word=met; else word=short; fi
echo "  hardening: $count checks of libaxo.so, $failed failed, $word"
exit "$failed"
