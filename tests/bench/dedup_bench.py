"""What `bitsieve dedup` costs, and what `sort -u` costs: `scripts/bench --dedup`.

  memory   10^8 lines of 16 bytes from a file in memory (/dev/shm), with a filter for 10^8 items at a rate of 1%: all
           lines different, and each line there twice; to /dev/null, and to a file in memory. CPU is that of all
           threads, user and system, which other work on the machine changes less than the time
  exact    the same with --exact
  disk     10^8 lines, each there twice, from a file in build/, to one there, at a rate of 0.1%; and
           LC_ALL=C sort -u of the same file, which loses the order of the lines

Medians of the rounds; --quick: 10^7 lines, one round; --only TEXT: only parts whose names have this text.
"""

import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench_server import describe_machine, progress

LINES = 100_000_000
CHUNK = 1_000_000
LINE_BYTES = 17
KEY_BYTES = 8  # as hex digits, a line


def write_lines(path, lines, repeated):
    """Random lines; `repeated`: half as many, each twice, the second time far from the first."""
    chunks = lines // CHUNK // (2 if repeated else 1)
    order = list(range(chunks))
    if repeated:
        again = order[:]
        random.Random(1).shuffle(again)
        order += again
    with open(path, "wb") as file:
        for seed in order:
            file.write(random.Random(seed).randbytes(KEY_BYTES * CHUNK).hex("\n", KEY_BYTES).encode() + b"\n")


def run_once(command, environment=None):
    """Seconds, CPU seconds and the memory's peak in MB of a command."""
    begin = time.monotonic()
    process = subprocess.Popen(command, env={**os.environ, **(environment or {})}, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def show(name, lines, rounds):
    seconds, cpu, memory = (statistics.median(column) for column in zip(*rounds))
    print(f"{name:44} {lines / seconds / 1e6:6.1f} M lines/s, best {lines / min(r[0] for r in rounds) / 1e6:.1f}; "
          f"CPU {cpu / lines * 1e9:5.1f} ns a line, best {min(r[1] for r in rounds) / lines * 1e9:.1f}; "
          f"{memory:.0f} MB; {seconds:.2f} s", flush=True)
    return seconds


FLAGS = {"memory": ["--error-rate", "0.01"], "exact": ["--exact"]}
TARGETS = {"/dev/null": "/dev/null", "memory": "out"}
# What is measured in memory: flags, whether lines are repeated, and where the output goes.
CASES = [("memory", False, "/dev/null"), ("memory", False, "memory"), ("exact", False, "/dev/null"),
         ("memory", True, "/dev/null"), ("memory", True, "memory"), ("exact", True, "/dev/null")]


def name_of(flags, repeated, target):
    return f"{flags}: {'each twice' if repeated else 'all different'}, to {target}"


def measure_memory(binary, folder, lines, rounds, cases):
    for repeated in (False, True):
        of_content = [case for case in cases if case[1] == repeated]
        if not of_content:
            continue
        source = folder / "lines"
        progress(f"writing {lines} lines to memory")
        write_lines(source, lines, repeated)
        for flags, _, target in of_content:
            output = folder / TARGETS[target]
            times = []
            for _ in range(rounds):
                times.append(run_once([binary, "dedup", source, "-o", output, "-q", "--items", str(lines),
                                       *FLAGS[flags]]))
                (folder / "out").unlink(missing_ok=True)
            show(name_of(flags, repeated, target), lines, times)
        source.unlink()


def measure_disk(binary, folder, lines, rounds):
    source, target = folder / "lines", folder / "out"
    progress(f"writing {lines} lines to the disk")
    write_lines(source, lines, True)
    ours, theirs = [], []
    for _ in range(rounds):  # alternately, so that both meet the same other work
        ours.append(run_once([binary, "dedup", source, "-o", target, "-q", "--items", str(lines // 2)]))
        target.unlink()
        theirs.append(run_once(["sort", "-u", "-o", target, "-T", folder, source], {"LC_ALL": "C"}))
        target.unlink()
    seconds = show("disk: bitsieve dedup", lines, ours)
    of_sort = show("disk: sort -u", lines, theirs)
    print(f"sort -u takes {of_sort / seconds:.1f} times as long")


def run(binary, rounds, quick, only):
    lines = 10_000_000 if quick else LINES
    describe_machine()
    cases = [case for case in CASES if only in name_of(*case)]
    if cases:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            measure_memory(binary, Path(folder), lines, rounds, cases)
    if only in "disk":
        build = Path(__file__).resolve().parents[2] / "build"
        with tempfile.TemporaryDirectory(dir=build) as folder:
            measure_disk(binary, Path(folder), lines, rounds)
