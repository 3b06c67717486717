"""A server that is killed again and again under load, and the reference beside it."""

import math
import random
import threading
import time

from crash_compare import Mismatch, all_names, ask_all, check_log, hold, settle
from crash_shapes import make_dumps
from crash_stream import WEIGHTS, Stream
from harness import PATIENCE, Server

# Without "always", so much may be lost: what was acknowledged within a tenth of a second, at the end. What slows all
# down gets as much more.
LOSS_SECONDS = 0.1 * PATIENCE
LONGEST = ("longest before the kill, ms", "longest span, ms")  # of the figures
# Some rounds last so much longer, for a sync every second.
LONG_SECONDS = 1
CLOCK_REALTIME_COARSE = 5  # of Linux; the module time has no name for it


def wait_for_servers_clock(unix_ms):
    """Until it has come to this moment. It is late by a tick, and on a busy machine by several."""
    while time.clock_gettime_ns(CLOCK_REALTIME_COARSE) // 1_000_000 < unix_ms:
        time.sleep(0.001)


class Client(threading.Thread):
    """Sends a stream until the server is gone, and notes what was sent and what was acknowledged."""

    def __init__(self, connection, stream, pipelines):
        super().__init__()
        self.connection = connection
        self.stream = stream
        self.pipelines = pipelines
        self.commands = []
        self.replies = []  # of each command that was acknowledged, its last
        self.acknowledged = [(0, 0.0)]  # (commands, when)
        self.saved = 0  # commands before the last SAVE that was acknowledged
        self.error = None

    def run(self):
        try:
            for sent in self.pipelines:
                self.commands += sent
                self.connection.send(b"".join(command.wire for command in sent))
                for command in sent:
                    self.read(command)
                self.acknowledged.append((len(self.replies), time.monotonic()))
        except (OSError, EOFError, ValueError):
            self.acknowledged.append((len(self.replies), time.monotonic()))
        except Exception as error:  # reported by the thread that joins this one
            self.error = error

    def read(self, command):
        replies = [self.connection.reply() for _ in range(command.replies)]
        if command.saves and replies[-1] == b"+OK\r\n":
            self.saved = len(self.replies)
        self.replies.append(replies[-1])

    def steps(self, commands):
        return [step for command in self.commands[:commands] for step in command.steps]

    def acknowledged_before(self, moment):
        """Commands."""
        return max(count for count, at in self.acknowledged if at < moment or count == 0)

    def lost(self, steps, killed_at):
        """For what was acknowledged and comes after so many steps: when the first was, in ms before the kill and before
        the last acknowledgement."""
        lost = [at for count, at in self.acknowledged if count <= len(self.replies) and len(self.steps(count)) > steps]
        if not lost or killed_at == math.inf:
            return 0, 0
        return tuple(round(max(0, end - lost[0]) * 1000) for end in (killed_at, self.acknowledged[-1][1]))


def prepare(connection, stream):
    """For the next round: there is a mark."""
    ask_all(connection, [("BF.RESERVE", stream.mark, 0.01, 10, "SEED", 1, "IFNOTEXISTS"),
                         *stream.set_mark().steps[0].requests])


