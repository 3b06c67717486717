"""RedisBloom's sketches on the module under random commands: each reply and each value is that of the model."""

import base64
import contextlib
import math
import random

from engine import EngineTest, main
from harness import encode
from module_sketches import content, expected, golden_dumps
from rdb_payload import fields, payload
from sketch_model import CountMin, Error, TDigest, TopK, execute

COMMANDS = 20_000  # of each family
BATCH = 250
KEYS = ("a", "b", "c", "d", "e")
WRONG_NUMBERS = ("x", "", "-1", "0", "1", "+1", " 1", "1 ", "01", "-0", "1.5", "1e3", "nan", "-nan", "inf", "-inf",
                 "0x", "1e400", "1e-400", b"1\0", "2000000000000000000000", "18446744073709551616",
                 "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "none",
                 "WEIGHTS", "override", "Compression")
OTHERS = (("CMS.INITBYDIM", 2, 2), ("TOPK.RESERVE", 2), ("TDIGEST.CREATE",))
ITEMS = ("", "a", "b", "c", "item", b"a\0", b"a\0b", b"a\0c", b"\0", b"\xff\r\n", "x" * 100, *range(8))


# ---- commands

class Commands:
    """Random commands on few keys, right and wrong ones. KINDS: how often each method gives the next one. What would
    take much memory takes so much that it is refused, also with one word spoiled."""

    def __init__(self, seed, keys):
        self.random, self.keys = random.Random(seed), keys

    def next(self):
        pick = self.random.random()
        if pick < 0.02:
            key = self.random.choice(KEYS)
            name, *rest = self.random.choice(OTHERS)
            return self.random.choice([("DEL", key)] * 4 + [("SET", key, "text"), (name, key, *rest)])
        kinds = self.KINDS
        words = getattr(self, self.random.choices(list(kinds), list(kinds.values()))[0])()
        return self.spoiled(words) if pick < 0.12 else words

    def spoiled(self, words):
        """With a word that is wrong, missing or too many."""
        words, at = list(words), self.random.randrange(1, len(words))
        wrong = self.random.choice(WRONG_NUMBERS)
        words[at:at + self.random.choice((0, 1, 1, 1))] = self.random.choice(([wrong], [wrong], [wrong], []))
        return words

    def key(self, *, free=False):
        """One that a sketch of the family has, or with `free` none, but not always."""
        fitting = [key for key in KEYS if (key.encode() not in self.keys if free else
                                           isinstance(self.keys.get(key.encode()), self.FAMILY))]
        if fitting and self.random.random() < 0.8:
            return self.random.choice(fitting)
        return self.random.choice((*KEYS, "none"))

    def some(self, choose, most):
        return [choose() for _ in range(self.random.randint(1, most))]

    def item(self):
        return self.random.choice(ITEMS)

    def items(self, name):
        return name, self.key(), *self.some(self.item, 4)

    def pairs(self, name, most=4):
        pairs = self.some(lambda: (self.item(), self.increment()), most)
        return name, self.key(), *(word for pair in pairs for word in pair)

    def case(self, word):
        return self.random.choice((word, word.lower(), word.title()))


class CountMinCommands(Commands):
    FAMILY = CountMin
    KINDS = {"by_dimensions": 6, "by_probability": 3, "increase": 30, "query": 20, "merge": 20, "info": 5}

    def by_dimensions(self):
        width, depth = self.random.choice((*[(2, 2), (7, 2)] * 8, (1, 1), (50, 3), (2**61, 2), (2**62, 2), (2**62, 1)))
        return "CMS.INITBYDIM", self.key(free=True), width, depth

    def by_probability(self):
        error = self.random.choice((0.5, 0.3, 0.1, "0.9999", "1e-14", "2e-18", "0", "1", ".5"))
        probability = self.random.choice((0.5, 0.25, 0.1, 1e-9, "0.999999999", "1e-30", 1))
        return "CMS.INITBYPROB", self.key(free=True), error, probability

    def increment(self):
        large = (2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1, 2**33 + 7, 2**62, 2**63 - 1)
        return self.random.choice(large) if self.random.random() < 0.003 else self.random.randint(0, 20)

    def increase(self):
        return self.pairs("CMS.INCRBY")

    def query(self):
        return self.items("CMS.QUERY")

    def weight(self):
        return self.random.choice((0, 1, 1, 1, 2, 3, -1, -2, 1000, 2**32, 2**63 - 1, -2**63))

    def source(self, target):
        """A sketch of the target's shape, but not always."""
        shape = getattr(self.keys.get(target.encode()), "shape", None)
        fitting = [key for key in KEYS if shape and getattr(self.keys.get(key.encode()), "shape", None) == shape]
        return self.random.choice(fitting) if fitting and self.random.random() < 0.9 else self.key()

    def merge(self):
        target = self.key()
        keys = ["weights"] * 2 if self.random.random() < 0.02 else self.some(lambda: self.source(target), 3)
        weights = [self.weight() for _ in keys]
        if self.random.random() < 0.2:  # the sum is the sketch itself, if no step to it is too large
            power = 2**self.random.randint(30, 62)
            weights = self.random.choice(([power] * 3 + [-power] * 2 + [1 - power], [-power, 2 * power, 1 - power]))
            keys = keys[:1] * len(weights)
        words = ["CMS.MERGE", target, len(keys), *keys]
        return words if self.random.random() < 0.4 else [*words, self.case("WEIGHTS"), *weights]

    def info(self):
        return "CMS.INFO", self.key()


