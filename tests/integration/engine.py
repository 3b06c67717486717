"""Drives Redis or Valkey with bitsieve.so loaded, as harness.py drives the server.

BITSIEVE_ENGINE names the engine's binary and BITSIEVE_MODULE the module; ctest sets both, and BITSIEVE_PRELOAD for a
module with a sanitizer. Where the engine is missing (Valkey, if scripts/engines could not fetch it), the test is
skipped, loudly: exit status 77.
"""

import contextlib
import os
import pathlib
import random
import socket
import subprocess
import sys
import unittest

import redis

from harness import PATIENCE, REPLY_SECONDS, START_SECONDS, Server, main, wait_until

SYNC_SECONDS = 60 * PATIENCE


def engine_binary():
    path = os.environ.get("BITSIEVE_ENGINE", "")
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest(f"there is no engine {path!r}: scripts/engines fetches Valkey where the network has it")
    return path


def module_path():
    path = os.environ.get("BITSIEVE_MODULE", "")
    if not os.path.isfile(path):
        sys.exit(f"BITSIEVE_MODULE={path}: no such file: it must name the module to test")
    return path


def free_port():
    """Below those that the system gives to connections; a cluster's nodes take the one 10,000 above as well. Tests that
    run at the same time may have seeded `random` alike, and would find the same ports free."""
    while True:
        port = random.SystemRandom().randrange(11_000, 22_000)
        with socket.socket() as probe, socket.socket() as bus, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            bus.bind(("127.0.0.1", port + 10_000))
            return port


class Engine(Server):
    """One engine in a directory of its own. Options are lines of its configuration: maxmemory_policy="noeviction";
    those of the module have the prefix bf_. `arguments` are those of loadmodule."""

    find_program = staticmethod(engine_binary)
    launcher = ()  # a command that runs the engine in its own place

    def __init__(self, arguments="", **options):
        super().__init__()
        self.arguments = arguments
        self.options = {"save": '""', "appendonly": "no", "enable_debug_command": "yes", "repl_diskless_sync_delay": 0,
                        "appendfsync": "always", **options}
        os.makedirs(self.directory)

    @classmethod
    def in_place_of_server(cls, **options):
        """With those of the server's options that the module or the engine has, and a log, as the server has one."""
        own = {name: value for name, value in options.items() if name in ("maxmemory", "appendonly", "appendfsync")}
        of_filters = {"bf_" + name: value for name, value in options.items() if name.startswith(("default_", "cf_"))}
        return cls(**{"appendonly": "yes", "appendfsync": "no", "bf_max_filter_bytes": 0, **own, **of_filters})

    def spawn(self):
        self.port = self.port or free_port()  # the same after a restart
        lines = [f"port {self.port}", f"bind {self.host}", f"dir {self.directory}",
                 f"loadmodule {module_path()} {self.arguments}"]
        for name, value in self.options.items():
            prefix = "bf." if name.startswith("bf_") else ""
            lines.append(f"{prefix}{name.removeprefix('bf_').replace('_', '-')} {value}")
        path = os.path.join(self.home, "engine.conf")
        pathlib.Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.log_start = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        environment = {**os.environ, **self.variables}
        if preload := os.environ.get("BITSIEVE_PRELOAD"):
            # Leaks of the engine itself are none of ours.
            environment.update(LD_PRELOAD=preload, ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([*self.launcher, self.program, path], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env=environment)

    def start(self):
        self.spawn()
        wait_until(self._answers_ping, START_SECONDS, "the engine answers PING")
        return self

    def client(self, **options):
        return redis.Redis(host=self.host, port=self.port, socket_timeout=REPLY_SECONDS, **options)

    def follow(self, master):
        """Becomes a replica, and waits until it is one."""
        with self.client() as client:
            client.replicaof(master.host, master.port)
            wait_until(lambda: client.info("replication").get("master_link_status") == "up", SYNC_SECONDS,
                       "the replica is in sync")

    def digests(self, keys):
        with self.client() as client:
            return dict(zip(keys, client.execute_command("DEBUG", "DIGEST-VALUE", *keys)))


def wait_for_replica(master, replica):
    """Until the replica has all that the master has done."""
    def offset(engine):
        with engine.client() as client:
            return client.info("replication")["master_repl_offset"]
    wait_until(lambda: offset(replica) >= offset(master), SYNC_SECONDS, "the replica has everything")


def wait_for_no_child(client):
    """Until no child of the engine saves or rewrites."""
    def idle():
        info = client.info("persistence")
        return not (info["rdb_bgsave_in_progress"] or info["aof_rewrite_in_progress"] or
                    info.get("aof_rewrite_scheduled", 0))
    wait_until(idle, SYNC_SECONDS, "nothing is being saved")


class EngineTest(unittest.TestCase):
    """Engines for each test, which the test makes and starts."""

    def make_engine(self, *, start=True, **options):
        engine = Engine(**options)
        self.addCleanup(engine.clean_up)
        return engine.start() if start else engine

    def client(self, engine, **options):
        client = engine.client(**options)
        self.addCleanup(client.close)
        return client

    def assert_same(self, first, second, keys):
        self.assertEqual(first.digests(keys), second.digests(keys))
