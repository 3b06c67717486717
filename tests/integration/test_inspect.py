"""What `bitsieve inspect` shows of a directory that a server made, whole and damaged, idle and in use."""

import json
import os
import pathlib
import subprocess

from filter_types import needed_options, type_names
from harness import REPLY_SECONDS, OwnServerTest, binary, main, wait_until


def inspect(directory, *flags):
    return subprocess.run([binary(), "inspect", str(directory), *flags], capture_output=True, text=True, timeout=60,
                          check=False)


def state_of(directory):
    """Every file with its bytes and its times, and what directories hold."""
    return {path: (path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.read_bytes() if path.is_file() else b"")
            for path in pathlib.Path(directory).rglob("*")}


class Inspect(OwnServerTest):
    def saved(self):
        server = self.make_server().start()
        for kind in type_names(by_reserve=True):
            capacity = 2_000_000 if kind == "classic" else 1000  # more than what is read of a head
            server.client().execute_command("BF.RESERVE", kind, 0.01, capacity, "TYPE", kind, *needed_options(kind))
            server.client().bf().madd(kind, *range(100))
        self.assertTrue(server.client().save())
        log = pathlib.Path(server.directory, "log")
        wait_until(lambda: {file.suffix for file in log.iterdir()} == {".log", ""} and len(list(log.iterdir())) == 2,
                   REPLY_SECONDS, "the log goes on in a new segment")
        return server

    def filter_file(self, server, name):
        filters = json.loads(inspect(server.directory, "--json").stdout)["filters"]
        return pathlib.Path(next(each["file"] for each in filters if each["name"] == name))

    def test_a_whole_directory(self):
        server = self.saved()
        server.kill()
        before = state_of(server.directory)
        for flags in ((), ("--verify",)):
            done = inspect(server.directory, *flags)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for word in ("snapshot", "'blocked'", "fingerprint", "1000", "leftovers: none", "quarantine: none"):
                self.assertIn(word, done.stdout)
            self.assertNotIn("in use", done.stdout)
            found = json.loads(inspect(server.directory, "--json", *flags).stdout)
            self.assertEqual(found["verified"], bool(flags))
            self.assertEqual((found["damage"], found["unreadable"]), ([], []))
            self.assertEqual({each["name"]: each["kind"] for each in found["filters"]},
                             {kind: kind for kind in type_names(by_reserve=True)})
            self.assertTrue(all(90 <= each["items"] <= 100 for each in found["filters"]))
        self.assertEqual(state_of(server.directory), before, "nothing was written")
        server.restart()
        self.assertEqual(server.client().bf().exists("blocked", 1), 1)

    def test_of_a_running_server(self):
        server = self.saved()
        done = inspect(server.directory + "/", "--verify")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"in use by process {server.process.pid}", done.stdout)
        self.assertEqual(server.client().bf().exists("blocked", 1), 1)
        self.assert_stops_well(server)

    def test_damage_is_named(self):
        server = self.saved()
        server.kill()
        path = self.filter_file(server, "classic")
        data = path.read_bytes()
        path.write_bytes(data[:-30] + bytes([data[-30] ^ 1]) + data[-29:])
        self.assertEqual(inspect(server.directory).returncode, 0, "heads alone are read")
        done = inspect(server.directory, "--verify")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, f"DAMAGE: {path}: .*'classic'")
        self.assertEqual(len(json.loads(inspect(server.directory, "--verify", "--json").stdout)["damage"]), 1)
        path.unlink()
        done = inspect(server.directory)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{path}: is missing", done.stdout)

    def test_what_cannot_be_read(self):
        server = self.saved()
        server.kill()
        done = inspect(os.path.join(server.home, "none"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("No such file or directory", done.stderr)
        done = inspect(pathlib.Path(server.log_path).parent)
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds no data of Bitsieve", done.stderr)


if __name__ == "__main__":
    main()
