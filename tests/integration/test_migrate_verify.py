"""bitsieve migrate --verify and --verify-only: filters that were moved are compared with those of the old server."""

import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from filter_types import needed_options, type_names
from fake_server import FakeServer
from harness import ENVIRONMENT, HOST, PATIENCE, OwnServerTest, Server, main
from migration import SECONDS, migrate, moved, url
from module_filters import dump_chunks, load
from rdb_payload import MODULE_2, length, rdb_file
from redisbloom_fixtures import FILES, dumps, expected, rdb_path

TOO_SHORT = [1, 1, 5, 2, 100, 0.01, 7, 9.58, 64, 0, b"short", 1]  # a Bloom filter of RedisBloom, with too few bits
CHUNK = 16 << 20


class CutConnection(FakeServer):
    """In front of a server: ends each connection after the server has sent so many bytes."""

    def __init__(self, port, after):
        self.port_behind, self.after = port, after
        super().__init__()

    def serve(self, client):
        with socket.create_connection((HOST, self.port_behind)) as server:
            thread = threading.Thread(target=self.copy, args=(client, server, 1 << 62), daemon=True)
            thread.start()
            self.copy(server, client, self.after)
            thread.join()

    @staticmethod
    def copy(source, target, left):
        with contextlib.suppress(OSError):
            while left > 0 and (received := source.recv(min(left, 1 << 16))):
                target.sendall(received)
                left -= len(received)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Verify(OwnServerTest):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.addCleanup(shutil.rmtree, self.home)
        self.new_server = self.make_server(default_type="redisbloom").start()
        self.new = self.new_server.client()

    def start_old(self):
        self.old_server = self.make_server(default_type="redisbloom").start()
        self.old = self.old_server.client()
        return self.old

    def fill(self):
        """A filter of each type, small and large."""
        client = self.start_old()
        for name in type_names(by_reserve=True):
            for size in (500, 100_000):
                client.execute_command("BF.RESERVE", f"{name}:{size}", 0.01, size, "TYPE", name, *needed_options(name))
                client.execute_command("BF.MADD", f"{name}:{size}", *range(size // 2))
        for size in (500, 100_000):
            client.execute_command("CF.RESERVE", f"cf:{size}", size)
            client.execute_command("CF.INSERT", f"cf:{size}", "ITEMS", *range(size // 2))
        client.execute_command("CF.RESERVE", "cf:empty", 1000)
        return client.dbsize()

    def compare(self, *words, status=0):
        """What the report says of contents."""
        done = migrate(*words, "--json")
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return json.loads(done.stdout)["contents"]

    def differences(self, *words, source=None):
        contents = self.compare(source or url(self.old_server), url(self.new_server), "--verify-only", *words, status=1)
        self.assertEqual(contents["unread"], [])
        return {each["filter"]: each["reason"] for each in contents["different"]}

    # ---- equal

    def test_all_are_equal(self):
        count = self.fill()
        contents = moved(self, url(self.old_server), "--verify", url(self.new_server))["contents"]
        self.assertEqual((contents["equal"], contents["different"], contents["unread"]), (count, [], []))
        self.assertGreater(contents["bytes"], 1_000_000)
        again = moved(self, url(self.old_server), url(self.new_server), "--verify-only")
        self.assertEqual((again["moved"], again["contents"]), (0, contents))
        done = migrate(url(self.old_server), url(self.new_server), "--verify-only")
        self.assertRegex(done.stdout, rf"^{count} filters have the same content on both sides \(.* MB\), 0 differ\n$")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_files(self):
        for file in FILES:
            with self.subTest(file):
                contents = moved(self, rdb_path(file), url(self.new_server), "--verify")["contents"]
                self.assertEqual((contents["equal"], contents["different"]), (len(expected(file)), []))
        self.new.delete("b:auto")
        self.assertEqual(self.differences(source=rdb_path("bloom")), {"b:auto": "it is missing on the new server"})

    def test_match(self):
        self.fill()
        report = moved(self, url(self.old_server), url(self.new_server), "--match", "cf:*", "--verify")
        self.assertEqual(report["contents"]["equal"], 3)
        self.assertIn("classic:500", self.differences())

    def test_without_filters(self):
        self.start_old()
        self.assertEqual(moved(self, url(self.old_server), url(self.new_server), "--verify")["contents"]["equal"], 0)

    def test_with_items(self):
        client = self.start_old()
        client.execute_command("BF.MADD", "k", *range(100))
        items = pathlib.Path(self.home) / "items=1"
        items.write_text("".join(f"{item}\n" for item in range(100)), encoding="utf-8")
        for words, samples, compares in ((("--verify", f"k={items}"), 1, False),
                                         (("--verify", f"k={items}", f"k={items}"), 2, False),
                                         (("--verify", f"k={items}", "--verify"), 1, True),
                                         (("--verify", "--verify", f"k={items}"), 1, True),
                                         ((f"--verify=k={items}", "--verify-only"), 1, True)):
            with self.subTest(words):
                self.new.flushall()
                if "--verify-only" in words:
                    moved(self, url(self.old_server), url(self.new_server))
                report = moved(self, *words, url(self.old_server), url(self.new_server))
                self.assertEqual([each["missing"] for each in report["samples"]], [0] * samples)
                self.assertEqual(report["contents"] is not None, compares)

    # ---- different

    def change_bit(self, name, place, *, cuckoo=False):
        """Puts the filter on the new server again, with one bit that differs."""
        chunks = list(dump_chunks(self.old, name))
        cursor, chunk = chunks[-1]
        changed = bytearray(chunk)
        changed[place] ^= 1
        self.new.delete(name)
        load(self.new, name, [*chunks[:-1], (cursor, bytes(changed))], cuckoo=cuckoo)

    def test_one_bit(self):
        count = self.fill()
        moved(self, url(self.old_server), url(self.new_server))
        for name in ("redisbloom:500", "redisbloom:100000"):
            self.change_bit(name, 7)
        for name in ("cf:500", "cf:100000"):
            # The new server counts the items, so the byte must not become 0.
            chunk = list(dump_chunks(self.old, name))[-1][1]
            place = next(place for place, byte in enumerate(chunk) if byte > 1)
            self.change_bit(name, place, cuckoo=True)
        changed = ["cf:100000", "cf:500", "redisbloom:100000", "redisbloom:500"]
        self.assertEqual(self.differences(), dict.fromkeys(changed, "its content differs"))
        done = migrate(url(self.old_server), url(self.new_server), "--verify-only")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, rf"^{count - 4} filters have the same content .*, 4 differ\n$")
        self.assertIn("bitsieve migrate: 'cf:500': its content differs\n", done.stderr)

    def test_one_item_of_every_type(self):
        self.fill()
        moved(self, url(self.old_server), url(self.new_server))
        changed = set()
        for name in self.new.keys():
            command = "CF.ADD" if name.startswith(b"cf:") else "BF.ADD"
            if self.new.execute_command(command, name, "another"):
                changed.add(name.decode())
        self.assertGreater(len(changed), len(type_names(by_reserve=True)))
        self.assertEqual(set(self.differences()), changed)

    def test_missing_filters(self):
        self.fill()
        moved(self, url(self.old_server), url(self.new_server))
        missing = ["cf:500", "classic:100000", "cuckoo:500", "redisbloom:500"]
        self.new.delete(*missing)
        self.assertEqual(self.differences(), dict.fromkeys(missing, "it is missing on the new server"))

    def test_another_type(self):
        self.fill()
        moved(self, url(self.old_server), url(self.new_server))
        for name in ("redisbloom:500", "blocked:500", "classic:100000", "cf:500"):
            self.new.delete(name)
            self.new.execute_command("BF.RESERVE", name, 0.01, 500, "TYPE", "cuckoo")
        for name in ("redisbloom:100000", "cuckoo:500"):
            self.new.delete(name)
            self.new.execute_command("CF.RESERVE", name, 1000)
            self.new.execute_command("CF.ADD", name, "x")
        reasons = self.differences()
        self.assertEqual(reasons, {"redisbloom:500": "its type was redisbloom and is now cuckoo",
                                   "blocked:500": "its type was blocked and is now cuckoo",
                                   "classic:100000": "its type was classic and is now cuckoo",
                                   "cf:500": "its type was rediscuckoo and is now cuckoo",
                                   "redisbloom:100000": "its type was redisbloom and is now rediscuckoo",
                                   "cuckoo:500": "its type was cuckoo and is now rediscuckoo"})

    def test_what_was_not_moved_is_not_compared(self):
        client = self.start_old()
        for name in ("moved", "taken"):
            client.execute_command("BF.ADD", name, "x")
        self.new.execute_command("BF.ADD", "taken", "mine")
        done = migrate(url(self.old_server), url(self.new_server), "--verify", "--json")
        self.assertEqual(done.returncode, 1)
        report = json.loads(done.stdout)
        self.assertEqual([each["filter"] for each in report["failed"]], ["taken"])
        self.assertEqual((report["contents"]["equal"], report["contents"]["different"]), (1, []))

    def test_what_the_file_does_not_have(self):
        path = pathlib.Path(self.home) / "some.rdb"
        path.write_bytes(rdb_file("bad", "MBbloom--", 4, TOO_SHORT)[:-9] + bytes([MODULE_2]) + length(4) + b"good" +
                         dumps()["b:auto"][1:-10] + b"\xff" + bytes(8))
        contents = self.compare(path, url(self.new_server), "--verify", status=1)
        self.assertEqual((contents["equal"], contents["unread"]), (1, []))
        contents = self.compare(path, url(self.new_server), "--verify-only", status=1)
        self.assertEqual((contents["equal"], contents["different"]), (1, []))
        self.assertEqual([each["filter"] for each in contents["unread"]], ["bad"])
        self.assertIn("it was not compared: ", contents["unread"][0]["reason"])

    def test_changes_during_the_comparison(self):
        """A filter that differs is compared again."""
        client = self.start_old()
        client.execute_command("BF.ADD", "k", "x")
        moved(self, url(self.old_server), url(self.new_server))
        client.execute_command("BF.ADD", "k", "y")
        threading.Timer(0.5, lambda: self.new.execute_command("BF.ADD", "k", "y")).start()
        self.assertEqual(self.compare(url(self.old_server), url(self.new_server), "--verify-only")["equal"], 1)

    # ---- connections

    def test_an_interrupted_connection(self):
        self.fill()
        moved(self, url(self.old_server), url(self.new_server))
        for which, server in (("old", self.old_server), ("new", self.new_server)):
            for after in (0, 500_000):
                with self.subTest(which=which, after=after):
                    cut = CutConnection(server.port, after)
                    self.addCleanup(cut.close)
                    words = [url(self.old_server), url(self.new_server)]
                    words[which == "new"] = url(cut)
                    done = migrate(*words, "--verify-only")
                    self.assertEqual(done.returncode, 1)
                    self.assertRegex(done.stderr, rf"^bitsieve migrate: (the {which} server: )?.*clos")
                    if after:
                        self.assertIn("; not all filters were compared\n", done.stderr)

    def test_wrong_words(self):
        old = new = url(self.new_server)
        for words, problem in (((old, new, "--verify=file"), "--verify is KEY=FILE"),
                               ((old, new, "--verify", "--as", "cuckoo"), "there is no content to compare"),
                               ((old, new, "--verify", "--dry-run"), "--verify-only compares what was moved"),
                               ((old, new, "--verify-only", "--live"), "--verify-only moves nothing"),
                               ((old, new, "--verify-only", "--replace"), "--verify-only moves nothing"),
                               ((old, new, "--verify-only", "--database", "x"), "--database is a number"),
                               ((old, new, "--verify", "--database", "1"), "--database is for --verify-only"),
                               ((rdb_path("bloom"), new, "--verify-only", "--database", "1"), "--database is for")):
            with self.subTest(words):
                done = migrate(*words)
                self.assertEqual((done.returncode, problem in done.stderr), (2, True), done.stderr)
        done = migrate(old, new, "--verify-only", "--database", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the old server: ERR", done.stderr)

    # ---- memory

    def peak_memory(self, *words):
        """VmHWM of the command, in bytes."""
        with subprocess.Popen([Server.find_program(), "migrate", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
            peak, deadline = 0, time.monotonic() + SECONDS
            while process.poll() is None and time.monotonic() < deadline:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
                if found := re.search(r"VmHWM:\s+(\d+) kB", status):
                    peak = int(found[1]) * 1024
                time.sleep(0.002)
            process.kill()
            out, err = process.communicate()
        self.assertEqual(process.returncode, 0, err + out)
        return peak

    def test_memory(self):
        client = self.start_old()
        peaks = {}
        for items in (8_500_000, 56_000_000):  # of 14.4 bits
            self.new.flushall()
            client.flushall()
            client.execute_command("BF.RESERVE", "large", 0.001, items, "NONSCALING")
            client.execute_command("BF.MADD", "large", *range(1000))
            size = client.execute_command("BF.INFO", "large", "SIZE")[0]
            moved(self, url(self.old_server), url(self.new_server))
            peaks[size] = self.peak_memory(url(self.old_server), url(self.new_server), "--verify-only")
        (small, of_small), (large, of_large) = sorted(peaks.items())
        self.assertLess(small, CHUNK)
        self.assertGreater(large, 100_000_000)
        for size, peak in peaks.items():
            print(f"a filter of {size / 1e6:.0f} MB: at most {peak / 1e6:.0f} MB resident", flush=True)
        self.assertLess(of_large - of_small, 2 * CHUNK * PATIENCE)


if __name__ == "__main__":
    main()
