"""What programs embed, against a server: the Python module and the JavaScript reader answer as the server does, on some
hundred thousand items, from files that `bitsieve export` wrote; and what they are given instead of a filter is
refused."""

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from harness import PATIENCE, ServerTest, main, wait_until
from node_packages import needs, require_node, require_packages, run_node

CLIENTS = pathlib.Path(__file__).parents[2] / "clients"
sys.path.insert(0, str(CLIENTS / "python"))

import bitsieve  # noqa: E402 (from the folder above)

SECONDS = 120 * PATIENCE
ADDED, ASKED, BATCH = 200_000, 300_000, 10_000
# Of each: its options, and whether it can be mapped, and be read by JavaScript.
FILTERS = {
    "blocked": ((0.01, ADDED), True, True),
    "blocked_two_lines": ((1e-5, ADDED), True, True),
    "blocked_grown": ((0.01, 10_000), True, True),
    "tiny": ((0.01, 100), True, True),
    "classic": ((0.01, ADDED, "TYPE", "classic"), True, True),
    "classic_grown": ((1e-6, 10_000, "TYPE", "classic"), True, True),
    "counting": ((0.01, ADDED, "TYPE", "counting"), True, False),
    "cuckoo": ((0.01, ADDED, "TYPE", "cuckoo"), True, True),
    "cuckoo_grown": ((0.001, 9_000, "TYPE", "cuckoo", "BUCKETSIZE", "2"), True, True),
    "fingerprint": ((0.01, ADDED, "TYPE", "fingerprint"), True, False),
    "ribbon": ((0.01, ADDED, "TYPE", "ribbon"), True, True),
    "ribbon_low_rate": ((1e-6, ADDED, "TYPE", "ribbon"), True, True),
    "noted": ((0.01, ADDED), True, True),
    "noted_ribbon": ((0.01, ADDED, "TYPE", "ribbon"), True, True),
    "sip": ((0.01, ADDED, "HASH", "sip"), True, False),
    "redisbloom": ((0.01, ADDED, "TYPE", "redisbloom"), False, False),
    "window": ((0.01, ADDED, "TYPE", "window", "WINDOW", ADDED), False, False),
    "expiring": ((0.01, ADDED, "TYPE", "expiring", "TTL", "24h"), False, True),
    "expiring_grown": ((1e-6, 9_000, "TYPE", "expiring", "TTL", "24h", "EPOCHBITS", 8), False, True),
}

NODE_PROGRAM = """
import { readFileSync } from 'node:fs';
const { Filter, FilterError } = await import(process.argv[2]);
const items = readFileSync(process.argv[3], 'utf8').split('\\n');
const report = {};
for (const path of process.argv.slice(4)) {
  try {
    const filter = Filter.fromBytes(readFileSync(path));
    filter.verify();
    const start = performance.now();
    let answers = '';
    for (const item of items) answers += filter.mayContain(item) ? '1' : '0';
    const perSecond = Math.round(items.length / ((performance.now() - start) / 1000));
    const bytes = items.slice(0, 1000).map((item) => new TextEncoder().encode(item));
    const asBytes = filter.mayContainMany(bytes).map(Number).join('');
    report[path] = { answers, perSecond, alike: answers.startsWith(asBytes), described: filter.describe() };
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    report[path] = { error: error.message };
  }
}
console.log(JSON.stringify(report));
"""

# Of each item: when it will be gone, and whether it is found just before, and then.
NODE_EXPIRY = """
import { readFileSync } from 'node:fs';
const { Filter } = await import(process.argv[2]);
const filter = Filter.fromBytes(readFileSync(process.argv[3]));
const now = Date.now();
const report = JSON.parse(process.argv[4]).map((item) => {
  Date.now = () => now;
  const left = filter.timeToLive(item);
  if (left === -2) return [left, filter.mayContain(item), false];
  Date.now = () => now + left - 1;
  const before = filter.mayContain(item);
  Date.now = () => now + left;
  return [now + left, before, filter.mayContain(item)];
});
console.log(JSON.stringify(report));
"""

