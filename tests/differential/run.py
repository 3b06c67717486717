#!/usr/bin/python3
"""Compares servers under random command streams: Bitsieve's server, bitsieve.so in engines, and any at a URL.

  run.py [--seed S] [--commands N] [--minutes M] [--server BINARY] [--module SO --engine ENGINE]... [--reference URL]

Servers of Bitsieve are started and end with the run. Reference servers must be empty, since they are emptied again.
What may differ is in docs/compatibility.md. Any other difference is reduced to the fewest commands that show it, which
are printed and written into --bundle, and the exit status is 1. The last line is the figures of the run, as JSON.
"""

import argparse
import json
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from comparison import ENDED, Comparison  # noqa: E402
from dialects import dialect_of  # noqa: E402
from differences import known_differences  # noqa: E402
from reduction import reduced  # noqa: E402
from subjects import as_lines, connect, start_module, start_server  # noqa: E402

EPISODE = 1500  # commands, between which all servers are emptied


class Run:
    def __init__(self, subjects, dialect, seed):
        self.subjects, self.dialect, self.seed = subjects, dialect, seed
        self.comparison = Comparison(subjects, known_differences(), seeded_default=dialect.seeded_default)
        self.streams = dialect.streams(subjects)
        self.expected = dialect.words(subjects)

    def episode(self, number):
        """One stream, from empty servers on. Returns its steps and the difference that ended it, if there was one."""
        stream = self.streams[number % len(self.streams)](f"{self.seed}:{number}")
        self.comparison.clear()
        steps, sent = [], 0
        while sent < EPISODE:
            steps.append(stream.next())
            sent += len(steps[-1].commands)
            replies, found = self.comparison.run(steps[-1])
            if found is not None:
                return steps, found
            stream.observe(steps[-1], replies)
        return steps, None

    def figures(self):
        return {"commands": self.comparison.commands, "pipelines": self.comparison.batches,
                "differences_excused": dict(self.comparison.excused.most_common()),
                "not_compared": self.comparison.uncompared,
                "never_generated": sorted(self.expected - set(self.comparison.sent)),
                "seed": self.seed, "dialect": self.dialect.name,
                "subjects": [f"{subject.name} ({subject.version})" for subject in self.subjects]}


def report(run, number, steps, case, bundle):
    """Prints the shortest script that shows the difference, and writes it where the bundle is to be."""
    count = sum(len(step.commands) for step in steps)
    lines = [f"episode {number} of seed {run.seed}: an unknown difference after {count} commands", *case.lines(), ""]
    if case.replies == (ENDED,):
        lines += [case.subjects[0].why_it_ended(), ""]
    fewest, shown = reduced(run.comparison, steps, case)
    if shown is None:
        lines.append("A replay did not show it again: it may depend on timing. All commands of the episode:")
    else:
        lines.append("The fewest commands that show it, for redis-cli, from empty servers on:")
    script = [line if step.version == 2 else f"{line}  # RESP3" for step in fewest for line in as_lines(step.commands)]
    lines += script if shown or bundle else script[-50:]
    lines += ["", *(shown or case).lines()]
    print("\n".join(lines), flush=True)
    if bundle:
        folder = pathlib.Path(bundle)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"difference-{run.seed}-{number}.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"written to {path}", flush=True)


def compare(run, commands, minutes, bundle):
    """Whether all was the same. Ends after this many commands, or after the minutes if they are given."""
    end = time.monotonic() + 60 * minutes if minutes else None
    number = 0
    while time.monotonic() < end if end else run.comparison.commands < commands:
        steps, case = run.episode(number)
        if case is not None:
            report(run, number, steps, case, bundle)
            return False
        number += 1
    return True


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(1 << 32)))
    parser.add_argument("--commands", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, help="in place of a number of commands")
    parser.add_argument("--reference", action="append", default=[], metavar="URL")
    parser.add_argument("--server", action="append", default=[], metavar="BINARY", type=os.path.abspath)
    parser.add_argument("--module", metavar="SO", type=os.path.abspath)
    parser.add_argument("--engine", action="append", default=[], metavar="ENGINE", type=os.path.abspath)
    parser.add_argument("--bundle", metavar="DIRECTORY", help="where the script of a difference is written")
    return parser.parse_args()


def main():
    given = arguments()
    if bool(given.engine) != bool(given.module):
        sys.exit("--module and --engine belong together")
    references = [connect(url) for url in given.reference]
    for reference in references:
        if reference.ask("DBSIZE"):
            sys.exit(f"{reference.name} is not empty, and everything in it would be deleted")
    dialect = dialect_of(references)
    subjects = list(references)
    try:
        subjects += [start_server(binary, dialect.default_type) for binary in given.server]
        subjects += [start_module(engine, given.module, dialect.default_type) for engine in given.engine]
        if len(subjects) < 2:
            sys.exit("nothing to compare: give at least two of --server, --engine and --reference")
        run = Run(subjects, dialect, given.seed)
        same = compare(run, given.commands, given.minutes, given.bundle)
        print(json.dumps(run.figures()), flush=True)
    finally:
        for subject in subjects:
            subject.close()
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
