#!/usr/bin/python3
"""A server whose filters and clients come and go, for as long as wanted, and must not grow.

  churn.py --seed S --seconds N [--bundle DIR]

With a log and a snapshot every two seconds; with BITSIEVE_ENGINE and BITSIEVE_MODULE the module in an engine. After
each generation of churn_load.py, memory, descriptors, threads and disk are measured; the median of the last quarter of
the run must not exceed that of the second one by more than trend.py allows. After FLUSHALL the server must return to
what it was before. Every item that was added and not removed must be found. The last line of the output is JSON;
`typical_hours` says how long a server with the TYPICAL load takes for the same work.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from churn_load import FLUSH_EVERY, Churn, Wrong  # noqa: E402
from harness import Server, on_engine  # noqa: E402
from trend import trends  # noqa: E402

TYPICAL = {"commands": 200, "filters": 0.2, "connections": 0.5}  # per second
SETTLE_SECONDS = 15
# What may be left after everything was deleted, more than after the first generations.
KEPT = {"rss_bytes": 16 << 20, "descriptors": 0, "threads": 2, "used_memory": 1 << 20, "keys": 0,
        "mem_clients_normal": 256 << 10, "disk_bytes": 8 << 20}
SERVER_OPTIONS = {"save_interval": 2, "max_log_bytes": "16mb", "changes_memory": "4mb", "io_threads": 2,
                  "notify_keyspace_events": "KEA"}
ENGINE_OPTIONS = {"appendonly": "yes", "appendfsync": "everysec", "auto_aof_rewrite_min_size": "4mb",
                  "notify_keyspace_events": "KEA"}


def make_server():
    if not on_engine():
        return Server(**SERVER_OPTIONS)
    from engine import Engine
    return Engine(**ENGINE_OPTIONS)


def size_of(folder):
    total = 0
    for path in pathlib.Path(folder).rglob("*"):
        with contextlib.suppress(OSError):  # it may be removed at this moment
            total += path.stat().st_size if path.is_file() else 0
    return total


class Gauge:
    """What a server takes at this moment."""

    def __init__(self, server, client):
        self.server, self.client = server, client

    def read(self):
        process = f"/proc/{self.server.process.pid}"
        (info,), (keys,) = self.client.run(("INFO",)), self.client.run(("DBSIZE",))
        fields = dict(line.split(":", 1) for line in info.decode().split("\r\n") if ":" in line)
        sample = {"rss_bytes": self.server.rss_bytes(), "descriptors": len(os.listdir(f"{process}/fd")),
                  "threads": len(os.listdir(f"{process}/task")), "disk_bytes": size_of(self.server.directory),
                  "keys": keys}
        return sample | {name: int(fields[name]) for name in ("used_memory", "mem_clients_normal", "mem_changes")
                         if name in fields}


class Run:
    def __init__(self, server, seed):
        self.server = server
        self.churn = Churn(server, seed)
        self.gauge = Gauge(server, self.churn.client)
        self.samples = []
        self.problems = []

    def settle(self, wanted):
        """Deletes everything and waits until the figures are as wanted. Returns the last sample and what exceeds."""
        self.churn.flush()
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            self.let_go()
            sample = self.gauge.read()
            exceeded = [f"after FLUSHALL: {name} is {sample[name]} instead of at most {most}"
                        for name, most in wanted.items() if sample.get(name, 0) > most]
            if not exceeded or time.monotonic() > deadline:
                return sample, exceeded

    def let_go(self):
        """Lets the server drop what it keeps for speed, and its log."""
        self.churn.client.run(("MEMORY", "PURGE"))
        self.churn.client.send(("BGREWRITEAOF",) if on_engine() else ("BGSAVE",))
        self.churn.client.reply()  # an error if one is in progress
        time.sleep(0.5)

    def loop(self, seconds):
        deadline = time.monotonic() + seconds
        for _ in range(FLUSH_EVERY):  # once through everything
            self.churn.generation()
        base, _ = self.settle({"keys": 0})
        wanted = {name: base[name] + more for name, more in KEPT.items() if name in base}
        while time.monotonic() < deadline or len(self.samples) < FLUSH_EVERY:
            self.churn.generation()
            if self.churn.filters:  # not just after FLUSHALL
                self.samples.append(self.gauge.read())
            self.server.check_alive()
        end, self.problems = self.settle(wanted)
        return base, end

    def restart(self):
        """An orderly stop, and a start that finds everything."""
        self.churn.make()
        status = self.server.stop()
        if status != 0:
            self.problems.append(f"the server ended with status {status}")
        self.server.start()
        kept = Churn(self.server, 0)
        for target in self.churn.filters.values():
            kept.check(target, target.items, kept.run((target.verb("MEXISTS"), target.name, *target.items))[0])
        self.churn.done["lookups"] += kept.done["lookups"]
        self.server.stop()

    def figures(self, seconds, base, end):
        rows = [{**trend.as_row(), "before": base[trend.name], "after": end[trend.name]}
                for trend in trends(self.samples)]
        self.problems += [f"{row['figure']} grew from {row['early']:.0f} to {row['late']:.0f}" for row in rows
                          if row["grows"]]
        done = dict(self.churn.done)
        hours = min(done.get(name, 0) / rate for name, rate in TYPICAL.items()) / 3600
        return {**done, "seconds": round(seconds, 1), "typical_hours": round(hours, 2), "trends": rows}


def work(server, arguments):
    """Returns the problems that were found."""
    begin = time.monotonic()
    run = Run(server.start(), arguments.seed)
    try:
        base, end = run.loop(arguments.seconds)
        run.restart()
    except Exception:
        traceback.print_exc()
        print(f"after {dict(run.churn.done)}\nthe end of the server's log:\n{server.log()[-4000:]}")
        return ["it broke off, as above"]
    finally:
        if arguments.bundle:
            (arguments.bundle / "samples.json").write_text(json.dumps(run.samples), encoding="utf-8")
            (arguments.bundle / "server.log").write_text(server.log(), encoding="utf-8")
    figures = run.figures(time.monotonic() - begin, base, end)
    for problem in run.problems:
        print(f"FAILED: {problem}")
    print(json.dumps(figures))
    return run.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--bundle", type=pathlib.Path, metavar="DIR", help="where samples and the server's log go")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    server = make_server()
    try:
        sys.exit(1 if work(server, arguments) else 0)
    except Wrong as wrong:
        sys.exit(str(wrong))
    finally:
        server.clean_up()


if __name__ == "__main__":
    main()
