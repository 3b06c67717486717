"""What a case of stalls_bench is, and steps that many cases have."""

import collections
import time

from bench_server import encode

# name: of the row; prepare(bench): once; before(bench): ahead of each run; run(bench): the command.
Case = collections.namedtuple("Case", "group name run before")


def asking(*arguments):
    return lambda bench: bench.ask(*arguments)


def send_request(bench):
    bench.client.replies(bench.request, 1)


def both(*steps):
    def run(bench):
        for step in steps:
            step(bench)
    return run


def many_times(command, times):
    return lambda bench: bench.client.replies(encode(*command) * times, times)


def leave(bench):
    for client in bench.idle:
        client.close()
    time.sleep(3)  # until the heap was trimmed
