"""Values of the arguments of BF.* and CF.* commands: ordinary ones, those at the edges, and wrong ones.

Filters are small, so that they fill, grow and answer wrongly within a few commands. Sizes that a server would take and
that need much memory are left out: how much there is differs between machines, and COPY of a filter of 2 GB may take a
minute. So there is no capacity just above the limit of most types, and not the largest expansion: valkeybloom has both.
"""

import pathlib

import valkey_filters
from redisbloom_fixtures import FILES, dumps, expected

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"

BLOOM_KEYS = ("b0", "b1", "b2", "b3", "b4")
CUCKOO_KEYS = ("c0", "c1", "c2")
TIMED_KEYS = ("t0", "t1")  # of types whose replies depend on the time
ITEMS = ("", "a", "b", "item", b"\0", b"a\0b", b"\xff\r\n", "x" * 100, "\u00fc",
         *(f"i{number}" for number in range(60)))
WRONG = ("", "x", "-1", "0", "1", "+1", " 1", "1 ", "01", "1.5", "1e3", "nan", "inf", "0x10", b"1\0",
         "9223372036854775807", "9223372036854775808", "-9223372036854775808", "EXPANSION", "ITEMS", "nocreate",
         "CAPACITY", "NONSCALING", "none")

ORDINARY = {
    "item": ITEMS,
    "error_rate": ("0.01", "0.1", "0.001", "0.25", "0.3", "1e-9", ".5", "1e-3", "0.99"),
    "capacity": ("1", "2", "10", "30", "100", "300"),
    "expansion": ("0", "1", "2", "3", "4"),
    "bucketsize": ("1", "2", "3", "4"),
    "maxiterations": ("1", "2", "20", "500"),
    "size": ("1", "2", "4", "8"),  # of buckets of type cuckoo
    "iterations": ("1", "20", "500"),
    "window": ("20", "1000", "1h"),
    "time": ("1h", "1d"),
    "bits": ("4", "8"),
    "seed": ("0", "1", "7", "18446744073709551615", bytes(range(32))),
    "ratio": ("0.5", "0.8", "0.9"),
    "position": (b"@position",),
    "iterator": ("0", "1"),
    "count": ("1", "10", "65536"),
    "seconds": ("600", "3000"),
    "milliseconds": ("600000",),
    "unix_time": ("4102444800", "1"),
}
EDGES = {
    "error_rate": ("0", "1", "0.250001", "9.9e-10", "1e-320", "-0.1", "1.000001"),
    "capacity": ("0", "1125899906842625", "18446744073709551616"),
    "expansion": ("32768", "32769", "4294967296"),
    "bucketsize": ("0", "255", "256"),
    "maxiterations": ("0", "65535", "65536"),
    "size": ("0", "9"),
    "iterations": ("0", "65535", "65536"),
    "window": ("0", "1ms", "5s", "24h"),
    "time": ("0", "1ms"),
    "bits": ("5",),
    "seed": ("18446744073709551616",),
    "ratio": ("0", "1", "1e-300"),
    "position": ("0", "0123456789abcdef-0", "x-1"),
    "iterator": (b"@iterator", "9", "1000", "-1"),
    "count": ("0", "65537"),
    "seconds": ("0", "90000", "9223372036854775807"),
    "milliseconds": ("0", "90000000"),
    "unix_time": ("0",),
}
# The bytes that valkey-bloom writes of filters, and beginnings of dumps.
LOADS = tuple(path.read_bytes() for path in sorted((GOLDEN / "valkeybloom").glob("*.load")))
DATA = (b"", b"x", b"x" * 38, b"\0" * 63, b"BSFD", b"\1", b"\2", *LOADS)

# What DUMP gives of filters in RedisBloom and valkey-bloom, for RESTORE.
MOST_PAYLOAD_BYTES = 20_000
PAYLOADS = [(expected(file)[key]["type"], payload) for file in FILES for key, payload in dumps().items()
            if key in expected(file) and len(payload) < MOST_PAYLOAD_BYTES]
CUCKOO_PAYLOADS = [payload for kind, payload in PAYLOADS if kind == "MBbloomCF"]
BLOOM_PAYLOADS = [payload for kind, payload in PAYLOADS if kind != "MBbloomCF"] + [
    valkey_filters.dump(each["file"]) for each in valkey_filters.files("dump")]
