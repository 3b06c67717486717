"""Which branches of the sources the tests have taken, as gcov has counted them in a folder that was built for it.

  branch_coverage.py FOLDER...        the share of each folder; exit status 1 if one is below LEAST
  branch_coverage.py --gaps FOLDER    the lines of the folder with branches that were not taken

A branch is a way on from a condition that the source has. What the compiler adds does not count: the second way on from
a call, for exceptions, and the loops that destroy arrays and compare members. Nor does what an assertion denies.
"""
import collections
import concurrent.futures
import json
import linecache
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/coverage"
LEAST = 90  # percent
BATCH = 16  # of objects, for a run of gcov
CONDITION = re.compile(r"\b(?:if|for|while|switch|case)\b|&&|\|\||\?")
ASSERTION = re.compile(r"\bassert\(")


def has_condition(path, line):
    source = linecache.getline(str(ROOT / path), line).partition("//")[0]
    return CONDITION.search(source) is not None and ASSERTION.search(source) is None


def decisions(branches):
    """The counts of the ways on from conditions: a call has two ways, one after the other, of which one throws."""
    counts, i = [], 0
    while i < len(branches):
        is_call = i + 1 < len(branches) and branches[i]["throw"] != branches[i + 1]["throw"]
        if is_call:
            i += 2
            continue
        if not branches[i]["throw"]:
            counts.append(branches[i]["count"])
        i += 1
    return counts


def counted(objects):
    """(path, line) and the counts of its branches, as each object has them."""
    with tempfile.TemporaryDirectory() as scratch:
        told = subprocess.run(["gcov", "--branch-probabilities", "--stdout", "--json-format", *objects], cwd=scratch,
                              capture_output=True, check=True).stdout
    for report in map(json.loads, told.splitlines()):
        for file in report["files"]:
            path = os.path.relpath(os.path.join(report["current_working_directory"], file["file"]), ROOT)
            if not path.startswith(("..", "build/", "tests/")):
                yield from (((path, line["line_number"]), decisions(line["branches"])) for line in file["lines"]
                            if has_condition(path, line["line_number"]))


def instances_folded(lists):
    """One list of counts out of several: those of a line in each object, and in one of a template in each instance."""
    period = math.gcd(*map(len, lists))
    return [sum(sum(counts[i::period]) for counts in lists) for i in range(period)]


def all_branches():
    """The counts by (path, line). A branch of a header or a template is taken if it is in some object and instance."""
    objects = sorted(map(str, BUILD.rglob("*.gcda")))
    batches = [objects[i:i + BATCH] for i in range(0, len(objects), BATCH)]
    branches = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda batch: list(counted(batch)), batches):
            for place, counts in found:
                if counts:
                    branches[place].append(counts)
    return {place: instances_folded(lists) for place, lists in branches.items()}


def print_gaps(branches, folder):
    missing = collections.Counter()
    for (path, line), counts in sorted(branches.items()):
        untaken = counts.count(0)
        if untaken and path.startswith(folder + "/"):
            missing[path] += untaken
            source = linecache.getline(str(ROOT / path), line).strip()
            print(f"{path}:{line}: {untaken} of {len(counts)}: {source}")
    for path, untaken in missing.most_common():
        print(f"{untaken:5} {path}")


def main():
    folders = [argument.strip("/") for argument in sys.argv[1:] if argument != "--gaps"]
    branches = all_branches()
    if sys.argv[1:2] == ["--gaps"]:
        return print_gaps(branches, folders[0])
    too_few = False
    for folder in folders:
        counts = [count for (path, _), each in branches.items() if path.startswith(folder + "/") for count in each]
        taken = sum(count > 0 for count in counts)
        percent = 100 * taken / len(counts)
        print(f"{folder}: {percent:.1f}% of {len(counts)} branches")
        too_few |= percent < LEAST
    sys.exit(1 if too_few else 0)


if __name__ == "__main__":
    main()
