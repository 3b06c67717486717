"""The load of the churn: filters that come, grow and go, and clients that do the same.

One generation makes some filters of all types, adds to them, looks up what must be found, and removes, renames, copies,
dumps, expires and deletes others; visitors connect and leave in all manners; subscribers, monitors and followers as
well. Everything follows from the seed, except for what the time decides.
"""

import collections
import random
import socket
import struct
import sys
from pathlib import Path

import hiredis

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from filter_types import TABLE, needed_options  # noqa: E402 (found by the path above)
from harness import HOST, REPLY_SECONDS, encode, on_engine  # noqa: E402

MADE = 8  # filters per generation
LIVE = 120  # filters at a time
SINGLES = 600  # commands with one item per generation
ITEMS_PER_COMMAND = 100
CAPACITIES = (50, 500, 5000)
ITEMS = (300, 1500, 4500)  # a filter that can grow gets more than it was made for
FLUSH_EVERY = 40  # generations
SAVE_EVERY = 15


class Wrong(AssertionError):
    pass


class Client:
    """A connection whose commands are sent together."""

    def __init__(self, port):
        self.socket = socket.create_connection((HOST, port), timeout=REPLY_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = hiredis.Reader()

    def send(self, *commands):
        self.socket.sendall(b"".join(encode(*command) for command in commands))

    def reply(self):
        while (reply := self.reader.gets()) is False:
            received = self.socket.recv(1 << 16)
            if not received:
                raise Wrong("the server closed the connection")
            self.reader.feed(received)
        return reply

    def run(self, *commands):
        """Returns the replies, none of which may be an error."""
        self.send(*commands)
        replies = [self.reply() for _ in commands]
        for command, reply in zip(commands, replies):
            if isinstance(reply, hiredis.ReplyError):
                raise Wrong(f"{' '.join(map(str, command))[:200]} was answered with {reply}")
        return replies

    def close(self, reset=False):
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Filter:
    """A filter that is there, and the items that must be found in it: those whose addition was answered with 1."""

    def __init__(self, name, row, size):
        self.name, self.row, self.size = name, row, size
        self.items = []
        self.next = 0

    def reserve(self):
        if self.row["name"] == "rediscuckoo":
            return "CF.RESERVE", self.name, max(8, CAPACITIES[self.size])
        capacity = CAPACITIES[self.size] if self.row["grows"] else 2 * ITEMS[self.size]
        return ("BF.RESERVE", self.name, 0.01, capacity, "TYPE", self.row["name"], *needed_options(self.row["name"]))

    def new_items(self, count):
        first, self.next = self.next, self.next + count
        return [b"%b/%d" % (self.name.encode(), number) for number in range(first, self.next)]

    def add_many(self, items):
        prefix = ("CF.INSERT", self.name, "ITEMS") if self.row["name"] == "rediscuckoo" else ("BF.MADD", self.name)
        return prefix + tuple(items)

    def verb(self, name):
        return ("CF." if self.row["name"] == "rediscuckoo" else "BF.") + name


class Churn:
    """A load for one server or engine. `done` counts what was done, by name."""

    def __init__(self, server, seed):
        self.server = server
        self.random = random.Random(seed)
        self.client = Client(server.port)
        self.done = collections.Counter()
        self.filters = {}
        self.made = 0

    def run(self, *commands):
        self.done["commands"] += len(commands)
        return self.client.run(*commands)

    def some(self, count):
        return self.random.sample(list(self.filters.values()), min(count, len(self.filters)))

    def new_name(self):
        self.made += 1
        return f"churn:{self.made}"

    def generation(self):
        self.make()
        steps = [self.add_singles, self.look_up, self.remove_items, self.rename, self.copy, self.clear, self.dump,
                 self.transact, self.visit, self.listen, self.follow]
        self.random.shuffle(steps)
        for step in steps:
            step()
        self.thin_out()
        self.done["generations"] += 1
        if self.done["generations"] % SAVE_EVERY == 0:
            self.save()
        if self.done["generations"] % FLUSH_EVERY == 0:
            self.flush()

    def make(self):
        fresh = [Filter(self.new_name(), self.random.choice(TABLE), self.random.choices((0, 1, 2), (8, 3, 1))[0])
                 for _ in range(MADE)]
        self.run(*(each.reserve() for each in fresh))
        self.done["filters"] += len(fresh)
        for each in fresh:
            self.filters[each.name] = each
            self.add(each, ITEMS[each.size])

    def add(self, target, count):
        """Adds new items, a hundred per command, and remembers those that are promised."""
        items = target.new_items(count)
        groups = [items[first:first + ITEMS_PER_COMMAND] for first in range(0, count, ITEMS_PER_COMMAND)]
        for group, reply in zip(groups, self.run(*(target.add_many(group) for group in groups))):
            target.items += [item for item, added in zip(group, reply) if added == 1]
        self.done["items"] += count

    def add_singles(self):
        for target in self.some(4):
            items = target.new_items(SINGLES // 8)
            if target.next > 2 * ITEMS[target.size]:
                continue  # one that cannot grow would be full
            replies = self.run(*((target.verb("ADD"), target.name, item) for item in items))
            target.items += [item for item, added in zip(items, replies) if added == 1]
            self.done["items"] += len(items)

    def look_up(self):
        for target in self.some(8):
            asked = self.random.sample(target.items, min(SINGLES // 16, len(target.items)))
            self.check(target, asked, self.run(*((target.verb("EXISTS"), target.name, item) for item in asked)))
        for target in self.some(8):
            asked = self.random.sample(target.items, min(500, len(target.items)))
            if asked:
                self.check(target, asked, self.run((target.verb("MEXISTS"), target.name, *asked))[0])

    def check(self, target, asked, replies):
        self.done["lookups"] += len(asked)
        missing = [item for item, found in zip(asked, replies) if found != 1]
        if missing:
            raise Wrong(f"a false negative: {target.row['name']} filter {target.name} does not find {missing[:5]}, "
                        f"{len(missing)} of {len(asked)}")

    def remove_items(self):
        for target in self.some(10):
            if target.row["removes"] and target.items:
                gone = target.items[::5]
                target.items = [item for position, item in enumerate(target.items) if position % 5]
                self.run(*((target.verb("DEL"), target.name, item) for item in gone[:SINGLES // 10]))

    def rename(self):
        for target in self.some(2):
            name = self.new_name()
            self.run(("RENAME", target.name, name))
            del self.filters[target.name]
            target.name = name
            self.filters[name] = target

    def copied(self, target):
        """Another name for the same content; what is removed from one is still in the other."""
        copy = Filter(self.new_name(), target.row, target.size)
        copy.items = list(target.items)
        copy.next = 2 * ITEMS[target.size]  # nothing is added to it
        self.filters[copy.name] = copy
        self.done["filters"] += 1
        return copy.name

    def copy(self):
        for target in self.some(2):
            self.run(("COPY", target.name, self.copied(target)))

    def clear(self):
        for target in self.some(1):
            if target.row["name"] != "rediscuckoo":
                self.run(("BF.CLEAR", target.name))
                target.items = []

    def dump(self):
        dump, *restore = "BF.DUMP", "BF.RESTORE"
        if on_engine() and self.random.random() < 0.5:
            dump, *restore = "DUMP", "RESTORE", 0
        for target in self.some(2):
            (content,) = self.run((dump, target.name))
            self.run((restore[0], self.copied(target), *restore[1:], content))

    def transact(self):
        for target in self.some(2):
            self.run(("WATCH", target.name), ("MULTI",), (target.verb("EXISTS"), target.name, "a"),
                     ("PEXPIRE", target.name, 3_600_000), ("PERSIST", target.name),
                     ("EXEC",) if self.random.random() < 0.7 else ("DISCARD",))

    def visit(self):
        """Clients that come, ask and leave: in order, at once, with a reset, or in the middle of a command."""
        for target in self.some(6):
            visitor = Client(self.server.port)
            self.done["connections"] += 1
            manner = self.random.randrange(4)
            asked = [(target.verb("EXISTS"), target.name, item) for item in target.items[:20]]
            if manner == 0:
                self.check(target, target.items[:20], visitor.run(*asked))
                visitor.run(("QUIT",))
            elif manner == 1:
                visitor.send(*asked, ("INFO",))  # and does not read the replies
            elif manner == 2:
                visitor.socket.sendall(b"*3\r\n$9\r\nBF.EXISTS\r\n$100000\r\nhalf")
            visitor.close(reset=manner != 0 and self.random.random() < 0.5)
            self.done["commands"] += len(asked)

    def listen(self):
        """A subscriber and a monitor, who leave with or without having read."""
        subscriber, monitor = Client(self.server.port), Client(self.server.port)
        self.done["connections"] += 2
        subscriber.run(("SUBSCRIBE", f"channel:{self.made}"))
        subscriber.run(("PSUBSCRIBE", "__key*"))
        monitor.run(("MONITOR",))
        self.run(*(("PUBLISH", f"channel:{self.made}", b"x" * 100) for _ in range(20)))
        if self.random.random() < 0.5 and subscriber.reply()[0] not in (b"message", b"pmessage"):
            raise Wrong("a subscriber got something else than a message")
        for client in (subscriber, monitor):
            client.close(reset=self.random.random() < 0.5)

    def follow(self):
        for target in self.some(1):
            iterator = 0
            while True:
                iterator, _, position = self.run(("BF.FOLLOW", target.name, iterator))[0]
                if iterator == 0:
                    break
            if target.row["name"] != "rediscuckoo" and target.next + 10 < 2 * ITEMS[target.size]:
                self.add(target, 10)
            self.run(("BF.CHANGES", target.name, position))
            self.done["followed"] += 1

    def thin_out(self):
        """The oldest go, by expiry or by a command."""
        for name in list(self.filters)[:max(0, len(self.filters) - LIVE)]:
            del self.filters[name]
            if self.random.random() < 0.5:
                self.run(("PEXPIRE", name, self.random.randrange(20, 2000)))
                self.done["expired"] += 1
            else:
                self.run((self.random.choice(("DEL", "UNLINK")), name))
                self.done["deleted"] += 1

    def save(self):
        self.done["commands"] += 1
        self.client.send(("BGSAVE",))
        self.client.reply()  # an error if one is in progress
        self.done["saves"] += 1

    def flush(self):
        self.run(("FLUSHALL", self.random.choice(("SYNC", "ASYNC"))))
        self.filters.clear()
        self.done["flushes"] += 1
