"""How long one connection's command keeps another waiting: `scripts/bench --stalls`.

One server with one event loop. A probe (stall_probe.py) sends PING on a connection of its own, each soon after the last
is answered, and notes the longest time that one took while another connection runs one command with its worst input: up
to 10^6 names, 10^6 items and 1 GB. Each case is run three times (--quick: once, with inputs a tenth as large). The
table shows the run whose longest PING is the median, with the time that the command itself took, how long the loop's
thread ran during that PING, how long it had no core, and how long the probe had none. `idle` is the same without a
command, for as long as a typical case: what the machine alone does to a PING. Nothing is pinned, and there is no log on
disk unless the case has one.

The target is at most 20 ms for each case.
"""

import re
import statistics
import sys
import threading
import time
from pathlib import Path

from bench_server import describe_machine, encode, progress, start_bitsieve
from stalls_case import Case, asking, both, leave, many_times, send_request
from stalls_client import Client, Probe
from stalls_sizes import byte_cases, subscriber_cases

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from filter_types import needed_options, type_names  # noqa: E402 (found by the path above)

TARGET_MS = 20
IDLE_SECONDS = 2.0

class Bench:
    def __init__(self, binary, scale):
        self.scale = scale
        self.names = int(1_000_000 * scale)
        self.items = int(1_000_000 * scale)
        self.bits = int(8e9 * scale)  # of the filter of 1 GB
        self.server = start_bitsieve(binary, "--appendonly", "no", "--maxmemory", "0",
                                     "--client-output-buffer-limit", "1gb", pinned=False)
        self.client = Client(self.server.port)
        self.loop = None  # its thread, once a probe has found it

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
            probe = Probe(self.server, self.loop)
            self.loop = probe.loop
            begin = time.perf_counter()
            case.run(self)
            times.append(time.perf_counter() - begin)
            stalls.append(probe.finish())
        return sorted(stalls)[len(stalls) // 2], statistics.median(times)

    def stop(self):
        self.client.close()
        self.server.stop()


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
    for of_type in type_names(by_reserve=True):
        make = fresh("f", many, "TYPE", of_type, *needed_options(of_type, WINDOW=many))
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
    yield Case("10^6 items", "DISCARD of 10^5 BF.ADD", lambda bench: bench.ask("DISCARD"),
               both(fresh("f", many), prepare_exec)), None
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
    for arguments in (("FLUSHALL", "SYNC"), ("FLUSHALL", "ASYNC"), ("FLUSHDB", "SYNC")):
        yield Case(group, " ".join(arguments), both(asking(*arguments), lambda bench: time.sleep(0.5)),
                   lambda bench: bench.make_names()), None


    yield Case(group, "MEMORY PURGE once they are deleted", lambda bench: bench.ask("MEMORY", "PURGE"),
               lambda bench: (bench.make_names(), bench.ask("FLUSHALL"))), None
    yield Case(group, "expiry of 10^6 names at once, with DBSIZE", count_while_they_expire, expire_soon), None


def expire_soon(bench):
    bench.make_names()
    bench.moment = time.time() + 10
    bench.pipeline([("PEXPIREAT", name, int(bench.moment * 1000)) for name in names_of(bench)])


def count_while_they_expire(bench):
    while time.time() < bench.moment or bench.ask("DBSIZE") != b"0":
        time.sleep(0.001)
    time.sleep(1)  # what was taken out of the keyspace dies after that


def save_in_background(bench):
    bench.ask("BGSAVE")
    while b"rdb_bgsave_in_progress:1" in bench.ask("INFO", "persistence"):
        time.sleep(0.01)


def fold_copy(bench):
    """To a bit less than half its capacity, which fits filters of each type."""
    reply = bench.ask("BF.FOLD", "copy", int(bench.bits / 10 / 2 * 0.99))
    assert reply == b"OK", reply


def large_cases():
    """Filters of 1 GB."""
    group = "1 GB"
    yield None, lambda bench: (bench.flush(), bench.make_large("big"))
    yield Case(group, "COPY", asking("COPY", "big", "copy"), remove("copy")), None
    yield Case(group, "COPY ... REPLACE", asking("COPY", "big", "copy", "REPLACE"), None), None
    yield Case(group, "BF.ESTIMATE", asking("BF.ESTIMATE", "big", "copy"), None), None
    yield Case(group, "BF.MERGE into a filter", asking("BF.MERGE", "copy", "big"), None), None
    yield Case(group, "BF.MERGE into a new filter", asking("BF.MERGE", "new", "big", "copy"), remove("new")), None
    merge, copied = asking("BF.MERGE", "copy", "big"), asking("COPY", "big", "copy", "REPLACE")
    yield Case(group, "BF.MERGE while others add to it", while_asking("BF.ADD", "copy", merge), copied), None
    yield Case(group, "BF.MERGE while others look up", while_asking("BF.EXISTS", "copy", merge), copied), None
    yield Case(group, "BF.FOLD", fold_copy, copied), None
    yield Case(group, "BF.FOLD while others add to it", while_asking("BF.ADD", "copy", fold_copy), copied), None
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
    yield Case(group, "FLUSHALL SYNC", both(asking("FLUSHALL", "SYNC"), lambda bench: time.sleep(0.5)),
               lambda bench: bench.make_large("flushed")), None
    yield None, lambda bench: (bench.flush(), bench.make_large("big", of_type="classic"))
    yield Case(group, "BF.FOLD of a classic filter", while_asking("BF.ADD", "copy", fold_copy), copied), None
    yield None, lambda bench: (bench.flush(), bench.make_large("c1", "c2", of_type="counting"))
    merge = asking("BF.MERGE", "c1", "c2")
    yield Case(group, "BF.MERGE of counting filters", while_asking("BF.ADD", "c1", merge), None), None


def dump_cases():
    group = "100 MB"
    yield None, lambda bench: (bench.flush(), bench.make_large("dumped", bits=8e8 * bench.scale))
    yield Case(group, "BF.DUMP", asking("BF.DUMP", "dumped"), None), None
    yield Case(group, "BF.RESTORE", send_request, prepare_restore), None
    capacity = int(50e6)
    yield None, lambda bench: (bench.flush(), bench.make_cuckoo("c", int(capacity * bench.scale)))
    yield Case(group, "CF.INFO", asking("CF.INFO", "c"), None), None
    yield Case(group, "CF.SCANDUMP and CF.LOADCHUNK, all of it", dump_and_load("CF", "c"), remove("loaded")), None


def cuckoo_cases():
    """A cuckoo filter of several sub-filters, whose newest have room made for in the oldest."""
    group = "10^7 items"
    yield None, lambda bench: bench.flush()
    yield Case(group, "CF.COMPACT", asking("CF.COMPACT", "g"), lambda bench: grow_cuckoo(bench, 0.08)), None
    yield Case(group, "CF.COMPACT while others add to it", while_asking("CF.ADD", "g", asking("CF.COMPACT", "g")),
               lambda bench: grow_cuckoo(bench, 0.08)), None
    yield Case(group, "CF.DEL that makes it compact", delete_more, lambda bench: grow_cuckoo(bench, 0.08)), None
    yield None, lambda bench: bench.flush()


def grow_cuckoo(bench, deleted):
    """Of the items that were added first this share is deleted: less than what makes the server compact it itself."""
    count = int(1e7 * bench.scale)
    bench.ask("DEL", "g")
    bench.ask("CF.RESERVE", "g", count // 5, "EXPANSION", 1)
    for begin in range(0, count, 100_000):
        bench.ask("CF.INSERT", "g", "ITEMS", *range(begin, begin + 100_000))
    bench.deleted = int(count * deleted)
    bench.pipeline([("CF.DEL", "g", i) for i in range(bench.deleted)])


def delete_more(bench):
    count = int(0.03e7 * bench.scale)
    bench.pipeline([("CF.DEL", "g", i) for i in range(bench.deleted, bench.deleted + count)])
    time.sleep(3)  # the compaction goes on after the replies


def expiring_cases():
    """A filter whose items are being swept: its epochs are half a second."""
    group = "10^8 slots"
    capacity = int(0.9e8)
    yield None, lambda bench: (bench.flush(),
                               bench.ask("BF.RESERVE", "e", "0.01", int(capacity * bench.scale), "TYPE", "expiring",
                                         "TTL", "7s"))
    yield Case(group, "BF.MADD of 2*10^6 while items expire", expire_while_adding, None), None
    yield Case(group, "BF.EXISTS while items expire",
               while_asking("BF.EXISTS", "e", both(expire_while_adding, lambda bench: time.sleep(1))), None), None
    yield Case(group, "BF.INFO FULL while items expire",
               both(expire_while_adding, many_times(("BF.INFO", "e", "FULL"), 100)), None), None
    yield None, lambda bench: bench.flush()


def expire_while_adding(bench):
    """In commands of 1,000 items, which reach all of the filter; the items differ from those of the run before."""
    first = time.time_ns()
    for number in range(2000):
        bench.ask("BF.MADD", "e", *[first + number * 1000 + i for i in range(1000)])


def freeze_cases():
    yield None, lambda bench: bench.flush()
    yield Case("5*10^6 items", "BF.FREEZE", freeze, collect_items), None


def collect_items(bench):
    count = int(5e6 * bench.scale)
    bench.ask("DEL", "r")
    bench.ask("BF.RESERVE", "r", "0.01", count, "TYPE", "ribbon")
    for begin in range(0, count, 100_000):
        bench.ask("BF.MADD", "r", *range(begin, begin + 100_000))


def freeze(bench):
    bench.ask("BF.FREEZE", "r")
    while bench.client.ask_for_field("BF.INFO", "r", "State") != b"frozen":
        time.sleep(0.01)


def prepare_restore(bench):
    bench.ask("DEL", "restored")
    bench.request = encode("BF.RESTORE", "restored", bench.ask("BF.DUMP", "dumped"))


def growth_cases():
    group = "growth"
    for of_type in type_names(by_default=True, grows=True):
        yield Case(group, f"BF.MADD of 10^7, {of_type}", grow("BF.MADD", int(1e7)),
                   fresh("f", 1000, "TYPE", of_type)), None
    yield Case(group, "BF.MADD of 5*10^7, blocked", grow("BF.MADD", int(5e7)), fresh("f", 1000)), None
    yield Case(group, "CF.INSERT of 3*10^6", grow("CF.INSERT", int(3e6)),
               lambda bench: (bench.ask("DEL", "f"), bench.ask("CF.RESERVE", "f", 1000, "EXPANSION", 2))), None
    yield Case(group, "CF.INSERT of 10^7", grow("CF.INSERT", int(1e7)),
               lambda bench: (bench.ask("DEL", "f"), bench.ask("CF.RESERVE", "f", 100_000, "EXPANSION", 2))), None


def grow(command, items):
    """Adds in commands of 1,000 items, so that what is seen is growth, and not one command."""
    def run(bench):
        head = (command, "f") + (("ITEMS",) if command.startswith("CF") else ())
        count = int(items * bench.scale)
        for begin in range(0, count, 100_000):
            commands = [encode(*head, *range(at, at + 1000)) for at in range(begin, min(count, begin + 100_000), 1000)]
            bench.client.replies(b"".join(commands), len(commands))
    return run


def while_asking(command, name, run):
    """`run` while another connection sends the command for one item after the other."""
    def together(bench):
        other = Client(bench.server.port)
        stopping = threading.Event()

        def ask():
            number = 0
            while not stopping.is_set():
                other.ask(command, name, "while:%d" % number)
                number += 1
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        run(bench)
        stopping.set()
        thread.join()
        other.close()
    return together


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
    yield None, lambda bench: [client.ask("SUBSCRIBE", "news") for client in bench.idle]
    yield Case(group, "PUBLISH, 10 at once", many_times(("PUBLISH", "news", "x" * 100), 10), None), None
    yield Case(group, "leaving at once", leave, None), None


def idle_case():
    return Case("", "idle", lambda bench: time.sleep(IDLE_SECONDS), None)


def all_cases():
    yield idle_case(), None
    for cases in (item_cases, client_cases, byte_cases, subscriber_cases, growth_cases, dump_cases, cuckoo_cases,
                  expiring_cases, freeze_cases, large_cases, name_cases):
        yield None, None  # what the cases before have prepared is of no use to these
        yield from cases()


def snapshot_memory_case(binary, scale, runs):
    """A snapshot whose memory for changes during the save is full, while another connection adds."""
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
    verdict = "" if name == "idle" else ("met" if stall.took <= TARGET_MS else "MISSED")
    parts = "".join(f"{part:>9.1f}" for part in stall)
    print(f"{group:<14} {name:<44} {parts} {seconds * 1000:>11.1f}  {verdict}".rstrip(), flush=True)
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
    print(f"\n{'input':<14} {'command':<44} {'stall':>9}{'loop ran':>9}{'no core':>9}{'probe':>9} {'it took':>11}  "
          f"ms, target: {TARGET_MS}")
    bench = Bench(binary, scale)
    try:
        missed = run_cases(bench, runs, only)
    finally:
        bench.stop()
    if not only or re.search(only, "snapshot-memory"):
        missed += tell("1 GB", "adding while snapshot-memory is full", *snapshot_memory_case(binary, scale, runs))
    print(f"\nstall: the longest PING of another connection, median of {runs} run(s). {missed} target(s) missed.")


