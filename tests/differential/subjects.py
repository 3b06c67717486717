"""The servers that are compared: Bitsieve's server, bitsieve.so in an engine, and any server at a URL."""

import contextlib
import os
import sys
import urllib.parse

from engine import Engine
from harness import HOST, Connection, Server, encode
from replies import elements, is_error, parsed

SERVER, MODULE, REDISBLOOM, VALKEY_BLOOM = "server", "module", "RedisBloom", "valkey-bloom"
# Words that each server fills in: what its own last BF.FOLLOW or BF.SCANDUMP of the key has returned.
POSITION, ITERATOR = b"@position", b"@iterator"
OWN_ITERATORS = 1 << 32  # iterators of a Bitsieve's own dumps are above; they begin with a number drawn at random


class Subject:
    """A server with a connection of each version of the protocol. `role` is one of those above."""

    def __init__(self, name, address, role=None, credentials=(), process=None):
        self.name, self.address, self.credentials, self.process = name, address, credentials, process
        self.links = {}
        self.connect()
        self.names = sorted(row[0].decode().upper() for row in self.ask("COMMAND"))
        self.role = role or self.find_role()
        self.version = self.find_version()
        self.followed = {}  # iterator and position by key

    def connect(self):
        """Opens new connections."""
        for version in (2, 3):
            if version in self.links:
                self.links[version].close()
            link = self.links[version] = Connection(self.address[1], self.address[0])
            if self.credentials:
                self.expect(link.command("AUTH", *self.credentials))
            if version == 3:
                self.expect(link.command("HELLO", 3))

    def reconnect(self):
        """After a connection ended; a server that was started for the comparison is started again."""
        if self.process is not None:
            self.process.restart()
            self.address = (HOST, self.process.port)
        self.connect()

    @staticmethod
    def expect(reply):
        if is_error(reply):
            raise ConnectionError(reply.decode().strip())

    @property
    def is_bitsieve(self):
        return self.role in (SERVER, MODULE)

    @property
    def has_other_values(self):
        """Whether keys can hold something else than filters."""
        return self.role != SERVER

    def find_role(self):
        if "BF.FREEZE" in self.names:
            return MODULE if "SET" in self.names else SERVER
        if "CF.ADD" in self.names:
            return REDISBLOOM
        if "BF.LOAD" in self.names:
            return VALKEY_BLOOM
        sys.exit(f"{self.name} has none of the commands that are compared: no CF.ADD, no BF.LOAD")

    def find_version(self):
        info = self.ask("INFO", "server")
        lines = dict(line.split(":", 1) for line in info.decode().splitlines() if ":" in line)
        for field, product in (("bitsieve_version", "Bitsieve"), ("valkey_version", "Valkey"),
                               ("redis_version", "Redis")):
            if field in lines:
                return f"{product} {lines[field]}"
        return ""

    def ask(self, *words):
        reply = self.links[2].command(*words)
        self.expect(reply)
        return parsed(reply)

    def send(self, version, commands):
        self.links[version].send(b"".join(encode(*self.filled(words)) for words in commands))

    def receive(self, version, words):
        reply = self.links[version].reply()
        if words[0].upper() in (b"BF.FOLLOW", b"BF.SCANDUMP") and reply.startswith(b"*"):
            iterator, _, *position = map(parsed, elements(reply))
            if iterator > OWN_ITERATORS:
                self.followed.setdefault(words[1], {})[ITERATOR] = b"%d" % iterator
            if position:
                self.followed[words[1]][POSITION] = position[0]
        return reply

    def filled(self, words):
        if POSITION not in words and ITERATOR not in words:
            return words
        known = {ITERATOR: b"0", POSITION: b"0123456789abcdef-0", **self.followed.get(words[1], {})}
        return [known.get(word, word) for word in words]

    def why_it_ended(self):
        """Of a connection that ended: the last lines of the log of a server that died."""
        if self.process is None or self.process.alive():
            return "the connection ended"
        log = "\n".join(self.process.log().splitlines()[-20:])
        return f"died with status {self.process.process.returncode}\n{log}"

    def delete(self, keys, loading):
        """Deletes keys, and what has been loaded for those of `loading`: a load ends when its key has a filter."""
        for key in loading.intersection(keys):
            for words in (("DEL", key), ("BF.ADD", key, "x"), ("BF.LOADCHUNK", key, 1, "x")):
                self.links[2].command(*words)
        self.ask("DEL", *keys)

    def clear(self, loading):
        for link in self.links.values():
            link.command("DISCARD")
        if loading:
            self.delete(loading, loading)
        self.ask("FLUSHALL")
        self.followed.clear()

    def close(self):
        for link in self.links.values():
            link.close()
        if self.process is not None:
            self.process.clean_up()


def started(name, process, role):
    with contextlib.ExitStack() as undo:
        undo.callback(process.clean_up)
        process.start()
        subject = Subject(name, (HOST, process.port), role, process=process)
        undo.pop_all()
    return subject


def start_server(binary, default_type):
    os.environ["BITSIEVE_BINARY"] = binary
    return started("bitsieve", Server(default_type=default_type), SERVER)


def start_module(engine, module, default_type):
    os.environ.update(BITSIEVE_ENGINE=engine, BITSIEVE_MODULE=module)
    return started(f"bitsieve.so in {os.path.basename(engine)}", Engine(bf_default_type=default_type), MODULE)


def connect(url):
    """A server at redis://[user:password@]host:port. Everything in it is deleted."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("redis", "valkey") or not parts.hostname:
        sys.exit(f"{url}: not a URL like redis://user:password@host:port")
    name = f"{parts.hostname}:{parts.port or 6379}"
    credentials = [urllib.parse.unquote(each) for each in (parts.username, parts.password) if each]
    try:
        return Subject(name, (parts.hostname, parts.port or 6379), credentials=credentials)
    except OSError as error:
        sys.exit(f"{name}: {error}")


def quoted(word):
    """A word for redis-cli."""
    text = word.decode("latin-1")
    if text and text.isascii() and all(char.isalnum() or char in "._:+-@" for char in text):
        return text
    return '"' + "".join(char if " " <= char <= "~" and char not in '"\\' else f"\\x{ord(char):02x}"
                         for char in text) + '"'


def as_lines(commands):
    return [" ".join(map(quoted, words)) for words in commands]
