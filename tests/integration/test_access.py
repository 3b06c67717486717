"""Passwords, users and their rules, protected mode."""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import redis
from harness import ENVIRONMENT, HOST, PATIENCE, REPLY_SECONDS, Connection, OwnServerTest, encode, main, wait_until

NOAUTH = b"-NOAUTH Authentication required.\r\n"
WRONGPASS = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"


def own_address():
    """An address of this machine that is not loopback; None if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))  # sends nothing
            address = probe.getsockname()[0]
            return None if address.startswith("127.") else address
    return None


class Passwords(OwnServerTest):
    def ping(self, server, **variables):
        environment = dict(ENVIRONMENT)
        done = subprocess.run([server.program, "ping", "--port", str(server.port)], capture_output=True, text=True,
                              env={**environment, **variables}, timeout=60 * PATIENCE, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_ping_gives_the_password_of_its_environment(self):
        path = os.path.join(tempfile.mkdtemp(prefix="bitsieve-test-"), "password")
        self.addCleanup(shutil.rmtree, os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("s3cret\n")
        server = self.make_server(requirepass_file=path).start()
        self.assertEqual(self.ping(server, BITSIEVE_REQUIREPASS_FILE=path), (0, "PONG\n"))
        self.assertEqual(self.ping(server, BITSIEVE_REQUIREPASS="s3cret"), (0, "PONG\n"))
        for variables, expected in (({}, "NOAUTH"), ({"BITSIEVE_REQUIREPASS": "wrong"}, "wrong password")):
            status, output = self.ping(server, **variables)
            self.assertEqual(status, 1)
            self.assertIn(expected, output)
        self.assertEqual(self.ping(server, BITSIEVE_REQUIREPASS_FILE=path + ".no")[0], 2)
        open_to_all = self.make_server().start()
        self.assertEqual(self.ping(open_to_all, BITSIEVE_REQUIREPASS="s3cret"), (0, "PONG\n"))
        self.assert_stops_well(server)

    def test_a_password_of_the_user_default(self):
        server = self.make_server(requirepass="s3cret").start()
        connection = server.connect()
        for command in (("PING",), ("BF.ADD", "f", "x"), ("CONFIG", "GET", "*"), ("SHUTDOWN",)):
            self.assertEqual(connection.command(*command), NOAUTH)
        self.assertEqual(connection.command("AUTH", "wrong"), WRONGPASS)
        self.assertEqual(connection.command("AUTH", "s3cret"), b"+OK\r\n")
        self.assertEqual(connection.command("BF.ADD", "f", "x"), b":1\r\n")
        self.assertEqual(connection.command("CONFIG", "GET", "requirepass"),
                         b"*2\r\n$11\r\nrequirepass\r\n$3\r\n***\r\n")
        self.assertNotIn("s3cret", server.log())
        self.assert_stops_well(server)

    def test_commands_after_auth_in_one_packet(self):
        server = self.make_server(requirepass="s3cret").start()
        connection = server.connect()
        many = encode("BF.MADD", "f", *range(1000))  # more than a client may send before it has authenticated
        connection.send(encode("AUTH", "s3cret") + many + encode("PING"))
        self.assertEqual(connection.reply(), b"+OK\r\n")
        self.assertTrue(connection.reply().startswith(b"*1000\r\n"))
        self.assertEqual(connection.reply(), b"+PONG\r\n")
        self.assert_stops_well(server)

    def test_clients_that_did_not_authenticate_are_bounded(self):
        server = self.make_server(requirepass="s3cret").start()
        for data in (b"*11\r\n", b"*2\r\n$16385\r\n", b"x" * 20_000):
            with self.subTest(data=data[:20]):
                connection = server.connect()
                self.assertIn(b"ERR Protocol error", connection.ask(data))
                self.assertTrue(connection.is_closed())
        connection = server.connect()
        self.assertEqual(connection.command("AUTH", "default", "x" * 16_384), WRONGPASS)
        self.assert_stops_well(server)

    def test_a_password_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "password")
            for content in (b"from a file", b"from a file\n", b"from a file\r\n"):
                with open(path, "wb") as file:
                    file.write(content)
                server = self.make_server(requirepass_file=path).start()
                self.assertEqual(server.connect().command("AUTH", "from a file"), b"+OK\r\n")
                self.assertEqual(server.connect().command("PING"), NOAUTH)
                self.assert_stops_well(server)

    def refuses_to_start(self, reason, **options):
        server = self.make_server(**options)
        server.spawn()
        self.assertEqual(server.wait(), 1)
        self.assertIn(reason, server.log())

    def test_files_that_are_no_good_stop_the_start(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            self.refuses_to_start(f"requirepass-file: {path}: cannot be read: No such file", requirepass_file=path)
            self.refuses_to_start(f"aclfile: {path}: cannot be read: No such file", aclfile=path)
            with open(path, "w") as file:
                file.write("")
            self.refuses_to_start(f"{path}: is empty", requirepass_file=path)
            self.refuses_to_start("give one of them", requirepass_file=path, requirepass="x")
            with open(path, "w") as file:
                file.write("user bob on\nuser eve on +nothing\n")
            self.refuses_to_start(f"aclfile {path}: line 2: Error in ACL SETUSER modifier '+nothing'", aclfile=path)
            with open(path, "wb") as file:
                file.truncate(17 << 20)
            self.refuses_to_start("too large", aclfile=path)

    def test_the_password_changes_while_the_server_runs(self):
        server = self.make_server().start()
        connection = server.connect()
        self.assertEqual(connection.command("CONFIG", "SET", "requirepass", "one"), b"+OK\r\n")
        self.assertEqual(connection.command("PING"), b"+PONG\r\n")
        self.assertEqual(server.connect().command("PING"), NOAUTH)
        self.assertEqual(connection.command("CONFIG", "SET", "requirepass", "two"), b"+OK\r\n")
        other = server.connect()
        self.assertEqual(other.command("AUTH", "one"), WRONGPASS)
        self.assertEqual(other.command("AUTH", "two"), b"+OK\r\n")
        # A change of something else leaves what ACL SETUSER made of the user.
        self.assertEqual(connection.command("ACL", "SETUSER", "default", ">three"), b"+OK\r\n")
        self.assertEqual(connection.command("CONFIG", "SET", "timeout", "7"), b"+OK\r\n")
        self.assertEqual(server.connect().command("AUTH", "three"), b"+OK\r\n")
        self.assertEqual(connection.command("CONFIG", "SET", "requirepass", ""), b"+OK\r\n")
        self.assertEqual(server.connect().command("PING"), b"+PONG\r\n")
        self.assert_stops_well(server)


class ProtectedMode(OwnServerTest):
    def setUp(self):
        super().setUp()
        self.address = own_address()
        if self.address is None:
            self.skipTest("this machine has no address besides loopback")

    def first_line(self, server):
        with socket.create_connection((self.address, server.port), timeout=REPLY_SECONDS) as connection:
            connection.sendall(b"PING\r\n")
            with contextlib.suppress(ConnectionResetError), connection.makefile("rb") as file:
                return file.readline()
        return b""

    def test_without_a_password_only_this_machine_is_served(self):
        server = self.make_server(bind="0.0.0.0").start()
        line = self.first_line(server)
        self.assertTrue(line.startswith(b"-DENIED Bitsieve is running in protected mode"), line)
        self.assertIn(b"requirepass", line)
        self.assertIn("warning Clients on other machines are refused, since there is no password", server.log())
        connection = server.connect()
        self.assertEqual(connection.command("PING"), b"+PONG\r\n")
        self.assertIn(b"rejected_connections:1\r\n", connection.command("INFO", "stats"))
        self.assertEqual(connection.command("CONFIG", "SET", "protected-mode", "no"), b"+OK\r\n")
        self.assertEqual(self.first_line(server), b"+PONG\r\n")
        self.assertEqual(connection.command("CONFIG", "SET", "protected-mode", "yes"), b"+OK\r\n")
        self.assertTrue(self.first_line(server).startswith(b"-DENIED"))
        self.assertEqual(connection.command("CONFIG", "SET", "requirepass", "x"), b"+OK\r\n")
        self.assertEqual(self.first_line(server), NOAUTH)
        self.assert_stops_well(server)


class Clients(OwnServerTest):
    """As people use it: redis-cli and redis-py."""

    def test_redis_cli_and_redis_py(self):
        server = self.make_server(requirepass="s3cret").start()
        cli = server.try_cli
        self.assertIn("NOAUTH", cli("PING").stdout)
        self.assertEqual(cli("-a", "s3cret", "--no-auth-warning", "PING").stdout, "PONG\n")
        self.assertEqual(cli("--user", "default", "--pass", "s3cret", "--no-auth-warning", "PING").stdout, "PONG\n")
        self.assertIn("WRONGPASS", cli("-a", "wrong", "--no-auth-warning", "PING").stderr)
        admin = server.client(password="s3cret")
        admin.acl_setuser("crawler", enabled=True, passwords=["+pw"], keys=["seen:*"], categories=["+@bloom"])
        self.assertEqual(sorted(admin.acl_users()), ["crawler", "default"])
        details = admin.acl_getuser("crawler")
        self.assertIn("on", details["flags"])
        self.assertEqual(len(details["passwords"]), 1)
        crawler = server.client(username="crawler", password="pw")
        self.assertEqual(crawler.bf().add("seen:a", "x"), 1)
        with self.assertRaises(redis.exceptions.NoPermissionError):
            crawler.bf().add("other", "x")
        with self.assertRaises(redis.exceptions.NoPermissionError):
            crawler.config_get("*")
        with self.assertRaisesRegex(redis.RedisError, "WRONGPASS|invalid"):
            server.client(username="crawler", password="no").ping()
        self.assertEqual(admin.acl_log()[0]["username"], "crawler")
        self.assertTrue(admin.acl_deluser("crawler"))
        with self.assertRaises(redis.RedisError):
            crawler.ping()
            crawler.ping()
        self.assert_stops_well(server)


class Pages(OwnServerTest):
    """The users that the pages make, as they stand there."""

    def users(self):
        line_of_one = re.compile(r"^(?:redis-cli .*)?\bACL SETUSER (?!default|username).*$", re.MULTILINE)
        docs = pathlib.Path(__file__).parents[2] / "docs"
        for page in sorted(docs.rglob("*.md")):
            for line in line_of_one.findall(page.read_text(encoding="utf-8")):
                words = shlex.split(line)
                yield page.name, words[words.index("ACL"):]

    def test_clients_that_look_after_their_connection(self):
        server = self.make_server().start()
        admin = server.client()
        found = list(self.users())
        self.assertGreaterEqual({name for name, _ in found}, {"access.md", "secure.md"})
        for page, command in found:
            with self.subTest(page=page, command=command):
                user = command[2]
                password = next(word[1:] for word in command if word.startswith(">"))
                self.assertEqual(admin.execute_command(*command), b"OK")
                # A PING before each command.
                client = redis.Redis(host=HOST, port=server.port, username=user, password=password, client_name=user,
                                     health_check_interval=1e-9, socket_timeout=REPLY_SECONDS)
                name = next(word.split("~")[1] for word in command if "~" in word).replace("*", "1")
                for _ in range(3):
                    self.assertFalse(client.execute_command("BF.EXISTS", name, "x"))
                client.close()
        self.assertNotIn("ping", [entry["object"] for entry in admin.acl_log()])
        self.assert_stops_well(server)


class WrongPasswordsOfTools(OwnServerTest):
    def test_a_password_that_the_server_does_not_have(self):
        server = self.make_server().start()
        server.client().bf().add("f", "x")
        url = f"redis://:wrong@127.0.0.1:{server.port}"
        with tempfile.TemporaryDirectory() as folder:
            for command in (["ping", "-u", url], ["check", "-u", url, "f"], ["load", "-u", url, "f"],
                            ["export", "-u", url, "f", os.path.join(folder, "file")],
                            ["migrate", url, "--dry-run"]):
                with self.subTest(command=command):
                    done = subprocess.run([server.program, *command], capture_output=True, text=True, input="x\n",
                                          env=ENVIRONMENT, timeout=60 * PATIENCE, check=False)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn("AUTH failed: a password was given, but the server has none", done.stderr)
        self.assert_stops_well(server)


class UsersFile(OwnServerTest):
    def test_users_are_kept_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "users.acl")
            with open(path, "w") as file:
                file.write("# ours\nuser bob on >one ~a:* +@bloom\n")
            os.chmod(path, 0o640)
            server = self.make_server(aclfile=path).start()
            admin = server.client()
            bob = server.client(username="bob", password="one")
            self.assertEqual(bob.bf().add("a:1", "x"), 1)
            admin.execute_command("ACL", "SETUSER", "alice", "on", ">two", "%R~a:*", "+bf.exists", "(+@read ~b:*)")
            self.assertEqual(admin.execute_command("ACL", "SAVE"), b"OK")
            with open(path) as file:
                saved = file.read()
            self.assertNotIn(">one", saved)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
            self.assertEqual(os.listdir(folder), ["users.acl"])
            users = sorted(admin.acl_list())
            self.assertEqual(sorted(saved.splitlines()), users)
            self.assert_stops_well(server)
            server.start()
            self.assertEqual(sorted(server.client().acl_list()), users)
            with open(path, "a") as file:
                file.write("user eve on +nothing\n")
            with self.assertRaisesRegex(redis.ResponseError, "line 4: Error in ACL SETUSER modifier '.nothing'"):
                server.client().execute_command("ACL", "LOAD")
            self.assertEqual(sorted(server.client().acl_list()), users)
            bob = server.client(username="bob", password="one")
            self.assertTrue(bob.bf().exists("a:1", "x"))
            with open(path, "w") as file:
                file.write("user alice on nopass +@all\n")
            self.assertEqual(server.client().execute_command("ACL", "LOAD"), b"OK")
            self.assertEqual(server.client().acl_users(), ["alice", "default"])
            with self.assertRaises(redis.RedisError):  # it is closed, and cannot come back
                bob.ping()
                bob.ping()
            self.assert_stops_well(server)


class WrongPasswords(OwnServerTest):
    def test_many_slow_nobody_down_and_are_one_line_of_the_log(self):
        server = self.make_server(requirepass="s3cret", io_threads=1).start()
        watcher = server.connect()
        self.assertEqual(watcher.command("AUTH", "s3cret"), b"+OK\r\n")
        count = 100_000
        done = threading.Event()

        def attack():
            with contextlib.closing(Connection(server.port)) as connection:
                for begin in range(0, count, 1000):
                    connection.send(b"".join(encode("AUTH", f"guess{i}") for i in range(begin, begin + 1000)))
                    for _ in range(1000):
                        self.assertEqual(connection.reply(), WRONGPASS)
            done.set()

        attacker = threading.Thread(target=attack)
        attacker.start()
        waits = []
        while not done.is_set() and attacker.is_alive():
            begin = time.monotonic()
            self.assertEqual(watcher.command("PING"), b"+PONG\r\n")
            waits.append(time.monotonic() - begin)
        attacker.join()
        self.assertTrue(done.is_set())
        waits.sort()
        print(f"PING of another client during {count} wrong passwords: median {waits[len(waits) // 2] * 1000:.2f} ms, "
              f"longest {waits[-1] * 1000:.1f} ms")
        log = watcher.command("ACL", "LOG")
        self.assertLessEqual(int(log[1:log.index(b"\r")]), 3)
        wait_until(lambda: "wrong passwords" in server.log(), 15 * PATIENCE, "a line of the log about them")
        self.assertLessEqual(server.log().count("wrong passwords"), 10)
        self.assertLess(len(server.log()), 10_000)
        self.assert_stops_well(server)


if __name__ == "__main__":
    main()
