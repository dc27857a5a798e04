#!/bin/bash
# console_page_test.sh - the console's page in a browser without a screen: test/example/console.c is
# shown, its actors are rows, the one that fails all the time is marked, and a click on one, by the
# mouse, shows its facts; on a picture of that, build/debug/console.png, the storm is one red row. Then
# test/support/console/serve.c has an actor without a name, whose path is pasted. The browser is driven
# by chromedriver (WebDriver: HTTP and JSON). Left out without libaxo-console, and without Chromium and
# its driver.
set -eu
cd "$(dirname "$0")/../.."
if [ ! -e /usr/include/microhttpd.h ] || [ ! -e /usr/include/systemd/sd-daemon.h ]; then
    echo "left out: no libaxo-console (Debian: libmicrohttpd-dev libsystemd-dev)"
    exit 0
fi
if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then
    echo "left out: a browser and its driver (Debian: chromium-driver)"
    exit 0
fi
stage=$(mktemp -d)
server=
driver=
end() {
    local one
    for one in $driver $server; do { kill "$one" && wait "$one" || :; } 2>/dev/null; done
    rm -rf "$stage"
}
trap end EXIT
program=${BUILD:-build}/debug/test/example/console
serve=${BUILD:-build}/debug/test/support/console/serve
env -u MAKEFLAGS make --no-print-directory VARIANT=debug BUILD="${BUILD:-build}" "$program" "$serve" \
    >"$stage/log" 2>&1 || { cat "$stage/log"; exit 1; }
read -r port driven <<<"$(python3 -c 'import socket
ones = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in ones))')"
"$program" "127.0.0.1:$port" &
server=$!
HOME=$stage chromedriver "--port=$driven" >"$stage/driver.log" 2>&1 &
driver=$!
python3 - "$port" "$driven" "$stage" "${BUILD:-build}/debug/console.png" "$serve" <<'END' || { tail -n 20 "$stage/driver.log"; exit 1; }
import atexit, base64, html.parser, http.client, json, re, shutil, socket, struct, subprocess
import sys, time, urllib.parse, zlib

port, driven, stage, picture, program = sys.argv[1:]
LIMIT_S = 40

def until(what, look):
    """What `look` says when it says anything; None until then."""
    limit = time.monotonic() + LIMIT_S
    while True:
        said = look()
        if said is not None:
            return said
        assert time.monotonic() < limit, f"not within {LIMIT_S} s: {what}"
        time.sleep(0.05)

def listens(number):
    try:
        socket.create_connection(("127.0.0.1", int(number))).close()
        return True
    except OSError:
        return None

class Refused(Exception):
    """What the driver says instead of a value."""

