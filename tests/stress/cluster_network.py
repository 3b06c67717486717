"""Nodes of a cluster on hosts of their own: network namespaces on one bridge, any of which can be parted from others.

The program needs a network of its own, as in_own_machine() of tests/integration/pages.py makes one. It is itself host
0, where clients run.
"""

import itertools
import os
import pathlib
import signal
import struct
import subprocess
import time

from cluster import Node

PORT = 6379
CLOCK_LIBRARY = os.environ.get("TEST_SETTABLE_CLOCK", "")
CLIENTS = 0  # their host


def address(host):
    return f"10.99.0.{host + 1}"


def ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True)


def why_not():
    """Why this machine lets no test have hosts of its own; empty if it does."""
    for command in (["ip", "netns", "add", "probe"], ["ip", "link", "add", "probe", "type", "bridge"],
                    ["ip", "link", "add", "probe0", "type", "veth", "peer", "name", "net", "netns", "probe"],
                    ["ip", "-n", "probe", "route", "replace", "blackhole", "10.99.0.99/32"]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return str(error)
        if done.returncode != 0:
            return f"{' '.join(command)}: {done.stderr.strip()}"
    return ""


def make_bridge():
    ip("link", "add", "bridge", "type", "bridge")
    ip("addr", "add", f"{address(CLIENTS)}/24", "dev", "bridge")
    ip("link", "set", "bridge", "up")


def on_host(host, *arguments):
    """The command ip on this host."""
    ip(*(["-n", f"host{host}"] if host != CLIENTS else []), *arguments)


def part(some, others):
    """From now on no packet passes between these hosts and those, in either direction."""
    for one, other in itertools.product(some, others):
        on_host(one, "route", "replace", "blackhole", f"{address(other)}/32")
        on_host(other, "route", "replace", "blackhole", f"{address(one)}/32")


def join(hosts):
    """Undoes part() for all of these hosts."""
    for host in hosts:
        on_host(host, "route", "flush", "type", "blackhole")


class HostedNode(Node):
    """A node on a host. Its clock can be set if TEST_SETTABLE_CLOCK names the library for that."""

    hosts = itertools.count(1)

    def __init__(self, **options):
        super().__init__(**options)
        self.number = next(self.hosts)
        self.host, self.port = address(self.number), PORT
        name = f"host{self.number}"
        self.launcher = ("ip", "netns", "exec", name)
        ip("netns", "add", name)
        ip("link", "add", f"to{self.number}", "type", "veth", "peer", "name", "net", "netns", name)
        ip("link", "set", f"to{self.number}", "master", "bridge", "up")
        on_host(self.number, "addr", "add", f"{self.host}/24", "dev", "net")
        on_host(self.number, "link", "set", "net", "up")
        on_host(self.number, "link", "set", "lo", "up")
        self.clock = pathlib.Path(self.home, "clock")
        self.set_clock(0)
        if CLOCK_LIBRARY:
            self.variables = {"LD_PRELOAD": CLOCK_LIBRARY, "TEST_CLOCK": str(self.clock)}

    def set_clock(self, offset_seconds):
        """To the real time and this many seconds."""
        with open(self.clock, "r+b" if self.clock.exists() else "wb") as file:
            file.write(struct.pack("<q", offset_seconds))

    def seconds_ahead(self):
        """How far the node's clock is ahead of the real time."""
        with self.client() as client:
            return client.time()[0] - time.time()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def clean_up(self):
        if self.process is not None and self.alive():
            self.resume()
        super().clean_up()
