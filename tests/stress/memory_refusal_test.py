#!/usr/bin/python3
"""A server whose memory is refused, one allocation at a time or many, lives, answers again, and has lost nothing.

  memory_refusal_test.py [--cycles N] [--each EVERY] [--threads NAME ...] [--ends EVERY] [--seed S] [--jobs J]

Cycles: under a mixed load each k-th allocation is refused for 10 to 300 ms. Each: of the work of each thread, by the
thread's name, each EVERY-th allocation is refused alone, one after the other, and the work is done again until there is
no such allocation. Ends: the same for each EVERY-th allocation of a start and of a stop in order; such a start may
fail, as long as it says so and the next one finds everything. After each refusal every door of the server must answer;
after a batch of them the server is killed, or stopped, and must hold after its restart what it held before, and what
was acknowledged. What fails is reported with the functions that asked for the refused memory, and the seed.
"""

import argparse
import collections
import ctypes
import multiprocessing
import os
import pathlib
import random
import signal
import socket
import sys
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from certificates import Authority  # noqa: E402
from harness import REPLY_SECONDS, START_SECONDS, Server, ServerDied, wait_until  # noqa: E402
from memory_clients import (Door, Explorer, Listener, TlsDoor, UnixDoor, Visitor, Writer,  # noqa: E402
                            await_reply, wait_until_served)
from memory_control import EVERYTHING, MemoryControl  # noqa: E402

BATCH = 20  # refusals between two restarts
# The threads whose allocations are refused one by one, and how long a lap of their work may take at most: those of
# timers need some seconds, until each timer has come.
THREADS = {"loop": 0, "worker": 0, "log": 0, "log-job": 0, "snapshot": 0, "admin-page": 0, "admin": 6, "accept": 2,
           "freezer": 0, "reaper": 1, "bitsieve": 12, "collector": 4, "abandoned": 0, "unmapper": 0, "huge-pages": 0}


