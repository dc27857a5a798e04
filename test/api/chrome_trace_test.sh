#!/bin/bash
# chrome_trace_test.sh - the profile that test/example/chrome_trace.c writes: JSON, each worker's spans
# in one another and in time, every class, failure and decider in it.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
build=${BUILD:-build}
make --no-print-directory VARIANT=debug BUILD="$build" "$build/debug/test/example/chrome_trace" \
    >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
"$build/debug/test/example/chrome_trace" "$stage/trace.json"
python3 - "$stage/trace.json" <<'END'
import collections, json, sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
open_spans, last, seen = collections.defaultdict(list), collections.defaultdict(float), collections.Counter()
for event in events:
    tid = event["tid"]
    if event["ph"] == "M":
        assert event["args"]["name"] == f"axo/w{tid}", event
        continue
    assert event["ts"] >= last[tid], event
    last[tid] = event["ts"]
    if event["ph"] == "B":
        open_spans[tid].append(event["name"])
        seen[event["name"]] += 1
    elif event["ph"] == "E":
        assert open_spans[tid].pop() == event["name"], event
    else:
        assert event["ph"] == "i" and event["name"] == "fail", event
        seen["fail"] += 1
assert not any(open_spans.values()), open_spans
# 200 waves of 16; each enemy fails once in 50 steps, and what an instance has counted goes with it.
assert seen["fail"] == 16 * (200 // 50), seen
assert 0 < seen["decider"] <= seen["fail"], seen
assert 3000 < seen["enemy"] <= 3200 and 3000 < seen["game"] <= 3201, seen
print(dict(seen))
END
