#!/usr/bin/env python3
"""Records what a real etcd answers, for the tests of EtcdSync.

Usage: Tests/EtcdSyncTests/record.py FILE      writes one JSON line for each exchange

It starts etcd on loopback, alone and as a cluster of three, breaks them in each way that the tests
need, and ends every process that it started. Each line has the exchange's name, the path, the body
of the request, and of the answer the status, the content type, the body as text, and whether it
ended by itself (a watch does not, and is cut after a while).
"""

import base64, http.client, json, os, shutil, signal, socket, subprocess, sys, tempfile, time

PORT = 23790
FOLDER = tempfile.mkdtemp(prefix="etcd-record-")
lines = []
members = []


def b64(text):
    return base64.b64encode(text.encode()).decode()


def ask(name, path, body, port=PORT, token=None, within=3.0, leader=False, text=None):
    """Asks, notes the exchange under its name (None: does not), and returns the answer's body."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = token
    if leader:
        headers["Grpc-Metadata-Hasleader"] = "true"
    body = text if text is not None else json.dumps(body)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=within)
    began = time.monotonic()
    status, kind, data, ended, error = None, None, b"", False, None
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        status, kind = answer.status, answer.getheader("Content-Type")
        while True:
            left = within - (time.monotonic() - began)
            if left <= 0:
                break
            connection.sock and connection.sock.settimeout(max(left, 0.01))
            part = answer.read1(65536)
            if not part:
                ended = True
                break
            data += part
    except socket.timeout:
        pass
    except (OSError, http.client.HTTPException) as fault:
        error = type(fault).__name__
    finally:
        connection.close()
    if name:
        line = {"name": name, "path": path, "request": body, "status": status, "type": kind,
                "body": data.decode(), "ended": ended}
        if error:
            line["error"] = error
        line["seconds"] = round(time.monotonic() - began, 1)
        lines.append(line)
        print(json.dumps(line)[:400], flush=True)
    return data.decode()


class Member:
    def __init__(self, name, index, cluster, state="new", folder=None, extra=()):
        self.name, self.port = name, PORT + 10 * index
        self.folder = folder or os.path.join(FOLDER, name)
        peer = f"http://127.0.0.1:{self.port + 1}"
        client = f"http://127.0.0.1:{self.port}"
        self.arguments = [
            "etcd", "--name", name, "--data-dir", self.folder, "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
            "--initial-cluster-state", state, "--logger", "zap", "--log-level", "error", *extra]
        self.process = None
        members.append(self)

    def start(self, *extra):
        log = open(self.folder + ".log", "ab")
        self.process = subprocess.Popen(self.arguments + list(extra), stdout=log, stderr=log)
        return self

    def ready(self):
        for _ in range(100):
            if "revision" in ask(None, "/v3/kv/range", {"key": b64("x")}, self.port, within=2.0):
                return self
            time.sleep(0.1)
        sys.exit(f"{self.name} does not become ready")

    def kill(self):
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None


def urls(*names):
    return ",".join(f"{n}=http://127.0.0.1:{PORT + 10 * i + 1}" for i, n in enumerate(names))


def span(prefix, **more):
    return {"key": b64(prefix), "range_end": b64(prefix[:-1] + chr(ord(prefix[-1]) + 1)), **more}


def put(key, value, port=PORT, token=None):
    ask(None, "/v3/kv/put", {"key": b64(key), "value": b64(value)}, port, token)


def watch(prefix, start, **more):
    return {"create_request": {**span(prefix), "start_revision": str(start), **more}}


def check(revision, key, prefix="app/"):
    """The library's question for what is there up to now: TheLog says why each part is asked."""
    return {"success": [
        {"request_range": span(prefix, min_mod_revision=str(revision))},
        {"request_range": span(prefix, revision=str(revision), count_only=True)},
        {"request_range": {"key": b64(key), "revision": str(revision), "keys_only": True}}]}


