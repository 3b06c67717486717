"""What survives: orderly stops, kill -9 at any moment, damaged files."""

import os
import pathlib
import random
import threading
import time

from filter_types import needed_options, type_names
from harness import PATIENCE, REPLY_SECONDS, OwnServerTest, encode, lasting_info, main, wait_until

KINDS = type_names(by_reserve=True, forgets=False)


def fill(server):
    """Filters of every kind and size, and what to ask them for; item i of filter k is 'k:i'."""
    client = server.client()
    contents = {}
    for i, kind in enumerate(KINDS):
        name = f"{kind}:{i}"
        client.execute_command("BF.RESERVE", name, 0.001, 10 ** (i % 4 + 1), "TYPE", kind,
                               *needed_options(kind))
        items = [f"{name}:{j}" for j in range(10 ** (i % 3 + 1) * 3)]  # some of them grow
        client.bf().madd(name, *items)
        contents[name] = items
    client.execute_command("BF.ADD", b"\x00binary\r\n\xff", b"\x00")
    contents[b"\x00binary\r\n\xff"] = [b"\x00"]
    return contents


def description(server):
    """All that BF.INFO and BF.CARD report, to compare before and after."""
    connection = server.connect()
    return {name: lasting_info(connection, name) for name in server.client().keys()}


def flipped(data, at, bit):
    return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1:]


class PersistenceTest(OwnServerTest):
    def assert_holds(self, server, contents):
        client = server.client()
        self.assertEqual({name if isinstance(name, bytes) else name.encode() for name in contents}, set(client.keys()))
        for name, items in contents.items():
            self.assertTrue(all(client.bf().mexists(name, *items)), name)

    def saved_and_killed(self):
        server = self.make_server().start()
        contents = fill(server)
        self.assertTrue(server.client().save())
        server.kill()
        return server, contents

    def filter_files(self, server):
        return sorted(pathlib.Path(server.directory, "filters").glob("*.filter"))


class WaitAof(PersistenceTest):
    def test_what_it_waited_for_is_synced(self):
        server = self.make_server(appendfsync="everysec").start()
        connection, other = server.connect(), server.connect()
        connection.send(encode("BF.ADD", "f", "x") + encode("WAITAOF", 1, 0, 0) + encode("PING"))
        self.assertEqual(connection.reply(), b":1\r\n")
        self.assertEqual(other.command("WAITAOF", 1, 0, 0), b"*2\r\n:1\r\n:0\r\n", "it has changed nothing")
        self.assertEqual(connection.reply() + connection.reply(), b"*2\r\n:1\r\n:0\r\n+PONG\r\n")
        server.restart()
        self.assertEqual(server.connect().command("BF.EXISTS", "f", "x"), b":1\r\n")

    def test_always_has_synced_before_and_no_never_knows(self):
        server = self.make_server(appendfsync="always").start()
        connection = server.connect()
        self.assertEqual(connection.command("BF.ADD", "f", "x"), b":1\r\n")
        self.assertEqual(connection.command("WAITAOF", 1, 0, 0), b"*2\r\n:1\r\n:0\r\n")
        self.assertEqual(connection.command("CONFIG", "SET", "appendfsync", "no"), b"+OK\r\n")
        self.assertEqual(connection.command("WAITAOF", 1, 0, 10), b"*2\r\n:0\r\n:0\r\n")

    def test_without_a_log(self):
        connection = self.make_server(appendonly="no").start().connect()
        self.assertEqual(connection.command("WAITAOF", 1, 0, 0),
                         b"-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n")
        self.assertEqual(connection.command("WAITAOF", 0, 0, 0), b"*2\r\n:0\r\n:0\r\n")


