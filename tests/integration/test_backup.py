"""bitsieve backup and restore: of a server at work, killed, on a full disk, as archives. test_pages.py runs the
drill of docs/operations/backup.md."""

import pathlib
import signal
import subprocess
import threading
import time

from harness import ENVIRONMENT, PATIENCE, REPLY_SECONDS, OwnServerTest, binary, main, wait_until


def run(*arguments, **options):
    return subprocess.run([binary(), *map(str, arguments)], capture_output=True, timeout=60 * PATIENCE, check=False,
                          env=ENVIRONMENT, **options)


class Load(threading.Thread):
    """Adds items one after the other, and knows how many were acknowledged."""

    def __init__(self, server, key):
        super().__init__()
        self.client = server.client()
        self.key = key
        self.acknowledged = 0
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.is_set():
            self.client.execute_command("BF.ADD", self.key, f"i{self.acknowledged}")
            self.acknowledged += 1


class Disturbance(threading.Thread):
    """Snapshots, freezes, large contents and deletes, as fast as they go."""

    def __init__(self, server):
        super().__init__()
        self.client = server.client()
        self.stopped = threading.Event()

    def run(self):
        client = self.client
        for i in range(10**9):
            if self.stopped.is_set():
                return
            client.execute_command("BF.RESERVE", f"ribbon{i}", 0.01, 1000, "TYPE", "ribbon")
            client.bf().madd(f"ribbon{i}", *range(500))
            client.execute_command("BF.FREEZE", f"ribbon{i}")
            client.execute_command("BF.RESERVE", f"large{i}", 0.01, 400_000)  # its copy is a file that the log names
            client.copy(f"large{i}", f"copy{i}")
            client.save()
            client.delete(f"ribbon{i}", f"large{i}", f"copy{i}")


