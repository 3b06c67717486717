"""What the clients of the load test do. Each knows exactly what the server must answer; whatever else comes, or a
connection that the server closes, is a failure. finish() is called once at the end: what is left undone is done, and
finished() returns whether that was answered."""

import re

from harness import encode
from load_clients import Client

FILTERS = ["load:blocked", "load:counting", "load:fingerprint"]
MAKE_FILTERS = [
    ("BF.RESERVE", "load:blocked", 0.001, 1_000_000, "NONSCALING"),
    ("BF.RESERVE", "load:counting", 0.001, 1_000_000, "NONSCALING", "TYPE", "counting"),
    ("BF.RESERVE", "load:fingerprint", 0.001, 1_000_000, "NONSCALING", "TYPE", "fingerprint"),
]
BIG_BYTES = 64 << 20
PING, PONG = b"PING\r\n", b"+PONG\r\n"


class Expecting(Client):
    """Sends something and waits for all of its reply, which has a size that is known and a pattern."""

    def ask(self, data, size, pattern):
        self.size, self.pattern = size, pattern
        self.received = bytearray()
        self.send(data)

    def waits(self):
        return self.socket is not None and getattr(self, "size", 0) > 0

    def on_data(self, data):
        if not self.waits():
            return super().on_data(data)
        self.received += data
        if len(self.received) < self.size and not self.received.startswith(b"-"):
            return
        if not self.pattern.fullmatch(self.received):
            self.load.fail(self, f"wrong reply: {bytes(self.received[:200])!r}")
        self.size = 0
        self.received = bytearray()
        self.on_reply()

    def on_reply(self):
        pass

    def ask_ping(self):
        self.ask(PING, len(PONG), re.compile(re.escape(PONG)))

    def finish(self):
        pass

    def finished(self):
        return not self.waits()


class Idle(Expecting):
    """Connects and sends nothing; at the end it still gets its answer."""

    def finish(self):
        self.ask_ping()


class Steady(Expecting):
    """Pipelines of additions, and of questions about what was added: those must be answered with 1."""

    COMMANDS = 32  # of each sort
    ITEMS = 8      # of a BF.MADD
    PIPELINES = 4  # which it repeats, so that filters do not grow for ever
    PAUSE = 0.1

    def on_connected(self):
        name = FILTERS[self.random.randrange(len(FILTERS))]
        self.pipelines = [self.make(name, self.random.getrandbits(64)) for _ in range(self.PIPELINES)]
        self.turn = 0
        self.pattern_of_all = re.compile(
            rb"(:[01]\r\n){%d}(:1\r\n){%d}\*%d\r\n(:[01]\r\n){%d}\+PONG\r\n" % (
                self.COMMANDS, self.COMMANDS, self.ITEMS, self.ITEMS))
        self.speak()

    def make(self, name, seed):
        items = [f"{seed:x}:{i}" for i in range(self.COMMANDS)]
        return b"".join([encode("BF.ADD", name, item) for item in items] +
                        [encode("BF.EXISTS", name, item) for item in items] +
                        [encode("BF.MADD", name, *items[:self.ITEMS]), PING])

    def speak(self):
        self.turn += 1
        self.ask(self.pipelines[self.turn % self.PIPELINES], 4 * (2 * self.COMMANDS + self.ITEMS) + 4 + len(PONG),
                 self.pattern_of_all)

    def on_reply(self):
        self.load.did["commands answered"] += 2 * self.COMMANDS + 2
        self.after(self.PAUSE * (0.5 + self.random.random()), self.speak)