class Survival(PersistenceTest):
    def test_save_then_kill_9(self):
        server = self.make_server(appendonly="no").start()
        contents = fill(server)
        before = description(server)
        self.assertTrue(server.client().save())
        server.client().execute_command("BF.ADD", "unsaved", "x")
        server.restart()
        self.assert_holds(server, contents)
        self.assertEqual(description(server), before)
        self.assertRegex(server.log(), rf"Loaded {len(contents)} filters")
        # It goes on as before: no item is new, and the filters grow on.
        client = server.client()
        for name, items in contents.items():
            self.assertEqual(sum(client.bf().madd(name, *items)), 0, name)
        client.bf().madd("blocked:1", *range(5000))
        self.assert_stops_well(server)

    def test_expiries_survive(self):
        server = self.make_server().start()
        client = server.client()
        client.execute_command("BF.ADD", "stays", "x")
        client.execute_command("BF.ADD", "goes", "x")
        client.expire("stays", 10_000)
        client.save()
        client.pexpire("goes", 1)  # changes nothing but an expiry, and that long enough after the save to be over
        wait_until(lambda: client.dbsize() == 1, REPLY_SECONDS, "the name is gone")
        client.execute_command("BF.ADD", "goes", "x")
        client.pexpire("goes", 2000)  # time enough for the save, on a busy machine as well
        client.save()
        until = client.pexpiretime("stays")
        server.kill()
        time.sleep(2.1)
        server.start()
        client = server.client()
        self.assertEqual(client.keys(), [b"stays"])
        self.assertEqual(client.pexpiretime("stays"), until)
        self.assertRegex(server.log(), r"Loaded 1 filters \(1 more had expired\)")
        client.save()
        self.assertEqual(len(self.filter_files(server)), 1)

    def test_sigterm_saves(self):
        server = self.make_server().start()
        contents = fill(server)
        self.assert_stops_well(server)
        server.start()
        self.assert_holds(server, contents)
        self.assert_stops_well(server)

    def test_sigint_saves(self):
        server = self.make_server().start()
        server.client().execute_command("BF.ADD", "k", "x")
        server.process.send_signal(2)
        self.assertEqual(server.wait(), 0)
        server.start()
        self.assertEqual(server.client().bf().exists("k", "x"), 1)

    def test_background_snapshots(self):
        server = self.make_server(save_interval=1).start()
        client = server.client()
        client.execute_command("BF.ADD", "k", "x")
        wait_until(lambda: client.info("persistence")["rdb_changes_since_last_save"] == 0, 10 * PATIENCE, "a snapshot")
        server.restart()
        self.assertEqual(server.client().bf().exists("k", "x"), 1)

    def test_deletions_renames_and_flushes_survive(self):
        server = self.make_server().start()
        connection = server.connect()
        for name in "abc":
            connection.command("BF.ADD", name, name)
        connection.command("SAVE")
        connection.send(encode("DEL", "a") + encode("RENAME", "b", "d") + encode("BF.CLEAR", "c") + encode("SAVE"))
        for _ in range(4):
            connection.reply()
        server.restart()
        client = server.client()
        self.assertEqual(set(client.keys()), {b"c", b"d"})
        self.assertEqual((client.bf().exists("d", "b"), client.bf().exists("c", "c")), (1, 0))
        client.flushall()
        client.save()
        server.restart()
        self.assertEqual(server.client().dbsize(), 0)
        self.assertEqual(self.filter_files(server), [])

    def test_an_unchanged_filter_is_not_written_again(self):
        server = self.make_server().start()
        client = server.client()
        for name in ("a", "b", "c"):
            client.execute_command("BF.ADD", name, "x")
        client.save()
        before = {path.name: path.stat().st_mtime_ns for path in self.filter_files(server)}
        client.execute_command("BF.ADD", "b", "y")
        client.save()
        after = {path.name: path.stat().st_mtime_ns for path in self.filter_files(server)}
        self.assertEqual(len(before.items() & after.items()), 1)
        self.assertEqual((len(before), len(after)), (1, 2), "the first pack has the other filters still")

    def test_saving_does_not_pause_service(self):
        server = self.make_server().start()
        client = server.client()
        client.execute_command("BF.RESERVE", "big", 0.01, 100_000_000)
        client.execute_command("BF.ADD", "big", "x")
        saver = threading.Thread(target=server.client().save)
        saver.start()
        slowest = 0
        while saver.is_alive():
            began = time.monotonic()
            client.execute_command("BF.ADD", "big", str(began))
            slowest = max(slowest, time.monotonic() - began)
        saver.join()
        self.assertLess(slowest, 1 * PATIENCE)

    def test_kill_9_at_any_moment_leaves_a_whole_snapshot(self):
        """Each SAVE that was answered counts; whatever the kill interrupted is either there or not."""
        server = self.make_server(save_interval=1).start()
        generator = random.Random(3)
        saved = 0
        for _ in range(8):
            connection = server.connect()
            connection.socket.settimeout(REPLY_SECONDS)
            stop = threading.Timer(generator.uniform(0.02, 0.3), server.process.kill)
            stop.start()
            number = saved
            try:
                while True:
                    number += 1
                    connection.command("BF.ADD", f"k{number % 5}", f"item{number}")
                    if connection.command("SAVE") == b"+OK\r\n":
                        saved = number
            except (EOFError, ConnectionError):
                pass
            stop.join()
            server.wait()
            server.start()
            client = server.client()
            for i in range(1, saved + 1):
                self.assertEqual(client.bf().exists(f"k{i % 5}", f"item{i}"), 1, i)
        self.assertGreater(saved, 8)
        self.assert_stops_well(server)

    def test_two_servers_do_not_share_a_directory(self):
        server = self.make_server().start()
        other = self.make_server()
        other.directory = server.directory
        other.spawn()
        self.assertNotEqual(other.wait(), 0)
        self.assertIn(str(server.process.pid), other.log())
        self.assertIn(server.directory, other.log())
        server.check_alive()


