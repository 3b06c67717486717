#!/usr/bin/python3
"""kill -9 at any moment, restart, compare with what was acknowledged.

  crash_test.py [--rounds N] [--seed S] [--jobs J]

Each victim is a real server with a directory of its own, killed and restarted round after round. After each restart
every filter must hold, byte for byte, what a server that was never killed holds after what was acknowledged and some of
what was under way (of other settings than appendfsync always: all but the last moments). A failure reports its seed;
streams and kills follow from it, their timing does not.
"""

import argparse
import collections
import multiprocessing
import pathlib
import random
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from crash_shapes import LARGE, SHAPES  # noqa: E402
from crash_victim import LONGEST, Victim  # noqa: E402

# Label, share of the rounds, appendfsync, clients, filters, options.
VICTIMS = (
    ("crowd", 0.3, "always", 3, SHAPES, {}),
    ("alone", 0.2, "always", 1, SHAPES, {}),
    ("large", 0.1, "always", 2, LARGE, {"save_interval": 1}),
    ("second", 0.3, "everysec", 3, SHAPES, {"save_interval": 1}),
    ("system", 0.1, "no", 2, SHAPES, {}),
)


def run(job):
    """Returns what was counted, and what went wrong."""
    label, rounds, seed, policy, threads, shapes, options = job
    number = 0
    try:
        with Victim(label, seed, policy, threads, shapes, **options) as victim:
            for number in range(rounds):
                victim.round(number)
            return label, {"rounds": rounds, **victim.figures}, None
    except Exception:
        return label, {"rounds": number}, f"{label}, round {number}, seed {seed}:\n{traceback.format_exc()}"


def main():
    parser = argparse.ArgumentParser(description="kill -9 at any moment, restart, compare with what was acknowledged")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--jobs", type=int, default=4, help="victims at a time; each waits more than it works")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, {arguments.rounds} rounds", flush=True)
    began = time.monotonic()
    jobs = [(label, max(1, round(arguments.rounds * share / 2)), arguments.seed + half, *victim)
            for label, share, *victim in VICTIMS for half in range(2)]
    failures, total = [], collections.Counter()
    with multiprocessing.Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for label, figures, failure in pool.imap_unordered(run, jobs, chunksize=1):
            print(f"{label}: {figures}", flush=True)
            longest = {name: max(total[name], figures.get(name, 0)) for name in LONGEST}
            total.update(figures)
            dict.update(total, longest)
            if failure:
                failures.append(failure)
                print(failure, flush=True)
    print(f"all: {dict(total)} in {time.monotonic() - began:.0f} s, seed {arguments.seed}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
