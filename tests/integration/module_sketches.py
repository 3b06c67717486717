"""Sketches of every kind, made by clients on the module, and what RedisBloom saved (tests/golden/sketches)."""

import base64
import functools
import json
import pathlib

from rdb_payload import fields

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "sketches"
RDB = GOLDEN / "all.rdb"
TYPES = {b"CMSk-TYPE": "CMSk-TYPE", b"TopK-TYPE": "TopK-TYPE", b"TDIS-TYPE": "TDIS-TYPE"}
ENTRY_BYTES = 24  # of a Top-K's heap


@functools.cache
def expected():
    return json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))


def golden_dumps():
    """What DUMP gave, by key; of sketches alone."""
    return {key: base64.b64decode(text) for key, text in expected()["dumps"].items()
            if key.startswith(("cms:", "topk:", "td:"))}


def content(payload):
    """The fields of a DUMP that mean something: of a Top-K without what its heap has in place of addresses."""
    version, found = fields(payload)
    if isinstance(found[3], float) and isinstance(found[0], int):
        heap = found[5]
        entries = [heap[at:at + ENTRY_BYTES] for at in range(0, len(heap), ENTRY_BYTES)]
        found[5] = b"".join(entry[:8] + bytes(8) + entry[16:20] + bytes(4) for entry in entries)
    return version, found


def check_answers(test, client):
    """That the sketches of the fixtures answer as RedisBloom's did; in this order, since estimates compress."""
    for command, reply in expected()["answers"]:
        with test.subTest(command=command[:2]):
            test.assertEqual(plain(client.execute_command(*command)), plain(reply))


def plain(reply):
    """A reply without the difference between texts of numbers and numbers, which engines write differently."""
    if isinstance(reply, list):
        return [plain(each) for each in reply]
    if isinstance(reply, dict):  # a bulk string of the fixtures
        reply = base64.b64decode(reply["b"])
    if isinstance(reply, bytes):
        reply = reply.decode("latin-1")
    try:
        return repr(float(reply))
    except (TypeError, ValueError):
        return reply


def make_sketches(client, database=0):
    """The names of all that it makes: each command that changes a sketch has its part in one of them."""
    def do(*command):
        return client.execute_command(*command)

    name = f"{database}:".__add__
    do("CMS.INITBYDIM", name("cms"), 200, 4)
    do("CMS.INITBYPROB", name("cms:prob"), 0.01, 0.01)
    do("CMS.INITBYDIM", name("cms:merged"), 200, 4)
    do("CMS.INITBYDIM", name("cms:empty"), 3, 1)
    for number in range(300):
        do("CMS.INCRBY", name("cms"), f"item{number % 70}", number, "every", 1)
        do("CMS.INCRBY", name("cms:prob"), f"item{number % 70}", number)
    do("CMS.MERGE", name("cms:merged"), 2, name("cms"), name("cms"), "WEIGHTS", 3, 2)
    do("TOPK.RESERVE", name("topk"), 10, 20, 3, 0.9)
    do("TOPK.RESERVE", name("topk:empty"), 5)
    do("TOPK.RESERVE", name("topk:bytes"), 3, 8, 2, 1)
    for number in range(2000):  # many collisions, so that chance decides
        do("TOPK.ADD", name("topk"), f"item{number * number % 97}", f"item{number % 13}")
    do("TOPK.INCRBY", name("topk"), "item5", 100, "item6", 1000)
    do("TOPK.ADD", name("topk:bytes"), b"a\0b", "", b"\r\n")
    do("TDIGEST.CREATE", name("td"))
    do("TDIGEST.CREATE", name("td:small"), "COMPRESSION", 20)
    do("TDIGEST.CREATE", name("td:empty"))
    do("TDIGEST.CREATE", name("td:reset"))
    do("TDIGEST.ADD", name("td:reset"), 5)
    do("TDIGEST.RESET", name("td:reset"))
    for number in range(500):
        do("TDIGEST.ADD", name("td"), number * 7919 % 1000 / 8, -number)
        do("TDIGEST.ADD", name("td:small"), number * 7919 % 1000)
    do("TDIGEST.MERGE", name("td:merged"), 2, name("td"), name("td:small"), "COMPRESSION", 50)
    client.pexpireat(name("cms"), 4_102_444_800_000)
    return sorted(key.decode() for key in client.keys(f"{database}:*"))