# Changes bytes of heads and headers, and makes the header's checksum right again.
NODE_FORGER = """
import { readFileSync } from 'node:fs';
const { Filter, FilterError } = await import(process.argv[2] + '/bitsieve.mjs');
const { checksum, high, low } = await import(process.argv[2] + '/xxh3.mjs');
let seed = 1;
const random = (below) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % below;
let refused = 0, accepted = 0;
for (const path of process.argv.slice(3)) {
  const whole = new Uint8Array(readFileSync(path));
  const headerEnd = 20 + new DataView(whole.buffer).getUint32(8, true);
  for (let round = 0; round < 500; ++round) {
    const forged = whole.slice();
    for (let i = 0; i < 2; ++i) forged[random(headerEnd - 8)] = random(3) === 0 ? 255 : random(256);
    if (round % 4 === 0) forged.fill(255, headerEnd);
    checksum(forged.subarray(20, headerEnd - 8));
    new DataView(forged.buffer).setInt32(headerEnd - 8, low(), true);
    new DataView(forged.buffer).setInt32(headerEnd - 4, high(), true);
    try {
      const filter = Filter.fromBytes(forged);
      for (const item of ['', 'item', 'x'.repeat(300)]) {
        if (typeof filter.mayContain(item) !== 'boolean') throw new Error('no answer');
      }
      ++accepted;
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      ++refused;
    }
  }
}
console.log(JSON.stringify({ refused, accepted }));
"""


NODE_MISTAKES = """
import { readFileSync } from 'node:fs';
const { Filter } = await import(process.argv[2]);
const told = [];
const tell = (call) => {
  try {
    told.push(`no error: ${call()}`);
  } catch (error) {
    told.push(`${error.name}: ${error.message}`);
  }
};
const whole = new Uint8Array(readFileSync(process.argv[3]));
const filter = Filter.fromBytes(whole);
for (const items of ['abc', new Uint8Array(3), null, 5, [5], [null]]) tell(() => filter.mayContainMany(items));
for (const item of [null, undefined, 5, ['a'], {}, new ArrayBuffer(3)]) tell(() => filter.mayContain(item));
for (const bytes of [null, undefined, 5, 'text', [1, 2], {}]) tell(() => Filter.fromBytes(bytes));
structuredClone(whole.buffer, { transfer: [whole.buffer] });
for (const call of [() => filter.mayContain('a'), () => filter.mayContainMany(['a']), () => filter.verify()]) {
  tell(call);
}
console.log(JSON.stringify(told));
"""


def item(number):
    """Of every length that is hashed in its own way, and not all of them ASCII."""
    if number % 50 == 0:
        return f"{number}:" + "long " * (number % 97)
    if number % 7 == 0:
        return f"größe {number}"
    return str(number) if number % 3 == 0 else f"https://example.org/{number}"


class Site(http.server.SimpleHTTPRequestHandler):
    extensions_map = {"": "text/plain; charset=utf-8", ".mjs": "text/javascript"}

    def log_message(self, *arguments):
        pass


ITEMS = [item(number) for number in range(ASKED)]


