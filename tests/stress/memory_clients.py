"""What the clients of a server do whose memory is refused, and what it must hold afterwards.

Each client has names of its own, and knows of each what was acknowledged: that must be there after a restart. What was
not acknowledged may be there or not. A client that is refused, or whose connection is closed, goes on with another; one
that gets no answer in time is a failure.
"""

import random
import socket
import ssl
import time

from filter_types import type_names
from harness import REPLY_SECONDS, Connection, encode

FAR = 4_000_000_000  # an expiry in 2096
TYPES = type_names(by_default=True)
GONE = (ConnectionError, EOFError, ssl.SSLError, BrokenPipeError)


class Hung(AssertionError):
    """A client that waited in vain."""


class Door:
    """How a client gets in; a Connection over it."""

    def __init__(self, server):
        self.server = server

    def connect(self):
        connection = Connection(self.server.port)
        return connection


class TlsDoor(Door):
    def connect(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        raw = socket.create_connection(("127.0.0.1", self.server.tls_port), timeout=REPLY_SECONDS)
        try:
            return connection_over(context.wrap_socket(raw))
        except BaseException:
            raw.close()
            raise


class UnixDoor(Door):
    def connect(self):
        raw = socket.socket(socket.AF_UNIX)
        raw.settimeout(REPLY_SECONDS)
        try:
            raw.connect(self.server.unix_path)
        except BaseException:
            raw.close()
            raise
        return connection_over(raw)


def connection_over(stream):
    connection = Connection.__new__(Connection)
    connection.socket, connection.file = stream, stream.makefile("rb")
    return connection


class Client:
    """Asks by a connection, which it makes anew when it was closed."""

    def __init__(self, door):
        self.door = door
        self.connection = None

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def ask(self, *words):
        """The reply; None if the connection was closed, so that it is unknown."""
        replies = self.ask_all([words])
        return replies[0] if replies else None

    def ask_all(self, requests):
        """The replies that came before the connection was closed, if it was."""
        replies = []
        try:
            if self.connection is None:
                self.connection = self.door.connect()
            self.connection.send(b"".join(encode(*words) for words in requests))
            for _ in requests:
                replies.append(self.connection.reply())
        except TimeoutError:
            self.close()
            what = requests[len(replies)][:2] if len(replies) < len(requests) else "?"
            raise Hung(f"no reply to {what} within {REPLY_SECONDS:.0f} s by {type(self.door).__name__}") from None
        except (*GONE, OSError):
            self.close()
        return replies


class Name:
    """What is known of a name. An item is in `certain` once its addition was acknowledged, and until a deletion was
    sent; in `possible` once it was sent."""

    def __init__(self):
        self.exists = False  # for certain
        self.may_exist = False
        self.certain, self.possible = set(), set()
        self.expiries = {b":-1\r\n"}

    def forget(self):
        self.exists = False
        self.certain = set()


def is_acknowledged(reply):
    return reply is not None and not reply.startswith(b"-")


class Writer(Client):
    """Changes filters of its own."""

    def __init__(self, door, label, seed):
        super().__init__(door)
        self.label = label
        self.random = random.Random(f"{seed}/{label}")
        self.names = {}
        self.items = 0
        self.did = 0

    def step(self):
        """Some change, and a look at something."""
        self.did += 1
        acts = (self.add, self.add, self.add_many, self.pipeline, self.make, self.delete, self.expire, self.look,
                self.transact, self.copy)
        self.random.choice(acts)(f"{self.label}.{self.random.randrange(12)}")

    def of(self, name):
        return self.names.setdefault(name, Name())

    def fresh(self, count=1):
        self.items += count
        return [f"{self.label}-{i}" for i in range(self.items - count, self.items)]

    def noted(self, name, items, reply):
        """An addition was sent, and this came back."""
        known = self.of(name)
        known.possible.update(items)
        known.may_exist = True
        if not is_acknowledged(reply):
            return
        replies = reply.split(b"\r\n")[1:-1] if reply.startswith(b"*") else [reply[:-2]]
        known.exists = True
        known.certain.update(item for item, each in zip(items, replies) if each in (b":1", b":0", b"+OK"))

    def add(self, name):
        item = self.fresh()
        self.noted(name, item, self.ask("BF.ADD", name, *item))

    def add_many(self, name, count=None):
        items = self.fresh(count or self.random.choice((2, 30, 3000)))
        self.noted(name, items, self.ask("BF.MADD", name, *items))

    def pipeline(self, name):
        items = self.fresh(40)
        replies = self.ask_all([("BF.ADD", name, item) for item in items])
        for item, reply in zip(items, replies + [None] * len(items)):
            self.noted(name, [item], reply)

    def make(self, name):
        reply = self.ask("BF.RESERVE", name, "0.000001", self.random.choice((100, 20000)), "TYPE",
                         self.random.choice(TYPES))
        known = self.of(name)
        known.may_exist = True
        if is_acknowledged(reply) or (reply and b"exists" in reply):
            known.exists = True

    def delete(self, name):
        known = self.of(name)
        known.forget()  # whatever the reply, it may be gone
        reply = self.ask("DEL", name)
        if is_acknowledged(reply):
            self.names[name] = Name()
        known.expiries.add(b":-1\r\n")

    def expire(self, name):
        at = FAR + self.random.randrange(1 << 20)
        reply = self.ask("EXPIREAT", name, at)
        known = self.of(name)
        wanted = b":%d\r\n" % (at * 1000)
        known.expiries = {wanted} if reply == b":1\r\n" else known.expiries | {wanted}

    def transact(self, name):
        items = self.fresh(3)
        replies = self.ask_all([("MULTI",), *(("BF.ADD", name, item) for item in items), ("EXEC",)])
        last = replies[-1] if len(replies) == 5 else None
        self.noted(name, items, last if last and last.startswith(b"*3") else None)
        if len(replies) < 5 or not last.startswith(b"*"):
            self.close()  # which ends what may be left of the transaction

    def copy(self, name):
        self.ask("BF.DUMP", name)
        other = name + "c"
        known = self.of(other)
        known.forget()
        known.may_exist = True
        source = self.of(name)
        known.possible |= source.possible
        known.expiries |= source.expiries
        reply = self.ask("COPY", name, other, "REPLACE")
        if reply == b":1\r\n":
            known.exists, known.certain = True, set(source.certain)

    def look(self, name):
        certain = list(self.of(name).certain)[:50]
        if not certain:
            return
        reply = self.ask("BF.MEXISTS", name, *certain)
        if is_acknowledged(reply) and reply.count(b":1\r\n") != len(certain):
            raise AssertionError(f"{name}: {reply.count(b':0')} of {len(certain)} acknowledged items are missing")

    def check(self, held, connection):
        """`held` has the names that there are, with their expiries."""
        for name, known in self.names.items():
            if name not in held:
                if known.exists:
                    raise AssertionError(f"{name} is missing; it had {len(known.certain)} acknowledged items")
                continue
            if not known.may_exist:
                raise AssertionError(f"{name} is there; its deletion was acknowledged")
            if held[name] not in known.expiries:
                raise AssertionError(f"{name} expires at {held[name]!r} instead of one of {known.expiries}")
            self.check_items(name, known, connection)
            # From here on this is what is known.
            known.exists, known.expiries = True, {held[name]}
        for name in [name for name, known in self.names.items() if name not in held]:
            del self.names[name]

    def check_items(self, name, known, connection):
        items = sorted(known.certain)
        for begin in range(0, len(items), 1000):
            some = items[begin:begin + 1000]
            missing = len(some) - connection.command("BF.MEXISTS", name, *some).count(b":1\r\n")
            if missing:
                raise AssertionError(f"{name}: {missing} of {len(some)} acknowledged items are missing")
        strangers = [f"stranger-{i}" for i in range(20)]
        if connection.command("BF.MEXISTS", name, *strangers).count(b":1\r\n") > 1:
            raise AssertionError(f"{name} has items that were never added")


class Explorer(Client):
    """Changes filters in all other ways. Of these names nothing is known except that a restart must not change them."""

    def __init__(self, door, label, seed):
        super().__init__(door)
        self.label = label
        self.random = random.Random(f"{seed}/{label}")
        self.did = 0

    def step(self):
        acts = (self.merge, self.cuckoo, self.chunks, self.rename, self.remove, self.forgetful, self.known_false,
                self.pause, self.unread, self.frozen)
        acts[self.did % len(acts)]()
        self.did += 1

    def all_steps(self):
        for _ in range(10):
            self.step()

    def name(self):
        return f"{self.label}.{self.random.randrange(4)}"

    def items(self, count):
        return [self.random.randrange(1 << 30) for _ in range(count)]

    def merge(self):
        names = [f"{self.label}.m{i}" for i in range(3)]
        self.ask_all([*(("BF.RESERVE", name, "0.001", 1000, "SEED", 5) for name in names),
                      *(("BF.MADD", name, *self.items(20)) for name in names), ("BF.MERGE", *names),
                      ("BF.EXISTSIN", "x", *names), ("BF.CARD", names[0])])

    def cuckoo(self):
        name, items = f"{self.label}.c", self.items(60)
        self.ask_all([("CF.RESERVE", name, 64, "BUCKETSIZE", 2), *(("CF.ADD", name, item) for item in items),
                      *(("CF.DEL", name, item) for item in items[:50]), ("CF.COMPACT", name), ("CF.COUNT", name, 1),
                      ("CF.INSERTNX", name, "ITEMS", 1, 2)])

    def chunks(self):
        """A filter by chunks, and one by a dump."""
        source, copy = f"{self.label}.s", f"{self.label}.l"
        self.ask_all([("BF.MADD", source, *self.items(50)), ("DEL", copy)])
        cursor = b"0"
        for _ in range(20):
            reply = self.ask("BF.SCANDUMP", source, cursor) or b""
            parts = reply.split(b"\r\n", 3)
            if not reply.startswith(b"*2\r\n:") or parts[1] == b":0":
                break
            cursor = parts[1][1:]
            self.ask("BF.LOADCHUNK", copy, cursor, parts[3][:-2])
        dump = self.ask("BF.DUMP", source) or b""
        if dump.startswith(b"$"):
            self.ask_all([("BF.RESTORE", f"{self.label}.r", dump.split(b"\r\n", 1)[1][:-2], "REPLACE"),
                          ("BF.LOADCHUNK", "begun", 1, dump[:200])])

    def rename(self):
        self.ask_all([("BF.ADD", self.name(), "x"), ("RENAME", self.name(), self.name()),
                      ("RENAMENX", self.name(), self.name()), ("PERSIST", self.name()), ("TOUCH", self.name())])

    def remove(self):
        name, items = f"{self.label}.d", self.items(30)
        self.ask_all([("BF.RESERVE", name, "0.01", 1000, "TYPE", "counting"), ("BF.MADD", name, *items),
                      ("BF.MDEL", name, *items[:10]), ("BF.COUNT", name, 1), ("BF.DEL", name, items[20])])
        self.ask_all([("BF.CLEAR", self.name()), ("UNLINK", self.name())])

    def forgetful(self):
        """Filters whose content depends on the time, and names that go by themselves."""
        self.ask_all([("BF.RESERVE", "time.w", "0.01", 100, "WINDOW", 1), ("BF.ADD", "time.w", "x"),
                      *(("BF.ADD", f"time.{i}", "x") for i in range(5)),
                      *(("PEXPIRE", f"time.{i}", self.random.randrange(1, 50)) for i in range(5))])

    def known_false(self):
        name = f"{self.label}.f"
        self.ask_all([("BF.RESERVE", name, "0.2", 100), ("BF.MADD", name, *range(100)),
                      ("BF.FPADD", name, *range(1000, 1050)), ("BF.MADD", name, *range(1000, 1010))])

    def pause(self):
        self.ask("CLIENT", "PAUSE", 3, "WRITE")
        self.ask("BF.ADD", self.name(), "paused")

    def unread(self):
        """More than the socket takes before anything is read."""
        self.ask_all([("ECHO", "e" * 300_000)] * 4)

    def frozen(self):
        name = f"time.r{self.random.randrange(3)}"
        self.ask_all([("DEL", name), ("BF.RESERVE", name, "0.01", 1000, "TYPE", "ribbon"),
                      ("BF.MADD", name, *self.items(100)), ("BF.FREEZE", name)])


class Listener(Client):
    """Reads the messages and events of the others, and what is monitored."""

    def __init__(self, door, monitors=False):
        super().__init__(door)
        self.monitors = monitors
        self.did = 0

    def step(self):
        """Some messages, or none for a moment."""
        if self.connection is None:
            greeting = [("MONITOR",)] if self.monitors else [("PSUBSCRIBE", "__key*"), ("SUBSCRIBE", "v0", "v1")]
            if len(self.ask_all(greeting)) != len(greeting):
                return time.sleep(0.001)
            self.connection.socket.settimeout(0.05)
        try:
            self.did += 1 if self.connection.socket.recv(1 << 16) else self.lost()
        except TimeoutError:
            pass
        except OSError:
            self.lost()

    def lost(self):
        self.close()
        return 0


class Visitor(Client):
    """Does all that changes no filter, one after the other: channels, users, reports, options, pages."""

    PAGES = ("/healthz", "/readyz", "/metrics", "/api/status", "/api/history", "/api/filters", "/api/filter?name=",
             "/", "/nothing", "/api/filters?limit=x")

    def __init__(self, door, label, name_of_filter):
        super().__init__(door)
        self.label = label
        self.filter = name_of_filter
        self.listener = Client(door)
        self.did = 0

    def step(self):
        acts = (self.publish, self.users, self.reports, self.options, self.pages, self.clients, self.save, self.errors)
        acts[self.did % len(acts)]()
        self.did += 1

    def all_steps(self):
        for _ in range(8):
            self.step()

    def close(self):
        super().close()
        if hasattr(self, "listener"):
            self.listener.close()

    def publish(self):
        self.listener.ask_all([("SUBSCRIBE", self.label), ("PSUBSCRIBE", self.label + "*")])
        self.ask_all([("PUBLISH", self.label, "m" * 200), ("PUBSUB", "CHANNELS"),
                      ("PUBLISH", self.label, "m" * 9000)])
        self.listener.close()
        monitor = Client(self.door)
        monitor.ask("MONITOR")
        self.ask("PING", "seen")
        monitor.close()

    def users(self):
        user = "u" + self.label
        self.ask_all([("ACL", "SETUSER", user, "on", ">" + "p" * 40, "~" + self.label + "*", "+@all"),
                      ("ACL", "LIST"), ("ACL", "GETUSER", user), ("ACL", "LOG"), ("ACL", "CAT"), ("ACL", "SAVE"),
                      ("ACL", "DRYRUN", user, "PING")])
        stranger = Client(self.door)
        stranger.ask_all([("AUTH", user, "p" * 40), ("BF.EXISTS", "other", "x"), ("AUTH", user, "wrong")])
        stranger.close()
        self.ask_all([("ACL", "DELUSER", user), ("ACL", "LOAD")])

    def reports(self):
        self.ask_all([("INFO", "everything"), ("SLOWLOG", "GET"), ("LATENCY", "LATEST"), ("LATENCY", "HISTOGRAM"),
                      ("COMMAND", "DOCS", "BF.ADD"),
                      ("BF.INFO", self.filter, "FULL"), ("SCAN", 0, "MATCH", "*"), ("KEYS", self.label + "*"),
                      ("MEMORY", "USAGE", self.filter), ("RANDOMKEY",)])
        self.ask_all([("BF.SCANDUMP", self.filter, 0), ("DUMP", self.filter), ("COMMAND",), ("COMMAND", "LIST")])

    def options(self):
        self.ask_all([("CONFIG", "GET", "*"), ("CONFIG", "SET", "slowlog-log-slower-than", self.did),
                      ("CONFIG", "REWRITE"), ("CONFIG", "SET", "nonsense", "1")])

    def clients(self):
        """They come, leave and are thrown out."""
        others = [Client(self.door) for _ in range(3)]
        for other in others:
            other.ask_all([("HELLO", 3), ("CLIENT", "SETNAME", "other"), ("WATCH", self.filter), ("CLIENT", "INFO")])
        number = others[0].ask("CLIENT", "ID")
        self.ask_all([("CLIENT", "LIST"), ("CLIENT", "KILL", "ID", (number or b":0\r\n")[1:-2] or "0")])
        for other in others:
            other.close()

    def save(self):
        self.ask_all([("BGSAVE",), ("SAVE",), ("LASTSAVE",), ("WAITAOF", 1, 0, 1)])

    def errors(self):
        self.ask_all([("BF.ADD",), ("BF.EXIST", "a", "b"), ("BF.RESERVE", self.filter, "2", "1"), ("ECHO", "e" * 70000),
                      ("BF.EXISTS", "n" * 1000, "x")])
        self.ask_all([("*3",), ("QUIT",)])
        self.close()

    def pages(self):
        for page in self.PAGES:
            self.page(page + (self.filter if page.endswith("=") else ""))

    def page(self, path):
        """The bytes of the response; empty if the connection was closed."""
        port = self.door.server.admin_port
        received = b""
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=REPLY_SECONDS) as connection:
                connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
                while data := connection.recv(1 << 16):
                    received += data
        except TimeoutError:
            raise Hung(f"no response to GET {path} within {REPLY_SECONDS:.0f} s") from None
        except OSError:
            pass
        return received


def wait_until_served(server, seconds):
    """Every door answers again."""
    for door in (Door, TlsDoor, UnixDoor):
        client = Client(door(server))
        await_reply(lambda client=client: client.ask("PING") == b"+PONG\r\n", seconds, door.__name__)
        client.close()
    visitor = Visitor(Door(server), "v", "v")
    await_reply(lambda: visitor.page("/healthz").endswith(b"alive\n"), seconds, "the admin port")


def await_reply(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Hung(f"{what} does not answer any more")
        time.sleep(0.01)
