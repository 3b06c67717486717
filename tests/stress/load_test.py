#!/usr/bin/python3
"""Ten thousand connections of all manners, and what is left of them: nothing.

  load_test.py [--connections 10000] [--minutes 10] [--any-memory] [--server-option appendonly=no ...]

Steady clients pipeline; slow ones ask for megabytes and read them by and by; greedy ones read nothing and are closed;
some send half a command and stop, some disconnect at any byte, some come with arguments of 64 MB, some do nothing, and
a part of all leave together and come again together. Every reply is looked at. Meanwhile a probe asks PING and is to be
answered promptly. In the end the clients that are left get their answers and leave; then the server's memory, its
descriptors and connected_clients have to be what they were. Without options: a short run with fewer connections.
"""

import argparse
import contextlib
import multiprocessing
import os
import pathlib
import resource
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from harness import PATIENCE, REPLY_SECONDS, Server, wait_until  # noqa: E402
from load_clients import Load  # noqa: E402
from load_manners import (MAKE_FILTERS, PING, PONG, Big, Dropper, Greedy, HalfCommand, Idle,  # noqa: E402
                          SlowReader, Steady, Storm)

OUTPUT_LIMIT = "96mb"  # above one reply of 64 MB, and soon reached by those who read nothing
SAVE_SECONDS = 10  # between snapshots
STORM_SECONDS = 7
DEEDS = ("commands answered", "greedy clients closed", "big arguments answered", "storms")  # each at least once
LEAST_SETTLE_SECONDS, SETTLE_SECONDS = 3, 30 * PATIENCE
# What the server may take more than before once everybody is gone. Large blocks go back to the system at once. Of small
# ones the allocator gives back the end of each heap, and Asio keeps the little state of each descriptor that was ever
# open at the same time: one of these can keep the page it lies in, and no more. That does not grow with time.
KEPT_BYTES = 16 << 20
KEPT_BYTES_A_CONNECTION = 4096
PROMPT_SECONDS = 5 * PATIENCE  # the slowest of all probes; the machine may be busy with the clients, too


class Probe:
    """Asks PING twenty times a second, in a process of its own, so that it does not wait for the other clients."""

    def __init__(self, server):
        self.connection = server.connect()
        self.connection.ask(PING)  # the server has it from now on
        self.seconds = [float("inf")]
        self.failure = "it did not end"
        context = multiprocessing.get_context("fork")
        self.stopping = context.Event()
        self.results, results = context.Pipe(duplex=False)
        self.process = context.Process(target=self.ask, args=(results,), daemon=True)

    def ask(self, results):
        seconds, failure = [], None
        try:
            while not self.stopping.wait(0.05):
                begin = time.monotonic()
                if self.connection.ask(PING) != PONG:
                    raise AssertionError("a wrong reply")
                seconds.append(time.monotonic() - begin)
        except (OSError, EOFError, AssertionError) as error:
            failure = repr(error)
        results.send((seconds, failure))

    def stop(self):
        self.stopping.set()
        if self.results.poll(REPLY_SECONDS + 1):
            self.seconds, self.failure = self.results.recv()

    def report(self):
        ranked = sorted(self.seconds)
        return "median {:.1f} ms, 99% {:.1f} ms, slowest {:.1f} ms".format(
            *(1000 * ranked[int(share * (len(ranked) - 1))] for share in (0.5, 0.99, 1)))