class TopKCommands(Commands):
    FAMILY = TopK
    KINDS = {"reserve": 8, "add": 30, "increase": 20, "query": 12, "count": 12, "list": 15, "info": 3}

    def reserve(self):
        if self.random.random() < 0.1:
            k, width = self.random.choice(((2**32 - 1, 8), (2**32 - 1, 2**32), (2**32, 8)))
            return "TOPK.RESERVE", self.key(free=True), k, width, self.random.choice((2**32 - 1, 2**32)), 0.9
        shape = (self.random.choice(choices) for choices in ((1, 2, 3, 5, 9), (1, 2, 3, 8), (1, 2, 3)))
        decay = self.random.choice((1, 0.999, 0.99, 0.9, 0.9, 0.5, "1e-300", "0", "1.0000001", ".9", "inf"))
        return "TOPK.RESERVE", self.key(free=True), *self.random.choice(((*shape, decay), (3,)))

    def increment(self):
        pick = self.random.random()
        if pick < 0.02:
            return self.random.choice((-1, 100_001, 2**32, "x"))
        return self.random.choice((300, 1000, 100_000)) if pick < 0.03 else self.random.randint(0, 10)

    def add(self):
        return self.items("TOPK.ADD")

    def increase(self):
        return self.pairs("TOPK.INCRBY", 3)

    def query(self):
        return self.items("TOPK.QUERY")

    def count(self):
        return self.items("TOPK.COUNT")

    def list(self):
        words = (*[None, "WITHCOUNT"] * 4, "", "w", "W", "With", "withcount", "WITHCOUNTS", "x", b"w\0")
        keyword = self.random.choice(words)
        return ("TOPK.LIST", self.key()) if keyword is None else ("TOPK.LIST", self.key(), keyword)

    def info(self):
        return "TOPK.INFO", self.key()


