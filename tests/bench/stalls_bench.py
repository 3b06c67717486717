"""How long one connection's command keeps another waiting: `scripts/bench --stalls`.

One server with one event loop. A probe sends PING on a connection of its own, each as soon as the last is answered, and
notes the longest time that one took while another connection runs one command with its worst input: up to 10^6 names,
10^6 items and 1 GB. Each case is run three times (--quick: once, with inputs a tenth as large); told is the median of
the longest PINGs, with the time that the command itself took. `idle` is the same without a command, for as long as a
typical case: what the machine alone does to a PING. Nothing is pinned, and there is no log on disk unless the case says
so.

The target is at most 20 ms for each case.
"""

import collections
import re
import socket
import statistics
import threading
import time

from bench_server import describe_machine, progress, start_bitsieve

TARGET_MS = 20
IDLE_SECONDS = 2.0

# name: of the row; prepare(bench): once; before(bench): ahead of each run; run(bench): the command.
Case = collections.namedtuple("Case", "group name run before")


def encode(*arguments):
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        argument = argument if isinstance(argument, bytes) else str(argument).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(argument), argument))
    return b"".join(parts)


class Client:
    """A connection that sends commands and reads whole replies."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(300)
        self.stream = self.socket.makefile("rb", 1 << 20)

    def send(self, request):
        threading.Thread(target=self.socket.sendall, args=(request,), daemon=True).start()

    def ask(self, *arguments):
        return self.replies(encode(*arguments), 1)[0]

    def replies(self, request, count):
        self.send(request)
        return [self.read() for _ in range(count)]

    def read(self):
        """One reply; of an array its length alone, as text, since the bench looks at none of it."""
        line = self.stream.readline()
        if not line:
            raise EOFError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode(errors="replace"))
        if kind in b"$=" and int(rest) >= 0:
            return self.stream.read(int(rest) + 2)[:-2]
        if kind in b"*%~":
            for _ in range(int(rest) * (2 if kind == b"%" else 1)):
                self.read_quietly()
            return rest
        return rest

    def read_quietly(self):
        try:
            self.read()
        except RuntimeError:
            pass

    def close(self):
        self.socket.close()


class Probe(threading.Thread):
    """PINGs without a pause and remembers the longest."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.longest = 0.0
        self.stopping = False
        self.start()

    def run(self):
        while not self.stopping:
            begin = time.perf_counter()
            self.socket.sendall(b"PING\r\n")
            if len(self.socket.recv(7)) != 7:
                return
            self.longest = max(self.longest, time.perf_counter() - begin)
            time.sleep(0.0002)  # so that the probe itself takes no core from the server

    def finish(self):
        self.stopping = True
        self.join()
        self.socket.close()
        return self.longest * 1000


