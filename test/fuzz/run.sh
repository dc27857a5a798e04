#!/bin/bash
# run.sh - runs the fuzzers, or makes their corpora small again.
#
#   run.sh fuzz "target..." seconds jobs    each for so long, so many at a time
#   run.sh merge "target..."                what was found joins test/fuzz/corpus
#
# What a fuzzer finds is in $BUILD/fuzz/found/TARGET, inputs that fail in $BUILD/fuzz/failed.
set -u
inputs_max=80 # the largest: the others reach little that these do not
folder=${BUILD:-build}/fuzz
mkdir -p "$folder/failed" "$folder/found"
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:quarantine_size_mb=4:strict_string_checks=1:handle_abort=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}

program() {
    local variant=asan
    [ "$1" = fuzz_sched ] && variant=sim
    echo "$folder/$variant/test/fuzz/$1"
}

options() {
    local words=test/fuzz/$1.dict
    echo "-max_len=$(sed -n 's/^ \* Length \([0-9]*\).*/\1/p' "test/fuzz/$1.c") -timeout=10 -rss_limit_mb=1024"
    [ -f "$words" ] && echo "-dict=$words"
}

fuzz() {
    local target=$1 log=$folder/$1.log runs speed
    mkdir -p "$folder/found/$target" "test/fuzz/corpus/$target"
    # shellcheck disable=SC2046
    "$(program "$target")" $(options "$target") -max_total_time="$2" -print_final_stats=1 \
        -artifact_prefix="$folder/failed/$target." "$folder/found/$target" \
        "test/fuzz/corpus/$target" >"$log" 2>&1
    local result=$?
    echo "bar 12 is $((result != 0)): reports of address and undefined, clang, $2 s of $target"
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    if [ "$result" -ne 0 ]; then
        grep -vE '^#[0-9]+	|NEW_FUNC|^INFO' "$log" | tail -60
        echo "bar 20 is $2 / ${runs:-0} / 1: $target failed, $folder/failed/$target.*"
        return 1
    fi
    echo "bar 20 is $2 / ${runs:-0} / 0: $target: seconds, executions at $speed/s, crashes"
}

# The fewest inputs that reach every edge that was reached; keep.* are there for what they once broke.
merge() {
    local target=$1 corpus=test/fuzz/corpus/$1 new=$folder/merged/$1
    rm -rf "$new" && mkdir -p "$new" "$folder/found/$target" "$corpus"
    # shellcheck disable=SC2046
    "$(program "$target")" $(options "$target") -set_cover_merge=1 -use_counters=0 "$new" "$corpus" \
        "$folder/found/$target" >"$folder/$target.merge.log" 2>&1 || {
        tail -20 "$folder/$target.merge.log"
        return 1
    }
    find "$corpus" -type f ! -name 'keep.*' -delete
    (cd "$new" && ls -S) | head -n $inputs_max | while read -r name; do cp "$new/$name" "$corpus"; done
    echo "$target: $(find "$corpus" -type f | wc -l) inputs," \
        "$(find "$corpus" -type f -printf '%s\n' | awk '{n += $1} END {print n + 0}') bytes"
}

failed=0
case $1 in
fuzz)
    for target in $2; do
        [ "$(jobs -p | wc -l)" -lt "$4" ] || wait -n || failed=1
        fuzz "$target" "$3" &
    done
    while [ -n "$(jobs -p)" ]; do wait -n || failed=1; done
    ;;
merge) for target in $2; do merge "$target" || failed=1; done ;;
esac
exit $failed
