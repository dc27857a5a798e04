#!/bin/bash
# report_gdb_test.sh - axo-replay, as its usage has it: the program is started and plays the report, its
# status says what that came to; under gdb it stops before the handler that failed.
set -eu
cd "$(dirname "$0")/../.."
. test/seen/scene.sh
folder=$(realpath "$build")
program=$scratch/app
reports=$scratch/reports
mkdir "$reports"
gcc -std=gnu11 -O1 -g -Iinclude -pthread -o "$program" test/example/failure_report.c -L"$folder" -laxo-record -laxo \
    -Wl,-rpath,"$folder"
"$program" "$reports" | grep -qx "1 report was written" || fail "no report"
report=$(ls "$reports"/report-*-1.axorep)
ends() { # status arguments: axo-replay ends with it; what it prints is in $scratch/log
    local expected=$1 status=0
    shift
    timeout 50 tools/record/axo-replay "$@" >"$scratch/log" 2>&1 || status=$?
    [ "$status" = "$expected" ] || fail "axo-replay $* ends with $status, not $expected: $(cat "$scratch/log")"
}

ends 0 report "$report" "$program"
says "$report: class store, instance 1, 6 messages, 0 lost"
says "report: ordinary, code 7, under message 6"
says "replay: ordinary, code 7, under message 6: \"22 there and 15 counted\""
says "the same"

# Another program, whose store allows for more: it does not fail.
sed 's/counted + 2/counted + 20/' test/example/failure_report.c >"$scratch/other.c"
gcc -std=gnu11 -O1 -Iinclude -pthread -o "$scratch/other" "$scratch/other.c" -L"$folder" -laxo-record -laxo \
    -Wl,-rpath,"$folder"
ends 1 report "$report" "$scratch/other"
says "replay: no failure"
says "not the same: it did not fail under the last message"

# Another class, a file that is cut off, none, and what axo-replay itself refuses.
sed 's/"store", .state/"shop", .state/' test/example/failure_report.c >"$scratch/other.c"
gcc -std=gnu11 -O1 -Iinclude -pthread -o "$scratch/other" "$scratch/other.c" -L"$folder" -laxo-record -laxo \
    -Wl,-rpath,"$folder"
ends 2 report "$report" "$scratch/other"
says "AXO_EINVAL: the program keeps the messages of no class \"store\""
head -c 100 "$report" >"$scratch/cut"
ends 2 report "$scratch/cut" "$program"
says "AXO_EINVAL: .*/cut: no report, or not as it was written"
ends 2 report "$scratch/none" "$program"
says "axo-replay: .*/none cannot be read"
ends 2 report "$report"
says "usage: axo-replay .*"
ends 2
ends 0 --help

needs gdb
commands=$(printf '%s\n' "set width 0" "info args" "bt 4" finish "tbreak store_receive" continue "info line" "print *message" "print *(store *)state" continue)
timeout 50 env HOME="$scratch" DEBUGINFOD_URLS= tools/record/axo-replay report --gdb "$report" "$program" \
    <<<"$commands" >"$scratch/log" 2>&1 || fail "gdb ends with $?: $(cat "$scratch/log")"
cat "$scratch/log"
grep -qE "Breakpoint 1.*axo_replay_here" "$scratch/log" || fail "gdb has not stopped before the message"
grep -qE "store_receive \(.*\) at test/example/failure_report\.c:" "$scratch/log" || fail "gdb does not reach the handler"
grep -qE "tag = 2, size = 4" "$scratch/log" || fail "it is another message"
grep -qE "goods = 13, counted = 15" "$scratch/log" || fail "it is another state"
grep -qE "22 there and 15 counted" "$scratch/log" || fail "it has not failed as it did"
