"""The filters that clients make, and such filters as bytes."""

import dataclasses

from filter_types import type_names


@dataclasses.dataclass(frozen=True)
class Shape:
    """How a filter is made: as it is said to BF.RESERVE or CF.RESERVE."""

    kind: str
    reserve: tuple

    @property
    def redis_cuckoo(self):
        return self.kind == "rediscuckoo"

    @property
    def removes(self):
        return self.kind in type_names(removes=True)

    @property
    def denies(self):
        return self.kind in type_names(denies=True)

    @property
    def merges(self):
        return self.kind in type_names(merges=True)

    def verb(self, verb):
        return ("CF." if self.redis_cuckoo else "BF.") + verb

    def make(self, name):
        return (self.verb("RESERVE"), name, *self.reserve)

    def insert(self, name, items):
        """Makes it and adds items."""
        if self.redis_cuckoo:
            return (self.verb("INSERT"), name, "CAPACITY", self.reserve[0], "ITEMS", *items)
        rate, capacity, *options = self.reserve
        return (self.verb("INSERT"), name, "CAPACITY", capacity, "ERROR", rate, *options, "ITEMS", *items)


def shape(kind, rate, capacity, *options):
    seed = () if kind == "redisbloom" else ("SEED", 1000 + capacity)
    return Shape(kind, (rate, capacity, "TYPE", kind, *seed, *options))


SHAPES = (
    shape("blocked", 0.01, 50),
    shape("blocked", 0.001, 3000, "HASH", "murmur3"),
    shape("blocked", 0.05, 300, "NONSCALING"),
    shape("classic", 0.01, 64, "EXPANSION", 1),
    shape("classic", 0.001, 2000, "HASH", "sip"),
    shape("classic", 0.02, 20, "EXPANSION", 4, "HASH", "fnv1a"),
    shape("counting", 0.01, 80),
    shape("counting", 0.01, 1500, "COUNTERBITS", 8, "NONSCALING"),
    shape("cuckoo", 0.01, 100),
    shape("cuckoo", 0.001, 1000, "BUCKETSIZE", 2, "MAXITERATIONS", 50),
    shape("cuckoo", 0.01, 200, "NONSCALING"),
    shape("fingerprint", 0.01, 100),
    shape("fingerprint", 0.001, 1200, "NONSCALING"),
    shape("redisbloom", 0.01, 60),
    shape("redisbloom", 0.001, 500, "EXPANSION", 4),
    shape("window", 0.01, 300, "WINDOW", 300),
    shape("window", 0.01, 1000, "WINDOW", "24h"),
    shape("expiring", 0.01, 100, "TTL", "24h"),
    shape("expiring", 0.001, 600, "TTL", "24h", "EPOCHBITS", 8, "RENEW", "no", "NONSCALING"),
    shape("ribbon", 0.01, 400),
    Shape("rediscuckoo", (64,)),
    Shape("rediscuckoo", (1000, "BUCKETSIZE", 4, "MAXITERATIONS", 50, "EXPANSION", 2)),
    Shape("rediscuckoo", (300, "EXPANSION", 0)),
)
# Whose files are written in many pieces.
LARGE = (
    shape("blocked", 0.01, 300_000),
    shape("classic", 0.001, 400_000),
    shape("counting", 0.01, 60_000, "COUNTERBITS", 8),
    shape("cuckoo", 0.001, 200_000),
    shape("ribbon", 0.01, 401),
    Shape("rediscuckoo", (200_000,)),
)
# What BF.FREEZE makes of a ribbon filter, some time after it: a copy gets one or the other.
FROZEN = Shape("frozen", ())


@dataclasses.dataclass(frozen=True)
class Dump:
    """A filter's bytes, for BF.RESTORE and for LOADCHUNK."""

    shape: Shape
    data: bytes
    chunks: tuple  # (iterator, bytes), as SCANDUMP gave them


def make_dumps(connection, shapes):
    """A filled filter of each shape, as bytes."""
    dumps = []
    for shape in shapes:
        connection.command(*shape.insert("dump", [f"i{i}" for i in range(0, 200, 2)]))
        dumps.append(Dump(shape, bulk(connection.command("BF.DUMP", "dump")), tuple(scan(connection, shape))))
        connection.command("DEL", "dump")
    return dumps


def scan(connection, shape):
    """As a client would read them: each chunk goes with the iterator that came with it."""
    iterator = 0
    while True:
        reply = connection.command(shape.verb("SCANDUMP"), "dump", iterator)
        head, chunk = reply.split(b"\r\n", 2)[1:]
        iterator = int(head[1:])
        if iterator == 0:
            return
        yield iterator, bulk(chunk)


def bulk(reply):
    assert reply[:1] == b"$", reply[:200]
    return reply[reply.index(b"\r\n") + 2:-2]
