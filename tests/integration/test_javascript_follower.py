"""Copies of filters in Node that follow the server's: they answer as the server does, however the filter changes."""

import base64
import json
import pathlib
import subprocess
import tempfile

import admin
from admin import AdminPortTest
from filter_types import needed_options
from harness import HOST, PATIENCE, REPLY_SECONDS, main, wait_until
from node_packages import require_node, skip_without

MODULE = pathlib.Path(__file__).parents[2] / "clients" / "js" / "bitsieve.mjs"
INTERVAL_MS = 20

# Follows filters, and reports on them: each line of its input is a name, and items; each line of its output is what the
# copy answers. It counts the dumps that were read, and the errors.
FOLLOWER = """
import { createInterface } from 'node:readline';
const [module, site, interval, headers, ...names] = process.argv.slice(2);
const dumps = {}, errors = {};
const wholeFetch = globalThis.fetch;
globalThis.fetch = (url, options) => {
  const name = url.replace(/^.*[/]/, '');
  if (!url.includes('/changes?')) dumps[name] = (dumps[name] ?? 0) + 1;
  return wholeFetch(url, options);
};
const { Filter } = await import(module);
const copies = {};
for (const name of names) {
  copies[name] = await Filter.follow(`${site}/filters/${name}`, {
    interval: Number(interval),
    headers: JSON.parse(headers),
    onError: (error) => (errors[name] = error),
  });
}
console.log('"ready"');
for await (const line of createInterface(process.stdin)) {
  const [name, items, close] = JSON.parse(line);
  const copy = copies[name];
  if (close) copy.close();
  const { type, items: count } = copy.describe();
  console.log(JSON.stringify({ position: copy.position, staleness: copy.staleness(), type, count, dumps: dumps[name],
    error: errors[name]?.message, answers: copy.mayContainMany(items).map(Number) }));
}
"""

TYPES = {"blocked": (0.01, 20_000), "two_lines": (1e-5, 20_000), "classic": (0.001, 20_000, "TYPE", "classic"),
         "cuckoo": (0.01, 20_000, "TYPE", "cuckoo"),
         "expiring": (0.01, 20_000, "TYPE", "expiring", *needed_options("expiring"))}
ASKED = [f"item {number}" for number in range(20_000)]


