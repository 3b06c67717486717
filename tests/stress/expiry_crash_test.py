#!/usr/bin/python3
"""A server whose items expire is killed again and again, and each item keeps the time that was acknowledged.

  expiry_crash_test.py [--rounds 100] [--seed N]

A client adds items with times of their own, renews and removes them, while the server takes snapshots. The model knows
of each item until when it is promised. After a kill -9 and a restart, an item that is promised has to be found for as
long as that, and for an epoch more at most. The command that the kill interrupted may have been done or not. Items that
a filter takes for each other are not used in it: one would be found for as long as the other.
"""

import argparse
import pathlib
import random
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from harness import PATIENCE, Server, encode  # noqa: E402

TTL_MS = 14_000  # epochs of a second; long enough that most items of a round live on
ITEMS = 2000
TOLERANCE_MS = 500 * PATIENCE  # between the clocks' readings
# Error rate, capacity and options. The first grows.
SHAPES = {"plain": ("1e-6", 300), "fixed": ("1e-6", 900, "NONSCALING"), "exact": ("1e-6", 800, "EPOCHBITS", 8),
          "kept": ("1e-6", 3000, "RENEW", "no")}


def numbers_in(reply):
    return [int(each) for each in re.findall(rb":(-?\d+)\r\n", reply)]


class Model:
    """Until when items are promised, in milliseconds of Unix time: (at least, at most)."""

    def __init__(self, name, options, items):
        self.name = name
        self.items = items
        self.renews = "no" not in options
        self.epoch_ms = TTL_MS / (250 if 8 in options else 14)
        self.until = {}
        self.promised = 0  # items that had to be there when they were looked up

    def add(self, item, earliest, latest):
        before = self.until.get(item, (0, 0))
        now = time.time() * 1000
        if before[0] > now and not self.renews:
            return  # it keeps the time that it has
        if before[1] + self.epoch_ms + TOLERANCE_MS > now and not self.renews:
            earliest = min(earliest, before[0])  # it may have been there
        self.until[item] = (max(before[0], earliest), max(before[1], latest))

    def touch(self, item, earliest, latest):
        before = self.until.get(item)
        if before:
            self.until[item] = (max(before[0], earliest) if before[0] > earliest - TTL_MS else before[0],
                                max(before[1], latest))

    def check(self, connection):
        items = sorted(self.until)
        before = time.time() * 1000
        reply = connection.command("BF.TTL", self.name, *items)
        after = time.time() * 1000
        left = numbers_in(reply)
        assert len(left) == len(items), reply[:200]
        for item, left_ms in zip(items, left):
            least, most = self.until[item]
            self.promised += least > after + TOLERANCE_MS
            if left_ms == -2:
                assert least < after + TOLERANCE_MS, f"{self.name}: {item} is missing, {least - after:.0f} ms too soon"
                continue
            over = before + left_ms - most
            assert over < self.epoch_ms + TOLERANCE_MS, f"{self.name}: {item} is kept {over:.0f} ms too long"
            assert after + left_ms > least - TOLERANCE_MS, f"{self.name}: {item} expires too soon"
        self.until = {item: until for item, until in self.until.items() if until[1] + 2 * TTL_MS > before}


def commands_of(choice, model):
    """A command, and what it does to the model, which is called with the times before and after."""
    items = choice.choices(model.items, k=choice.choice((1, 5, 40)))
    what = choice.random()
    if what < 0.7:
        ttl_ms = choice.randrange(1, TTL_MS + 1) if choice.random() < 0.7 else TTL_MS
        return ("BF.INSERT", model.name, "NOCREATE", "PX", ttl_ms, "ITEMS", *items), \
            lambda before, after: [model.add(item, before + ttl_ms, after + ttl_ms) for item in items]
    if what < 0.8:
        return ("BF.TOUCH", model.name, *items), \
            lambda before, after: [model.touch(item, before + TTL_MS, after + TTL_MS) for item in items]
    if what < 0.9:
        return ("BF.MDEL", model.name, *items), lambda before, after: [model.until.pop(item, None) for item in items]
    return ("BF.MEXISTS", model.name, *items), lambda before, after: None


def in_doubt(model, command):
    """What the kill interrupted may have been done or not: nothing is promised of its items."""
    for item in command[2:]:
        if item in model.until or str(item).startswith("i"):
            least, most = model.until.get(item, (0, 0))
            model.until[item] = (0, max(most, time.time() * 1000 + TTL_MS))


def reserve(connection, name, shape, seed):
    rate, capacity, *options = shape
    made = connection.command("BF.RESERVE", name, rate, capacity, "TYPE", "expiring", "TTL", f"{TTL_MS}ms",
                              "SEED", seed, *options)
    assert made == b"+OK\r\n", made


def items_apart(connection, shape, seed):
    """Items of which a filter takes none for another: in its first table, whose fingerprints are the shortest."""
    items = [f"i{i}" for i in range(ITEMS)]
    alike = set()
    chunk = 100  # few enough for the first table
    for first in range(0, ITEMS, chunk):
        added, others = items[first:first + chunk], items[:first] + items[first + chunk:]
        reserve(connection, "trial", shape, seed)
        new = numbers_in(connection.command("BF.MADD", "trial", *added))
        found = numbers_in(connection.command("BF.MEXISTS", "trial", *others))
        assert len(new) == len(added) and len(found) == len(others)
        alike |= {item for item, is_new in zip(added, new) if not is_new}
        alike |= {item for item, is_found in zip(others, found) if is_found}
        connection.command("DEL", "trial")
    assert len(alike) < ITEMS / 100, f"false positives at more than the requested rate: {sorted(alike)}"
    return [item for item in items if item not in alike]


def run(rounds, seed):
    choice = random.Random(seed)
    server = Server(appendonly="yes", appendfsync="always", save_interval=1).start()
    models = []
    with server.connect() as connection:
        for name, shape in SHAPES.items():
            filter_seed = choice.randrange(1 << 64)
            models.append(Model(name, shape[2:], items_apart(connection, shape, filter_seed)))
            reserve(connection, name, shape, filter_seed)
    done = 0
    for _ in range(rounds):
        with server.connect() as connection:
            for model in models:
                model.check(connection)
            for _ in range(choice.randrange(20, 200)):
                model = choice.choice(models)
                command, effect = commands_of(choice, model)
                before = time.time() * 1000
                reply = connection.command(*command)
                assert b"-ERR" not in reply or b"full" in reply, (command[:4], reply[:200])
                if b"full" not in reply:
                    effect(before, time.time() * 1000)
                else:
                    in_doubt(model, command)
                done += 1
            model = choice.choice(models)
            command, _ = commands_of(choice, model)
            connection.send(encode(*command))
            if choice.random() < 0.5:
                time.sleep(choice.random() / 50)
        server.kill()
        in_doubt(model, command)  # it was done before the server ended, if at all
        if choice.random() < 0.3:
            time.sleep(choice.random())
        server.start()
    with server.connect() as connection:
        for model in models:
            model.check(connection)
        deadline = time.monotonic() + 3 * TTL_MS / 1000
        while any(connection.command("BF.CARD", model.name) != b":0\r\n" for model in models):
            assert time.monotonic() < deadline, "items are left when all are over"
            time.sleep(0.1)
    server.stop()
    promised = sum(model.promised for model in models)
    assert promised > 100 * rounds, promised
    print(f"{rounds} rounds, {done} commands; {promised} lookups of promised items: each kept its time")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    run(arguments.rounds, arguments.seed)


if __name__ == "__main__":
    main()