class TDigestCommands(Commands):
    FAMILY = TDigest
    KINDS = {"create": 6, "reset": 1, "add": 25, "merge": 12, "quantile": 8, "cdf": 10, "rank": 10, "by_rank": 10,
             "trimmed_mean": 6, "end": 4, "info": 6}
    MOST_WEIGHT = 2**40  # digests with sums that a double cannot have are not to be compared

    def next(self):
        heavy = [key for key, digest in self.keys.items()
                 if isinstance(digest, TDigest) and digest.total > self.MOST_WEIGHT]
        return ("DEL", heavy[0]) if heavy else super().next()

    def compression(self):
        return self.random.choice((1, 2, 3, 5, 10, 10, 20, 50, 100, 357_913_940, 2**32))

    def create(self):
        words = ["TDIGEST.CREATE", self.key(free=True)]
        if self.random.random() < 0.8:
            words += [self.case("COMPRESSION"), self.compression()]
        return words

    def reset(self):
        return "TDIGEST.RESET", self.key()

    def number(self):
        pick = self.random.random()
        if pick < 0.5:
            return self.random.randint(-5, 30)
        if pick < 0.6:
            return self.random.choice(("1e250", "-1e250", "5e-324", "-1e-310", ".5", "1.", "-0", "+3", "1E2"))
        return self.random.gauss(10, 10)

    def add(self):
        return "TDIGEST.ADD", self.key(), *self.some(self.number, self.random.choice((1, 3) * 10 + (60,) * 5 + (1000,)))

    def merge(self):
        keys = self.some(self.key, 3)
        words = ["TDIGEST.MERGE", self.key(), len(keys), *keys]
        pick = self.random.random()
        if pick < 0.5:
            words += [self.case("COMPRESSION"), self.compression()]
        if pick < 0.25 or pick > 0.8:
            words.insert(self.random.choice((3 + len(keys), len(words))), self.case("OVERRIDE"))
        if pick < 0.02:
            words.append(self.random.choice(("COMPRESSION", "override", "other")))
        return words

    def share(self):
        anywhere = self.random.random()
        return self.random.choice((0, 1, 0.5, anywhere, anywhere ** 4, round(anywhere, 1)))

    def quantile(self):
        return "TDIGEST.QUANTILE", self.key(), *self.some(self.share, 5)

    def observation(self):
        return self.random.choice(("inf", "-inf", *[self.number()] * 8))

    def cdf(self):
        return "TDIGEST.CDF", self.key(), *self.some(self.observation, 5)

    def rank(self):
        return self.random.choice(("TDIGEST.RANK", "TDIGEST.REVRANK")), self.key(), *self.some(self.observation, 5)

    def rank_number(self):
        return self.random.choice((0, 1, 2, self.random.randint(0, 30), self.random.randint(0, 3000), 2**63 - 1))

    def by_rank(self):
        return self.random.choice(("TDIGEST.BYRANK", "TDIGEST.BYREVRANK")), self.key(), *self.some(self.rank_number, 5)

    def trimmed_mean(self):
        shares = [self.share(), self.share()]
        return "TDIGEST.TRIMMED_MEAN", self.key(), *(sorted(shares) if self.random.random() < 0.9 else shares)

    def end(self):
        return self.random.choice(("TDIGEST.MIN", "TDIGEST.MAX")), self.key()

    def info(self):
        return "TDIGEST.INFO", self.key()


def random_digest(choose):
    """Fields of a DUMP with heavy ends, gaps and duplicates, which commands hardly make."""
    compression, count = choose.choice((1, 10, 100)), choose.randint(1, 16)
    means = sorted(float(choose.choice((choose.randint(0, 6), choose.gauss(3, 2)))) for _ in range(count))
    weights = [float(choose.choice((1, 1, 1, 2, 2, 3, 4, 10))) for _ in means]
    low, high = means[0] - choose.choice((0, 0, 0.5, 1)), means[-1] + choose.choice((0, 0, 1, 2.5))
    return [float(compression), low, high, 6 * compression + 10, count, 0, 1, sum(weights), 0.0, *means, *weights]


# ---- replies

def read_reply(file):
    """The next reply, as the model gives it but for what a version of the protocol has not."""
    line = file.readline()
    kind, text = line[:1], line[1:-2]
    if kind == b"+":
        return text.decode()
    if kind == b"-":
        return Error(text.decode())
    if kind == b":":
        return int(text)
    if kind == b",":
        return float(text)
    if kind == b"#":
        return text == b"t"
    if kind == b"_" or text == b"-1":
        return None
    if kind == b"$":
        return file.read(int(text) + 2)[:-2]
    if kind == b"*":
        return [read_reply(file) for _ in range(int(text))]
    if kind == b"%":
        return {read_reply(file): read_reply(file) for _ in range(int(text))}
    raise AssertionError(f"no reply begins so: {line!r}")


def in_resp2(reply):
    """A reply of the model without what RESP2 has not; doubles stay."""
    if isinstance(reply, dict):
        return [each for pair in reply.items() for each in pair]
    if isinstance(reply, list):
        return [in_resp2(each) for each in reply]
    return int(reply) if isinstance(reply, bool) else reply


def is_same(reply, wanted, double=float):
    """Whether the replies are the same, types too; of `wanted` the doubles are `double` in the reply."""
    if isinstance(wanted, float):
        return type(reply) is double and is_same_double(float(reply), wanted)
    if type(reply) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return list(reply) == list(wanted) and is_same(list(reply.values()), list(wanted.values()), double)
    if isinstance(wanted, list):
        return len(reply) == len(wanted) and all(map(is_same, reply, wanted, [double] * len(wanted)))
    return reply == wanted


def is_same_double(one, other):
    return one == other or math.isnan(one) and math.isnan(other)


