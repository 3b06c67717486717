"""What changed in the cost of commands since another revision: `scripts/bench --compare REV`.

Both revisions are built in the same way and run at the same time, each with its own filters; the rows are those of
commands_bench.py. In a round every row runs once on each of the two, one right after the other, and the one that goes
first alternates. Of each round the ratio of their CPU times per operation counts, so that what the rest of the machine
does matters little. A row is reported as changed if the median ratio is beyond 3% with a probability of 95%: if the
interval that contains the median with that probability (by the sign test, without any assumption about the noise) lies
beyond 3% as a whole.
"""

import math
import statistics
import subprocess
import sys
from pathlib import Path

from bench_server import describe_machine, progress, start_bare_loop, start_bitsieve, start_redis
from commands_bench import Table

ROOT = Path(__file__).resolve().parents[2]
THRESHOLD, CONFIDENCE = 0.03, 0.95
ROUNDS = 15


def interval_of_median(figures):
    """The values between which the median is, with CONFIDENCE; the whole range if there are too few figures."""
    ordered, count = sorted(figures), len(figures)
    outside, low = 0.0, 0
    while low < (count - 1) // 2:
        outside += 2 * math.comb(count, low) / 2**count
        if outside > 1 - CONFIDENCE:
            break
        low += 1
    low = max(low - 1, 0)
    return ordered[low], ordered[count - 1 - low]


def build_revision(revision):
    """The server of a revision, built in a worktree of its own, which is kept for the next comparison."""
    found = subprocess.run(["git", "rev-parse", "--verify", "--quiet", revision + "^{commit}"], cwd=ROOT, text=True,
                           capture_output=True, check=False)
    if found.returncode != 0:
        sys.exit(f"bench: {revision} is no revision of this repository")
    commit = found.stdout.strip()
    folder = ROOT / "build" / "compare" / commit
    if not folder.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", str(folder), commit], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    progress(f"building {revision} ({commit[:8]}) in {folder}")
    subprocess.run([folder / "scripts" / "build", "server"], cwd=folder, check=True, stdout=sys.stderr)
    return folder / "build" / "release" / "bitsieve"


def change_text(ratios):
    low, high = interval_of_median(ratios)
    if low > 1 + THRESHOLD:
        return "SLOWER"
    return "faster" if high < 1 - THRESHOLD else ""


def report(pairs, ratios):
    print(f"\n{'workload':<21} {'-P':>3} {'before':>8} {'after':>8} {'ratio':>6}  95% interval   change")
    for (before, after), figures in zip(pairs, ratios):
        low, high = interval_of_median(figures)
        print(f"{after.label:<21} {after.pipeline:>3} {statistics.median(before.cpu):>8.1f} "
              f"{statistics.median(after.cpu):>8.1f} {statistics.median(figures):>6.3f}  {low:.3f} to {high:.3f}  "
              f"{change_text(figures)}".rstrip())
    print("\nbefore, after: server CPU nanoseconds per operation, per item for commands of many; ratio: after to "
          f"before, of\nthe same round. Changes beyond {THRESHOLD:.0%} with {CONFIDENCE:.0%} probability are named.")


def run(before_binary, after_binary, bare_loop, rounds, quick, only):
    operations = {1: 30_000, 16: 200_000, 64: 300_000} if quick else {1: 60_000, 16: 500_000, 64: 1_000_000}
    describe_machine()
    servers = []
    try:
        servers += [start_redis("--appendonly", "no"), start_bare_loop(bare_loop)]
        tables = []
        for binary in (before_binary, after_binary):
            servers.append(start_bitsieve(str(binary), "--appendonly", "no"))
            tables.append(Table(servers[-1], *servers[:2], False))
        # redis-server and the bare loop are the same for both.
        pairs = [(before, after) for before, after in zip(*(table.select(only) for table in tables))
                 if after.server.name == "bitsieve"]
        ratios = [[] for _ in pairs]
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}")
            for pair, figures in zip(pairs, ratios):
                for row in pair if number % 2 == 0 else reversed(pair):
                    row.run_round(operations[row.pipeline])
                figures.append(pair[1].cpu[-1] / pair[0].cpu[-1])
        report(pairs, ratios)
        return 1 if any(change_text(figures) == "SLOWER" for figures in ratios) else 0
    finally:
        for server in servers:
            server.stop()
