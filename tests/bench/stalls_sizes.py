"""Cases of stalls_bench that are large by bytes, subscribers or patterns, not by their arguments."""

import time

from bench_server import encode
from stalls_case import Case, asking, both, leave, many_times, send_request
from stalls_client import Client


def byte_cases():
    """Few names, and messages, of many bytes."""
    group = "many bytes"
    mib = 1 << 20
    scan = ("SCAN", "0", "COUNT", "256", "MATCH")
    yield None, lambda bench: (bench.flush(), bench.ask("CONFIG", "SET", "max-name-bytes", "1mb"),
                               bench.ask("BF.ADD", b"a" * mib, "x"))
    yield Case(group, "SCAN, a name of 1 MiB, a pattern of 1 kB", asking(*scan, b"*" + b"a" * 1000 + b"b"), None), None
    yield Case(group, "SCAN, a name of 1 MiB, a pattern of 4 kB of ?",
               asking(*scan, b"*" + b"?" * 4000 + b"b*"), None), None
    yield None, lambda bench: (bench.flush(), [bench.ask("BF.ADD", b"a" * 1000 + b"%d" % i, "x") for i in range(200)])
    yield Case(group, "SCAN, 200 names of 1 kB, a pattern of 500 bytes",
               asking(*scan, b"*" + b"a" * 500 + b"b"), None), None
    yield None, lambda bench: (bench.flush(), [bench.ask("BF.ADD", b"%03d" % i + b"n" * (mib - 3), "x")
                                               for i in range(int(200 * bench.scale))])
    for command in (("KEYS", "*"), ("SCAN", "0", "COUNT", "256")):
        yield Case(group, " ".join(command) + ", 200 names of 1 MiB", asking(*command), None), None
    yield None, lambda bench: bench.flush()
    for command in ("ECHO", "PING"):
        yield Case(group, f"{command} of 200 MB", send_request, long_request(command)), None
    yield None, lambda bench: (setattr(bench, "idle", [Client(bench.server.port)]),
                               bench.idle[0].ask("SUBSCRIBE", "news"))
    yield Case(group, "PUBLISH of 200 MB", lambda bench: (send_request(bench), read_all(bench.idle[0], 1)),
               long_request("PUBLISH", "news")), None
    yield None, lambda bench: bench.idle[0].close()


def long_request(*head):
    return lambda bench: setattr(bench, "request", encode(*head, b"x" * int(200e6 * bench.scale)))


def read_all(client, messages):
    for _ in range(messages):
        client.read()


def subscriber_cases():
    """Many subscribers, and many patterns."""
    group = "subscribers"
    yield None, lambda bench: (bench.flush(), setattr(bench, "idle", [Client(bench.server.port)]),
                               bench.idle[0].ask("PSUBSCRIBE", *[b"*" + b"a" * 1000 + b"b%d" % i for i in range(300)]))
    yield Case(group, "PUBLISH, 300 patterns of 1 kB, a channel of 16 kB",
               asking("PUBLISH", b"a" * 16384, "m"), None), None
    yield Case(group, "BF.ADD of a name of 16 kB, its events and 300 patterns of 1 kB",
               lambda bench: (bench.ask("BF.ADD", b"a" * 16300, "x"), time.sleep(1)),
               lambda bench: (bench.ask("CONFIG", "SET", "notify-keyspace-events", "KEA"),
                              bench.ask("DEL", b"a" * 16300))), None
    yield None, lambda bench: (bench.ask("CONFIG", "SET", "notify-keyspace-events", ""), bench.idle[0].close(),
                               setattr(bench, "idle", [Client(bench.server.port)]),
                               bench.idle[0].ask("PSUBSCRIBE", *["p%d*" % i for i in range(16_000)]))
    messages = b"".join(encode("PUBLISH", "x%d" % i, "m") for i in range(1000))
    yield Case(group, "PUBLISH, 16,000 patterns, 1,000 at once",
               lambda bench: bench.client.replies(messages, 1000), None), None
    yield None, lambda bench: (bench.idle[0].close(),
                               setattr(bench, "idle", [Client(bench.server.port) for _ in range(5000)]),
                               [client.ask("SUBSCRIBE", "news") for client in bench.idle])
    for times in (1, 20):
        yield Case(group, f"PUBLISH of 10 kB to 5,000, {times} at once",
                   both(many_times(("PUBLISH", "news", "y" * 10_000), times), lambda bench: time.sleep(1)), None), None
    yield Case(group, "5,000 of them leaving at once", leave, None), None
