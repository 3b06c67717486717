"""Ten thousand connections of all manners, and what is left of them: nothing.

  load_test.py [--connections 10000] [--minutes 10] [--server-option appendonly=no ...]

Steady clients pipeline; slow ones ask for megabytes and read them by and by; greedy ones read nothing and are closed;
some send half a command and stop, some disconnect at any byte, some come with arguments of 64 MB, some do nothing, and
a part of all leave together and come again together. Every reply is looked at. Meanwhile a probe asks PING and is to be
answered promptly. In the end the clients that are left get their answers and leave; then the server's memory, its
descriptors and connected_clients have to be what they were. Without options: a short run with fewer connections.
"""

import argparse
import os
import pathlib
import resource
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from harness import PATIENCE, REPLY_SECONDS, Server, encode, wait_until  # noqa: E402
from load_clients import Load  # noqa: E402
from load_manners import (MAKE_FILTERS, Big, Dropper, Greedy, HalfCommand, Idle, SlowReader, Steady,  # noqa: E402
                          Storm)

OWN_DESCRIPTORS = 100
OUTPUT_LIMIT = "96mb"  # above one reply of 64 MB, and soon reached by those who read nothing
STORM_SECONDS = 7
SETTLE_SECONDS = 30 * PATIENCE
# What the server may take more than before once everybody is gone. A freed block goes back to the system only with the
# whole end of its heap (glibc trims there alone), and each event loop has a heap of its own; a connection's few small
# blocks amid others keep about this much, however many there were, and however long the run.
KEPT_BYTES = 48 << 20
PROMPT_SECONDS = 5 * PATIENCE  # the slowest of all probes; the machine may be busy with the clients, too


class Probe(threading.Thread):
    """Asks PING on a connection of its own, twenty times a second."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.connection = server.connect()
        self.connection.ask(b"PING\r\n")  # the server has it from now on
        self.seconds = []
        self.failure = None
        self.stopping = threading.Event()

    def run(self):
        try:
            while not self.stopping.wait(0.05):
                begin = time.monotonic()
                if self.connection.ask(b"PING\r\n") != b"+PONG\r\n":
                    raise AssertionError("the probe got a wrong reply")
                self.seconds.append(time.monotonic() - begin)
        except (OSError, EOFError, AssertionError) as error:
            self.failure = repr(error)

    def stop(self):
        self.stopping.set()
        self.join()
        self.connection.close()

    def report(self):
        ranked = sorted(self.seconds)
        return "median {:.1f} ms, 99% {:.1f} ms, slowest {:.1f} ms".format(
            *(1000 * ranked[int(share * (len(ranked) - 1))] for share in (0.5, 0.99, 1)))


class Figures:
    """What the server takes, and tells."""

    def __init__(self, server):
        self.server = server
        self.control = server.connect()
        self.peak = 0
        self.most_clients = 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def rss(self):
        rss = self.server.rss_bytes()
        self.peak = max(self.peak, rss)
        return rss

    def info(self):
        """INFO's numbers by name."""
        lines = self.control.command("INFO").decode().split("\r\n")
        told = {name: int(value) for name, _, value in (line.partition(":") for line in lines) if value.isdigit()}
        self.most_clients = max(self.most_clients, told["connected_clients"])
        return told


