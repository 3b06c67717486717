"""Servers to measure, and load for them: what the benches of scripts/bench share."""

import functools
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SERVER_CORE, LOAD_CORE = "0", "1"
CONNECTIONS = 50
ITEMS_PER_COMMAND = 100
MULTI_PIPELINE = 16
KEY = "key:__rand_int__"


def encode(*arguments):
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        argument = argument if isinstance(argument, bytes) else str(argument).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(argument), argument))
    return b"".join(parts)


class Door:
    """A way to a server process. Subclasses have name, process, load_arguments (of redis-benchmark) and connect()."""

    def cpu_ns(self):
        """CPU time of all threads so far."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())

    @functools.cached_property
    def connecting_ns(self):
        """CPU time of opening and closing all connections of a load."""
        return statistics.median(self.connect_and_close() for _ in range(9))

    def connect_and_close(self):
        before = self.cpu_ns()
        connections = [self.connect() for _ in range(CONNECTIONS)]
        time.sleep(0.02)
        for connection in connections:
            connection.close()
        time.sleep(0.02)
        return self.cpu_ns() - before


class Server(Door):
    """A server process on a free port of loopback."""

    def __init__(self, name, make_command, pinned=True):
        self.name = name
        self.port = free_port()
        self.directory = tempfile.mkdtemp(prefix="bitsieve-bench-")
        self.command = (["taskset", "-c", SERVER_CORE] if pinned else []) + make_command(self.port, self.directory)
        self.begin()

    def begin(self):
        self.log = open(os.path.join(self.directory, "bench.log"), "w+b")
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=subprocess.STDOUT)
        self.await_ready()

    def await_ready(self):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.ask("PING", may_fail=True).startswith("+"):
                    return
            except OSError:
                pass
            time.sleep(0.005)  # not at once: asking takes a core from a server that is loading
        self.log.seek(0)
        sys.exit(f"bench: {self.name} does not start:\n{self.log.read().decode(errors='replace')}")

    def ask(self, *arguments, may_fail=False):
        """The first bytes of the reply to one command; an error reply ends the program, unless it may come."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(encode(*arguments))
            reply = connection.recv(4096).decode(errors="replace")
        if reply.startswith("-") and not may_fail:
            sys.exit(f"bench: {self.name} answers {' '.join(arguments)[:80]} with {reply.strip()}")
        return reply

    @property
    def load_arguments(self):
        return ["-p", str(self.port)]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port))

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def stop(self):
        self.kill()  # nothing of it is kept
        shutil.rmtree(self.directory, ignore_errors=True)


class Workload:
    """One command at one pipeline depth, run many times; before each run before() is called."""

    def __init__(self, server, label, command, pipeline, keys=1_000_000, items=1, before=None):
        self.server, self.label, self.command, self.pipeline = server, label, command, pipeline
        self.keys, self.items, self.before = keys, items, before
        self.cpu, self.rate, self.ratio = [], [], []

    def run(self, operations):
        if self.before:
            self.before()
        self.server.ask(*[part.replace("__rand_int__", "000000000001") for part in self.command])
        commands = max(operations // self.items, CONNECTIONS * self.pipeline)
        cpu_before, begin = self.server.cpu_ns(), time.monotonic()
        load(self.server, self.command, commands, self.pipeline, self.keys, pinned=True)
        seconds = time.monotonic() - begin
        cpu = self.server.cpu_ns() - cpu_before - self.server.connecting_ns
        self.cpu.append(cpu / (commands * self.items))
        self.rate.append(commands * self.items / seconds)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def load(server, command, commands, pipeline, keys, pinned):
    pin = ["taskset", "-c", LOAD_CORE] if pinned else []
    benchmark = ["redis-benchmark", *server.load_arguments, "-c", str(CONNECTIONS), "-n", str(commands)]
    benchmark += ["-P", str(pipeline), "-r", str(keys), "-q", "--csv", *command]
    result = subprocess.run(pin + benchmark, capture_output=True, text=True, check=False)
    if result.returncode != 0 or "rror" in result.stdout:
        sys.exit(f"bench: redis-benchmark failed: {result.stdout[-500:]} {result.stderr[-500:]}")


def start_bitsieve(binary, *options, pinned=True):
    return Server("bitsieve", lambda port, directory: [
        binary, "serve", "--port", str(port), "--dir", directory, "--io-threads", "1", "--save-interval", "0",
        *options], pinned)


def start_bare_loop(binary):
    """What receives, counts and replies on Asio, and does nothing else."""
    return Server("bare loop", lambda port, directory: [str(binary), str(port)])


def start_redis(*options):
    return Server("redis-server", lambda port, directory: [
        "redis-server", "--port", str(port), "--dir", directory, "--save", "", *options])


def make_filter(server, name, capacity, error_rate, *options):
    server.ask("BF.RESERVE", name, error_rate, str(capacity), *options)


def fill(server, command, items, keys):
    """Adds `items` random ones of `keys`, from both cores. The command takes any number of items at its end."""
    command = command + [KEY] * ITEMS_PER_COMMAND
    load(server, command, items // ITEMS_PER_COMMAND, MULTI_PIPELINE, keys, pinned=False)


def describe_machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 "unknown processor")
    redis = subprocess.run(["redis-server", "--version"], capture_output=True, text=True, check=False).stdout
    print(f"Machine: {model}, {os.cpu_count()} cores, Linux {os.uname().release}; load before the run: "
          f"{os.getloadavg()[0]:.2f}")
    print(f"Redis:   {redis.split('sha=')[0].strip()}")
    if os.getloadavg()[0] > 0.5:
        print("Warning: the machine is busy with something else; the figures will be too high.")


def progress(text):
    print(text, file=sys.stderr, flush=True)