class Driver:
    """A session of WebDriver."""
    ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # as the standard names a reference
    def __init__(self):
        self.path = "/session"
        options = {"binary": shutil.which("chromium"),
                   "args": ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--hide-scrollbars", "--window-size=1000,600",
                            f"--user-data-dir={stage}/browser"]}
        made = self.ask("POST", "", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})
        self.path = "/session/" + made["sessionId"]
    def ask(self, method, path, body=None):
        line = http.client.HTTPConnection("127.0.0.1", int(driven), timeout=LIMIT_S)
        line.request(method, self.path + path, None if body is None else json.dumps(body),
                     {"Content-Type": "application/json; charset=utf-8"})
        answer = line.getresponse()
        value = json.loads(answer.read())["value"]
        line.close()
        if answer.status != 200:
            raise Refused(value["error"], value.get("message", ""))
        return value
    def open(self, fragment):
        self.ask("POST", "/url", {"url": f"http://127.0.0.1:{port}/{fragment}"})
    def load(self, fragment):
        """As open, and the page begins anew."""
        self.ask("POST", "/url", {"url": "about:blank"})
        self.open(fragment)
    def page(self):
        return Page(self.ask("GET", "/source"))
    def click(self, selector):
        """By the mouse, in the middle of it; None: it is not there, or was made anew meanwhile."""
        try:
            found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
            self.ask("POST", f"/element/{found[self.ELEMENT]}/click", {})
            return True
        except Refused as why:
            if why.args[0] not in ("no such element", "stale element reference",
                                   "element click intercepted"):
                raise
            return None
    def away(self):
        """The mouse, from whatever it is above."""
        move = {"type": "pointerMove", "duration": 0, "x": 1, "y": 1, "origin": "viewport"}
        self.ask("POST", "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move]}]})
    def shoot(self, name):
        with open(name, "wb") as file:
            file.write(base64.b64decode(self.ask("GET", "/screenshot")))
    def leave(self):
        self.ask("DELETE", "")

class Page(html.parser.HTMLParser):
    """Rows by their data-path or data-fact: classes, and the text of their cells; texts by id."""
    def __init__(self, text):
        super().__init__()
        self.rows, self.facts, self.ids, self.row, self.id = {}, {}, {}, None, None
        self.sections = {}  # by name: rows of their tables
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
            if "data-row" in attrs:
                self.sections.setdefault(attrs["data-row"], []).append(self.row)
        if tag == "td" and self.row is not None:
            self.row["cells"].append("")
    def handle_data(self, data):
        if self.id:
            self.ids[self.id] = self.ids.get(self.id, "") + data
        if self.row is not None and self.row["cells"]:
            self.row["cells"][-1] += data
    def text(self, name):
        return self.ids.get(name, "").strip()

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

until("the console listens", lambda: listens(port))
until("chromedriver listens", lambda: listens(driven))
browser = Driver()
atexit.register(browser.leave)   # the driver's own end leaves the browser behind
TILL, SHELF = "/user/shop/till", "/user/shop/shelf"

def row(page, path):
    return page.rows.get(path, {"class": (), "cells": []})

def shown(path):
    """The page, when it shows the facts of an actor, and its row as chosen."""
    page = browser.page()
    facts = page.facts.get("path", {"cells": ["", ""]})
    return page if facts["cells"][1] == path and "chosen" in row(page, path)["class"] else None

def storming():
    """The page, when a whole look has been shown that has a storm: health is its last part."""
    page = browser.page()
    whole = page.text("health") and "restarts/s" in page.text("rates")
    return page if whole and "storm" in row(page, TILL)["class"] else None

# ---- the tree; nobody is chosen
browser.open("")
page = until("the storm is marked", storming)
assert not page.facts and not any("chosen" in it["class"] for it in page.rows.values()), page.facts
till, shelf = row(page, TILL), row(page, SHELF)
assert {"/", "/user", "/user/shop", SHELF, "/system/console"} <= set(page.rows)
assert float(till["cells"][5]) >= 1 and int(till["cells"][4]) > 0, till
assert all("storm" not in it["class"] for path, it in page.rows.items() if path != TILL)
assert shelf["cells"][:3] == ["shelf", 'shelf "A"', "idle"], shelf
assert page.text("system") == "shop" and "1 in a storm of restarts" in page.text("count"), page.ids
assert page.text("error") == "", page.ids

# ---- a click on a row, one on a cell of another
until("a row to click on", lambda: browser.click(f'tr[data-path="{SHELF}"]'))
page = until("the facts of the shelf", lambda: shown(SHELF))
assert page.facts["class"]["cells"][1] == 'shelf "A"' and page.facts["restarts"]["cells"][1] == "0"
assert browser.ask("GET", "/url").endswith("#%2Fuser%2Fshop%2Fshelf")
until("a cell to click on", lambda: browser.click(f'tr[data-path="{TILL}"] td.rate'))
page = until("the facts of the till", lambda: shown(TILL))
assert page.facts["class"]["cells"][1] == "till" and int(page.facts["restarts"]["cells"][1]) > 0
assert "chosen" not in row(page, SHELF)["class"], row(page, SHELF)

# ---- as it is seen; a row below the mouse has another colour
browser.away()
def pictured():
    browser.shoot(picture)
    bands = storms(picture)
    return bands if bands else None
bands = until("a red row", pictured)
assert len(bands) == 1 and 10 <= bands[0] <= 60, bands
until("the facts of the till, still", lambda: shown(TILL))

# ---- one that is not there
browser.open("#%2Fuser%2Fnobody")
def nobody():
    page = browser.page()
    return page if "error" in page.facts else None
page = until("what is said of nobody", nobody)
assert "no actor is there" in page.facts["error"]["cells"][1], page.facts

# ---- an actor without a name
serve = subprocess.Popen([program, "127.0.0.1:0"], text=True, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
def say(word):
    serve.stdin.write(word + "\n")
    serve.stdin.flush()
    said = serve.stdout.readline().split()[0]
    assert serve.stdout.readline() == "done\n", word
    return said
port = say("bound").rsplit(":", 1)[1]
PATH = say("anonymous")
assert re.fullmatch(r"/user/\$[0-9a-f]+", PATH), PATH
for way in PATH, "/user/" + urllib.parse.quote(PATH[6:], safe=""), "%2Fuser%2F" + PATH[6:]:
    browser.load("#" + way)
    page = until(f"the facts of {way}", lambda: shown(PATH))
    assert page.text("error") == "" and page.facts["class"]["cells"][1] == "hang", page.facts

# ---- as the page itself writes it
browser.load("")
until("its row", lambda: browser.click(f'tr[data-path="{PATH}"]'))
until("its facts", lambda: shown(PATH))
assert browser.ask("GET", "/url").endswith("#" + urllib.parse.quote(PATH, safe=""))

# ---- what is no path of anybody's is taken as it is, or as it is escaped, and the tree is there
for pasted, path in (("/user/server/listener/$%c01a0004", "/user/server/listener/$%c01a0004"),
                     ("/user/$%1a", "/user/$%1a"), ("%2fuser%2f$%1a%2Fb", "/user/$%1a/b"),
                     ("$%41", "$%41"), ("/user/$%25/a%20b", "/user/$%25/a b"),
                     ("/user/a$%41", "/user/a$A"), ("/user/%C3%A4", "/user/\u00e4"),
                     ("/user/100%", "/user/100%")):
    browser.load("#" + pasted)
    def nowhere():
        page = browser.page()
        whole = "/user/a" in page.rows and "error" in page.facts
        return page if whole and page.facts["path"]["cells"][1] == path else None
    page = until(f"{pasted} as {path}", nowhere)
    assert page.text("error") == "", page.ids

# ---- sections: a table each, of what their rows have
browser.load("")
rows = [["<pen>", "120", "true"], ["ink", "7", "false"]]
def tables():
    page = browser.page()
    return page if set(page.sections) == {"things", "more-2"} else None
page = until("two tables", tables)
assert all([row["cells"] for row in it] == rows for it in page.sections.values()), page.sections
assert page.text("error") == "", page.ids
serve.stdin.close()
assert serve.wait(LIMIT_S) == 0
END
echo "1 passed, 0 failed"