def manners(connections):
    """How many of each: of a manner that costs much, few."""
    few = max(2, connections // 500)
    counts = {Steady: connections // 20, SlowReader: few, Greedy: 1, HalfCommand: connections // 10,
              Dropper: connections // 20, Big: 2, Storm: connections // 5}
    return {**counts, Idle: connections - sum(counts.values())}


class LoadTest:
    def __init__(self, arguments):
        self.arguments = arguments
        options = dict(option.split("=", 1) for option in arguments.server_option)
        self.server = Server(maxclients=arguments.connections * 3 // 2 + 100, io_threads=2,
                             client_output_buffer_limit=OUTPUT_LIMIT, **options)
        self.problems = []

    def check(self, holds, what):
        print(("ok      " if holds else "FAILED  ") + what, flush=True)
        if not holds:
            self.problems.append(what)

    def run(self):
        try:
            self.server.start()
            self.warm_up()
            self.work()
            self.quiesce()
            self.leave()
            self.after()
            self.summary()
        finally:
            self.server.clean_up()
        return 1 if self.problems else 0

    def warm_up(self):
        """What every server takes once, however few its clients: filters, and the loops' shared buffers."""
        with self.server.connect() as connection:
            for command in MAKE_FILTERS:
                assert connection.command(*command) == b"+OK\r\n", command
            for command in MAKE_FILTERS:
                for first in range(0, 200_000, 1000):
                    connection.command("BF.MADD", command[1], *range(first, first + 1000))
        self.figures = Figures(self.server)
        self.probe = Probe(self.server)
        wait_until(lambda: self.figures.info()["connected_clients"] == 2, SETTLE_SECONDS, "who filled the filters is gone")
        self.before = {"rss": self.figures.rss(), "descriptors": self.figures.descriptors()}
        self.probe.start()

    def work(self):
        self.load = Load(self.server.port)
        for manner, count in manners(self.arguments.connections).items():
            for _ in range(count):
                manner(self.load)
                if len(self.load.clients) % 100 == 0:
                    self.load.serve(0)
        self.storms = [client for client in self.load.clients.values() if isinstance(client, Storm)]
        self.load.after(STORM_SECONDS, self.storm)
        self.sample()
        self.load.serve(60 * self.arguments.minutes)

    def storm(self):
        for client in self.storms:
            client.leave(reset=client.random.random() < 0.5)
        for client in self.storms:
            client.connect()
        self.load.did["storms"] += 1
        self.load.after(STORM_SECONDS, self.storm)

    def sample(self):
        self.figures.rss()
        self.figures.info()
        self.load.after(1, self.sample)

    def quiesce(self):
        """Those that come and go leave; those that stay get their answers."""
        self.load.ending = True
        clients = list(self.load.clients.values())
        staying = [client for client in clients if isinstance(client, (Idle, HalfCommand, Steady, Storm))]
        for client in set(clients) - set(staying):
            client.leave(reset=client.random.random() < 0.5)
        for client in staying:
            client.finish()
        answered = self.load.serve(SETTLE_SECONDS, lambda: all(client.finished() for client in staying))
        self.check(answered, f"{len(staying)} clients got their last answers")
        self.check_connected(len(self.load.clients), "clients stay")

    def check_connected(self, count, what):
        expected = count + 2  # with the probe and these figures

        def told():
            self.load.serve(0.05)
            return self.figures.info()["connected_clients"] == expected

        try:
            wait_until(told, SETTLE_SECONDS, "connected_clients")
            self.check(True, f"connected_clients is {expected} when {count} {what}")
        except AssertionError:
            told_now = self.figures.info()["connected_clients"]
            self.check(False, f"connected_clients is {told_now}, not {expected}, when {count} {what}")

    def leave(self):
        for client in list(self.load.clients.values()):
            client.leave(reset=client.random.random() < 0.5)
        self.check_connected(0, "clients are left")

    def after(self):
        def settled():
            return self.figures.descriptors() == self.before["descriptors"] and self.grown() <= KEPT_BYTES

        begin = time.monotonic()
        try:
            wait_until(settled, SETTLE_SECONDS, "the server gives back what it took")
        except AssertionError:
            pass  # what is not well is told below
        self.settled_seconds = time.monotonic() - begin
        self.end = {"rss": self.figures.rss(), "descriptors": self.figures.descriptors(), **self.figures.info()}
        self.check(self.end["descriptors"] == self.before["descriptors"],
                   f"descriptors: {self.before['descriptors']} before, {self.end['descriptors']} after")
        self.check(self.grown() <= KEPT_BYTES,
                   f"memory: {self.grown() >> 20} MB more than before, {KEPT_BYTES >> 20} MB at most")
        for name in ("total_error_replies", "protocol_errors", "rejected_connections"):
            self.check(self.end[name] == 0, f"{name}: {self.end[name]}")
        self.probe.stop()
        self.check(self.probe.failure is None, f"the probe was answered ({self.probe.failure or 'always'})")
        self.check(bool(self.probe.seconds) and max(self.probe.seconds) <= PROMPT_SECONDS,
                   f"PING within {PROMPT_SECONDS:.0f} s, always: {self.probe.report()}")
        self.check(not self.load.failures, "every reply was right" + "".join("\n  " + f for f in self.load.failures))
        self.check(self.figures.most_clients > 0.9 * self.arguments.connections,
                   f"{self.figures.most_clients} connections at once")
        for what in ("commands answered", "greedy clients closed", "big arguments answered", "storms"):
            self.check(self.load.did[what] > 0, f"{what}: {self.load.did[what]}")
        status = self.server.stop()
        self.check(status == 0, f"the server ended with status {status}")

    def grown(self):
        return self.figures.rss() - self.before["rss"]

    def summary(self):
        print(f"\nconnections   {self.figures.most_clients} at once at most, {self.load.did['connects']} made, "
              f"{self.load.did['disconnects']} ended by clients")
        print(f"commands      {self.end['total_commands_processed']}, errors {self.end['total_error_replies']}")
        print(f"bytes         {self.end['total_net_input_bytes']} in, {self.end['total_net_output_bytes']} out")
        print(f"PING          {self.probe.report()}")
        print(f"RSS in MB     {self.before['rss'] / 2**20:.1f} before, {self.figures.peak / 2**20:.1f} peak, "
              f"{self.end['rss'] / 2**20:.1f} after ({self.settled_seconds:.1f} s)")
        print(f"descriptors   {self.before['descriptors']} before, {self.end['descriptors']} after")
        if self.problems:
            print("\n" + self.server.log()[-3000:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=0.4)
    parser.add_argument("--server-option", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < arguments.connections * 3 // 2 + OWN_DESCRIPTORS:
        print(f"skipped: the system allows {hard} open files, too few for {arguments.connections} connections")
        sys.exit(77)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sys.exit(LoadTest(arguments).run())


if __name__ == "__main__":
    main()
