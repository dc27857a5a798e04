#!/bin/bash
# crash_gdb_test.sh - gdb beside the handler of crashes, as README has it: gdb stops at a crash first, and
# `continue` has it contained; told to pass the signal on it does not stop. A loop that is interrupted
# stops nobody. The program prints into a file of its own: gdb writes a line in parts.
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

# SIGURG goes to the program without a word
ask "$program" <<END
info signals SIGURG
run stuck >$scratch/printed
END
says "SIGURG[[:space:]]+No[[:space:]]+No[[:space:]]+Yes.*"
! grep -q "received signal" "$scratch/log" || fail "gdb has stopped"
printed
says "$passed"
