"""The connections of stalls_bench: one that sends commands, and one that is kept waiting."""

import collections
import socket
import subprocess
import sys
import threading
from pathlib import Path

from bench_server import encode

# Of the longest PING, in ms: how long it took, how long the loop's thread ran in that time, how long that had no core,
# and how long the probe had none.
Stall = collections.namedtuple("Stall", "took ran no_core probe_no_core")


class Client:
    """A connection that sends commands and reads whole replies."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(1800)  # saving 10^6 filters takes minutes
        self.stream = self.socket.makefile("rb", 1 << 20)

    def send(self, request):
        threading.Thread(target=self.socket.sendall, args=(request,), daemon=True).start()

    def ask(self, *arguments):
        return self.replies(encode(*arguments), 1)[0]

    def replies(self, request, count):
        self.send(request)
        return [self.read() for _ in range(count)]

    def read(self):
        """One reply; of an array its length alone, as text, since the bench looks at none of it."""
        line = self.stream.readline()
        if not line:
            raise EOFError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode(errors="replace"))
        if kind in b"$=" and int(rest) >= 0:
            return self.stream.read(int(rest) + 2)[:-2]
        if kind in b"*%~":
            for _ in range(int(rest) * (2 if kind == b"%" else 1)):
                self.read_quietly()
            return rest
        return rest

    def read_quietly(self):
        try:
            self.read()
        except RuntimeError:
            pass

    def ask_for_field(self, *arguments):
        """The text of a reply that is an array of one bulk string."""
        self.send(encode(*arguments))
        return [self.stream.readline() for _ in range(3)][2].strip()

    def close(self):
        self.socket.close()


class Probe:
    """PINGs without a pause, in a process of its own, and remembers the longest (stall_probe.py)."""

    def __init__(self, server, loop=None):
        command = [sys.executable, str(Path(__file__).with_name("stall_probe.py")), str(server.port),
                   str(server.process.pid)] + ([loop] if loop else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.loop = self.process.stdout.readline().strip()

    def finish(self):
        self.process.stdin.close()
        longest = Stall(*map(float, self.process.stdout.read().split()))
        self.process.wait()
        return longest
