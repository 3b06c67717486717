"""What RedisBloom saved and answered (tests/golden/redisbloom), and a stand-in for its master."""

import base64
import hashlib
import json
import pathlib
import re
import socket
import threading

from fake_server import read_command
from harness import REPLY_SECONDS, encode

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "redisbloom"
FILES = ("bloom", "cuckoo", "large")
ABSENT = [f"absent:o-{number}" for number in range(2000)]


def expected(file):
    return json.loads((GOLDEN / f"{file}.expected.json").read_text(encoding="utf-8"))


def rdb_path(file):
    return GOLDEN / f"{file}.rdb"


def dumps():
    """What DUMP gave, by key."""
    return {name.split("/", 1)[1]: base64.b64decode(text)
            for name, text in json.loads((GOLDEN / "dumps.json").read_text(encoding="utf-8")).items()}


def commands_of(key, expectation):
    """The commands that made it, each a list of words: "BF.MADD k o-k:0 .. o-k:59, 100 a command" is one."""
    for line in expectation["commands"]:
        found = re.fullmatch(r"(.*) o-\S+:(\d+) \.\. o-\S+:(\d+), (\w+) a command", line)
        if not found:
            yield line.split()
            continue
        items = [f"o-{key}:{number}" for number in range(int(found[2]), int(found[3]) + 1)]
        size = 1 if found[4] == "one" else int(found[4])
        for start in range(0, len(items), size):
            yield found[1].split() + items[start:start + size]


def check(test, client, key, expectation):
    """That the filter under this name is RedisBloom's in all that it answers."""
    family = "CF" if expectation["type"] == "MBbloomCF" else "BF"

    def do(command, *arguments):
        return client.execute_command(f"{family}.{command}", key, *arguments)

    def text(value):
        return value.decode() if isinstance(value, bytes) else [text(each) for each in value] if isinstance(
            value, list) else value
    test.assertEqual(client.type(key).decode(), expectation["type"])
    test.assertEqual(text(do("INFO")), expectation["info"])
    test.assertEqual(text(do("DEBUG")), expectation["debug"])
    chunks, cursor = [], 0
    while True:
        cursor, chunk = do("SCANDUMP", cursor)
        if not cursor:
            break
        chunks.append({"iterator": cursor, "bytes": len(chunk), "sha256": hashlib.sha256(chunk).hexdigest()})
    test.assertEqual(chunks, expectation["chunks"])
    found = do("MEXISTS", *ABSENT)
    test.assertEqual([number for number, present in enumerate(found) if present], expectation["absent_reported"])
    if expectation["added"]:
        items = [f"o-{key}:{number}" for number in range(expectation["added"])]
        test.assertEqual(sum(do("MEXISTS", *items)), expectation["present"])
    test.assertEqual(client.pexpiretime(key), expectation["pexpiretime"])


class Master:
    """Speaks enough of replication to be followed by one replica: it sends an RDB file, and then commands."""

    def __init__(self, rdb):
        self.rdb = rdb
        self.sent = 0
        self.acknowledged = -1
        self.connection = None
        self.synced = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        self.listener.close()
        if self.connection is not None:
            self.connection.close()

    def serve(self):
        try:
            self.connection, _ = self.listener.accept()
            self.connection.settimeout(REPLY_SECONDS)
            lines = self.connection.makefile("rb")
            while True:
                words = read_command(lines)
                if not words:
                    return
                self.answer(words)
        except OSError:
            pass  # closed

    def answer(self, words):
        name = words[0].upper()
        if name == b"PSYNC":
            self.connection.sendall(b"+FULLRESYNC " + b"a" * 40 + b" 0\r\n$%d\r\n" % len(self.rdb) + self.rdb)
            self.synced.set()
        elif name == b"REPLCONF" and words[1].upper() == b"ACK":
            self.acknowledged = int(words[2])
        else:
            self.connection.sendall(b"+PONG\r\n" if name == b"PING" else b"+OK\r\n")

    def send(self, *command):
        if not self.sent:
            self.write(encode("SELECT", 0))
        self.write(encode(*command))

    def write(self, data):
        self.connection.sendall(data)
        self.sent += len(data)
