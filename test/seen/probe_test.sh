#!/bin/bash
# probe_test.sh - the probes (USDT) of the release build: readelf lists them, gdb stops at each of
# them, and their arguments are what they are said to be.
set -eu
cd "$(dirname "$0")/../.."
. test/seen/scene.sh
needs readelf gdb
probes="receive fail restart spawn stop park steal span"
library=$build/libaxo.so
if ! echo '#include <sys/sdt.h>' | "${CC:-cc}" -E - >/dev/null 2>&1; then
    ! readelf -n "$library" | grep -q stapsdt || fail "probes without their header"
    echo "left out: systemtap-sdt-dev is not installed, and the library has no probes"
    exit 0
fi

# ---- listed: of the provider axo, these and no others
readelf -n "$library" >"$scratch/notes" 2>&1
sed -n 's/^ *Name: //p' "$scratch/notes" | sort -u >"$scratch/listed"
tr ' ' '\n' <<<"$probes" | sort | diff - "$scratch/listed" || fail "other probes than are said"
[ "$(sed -n 's/^ *Provider: //p' "$scratch/notes" | sort -u)" = axo ] || fail "another provider"
# a nop, and no semaphore that the code would have to load
! grep -q "Semaphore: 0x0*[1-9a-f]" "$scratch/notes" || fail "a probe has a semaphore"
for place in $(sed -n 's/^ *Location: 0x0*\([0-9a-f]*\),.*/\1/p' "$scratch/notes"); do
    objdump -d --no-show-raw-insn --start-address=0x"$place" --stop-address=$((0x$place + 1)) "$library" |
        grep -qE "^ *$place:\s+nop" || fail "no nop at $place"
done

# ---- fired: each of them at least once, with arguments that agree with the program
{
    echo "set breakpoint pending on"
    echo "set print thread-events off"
    for probe in $probes; do
        echo "tbreak -probe-stap axo:$probe"
        echo "commands"
        echo "silent"
        case $probe in
        receive) # cell, message, tag
            echo 'printf "fired receive %d %d\n", $_probe_argc, ((axo_message *)$_probe_arg1)->tag == $_probe_arg2'
            ;;
        spawn) # cell, reference, parent's cell, class
            echo 'printf "fired spawn %d %d %s\n", $_probe_argc, (long)$_probe_arg1 % (1 << 24) == ((axo__cell *)$_probe_arg0)->slot, ((axo_class *)$_probe_arg3)->name'
            ;;
        fail) # cell, reference, kind, code
            echo 'printf "fired fail %d %d %d\n", $_probe_argc, (int)$_probe_arg2, (int)$_probe_arg3' ;;
        restart) # cell, reference, instance
            echo 'printf "fired restart %d %d\n", $_probe_argc, (int)$_probe_arg2' ;;
        stop) # cell, reference
            echo 'printf "fired stop %d %d\n", $_probe_argc, (long)$_probe_arg1 % (1 << 24) == ((axo__cell *)$_probe_arg0)->slot'
            ;;
        park) # worker, deadline
            echo 'printf "fired park %d %d\n", $_probe_argc, $_probe_arg0 >= 0 && (long)$_probe_arg1 > 0' ;;
        steal) # thief, victim, cell, reference
            echo 'printf "fired steal %d %d\n", $_probe_argc, $_probe_arg0 != $_probe_arg1' ;;
        span) # cell, message, its own context, its parent's
            echo 'printf "fired span %d %d %d\n", $_probe_argc, ((axo_trace_context *)$_probe_arg2)->trace_id[0] == 9, ((axo_trace_context *)$_probe_arg3)->span_id[0]' ;;
        esac
        echo "continue"
        echo "end"
    done
    echo "run work"
} | ask "$scene"
says "fired receive 3 1"
says "fired spawn 4 1 (root|user|system)"
says "fired fail 4 1 13"
says "fired restart 3 2"
says "fired stop 2 1"
says "fired park 2 1"
says "fired steal 4 1"
says "fired span 4 1 8"
grep -q "exited normally" "$scratch/log" || fail "the scene did not end well"