def alone():
    one = Member("one", 0, urls("one"), extra=["--auth-token-ttl", "2",
                 "--experimental-watch-progress-notify-interval", "1s"]).start().ready()
    ask("range: nothing", "/v3/kv/range", span("app/"))
    put("app/a", "1")
    put("other", "1")
    put("app/b", "")
    ask("range: whole", "/v3/kv/range", span("app/"))
    ask("range: first page", "/v3/kv/range", span("app/", limit="1"))
    ask("range: second page", "/v3/kv/range",
        {"key": b64("app/a\0"), "range_end": b64("app0"), "limit": "1", "revision": "4"})
    ask("range: future", "/v3/kv/range", span("app/", revision="99"))
    ask("watch: two revisions", "/v3/watch", watch("app/", 2), within=0.8)
    ask("watch: nothing new", "/v3/watch", watch("app/", 5), within=0.8)
    ask("watch: progress", "/v3/watch", watch("app/", 5, progress_notify=True), within=2.6)
    ask("watch: future", "/v3/watch", watch("app/", 99), within=0.8)
    ask("check: nothing new", "/v3/kv/txn", check(4, "app/b"))
    ask("check: future", "/v3/kv/txn", check(99, "app/b"))
    record = b64("app/@client/7")
    push = {
        "compare": [{"key": record, "target": "MOD", "result": "EQUAL", "mod_revision": "0"},
                    {"key": b64("app/a"), "target": "MOD", "result": "EQUAL", "mod_revision": "2"}],
        "success": [{"request_put": {"key": b64("app/a"), "value": b64("2")}},
                    {"request_delete_range": {"key": b64("app/b")}},
                    {"request_put": {"key": record, "value": b64("1")}}],
        "failure": [{"request_range": {"key": record}}]}
    ask("push: first copy", "/v3/kv/txn", push)
    ask("push: second copy", "/v3/kv/txn", push)
    ask("watch: one revision, three events", "/v3/watch", watch("app/", 5), within=0.8)
    ask("check: one key deleted", "/v3/kv/txn", check(4, "app/b"))
    ask("push: a key twice", "/v3/kv/txn", {"success": [
        {"request_put": {"key": record, "value": ""}}, {"request_put": {"key": record, "value": ""}}]})
    ask("push: too many operations", "/v3/kv/txn",
        {"success": [{"request_put": {"key": b64(f"app/{n}"), "value": ""}} for n in range(129)]})
    big = json.dumps({"key": b64("app/big"), "value": base64.b64encode(b"x" * 1_600_000).decode()})
    ask("put: too large", "/v3/kv/put", None, text=big)
    lines[-1]["request"] = "…"
    ask(None, "/v3/kv/compaction", {"revision": "5"})
    ask("watch: compacted", "/v3/watch", watch("app/", 4), within=0.8)
    ask("watch: from the compacted revision, without its deletion", "/v3/watch", watch("app/", 5),
        within=0.8)
    ask("range: compacted", "/v3/kv/range", span("app/", revision="4"))
    ask("check: compacted", "/v3/kv/txn", check(4, "app/b"))
    ask("request: no JSON", "/v3/kv/range", None, text='{"key": 5')
    ask("request: no such path", "/v3/kv/rang", {})
    ask("authenticate: auth is off", "/v3/auth/authenticate", {"name": "ada", "password": "pw"})
    ask("token: auth is off", "/v3/kv/range", span("app/"), token="nonsense")
    for path, body in [
            ("user/add", {"name": "root", "password": "pw"}), ("role/add", {"name": "root"}),
            ("user/grant", {"user": "root", "role": "root"}),
            ("user/add", {"name": "ada", "password": "pw"}), ("role/add", {"name": "app"}),
            ("role/grant", {"name": "app", "perm": {"permType": "READWRITE", **span("app/")}}),
            ("user/grant", {"user": "ada", "role": "app"}), ("enable", {})]:
        ask(None, "/v3/auth/" + path, body)
    ask("token: none", "/v3/kv/range", span("app/"))
    ask("token: none, watch", "/v3/watch", watch("app/", 6), within=0.8)
    ask("token: unknown", "/v3/kv/range", span("app/"), token="nonsense")
    ask("token: unknown, watch", "/v3/watch", watch("app/", 6), within=0.8, token="nonsense")
    ask("authenticate: wrong password", "/v3/auth/authenticate", {"name": "ada", "password": "x"})
    found = ask("authenticate: right", "/v3/auth/authenticate", {"name": "ada", "password": "pw"})
    token = json.loads(found)["token"]
    ask("token: right", "/v3/kv/range", span("app/"), token=token)
    ask("token: not permitted", "/v3/kv/range", span("other"), token=token)
    ask("token: not permitted, watch", "/v3/watch", watch("other", 6), within=0.8, token=token)
    time.sleep(4)
    ask("token: expired", "/v3/kv/range", span("app/"), token=token)
    one.kill()


def leases():
    one = Member("one", 0, urls("one"), folder=os.path.join(FOLDER, "leases")).start().ready()
    ask("lease: granted", "/v3/lease/grant", {"TTL": "30"})
    lease = json.loads(lines[-1]["body"])["ID"]
    ask("lease: renewed", "/v3/lease/keepalive", {"ID": lease})
    ask("lease: renewed, not found", "/v3/lease/keepalive", {"ID": "77"})
    present = {"compare": [{"key": b64("app/here"), "target": "MOD", "result": "EQUAL",
                            "mod_revision": "0"}],
               "success": [{"request_put": {"key": b64("app/here"), "value": b64("Ann"),
                                            "lease": lease}}]}
    ask("lease: written", "/v3/kv/txn", present)
    ask("lease: range", "/v3/kv/range", {"key": b64("app/here")})
    ask("lease: written, somebody was faster", "/v3/kv/txn", present)
    ask("lease: revoked", "/v3/lease/revoke", {"ID": lease})
    ask("lease: watch", "/v3/watch", watch("app/", 2), within=0.8)
    ask("lease: written, not found", "/v3/kv/txn", present)
    ask("lease: revoked, not found", "/v3/lease/revoke", {"ID": lease})
    one.kill()


