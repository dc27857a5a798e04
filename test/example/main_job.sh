#!/usr/bin/env bash
# main_job.sh - the main job, as `make run` starts it: the log pipeline on a million lines, checked
# against awk, and the restart report. AXO_BUILD is the folder of the programs. LOG=path takes
# another log, SECONDS_REPORT=n another length of the report.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${AXO_BUILD:-build/release}
out=build/run
log=${LOG:-${1:-}}
mkdir -p "$out"
begin=$(date +%s)
say() { printf '== %3d s  %s\n' "$(($(date +%s) - begin))" "$*"; }

tool=$build/bench/axo-restart-bench
[ -x "$tool" ] || make --no-print-directory "$tool"

if [ -z "$log" ]; then
    log=$out/access.log
    if [ ! -s "$log" ]; then
        say "making a sample log, $log"
        "$build/test/example/make_access_log" "$log.part"
        mv "$log.part" "$log"
    fi
fi

say "the log pipeline reads $log"
"$build/test/example/log_pipeline" "$log" "$out/summary.txt" "$out/malformed.txt"

say "awk counts the same"
: >"$out/awk_bad.txt"
LC_ALL=C awk -v bad="$out/awk_bad.txt" -f test/example/access_check.awk "$log" |
    sort -n >"$out/awk_summary.txt"
sort -n "$out/malformed.txt" | cut -f 1 >"$out/malformed_lines.txt"
status=0
if cmp "$out/summary.txt" "$out/awk_summary.txt"; then
    echo "   same requests and bytes for each of $(wc -l <"$out/summary.txt") statuses"
else
    diff "$out/summary.txt" "$out/awk_summary.txt" | head -n 10
    status=1
fi
if cmp "$out/malformed_lines.txt" "$out/awk_bad.txt"; then
    echo "   same $(wc -l <"$out/awk_bad.txt") malformed lines, each reported: $out/malformed.txt"
else
    diff "$out/malformed_lines.txt" "$out/awk_bad.txt" | head -n 10
    status=1
fi
if [ "$status" != 0 ]; then
    echo "main_job: the pipeline and awk differ" >&2
    exit 1
fi

say "the restart report"
"$tool" --suite report --repeats 1 --warmup 0.02 --total "${SECONDS_REPORT:-16}" --out "$out/restart"
echo "   $out/restart/restart.md, .csv, .json, percentiles and plots"
say "done"