class SlowReader(Client):
    """Asks for megabytes and reads them slowly: the server has to keep them until then."""

    receive_buffer = 4096
    TEXT = bytes(range(256)) * 64
    ECHOES = 256
    READ_BYTES, READ_SECONDS = 64 << 10, 0.05

    def on_connected(self):
        self.read(False)
        self.speak()

    def speak(self):
        self.reply = b"$%d\r\n%s\r\n" % (len(self.TEXT), self.TEXT)
        self.left = len(self.reply) * self.ECHOES
        self.seen = 0
        self.send(encode("ECHO", self.TEXT) * self.ECHOES)
        self.after(self.READ_SECONDS, self.read_some)

    def read_some(self):
        self.receive(self.READ_BYTES)
        self.after(self.READ_SECONDS, self.read_some if self.left > 0 else self.speak)

    def on_data(self, data):
        start = self.seen % len(self.reply)
        expected = (self.reply * (2 + len(data) // len(self.reply)))[start:start + len(data)]
        if data != expected or len(data) > self.left:
            self.load.fail(self, f"wrong reply: {data[:80]!r}")
        self.seen += len(data)
        self.left -= len(data)
        if self.left == 0:
            self.load.did["commands answered"] += self.ECHOES


class Greedy(Client):
    """Asks without end and reads nothing: the server closes it, once too much is left unread."""

    receive_buffer = 4096
    TEXT = bytes(1 << 20)
    PAUSE = 5

    def on_connected(self):
        self.read(False)
        self.speak()

    def speak(self):
        if not self.out:
            self.send(encode("ECHO", self.TEXT))
        self.after(0.002, self.speak)

    def on_data(self, data):
        pass  # what had come before the end

    def on_closed(self):
        self.load.did["greedy clients closed"] += 1
        self.load.after(self.PAUSE, self.connect)


class HalfCommand(Expecting):
    """Sends a command up to some byte, and the rest of it at the end."""

    def on_connected(self):
        # Some of them have much to remember in the server: a long item, or many items.
        item = bytes(self.random.choice((10, 1000, 20_000)))
        items = [item] * self.random.choice((1, 1, 20))
        self.command = encode("BF.MEXISTS", "load:missing", *items)
        self.cut = self.random.randrange(1, len(self.command))
        self.count = len(items)
        self.send(self.command[:self.cut])

    def finish(self):
        reply = b"*%d\r\n" % self.count + b":0\r\n" * self.count
        self.ask(self.command[self.cut:], len(reply), re.compile(re.escape(reply)))


class Dropper(Client):
    """Disconnects at any byte of a pipeline, by closing or by a reset, and comes again."""

    def on_connected(self):
        name = FILTERS[self.random.randrange(len(FILTERS))]
        items = [f"dropped:{self.random.randrange(10_000)}" for _ in range(20)]
        data = b"".join(encode("BF.ADD", name, item) + encode("BF.EXISTS", name, item) for item in items)
        data += encode("ECHO", bytes(self.random.choice((10, 100_000)))) + encode("BF.MEXISTS", name, *items)
        self.send(data[:self.random.randrange(len(data))])
        self.after(self.random.choice((0, 0.01, 1)), self.drop)

    def on_data(self, data):
        if b"-ERR" in data:
            self.load.fail(self, f"an error: {data[:200]!r}")

    def drop(self):
        self.leave(reset=self.random.random() < 0.5)
        self.load.after(self.random.random(), self.connect)


class Storm(Expecting):
    """One of many that leave together and come again together. Each gets an answer."""

    def on_connected(self):
        self.ask_ping()

    def on_reply(self):
        self.load.did["storm connections answered"] += 1


class Big(Expecting):
    """Arguments of 64 MB, of which some are cut off on their way."""

    ITEM = b"0123456789abcdef" * (BIG_BYTES // 16)
    PAUSE = 1

    def on_connected(self):
        command = self.random.choice((["ECHO"], ["BF.ADD", "load:blocked"], ["BF.EXISTS", "load:blocked"]))
        data = encode(*command, self.ITEM)
        if self.random.random() < 0.3:
            self.send(memoryview(data)[:self.random.randrange(len(data))])
            return self.after(2 * self.random.random(), self.drop)
        if command == ["ECHO"]:
            reply = b"$%d\r\n%s\r\n" % (len(self.ITEM), self.ITEM)
            return self.ask(data, len(reply), Exactly(reply))
        self.ask(data, 4, re.compile(rb":[01]\r\n"))

    def on_reply(self):
        self.load.did["big arguments answered"] += 1
        self.after(self.PAUSE, self.drop)

    def drop(self):
        self.leave(reset=self.random.random() < 0.5)
        self.load.after(self.PAUSE, self.connect)


class Exactly:
    """A pattern of just these bytes, too many of them for a regular expression."""

    def __init__(self, expected):
        self.expected = expected

    def fullmatch(self, data):
        return data == self.expected