class Victim:
    """`policy` is that of appendfsync; `threads` clients, each of names of its own, send at the same time."""

    def __init__(self, label, seed, policy, threads, shapes, **options):
        self.label = f"{label} (seed {seed}, appendfsync {policy})"
        self.seed = f"{seed}/{label}"
        self.policy = policy
        self.server = Server(appendfsync=policy, **options)
        self.reference = Server(appendonly="no")
        self.streams = []
        self.threads = threads
        self.shapes = shapes
        self.models = [{} for _ in range(threads)]  # of each client's names, at the beginning of a round
        self.figures = {"commands": 0, "acknowledged": 0, "filters": 0, "ahead of the log": 0, "losses": 0,
                        **dict.fromkeys(LONGEST, 0)}

    def __enter__(self):
        self.server.start()
        self.reference.start()
        self.referee = self.reference.connect()
        dumps = make_dumps(self.referee, self.shapes)
        weights = dict(WEIGHTS)
        if self.threads == 1:
            weights["flush"] = 0.02
        for i in range(self.threads):
            stream = Stream(f"t{i}", dumps, weights)
            self.streams.append(stream)
            with self.server.connect() as connection:
                prepare(connection, stream)
            prepare(self.referee, stream)
        return self

    def __exit__(self, *_):
        self.server.clean_up()
        self.reference.clean_up()

    def round(self, number):
        """Load, kill, restart, compare."""
        self.chance = random.Random(f"{self.seed}/{number}")
        clients = self.begin(number)
        killed_at = self.end()
        for client in clients:
            client.join()
            if client.error:
                raise client.error
        self.server.connections.clear()
        until = max([0, *(until for client in clients for until in client.stream.retired.values())])
        wait_for_servers_clock(until)
        with self.server.connect() as connection:
            for i, client in enumerate(clients):
                try:
                    self.compare(i, client, connection, killed_at)
                except Mismatch as mismatch:
                    raise Mismatch(f"{self.label}, round {number}, client {i}: {mismatch}\n"
                                   f"the server's log:\n{self.server.log()}") from None
            self.compare_names(number, connection)

    def begin(self, number):
        clients = []
        for i, stream in enumerate(self.streams):
            stream.begin_round(random.Random(f"{self.seed}/{number}/{i}"), self.models[i])
            clients.append(Client(self.server.connect(), stream, stream.pipelines()))
        for client in clients:
            client.start()
        return clients

    def end(self):
        """Kills at some moment, or stops, and starts again. Returns when that was."""
        long = self.policy != "always" and self.chance.random() < 0.07
        time.sleep(self.chance.uniform(0, 0.3) + (LONG_SECONDS if long else 0))
        killed_at = time.monotonic()
        if self.chance.random() < 0.07:
            self.stop()
            killed_at = math.inf
        else:
            self.server.kill()
        check_log(self.server)
        while self.chance.random() < 0.2:
            self.server.spawn()
            time.sleep(self.chance.uniform(0, 0.03))
            self.server.kill()
        self.server.start()
        return killed_at

    def stop(self):
        if self.server.stop() != 0:
            raise Mismatch(f"{self.label}: the server did not stop cleanly\n{self.server.log()}")

    def floor(self, client, killed_at):
        """Steps that must be there."""
        if self.policy == "always" or killed_at == math.inf:
            return len(client.steps(len(client.replies)))
        kept = client.acknowledged_before(min(killed_at, client.acknowledged[-1][1]) - LOSS_SECONDS)
        return len(client.steps(max(kept, client.saved)))

    def compare(self, i, client, connection, killed_at):
        settled = settle(client, self.floor(client, killed_at), connection, self.referee)
        found, steps = settled.found, client.steps(None)
        self.bring_in_line(connection, client.stream, settled)
        model = steps[settled.count - 1].names if settled.count else self.models[i]
        self.models[i] = {name: model[name] for name in found}
        self.figures["commands"] += len(client.commands)
        self.figures["acknowledged"] += len(client.replies)
        before_kill, span = client.lost(settled.count, killed_at)
        self.figures["losses"] += before_kill > 0
        for longest, ms in zip(LONGEST, (before_kill, span)):
            self.figures[longest] = max(self.figures[longest], ms)
        self.figures["ahead of the log"] += settled.expected != found
        self.figures["filters"] += len(found)

    def bring_in_line(self, connection, stream, settled):
        """What was not acknowledged may be there or not: the reference follows the victim."""
        other = [name for name in stream.every_name() if settled.found.get(name) != settled.reached.get(name)]
        hold(self.referee, other, settled.found)
        for each in (connection, self.referee):
            prepare(each, stream)

    def compare_names(self, number, connection):
        """Exactly the names that were made are there."""
        known = {name for model in self.models for name in model} | {stream.mark for stream in self.streams}
        there = all_names(connection)
        if there != known:
            raise Mismatch(f"{self.label}, round {number}: names {sorted(there)} instead of {sorted(known)}")
