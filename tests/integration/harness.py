"""Drives the real binary over sockets: start, stop, kill and restart it, and talk to it byte by byte.

The binary is named by BITSIEVE_BINARY; ctest sets it. BITSIEVE_TEST_PATIENCE (a factor, 1 if not set) stretches every
deadline, for builds and machines that are slow.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import redis
from redis.utils import HIREDIS_AVAILABLE

# Each BITSIEVE_ variable is an option to the program under test: the test's own are not for it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("BITSIEVE_")}
HOST = "127.0.0.1"  # the name localhost does not resolve everywhere
PATIENCE = float(os.environ.get("BITSIEVE_TEST_PATIENCE", "1"))
START_SECONDS = 30 * PATIENCE
STOP_SECONDS = 30 * PATIENCE
REPLY_SECONDS = 20 * PATIENCE
ORDERLY_SECONDS = 10
# A process that is killed does not write how often its branches ran.
COUNTS_BRANCHES = os.environ.get("BITSIEVE_TEST_COUNTS_BRANCHES") == "1"
SKIPPED = 77  # the exit status of a file of which every test was skipped


def binary():
    path = os.environ.get("BITSIEVE_BINARY", "")
    if not path:
        sys.exit("BITSIEVE_BINARY is not set: it must name the bitsieve binary to test")
    if not os.access(path, os.X_OK):
        sys.exit(f"BITSIEVE_BINARY={path}: no such executable")
    return path


def check_parser():
    """redis-py takes hiredis if it is there; a run that is meant to test one parser must not test the other."""
    wanted = os.environ.get("REDIS_PY_PARSER")
    used = "hiredis" if HIREDIS_AVAILABLE else "python"
    if wanted not in (None, used):
        sys.exit(f"REDIS_PY_PARSER={wanted}, but redis-py would parse by {used}: "
                 "apt-get install python3-hiredis, or set PYTHONPATH to tests/integration/without_hiredis")


def lasting_info(connection, key):
    """BF.INFO FULL as it comes, without what is counted since the filter was made or loaded, or changes with time."""
    info = connection.command("BF.INFO", key, "FULL")
    info = re.sub(rb"\+(?:Next expiry in|Epoch ends in) milliseconds\r\n:\d+\r\n", b"", info)
    info = re.sub(rb"\+Items per epoch\r\n\$\d+\r\n[0-9 ]+\r\n", b"", info)
    return re.sub(rb"\+(?:Hits|Misses|Adds|Last use)\r\n(?::\d+|\$-1|_)\r\n", b"", info)


class EngineArity(bytes):
    """What the module says, or the same without the usage: an engine checks most numbers of arguments itself."""

    def __eq__(self, other):
        return other in (bytes(self), re.sub(rb"; usage: [^\r]*", b"", self))

    __hash__ = bytes.__hash__


def arity(command):
    """The error of too few or too many arguments; of a filter command with the usage that docs/commands.md shows."""
    text = f"-ERR wrong number of arguments for '{command}' command"
    if command[:3] in ("bf.", "cf."):
        page = pathlib.Path(__file__).parents[2].joinpath("docs", "commands.md").read_text(encoding="utf-8")
        text += "; usage: " + re.search(f"### {re.escape(command.upper())}\n\n```\n(.*)\n", page)[1]
    reply = text.encode() + b"\r\n"
    return EngineArity(reply) if on_engine() else reply


def wait_until(condition, seconds, what):
    """The first true value of condition(), which is asked again and again."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(0.01)


class ServerDied(AssertionError):
    pass


