"""Random command streams on few keys and few items: what is sent next may depend on the replies so far."""

import collections
import random
from typing import NamedTuple

from filter_types import TABLE, needed_options
from harness import as_bytes
from replies import elements, parsed
from sketch_model import execute
from test_module_sketch_model import CountMinCommands, TDigestCommands, TopKCommands
from subjects import ITERATOR, OWN_ITERATORS
from values import (BLOOM_KEYS, BLOOM_PAYLOADS, CUCKOO_KEYS, CUCKOO_PAYLOADS, DATA, EDGES, LOADS, ORDINARY, TIMED_KEYS,
                    WRONG)

SKETCHES = {"CMS": CountMinCommands, "TOPK": TopKCommands, "TDIGEST": TDigestCommands}
WEIGHTS = {"BF.ADD": 8, "BF.MADD": 10, "BF.INSERT": 8, "BF.RESERVE": 8, "BF.EXISTS": 8, "BF.MEXISTS": 10, "BF.INFO": 9,
           "CF.ADD": 8, "CF.ADDNX": 6, "CF.INSERT": 8, "CF.INSERTNX": 5, "CF.RESERVE": 4, "CF.EXISTS": 4,
           "CF.MEXISTS": 6, "CF.COUNT": 6, "CF.DEL": 10, "CF.INFO": 3,
           "BF.SCANDUMP": 0.3, "BF.FOLLOW": 0.5, "BF.FREEZE": 0.5}
OPTION_SHARES = {"BF.INFO": 0.8}
FAR = "4102444800000"  # a time of Unix in milliseconds that no test reaches
TIMED_TYPES = [row["name"] for row in TABLE if row["needs"]]
SPOILED, EDGE, PIPELINED, TRANSACTION, RESP3 = 0.06, 0.04, 0.5, 0.05, 0.3
MOST_IN_BATCH = 40
MOST_PLANNED = 20  # commands, with which no further dump begins


class Step(NamedTuple):
    """Commands that are sent at once on a connection of this version of the protocol."""
    version: int
    commands: tuple