class Figures:
    """What the server uses, and what it reports."""

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
        # A slow server learns late who has left.
        options = {"maxclients": arguments.connections * 3 // 2 * int(PATIENCE) + 100, "io_threads": 2,
                   "save_interval": SAVE_SECONDS, "client_output_buffer_limit": OUTPUT_LIMIT}
        options.update(option.split("=", 1) for option in arguments.server_option)
        self.server = Server(**options)
        self.problems = []
        self.may_keep = KEPT_BYTES + KEPT_BYTES_A_CONNECTION * arguments.connections
        if arguments.any_memory:
            self.may_keep = 1 << 62

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
        wait_until(lambda: self.figures.info()["connected_clients"] == 2, SETTLE_SECONDS, "those who made filters go")
        self.before = {"rss": self.figures.rss(), "descriptors": self.figures.descriptors(), **self.figures.info()}
        self.probe.process.start()

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
        # On a slow machine, until each has been seen once.
        self.load.serve(SETTLE_SECONDS, lambda: all(self.load.did[what] for what in DEEDS))

    def storm(self):
        if self.load.ending:
            return
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

        with contextlib.suppress(AssertionError):
            wait_until(told, SETTLE_SECONDS, "connected_clients")
        clients = self.figures.info()["connected_clients"]
        self.check(clients == expected, f"connected_clients is {clients}, {expected} expected, when {count} {what}")

    def leave(self):
        for client in list(self.load.clients.values()):
            client.leave(reset=client.random.random() < 0.5)
        self.check_connected(0, "clients are left")

    def after(self):
        def settled():
            grown = self.figures.rss() - self.before["rss"]
            return self.figures.descriptors() == self.before["descriptors"] and grown <= self.may_keep

        begin = time.monotonic()
        time.sleep(LEAST_SETTLE_SECONDS)
        with contextlib.suppress(AssertionError):  # failures are reported below
            wait_until(settled, SETTLE_SECONDS, "the server gives back what it took")
        self.settled_seconds = time.monotonic() - begin
        self.end = {"rss": self.figures.rss(), "descriptors": self.figures.descriptors(), **self.figures.info()}
        self.check(self.end["descriptors"] == self.before["descriptors"],
                   f"descriptors: {self.before['descriptors']} before, {self.end['descriptors']} after")
        grown = self.end["rss"] - self.before["rss"]
        self.check(grown <= self.may_keep,
                   f"memory: {grown >> 20} MB more than before, {self.may_keep >> 20} MB at most")
        for name in ("total_error_replies", "protocol_errors", "rejected_connections"):
            self.check(self.end[name] == self.before[name], f"{name}: {self.end[name] - self.before[name]}")
        self.probe.stop()
        self.check(self.probe.failure is None, f"the probe was answered ({self.probe.failure or 'always'})")
        self.check(bool(self.probe.seconds) and max(self.probe.seconds) <= PROMPT_SECONDS,
                   f"PING within {PROMPT_SECONDS:.0f} s, always: {self.probe.report()}")
        self.check(not self.load.failures, "every reply was right" + "".join("\n  " + f for f in self.load.failures))
        self.check(self.figures.most_clients > 0.9 * self.arguments.connections,
                   f"{self.figures.most_clients} connections at once")
        for what in DEEDS:
            self.check(self.load.did[what] > 0, f"{what}: {self.load.did[what]}")
        status = self.server.stop()
        self.check(status == 0, f"the server ended with status {status}")

    def summary(self):
        print(f"\nconnections   {self.figures.most_clients} at once at most, {self.load.did['connects']} made, "
              f"{self.load.did['disconnects']} ended by clients")
        print(f"commands      {self.end['total_commands_processed']}")
        print(f"bytes         {self.end['total_net_input_bytes']} in, {self.end['total_net_output_bytes']} out")
        print(f"PING          {self.probe.report()}")
        print(f"RSS in MB     {self.before['rss'] / 2**20:.1f} before, {self.figures.peak / 2**20:.1f} peak, "
              f"{self.end['rss'] / 2**20:.1f} after ({self.settled_seconds:.1f} s)")
        print(f"descriptors   {self.before['descriptors']} before, {self.end['descriptors']} after")
        if self.problems:
            print("\n" + self.server.log()[-6000:])


def raise_file_limit(wanted):
    """Of this process, and so of the server; whether that is possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), max(hard, wanted)))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= wanted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=0.4)
    parser.add_argument("--any-memory", action="store_true", help="do not compare what memory the server takes")
    parser.add_argument("--server-option", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    needed = 2 * arguments.connections  # of the server: its limit of clients, and its files
    if not raise_file_limit(needed):
        print(f"skipped: the system does not allow {needed} open files, for {arguments.connections} connections")
        sys.exit(77)
    sys.exit(LoadTest(arguments).run())


if __name__ == "__main__":
    main()
