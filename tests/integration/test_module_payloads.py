"""Values for RESTORE that are right in form and wrong in content: their checksums are repaired, so that the module
reads all of them. It refuses them, or takes them for filters that work; it never dies.

BITSIEVE_FUZZ_SECONDS: how long to go on with random ones, 3 if not set. BITSIEVE_FUZZ_SEED: where to begin.
"""

import os
import pathlib
import random
import time

import redis

from engine import SYNC_SECONDS, EngineTest, main
from fake_server import read_command
from harness import wait_until
from module_filters import dump_chunks, is_frozen, make_filters
from rdb_payload import fields, payload
from redisbloom_fixtures import check, dumps, expected

SECONDS = float(os.environ.get("BITSIEVE_FUZZ_SECONDS", "3"))
SEED = int(os.environ.get("BITSIEVE_FUZZ_SEED", "1"))
EDGES = (0, 1, 2, 3, 63, 64, 255, 256, 65535, 65536, 2**31, 2**32 - 1, 2**32, 2**47, 2**50, 2**63, 2**64 - 1)


def own_version(key_type):
    """The encoding version of values of a type; filters of valkey-bloom's are saved as there."""
    return 1 if key_type == b"bloomfltr" else 256


class PayloadsTest(EngineTest):
    def test_what_is_taken_apart_is_put_together(self):
        engine = self.make_engine()
        client = self.client(engine)
        names = make_filters(client)
        wait_until(lambda: is_frozen(client, "frozen"), SYNC_SECONDS, "the filter is frozen, and so is its copy")
        for name in names:
            version, content = fields(client.dump(name))
            key_type = client.type(name)
            self.assertEqual(version, own_version(key_type))
            client.restore("copy", 0, payload(key_type.decode(), version, content), replace=True)
            self.assertEqual(*(client.execute_command("DEBUG", "DIGEST-VALUE", each)
                               for each in ("copy", self.without_expiry(client, name))))

    @staticmethod
    def without_expiry(client, name):
        client.persist(name)
        return name

    def test_values_of_older_redisblooms(self):
        engine = self.make_engine()
        client = self.client(engine)
        expectation = expected("bloom")["b:e2"]
        version, content = fields(dumps()["b:e2"])
        self.assertEqual(version, 4)
        items, count, options, growth, *rest = content
        for older, head in ((4, [items, count, options, growth]), (3, [items, count, options]),
                            (2, [items, count, options])):
            with self.subTest(version=older):
                client.restore("b:e2", 0, payload("MBbloom--", older, head + rest), replace=True)
                check(self, client, "b:e2", expectation)
        drifted = [items + 5, count, options, growth] + rest
        drifted[-1] += 10**6  # items of the last sub-filter: more than its capacity
        client.restore("drifted", 0, payload("MBbloom--", 4, drifted))
        found = client.execute_command("BF.MEXISTS", "drifted", *(f"o-b:e2:{item}" for item in range(900)))
        self.assertEqual(sum(found), 900)
        client.save()
        engine.restart()
        client = self.client(engine)
        self.assertEqual(client.execute_command("BF.EXISTS", "drifted", "o-b:e2:1"), 1)
        self.assert_loads_again(client, "drifted")

    def test_filters_whose_chunks_have_not_all_come_load_again(self):
        engine = self.make_engine(appendonly="yes")
        client = self.client(engine)
        client.restore("whole", 0, dumps()["b:e2"])
        for cursor, chunk in list(dump_chunks(client, "whole"))[:2]:
            client.execute_command("BF.LOADCHUNK", "half", cursor, chunk)
        self.assert_loads_again(client, "half")
        client.bgrewriteaof()
        wait_until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0, SYNC_SECONDS, "it is rewritten")
        engine.restart()
        self.assert_loads_again(self.client(engine), "half")

    def assert_loads_again(self, client, name):
        chunks = list(dump_chunks(client, name))
        client.delete("again")
        for cursor, chunk in chunks:
            client.execute_command("BF.LOADCHUNK", "again", cursor, chunk)
        self.assertEqual(list(dump_chunks(client, "again")), chunks)
        client.restore("again", 0, client.dump(name), replace=True)
        self.assertEqual(list(dump_chunks(client, "again")), chunks)

    def test_versions_that_are_not_known(self):
        engine = self.make_engine()
        client = self.client(engine)
        _, content = fields(dumps()["c:auto"])
        for name, version, words in (("MBbloomCF", 3, content), ("MBbloomCF", 5, content), ("MBbloom--", 300, content),
                                     ("MBbloom--", 256, [2, 0, 5, b"hello"]), ("MBbloom--", 256, [1, 0, 0])):
            with self.subTest(version=version), self.assertRaises(redis.ResponseError):
                client.restore("k", 0, payload(name, version, words))
        client.execute_command("BF.ADD", "bloom", "a")
        with self.assertRaises(redis.ResponseError):  # a Bloom filter in the other data type
            client.restore("k", 0, payload("MBbloomCF", 256, fields(client.dump("bloom"))[1]))

    def mutate(self, chance, content):
        content = list(content)
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            at = chance.randrange(len(content))
            field = content[at]
            if isinstance(field, float):
                content[at] = chance.choice((0.0, -1.0, 1.0, 0.5, 1e-300, 1e300, float("inf"), float("nan"), field * 2))
            elif isinstance(field, int):
                content[at] = chance.choice((*EDGES, field ^ 1 << chance.randrange(64), (field + 1) % 2**64,
                                             max(field, 1) - 1))
            else:
                content[at] = self.mutate_bytes(chance, field)
        if chance.random() < 0.1:
            del content[chance.randrange(len(content)):]
        return content

    @staticmethod
    def mutate_bytes(chance, data):
        data = bytearray(data)
        how = chance.randrange(4)
        if how == 0:
            return bytes(data[:chance.randrange(len(data) + 1)])
        if how == 1:
            return bytes(data) + chance.randbytes(chance.randrange(1, 100))
        for _ in range(chance.choice((1, 3, 20))):
            if data:
                # The beginning, where the numbers are, more often than the bits.
                at = chance.randrange(min(len(data), 120) if chance.random() < 0.7 else len(data))
                data[at] = chance.choice((0, 1, 255, chance.randrange(256)))
        return bytes(data)

    def test_random_changes(self):
        engine = self.make_engine()
        client = self.client(engine)
        seeds = []
        for name in make_filters(client):
            version, content = fields(client.dump(name))
            seeds.append((client.type(name).decode(), version, content))
        for name, data in dumps().items():
            if len(data) < 10_000 and name[:2] in ("b:", "c:"):
                seeds.append(("MBbloomCF" if name.startswith("c:") else "MBbloom--", *fields(data)))
        client.flushall()
        chance = random.Random(SEED)
        end = time.monotonic() + SECONDS
        tried = taken = 0
        while time.monotonic() < end:
            name, version, content = chance.choice(seeds)
            if version < 256 and chance.random() < 0.2:
                version = chance.randrange(5)
            data = payload(name, version, self.mutate(chance, content))
            tried += 1
            try:
                client.restore("k", 0, data, replace=True)
                taken += 1
                self.use(client)
            except redis.ResponseError:
                pass
            except redis.ConnectionError:
                engine.check_alive()
                self.fail(f"the engine closed the connection at {data!r}")
        print(f"{tried} payloads, {taken} of them taken", flush=True)
        engine.check_alive()
        self.assertGreater(tried, 100)
        client.save()

    @staticmethod
    def use(client):
        """What was taken is a filter."""
        add, find = ("CF.ADD", "CF.EXISTS") if client.type("k") == b"MBbloomCF" else ("BF.ADD", "BF.EXISTS")
        try:
            client.execute_command(add, "k", "item")
        except redis.ResponseError:
            return  # it is full, or frozen
        assert client.execute_command(find, "k", "item") == 1
        client.copy("k", "copy", replace=True)

    def test_random_parameters(self):
        engine = self.make_engine(appendonly="yes", aof_use_rdb_preamble="no", appendfsync="no",
                                  bf_max_filter_bytes="64mb")
        client = self.client(engine)
        seeds = self.parameters(engine)
        chance = random.Random(SEED)
        end = time.monotonic() + SECONDS / 2
        made = 0
        while time.monotonic() < end:
            data = self.mutate_bytes(chance, chance.choice(seeds))
            try:
                client.execute_command("BF.MADE", "k", data)
                made += 1
                self.use(client)
            except redis.ResponseError:
                pass
        engine.check_alive()
        print(f"{made} filters of random parameters", flush=True)
        self.assertGreater(made, 10)

    def parameters(self, engine):
        """As the log has them."""
        client = self.client(engine)
        make_filters(client)
        client.flushall()
        found = set()
        for path in pathlib.Path(engine.directory, "appendonlydir").glob("*.incr.aof"):
            with open(path, "rb") as log:
                while words := read_command(log):
                    if words[0] == b"BF.MADE":
                        found.add(words[2])
        self.assertGreater(len(found), 20)
        return sorted(found)


if __name__ == "__main__":
    main()