class FilterStream:
    """Commands of the given syntax.

    types: of new filters, besides the default; empty for none
    other_values: whether keys can hold strings
    bitsieve_only: whether only Bitsieve's servers are compared, which have COPY and RESTORE of filters
    seeded_default: whether servers make the same filter of the same command, without SEED
    """

    def __init__(self, seed, syntax, types=(), *, other_values=False, bitsieve_only=False, seeded_default=True):
        self.random, self.syntax, self.types = random.Random(seed), syntax, types
        self.other_values, self.bitsieve_only, self.seeded_default = other_values, bitsieve_only, seeded_default
        self.names = [name for name in syntax if not name.startswith("BF.LOAD") and name != "BF.RESTORE"]
        self.weights = [WEIGHTS.get(name, 1.5) for name in self.names]
        self.planned = collections.deque()  # commands of a dump and of its load
        self.chunks = {}  # of a dump in progress, by key
        self.dumps = collections.deque(maxlen=4)

    # ---- what is sent

    def next(self):
        version = 3 if self.random.random() < RESP3 else 2
        if self.planned:
            return Step(version, (self.encoded(self.planned.popleft()),))
        count = self.random.randint(2, MOST_IN_BATCH) if self.random.random() < PIPELINED else 1
        commands = self.first_commands()
        while len(commands) < count and (not commands or commands[-1][0].upper() != "BF.FREEZE"):
            commands.append(self.command())  # none after BF.FREEZE, which takes its time
        if self.random.random() < TRANSACTION:
            commands = [("MULTI",), *commands, (self.random.choice(("EXEC", "EXEC", "EXEC", "DISCARD")),)]
        return Step(version, tuple(map(self.encoded, commands)))

    def first_commands(self):
        """Where only BF.INSERT can state the seed, some filters for the other commands."""
        if self.seeded_default:
            return []
        return [("BF.INSERT", key, "SEED", ORDINARY["seed"][-1], "CAPACITY", self.random.choice(ORDINARY["capacity"]),
                 "ITEMS", "i0") for key in BLOOM_KEYS if self.random.random() < 0.7]

    @staticmethod
    def encoded(words):
        return tuple(map(as_bytes, words))

    def command(self):
        pick = self.random.random()
        if pick < 0.05:
            return self.name_command()
        if pick < 0.09:
            return self.dump_command()
        name = self.random.choices(self.names, self.weights)[0]
        key = self.key(name)
        share = OPTION_SHARES.get(name, 0.25)
        words = self.syntax[name].words(self.random, lambda argument: self.value(argument, key), share)
        words = self.completed(words, key)
        words = self.spoiled(words) if self.random.random() < SPOILED else words
        return [self.random.choice((words[0], words[0].lower())), *words[1:]]

    def key(self, name):
        pick = self.random.random()
        if name.startswith("CF.") or pick < 0.03:
            return self.random.choice(CUCKOO_KEYS if pick > 0.03 else BLOOM_KEYS)
        return self.random.choice(TIMED_KEYS if pick > 0.85 and self.types else BLOOM_KEYS)

    def value(self, argument, key):
        if argument.type == "key":
            # Further keys of a command are of the same group.
            keys = next(keys for keys in (BLOOM_KEYS, CUCKOO_KEYS, TIMED_KEYS) if key in keys)
            return key if argument.name == "key" and "multiple" not in argument.flags else self.random.choice(keys)
        if argument.name == "type":
            return self.type_for(key)
        if argument.name == "data":
            return self.random.choice(DATA)
        if argument.name not in ORDINARY:
            raise KeyError(f"values.py has no values for the argument {argument.name!r}")
        edges = EDGES.get(argument.name)
        return self.random.choice(edges if edges and self.random.random() < EDGE else ORDINARY[argument.name])

    def type_for(self, key):
        return self.random.choice([name for name in self.types if (name in TIMED_TYPES) == (key in TIMED_KEYS)])

    def completed(self, words, key):
        """With TYPE and what it needs, or with SEED, if the command makes a filter and does not have them."""
        if words[0] not in ("BF.RESERVE", "BF.INSERT"):
            return words
        at = words.index("ITEMS") if "ITEMS" in words else len(words)
        return words[:at] + self.options(words, key) + words[at:]

    def options(self, words, key):
        options = []
        if not self.types:
            lacks = words[0] == "BF.INSERT" and not self.seeded_default and "SEED" not in words
            return ["SEED", ORDINARY["seed"][-1]] if lacks else []
        if "TYPE" not in words and (key in TIMED_KEYS or self.random.random() < 0.6):
            options += ["TYPE", self.type_for(key)]
        name = (options or words)[(options or words).index("TYPE") + 1] if "TYPE" in (options or words) else None
        if name:
            options += needed_options(name)
            if "SEED" not in words and name != "redisbloom":
                options += ["SEED", self.random.choice(ORDINARY["seed"][:4])]
        return options

    def spoiled(self, words):
        """With a word that is wrong, missing or too many."""
        words, at = list(words), self.random.randrange(1, len(words))
        replacement = self.random.choice(([self.random.choice(WRONG)], [self.random.choice(WRONG)], []))
        words[at:at + self.random.choice((0, 1, 1, 1))] = replacement
        return words

    def name_command(self):
        keys = self.random.choice((BLOOM_KEYS, CUCKOO_KEYS, TIMED_KEYS))
        key, other = self.random.choice(keys), self.random.choice(keys)
        commands = [("DEL", key), ("DEL", key, other), ("UNLINK", key), ("EXISTS", key, other), ("TYPE", key),
                    ("TOUCH", key, other), ("RENAME", key, other), ("RENAMENX", key, other), ("PEXPIREAT", key, FAR),
                    ("PEXPIRETIME", key), ("PERSIST", key)]
        if self.bitsieve_only:
            payload = self.random.choice(CUCKOO_PAYLOADS if key in CUCKOO_KEYS else BLOOM_PAYLOADS)
            commands += [("COPY", key, other), ("COPY", key, other, "REPLACE"), ("RESTORE", key, 0, payload),
                         ("RESTORE", key, 0, payload, "REPLACE")]
        if self.other_values:
            commands.append(("SET", key, "text"))
        return self.random.choice(commands)

    # ---- dumps, which go from one server to all

    def dump_command(self):
        scans = [name for name in self.syntax if name.endswith(".SCANDUMP")]
        choices = [*scans, *(name for name in ("BF.DUMP", "BF.RESTORE", "BF.LOAD") if name in self.syntax)]
        name = self.random.choice(choices)
        if name == "BF.LOAD":
            return (name, self.random.choice(BLOOM_KEYS), self.random.choice(LOADS))
        if name == "BF.RESTORE":
            keys, data = self.random.choice([*self.dumps, (BLOOM_KEYS, self.random.choice(DATA))])
            return (name, self.random.choice(keys), data, *self.random.choice(((), ("REPLACE",), ("REPLACE",))))
        key = self.key(name)
        return (name, key) if name == "BF.DUMP" else (name, key, 0)

    def observe(self, step, replies):
        """Takes note of the replies of all servers: one of them is the source of what is loaded into all."""
        for number, words in enumerate(step.commands):
            name, source = words[0].upper(), self.random.choice(replies)[number]
            if name.endswith(b".SCANDUMP") and len(words) == 3:
                self.observe_chunk(name.decode(), words[1], words[2], source)
            elif name == b"BF.DUMP" and len(words) == 2 and source.startswith(b"$") and len(source) < 100_000:
                self.dumps.append((self.group_of(words[1].decode("latin-1")), parsed(source)))

    @staticmethod
    def group_of(key):
        return next((keys for keys in (CUCKOO_KEYS, TIMED_KEYS) if key in keys), BLOOM_KEYS)

    def observe_chunk(self, name, key, iterator, reply):
        if iterator == b"0" and len(self.planned) < MOST_PLANNED:
            self.chunks[key] = []
        parts = elements(reply)
        if parts is None or len(parts) != 2 or key not in self.chunks:
            return
        following, chunk = map(parsed, parts)
        if following and chunk and len(self.chunks[key]) < 50:
            self.chunks[key].append((following, chunk))
            self.planned.append((name, key, following if following < OWN_ITERATORS else ITERATOR))
        elif self.chunks[key]:
            self.plan_load(name.replace("SCANDUMP", "LOADCHUNK"), key, self.chunks.pop(key))

    def plan_load(self, name, key, chunks):
        if name not in self.syntax:
            return
        target = self.random.choice(self.group_of(key.decode("latin-1")))
        if self.random.random() < 0.9:
            self.planned.append(("DEL", target))
        for iterator, chunk in chunks:
            pick = self.random.random()
            if pick < 0.02:
                chunk = chunk[:-1] + b"x"
            elif pick < 0.04:
                iterator = self.random.choice((0, 1, iterator + 1, iterator - 1))
            if not 0.04 <= pick < 0.06:
                self.planned.append((name, target, iterator, chunk))


class SketchStream:
    """Commands of a family of sketches. A model chooses keys that fit, and is not compared with anything."""

    def __init__(self, seed, family):
        self.keys = {}
        self.commands = SKETCHES[family](seed, self.keys)

    def next(self):
        choose, commands = self.commands.random, []
        for _ in range(choose.randint(2, MOST_IN_BATCH) if choose.random() < PIPELINED else 1):
            commands.append(FilterStream.encoded(self.commands.next()))
            execute(self.keys, *commands[-1])
        return Step(3 if choose.random() < RESP3 else 2, tuple(commands))

    def observe(self, step, replies):
        """The model has all that it needs."""
