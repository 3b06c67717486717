#!/usr/bin/python3
"""Every call to the disk in turn fails, or is the last one: what was acknowledged is there after the restart.

  disk_fault_test.py [--every N] [--first N] [--kinds KIND ...] [--seed S] [--jobs J]

A short stream with a snapshot in its middle goes to a fault_server, again and again, with the fault one call later each
time, until the stream ends before the fault comes. The next start meets the same fault once more. A server whose disk
fails must go on: refuse what it cannot log, answer what only reads, and mend itself.
"""

import argparse
import collections
import contextlib
import itertools
import math
import multiprocessing
import os
import pathlib
import random
import re
import signal
import socket
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from crash_compare import Mismatch, all_names, check_log, settle  # noqa: E402
from crash_shapes import SHAPES, make_dumps  # noqa: E402
from crash_stream import WEIGHTS, Stream  # noqa: E402
from crash_victim import Client  # noqa: E402
from harness import REPLY_SECONDS, STOP_SECONDS, Server, ServerDied, binary, wait_until  # noqa: E402

KILLS = ("kill-before", "kill-within", "kill-after")
FAILURES = ("fail", "short-write", "fail-from-on")
REASON = b"No space left on device"
COMMANDS = 44
RECOVERY_STEPS = 9
# Some of everything, except for what depends on time or is done in the background. A transaction that is refused half
# way is not simply sent again.
EVEN = {name: 1 for name in WEIGHTS} | {"add": 6, "make": 4, "expire_soon": 0, "save": 0, "background_save": 0}