def from_json(reply):
    """A reply of the fixtures, where a bulk string is {"b": base64}: with doubles where it is a number."""
    if isinstance(reply, list):
        return [from_json(each) for each in reply]
    if not isinstance(reply, dict):
        return reply
    text = base64.b64decode(reply["b"])
    with contextlib.suppress(ValueError):
        return float(text)
    return text


# ---- tests

class SketchModelTest(EngineTest):
    def assert_replies(self, connection, version, commands, replies):
        connection.send(b"".join(encode(*words) for words in commands))
        for number, (words, wanted) in enumerate(zip(commands, replies)):
            reply = read_reply(connection.file)
            if not (is_same(reply, wanted) if version == 3 else is_same(reply, in_resp2(wanted), bytes)):
                before = "\n".join(map(repr, commands[max(0, number - 30):number]))
                self.fail(f"RESP{version}: {words!r} gave {reply!r}, not {wanted!r}; it came after\n{before}")

    def assert_runs_as_model(self, make_commands, seed=1):
        engine, keys = self.make_engine(), {}
        client, connections = self.client(engine), {2: engine.connect(), 3: engine.connect(3)}
        commands = make_commands(seed, keys)
        for number in range(COMMANDS // BATCH):
            version, batch, replies = 3 if number % 4 == 3 else 2, [], []
            for _ in range(BATCH):
                batch.append(commands.next())
                replies.append(execute(keys, *batch[-1]))
            self.assert_replies(connections[version], version, batch, replies)
            key = commands.random.choice(sorted(key for key, value in keys.items() if not isinstance(value, bytes)))
            dump = client.dump(key)
            self.assertEqual(content(dump)[1], keys[key].fields(), batch[-30:])
            client.restore(key, 0, dump, replace=True)

    def test_count_min_sketches(self):
        self.assert_runs_as_model(CountMinCommands)

    def test_top_k(self):
        self.assert_runs_as_model(TopKCommands)

    def test_t_digests(self):
        self.assert_runs_as_model(TDigestCommands)

    def test_restored_t_digests(self):
        engine, choose = self.make_engine(), random.Random(1)
        client, connection = self.client(engine), engine.connect(3)
        for _ in range(300):
            state = random_digest(choose)
            client.restore("k", 0, payload("TDIS-TYPE", 0, state), replace=True)
            digest = TDigest.from_fields(state)
            values = [digest.low - 1, digest.low, *(mean for mean, _ in digest.nodes), digest.high, digest.high + 1,
                      *(choose.uniform(digest.low, digest.high) for _ in range(9))]
            ranks = range(digest.total + 2)
            shares = [rank / digest.total for rank in ranks[:-1]] + [choose.random() for _ in range(9)]
            reads = [("TDIGEST.CDF", "k", *values), ("TDIGEST.RANK", "k", *values), ("TDIGEST.REVRANK", "k", *values),
                     ("TDIGEST.QUANTILE", "k", *shares), ("TDIGEST.BYRANK", "k", *ranks),
                     ("TDIGEST.BYREVRANK", "k", *ranks),
                     *(("TDIGEST.TRIMMED_MEAN", "k", *sorted(choose.sample(shares, 2))) for _ in range(9))]
            more = [choose.gauss(3, 2) for _ in range(choose.randint(1, 40))]
            commands, keys = [*reads, ("TDIGEST.ADD", "k", *more), *reads], {b"k": digest}
            self.assert_replies(connection, 3, commands, [execute(keys, *words) for words in commands])


class FixturesTest(EngineTest):
    def test_what_redisbloom_answered(self):
        """The module and the model answer so as well; in this order, since estimates change a t-digest."""
        engine, keys = self.make_engine(), {}
        client, connection = self.client(engine), engine.connect()
        for key, dump in golden_dumps().items():
            client.restore(key, 0, dump)
            kind = {"cms": CountMin, "topk": TopK, "td": TDigest}[key.split(":")[0]]
            keys[key.encode()] = kind.from_fields(fields(dump)[1])
        for command, reply in expected()["answers"]:
            connection.send(encode(*command))
            answer, wanted = read_reply(connection.file), from_json(reply)
            with self.subTest(command=command[:2]):
                self.assertTrue(is_same(answer, wanted, bytes), (answer, wanted))
                answer = in_resp2(execute(keys, *command))
                self.assertTrue(is_same(answer, wanted), (answer, wanted))


if __name__ == "__main__":
    main()