class Supervisor:
    """Hears what the server tells a service manager: a probe runs through all threads that clients depend on."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.heard = 0
        threading.Thread(target=self.listen, daemon=True).start()

    def variables(self):
        return {"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": "60000"}

    def listen(self):
        while message := self.socket.recv(4096):
            self.heard += b"WATCHDOG=1" in message

    def await_sign_of_life(self, check_alive):
        """A second one may belong to a probe that has begun since."""
        wanted = self.heard + 2

        def is_heard():
            check_alive()
            return self.heard >= wanted

        await_reply(is_heard, REPLY_SECONDS, "the watchdog")


class Victim:
    """A server with all doors open, whose memory can be refused."""

    def __init__(self, label, policy):
        self.label = label
        self.server = Server(appendfsync=policy, io_threads=1 + (policy == "everysec"), max_log_bytes=1 << 20)
        home = self.server.home
        authority = Authority(home)
        certificate, key = authority.sign("server")
        users, settings = os.path.join(home, "users"), os.path.join(home, "settings.json")
        pathlib.Path(users).write_text("user default on nopass ~* &* +@all\n", encoding="utf-8")
        pathlib.Path(settings).write_text("{}\n", encoding="utf-8")
        self.server.unix_path = os.path.join(home, "socket")
        self.server.options |= {
            "tls_auth_clients": "no", "tls_cert_file": certificate, "tls_key_file": key,
            "unixsocket": self.server.unix_path, "aclfile": users, "config": settings, "timeout": 60,
            "notify_keyspace_events": "KEA", "loglevel": "info", "logformat": "json", "default_error_rate": 0.000001}
        self.control = MemoryControl(os.environ["TEST_FAILING_MEMORY"], os.path.join(home, "control"))
        self.supervisor = Supervisor(os.path.join(home, "notify"))
        self.server.variables = {**self.control.variables(), **self.supervisor.variables()}

    def start(self):
        for attempt in range(10):
            self.choose_ports()
            try:
                self.server.start()
                break
            except ServerDied:
                # Another process has taken a port that was free.
                if attempt == 9 or "Address already in use" not in self.server.log():
                    raise
        self.control.started(self.server.process.pid)
        with self.server.connect() as connection:
            wait_until(lambda: b"loading:0" in connection.command("INFO", "persistence"), REPLY_SECONDS, "loaded")
        self.server.connections.clear()

    def choose_ports(self):
        self.server.tls_port, self.server.admin_port = free_port(), free_port()
        self.server.options |= {"tls_port": self.server.tls_port, "admin_port": self.server.admin_port}

    def check_served(self):
        self.server.check_alive()
        wait_until_served(self.server, REPLY_SECONDS)
        self.supervisor.await_sign_of_life(self.server.check_alive)
        self.server.check_alive()

    def restart_and_compare(self, writers, stop):
        """Kills it, or stops it in order, and compares with what it held and with what the writers know."""
        self.await_log()
        before = self.held()
        if stop:
            status = self.server.stop()
            if status != 0:
                raise AssertionError(f"the server ended with status {status}\n{self.server.log()}")
        else:
            time.sleep(0.1)  # what a kill may take is what is not written
            self.server.kill()
        for writer in writers:
            writer.close()
        self.start()
        after = self.held()
        self.check_same(before, after)
        expiries = {name: expiry for name, (_, expiry) in after.items()}
        with self.server.connect() as connection:
            for writer in writers:
                writer.check(expiries, connection)
        self.server.connections.clear()

    def await_log(self):
        """While the log has not recovered from a refusal, changes are refused."""
        with self.server.connect() as connection:
            await_reply(lambda: b"aof_last_write_status:ok" in connection.command("INFO", "persistence"),
                        REPLY_SECONDS, "the log")

    def check_same(self, before, after):
        differing = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        if differing:
            name = differing[0]
            raise AssertionError(f"after the restart {differing} differ, of {len(before)} names; {name} was\n"
                                 f"{before.get(name)!r:.2000} and is\n{after.get(name)!r:.2000}")

    def end_in_order(self):
        """A last snapshot that fails for lack of memory is an error; the log has all of it."""
        status = self.server.stop()
        if status not in (0, 1):
            raise AssertionError(f"the server ended with status {status}")

    def try_to_start(self):
        """False if it ended, which is to be an error like any other."""
        self.choose_ports()
        self.server.spawn()
        deadline = time.monotonic() + START_SECONDS
        while self.server.alive():
            if "Ready after" in self.server.log():
                self.server.port = int(self.server._announced_port())  # pylint: disable=protected-access
                self.control.started(self.server.process.pid)
                return True
            if time.monotonic() > deadline:
                raise AssertionError("the server neither starts nor ends")
            time.sleep(0.01)
        # Before main() begins, nothing could report that memory is refused.
        is_before_main = "__libc_csu_init" in self.control.explain() or "_GLOBAL__sub_I" in self.control.explain()
        if self.server.process.returncode not in (1, 2) and not is_before_main:
            raise AssertionError(f"the start ended with status {self.server.process.returncode}")
        return False

    def held(self):
        """What there is under each name, and its expiry."""
        with self.server.connect() as connection:
            names = [name.decode() for name in connection.command("KEYS", "*").split(b"\r\n")[2::2]]
            names = [name for name in names if not name.startswith("time.")]
            held = {name: (connection.command("BF.DUMP", name), connection.command("PEXPIRETIME", name))
                    for name in names}
        self.server.connections.clear()
        for name, (dump, _) in held.items():
            if not dump.startswith(b"$"):
                raise AssertionError(f"{name} cannot be dumped: {dump[:80]!r}")
        return held

    def explain(self):
        return f"{self.label}\n{self.control.explain()}\nthe end of the server's log:\n{self.server.log()[-2000:]}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Crowd:
    """Clients at work, each on a thread."""

    def __init__(self, victim, seed):
        server = victim.server
        self.writers = [Writer(door(server), f"w{i}", seed)
                        for i, door in enumerate((Door, Door, TlsDoor, UnixDoor))]
        self.visitors = [Visitor(Door(server), "v0", "w0.0"), Visitor(TlsDoor(server), "v1", "w1.0"),
                         Explorer(Door(server), "e", seed), Listener(Door(server)), Listener(Door(server), True)]
        self.errors = []

    def work(self, act):
        """Lets them work while `act` runs."""
        ending = threading.Event()

        def run(client):
            try:
                while not ending.is_set():
                    client.step()
            except Exception as error:  # reported by the thread that joins this one
                self.errors.append(error)

        threads = [threading.Thread(target=run, args=[client]) for client in self.writers + self.visitors]
        for thread in threads:
            thread.start()
        try:
            act()
        finally:
            ending.set()
            for thread in threads:
                thread.join()
        if self.errors:
            raise self.errors[0]

    def close(self):
        for client in self.writers + self.visitors:
            client.close()


def run_cycles(job):
    """Returns what was counted, and what went wrong."""
    label, cycles, seed, policy = job
    done = collections.Counter()
    victim = Victim(label, policy)
    chance = random.Random(f"{seed}/{label}")
    try:
        victim.start()
        crowd = Crowd(victim, f"{seed}/{label}")
        for cycle in range(cycles):
            period = round(10 ** chance.uniform(0.3, 3.3))
            seconds = chance.uniform(0.01, 0.3)

            def refuse():
                time.sleep(chance.uniform(0, 0.05))
                victim.control.refuse_every(period, chance.randrange(period))
                time.sleep(seconds)
                seen, refused = victim.control.allow()
                done.update(allocations=seen, refused=refused)
                if chance.random() < 0.2:
                    victim.server.process.send_signal(signal.SIGHUP)

            crowd.work(refuse)
            victim.check_served()
            done["cycles"] += 1
            if cycle % BATCH == BATCH - 1 or cycle == cycles - 1:
                victim.restart_and_compare(crowd.writers, stop=chance.random() < 0.3)
                done["restarts"] += 1
        done["commands"] = sum(client.did for client in crowd.writers)
        crowd.close()
        return label, done, None
    except Exception:
        return label, done, f"seed {seed}, cycle {done['cycles']}: {victim.explain()}\n{traceback.format_exc()}"
    finally:
        victim.server.clean_up()


class Lap:
    """Some work for each thread, the same each time."""

    def __init__(self, victim, seed):
        self.victim = victim
        self.writer = Writer(Door(victim.server), "lap", seed)
        self.others = [Writer(TlsDoor(victim.server), "tls", seed), Writer(UnixDoor(victim.server), "unix", seed)]
        self.visitor = Visitor(Door(victim.server), "v", "lap.0")
        self.explorer = Explorer(Door(victim.server), "e", seed)
        self.listener = Listener(Door(victim.server))
        self.number = 0

    @property
    def writers(self):
        return [self.writer, *self.others]

    def run(self):
        self.number += 1
        name = f"lap.{self.number % 5}"
        self.flush()
        for act in (self.writer.delete, self.writer.make, self.writer.add, self.writer.pipeline, self.writer.expire,
                    self.writer.transact, self.writer.copy, self.writer.look):
            act(name)
        self.writer.add_many(name, 3000)
        self.freeze()
        for writer in self.others:
            writer.add(f"{writer.label}.0")
            writer.close()
        self.explorer.all_steps()
        self.listener.step()
        self.visitor.all_steps()
        self.victim.server.process.send_signal(signal.SIGHUP)

    def flush(self):
        """Every fifth lap."""
        if self.number % 5:
            return
        for writer in self.writers:
            for known in writer.names.values():
                known.forget()
                known.expiries.add(b":-1\r\n")
        if self.writer.ask("FLUSHALL") == b"+OK\r\n":
            for writer in self.writers:
                writer.names.clear()

    def freeze(self):
        """A name that is soon gone, so that there is nothing to know of it."""
        self.writer.ask_all([("BF.RESERVE", "frozen", "0.01", 1000, "TYPE", "ribbon"),
                             ("BF.MADD", "frozen", *range(100)), ("BF.FREEZE", "frozen"),
                             ("BF.RESERVE", "short", "0.01", 100), ("PEXPIRE", "short", 1)])
        deadline = time.monotonic() + REPLY_SECONDS
        while b"building" in (self.writer.ask("BF.INFO", "frozen", "STATE") or b""):
            if time.monotonic() > deadline:
                raise AssertionError("a filter is being frozen for too long")
            time.sleep(0.002)
        while (self.writer.ask("DEL", "frozen", "short") or b"-").startswith(b"-"):
            self.victim.server.check_alive()

    def close(self):
        for client in (*self.writers, self.visitor, self.explorer, self.listener):
            client.close()


def run_each(job):
    """Each allocation of the threads of one name; returns what was counted, and what went wrong."""
    label, thread, first, every, seed = job
    done = collections.Counter()
    victim = Victim(label, "always" if first % 2 else "everysec")
    number = first
    try:
        victim.start()
        lap = Lap(victim, seed)
        lap.run()
        most = allocations_of_laps(victim, lap, thread)
        met = True
        while met and number <= most:
            victim.control.refuse_one(thread, number)
            met = run_until_met(victim, lap, THREADS.get(thread, 0))
            done.update(allocations=1)
            if done["allocations"] % BATCH == 0 or not met:
                victim.check_served()
                victim.restart_and_compare(lap.writers, stop=False)
                done["restarts"] += 1
            number += every
        lap.close()
        return label, done, None
    except Exception:
        what = f"seed {seed}, allocation {number} of thread {thread}"
        return label, done, f"{what}: {victim.explain()}\n{traceback.format_exc()}"
    finally:
        victim.server.clean_up()


def allocations_of_laps(victim, lap, thread):
    """Those of two laps, and of timers after that. Without this bound a thread that waits long for its timers would
    have laps, and with them allocations, without end."""
    victim.control.refuse_one(thread, EVERYTHING)
    for _ in range(2):
        lap.run()
    time.sleep(THREADS.get(thread, 0))
    return victim.control.allow()[0]


def run_until_met(victim, lap, seconds):
    """Works until the armed refusal was met; False if there is none. It is armed no more afterwards, or the reading of
    what a restarted server holds could still meet it."""
    try:
        return work_until_met(victim, lap, seconds)
    finally:
        victim.control.allow()


def work_until_met(victim, lap, seconds):
    began = time.monotonic()
    for laps in range(1 << 30):
        lap.run()
        victim.server.check_alive()
        if victim.control.refused():
            lap.run()  # what was refused is asked for again
            victim.server.check_alive()
            return True
        if laps >= 1 and time.monotonic() - began >= seconds:
            return False
    return False


def run_ends(job):
    """Starts and stops, each with one refusal, or three in a row; returns what was counted, and what went wrong."""
    label, first, every, seed = job
    done = collections.Counter()
    victim = Victim(label, "everysec")
    number = first
    try:
        victim.start()
        lap = Lap(victim, seed)
        left = {"starts", "stops"}
        while left:
            for _ in range(3):
                lap.run()
            lap.close()
            before = victim.held()
            count = 1 + 2 * (number % 2)
            if "stops" in left:
                victim.control.refuse_some(number, count)
            victim.end_in_order()
            if not victim.control.allow()[1]:
                left.discard("stops")
            if "starts" in left:
                victim.control.refuse_some(number, count)
                done["failed starts"] += not victim.try_to_start()
                if not victim.control.allow()[1]:
                    left.discard("starts")
            if not victim.server.alive():
                victim.start()
            victim.check_same(before, victim.held())
            victim.check_served()
            done["rounds"] += 1
            number += every
        return label, done, None
    except Exception:
        return label, done, f"seed {seed}, allocation {number}: {victim.explain()}\n{traceback.format_exc()}"
    finally:
        victim.server.clean_up()


def jobs_of(arguments):
    jobs = []
    if arguments.cycles:
        share = -(-arguments.cycles // 4)
        jobs += [(run_cycles, (f"cycles-{policy}-{i}", share, arguments.seed + i, policy))
                 for i in range(2) for policy in ("always", "everysec")]
    if arguments.each:
        jobs += [(run_each, (f"each-{thread}", thread, arguments.seed % arguments.each, arguments.each, arguments.seed))
                 for thread in arguments.threads]
    if arguments.ends:
        jobs.append((run_ends, ("ends", arguments.seed % arguments.ends, arguments.ends, arguments.seed)))
    return jobs


def run(job):
    # With the same addresses in each process, those of one that died at once can be named.
    address_no_randomize = 0x0040000
    ctypes.CDLL(None).personality(address_no_randomize)
    return job[0](job[1])


def main():
    parser = argparse.ArgumentParser(description="refuses a server's memory under load")
    parser.add_argument("--cycles", type=int, default=0, help="of refusing each k-th allocation")
    parser.add_argument("--each", type=int, default=0, metavar="EVERY", help="refuse each so-many-th allocation alone")
    parser.add_argument("--threads", nargs="+", default=list(THREADS), help="whose allocations --each refuses")
    parser.add_argument("--ends", type=int, default=0, metavar="EVERY", help="the same, of a start and of a stop")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--jobs", type=int, default=4, help="servers at a time")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    began = time.monotonic()
    failures, total = [], collections.Counter()
    with multiprocessing.Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for label, done, failure in pool.imap_unordered(run, jobs_of(arguments), chunksize=1):
            print(f"{label}: {dict(done)}", flush=True)
            total.update(done)
            if failure:
                failures.append(failure)
                print(f"FAILED {label}: {failure}", flush=True)
    print(f"all: {dict(total)}, {len(failures)} failures in {time.monotonic() - began:.0f} s, seed {arguments.seed}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
