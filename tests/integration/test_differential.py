"""The comparison of servers under random commands (tests/differential): servers differ only in what docs list, another
difference would be found, and each listed difference is recognised, and no more than that."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from engine import Engine, engine_binary, module_path
from harness import HOST, PATIENCE, binary, encode, main

DIFFERENTIAL = pathlib.Path(__file__).resolve().parents[1] / "differential"
sys.path.insert(0, str(DIFFERENTIAL))

from case import Case  # noqa: E402
from dialects import DIALECTS  # noqa: E402
from differences import known_differences, unmatched  # noqa: E402
from differential_examples import EXAMPLES  # noqa: E402
from fake_reference import FakeReference  # noqa: E402
from grammar import Argument, Syntax  # noqa: E402
from replies import elements, is_error  # noqa: E402
from settled import settled, without_clock  # noqa: E402
from streams import FilterStream  # noqa: E402
from subjects import REDISBLOOM, VALKEY_BLOOM  # noqa: E402

IS_SLOW = PATIENCE > 1  # with sanitizers, where there is no time for every option
COMMANDS = 20_000 if IS_SLOW else 40_000
SECOND_ENGINE = os.environ.get("TEST_SECOND_ENGINE", "")


class Run:
    """A run of the program: its exit status, its output, and the figures of its last line."""

    def __init__(self, *arguments, seed=1, commands=COMMANDS):
        done = subprocess.run(
            [sys.executable, DIFFERENTIAL / "run.py", "--seed", str(seed), "--commands", str(commands),
             *map(str, arguments)], capture_output=True, text=True, timeout=250 * PATIENCE)
        self.status, self.output = done.returncode, done.stdout + done.stderr
        self.figures = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
        print(done.stdout.splitlines()[-1] if done.stdout else "", flush=True)


def engines():
    return [engine for engine in (engine_binary(), SECOND_ENGINE) if os.access(engine, os.X_OK)]


def with_module(*engines_):
    return ["--module", module_path(), *(word for engine in engines_ for word in ("--engine", engine))]


class RunTest(unittest.TestCase):
    def assert_same_and_complete(self, run):
        """Without an unknown difference, and each command and each option was sent."""
        self.assertEqual(run.status, 0, run.output)
        if not IS_SLOW:
            self.assertEqual(run.figures["never_generated"], [])


class Comparison(RunTest):
    def test_server_and_modules(self):
        run = Run("--server", binary(), *with_module(*engines()))
        self.assert_same_and_complete(run)
        self.assertGreaterEqual(run.figures["commands"], COMMANDS)
        self.assertLess(run.figures["not_compared"], 0.05 * run.figures["commands"])

    def test_sketches_too_in_engines(self):
        if len(engines()) < 2:
            self.skipTest("there is one engine only")
        self.assert_same_and_complete(Run(*with_module(*engines()), commands=COMMANDS // 2))


def rows_of(commands):
    """A reply to COMMAND, of which the names are read."""
    return b"*%d\r\n" % len(commands) + b"".join(encode(name) for name in commands)


class References(RunTest):
    """What stands in for another product is the module behind a server that answers some commands differently."""

    def start(self, answer, default_type="redisbloom"):
        engine = Engine(bf_default_type=default_type)
        self.addCleanup(engine.clean_up)
        engine.start()
        fake = FakeReference(engine.port, answer)
        self.addCleanup(fake.close)
        return engine, f"redis://{HOST}:{fake.port}"

    def test_a_planted_difference_is_found_and_reduced(self):
        def answer(words, ask):
            reply = ask(*words)
            return b":9\r\n" if words[0].upper() == b"CF.COUNT" and reply == b":1\r\n" else reply
        _, url = self.start(answer)
        with tempfile.TemporaryDirectory() as folder:
            run = Run("--server", binary(), "--reference", url, "--bundle", folder)
            self.assertEqual(run.status, 1, run.output)
            bundle, = pathlib.Path(folder).iterdir()
            text = bundle.read_text(encoding="utf-8")
        script = text.split("from empty servers on:\n")[1].split("\n\n")[0].splitlines()
        self.assertLessEqual(len(script), 3, text)
        self.assertRegex(script[-1], "(?i)^CF.COUNT c")
        self.assertIn(": 9\n", text)

    def test_a_lost_connection_is_a_difference(self):
        def answer(words, ask):
            if words[0].upper() == b"BF.EXISTS" and words[2:] == [b"i7"]:
                raise EOFError
            return ask(*words)
        _, url = self.start(answer)
        run = Run("--server", binary(), "--reference", url)
        self.assertEqual(run.status, 1, run.output)
        self.assertRegex(run.output, r"(?i)redis-cli, from empty servers on:\nBF.EXISTS \S+ i7(  # RESP3)?\n\n")

    def test_as_redisbloom(self):
        commands = [*DIALECTS[REDISBLOOM].commands, "SET"]

        def answer(words, ask):
            if words == [b"COMMAND"]:
                return rows_of(commands)
            reply = re.sub(rb"; usage: [^\r]*", b"", ask(*words))
            return b"+OK\r\n" if reply.startswith((b"-ERR unknown option", b"-Couldn't load chunk")) else reply
        _, url = self.start(answer)
        run = Run(*with_module(engine_binary()), "--reference", url, commands=COMMANDS // 3)
        self.assert_same_and_complete(run)
        self.assertEqual(run.figures["dialect"], REDISBLOOM)
        self.assertLessEqual({"unknown-option", "usage", "load-past-end"}, set(run.figures["differences_excused"]))

    def test_as_valkey_bloom(self):
        commands = [*DIALECTS[VALKEY_BLOOM].commands, "SET"]

        def answer(words, ask):
            if words == [b"COMMAND"]:
                return rows_of(commands)
            reply = re.sub(rb"; usage: [^\r]*", b"", ask(*words))
            if words[0].upper().startswith(b"BF.") and not is_error(reply):
                reply = re.sub(rb"#([tf])\r\n", lambda found: b":%d\r\n" % (found[1] == b"t"), reply)
            return reply.replace(b"-Invalid information value", b"-ERR invalid information value")
        _, url = self.start(answer, default_type="valkeybloom")
        run = Run("--server", binary(), "--reference", url, commands=COMMANDS // 3)
        self.assert_same_and_complete(run)
        self.assertEqual(run.figures["dialect"], VALKEY_BLOOM)
        self.assertLessEqual({"valkey-booleans", "usage"}, set(run.figures["differences_excused"]))

    def test_a_reference_with_keys_is_left_as_it_is(self):
        engine, url = self.start(lambda words, ask: ask(*words))
        with engine.client() as client:
            client.set("precious", "text")
            run = Run("--server", binary(), "--reference", url)
            self.assertNotEqual(run.status, 0)
            self.assertIn("is not empty", run.output)
            self.assertEqual(client.get("precious"), b"text")


class FakeSubject:
    """A server of this role in an example; `key_type` is what it says of the key."""

    def __init__(self, role, key_type):
        self.role, self.name, self.key_type = role, role, key_type
        self.is_bitsieve = role in ("server", "module")

    def ask(self, *_):
        return self.key_type


class Differences(unittest.TestCase):
    def names_for(self, example):
        command, replies, *more = example
        options = more[0] if more else {}
        words = tuple(command.split()) if isinstance(command, bytes) else command
        subjects = tuple(FakeSubject(role, options.get("type", b"MBbloom--")) for role in replies)
        case = Case(words, subjects, tuple(replies.values()), options.get("loading", False))
        return [excuse.id for excuse in known_differences() if excuse.excuses(case)]

    def test_each_is_recognised_and_little_else(self):
        for name, (*excused, refused) in EXAMPLES.items():
            with self.subTest(name=name):
                for each in excused:
                    self.assertIn(name, self.names_for(each))
                self.assertEqual(self.names_for(refused), [])

    def test_each_has_an_example(self):
        self.assertEqual(set(EXAMPLES), {excuse.id for excuse in known_differences()})

    def test_the_list_and_the_functions_must_agree(self):
        self.assertEqual(unmatched(["one"], {"one": None}), [])
        self.assertEqual(unmatched(["one", "two"], {"one": None}),
                         ["docs list the difference two, which no function recognises"])
        self.assertEqual(unmatched([], {"one": None}),
                         ["a function recognises the difference one, which docs do not list"])
        self.assertEqual(unmatched(["one", "one"], {"one": None}), ["docs list the difference one twice"])


class Streams(unittest.TestCase):
    def test_an_argument_without_values_is_an_error(self):
        key = Argument("key", "key", "", frozenset(), ())
        color = Argument("color", "string", "", frozenset(), ())
        stream = FilterStream(1, {"BF.PAINT": Syntax("BF.PAINT", (key, color))})
        with self.assertRaisesRegex(KeyError, "values.py has no values for the argument 'color'"):
            for _ in range(100):
                stream.next()

    def test_a_seed_repeats_a_stream(self):
        item = Argument("item", "string", "", frozenset(("multiple",)), ())
        key = Argument("key", "key", "", frozenset(), ())
        syntax = {"BF.MADD": Syntax("BF.MADD", (key, item)), "BF.DUMP": Syntax("BF.DUMP", (key,))}
        one, same, other = (FilterStream(seed, syntax) for seed in ("1:2", "1:2", "1:3"))
        steps = [one.next() for _ in range(100)]
        self.assertEqual(steps, [same.next() for _ in range(100)])
        self.assertNotEqual(steps, [other.next() for _ in range(100)])

    def test_what_the_clock_measures_does_not_count(self):
        reply = b"%%2\r\n+Epoch ends in milliseconds\r\n:%d\r\n+Items per epoch\r\n$3\r\n%s\r\n"
        words = (b"bf.info", b"t0", b"FULL")
        self.assertEqual(settled(words, reply % (38424, b"0 6")), settled(words, reply % (38423, b"6 0")))
        self.assertEqual(len(elements(without_clock(words, reply % (1, b"0 6")))), 4)
        ages = (b":0", b":5", b",0.005", b",0.010999999999999999", b"_", b"$-1", b"$5\r\n0.005")
        replies = {without_clock(words, b"%1\r\n+Oldest age\r\n" + age + b"\r\n") for age in ages}
        self.assertEqual(replies, {b"%1\r\n+Oldest age\r\n:0\r\n"})

    def test_replies_are_taken_apart(self):
        raw = b"*3\r\n:1\r\n%1\r\n+a\r\n$2\r\n\r\n\r\n*-1\r\n"
        self.assertEqual(elements(raw), [b":1\r\n", b"%1\r\n+a\r\n$2\r\n\r\n\r\n", b"*-1\r\n"])


if __name__ == "__main__":
    main()