class PatientClient(Client):
    """Sends what is refused again, until it is not."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.refused = 0
        self.failed_saves = 0

    def read(self, command):
        deadline = time.monotonic() + REPLY_SECONDS
        while True:
            replies = [self.connection.reply() for _ in range(command.replies)]
            # A last chunk that is taken completes what earlier tries brought, though the first one is refused again.
            if replies[-1] == b"+OK\r\n" or not any(reply.startswith(b"-MISCONF") for reply in replies):
                break
            self.refused += 1
            if time.monotonic() > deadline:
                raise AssertionError(f"refused for {REPLY_SECONDS:.0f} s: {replies}")
            time.sleep(0.01)
            self.connection.send(command.wire)
        self.failed_saves += command.saves and replies[-1][:1] == b"-"
        self.replies.append(replies[-1])


class Sweep:
    """All steps of one kind of fault."""

    def __init__(self, kind, seed):
        self.kind = kind
        self.seed = seed
        self.figures = collections.Counter()

    def run(self, steps):
        self.reference = Server(appendonly="no").start()
        try:
            self.referee = self.reference.connect()
            self.dumps = make_dumps(self.referee, SHAPES)
            for i, self.step in enumerate(steps):
                # With everysec, changes do not wait for a disk that fails, but are refused all the same.
                self.policy = "everysec" if self.kind in FAILURES and i % 4 == 3 else "always"
                self.stops = self.kind == "fail-from-on" and i % 16 == 1  # before the disk is mended
                self.referee.command("FLUSHALL")
                if not self.reaches_fault() and self.policy == "always":
                    return  # the other takes fewer steps
        finally:
            self.reference.clean_up()

    def reaches_fault(self):
        self.server = Server(appendfsync=self.policy)
        self.server.program = os.environ["BITSIEVE_FAULT_SERVER"]
        self.server.variables = {"BITSIEVE_FAULT_STEP": str(self.step), "BITSIEVE_FAULT_KIND": self.kind}
        try:
            reached = self.dies_there() if self.kind in KILLS else self.lives_on()
            self.figures["faults"] += reached
            return reached
        finally:
            self.server.clean_up()

    # ---- what is sent

    def stream(self):
        weights = EVEN if self.kind in KILLS else EVEN | {"transaction": 0}
        stream = Stream("t0", self.dumps, weights)
        stream.begin_round(random.Random(f"{self.seed}/{self.kind}"), {})
        return stream

    def pipelines(self, stream):
        yield [stream.open()]
        sent = stream.pipelines()
        left = COMMANDS
        if self.kind not in KILLS:
            sent = ([command] for commands in sent for command in commands)
            left //= 2  # a disk that is mended has more steps
        saves_at = left // 2
        for commands in sent:
            yield commands
            left -= len(commands)
            if left <= saves_at:
                yield [stream.save()]
                saves_at = -math.inf
            if left <= 0:
                return

    def started(self, make_client):
        """A client that sends the stream; None if the server died while it started."""
        try:
            self.server.start()
        except ServerDied:
            return None
        stream = self.stream()
        client = make_client(self.server.connect(), stream, self.pipelines(stream))
        client.start()
        return client

    # ---- dying

    def dies_there(self):
        client = self.started(Client)
        if client:
            client.join()
            self.raise_error(client)
            self.figures["acknowledged"] += len(client.replies)
        reached = client is None or self.dead(client)
        if reached and self.server.wait() != -signal.SIGKILL:
            raise Mismatch(f"the server died otherwise\n{self.server.log()}")
        self.server.kill()
        self.check(client)
        return reached

    def dead(self, client):
        """Whoever was acknowledged all may still see it die of what it did beside."""
        return len(client.replies) < len(client.commands) or not self.server.alive()

    # ---- living on

    def lives_on(self):
        client = self.started(PatientClient)
        if client is None:
            if self.server.wait() != 1 or REASON.decode() not in self.server.log():
                raise Mismatch(f"the server does not say why it does not start\n{self.server.log()}")
            self.figures["refused to start"] += 1
            self.check(None)
            return True
        steps = self.mend_in_time(client)
        self.raise_error(client)
        if steps is None:
            self.check(client)
            return True
        with self.server.connect() as connection:
            if self.step % 2 and connection.command("SAVE") != b"+OK\r\n":
                raise Mismatch(f"no snapshot can be made after the fault\n{self.server.log()}")
            if self.policy == "everysec":
                wait_until(lambda: b"aof_pending_bytes:0\r" in connection.command("INFO", "persistence"), REPLY_SECONDS,
                           "all of the log is on the disk")
        self.figures["acknowledged"] += len(client.replies)
        self.figures["refused"] += client.refused
        self.figures["saves failed"] += client.failed_saves
        self.server.kill()
        self.check(client)
        return steps >= self.step

    def mend_in_time(self, client):
        """Waits for the client's end. A disk that goes on failing is mended once that was seen; how many steps it had
        by then. Nothing if the server was stopped before."""
        steps = None
        with self.server.connect() as other:
            while client.is_alive():
                self.server.check_alive()
                trouble = b"aof_last_write_status:err" in other.command("INFO", "persistence")
                if steps is None and self.kind == "fail-from-on" and (trouble or client.failed_saves):
                    if trouble:
                        self.check_trouble(other)
                    if trouble and self.stops:
                        return self.stop_in_trouble(client)
                    steps = self.mend()
                client.join(0.02)
        return self.mend() if steps is None else steps

    def check_trouble(self, connection):
        reply = connection.command("BF.ADD", "never", "made")
        if not reply.startswith(b"-MISCONF ") or REASON not in reply:
            raise Mismatch(f"a change was not refused although the disk fails: {reply}\n{self.server.log()}")
        for request in (("PING",), ("BF.EXISTS", "t0:0", "i1"), ("BF.CARD", "t0:0"), ("KEYS", "*")):
            if connection.command(*request).startswith(b"-"):
                raise Mismatch(f"{request} was refused although it changes nothing")
        self.figures["trouble seen"] += 1

    def stop_in_trouble(self, client):
        client.connection.socket.shutdown(socket.SHUT_RDWR)  # no reply can come any more
        client.join()
        if self.server.stop() != 1 or "Not stopped cleanly" not in self.server.log():
            raise Mismatch(f"the server does not say that its log is not on the disk\n{self.server.log()}")
        self.figures["stopped in trouble"] += 1

    def mend(self):
        self.server.process.send_signal(signal.SIGUSR1)
        try:
            told = wait_until(lambda: re.search(r"Mended after (\d+) steps\n", self.server.log()), STOP_SECONDS,
                              "the fault server mends its disk")
        except AssertionError as error:
            raise Mismatch(f"{error}\n{self.server.log()}") from error
        return int(told[1])

    # ---- afterwards

    @staticmethod
    def raise_error(client):
        if client.error:
            raise client.error

    def start_in_vain(self):
        """On the directory that was left, with the same fault at one of the first steps of the recovery."""
        self.server.variables["BITSIEVE_FAULT_STEP"] = str(self.step % RECOVERY_STEPS + 1)
        with contextlib.suppress(ServerDied):
            self.server.start()
            self.figures["started nevertheless"] += 1
        self.server.kill()

    def check(self, client):
        """On a good disk everything is there."""
        check_log(self.server)
        self.start_in_vain()
        check_log(self.server)
        self.server.connections.clear()
        self.server.program = binary()
        self.server.variables = {}
        self.server.start()
        with self.server.connect() as connection:
            if client is None:
                found, known = all_names(connection), set()
            else:
                settled = settle(client, len(client.steps(len(client.replies))), connection, self.referee)
                found, known = all_names(connection) - {client.stream.mark}, set(settled.found)
            if found != known:
                raise Mismatch(f"names {found} instead of {known}")


def sweep(job):
    """Returns what was counted, and what went wrong."""
    kind, seed, first, every = job
    this = Sweep(kind, seed)
    try:
        this.run(itertools.count(first, every))
        return kind, this.figures, None
    except Exception:
        return kind, this.figures, f"{kind} at step {this.step}, seed {seed}:\n{traceback.format_exc()}"


def main():
    parser = argparse.ArgumentParser(description="each call to the disk in turn fails, or is the last one")
    parser.add_argument("--every", type=int, default=1, help="of so many steps one")
    parser.add_argument("--first", type=int, default=1, help="the step to begin with")
    parser.add_argument("--kinds", nargs="+", choices=KILLS + FAILURES, default=KILLS + FAILURES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=8, help="servers at a time; each waits more than it works")
    arguments = parser.parse_args()
    began = time.monotonic()
    jobs = [(kind, arguments.seed, arguments.first + half * arguments.every, 2 * arguments.every)
            for kind in arguments.kinds for half in range(2)]
    failed = False
    with multiprocessing.Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for kind, figures, failure in pool.imap_unordered(sweep, jobs, chunksize=1):
            print(f"{kind}: {dict(figures)}", flush=True)
            failed = failed or bool(failure)
            if failure:
                print(failure, flush=True)
    print(f"{time.monotonic() - began:.0f} s, seed {arguments.seed}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