class Server:
    """One server in a directory of its own, on a free port. Options are flags: io_threads=2 is --io-threads 2."""

    find_program = staticmethod(binary)
    host = HOST

    def __init__(self, **options):
        self.options = {"save_interval": 0, **options}
        self.program = self.find_program()
        self.variables = {}  # of its environment
        self.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.directory = os.path.join(self.home, "data")
        self.log_path = os.path.join(self.home, "log")
        self.process = None
        self.port = None
        self.connections = []

    # ---- life and death

    def spawn(self):
        """Starts the process and does not wait for it to be ready."""
        # Tests count on a last snapshot, however slow the build is.
        flags = {"port": 0, "dir": self.directory, "shutdown_timeout": int(STOP_SECONDS), **self.options}
        command = [self.program, "serve"]
        for name, value in flags.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        self.log_start = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        # Each BITSIEVE_ variable is an option to the server: the caller's and ours are not for it.
        environment = dict(ENVIRONMENT)
        environment.update(self.variables)
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def start(self):
        self.spawn()
        self.port = int(wait_until(self._announced_port, START_SECONDS, "the server tells its address in the log"))
        wait_until(self._answers_ping, START_SECONDS, "the server answers PING")
        return self

    def stop(self):
        """An orderly stop, as by an operator; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self):
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not end within {STOP_SECONDS:.0f} s\n" + self.log()) from None

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def end_in_order(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(ORDERLY_SECONDS)

    def restart(self):
        if self.alive():
            self.kill()
        return self.start()

    def clean_up(self):
        for connection in self.connections:
            connection.close()
        if self.process is not None and self.alive():
            if COUNTS_BRANCHES:
                self.end_in_order()
            self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def alive(self):
        return self.process.poll() is None

    def check_alive(self):
        if not self.alive():
            raise ServerDied(f"the server died with status {self.process.returncode}\n" + self.log())

    # ---- what it reports

    def log(self):
        """What this start wrote."""
        with open(self.log_path, "rb") as log:
            log.seek(self.log_start)
            return log.read().decode(errors="replace")

    def rss_bytes(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGESIZE")

    def _announced_port(self):
        self.check_alive()
        found = re.search(r"Listening on \S*:(\d+)", self.log())
        return found and found.group(1)

    def _answers_ping(self):
        self.check_alive()
        with contextlib.suppress(OSError, EOFError), self.connect() as connection:
            reply = connection.ask(b"PING\r\n")
            return reply == b"+PONG\r\n" or (reply.startswith(b"-NOAUTH") and "Ready after" in self.log())

    # ---- talking to it

    def connect(self, version=2):
        """A raw connection; closed with the server at the latest."""
        connection = Connection(self.port, self.host)
        self.connections.append(connection)
        if version == 3:
            connection.ask(encode("HELLO", 3))
        return connection

    def client(self, **options):
        return redis.Redis(host=self.host, port=self.port, socket_timeout=REPLY_SECONDS, **options)

    def cli(self, *arguments, stdin="", seconds=60):
        """Runs redis-cli; its output without colours. The test fails if it does."""
        done = self.try_cli(*arguments, stdin=stdin, seconds=seconds)
        if done.returncode != 0:
            raise AssertionError(f"redis-cli {arguments}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)

    def try_cli(self, *arguments, stdin="", seconds=60):
        command = ["redis-cli", "-p", str(self.port), *map(str, arguments)]
        environment = {**os.environ, "REDISCLI_HISTFILE": "/dev/null", "TERM": "dumb"}
        return subprocess.run(command, input=stdin, capture_output=True, encoding="utf-8", errors="replace",
                              env=environment, timeout=seconds * PATIENCE)


def as_bytes(value):
    return value if isinstance(value, bytes) else str(value).encode()


def scandump(client, key, cursor):
    """BF.SCANDUMP by redis-py's own call, which it refuses to make with hiredis; then by the command."""
    if HIREDIS_AVAILABLE:
        return client.execute_command("BF.SCANDUMP", key, cursor)
    return client.bf().scandump(key, cursor)


def encode(*arguments):
    """A command as an array of bulk strings."""
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in map(as_bytes, arguments):
        parts.append(b"$%d\r\n%s\r\n" % (len(argument), argument))
    return b"".join(parts)