class LibraryClients(ServerTest):
    OPTIONS = {"appendonly": "no"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        cls.addClassCleanup(shutil.rmtree, cls.home)
        cls.answers = {}
        with cls.server.connect() as connection:
            for name, (options, _, _) in FILTERS.items():
                cls.fill(connection, name, options)
                if name.startswith("noted"):
                    cls.note_false_positives(connection, name)
                cls.answers[name] = cls.ask(connection, name)
                cls.export(name)

    def setUp(self):
        self.server.check_alive()

    @classmethod
    def fill(cls, connection, name, options):
        assert connection.command("BF.RESERVE", name, *options) == b"+OK\r\n"
        count = 8 if name == "tiny" else ADDED
        for first in range(0, count, BATCH):
            reply = connection.command("BF.MADD", name, *ITEMS[first:min(first + BATCH, count)])
            assert b"-" not in reply, reply
        if "ribbon" in options:
            assert connection.command("BF.FREEZE", name) == b"+OK\r\n"
            wait_until(lambda: b"frozen" in connection.command("BF.INFO", name, "STATE"), SECONDS, "frozen")

    @classmethod
    def note_false_positives(cls, connection, name):
        """Of the first items that were not added; of these, some are added then."""
        answers = cls.ask(connection, name)
        wrong = [ITEMS[i] for i in range(ADDED, ADDED + 100_000) if answers[i] == "1"]
        assert connection.command("BF.FPADD", name, *wrong).count(b":1\r\n") == len(wrong) > 500
        if name == "noted":
            assert connection.command("BF.MADD", name, *wrong[:100]).count(b":1\r\n") == 100

    @staticmethod
    def ask(connection, name):
        """'1' or '0' for each item."""
        answers = []
        for first in range(0, ASKED, BATCH):
            reply = connection.command("BF.MEXISTS", name, *ITEMS[first:first + BATCH])
            answers.append(reply.split(b"\r\n", 1)[1][1::4].decode())  # :1\r\n:0\r\n and so on
        return "".join(answers)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.home, name)

    @classmethod
    def export(cls, name):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("BITSIEVE_")}
        subprocess.run([cls.server.program, "export", name, cls.path(name), "--port", str(cls.server.port)], check=True,
                       timeout=SECONDS, capture_output=True, env=environment)

    def assert_answers(self, given, name):
        answers = "".join("1" if answer else "0" for answer in given)
        differences = [ITEMS[i] for i in range(ASKED) if answers[i] != self.answers[name][i]] \
            if answers != self.answers[name] else []
        self.assertEqual((len(answers), differences[:5]), (ASKED, []))

    def test_the_server_finds_what_was_added_and_little_else(self):
        for name, answers in self.answers.items():
            with self.subTest(name):
                added = 8 if name == "tiny" else ADDED
                self.assertEqual(answers[:added], "1" * added)
                self.assertLess(answers[added:].count("1"), 0.02 * ASKED)

    def test_python_answers_as_the_server(self):
        for name, (_, is_mapped, _) in FILTERS.items():
            with self.subTest(name):
                with bitsieve.Filter.load(self.path(name)) as filter:
                    self.assert_answers(filter.may_contain_many(ITEMS), name)
                    self.assertEqual(filter.to_bytes(), pathlib.Path(self.path(name)).read_bytes())
                if not is_mapped:
                    with self.assertRaisesRegex(bitsieve.UnsupportedError, "types that can be mapped are blocked"):
                        bitsieve.Filter.map(self.path(name))
                    continue
                with bitsieve.Filter.map(self.path(name)) as filter:
                    self.assert_answers(filter.may_contain_many(text.encode() for text in ITEMS), name)
                    filter.verify()

    def test_the_server_takes_what_python_made(self):
        with bitsieve.Filter(type="cuckoo", capacity=ADDED, error_rate=0.001) as filter:
            added = filter.add_many(ITEMS[:ADDED])
            self.assertGreater(sum(added), 0.99 * ADDED)
            with self.connect() as connection:
                self.assertEqual(connection.command("BF.RESTORE", "made", filter.to_bytes()), b"+OK\r\n")
                self.answers["made"] = self.ask(connection, "made")
            self.assert_answers(filter.may_contain_many(ITEMS), "made")

    def run_program(self, text, *arguments):
        program = self.path("program.mjs")
        pathlib.Path(program).write_text(text, encoding="utf-8")
        done = subprocess.run(["node", program, *arguments], capture_output=True, text=True, timeout=SECONDS,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def run_node(self, *paths):
        items = self.path("items")
        pathlib.Path(items).write_text("\n".join(ITEMS), encoding="utf-8")
        return self.run_program(NODE_PROGRAM, str(CLIENTS / "js" / "bitsieve.mjs"), items, *paths)

    @needs(require_node)
    def test_javascript_answers_as_the_server(self):
        report = self.run_node(*(self.path(name) for name in FILTERS))
        for name, (_, _, is_read) in FILTERS.items():
            with self.subTest(name):
                found = report[self.path(name)]
                if not is_read:
                    self.assertRegex(found["error"],
                                     "blocked, classic, cuckoo, expiring and ribbon|default hash function")
                    continue
                self.assertNotIn("error", found)
                self.assert_answers((answer == "1" for answer in found["answers"]), name)
                self.assertTrue(found["alike"])
                with bitsieve.Filter.load(self.path(name)) as filter:
                    described = filter.describe()
                self.assertEqual(found["described"], {
                    "type": described.type, "errorRate": described.error_rate, "capacity": described.capacity,
                    "items": described.items, "subFilters": described.sub_filters,
                    "sizeBytes": os.path.getsize(self.path(name)),
                    "falsePositives": described.false_positives})
                print(f"{name}: {found['perSecond']:,} lookups per second in Node")

    @needs(require_node)
    def test_javascript_knows_when_items_expire(self):
        times = {f"item {number}": number for number in range(1, 3000)}  # minutes
        for bits, epoch_ms in ((4, 3_600_000 * 50 / 14), (8, 3_600_000 * 50 / 250)):
            with self.subTest(bits), self.connect() as connection:
                name = f"timed{bits}"
                connection.command("BF.RESERVE", name, "1e-6", 500, "TYPE", "expiring", "TTL", "50h", "EPOCHBITS", bits)
                for text, minutes in times.items():
                    connection.command("BF.INSERT", name, "EX", minutes * 60, "ITEMS", text)
                before = time.time() * 1000
                replies = re.findall(rb":(-?\d+)", connection.command("BF.TTL", name, *times, "absent"))
                ends = [before + int(left_ms) for left_ms in replies]
                self.export(name)
                found = self.run_program(NODE_EXPIRY, str(CLIENTS / "js" / "bitsieve.mjs"), self.path(name),
                                         json.dumps([*times, "absent"]))
                self.assertEqual(found.pop(), [-2, False, False])
                for (end, *is_found), expected, minutes in zip(found, ends, times.values()):
                    self.assertLess(abs(end - expected), 60_000, minutes)
                    self.assertTrue(-60_000 < end - before - minutes * 60_000 < epoch_ms + 60_000, minutes)
                    self.assertEqual(is_found, [True, False])

    @needs(require_node)
    def test_javascript_refuses_what_is_damaged(self):
        whole = pathlib.Path(self.path("cuckoo")).read_bytes()
        damaged = {"empty": b"", "text": b"no filter at all, but longer than a head", "cut": whole[:-1],
                   "head_alone": whole[:20], "longer": whole + b"x",
                   "body": whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:],
                   "header": whole[:60] + bytes([whole[60] ^ 1]) + whole[61:]}
        for name, data in damaged.items():
            pathlib.Path(self.path(name)).write_bytes(data)
        report = self.run_node(*map(self.path, damaged))
        for name in damaged:
            with self.subTest(name):
                self.assertRegex(report[self.path(name)]["error"], "not a dump|bytes of a dump|fails its checksum")

    @needs(require_node)
    def test_javascript_survives_forged_headers(self):
        names = ("tiny", "blocked_grown", "blocked_two_lines", "classic_grown", "cuckoo_grown", "expiring_grown",
                 "ribbon", "noted")
        report = self.run_program(NODE_FORGER, str(CLIENTS / "js"), *map(self.path, names))
        self.assertEqual(report["refused"] + report["accepted"], 500 * len(names))
        self.assertGreater(min(report.values()), 100)

    def test_javascript_names_mistakes(self):
        told = self.run_program(NODE_MISTAKES, str(CLIENTS / "js" / "bitsieve.mjs"), self.path("tiny"))
        expected = (["TypeError: an array of items is needed, not one item"] * 4 +
                    ["TypeError: an item must be a string or a Uint8Array, not "] * 8 +
                    ["FilterError: these bytes are not a dump"] * 6 +
                    ["FilterError: the bytes of the filter were transferred"] * 3)
        self.assertEqual(len(told), len(expected))
        for text, begin in zip(told, expected):
            self.assertTrue(text.startswith(begin), (text, begin))

    @needs(require_packages)
    def test_javascript_answers_in_a_browser(self):
        names, asked = ("tiny", "blocked_grown", "cuckoo_grown", "ribbon", "noted"), ADDED + 100_000
        site = pathlib.Path(tempfile.mkdtemp(prefix="bitsieve-test-"))
        self.addCleanup(shutil.rmtree, site)
        for path in (CLIENTS / "js").glob("*.mjs"):
            shutil.copy(path, site)
        (site / "items").write_text("\n".join(ITEMS[:asked]), encoding="utf-8")
        for name in names:
            shutil.copy(self.path(name), site)
            (site / f"{name}.answers").write_text(self.answers[name][:asked])
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, directory=site))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        run_node(self, "reader_test.js", SITE=f"http://127.0.0.1:{server.server_port}", FILTERS=" ".join(names))


if __name__ == "__main__":
    main()
