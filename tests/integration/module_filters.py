"""Filters of every type, made by clients on the module, for tests that compare what another engine has of them."""

from filter_types import needed_options, type_names


def dump_chunks(client, key):
    """Iterators and chunks of a dump, of whatever type."""
    scan = "CF.SCANDUMP" if client.type(key) == b"MBbloomCF" else "BF.SCANDUMP"
    cursor = 0
    while True:
        cursor, chunk = client.execute_command(scan, key, cursor)
        if cursor == 0:
            return
        yield cursor, chunk


def load(client, key, chunks, *, cuckoo=False):
    for cursor, chunk in chunks:
        client.execute_command("CF.LOADCHUNK" if cuckoo else "BF.LOADCHUNK", key, cursor, chunk)


def make_filters(client):
    """The names of all that it makes: each command that changes something has its part in one of them."""
    def do(*command):
        return client.execute_command(*command)

    for name in type_names(by_reserve=True, forgets=False):
        options = ["TYPE", name, *needed_options(name)]
        do("BF.RESERVE", f"reserved:{name}", 0.01, 1000, *options)
        do("BF.RESERVE", f"full:{name}", 0.001, 500, *options)
        do("BF.MADD", f"full:{name}", *range(450))
        do("BF.INSERT", f"inserted:{name}", *options, "CAPACITY", 40, "ERROR", 0.02, "ITEMS", *range(30))
        if name in type_names(freezes=False):
            do("BF.MADD", f"inserted:{name}", *range(300))
    for name in type_names(by_reserve=True, removes=True):
        do("BF.MDEL", f"full:{name}", *range(50))
        do("BF.DEL", f"full:{name}", 60)
    do("BF.ADD", "default", "a")
    do("BF.MADD", "default:many", *range(1000))
    do("BF.INSERT", "default:inserted", "ITEMS", *range(10))
    do("BF.RESERVE", "fixed", 0.01, 100, "NONSCALING", "TYPE", "redisbloom")
    do("BF.MADD", "fixed", *range(100))
    for name, window in (("items", 1000), ("time", "1h"), ("short", "300ms")):
        do("BF.RESERVE", f"window:{name}", 0.01, 1000, "TYPE", "window", "WINDOW", window)
        for item in range(50):
            do("BF.ADD", f"window:{name}", item)
    do("BF.INSERT", "window:inserted", "TYPE", "window", "WINDOW", "1h", "CAPACITY", 100, "ITEMS", *range(50))
    for bits in (4, 8):
        do("BF.RESERVE", f"expiring:{bits}", 0.01, 100, "TYPE", "expiring", "TTL", "1h", "EPOCHBITS", bits)
        for minutes in range(1, 60):
            do("BF.INSERT", f"expiring:{bits}", "EX", 60 * minutes, "ITEMS", *range(10 * minutes, 10 * minutes + 20))
        do("BF.TOUCH", f"expiring:{bits}", *range(0, 300, 7))
        do("BF.MDEL", f"expiring:{bits}", *range(0, 300, 11))
    for name in ("a", "b"):
        do("BF.RESERVE", f"merge:{name}", 0.01, 1000, "SEED", 7)
        do("BF.MADD", f"merge:{name}", *(f"{name}{item}" for item in range(300)))
    do("BF.MERGE", "merge:new", "merge:a", "merge:b")
    do("BF.MERGE", "merge:a", "merge:b")
    for name in ("blocked", "classic"):
        do("BF.RESERVE", f"folded:{name}", 0.01, 100_000, "TYPE", name, "SEED", 7)
        do("BF.MADD", f"folded:{name}", *range(1000))
        do("BF.FOLD", f"folded:{name}", 5000)
        do("BF.MADD", f"folded:{name}", *range(1000, 2000))
    do("BF.RESTORE", "restored", do("BF.DUMP", "full:blocked"))
    do("BF.MADD", "restored", "another")
    do("BF.RESTORE", "restored", do("BF.DUMP", "full:classic"), "REPLACE")
    do("BF.MADD", "cleared", *range(100))
    do("BF.CLEAR", "cleared")
    do("BF.ADD", "cleared", "a")
    do("CF.RESERVE", "cf:reserved", 500, "BUCKETSIZE", 4, "MAXITERATIONS", 30, "EXPANSION", 2)
    do("CF.INSERT", "cf:reserved", "ITEMS", *range(900))
    do("CF.ADD", "cf:default", "a")
    do("CF.ADDNX", "cf:default", "b")
    do("CF.INSERTNX", "cf:inserted", "CAPACITY", 64, "ITEMS", *range(300))
    for item in range(100):
        do("CF.DEL", "cf:inserted", item)
    do("CF.COMPACT", "cf:inserted")
    load(client, "loaded", dump_chunks(client, "full:cuckoo"))
    load(client, "loaded:redisbloom", dump_chunks(client, "inserted:redisbloom"))
    load(client, "loaded:cf", dump_chunks(client, "cf:reserved"), cuckoo=True)
    client.copy("default", "copied")
    client.rename("default:inserted", "renamed")
    do("BF.RESERVE", "frozen", 0.01, 1000, "TYPE", "ribbon")
    do("BF.MADD", "frozen", *range(500))
    do("BF.FREEZE", "frozen")
    for name in ("full:blocked", "full:classic", "frozen"):
        do("BF.FPADD", name, *(f"other{item}" for item in range(2000)))
    do("BF.MADD", "full:blocked", *(f"other{item}" for item in range(1000)))
    client.pexpireat("fixed", 4_102_444_800_000)
    return names_of(client)


def names_of(client):
    return sorted(key.decode() for key in client.keys())


def is_frozen(client, key):
    return client.execute_command("BF.INFO", key, "STATE") == [b"frozen"]
