#!/bin/bash
# crash_gdb_test.sh - gdb beside the handler of crashes, as README has it: gdb stops at a crash first, and
# `continue` has it contained; told to pass the signal on it does not stop. One that is refused stops it a
# second time, at the very instruction. A loop that is interrupted stops nobody. The program prints into a file of its own: gdb writes a line in parts.
set -eu
cd "$(dirname "$0")/../.."
. test/seen/scene.sh
needs gdb
folder=$(realpath "$build")
program=$scratch/contain
gcc -std=gnu11 -O1 -g -Iinclude -pthread -o "$program" test/fault/program/contain.c -L"$folder" -laxo -Wl,-rpath,"$folder"
printed() { grep -qx "AXO_OK, instance 2" "$scratch/printed" || fail "the crash was not contained"; }
passed="\[Inferior 1 \(process [0-9]+\) exited normally\]"

ask "$program" <<END
run crash >$scratch/printed
bt 1
continue
END
says "Thread [0-9]+ \"axo/w0\" received signal SIGSEGV, Segmentation fault\."
says "#0 .*contain_write \(\) at test/fault/program/contain\.c:[0-9]+"
printed
says "$passed"

grep -q "handle SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT nostop noprint pass" README.md ||
    fail "README does not have the line of gdb"
ask "$program" <<END
handle SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT nostop noprint pass
run crash >$scratch/printed
END
! grep -q "received signal" "$scratch/log" || fail "gdb has stopped"
printed
says "$passed"

# Refused: the handler has said why and has come back, and the instruction, which nothing has changed,
# fails again. The one behind that ends the process.
ask "$program" <<END
run guarded 2>$scratch/said
printf "first at %p\\n", \$pc
info registers rip rsp rbp rax rbx rcx rdx
continue
printf "second at %p\\n", \$pc
info registers rip rsp rbp rax rbx rcx rdx
bt 2
continue
END
grep -q "SIGSEGV at 0x10 is not contained: within a guard" "$scratch/said" || fail "it does not say why"
[ "$(grep -c "received signal SIGSEGV" "$scratch/log")" = 2 ] || fail "gdb has not stopped twice"
first=$(sed -n 's/^first at //p' "$scratch/log")
[[ "$first" = 0x* ]] && [ "$(sed -n 's/^second at //p' "$scratch/log")" = "$first" ] || fail "another instruction"
registers=$(grep -E "^r[a-z]{2} " "$scratch/log")
[ "$(wc -l <<<"$registers")" = 14 ] || fail "no registers"
[ "$(head -n 7 <<<"$registers")" = "$(tail -n 7 <<<"$registers")" ] || fail "other registers"
says "#0 .*contain_write \(\) at test/fault/program/contain\.c:[0-9]+"
# gdb may find a thread gone that it wants to look at
grep -qE "Program terminated with signal SIGSEGV|: No such process" "$scratch/log" || fail "it goes on"

# SIGURG goes to the program without a word
ask "$program" <<END
info signals SIGURG
run stuck >$scratch/printed
END
says "SIGURG[[:space:]]+No[[:space:]]+No[[:space:]]+Yes.*"
! grep -q "received signal" "$scratch/log" || fail "gdb has stopped"
printed
says "$passed"