class Damage(PersistenceTest):
    DAMAGES = {
        "a changed byte": lambda data: flipped(data, len(data) // 2, 0),
        "a changed head": lambda data: b"X" + data[1:],
        "cut short": lambda data: data[:-1],
        "emptied": lambda data: b"",
        "longer": lambda data: data + b"\0",
    }

    def assert_refuses_to_start(self, server, *patterns):
        server.spawn()
        self.assertNotEqual(server.wait(), 0)
        for pattern in patterns:
            self.assertRegex(server.log(), pattern)

    def test_a_damaged_filter_is_refused_by_name_and_nothing_is_changed(self):
        server, contents = self.saved_and_killed()
        path = self.filter_files(server)[0]
        whole = path.read_bytes()
        for what, damage in self.DAMAGES.items():
            with self.subTest(what):
                path.write_bytes(damage(whole))
                self.assert_refuses_to_start(server, path.name, "quarantine")
                self.assertEqual(path.read_bytes(), damage(whole))
        path.unlink()
        self.assert_refuses_to_start(server, path.name)
        path.write_bytes(whole)
        server.start()
        self.assert_holds(server, contents)

    def test_every_damaged_file_is_named(self):
        server, _ = self.saved_and_killed()
        paths = self.filter_files(server)[:3]
        for path in paths:
            path.write_bytes(path.read_bytes()[:-5])
        self.assert_refuses_to_start(server, *(path.name for path in paths))

    def test_exchanged_files_are_found(self):
        server = self.make_server().start()
        for name in ("a", "b"):
            server.client().execute_command("BF.RESERVE", name, 0.01, 100_000)
        server.client().save()
        server.kill()
        first, second = self.filter_files(server)
        held = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(held)
        self.assert_refuses_to_start(server, first.name, second.name)

    def test_a_damaged_manifest_is_refused_by_name(self):
        server, contents = self.saved_and_killed()
        path = pathlib.Path(server.directory, "MANIFEST")
        whole = path.read_bytes()
        for what, damage in self.DAMAGES.items():
            with self.subTest(what):
                path.write_bytes(damage(whole))
                self.assert_refuses_to_start(server, "MANIFEST")
        path.write_bytes(whole)
        server.start()
        self.assert_holds(server, contents)

    def test_a_missing_manifest_is_not_an_empty_server(self):
        server, _ = self.saved_and_killed()
        pathlib.Path(server.directory, "MANIFEST").unlink()
        self.assert_refuses_to_start(server, "MANIFEST")

    def test_quarantine(self):
        server, contents = self.saved_and_killed()
        path = self.filter_files(server)[0]
        whole = path.read_bytes()
        damaged = flipped(whole, len(whole) - 1, 1)
        path.write_bytes(damaged)
        server.options["on_corrupt_filter"] = "quarantine"
        server.start()
        self.assertIn(path.name, server.log())
        left = {name.decode(errors="replace") for name in server.client().keys()}
        self.assertEqual(len(left), len(contents) - 1)
        aside = list(pathlib.Path(server.directory, "quarantine").iterdir())
        self.assertEqual([file.read_bytes() for file in aside], [damaged])
        # What was set aside stays aside.
        self.assert_stops_well(server)
        del server.options["on_corrupt_filter"]
        server.start()
        self.assertEqual(server.client().dbsize(), len(contents) - 1)

    def test_damage_of_filters_and_log_needs_both_options(self):
        server = self.make_server(appendfsync="always").start()
        client = server.client()
        for name in "ab":
            client.execute_command("BF.ADD", name, "saved")
        client.save()
        for i in range(50):
            client.execute_command("BF.ADD", "a", f"logged{i}")
        server.kill()
        home = pathlib.Path(server.directory)
        path = self.filter_files(server)[0]
        path.write_bytes(flipped(path.read_bytes(), 100, 1))  # in the first of the two records
        (segment,) = (home / "log").glob("*.log")
        segment.write_bytes(flipped(segment.read_bytes(), 80, 1))

        def files():
            return {str(file): file.read_bytes() for file in home.rglob("*") if file.is_file() and file.name != "LOCK"}
        before = files()
        for option, value in ((None, None), ("on_corrupt_filter", "quarantine"), ("on_corrupt_log", "truncate")):
            with self.subTest(option=option, value=value):
                if option:
                    server.options[option] = value
                self.assert_refuses_to_start(server, path.name, segment.name, "on-corrupt-filter quarantine",
                                             "on-corrupt-log truncate")
                self.assertEqual(files(), before)
                server.options.pop(option, None)
        server.options.update(on_corrupt_filter="quarantine", on_corrupt_log="truncate")
        server.start()
        left = server.client().keys()
        self.assertIn(left, ([b"a"], [b"b"]))
        server.kill()
        del server.options["on_corrupt_filter"], server.options["on_corrupt_log"]
        server.start()
        self.assertEqual(server.client().keys(), left)

    def logged_and_killed(self):
        """A server whose log holds 100 filters, and then the whole content of one more."""
        server = self.make_server(appendfsync="always").start()
        with server.connect() as connection:
            for i in range(100):
                connection.command("BF.ADD", f"filter{i}", "item")
            # Large enough for the log to have its content in a file.
            connection.command("BF.RESERVE", "large", 0.01, 400_000)
            connection.command("BF.ADD", "large", "item")
            connection.command("COPY", "large", "copy")
        server.kill()
        return server

    def assert_loss_is_accepted_once(self, server, **on_corrupt):
        """Also if the server is killed at once: what is left does not depend on what was lost."""
        server.options.update(on_corrupt)
        server.start()
        left = sorted(server.client().keys())
        server.kill()
        for option in on_corrupt:
            del server.options[option]
        server.start()
        self.assertEqual(sorted(server.client().keys()), left)
        return left

    def test_a_lost_content_of_the_log_is_lost_once(self):
        server = self.logged_and_killed()
        (path,) = self.filter_files(server)
        path.write_bytes(path.read_bytes()[:-1])
        self.assert_refuses_to_start(server, path.name, "quarantine")
        self.assertEqual(len(self.assert_loss_is_accepted_once(server, on_corrupt_filter="quarantine")), 101)

    def test_a_lost_end_of_the_log_is_lost_once(self):
        server = self.logged_and_killed()
        (path,) = pathlib.Path(server.directory, "log").glob("*.log")
        whole = path.read_bytes()
        path.write_bytes(flipped(whole, len(whole) // 2, 0))
        self.assert_refuses_to_start(server, path.name, "truncate")
        left = self.assert_loss_is_accepted_once(server, on_corrupt_log="truncate")
        self.assertTrue(0 < len(left) < 102, left)

    def test_what_follows_many_whole_contents_is_not_lost(self):
        server = self.make_server(save_interval=0).start()
        with server.connect() as connection:
            connection.command("BF.INSERT", "source", "CAPACITY", 400, "ITEMS", *range(200))
            dump = connection.command("BF.DUMP", "source").split(b"\r\n", 1)[1][:-2]
            for begin in range(0, 20_000, 500):
                names = [f"filter{i}" for i in range(begin, begin + 500)]
                connection.send(b"".join(encode("BF.RESTORE", name, dump) for name in names))
                self.assertEqual({connection.reply() for _ in names}, {b"+OK\r\n"})
            connection.command("BF.ADD", "after", "item")
            wait_until(lambda: b"aof_buffer_length:0\r" in connection.command("INFO", "persistence"), REPLY_SECONDS,
                       "all of the log is written")
        server.kill()
        server.start()
        with server.connect() as connection:
            self.assertEqual(connection.command("DBSIZE"), b":20002\r\n")
            self.assertEqual(connection.command("BF.EXISTS", "after", "item"), b":1\r\n")

    def test_random_damage_never_gives_a_wrong_filter(self):
        server, contents = self.saved_and_killed()
        files = self.filter_files(server) + [pathlib.Path(server.directory, "MANIFEST")]
        generator = random.Random(11)
        for _ in range(20):
            path = generator.choice(files)
            whole = path.read_bytes()
            at = generator.randrange(len(whole))
            path.write_bytes(flipped(whole, at, generator.randrange(8)))
            self.assert_refuses_to_start(server, path.name)
            path.write_bytes(whole)
        server.start()
        self.assert_holds(server, contents)

    def test_leftovers_of_a_snapshot_that_was_never_finished_are_removed(self):
        server, contents = self.saved_and_killed()
        leftovers = [pathlib.Path(server.directory, name) for name in ("filters/999999.filter", "MANIFEST.tmp")]
        for leftover in leftovers:
            leftover.write_bytes(b"half")
        stranger = pathlib.Path(server.directory, "README")
        stranger.write_text("mine")
        server.start()
        self.assert_holds(server, contents)
        self.assertEqual([leftover.exists() for leftover in leftovers], [False, False])
        self.assertEqual(stranger.read_text(), "mine")


class Trouble(PersistenceTest):
    def test_a_failed_save_is_told_and_the_next_one_works(self):
        server = self.make_server().start()
        client, connection = server.client(), server.connect()
        client.execute_command("BF.ADD", "k", "x")
        filters = pathlib.Path(server.directory, "filters")
        filters.rename(filters.with_name("away"))
        self.assertRegex(connection.command("SAVE"), rb"^-ERR .*filters")
        self.assertEqual(client.info("persistence")["rdb_last_bgsave_status"], "err")
        self.assertEqual(client.bf().exists("k", "x"), 1)
        filters.with_name("away").rename(filters)
        self.assertEqual(connection.command("SAVE"), b"+OK\r\n")
        server.restart()
        self.assertEqual(server.client().bf().exists("k", "x"), 1)

    def test_a_directory_that_cannot_be_made_is_named(self):
        server = self.make_server()
        pathlib.Path(server.home, "file").write_text("")
        server.directory = os.path.join(server.home, "file", "data")
        server.spawn()
        self.assertNotEqual(server.wait(), 0)
        self.assertIn(os.path.dirname(server.directory) + ": cannot create the directory", server.log())

    def test_more_than_maxmemory_is_loaded_and_only_what_needs_more_is_refused(self):
        server = self.make_server(maxmemory="1mb", appendfsync="always").start()
        client = server.client()
        client.config_set("maxmemory", "100mb")
        client.execute_command("BF.RESERVE", "k", 0.01, 5_000_000)
        client.execute_command("BF.ADD", "k", "saved")
        client.save()
        client.execute_command("BF.ADD", "k", "logged")
        server.restart()
        self.assertRegex(server.log(), r"warning The filters take \d+ bytes, more than maxmemory, 1048576:")
        connection = server.connect()
        self.assertEqual(connection.command("BF.MEXISTS", "k", "saved", "logged"), b"*2\r\n:1\r\n:1\r\n")
        self.assertEqual(connection.command("BF.ADD", "k", "more"), b":1\r\n", "it has the memory for that")
        self.assertRegex(connection.command("BF.ADD", "new", "x"), rb"-OOM ")
        self.assertIn(b"1048576", connection.command("CONFIG", "GET", "maxmemory"))
        self.assertEqual(connection.command("DEL", "k"), b":1\r\n")
        self.assertEqual(connection.command("BF.ADD", "new", "x"), b":1\r\n")
        self.assert_stops_well(server)


if __name__ == "__main__":
    main()
