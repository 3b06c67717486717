"""What being watched costs: `scripts/bench --scrape`.

With 1,000,000 filters (--quick: 100,000), of which 100 have metrics of their own, and all threads of the server on one
core:

  scrape   milliseconds of a GET /metrics: median and longest of 50
  page     milliseconds of a page of the dashboard's table, sorted by size, and searched for a part of the names
  stalls   the longest that a PING of another client took in ten seconds: without scrapes, with one each second, and
           with the dashboard's table read each second as well
  look up  server CPU of one BF.EXISTS on a random name, 64 per pipeline: of a server without an admin port, of one
           with it, and of that one while it is scraped each second; medians of rounds that take turns
"""

import contextlib
import http.client
import random
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from bench_server import LOAD_CORE, describe_machine, encode, free_port, progress, start_bitsieve
from many_bench import PIPELINE, Pipeline, name_of

SCRAPES = 50
PROBE_SECONDS = 10
LOOKUPS = 400_000
ROUNDS = 5
TABLE = "/api/filters?sort=size&order=desc&limit=25"


class Admin:
    def __init__(self, port):
        self.port = port

    def get(self, path):
        """The body, and how many milliseconds it took."""
        begin = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        body = connection.getresponse().read().decode()
        connection.close()
        return body, (time.perf_counter() - begin) * 1000

    def await_text(self, path, text):
        while text not in self.get(path)[0]:
            time.sleep(0.2)

    @contextlib.contextmanager
    def scraped_each_second(self, *paths):
        stop = threading.Event()

        def scrape():
            while not stop.wait(1):
                for path in paths:
                    self.get(path)

        thread = threading.Thread(target=scrape)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def times(action):
    taken = [action() for _ in range(SCRAPES)]
    return f"median {statistics.median(taken):.1f}, longest {max(taken):.1f} ms"


def longest_ping(server):
    probe = subprocess.Popen(["taskset", "-c", LOAD_CORE, sys.executable, str(Path(__file__).parent / "stall_probe.py"),
                              str(server.port), str(server.process.pid)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    probe.stdout.readline()
    time.sleep(PROBE_SECONDS)
    took, ran, waited, probe_waited = map(float, probe.communicate("\n")[0].split())
    return f"{took:.2f} ms (the loop ran {ran:.2f}, was without a core {waited:.2f}; the probe {probe_waited:.2f})"


def look_up(pipeline, names):
    commands = [encode("BF.EXISTS", name_of(random.randrange(names)), b"x") for _ in range(LOOKUPS)]
    return pipeline.run(commands, PIPELINE)


def measure_lookups(plain, watched, admin, names):
    taken = {"without an admin port": [], "with one": [], "scraped each second": []}
    for _ in range(ROUNDS):
        taken["without an admin port"].append(look_up(plain, names))
        taken["with one"].append(look_up(watched, names))
        with admin.scraped_each_second("/metrics"):
            taken["scraped each second"].append(look_up(watched, names))
    base = statistics.median(taken["without an admin port"])
    for label, values in taken.items():
        median = statistics.median(values)
        print(f"look up  {label:22} {median:6.0f} ns of CPU per command, {median / base:.3f}")


def fill(server, names):
    pipeline = Pipeline(server)
    pipeline.run([encode("BF.ADD", name_of(number), b"x") for number in range(names)], 1000)
    return pipeline


def run(binary, quick):
    names = 100_000 if quick else 1_000_000
    describe_machine()
    admin = Admin(free_port())
    progress("filling two servers")
    server = start_bitsieve(binary, "--appendonly", "no", "--admin-port", str(admin.port), "--metrics-largest-filters",
                            "100")
    without = start_bitsieve(binary, "--appendonly", "no")
    watched, plain = fill(server, names), fill(without, names)
    admin.await_text("/metrics", f"\nbitsieve_filters {names}\n")
    print(f"scrape   {times(lambda: admin.get('/metrics')[1])}, {len(admin.get('/metrics')[0])} bytes")
    work = admin.get("/metrics")[0].split("\nbitsieve_filters_collection_work_seconds ")[1].split()[0]
    print(f"pass     {float(work):.2f} s of work")
    print(f"stalls   without scrapes            {longest_ping(server)}")
    with admin.scraped_each_second("/metrics"):
        print(f"stalls   scraped each second        {longest_ping(server)}")
    measure_lookups(plain, watched, admin, names)
    admin.await_text(TABLE, '"ready":true')
    print(f"page     by size: {times(lambda: admin.get(TABLE)[1])}")
    print(f"page     searched: {times(lambda: admin.get(TABLE + '&search=77')[1])}")
    with admin.scraped_each_second("/metrics", TABLE):
        print(f"stalls   and the table read as well {longest_ping(server)}")
    server.kill()
    without.kill()
