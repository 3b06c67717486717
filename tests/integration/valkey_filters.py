"""valkey-bloom's filters (tests/golden/valkeybloom), and checks that a server answers for them as valkey-bloom did."""

import functools
import json
import pathlib
import struct

import redis

from fake_server import FakeServer, read_command
from harness import encode
from rdb_payload import crc64

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "valkeybloom"
VALUE_TYPE = "bloomfltr"


@functools.cache
def _expected():
    return json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))


def objects():
    return _expected()["objects"]


def invalid(suffix):
    return [GOLDEN / each["file"] for each in _expected()["invalid"] if each["file"].endswith(suffix)]


def files(kind, order=None):
    return [each for each in _expected()["files"] if each["kind"] == kind and order in (None, each.get("order"))]


def dump(file, folder=""):
    """A payload of DUMP, of a version that every engine takes."""
    stored = (GOLDEN / folder / file).read_bytes()
    intact = crc64(stored[:-8]) == struct.unpack("<Q", stored[-8:])[0]
    body = stored[:-10] + struct.pack("<H", 9)
    return body + struct.pack("<Q", crc64(body) if intact else 0)


def filters_of(file):
    """The objects by key of an RDB file, of database 0."""
    return {each["key"]: objects()[each["object"]] for each in file["keys"]
            if "object" in each and each["db"] == 0 and "expire_ms" not in each}


def check(test, client, key, made):
    """That the filter under this key is this one."""
    info = {name: value for name, value in zip(*[iter(client.execute_command("BF.INFO", key))] * 2)}
    test.assertEqual(info[b"Capacity"], made["capacity"])
    test.assertEqual(info[b"Size"], made["info_size"])
    test.assertEqual(info[b"Number of filters"], len(made["filters"]))
    test.assertEqual(info[b"Number of items inserted"], made["card"])
    test.assertEqual(info[b"Expansion rate"], made["expansion"] or None)
    test.assertEqual(float(info[b"Error rate"]), made["fp_rate"])
    scaling = made["expansion"] != 0
    test.assertEqual(info.get(b"Max scaled capacity"), made["max_scaled_capacity"])
    test.assertEqual(b"Tightening ratio" in info, scaling)
    test.assertEqual(float(client.execute_command("BF.INFO", key, "TIGHTENING")), made["tightening_ratio"])
    test.assertEqual(client.execute_command("BF.INFO", key, "SEED").decode(), made["seed"])
    for item in made["present"]:
        test.assertEqual(client.execute_command("BF.EXISTS", key, bytes.fromhex(item)), 1, item)
    answers = client.execute_command("BF.MEXISTS", key, *map(bytes.fromhex, made["absent"]))
    test.assertEqual("".join(map(str, answers)), made["absent_answers"])


class ValkeyServer(FakeServer):
    """Says what a Valkey with valkey-bloom and these filters says, to what `bitsieve migrate` asks."""

    def __init__(self, keys):
        self.keys = {key.encode(): made for key, made in keys.items()}
        super().__init__()

    def serve(self, connection):
        lines = connection.makefile("rb")
        while words := read_command(lines):
            connection.sendall(self.reply(words[0].upper().decode(), words[1:]))

    def reply(self, command, words):
        made = self.keys.get(words[0]) if words else None
        if command == "SCAN":
            return b"*2\r\n$1\r\n0\r\n" + encode(*self.keys)
        if command in ("PING", "SELECT"):
            return b"+OK\r\n"
        if command == "INFO":
            return b"$22\r\n# Keyspace\r\ndb0:keys=1\r\n"
        if command == "DUMP":
            return b"$-1\r\n" if made is None else b"$%d\r\n%s\r\n" % (len(made["dump"]), made["dump"])
        if made is None:
            return b"-ERR not found\r\n"
        if command == "TYPE":
            return b"+bloomfltr\r\n"
        if command == "BF.INFO":
            return b"-ERR invalid information value\r\n" if words[1:] else b"*2\r\n+Size\r\n:%d\r\n" % made["size"]
        if command in ("PTTL", "PEXPIRETIME"):
            return b":-1\r\n"
        if command == "MEMORY":
            return b":%d\r\n" % (made["size"] + 80)
        return b"-ERR unknown command '%s'\r\n" % command.encode()


def accept_adding(client, key, made):
    """Adds what was added to it there, as far as it is taken."""
    for item in made.get("add_after_import", {}).get("items", ()):
        try:
            client.execute_command("BF.ADD", key, bytes.fromhex(item))
        except redis.ResponseError as error:
            if "non scaling filter is full" not in str(error):
                raise


def check_adding(test, client, key, made):
    """That it takes further items as valkey-bloom did, and then has its bits."""
    added = made["add_after_import"]
    for item, reply in zip(added["items"], added["replies"]):
        if reply in ("0", "1"):
            test.assertEqual(client.execute_command("BF.ADD", key, bytes.fromhex(item)), int(reply), item)
        else:
            with test.assertRaisesRegex(Exception, "non scaling filter is full"):
                client.execute_command("BF.ADD", key, bytes.fromhex(item))
    test.assertEqual(client.execute_command("BF.CARD", key), added["card"])
    for item in made["present"]:
        test.assertEqual(client.execute_command("BF.EXISTS", key, bytes.fromhex(item)), 1, item)