class Bench:
    def __init__(self, binary, scale):
        self.scale = scale
        self.names = int(1_000_000 * scale)
        self.items = int(1_000_000 * scale)
        self.bits = int(8e9 * scale)  # of the filter of 1 GB
        self.server = start_bitsieve(binary, "--appendonly", "no", "--maxmemory", "0",
                                     "--client-output-buffer-limit", "1gb", pinned=False)
        self.client = Client(self.server.port)

    def ask(self, *arguments):
        return self.client.ask(*arguments)

    def pipeline(self, commands, at_once=10_000):
        """Runs many small commands; their replies are thrown away."""
        for begin in range(0, len(commands), at_once):
            some = commands[begin:begin + at_once]
            self.client.replies(b"".join(encode(*command) for command in some), len(some))

    # ---- inputs

    def flush(self):
        self.ask("FLUSHALL", "ASYNC")

    def make_names(self, count=None):
        self.flush()
        count = count or self.names
        self.pipeline([("BF.RESERVE", "name:%d" % i, "0.01", "10") for i in range(count)])

    def make_large(self, *names, of_type="blocked", bits=None, extra=()):
        """Filters of about 1 GB together, with something in every page."""
        bits = (bits or self.bits) / len(names)
        per_item = {"counting": 4 * 9.6, "classic": 9.6}.get(of_type, 10)
        for name in names:
            self.ask("BF.RESERVE", name, "0.01", int(bits / per_item), "NONSCALING", "TYPE", of_type, "SEED", "7",
                     *extra)
            self.touch(name, int(bits / 8 / 4096))

    def touch(self, name, items):
        """Adds items, so that the filter's pages are there."""
        for begin in range(0, items, 100_000):
            self.ask("BF.MADD", name, *["%s:%d" % (name, i) for i in range(begin, min(items, begin + 100_000))])

    def make_cuckoo(self, name, capacity):
        self.ask("CF.RESERVE", name, capacity)
        for begin in range(0, capacity // 8, 100_000):
            self.ask("CF.INSERT", name, "ITEMS", *range(begin, begin + 100_000))

    # ---- measuring

    def measure(self, case, runs):
        stalls, times = [], []
        for _ in range(runs):
            if case.before:
                case.before(self)
            probe = Probe(self.server.port)
            begin = time.perf_counter()
            case.run(self)
            times.append(time.perf_counter() - begin)
            stalls.append(probe.finish())
        return statistics.median(stalls), statistics.median(times)

    def stop(self):
        self.client.close()
        self.server.stop()


def asking(*arguments):
    return lambda bench: bench.ask(*arguments)


def items_of(bench):
    return ["item:%d" % i for i in range(bench.items - 16)]


def names_of(bench):
    return ["name:%d" % i for i in range(min(bench.names, 1_000_000))]


def with_items(*head):
    """The request is made before the clock starts."""
    def prepare(bench):
        bench.request = encode(*head, *items_of(bench))
    return prepare


def with_names(*head):
    def prepare(bench):
        bench.request = encode(*head, *names_of(bench))
    return prepare


def send_request(bench):
    bench.client.replies(bench.request, 1)


def both(*steps):
    def run(bench):
        for step in steps:
            step(bench)
    return run


def remove(*names):
    return lambda bench: bench.ask("DEL", *names)


def fresh(name, capacity, *options):
    def make(bench):
        bench.ask("DEL", name)
        bench.ask("BF.RESERVE", name, "0.01", capacity, *options)
    return make


def item_cases():
    """One command of 10^6 items."""
    yield None, lambda bench: bench.flush()
    many = 2_000_000
    for of_type in ("blocked", "classic", "counting", "cuckoo", "redisbloom"):
        make = fresh("f", many, "TYPE", of_type)
        yield Case("10^6 items", f"BF.MADD ({of_type})", send_request, both(make, with_items("BF.MADD", "f"))), None
        yield Case("10^6 items", f"BF.MEXISTS ({of_type})", send_request, with_items("BF.MEXISTS", "f")), None
    yield Case("10^6 items", "BF.INSERT", send_request,
               both(fresh("f", many), with_items("BF.INSERT", "f", "ITEMS"))), None
    counting = fresh("f", many, "TYPE", "counting")
    yield Case("10^6 items", "BF.MDEL", send_request, both(counting, with_items("BF.MDEL", "f"))), None
    cuckoo = lambda bench: (bench.ask("DEL", "c"), bench.ask("CF.RESERVE", "c", 2_000_000))
    for command in ("CF.INSERT", "CF.INSERTNX"):
        yield Case("10^6 items", command, send_request, both(cuckoo, with_items(command, "c", "ITEMS"))), None
    yield Case("10^6 items", "CF.MEXISTS", send_request, with_items("CF.MEXISTS", "c")), None
    yield Case("10^6 items", "EXEC of 10^5 BF.ADD", send_exec, both(fresh("f", many), prepare_exec)), None
    queued = lambda bench: (with_items("BF.MADD", "f")(bench),
                            setattr(bench, "request", b"MULTI\r\n" + bench.request + b"DISCARD\r\n"))
    yield Case("10^6 items", "BF.MADD that MULTI queues", lambda bench: bench.client.replies(bench.request, 3),
               queued), None
    watch = lambda bench: setattr(bench, "request", encode("WATCH", *items_of(bench)[:16_000]))
    yield Case("10^6 items", "WATCH of 16,000 names", send_request, both(asking("UNWATCH"), watch)), None
    yield None, lambda bench: (bench.ask("UNWATCH"), fresh("f", many)(bench))
    long_item = lambda bench: setattr(bench, "request", encode("BF.EXISTS", "f", b"x" * int(256e6 * bench.scale)))
    yield Case("10^6 items", "BF.EXISTS of one item of 256 MB", send_request, long_item), None


def prepare_exec(bench):
    count = bench.items // 10
    adds = b"".join(encode("BF.ADD", "f", i) for i in range(count))
    bench.client.replies(b"MULTI\r\n" + adds, count + 1)


def send_exec(bench):
    bench.ask("EXEC")


def name_cases():
    """10^6 names."""
    yield None, lambda bench: bench.make_names()
    group = "10^6 names"
    for command in (("KEYS", "*"), ("KEYS", "*1*2*3*4*5*6*"), ("SCAN", "0", "COUNT", "10000000"), ("INFO",),
                    ("INFO", "everything"), ("DBSIZE",), ("RANDOMKEY",), ("LASTSAVE",), ("MEMORY", "USAGE", "name:1")):
        yield Case(group, " ".join(command), asking(*command), None), None
    for command in ("EXISTS", "TOUCH"):
        yield Case(group, f"{command} of 10^6 names", send_request, with_names(command)), None
    yield Case(group, "BF.EXISTSIN of 10^6 names", send_request, with_names("BF.EXISTSIN", "x")), None
    yield Case(group, "SAVE", asking("SAVE"), lambda bench: bench.ask("BF.ADD", "name:1", "x")), None
    yield Case(group, "BGSAVE", save_in_background, lambda bench: bench.ask("BF.ADD", "name:1", "y")), None
    for command in ("DEL", "UNLINK"):
        yield Case(group, f"{command} of 10^6 names", send_request,
                   both(lambda bench: bench.make_names(), with_names(command))), None
    for arguments in (("FLUSHALL",), ("FLUSHALL", "ASYNC"), ("FLUSHDB",)):
        yield Case(group, " ".join(arguments), both(asking(*arguments), lambda bench: time.sleep(0.5)),
                   lambda bench: bench.make_names()), None


def save_in_background(bench):
    bench.ask("BGSAVE")
    while b"rdb_bgsave_in_progress:1" in bench.ask("INFO", "persistence"):
        time.sleep(0.01)


def large_cases():
    """Filters of 1 GB."""
    group = "1 GB"
    yield None, lambda bench: (bench.flush(), bench.make_large("big"))
    yield Case(group, "COPY", asking("COPY", "big", "copy"), remove("copy")), None
    yield Case(group, "COPY ... REPLACE", asking("COPY", "big", "copy", "REPLACE"), None), None
    yield Case(group, "BF.ESTIMATE", asking("BF.ESTIMATE", "big", "copy"), None), None
    yield Case(group, "BF.MERGE into a filter", asking("BF.MERGE", "copy", "big"), None), None
    yield Case(group, "BF.MERGE into a new filter", asking("BF.MERGE", "new", "big", "copy"), remove("new")), None
    yield Case(group, "BF.MERGE while others add to it", merge_under_adds, None), None
    yield Case(group, "RENAME onto a filter", asking("RENAME", "copy", "new"),
               lambda bench: (bench.ask("COPY", "big", "copy"), bench.ask("COPY", "big", "new", "REPLACE"))), None
    yield Case(group, "DEL", asking("DEL", "copy"), asking("COPY", "big", "copy", "REPLACE")), None
    yield Case(group, "UNLINK", asking("UNLINK", "copy"), asking("COPY", "big", "copy", "REPLACE")), None
    yield Case(group, "BF.CLEAR", asking("BF.CLEAR", "copy"), asking("COPY", "big", "copy", "REPLACE")), None
    yield Case(group, "expiry", both(asking("PEXPIRE", "copy", "1"), lambda bench: time.sleep(1)),
               asking("COPY", "big", "copy", "REPLACE")), None
    yield None, lambda bench: bench.ask("DEL", "copy", "new")
    yield Case(group, "BF.RESERVE", asking("BF.RESERVE", "made", "0.01", "800000000"), remove("made")), None
    for command in (("BF.INFO", "big"), ("BF.CARD", "big"), ("BF.DEBUG", "big"), ("MEMORY", "USAGE", "big")):
        yield Case(group, " ".join(command), asking(*command), None), None
    yield Case(group, "BF.SCANDUMP and BF.LOADCHUNK, all of it", dump_and_load("BF", "big"), remove("loaded")), None
    yield Case(group, "SAVE", asking("SAVE"), lambda bench: bench.ask("BF.ADD", "big", time.time())), None
    yield Case(group, "FLUSHALL", both(asking("FLUSHALL"), lambda bench: time.sleep(0.5)),
               lambda bench: bench.make_large("flushed")), None


def dump_cases():
    group = "100 MB"
    yield None, lambda bench: (bench.flush(), bench.make_large("dumped", bits=8e8 * bench.scale))
    yield Case(group, "BF.DUMP", asking("BF.DUMP", "dumped"), None), None
    yield Case(group, "BF.RESTORE", send_request, prepare_restore), None
    capacity = int(50e6)
    yield None, lambda bench: (bench.flush(), bench.make_cuckoo("c", int(capacity * bench.scale)))
    yield Case(group, "CF.COMPACT", asking("CF.COMPACT", "c"), None), None
    yield Case(group, "CF.INFO", asking("CF.INFO", "c"), None), None
    yield Case(group, "CF.SCANDUMP and CF.LOADCHUNK, all of it", dump_and_load("CF", "c"), remove("loaded")), None


def prepare_restore(bench):
    bench.ask("DEL", "restored")
    bench.request = encode("BF.RESTORE", "restored", bench.ask("BF.DUMP", "dumped"))


def growth_cases():
    group = "growth"
    for of_type in ("blocked", "classic", "counting", "cuckoo", "fingerprint", "redisbloom"):
        yield Case(group, f"BF.MADD of 10^7, {of_type}", grow("BF.MADD", int(1e7)),
                   fresh("f", 1000, "TYPE", of_type)), None
    yield Case(group, "CF.INSERT of 3*10^6", grow("CF.INSERT", int(3e6)),
               lambda bench: (bench.ask("DEL", "f"), bench.ask("CF.RESERVE", "f", 1000, "EXPANSION", 2))), None


def grow(command, items):
    """Adds in commands of 1,000 items, so that what is seen is growth, and not one command."""
    def run(bench):
        head = (command, "f") + (("ITEMS",) if command.startswith("CF") else ())
        count = int(items * bench.scale)
        for begin in range(0, count, 100_000):
            commands = [encode(*head, *range(at, at + 1000)) for at in range(begin, min(count, begin + 100_000), 1000)]
            bench.client.replies(b"".join(commands), len(commands))
    return run


def merge_under_adds(bench):
    adder = Client(bench.server.port)
    stopping = threading.Event()

    def add():
        number = 0
        while not stopping.is_set():
            adder.ask("BF.ADD", "copy", number)
            number += 1
    thread = threading.Thread(target=add, daemon=True)
    thread.start()
    bench.ask("BF.MERGE", "copy", "big")
    stopping.set()
    thread.join()
    adder.close()


def dump_and_load(family, name):
    def run(bench):
        client, cursor = bench.client, 0
        while True:
            client.send(encode(f"{family}.SCANDUMP", name, cursor))
            client.stream.readline()
            cursor = int(client.stream.readline()[1:])
            length = int(client.stream.readline()[1:])
            data = client.stream.read(length + 2)[:-2] if length >= 0 else b""
            if cursor == 0:
                return
            client.ask(f"{family}.LOADCHUNK", "loaded", cursor, data)
    return run


def client_cases():
    group = "1,000 clients"
    yield None, lambda bench: (bench.flush(), setattr(bench, "idle", [Client(bench.server.port) for _ in range(1000)]))
    yield Case(group, "CLIENT LIST", asking("CLIENT", "LIST"), None), None
    for command in (("COMMAND",), ("COMMAND", "DOCS"), ("COMMAND", "LIST"), ("CONFIG", "GET", "*")):
        yield Case(group, " ".join(command) + ", 100 at once", many_times(command, 100), None), None
    yield None, lambda bench: [client.close() for client in bench.idle]


def many_times(command, times):
    return lambda bench: bench.client.replies(encode(*command) * times, times)


def idle_case():
    return Case("", "idle", lambda bench: time.sleep(IDLE_SECONDS), None)


def all_cases():
    yield idle_case(), None
    for cases in (item_cases, client_cases, growth_cases, dump_cases, large_cases, name_cases):
        yield None, None  # what the cases before have prepared is of no use to these
        yield from cases()


def snapshot_memory_case(binary, scale, runs):
    """A snapshot whose memory for what changes meanwhile is full, while another connection adds."""
    bench = Bench(binary, scale)
    try:
        bench.ask("CONFIG", "SET", "snapshot-memory", "1mb")
        bench.make_large("big")

        def run(made):
            adder = Client(made.server.port)
            made.ask("BGSAVE")
            number = 0
            while b"rdb_bgsave_in_progress:1" in made.ask("INFO", "persistence"):
                adder.ask("BF.MADD", "big", *["%f:%d" % (time.time(), number + i) for i in range(1000)])
                number += 1000
            adder.close()
        return bench.measure(Case("1 GB", "adding while snapshot-memory is full", run, None), runs)
    finally:
        bench.stop()


def tell(group, name, stall, seconds):
    verdict = "" if name == "idle" else ("met" if stall <= TARGET_MS else "MISSED")
    print(f"{group:<14} {name:<44} {stall:>9.1f} {seconds * 1000:>11.1f}  {verdict}".rstrip(), flush=True)
    return verdict == "MISSED"


def run_cases(bench, runs, only):
    missed = 0
    setups = []  # that the next case to be run needs
    for case, prepare in all_cases():
        if case is None:
            setups = [] if prepare is None else [*setups, prepare]
            continue
        if only and not re.search(only, f"{case.group} {case.name}"):
            continue
        progress(f"{case.group} {case.name}")
        for setup in setups:
            setup(bench)
        setups = []
        try:
            missed += tell(case.group, case.name, *bench.measure(case, runs))
        except (RuntimeError, EOFError, OSError) as error:
            print(f"{case.group:<14} {case.name:<44} failed: {error}", flush=True)
            missed += 1
            bench.client = Client(bench.server.port)  # replies may be left on the old one
    return missed


def run(binary, quick, rounds, only=""):
    describe_machine()
    scale, runs = (0.1, 1) if quick else (1, rounds or 3)
    print(f"\n{'input':<14} {'command':<44} {'stall, ms':>9} {'it took, ms':>11}  target: {TARGET_MS} ms")
    bench = Bench(binary, scale)
    try:
        missed = run_cases(bench, runs, only)
    finally:
        bench.stop()
    if not only or re.search(only, "snapshot-memory"):
        missed += tell("1 GB", "adding while snapshot-memory is full", *snapshot_memory_case(binary, scale, runs))
    print(f"\nstall: the longest PING of another connection, median of {runs} run(s). {missed} target(s) missed.")