class Connection:
    """A raw connection: bytes in, bytes out, nothing between."""

    AGGREGATES = {b"*": 1, b"~": 1, b"%": 2}

    def __init__(self, port, host=HOST, timeout=REPLY_SECONDS):
        self.socket = socket.create_connection((host, port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, data):
        """Sends and returns the bytes of one reply."""
        self.send(data)
        return self.reply()

    def command(self, *arguments):
        return self.ask(encode(*arguments))

    def reply(self):
        """The bytes of the next reply, whole."""
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError(f"the server closed the connection; last bytes: {line!r}")
        kind, number = line[:1], line[1:-2]
        if kind in b"$=" and number != b"-1":
            return line + self.file.read(int(number) + 2)
        if kind in self.AGGREGATES and number != b"-1":
            return line + b"".join(self.reply() for _ in range(int(number) * self.AGGREGATES[kind]))
        return line

    def rest(self):
        """Everything until the server closes."""
        return self.file.read()

    def is_closed(self):
        """Waits for the server to close; False if it sends something instead."""
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True


def on_engine():
    """Whether the tests run on the module in an engine, in place of the server."""
    return "BITSIEVE_ENGINE" in os.environ


def make(**options):
    """The server with these options; or an engine with those of them that the module has."""
    if not on_engine():
        return Server(**options)
    from engine import Engine  # which has what is in here
    return Engine.in_place_of_server(**options)


def option(name):
    """The name of an option of filter commands in CONFIG."""
    return "bf." + name if on_engine() else name


def server_only(reason):
    """Of a test, or a class of them, about what only the server has."""
    return unittest.skipIf(on_engine(), reason)


class ServerTest(unittest.TestCase):
    """A server for all tests of a class, empty before each. It must be alive after each, and end well after all."""

    OPTIONS = {}

    @classmethod
    def setUpClass(cls):
        cls.server = make(**cls.OPTIONS)
        cls.addClassCleanup(cls.server.clean_up)
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        if not cls.server.alive():
            return  # reported by the test that found it dead
        status = cls.server.stop()
        # Sanitizers report by the exit status.
        if status != 0:
            raise AssertionError(f"the server ended with status {status}\n" + cls.server.log())

    def setUp(self):
        self.server.check_alive()
        with self.server.connect() as connection:
            self.assertEqual(connection.command("FLUSHALL"), b"+OK\r\n")

    def tearDown(self):
        self.server.check_alive()

    def connect(self, version=2):
        connection = self.server.connect(version)
        self.addCleanup(connection.close)
        return connection

    def client(self, **options):
        client = self.server.client(**options)
        self.addCleanup(client.close)
        return client

    def assert_grew_less(self, rss_before, most_bytes):
        """Sanitizers keep what was freed for a while, hence the patience with memory as well."""
        self.assertLess(self.server.rss_bytes() - rss_before, most_bytes * PATIENCE)

    def assert_replies(self, version, expected):
        """Each of (command, reply): a command is a line for the server to split, the reply its bytes."""
        connection = self.connect(version)
        for command, reply in expected:
            with self.subTest(command=command, version=version):
                self.assertEqual(connection.ask(as_bytes(command) + b"\r\n"), reply)


class OwnServerTest(unittest.TestCase):
    """A server for each test, which the test starts, and stops or kills."""

    def make_server(self, **options):
        server = make(**options)
        self.addCleanup(server.clean_up)
        return server

    def assert_stops_well(self, server):
        self.assertEqual(server.stop(), 0, server.log())


def refuse_localhost():
    """Tests run also where the name localhost does not resolve, so none may use it."""
    resolve = socket.getaddrinfo

    def guarded(host, *arguments, **options):
        if host == "localhost":
            raise AssertionError(f"the name localhost does not resolve everywhere: use {HOST}")
        return resolve(host, *arguments, **options)
    socket.getaddrinfo = guarded


def main():
    check_parser()
    refuse_localhost()
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    if len(result.skipped) >= max(1, result.testsRun):
        sys.exit(SKIPPED)