def restored():
    """A member that is wiped and begins anew has the cluster ID and the member ID of the old one."""
    one = Member("one", 0, urls("one"), folder=os.path.join(FOLDER, "anew")).start().ready()
    put("app/a", "other")
    ask("anew: same cluster ID", "/v3/kv/range", span("app/"))
    ask("anew: check", "/v3/kv/txn", check(5, "app/a"))
    ask("anew: watch", "/v3/watch", watch("app/", 6), within=0.8)
    one.kill()


def three():
    names = ["one", "two", "three"]
    trio = [Member(n, i, urls(*names), folder=os.path.join(FOLDER, "trio-" + n))
            for i, n in enumerate(names)]
    for member in trio:
        member.start()
    for member in trio:
        member.ready()
    put("app/a", "1")
    ask("three: range", "/v3/kv/range", span("app/"))
    status = json.loads(ask(None, "/v3/maintenance/status", {}))
    leader = next(m for m in trio if json.loads(
        ask(None, "/v3/maintenance/status", {}, m.port))["header"]["member_id"] == status["leader"])
    rest = [m for m in trio if m is not leader]
    follower = rest[0]
    # The leader dies while a client asks a follower.
    leader.kill()
    ask("leader killed: range at once", "/v3/kv/range", span("app/"), follower.port, within=10)
    ask("leader killed: range later", "/v3/kv/range", span("app/"), follower.port, within=10)
    # A member that has slept through some revisions.
    leader.start().ready()
    other = rest[1]
    other.process.send_signal(signal.SIGSTOP)
    time.sleep(2)
    for number in range(20):
        put("app/a", str(number), follower.port)
    other.process.send_signal(signal.SIGCONT)
    ask("lagging: watch at once", "/v3/watch", watch("app/", 22), other.port, within=2)
    ask("lagging: serializable range", "/v3/kv/range", span("app/", serializable=True), other.port)
    ask("lagging: range", "/v3/kv/range", span("app/"), other.port)
    # A member alone, without a quorum.
    leader.kill()
    other.kill()
    ask("no quorum: serializable range", "/v3/kv/range", span("app/", serializable=True), follower.port)
    ask("no quorum: range at once", "/v3/kv/range", span("app/"), follower.port, within=15)
    ask("no quorum: range", "/v3/kv/range", span("app/"), follower.port, within=15)
    ask("no quorum: push", "/v3/kv/txn", {"success": [
        {"request_put": {"key": b64("app/c"), "value": ""}}]}, follower.port, within=15)
    ask("no quorum: watch", "/v3/watch", watch("app/", 2), follower.port, within=5)
    ask("no quorum: watch that wants a leader", "/v3/watch", watch("app/", 2), follower.port,
        within=5, leader=True)
    ask("no quorum: authenticate", "/v3/auth/authenticate", {"name": "a", "password": "b"},
        follower.port, within=15)
    follower.kill()
    time.sleep(0.2)
    ask("nobody", "/v3/kv/range", span("app/"), follower.port)


def quorum_lost_under_a_watch():
    """A watch that wants a leader is ended when its member has none for a while."""
    names = ["one", "two", "three"]
    trio = [Member(n, i, urls(*names), folder=os.path.join(FOLDER, "trio-" + n))
            for i, n in enumerate(names)]
    for member in trio:
        member.start()
    for member in trio:
        member.ready()
    import threading
    threading.Timer(1.0, lambda: [trio[1].kill(), trio[2].kill()]).start()
    ask("quorum lost: watch that wants a leader", "/v3/watch", watch("app/", 99, progress_notify=True),
        trio[0].port, within=12, leader=True)
    trio[0].kill()
    for member in trio:
        member.start()
    trio[0].ready()
    threading.Timer(1.0, trio[0].kill).start()
    ask("member killed: watch", "/v3/watch", watch("app/", 99), trio[0].port, within=6)


try:
    alone()
    restored()
    three()
    quorum_lost_under_a_watch()
    leases()
finally:
    for member in members:
        member.kill()
    shutil.rmtree(FOLDER, ignore_errors=True)
with open(sys.argv[1], "w") as file:
    for line in lines:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