class Follower:
    """The Node program, as a process."""

    def __init__(self, test, *names, user=None, interval_ms=INTERVAL_MS):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name, "follower.mjs")
        program.write_text(FOLLOWER, encoding="utf-8")
        headers = {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()} if user else {}
        command = ["node", program, MODULE, f"http://{HOST}:{test.server.admin_port}", str(interval_ms),
                   json.dumps(headers), *names]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        test.addCleanup(self.end)
        self.test = test
        self.first = self.process.stdout.readline()

    def end(self):
        self.process.stdin.close()
        self.process.wait(REPLY_SECONDS)
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, name, items=(), close=False):
        self.process.stdin.write(json.dumps([name, [*items], close]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        self.test.assertTrue(line, "the program has ended")
        return json.loads(line)


class JavaScriptFollower(AdminPortTest):
    OPTIONS = {"admin_filters": "yes"}

    def setUp(self):
        skip_without(require_node)
        super().setUp()
        self.commands = self.client()

    def make_filters(self):
        for name, options in TYPES.items():
            self.commands.execute_command("BF.RESERVE", name, *options)
            self.commands.bf().madd(name, *ASKED[:1000])

    def position(self, name):
        return self.request(f"/filters/{name}", method="HEAD").headers["Bitsieve-Position"]

    def assert_follows(self, follower, name, exists="BF.MEXISTS"):
        """Waits until the copy is where the filter is, and compares all answers."""
        position = self.position(name)
        wait_until(lambda: follower.ask(name)["position"] == position, REPLY_SECONDS, f"the copy of {name} follows")
        told = follower.ask(name, ASKED)
        self.assertEqual(told["answers"], self.commands.execute_command(exists, name, *ASKED), name)
        self.assertEqual(told["count"], self.commands.execute_command("BF.CARD", name), name)
        self.assertLess(told["staleness"], 1000 * REPLY_SECONDS)
        return told

    def test_additions_of_every_type(self):
        self.make_filters()
        follower = Follower(self, *TYPES)
        for begin in range(1000, 9000, 2000):
            for name in TYPES:
                self.commands.bf().madd(name, *ASKED[begin:begin + 2000])
            for name in TYPES:
                with self.subTest(name):
                    told = self.assert_follows(follower, name)
                    if name in ("blocked", "two_lines", "classic"):
                        self.assertEqual(told["dumps"], 1, "only the changes were read")
                    else:
                        self.assertGreater(told["dumps"], 1)

    def test_removals(self):
        self.make_filters()
        follower = Follower(self, "cuckoo", "expiring")
        for name in ("cuckoo", "expiring"):
            for item in ASKED[:500]:
                self.commands.execute_command("BF.DEL", name, item)
            told = self.assert_follows(follower, name)
            self.assertLess(sum(told["answers"][:500]), 50)

    def test_a_filter_that_grows_from_a_list(self):
        """Small filters are lists of hashes at first."""
        self.commands.bf().create("f", 0.01, 50)
        self.commands.execute_command("BF.RESERVE", "g", 0.01, 50, "TYPE", "classic")
        follower = Follower(self, "f", "g")
        for count in (1, 5, 50, 51, 400, 5000):
            for name in ("f", "g"):
                self.commands.bf().madd(name, *ASKED[:count])
                self.assert_follows(follower, name)
        before = follower.ask("f")["dumps"]
        self.commands.bf().madd("f", *ASKED[5000:5100])
        self.assertEqual(self.assert_follows(follower, "f")["dumps"], before, "a grown filter takes additions, too")

    def test_what_no_changes_describe(self):
        for name in ("blocked", "other"):
            self.commands.execute_command("BF.RESERVE", name, 0.01, 20_000, "SEED", 1)
            self.commands.bf().madd(name, name, *ASKED[15_000:])
        follower = Follower(self, "blocked")
        for command in (["BF.MERGE", "blocked", "other"], ["BF.CLEAR", "blocked"], ["BF.MADD", "blocked", *ASKED[:99]],
                        ["RENAME", "other", "blocked"], ["BF.MADD", "blocked", *ASKED[:99]]):
            self.commands.execute_command(*command)
            self.assert_follows(follower, "blocked")

    def test_known_false_positives(self):
        for name, options in {"blocked": (), "classic": ("TYPE", "classic")}.items():
            self.commands.execute_command("BF.RESERVE", name, 0.1, 20_000, *options)
            self.commands.bf().madd(name, *ASKED[:15_000])
        follower = Follower(self, "blocked", "classic")
        for name in ("blocked", "classic"):
            answers = self.commands.execute_command("BF.MEXISTS", name, *ASKED)
            wrong = [item for item, answer in zip(ASKED[15_000:], answers[15_000:]) if answer]
            self.assertGreater(len(wrong), 20)
            self.commands.execute_command("BF.FPADD", name, *wrong)
            told = self.assert_follows(follower, name)
            self.assertEqual(sum(told["answers"]), 15_000)
            self.commands.bf().madd(name, *wrong[:2])
            self.assertEqual(sum(self.assert_follows(follower, name)["answers"]), 15_002)

    def test_a_frozen_filter(self):
        self.commands.execute_command("BF.RESERVE", "ribbon", 0.01, 20_000, "TYPE", "ribbon")
        self.commands.bf().madd("ribbon", *ASKED[:5000])
        self.commands.execute_command("BF.FREEZE", "ribbon")
        wait_until(lambda: b"frozen" in self.connect().command("BF.INFO", "ribbon", "STATE"), REPLY_SECONDS, "frozen")
        follower = Follower(self, "ribbon")
        self.assertEqual(self.assert_follows(follower, "ribbon")["dumps"], 1)

    def test_the_server_is_away_for_a_while(self):
        server = admin.make(admin_filters="yes")
        self.addCleanup(server.clean_up)
        server.start()
        self.server, shared = server, self.server
        self.addCleanup(setattr, self, "server", shared)
        self.commands = self.client()
        self.commands.bf().create("f", 0.01, 20_000)
        self.commands.bf().madd("f", *ASKED[:1000])
        follower = Follower(self, "f")
        before = self.assert_follows(follower, "f")
        self.commands.close()
        server.stop()
        wait_until(lambda: follower.ask("f").get("error"), REPLY_SECONDS, "an error is reported")
        wait_until(lambda: follower.ask("f")["staleness"] > 300, REPLY_SECONDS, "the copy is out of date, and says so")
        self.assertEqual(follower.ask("f", ASKED)["answers"], before["answers"])
        server.start()
        self.commands = self.client()
        self.commands.bf().madd("f", *ASKED[1000:2000])
        self.assert_follows(follower, "f")

    def test_a_closed_copy_stays_as_it_is(self):
        self.make_filters()
        follower = Follower(self, "blocked")
        before = follower.ask("blocked", ASKED, close=True)
        self.commands.bf().madd("blocked", *ASKED[1000:2000])
        first = follower.ask("blocked")["staleness"]
        later = first + 10 * INTERVAL_MS
        wait_until(lambda: follower.ask("blocked")["staleness"] > later, REPLY_SECONDS, "time passes")
        after = follower.ask("blocked", ASKED)
        self.assertEqual((after["answers"], after["position"]), (before["answers"], before["position"]))
        self.assertNotIn("error", after)

    def test_a_user_of_its_own(self):
        self.make_filters()
        self.commands.execute_command("ACL", "SETUSER", "reader", "on", ">letmein", "+bf.follow", "+bf.changes",
                                      "%R~blocked")
        follower = Follower(self, "blocked", user="reader:letmein")
        self.assert_follows(follower, "blocked")
        refused = Follower(self, "classic", user="reader:letmein")
        self.assertEqual(refused.process.wait(20 * PATIENCE), 1)
        self.assertIn("404 no such filter", refused.process.stderr.read())


if __name__ == "__main__":
    main()
