"""The probe of stalls_bench: a process of its own, since the bench's thread that reads long replies would hold it up.

Sends PING on a connection, each soon after the last is answered, until its standard input ends. Prints then, in
milliseconds, the longest time that one took, and what became of that time: how long the thread of the event loop ran,
how long it had no core, and how long the probe had none. The rest it slept, or waited for a lock or a page.

usage: stall_probe.py PORT PID [THREAD]
"""

import select
import socket
import sys
import time
from pathlib import Path

PAUSE_SECONDS = 0.0002  # so that the probe itself takes no core from the server
PINGS_TO_FIND_THE_LOOP = 300


def ping(connection):
    connection.sendall(b"PING\r\n")
    if len(connection.recv(7)) != 7:
        sys.exit("stall_probe: the server closed the connection")


def schedule_of(task):
    """Nanoseconds that a thread ran, and that it was ready to run and had no core."""
    ran, waited, _ = task.read_text().split()
    return int(ran), int(waited)


def find_loop(connection, process):
    """The thread that runs most while nothing but PING is sent."""
    tasks = [task / "schedstat" for task in Path(f"/proc/{process}/task").iterdir()]
    before = {task: schedule_of(task)[0] for task in tasks}
    for _ in range(PINGS_TO_FIND_THE_LOOP):
        ping(connection)
    return max(tasks, key=lambda task: schedule_of(task)[0] - before[task])


def probe(connection, loop):
    own = Path("/proc/thread-self/schedstat")
    longest = (0.0, 0.0, 0.0, 0.0)
    before, own_before = schedule_of(loop), schedule_of(own)
    while not select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
        begin = time.perf_counter_ns()
        ping(connection)
        took = time.perf_counter_ns() - begin
        after, own_after = schedule_of(loop), schedule_of(own)
        if took > longest[0]:
            longest = (took, after[0] - before[0], after[1] - before[1], own_after[1] - own_before[1])
        before, own_before = after, own_after
    return [nanoseconds / 1e6 for nanoseconds in longest]


def main():
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    loop = Path(f"/proc/{sys.argv[2]}/task/{sys.argv[3]}/schedstat") if len(sys.argv) > 3 else None
    if loop is None:
        loop = find_loop(connection, sys.argv[2])
    print(loop.parent.name, flush=True)  # it probes from now on
    print(*probe(connection, loop), flush=True)


if __name__ == "__main__":
    main()
