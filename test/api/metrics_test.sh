#!/bin/bash
# metrics_test.sh - test/example/metrics.c is scraped, and what reads such text finds no fault in it:
# promtool in the older format, Python's strict parser in OpenMetrics, and Prometheus itself, which
# then knows how much was sold. What is not installed is left out, and said.
set -eu
cd "$(dirname "$0")/../.."
stage=$(mktemp -d)
scraper=
server=
end() {
    [ -z "$scraper" ] || { kill "$scraper" && wait "$scraper" || :; } 2>/dev/null
    [ -z "$server" ] || { kill "$server" && wait "$server" || :; } 2>/dev/null
    rm -rf "$stage"
}
trap end EXIT
make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" \
    "${BUILD:-build}/debug/test/example/metrics" >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"${BUILD:-build}/debug/test/example/metrics" "127.0.0.1:$port" &
server=$!

python3 - "$port" "$stage" <<'END'
import re, sys, time, urllib.request

port, stage = sys.argv[1:]

def get(accept):
    for _ in range(2000):
        try:
            ask = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
            with urllib.request.urlopen(ask) as answer:
                return answer.headers["Content-Type"], answer.read().decode()
        except ConnectionRefusedError:
            time.sleep(0.01)
    sys.exit("nobody listens")

def number(text, name, **labels):
    rest = "".join(f',{key}="{value}"' for key, value in labels.items())
    return float(re.search(rf'^{name}{{system="metrics"{re.escape(rest)}}} (\S+)$', text, re.M)[1])

for name, accept in (("old", "text/plain"), ("open", "application/openmetrics-text; version=1.0.0")):
    for _ in range(2000):
        kind, text = get(accept)
        if number(text, "axo_class_handled_total", **{"class": "shop"}) == 100 and \
                number(text, "axo_class_restarts_total", **{"class": "shop"}) == 10:
            break
        time.sleep(0.01)
    else:
        sys.exit("the shop has not sold all")
    assert kind.startswith(accept.split(";")[0]), kind
    assert number(text, "axo_class_failures_total", **{"class": "shop"}) == 10
    assert number(text, "axo_class_handler_seconds_count", **{"class": "shop"}) == 100
    assert number(text, "axo_class_mailbox_seconds_bucket", **{"class": "shop", "le": "+Inf"}) == 100
    assert number(text, "axo_watched_descriptors") >= 2
    assert number(text, "axo_polls_total") >= 1 and number(text, "axo_poll_events_total") >= 2
    assert number(text, "axo_timers") >= 0 and number(text, "axo_timers_fired_total") >= 0
    assert number(text, "axo_worker_busy_seconds_total", worker="0") > 0
    assert number(text, "axo_worker_parked_seconds_total", worker="0") >= 0
    assert number(text, "axo_class_longest_mailbox", **{"class": "shop"}) == 0
    assert re.search(r'^axo_longest_mailbox{system="metrics",actor="[^"]*"} \d+$', text, re.M)
    assert re.search(r'^axo_timer_late_seconds_count{system="metrics"} \d+$', text, re.M)
    with open(f"{stage}/{name}", "w", encoding="utf-8") as file:
        file.write(text)
END

if command -v promtool >/dev/null; then
    promtool check metrics <"$stage/old" || exit 1
else
    echo "left out: promtool (Debian: prometheus)"
fi

for python in python3 /usr/bin/python3; do
    "$python" -c 'import prometheus_client' 2>/dev/null || continue
    "$python" - "$stage/open" <<'END'
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read
text = open(sys.argv[1], encoding="utf-8").read()
families = {each.name: each for each in read(text)}
samples = sum(len(each.samples) for each in families.values())
lines = sum(not line.startswith("#") for line in text.splitlines())
assert samples == lines and lines > 100, (samples, lines)
assert families["axo_memory_bytes"].unit == "bytes"
assert families["axo_class_handler_seconds"].type == "histogram"
assert families["axo_timer_late_seconds"].type == "histogram"
assert families["axo_worker_busy_seconds"].type == "counter"
assert families["axo_worker_busy_seconds"].unit == "seconds"
assert families["axo_longest_mailbox"].type == "gauge"
END
    parsed=1
    break
done
[ -n "${parsed:-}" ] || echo "left out: a strict parser (Debian: python3-prometheus-client)"

if ! command -v prometheus >/dev/null; then
    echo "left out: prometheus (Debian: prometheus)"
    exit 0
fi
cat >"$stage/prometheus.yml" <<END
scrape_configs:
  - job_name: axo
    scrape_interval: 1s
    static_configs:
      - targets: ["127.0.0.1:$port"]
END
at=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file="$stage/prometheus.yml" --storage.tsdb.path="$stage/data" \
    --web.listen-address="127.0.0.1:$at" >"$stage/prometheus.log" 2>&1 &
scraper=$!
python3 - "$at" <<'END' || { tail -5 "$stage/prometheus.log"; exit 1; }
import json, sys, time, urllib.error, urllib.parse, urllib.request

base = f"http://127.0.0.1:{sys.argv[1]}/api/v1/"
query = urllib.parse.quote('axo_class_handled_total{class="shop"}')
for _ in range(600):
    try:
        with urllib.request.urlopen(base + "query?query=" + query) as answer:
            found = json.load(answer)["data"]["result"]
        if found:
            assert found[0]["value"][1] == "100", found
            sys.exit(0)
    except (ConnectionError, urllib.error.URLError):
        pass
    time.sleep(0.1)
sys.exit("prometheus has not scraped it")
END
