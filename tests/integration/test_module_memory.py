"""What small filters take of the memory: at most what RedisBloom's own do, and as much as MEMORY USAGE reports."""

import os
import unittest

from engine import EngineTest, main
from filter_types import type_names

FILTERS = 5_000
NAME = "filter:%06d"

# What RedisBloom's module takes for a filter with its name, measured in these engines: bytes per key, with a name of
# 13 bytes. Its default Bloom filter has blocks of 32, 64 and 160 bytes, its default cuckoo filter of 48, 16 and 1024.
REDISBLOOM = {"BF.ADD": 346, "CF.ADD": 1183}
# Of jemalloc, that RedisBloom's blocks are rounded up to; what comes to them is the engine's, the same for both.
BLOCKS = {
    ("BF.RESERVE", 0.01, 1000): 32 + 64 + 1536,
    ("BF.RESERVE", 0.001, 100): 32 + 64 + 224,
    ("BF.RESERVE", 0.01, 742): 32 + 64 + 1024,
    ("CF.RESERVE", 64): 48 + 16 + 64,
    ("CF.RESERVE", 4096): 48 + 16 + 4096,
    ("BF.ADD",): 32 + 64 + 160,
    ("CF.ADD",): 48 + 16 + 1024,
}


@unittest.skipIf("BITSIEVE_PRELOAD" in os.environ, "a sanitizer takes the memory, and the engine does not count it")
class MemoryTest(EngineTest):
    def per_key(self, client, *command):
        """The bytes that a key takes of used_memory, and what MEMORY USAGE reports for one, for many keys."""
        client.execute_command("FLUSHALL", "SYNC")
        before = client.info("memory")["used_memory"]
        pipeline = client.pipeline(transaction=False)
        for i in range(FILTERS):
            name = NAME % i
            if command[0].endswith(".RESERVE"):
                pipeline.execute_command(command[0], name, *command[1:])
                pipeline.execute_command(command[0][:3] + "ADD", name, "item")
            else:
                pipeline.execute_command(command[0], name, *(command[1:] or ["item"]))
        pipeline.execute()
        taken = (client.info("memory")["used_memory"] - before) / FILTERS
        return taken, client.execute_command("MEMORY", "USAGE", NAME % 7)

    def test_small_filters_of_redisblooms_types_take_no_more_than_redisblooms(self):
        engine = self.make_engine(bf_default_type="redisbloom")
        client = self.client(engine)
        string, _ = self.per_key(client, "SET", "x" * 20)
        of_key = string - 48 + 32  # an embedded string's block; a module's value has two of 16 bytes
        for command, blocks in BLOCKS.items():
            with self.subTest(command=command):
                taken, _ = self.per_key(client, *command)
                self.assertLessEqual(taken, of_key + blocks + 1)
        for command, most in REDISBLOOM.items():
            with self.subTest(command=command):
                self.assertLessEqual(self.per_key(client, command)[0], most + 8)

    def test_memory_usage_is_within_a_tenth(self):
        engine = self.make_engine(bf_default_type="redisbloom")
        client = self.client(engine)
        commands = [*BLOCKS, ("BF.RESERVE", 0.01, 50, "EXPANSION", 1), ("BF.MADD", *range(300)),
                    ("CF.INSERT", "ITEMS", *range(2000))]
        for kind in type_names(by_default=True):
            commands += [("BF.RESERVE", 0.01, 100, "TYPE", kind), ("BF.RESERVE", 0.01, 2000, "TYPE", kind)]
        for command in commands:
            with self.subTest(command=command[:6]):
                taken, reported = self.per_key(client, *command)
                self.assertAlmostEqual(reported / taken, 1, delta=0.1)


if __name__ == "__main__":
    main()
