#!/bin/bash
# console_page_test.sh - the console's page in a browser without a screen: test/example/console.c is
# shown, its actors are rows, the one that fails all the time is marked, and one that is chosen shows
# its facts; on a picture of it, build/debug/console.png, the storm is one red row. Left out without
# libaxo-console, and without Chromium.
set -eu
cd "$(dirname "$0")/../.."
if [ ! -e /usr/include/microhttpd.h ] || [ ! -e /usr/include/systemd/sd-daemon.h ]; then
    echo "left out: no libaxo-console (Debian: libmicrohttpd-dev libsystemd-dev)"
    exit 0
fi
if ! command -v chromium >/dev/null; then
    echo "left out: a browser (Debian: chromium)"
    exit 0
fi
stage=$(mktemp -d)
server=
end() {
    [ -z "$server" ] || { kill "$server" && wait "$server" || :; } 2>/dev/null
    rm -rf "$stage"
}
trap end EXIT
program=${BUILD:-build}/debug/test/example/console
env -u MAKEFLAGS make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" "$program" \
    >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$program" "127.0.0.1:$port" &
server=$!
python3 - "$port" "$stage" "${BUILD:-build}/debug/console.png" <<'END'
import html.parser, os, re, socket, struct, subprocess, sys, time, zlib

port, stage, picture = sys.argv[1:]
for _ in range(2000):
    try:
        socket.create_connection(("127.0.0.1", int(port))).close()
        break
    except OSError:
        time.sleep(0.01)

class Page(html.parser.HTMLParser):
    """Rows by their data-path or data-fact: classes, and the text of their cells; texts by id."""
    def __init__(self, text):
        super().__init__()
        self.rows, self.facts, self.ids, self.row, self.id = {}, {}, {}, None, None
        self.feed(text)
    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.id = attrs.get("id")
        if tag == "tr":
            self.row = {"class": (attrs.get("class") or "").split(), "cells": []}
            if "data-path" in attrs:
                self.rows[attrs["data-path"]] = self.row
            if "data-fact" in attrs:
                self.facts[attrs["data-fact"]] = self.row
        if tag == "td" and self.row is not None:
            self.row["cells"].append("")
    def handle_data(self, data):
        if self.id:
            self.ids[self.id] = self.ids.get(self.id, "") + data
        if self.row is not None and self.row["cells"]:
            self.row["cells"][-1] += data
    def text(self, name):
        return self.ids.get(name, "").strip()

def browse(fragment, *how):
    return subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={stage}/browser", "--virtual-time-budget=8000", *how,
         f"http://127.0.0.1:{port}/{fragment}"], env=os.environ | {"HOME": stage}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300).stdout

def look(fragment):
    return Page(browse(fragment, "--dump-dom"))

def pixels(name):
    """Rows of a PNG of 8 bits a colour, each a list of (red, green, blue)."""
    with open(name, "rb") as file:
        said = file.read()
    assert said[:8] == b"\x89PNG\r\n\x1a\n", said[:8]
    at, data = 8, b""
    while at < len(said):
        size, kind = struct.unpack(">I4s", said[at:at + 8])
        body = said[at + 8:at + 8 + size]
        if kind == b"IHDR":
            wide, _, bits, colours, _, _, laced = struct.unpack(">IIBBBBB", body)
        data += body if kind == b"IDAT" else b""
        at += size + 12
    assert bits == 8 and colours in (2, 6) and laced == 0, (bits, colours, laced)
    each = 3 if colours == 2 else 4
    raw, above, step = zlib.decompress(data), bytes(wide * each), wide * each + 1
    for begin in range(0, len(raw), step):
        how, row = raw[begin], bytearray(raw[begin + 1:begin + step])
        for i, value in enumerate(row):
            left = row[i - each] if i >= each else 0
            corner = above[i - each] if i >= each else 0
            up = above[i]
            near = min((left, up, corner), key=lambda one: abs(left + up - corner - one))
            row[i] = value + (0, left, up, (left + up) // 2, near)[how] & 255
        above = bytes(row)
        yield [tuple(row[i:i + 3]) for i in range(0, len(row), each)]

def storms(name):
    """How high each band is that is painted as a storm: in the page's own colour, on white."""
    with open("tools/console/page.html", encoding="utf-8") as file:
        style = file.read()
    hot = [17 * int(digit, 16) for digit in re.search(r"--hot: #(\w)(\w)(\w);", style).groups()]
    part = 0.25
    red = [part * one + (1 - part) * 255 for one in hot]
    bands, inside = [], False
    for row in pixels(name):
        painted = sum(all(abs(a - b) < 3 for a, b in zip(one, red)) for one in row) > 300
        if painted and not inside:
            bands.append(0)
        inside = painted
        if painted:
            bands[-1] += 1
    return bands

for _ in range(5):  # its time is not ours: what it sees as 8 s may be too short for a restart
    page = look("#%2Fuser%2Fshop%2Ftill")
    if "storm" in page.rows.get("/user/shop/till", {"class": ()})["class"]:
        break
till = page.rows["/user/shop/till"]
assert {"/", "/user", "/user/shop", "/user/shop/shelf", "/system/console"} <= set(page.rows)
assert "storm" in till["class"] and "chosen" in till["class"], till
assert float(till["cells"][5]) >= 1 and int(till["cells"][4]) > 0, till
assert all("storm" not in row["class"] for path, row in page.rows.items() if path != "/user/shop/till")
shelf = page.rows["/user/shop/shelf"]
assert shelf["cells"][:3] == ["shelf", 'shelf "A"', "idle"] and "chosen" not in shelf["class"], shelf
assert page.facts["path"]["cells"][1] == "/user/shop/till", page.facts
assert page.facts["class"]["cells"][1] == "till" and int(page.facts["restarts"]["cells"][1]) > 0
assert page.text("system") == "shop" and page.text("health"), page.ids
assert "1 in a storm of restarts" in page.text("count") and "restarts/s" in page.text("rates")
assert page.text("error") == "", page.ids
for _ in range(5):
    browse("#%2Fuser%2Fshop%2Ftill", "--hide-scrollbars", "--window-size=1000,600", f"--screenshot={picture}")
    bands = storms(picture)
    if bands:
        break
assert len(bands) == 1 and 10 <= bands[0] <= 60, bands
page = look("#%2Fuser%2Fnobody")
assert "no actor is there" in page.facts["error"]["cells"][1], page.facts
page = look("")
assert page.rows and not page.facts, page.facts
END
echo "1 passed, 0 failed"