class Backup(OwnServerTest):
    def restored(self, server, backup):
        """A server on what restore makes of the backup."""
        other = self.make_server(maxmemory=server.options.get("maxmemory", "auto"))
        done = run("restore", backup, "--dir", other.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        return other.start()

    def missing(self, server, key, count):
        found = 0
        for begin in range(0, count, 1000):
            names = [f"i{i}" for i in range(begin, min(count, begin + 1000))]
            found += sum(server.client().execute_command("BF.MEXISTS", key, *names))
        return count - found

    def check_under_load(self, appendfsync):
        server = self.make_server(appendfsync=appendfsync).start()
        loads = [Load(server, f"load{i}") for i in range(2)]
        threads = [*loads, Disturbance(server)]
        for thread in threads:
            thread.start()
        try:
            backups = []
            for i in range(4):
                floor = [load.acknowledged for load in loads]
                wait_until(lambda floor=floor: all(load.acknowledged > before for load, before in
                                                   zip(loads, floor, strict=True)), REPLY_SECONDS, "adding goes on")
                acknowledged = [load.acknowledged for load in loads]
                path = pathlib.Path(server.home, f"backup{i}")
                done = run("backup", path, "--dir", server.directory)
                self.assertEqual(done.returncode, 0, done.stderr)
                backups.append((path, acknowledged))
                time.sleep(0.3)
        finally:
            for thread in threads:
                thread.stopped.set()
            for thread in threads:
                thread.join()
        self.assert_stops_well(server)
        for path, acknowledged in backups:
            other = self.restored(server, path)
            self.assertNotIn("torn", other.log())
            for load, count in zip(loads, acknowledged, strict=True):
                self.assertEqual(self.missing(other, load.key, count), 0, "of what was acknowledged before the backup")
            self.assert_stops_well(other)

    def test_of_a_server_at_work_that_syncs_always(self):
        self.check_under_load("always")

    def test_of_a_server_at_work_that_syncs_every_second(self):
        self.check_under_load("everysec")

    def filled(self):
        server = self.make_server().start()
        server.client().execute_command("BF.RESERVE", "large", 0.0001, 3_000_000)
        server.client().bf().madd("large", *range(100))
        server.client().bf().add("small", "x")
        server.client().save()
        server.client().bf().add("logged", "y")
        return server

    def holds_all(self, server):
        client = server.client()
        return client.bf().mexists("large", *range(100)) + [client.bf().exists("small", "x"),
                                                            client.bf().exists("logged", "y")] == [1] * 102

    def test_killed_at_any_moment_it_leaves_no_half_backup(self):
        server = self.filled()
        path = pathlib.Path(server.home, "backup")
        for delay in (0.0, 0.02, 0.1, 0.105, 0.11, 0.12, 0.13, 0.15):
            process = subprocess.Popen([binary(), "backup", path, "--dir", server.directory], env=ENVIRONMENT,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if path.exists():
                self.assertEqual(run("inspect", path, "--verify").returncode, 0)
                break
        else:
            done = run("backup", path, "--dir", server.directory)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(sorted(each.name for each in path.iterdir()), ["MANIFEST", "filters", "log"])
        self.assertTrue(self.holds_all(self.restored(server, path)))

    def test_a_restore_that_is_killed_can_be_done_again(self):
        server = self.filled()
        path = pathlib.Path(server.home, "backup")
        self.assertEqual(run("backup", path, "--dir", server.directory).returncode, 0)
        data = pathlib.Path(server.home, "restored")
        for delay in (0.0, 0.005, 0.01, 0.02):
            process = subprocess.Popen([binary(), "restore", path, "--dir", data], env=ENVIRONMENT,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
        if not (data / "MANIFEST").exists():
            self.assertEqual(run("restore", path, "--dir", data).returncode, 0)
        self.assertEqual(run("inspect", data, "--verify").returncode, 0)

    def test_a_full_disk(self):
        """The largest file that may be written is smaller than the filter: to the program that is a full disk."""
        server = self.filled()
        path = pathlib.Path(server.home, "backup")
        limited = ["bash", "-c", 'ulimit -f 2048; trap "" XFSZ; exec "$@"', "-"]
        done = subprocess.run([*limited, binary(), "backup", path, "--dir", server.directory], capture_output=True,
                              timeout=60 * PATIENCE, check=False, env=ENVIRONMENT, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{path}.partial/filters/", done.stderr)
        self.assertIn("File too large", done.stderr)
        self.assertFalse(path.exists())
        self.assertFalse(path.with_name("backup.partial").exists(), "nothing is left on the full disk")
        self.assertTrue(self.holds_all(server))

    def test_archives(self):
        server = self.filled()
        for compression, magic in ((None, b"filters/"), ("gzip", b"\x1f\x8b"), ("zstd", b"\x28\xb5\x2f\xfd")):
            flags = ["--compress", compression] if compression else []
            done = run("backup", "-", "--dir", server.directory, *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith(magic))
            self.assertIn(b"verified", done.stderr)
            path = pathlib.Path(server.home, f"archive-{compression}")
            path.write_bytes(done.stdout)
            self.assertTrue(self.holds_all(self.restored(server, path)))
        listed = subprocess.run(["tar", "-tf", pathlib.Path(server.home, "archive-None")], capture_output=True,
                                text=True, check=True)
        names = listed.stdout.split()
        self.assertEqual((names[0], names[-1]), ("filters/", "MANIFEST"))
        data = pathlib.Path(server.home, "from-standard-input")
        self.assertEqual(run("restore", "-", "--dir", data, input=done.stdout).returncode, 0)
        done = run("restore", "-", "--dir", data.with_name("cut"), input=done.stdout[:-1000])
        self.assertEqual(done.returncode, 1)
        self.assertFalse((data.with_name("cut") / "MANIFEST").exists())
        self.assertIn(b"is a file", run("inspect", path).stderr)

    def test_errors(self):
        server = self.filled()
        path = pathlib.Path(server.home, "backup")
        for arguments, status, text in (
                (("backup", path, "--dir", path), 1, "No such file or directory"),
                (("backup", server.home, "--dir", server.directory), 1, "is not empty"),
                (("backup", path, "--dir", server.directory, "--compress", "zstd"), 2, "--compress is for an archive"),
                (("backup", "--dir", server.directory), 2, "target"),
                (("restore", path, "--dir", server.directory), 1, "is not empty, it holds MANIFEST"),
                (("restore", path, "--dir", path.with_name("new")), 1, "No such file or directory")):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (status, b""), arguments)
            self.assertIn(text, done.stderr.decode())
        self.assert_stops_well(server)
        file = max(pathlib.Path(server.directory, "filters").iterdir(), key=lambda each: each.stat().st_size)
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
        for target in (path, "-"):
            done = run("backup", target, "--dir", server.directory)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(f"{file}: ", done.stderr.decode())
        self.assertFalse(path.exists())


if __name__ == "__main__":
    main()
