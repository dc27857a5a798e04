#!/usr/bin/env python3
# clients.py - the clients of console_test.sh: HTTP by hand and by curl, promtool, Prometheus, systemd's
# socket.
#
#   test/support/console/clients.py build/debug/test/support/console/serve
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

PROGRAM = sys.argv[1]
TRIES = 3000


class Serve:
    """serve.c at an address; words go in, lines come out."""

    def __init__(self, address, *more, passed=(), **also):
        env = {name: value for name, value in os.environ.items()
               if name not in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")}
        self.process = subprocess.Popen([PROGRAM, address, *more], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=env | also, pass_fds=passed)
        self.at = self.do("bound")[0].split()[0]

    def do(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == "done\n":
                return lines
            lines.append(line.rstrip("\n"))
        sys.exit(f"{words}: the program has ended: {self.process.stderr.read()}")

    def connect(self):
        if self.at.startswith("unix:"):
            made = socket.socket(socket.AF_UNIX)
            made.connect(self.at[5:].replace("@", "\0", 1))
            return made
        host, port = self.at.rsplit(":", 1)
        return socket.create_connection((host.strip("[]"), int(port)))

    def get(self, url, method="GET", body=None, **headers):
        asked = http.client.HTTPConnection("127.0.0.1")
        asked.sock = self.connect()
        asked.sock.settimeout(60)
        asked.request(method, url, body, {"Connection": "close"} | headers)
        answer = asked.getresponse()
        said = answer.read().decode()
        asked.close()
        return answer.status, dict(answer.getheaders()), said

    def json(self, url, code=200):
        status, headers, said = self.get(url)
        assert status == code, (url, status, said)
        assert headers["Content-Type"] == "application/json", headers
        assert headers["Content-Length"] == str(len(said.encode())), headers
        return json.loads(said)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self):
        self.process.stdin.write("end\n")
        self.process.stdin.close()
        code = self.process.wait(60)
        said = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        assert code == 0, (code, said)
        return said


def until(what, why):
    for _ in range(TRIES):
        found = what()
        if found:
            return found
        time.sleep(0.01)
    sys.exit(f"it never came: {why}")


def answers(it):
    try:
        return it.get("/stats")[0] == 200
    except OSError:
        return False


def test_pages(it):
    tree = it.json("/tree")
    rows = {row["path"]: row for row in tree["actors"]}
    assert tree["system"] == "serve" and tree["more"] is False and tree["now_ms"] > 0, tree
    assert {"/", "/user", "/user/a", "/user/b", "/system", "/system/console"} <= set(rows), rows
    assert rows["/user/a"]["class"] == "hang" and rows["/user/a"]["restarts"] == 0
    assert rows["/system/console"]["doing"] == "running" and "for_ms" in rows["/system/console"]
    order = [row["path"].strip("/").split("/") for row in tree["actors"]]
    assert order == sorted(order), order
    it.do("odd")
    odd = '"<odd>\\\t\ufffd\u00e4\ufffd\ufffd\ufffd'
    until(lambda: it.json("/actor?path=/user/odd")["class"] == odd, "the odd name")
    facts = it.json("/actor?path=%2Fuser%2Fa")
    assert facts["path"] == "/user/a" and facts["doing"] == "idle" and facts["queued"] == 0, facts
    assert it.json("/actor?path=/user")["children"] == 3
    assert it.json("/actor?path=/")["children"] == 2
    stats = it.json("/stats")
    assert stats["workers"] == 2 and stats["actors"] == len(it.json("/tree")["actors"]), stats
    assert it.json("/health")["good"] is True
    status, headers, said = it.get("/")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert said.startswith("<!DOCTYPE html>") and said.endswith("</html>\n")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    status, headers, said = it.get("/tree", "HEAD")
    assert status == 200 and said == "" and int(headers["Content-Length"]) > 100


def test_metrics(it):
    status, headers, said = it.get("/metrics", Accept="text/plain")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'axo_actors{system="serve"}' in said
    if shutil.which("promtool"):
        subprocess.run(["promtool", "check", "metrics"], input=said, text=True, check=True)
    else:
        print("left out: promtool (Debian: prometheus)")
    status, headers, said = it.get(
        "/metrics", Accept="application/openmetrics-text; version=1.0.0, text/plain;q=0.5")
    assert headers["Content-Type"].startswith("application/openmetrics-text"), headers
    assert said.endswith("# EOF\n")
    if shutil.which("curl"):
        told = subprocess.run(["curl", "-sS", "-m", "60", f"http://{it.at}/metrics"], check=True,
                              text=True, stdout=subprocess.PIPE).stdout
        assert "# TYPE axo_actors gauge" in told


def test_sections(it):
    assert it.json("/sections") == ["things", "more-2"]
    rows = it.json("/things")["rows"]
    assert rows == [{"thing": "<pen>", "price": 120, "there": True},
                    {"thing": "ink", "price": 7, "there": False}], rows
    assert it.json("/more-2")["rows"] == rows
    for url in ("/thing", "/things/", "/thingss", "/more"):
        assert it.get(url)[0] == 404, url
    said = it.get("/metrics", Accept="text/plain")[2]
    assert said.startswith("# TYPE axo_things gauge\n# HELP axo_things Things.\naxo_things 2\n"), said
    said = it.get("/metrics", Accept="application/openmetrics-text")[2]
    assert "Things, openly." in said and said.count("# EOF") == 1 and said.endswith("# EOF\n")
    it.do("things -1")
    for url in ("/things", "/metrics"):
        status, headers, said = it.get(url)
        assert status == 500 and said.startswith("things: ") and said.endswith("\n"), (status, said)
        assert headers["Content-Type"].startswith("text/plain")
    it.do("things 300000")
    assert it.get("/things")[0] == 413
    it.do("refuse")
    assert it.get("/things")[0] == 503
    it.do("give")
    it.do("things 2")
    assert it.json("/things")["rows"] == rows


def test_prometheus(it, stage):
    """Prometheus itself scrapes it, as OpenMetrics, and then knows what it was told."""
    if not shutil.which("prometheus"):
        print("left out: prometheus (Debian: prometheus)")
        return
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        at = "127.0.0.1:%d" % port.getsockname()[1]
    with open(f"{stage}/prometheus.yml", "w", encoding="utf-8") as file:
        file.write("scrape_configs:\n- job_name: axo\n  scrape_interval: 1s\n"
                   f"  static_configs: [{{targets: ['{it.at}']}}]\n")
    with open(f"{stage}/prometheus.log", "w", encoding="utf-8") as log:
        scraper = subprocess.Popen(["prometheus", f"--config.file={stage}/prometheus.yml",
                                    f"--storage.tsdb.path={stage}/data",
                                    f"--web.listen-address={at}"], stdout=log, stderr=log)
    def ask(what):
        assert scraper.poll() is None, open(f"{stage}/prometheus.log", encoding="utf-8").read()
        try:
            with urllib.request.urlopen(f"http://{at}/api/v1/{what}") as answer:
                return json.load(answer)["data"]
        except OSError:
            return None
    try:
        query = "query?query=" + urllib.parse.quote('axo_memory_bytes{system="serve"}')
        found = until(lambda: (ask(query) or {}).get("result"), "what was scraped")
        assert float(found[0]["value"][1]) > 0, found
        target = ask("targets")["activeTargets"][0]
        assert target["health"] == "up" and target["lastError"] == "", target
        told = ask("metadata?metric=axo_memory_bytes")["axo_memory_bytes"][0]
        assert told["type"] == "gauge" and told["unit"] == "bytes", told  # OpenMetrics has units
    finally:
        scraper.terminate()
        scraper.wait(60)


def test_refusals(it):
    def refused(url, code, *words, **more):
        status, headers, said = it.get(url, **more)
        assert status == code and headers["Content-Type"].startswith("text/plain"), (url, status)
        assert all(word in said for word in words) and said.endswith("\n"), said
        return headers
    refused("/nothing", 404, "/tree")
    refused("/actor", 400, "path")
    refused("/actor?path", 400, "path")
    refused("/actor?path=/user/nobody", 404, "no actor")
    refused("/tree?path=/nobody", 404, "no actor")
    for path in ("user", "/user/*", "/user//a", "/user/%22", "/" + 2047 * "a", "/user/%00/a"):
        refused("/tree?path=" + path, 400, "path")
    for number in ("0", "-1", "51", "5x", "", "99999999999", "4294967297"):
        refused("/tree?max=" + number, 400, "max")
    for number in ("0", "-1", "3600001", "x"):
        refused("/health?within_ms=" + number, 400, "within_ms")
    for method in ("POST", "PUT", "DELETE"):
        assert refused("/tree", 405, "GET", method=method, body="x" * 100)["Allow"] == "GET, HEAD"
    for host in ("evil.example", "evil.example:9465", "localhost.evil.example", "127.0.0.1.evil"):
        refused("/tree", 403, "localhost", Host=host)
    for host in ("localhost", "localhost:1", "127.0.0.1:1", "[::1]", "[::1]:5"):
        assert it.get("/tree", Host=host)[0] == 200, host
    status = it.get("/tree", Cookie="x" * 40000)[0]
    assert status in (413, 414, 431), status
    raw = it.connect()
    raw.sendall(b"nonsense\r\n\r\n")
    said = raw.makefile("rb").read()
    assert said == b"" or b" 4" in said.split(b"\r\n")[0], said
    raw.close()


def test_bounds(it):
    assert it.do("stuff 300") == ["AXO_OK"]
    until(lambda: it.json("/stats")["actors"] > 300, "300 actors")
    tree = it.json("/tree?max=50")
    assert len(tree["actors"]) == 50 and tree["more"] is True
    tree = it.json("/tree?path=/user/many&max=20")
    assert len(tree["actors"]) == 20 and tree["more"] is True
    assert tree["actors"][0]["path"] == "/user/many"
    assert all(len(row["path"]) == 257 for row in tree["actors"][1:]), tree
    one = tree["actors"][1]["path"]
    assert it.json("/actor?path=" + one)["path"] == one
    assert it.json("/tree?path=" + one)["more"] is False
    # Five connections, where there may be four: one is closed, and the four are answered.
    held = [it.connect() for _ in range(8)]
    def refusals():
        return int(it.do("bound")[0].split()[-1])
    until(lambda: refusals() >= 4, "a refusal")
    for each in held:
        each.settimeout(60)
    whole = 0
    for each in held:
        try:
            each.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            whole += each.makefile("rb").read().startswith(b"HTTP/1.1 200 ")
        except OSError:
            pass
        each.close()
    assert whole == 4, whole
    until(lambda: answers(it), "a place")
    # Byte by byte; then many questions in one connection.
    slow = it.connect()
    for byte in b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":
        slow.sendall(bytes([byte]))
    assert slow.makefile("rb").read().startswith(b"HTTP/1.1 200 ")
    slow.close()
    kept = http.client.HTTPConnection("127.0.0.1")
    kept.sock = it.connect()
    for _ in range(50):
        kept.request("GET", "/tree?max=50", headers={"Host": "localhost"})
        assert len(json.loads(kept.getresponse().read())["actors"]) == 50
    kept.close()


class Busy:
    """A client that asks again and again and waits for nothing, so the console always has more to do."""

    def __init__(self, it):
        self.line = it.connect()
        self.threads = [threading.Thread(target=self.go_on, args=(step,), daemon=True)
                        for step in (self.ask, self.hear)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        self.line.sendall(100 * b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return True

    def hear(self):
        return self.line.recv(1 << 20)

    def go_on(self, step):
        try:
            while step():
                pass
        except OSError:
            pass

    def end(self):
        self.line.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(60)
        self.line.close()


def test_busy(it):
    # What the console sends itself while one client keeps it busy does not grow with what others do.
    busy = Busy(it)
    def waiting():
        stats = it.json("/stats")
        return stats["sent"] - stats["handled"]
    before = waiting()
    for _ in range(60):
        assert waiting() - before < 8
    it.do("run 60")
    waiting()   # behind those
    assert waiting() - before < 8
    # It pauses when there is no descriptor for a connection, however busy it is.
    handled = it.json("/stats")["handled"]
    it.do("short")
    tried, begun = int(it.do("accepts")[0]), time.monotonic()
    guest = it.connect()
    guest.sendall(b"GET /stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    until(lambda: int(it.do("accepts")[0]) > tried + 1, "two tries")
    tried, ticks = int(it.do("accepts")[0]) - tried, 2 * (time.monotonic() - begun)
    assert tried <= ticks + 3, (tried, ticks)
    it.do("enough")
    guest.settimeout(60)
    assert guest.makefile("rb").read().startswith(b"HTTP/1.1 200 ")
    guest.close()
    assert it.json("/stats")["handled"] - handled > 20   # it was busy
    busy.end()


def test_age():
    # Clients that are never silent for long have all the places, and are put out all the same.
    oldest_s = 1.5
    it = Serve("127.0.0.1:0", "%d" % (1000 * oldest_s))
    begun = time.monotonic()
    held = [it.connect() for _ in range(4)]
    ask = b"GET /stats HTTP/1.1\r\nHost: localhost\r\n"
    for each in held[:2]:
        each.sendall(ask + b"X: ")   # these never come to the end of their question
    def goes_on(each):
        """Whether it may; half of them ask again and again."""
        try:
            each.sendall(b"x" if each in held[:2] else ask + b"\r\n")
            return each.recv(65536, socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False
    ended = []
    def all_ended():
        for each in held:
            if each not in ended and not goes_on(each):
                assert time.monotonic() - begun >= oldest_s, ended
                ended.append(each)
        return len(ended) == 4
    until(all_ended, "the end of the slow")
    until(lambda: answers(it), "a place")
    for each in held:
        each.close()
    it.end()
    print("age")


def test_memory(it):
    it.do("refuse")
    for url in ("/tree", "/actor?path=/user/a", "/stats", "/metrics"):
        assert it.get(url)[0::2] == (503, "no memory\n"), url
    assert it.get("/health")[0] in (200, 503)
    assert it.get("/")[0] == 200
    it.do("give")
    assert it.json("/tree")["actors"]
    # A console that starts while memory is short: it does, or it ends, and leaves nothing.
    before, went = it.descriptors(), set()
    for blocks in range(40):
        went |= set(it.do(f"starve {blocks}"))
    assert "AXO_OK" in went and len(went) > 1, went
    until(lambda: it.descriptors() <= before, "descriptors given back")
    assert it.json("/tree")["actors"]


def test_hang(it):
    it.do("hang")
    def late():
        status, _, said = it.get("/health?within_ms=50")
        return json.loads(said) if status == 503 else None
    said = until(late, "somebody late")
    assert said["good"] is False and said["why"] == "callback" and said["tag"] == 7, said
    assert said["path"] in ("/user/a", "/user/b") and said["for_ms"] >= 50 and said["late"] >= 1
    rows = {row["path"]: row for row in it.json("/tree?max=50")["actors"]}
    assert rows["/user/a"]["doing"] == rows["/user/b"]["doing"] == "running"
    it.do("go")
    until(lambda: it.get("/health")[0] == 200, "health")


def test_life(it, path):
    before = it.descriptors()
    for instance in range(2, 6):
        it.do("fail")
        until(lambda: answers(it) and it.json("/actor?path=/system/console")["instance"] == instance,
              "the next instance")
    idle = it.connect()
    until(lambda: int(it.do("bound")[0].split()[2]) > 0, "a connection")
    assert it.do("second") == ["ended"]
    assert answers(it) and (path is None or os.path.exists(path))
    it.do("fail")
    idle.settimeout(60)
    try:
        assert idle.recv(1) == b""   # it ends with its instance
    except ConnectionResetError:
        pass
    idle.close()
    until(lambda: answers(it) and it.descriptors() <= before, "descriptors given back")
    it.do("stop")
    until(lambda: not answers(it), "the end of the console")
    assert path is None or not os.path.exists(path)


def test_tcp(stage):
    for address in ("127.0.0.1:0", "[::1]:0"):
        try:
            it = Serve(address)
        except SystemExit:
            if address[0] == "[":
                print("left out: no v6")
                continue
            raise
        assert it.do("misuse") == [""]
        assert it.do("notify") == ["AXO_ENOENT"]
        for test in (test_pages, test_metrics, test_sections, test_refusals, test_busy, test_bounds, test_memory,
                     test_hang):
            test(it)
            print(f"{address} {test.__name__}")
        if address[0] != "[":
            test_prometheus(it, stage)
        taken = Serve("unix:@axo-console-test-%d" % os.getpid())
        assert answers(taken)
        taken.end()
        it.end()


def test_unix(stage):
    path = f"{stage}/console"
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)   # one whose listener is gone is no obstacle
    stale.close()
    it = Serve("unix:" + path)
    assert it.at == "unix:" + path
    test_pages(it)
    assert it.get("/tree", Host="any.name")[0] == 200
    if shutil.which("curl"):
        told = subprocess.run(["curl", "-sS", "-m", "60", "--unix-socket", path, "http://x/tree"],
                              check=True, text=True, stdout=subprocess.PIPE).stdout
        assert json.loads(told)["system"] == "serve"
    test_life(it, path)
    said = it.end()
    assert f"cannot listen at unix:{path}, errno 98" in said, said
    port = socket.socket()
    port.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % port.getsockname()[1]
    port.close()
    it = Serve(address)
    test_life(it, None)
    assert f"cannot listen at {address}, errno 98" in it.end()
    it = Serve("unix:" + path)
    it.end()
    assert not os.path.exists(path)
    print("life")


def test_passed():
    """A socket that it was given listens no more: its console says so once, and asks no more."""
    with socket.create_server(("127.0.0.1", 0)) as listens:
        it = Serve(f"fd:{listens.fileno()}", passed=[listens.fileno()])
        assert it.json("/health")["good"] is True
        listens.shutdown(socket.SHUT_RDWR)
        before = until(lambda: it.do("gone") == ["gone"] and it.do("accepts"), "its end")
        time.sleep(0.2)
        assert it.do("accepts") == before
    said = it.end()
    assert said.count("cannot accept, errno 22") == 1, said
    print("passed")


def test_notify(stage):
    path = f"{stage}/notify"
    systemd = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    systemd.bind(path)
    systemd.settimeout(60)
    def hear(word, never="-"):
        while True:
            said = systemd.recv(4096).decode().split("\n")
            assert never not in said, (never, said)
            if any(line.startswith(word) for line in said):
                return said
    it = Serve("unix:@axo-notify-test-%d" % os.getpid(), NOTIFY_SOCKET=path,
               WATCHDOG_USEC="900000")
    assert it.do("notify") == ["AXO_OK"]
    assert systemd.recv(4096).decode().split("\n") == ["READY=1", "STATUS=running"]
    assert it.do("notify") == ["AXO_EEXIST"]
    begun = time.monotonic()
    for _ in range(4):
        hear("WATCHDOG=1", "STOPPING=1")
    assert time.monotonic() - begun > 0.9   # not more often than said: each 0.45 s
    it.do("hang")
    late = hear("STATUS=late: ")[0]
    assert "/user/" in late and "is in a callback" in late and "in all" in late, late
    systemd.settimeout(3)
    try:
        sys.exit(f"a system that hangs is said to be well: {hear('', 'STOPPING=1')}")
    except socket.timeout:
        systemd.settimeout(60)
    it.do("go")
    hear("WATCHDOG=1", "STOPPING=1")
    it.do("unfed")   # the actor is gone, the system is not
    hear("WATCHDOG=1", "STOPPING=1")
    hear("WATCHDOG=1", "STOPPING=1")
    it.end()
    hear("STOPPING=1")
    systemd.setblocking(False)
    try:
        while True:
            assert "STOPPING=1" not in systemd.recv(4096).decode()
    except BlockingIOError:
        systemd.settimeout(60)
    it = Serve("unix:@axo-notify-test-%d" % os.getpid(), NOTIFY_SOCKET=path)
    it.do("notify")
    it.end()
    assert hear("STOPPING=1", "WATCHDOG=1")
    it = Serve("unix:@axo-notify-test-%d" % os.getpid(), NOTIFY_SOCKET=path + "-no")
    assert it.do("notify") == ["AXO_ESYSTEM"]
    it.end()
    print("notify")


with tempfile.TemporaryDirectory() as folder:
    test_tcp(folder)
    test_age()
    test_unix(folder)
    test_passed()
    test_notify(folder)
