"""docs/swap.md: its commands are run in their order as they stand. An engine with bitsieve.so and RedisBloom's data is
in the place of RedisBloom, which the tests do not have."""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess

import redis

from engine import engine_binary, module_path
from harness import PATIENCE, Server, main, wait_until
from module_sketches import make_sketches
from pages import HOSTS, PORT, PageTest, blocks_of, in_own_machine
from redisbloom_fixtures import expected, rdb_path
from valkey_filters import GOLDEN, VALUE_TYPE

PAGE = "docs/swap.md"
ENGINE_PORT = 6379
SECONDS = 20 * PATIENCE
INSTALLED = "/usr/lib/bitsieve/bitsieve.so"


def block_with(text, language="sh"):
    (found,) = [block for each, block in blocks_of(PAGE) if each == language and text in block]
    return found


def is_role(client, role):
    return client.info("replication")["role"] == role


class SwapPage(PageTest):
    def setUp(self):
        super().setUp()
        program = engine_binary()
        self.environment["PATH"] = f"{self.home}/bin:{os.path.dirname(program)}:{os.environ['PATH']}"
        self.engines = {}

    def start_engine(self, name, directory, lines):
        """On a host and the usual port of engines. What the page says about its configuration is among the lines."""
        path = pathlib.Path(self.home) / directory
        path.mkdir(exist_ok=True)
        lines = [f"port {ENGINE_PORT}", f"bind {HOSTS[name]}", f"replica-announce-ip {HOSTS[name]}", f"dir {path}",
                 "repl-diskless-sync-delay 0", 'save ""', *lines]
        configuration = self.put(f"{name}.conf", content="\n".join(lines) + "\n")
        with open(f"{self.home}/{name}.log", "ab") as log:
            process = subprocess.Popen([engine_binary(), configuration], stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log)
        self.engines[name] = process
        self.addCleanup(self.end, process)
        client = redis.Redis(HOSTS[name], ENGINE_PORT, socket_timeout=SECONDS)
        self.addCleanup(client.close)
        wait_until(lambda: self.answers(client), SECONDS, f"the engine on {name} answers")
        return client

    @staticmethod
    def end(process):
        process.kill()
        process.wait()

    @staticmethod
    def answers(client):
        try:
            return client.ping()
        except redis.RedisError:
            return False

    def start_old(self, file="bloom"):
        (pathlib.Path(self.home) / "old").mkdir()
        shutil.copy(rdb_path(file), f"{self.home}/old/dump.rdb")
        client = self.start_engine("old", "old", [f"loadmodule {module_path()}", "bf.default-type redisbloom",
                                                  "bf.for-redisbloom yes"])
        client.execute_command("CF.INSERT", "cuckoo", "CAPACITY", 100_000, "ITEMS", *range(5000))
        return client

    def shown_lines(self):
        block = block_with("loadmodule", language="")
        self.assertIn(INSTALLED, block)
        return block.replace(INSTALLED, module_path()).splitlines()

    def run_block(self, text, **options):
        return self.run_command(["bash", "-eo", "pipefail", "-c"], block_with(text), **options)

    def check_equal(self, printed, count):
        self.assertRegex(printed, rf"^{count} filters have the same content on both sides \(.*\), 0 differ\n$")

    def test_module_with_a_replica(self):
        old = self.start_old()
        make_sketches(old)
        with redis.Redis(HOSTS["old"], ENGINE_PORT, db=3) as third:
            third.execute_command("BF.ADD", "third", "x")
        names = [*expected("bloom"), "cuckoo"]
        checked = self.run_block("MODULE LIST")
        self.assertIn(f"{len(names)} filters would be moved", checked)
        self.assertIn("sketches are not moved", checked)
        new = self.start_engine("new", "new", self.shown_lines())
        wait_until(lambda: "status:up" in self.run_block("grep master_link_status"), SECONDS, "new is a replica")
        self.check_equal(self.run_block("redis://new --verify-only\n"), len(names))
        self.check_equal(self.run_block("--database 3"), 1)
        self.run_block("redis-cli -u redis://old FAILOVER")
        wait_until(lambda: is_role(old, "slave"), SECONDS, "old is a replica")
        self.assertEqual(new.execute_command("BF.ADD", "cuckoo", "after the switch"), 1)
        new.execute_command("BF.ADD", "another", "x")
        wait_until(lambda: old.exists("another"), SECONDS, "old follows")
        self.check_equal(self.run_block("redis://new --verify-only\n"), len(names) + 1)
        self.run_block("redis-cli -u redis://new FAILOVER")
        wait_until(lambda: is_role(new, "slave"), SECONDS, "new is a replica again")
        self.assertEqual(old.execute_command("CF.EXISTS", "cuckoo", "after the switch"), 1)
        self.run_block("redis-cli -u redis://old FAILOVER")
        wait_until(lambda: is_role(old, "slave"), SECONDS, "old is a replica again")
        self.run_block("CONFIG REWRITE")
        self.engines["old"].wait(SECONDS)
        self.assertEqual(new.config_get("bf.for-redisbloom"), {"bf.for-redisbloom": "no"})
        self.assertIn("bf.for-redisbloom no", (pathlib.Path(self.home) / "new.conf").read_text())
        self.assertIn(f"{len(names) + 1} filters would be moved",
                      self.run_command(["bash", "-c"], "bitsieve migrate old/dump.rdb --dry-run"))

    def test_verify_finds_differences(self):
        old = self.start_old()
        new = self.start_engine("new", "new", [f"loadmodule {module_path()}", "bf.default-type redisbloom"])
        new.execute_command("BF.ADD", "b:auto", "x")
        count = len([name for name in old.keys() if old.type(name) != b"string"])
        printed = self.run_block("redis://new --verify-only\n", status=1)
        self.assertEqual(printed, f"0 filters have the same content on both sides (0 bytes), {count} differ\n")

    def test_module_without_a_replica(self):
        old = self.start_old("cuckoo")
        count = old.dbsize()
        printed = self.run_block("cp dump.rdb", cwd=f"{self.home}/old")
        self.assertRegex(printed, r"\n\d+ filters would be moved\n")
        self.engines["old"].wait(SECONDS)
        again = self.start_engine("old", "old", self.shown_lines()[:2])
        self.assertEqual(again.dbsize(), count)
        self.assertEqual(again.execute_command("CF.MEXISTS", "cuckoo", *range(5000)), [1] * 5000)

    def test_server(self):
        old = self.start_old()
        server = Server(port=PORT, bind=HOSTS["new"])
        self.addCleanup(server.clean_up)
        server.spawn()
        wait_until(lambda: "Ready after" in server.log(), SECONDS, "the server is ready")
        names = [*expected("bloom"), "cuckoo"]
        self.assertIn(f"{len(names)} filters would be moved", self.run_block("bitsieve://new --dry-run"))
        live = subprocess.Popen(shlex.split(block_with("--live")), cwd=self.home, env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, live)
        client = redis.Redis(HOSTS["new"], PORT)
        self.addCleanup(client.close)
        wait_until(lambda: client.dbsize() == len(names), SECONDS, "all is copied")
        old.execute_command("CF.ADD", "cuckoo", "while it follows")
        wait_until(lambda: client.execute_command("CF.EXISTS", "cuckoo", "while it follows"), SECONDS, "it follows")
        self.check_equal(self.run_block("bitsieve://new --verify-only"), len(names))
        live.send_signal(signal.SIGINT)
        out, err = live.communicate(timeout=SECONDS)
        self.assertEqual(live.returncode, 0, out + err)

    def valkey_lines(self):
        return block_with("replicaof", language="conf").replace(INSTALLED, module_path()).splitlines()

    def start_with_valkey_bloom(self):
        """bitsieve.so saves the same file as valkey-bloom, which the tests do not have."""
        (pathlib.Path(self.home) / "old").mkdir()
        shutil.copy(GOLDEN / "redis70_saved.rdb", f"{self.home}/old/dump.rdb")
        return self.start_engine("old", "old", self.valkey_lines()[:2])

    def test_valkey_bloom_without_a_replica(self):
        old = self.start_with_valkey_bloom()
        kept = {key: old.dump(key) for key in old.keys()}
        printed = self.run_block("cp -a dump.rdb", cwd=f"{self.home}/old")
        self.assertIn(f"\n{len(kept)} filters would be moved\n", printed)
        self.engines["old"].wait(SECONDS)
        again = self.start_engine("old", "old", self.valkey_lines()[:2])
        self.assertEqual({key: again.dump(key) for key in again.keys()}, kept)
        again.execute_command("BF.ADD", "new", "x")
        self.assertEqual(again.type("new").decode(), VALUE_TYPE)

    def test_valkey_bloom_with_a_replica(self):
        old = self.start_with_valkey_bloom()
        new = self.start_engine("new", "new", self.valkey_lines())
        wait_until(lambda: "status:up" in self.run_block("grep master_link_status"), SECONDS, "new is a replica")
        # What valkey-bloom sends for a new filter is a command of clients, too.
        old.execute_command("BF.INSERT", "sent", "CAPACITY", 100, "ERROR", 0.01, "TIGHTENING", 0.5, "SEED", b"s" * 32,
                            "EXPANSION", 2, "ITEMS", "a")
        wait_until(lambda: new.exists("sent"), SECONDS, "new follows")
        kept = {key: old.dump(key) for key in old.keys()}
        printed = self.run_block("REPLICAOF NO ONE")
        (before, after) = re.findall(r"master_repl_offset:(\d+)", printed)
        self.assertLessEqual(int(before), int(after))
        self.assertTrue(is_role(new, "master"))
        self.assertEqual({key: new.dump(key) for key in new.keys()}, kept)
        self.run_block("redis://new SAVE")
        self.assertIn(f"\n{len(kept)} filters would be moved\n",
                      self.run_command(["bash", "-c"], "bitsieve migrate new/dump.rdb --dry-run"))

    def test_every_block_is_run(self):
        source = pathlib.Path(__file__).read_text(encoding="utf-8")
        texts = re.findall(r'(?:run_block|block_with)\("([^"]+)"', source)
        for language, block in blocks_of(PAGE):
            if language == "sh":
                with self.subTest(block=block):
                    self.assertTrue(any(text.replace("\\n", "\n") in block for text in texts))


if __name__ == "__main__":
    in_own_machine()
    main()
