"""Runs the parts of a soak in turns, and keeps the record of what was done."""

import collections
import dataclasses
import hashlib
import pathlib
import shutil
import signal
import time

import batch
import page
from parts import LEAST_SECONDS, all_parts
from versions import versions

ROUND_HOURS = 1  # in which each part has one turn
MAX_FAILURES = 3  # of one turn, which ends then


@dataclasses.dataclass(frozen=True)
class Settings:
    hours: float
    seed: int
    output: pathlib.Path
    reference: str = ""
    only: tuple = ()
    server_path: str = ""  # instead of the one in build/release

    def server(self):
        """What programs need to know about the server, as their environment."""
        return {"BITSIEVE_BINARY": self.server_path or "{root}/build/release/bitsieve"}


def derived_seed(*words):
    return int.from_bytes(hashlib.sha256("/".join(map(str, words)).encode()).digest()[:4], "big")


def interrupt(*_):
    raise KeyboardInterrupt


class Soak:
    def __init__(self, settings):
        self.settings = settings
        self.parts = [part for part in all_parts(settings) if not settings.only or part.name in settings.only]
        self.began = time.monotonic()
        self.record = {
            "seed": settings.seed, "hours": settings.hours, "seconds": 0, "finished": False, "interrupted": False,
            "began": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()), "failures": [],
            "versions": versions(batch.filled(settings.server()["BITSIEVE_BINARY"], "")),
            "parts": {part.name: {"title": part.title, "skipped": part.missing(), "runs": 0, "failures": 0,
                                  "seconds": 0, "figures": collections.Counter(), "seeds": [], "trends": []}
                      for part in self.parts}}

    def run(self):
        """Returns the exit status. An interruption ends the run in order."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, interrupt)
        for name, part in self.record["parts"].items():
            if part["skipped"]:
                self.say(f"{name} is skipped: {part['skipped']}")
        try:
            self.take_turns()
            self.record["finished"] = True
        except KeyboardInterrupt:
            self.record["interrupted"] = True
        shutil.rmtree(self.settings.output / "work", ignore_errors=True)
        self.write()
        self.say(f"the page is {self.settings.output / 'soak.md'}")
        return 1 if self.record["failures"] else 0

    def take_turns(self):
        parts = [part for part in self.parts if not part.missing()]
        rounds = max(1, round(self.settings.hours / ROUND_HOURS))
        for number in range(rounds):
            end = self.began + 3600 * self.settings.hours * (number + 1) / rounds
            for position, part in enumerate(parts):
                share = part.weight / sum(other.weight for other in parts[position:])
                self.turn(part, number, time.monotonic() + share * max(0, end - time.monotonic()))

    def turn(self, part, number, deadline):
        """At least one run, and others as long as there is time and not too many fail."""
        runs = failures = 0
        while runs == 0 or (deadline - time.monotonic() > LEAST_SECONDS and failures < MAX_FAILURES):
            seed = derived_seed(self.settings.seed, part.name, number, runs)
            failures += bool(self.one(part, part.batch(seed, deadline - time.monotonic())))
            runs += 1

    def one(self, part, this):
        """Returns why the run failed; empty if it did not."""
        self.say(f"{this.label}, seed {this.seed}")
        work = self.settings.output / "work"
        shutil.rmtree(work, ignore_errors=True)
        result = batch.run(this, work)
        figures = part.figures(this, result)
        counted = self.record["parts"][part.name]
        counted["runs"] += 1
        counted["seconds"] += result.seconds
        counted["seeds"].append(this.seed)
        counted["figures"].update({name: value for name, value in figures.items()
                                   if isinstance(value, (int, float)) and name not in ("seconds", "seed")})
        if figures.get("trends"):
            counted["trends"].append({"seed": this.seed, "rows": figures["trends"]})
        if result.status:
            counted["failures"] += 1
            self.fail(part, this, result, work)
        self.write()
        return result.status

    def fail(self, part, this, result, work):
        name = f"{len(self.record['failures']) + 1:03}-{part.name}-{this.seed}"
        bundle = self.settings.output / "bundles" / name
        replay = part.replay(this, work / batch.FILES)
        batch.write_bundle(this, replay, result, self.record["versions"], work, bundle)
        self.record["failures"].append({"part": part.name, "label": this.label, "seed": this.seed,
                                        "status": result.status, "bundle": str(bundle)})
        self.say(f"FAILED: {this.label}, seed {this.seed}: {result.status}\n{result.output[-2000:]}\n"
                 f"to repeat it: scripts/soak --replay {bundle}")

    def write(self):
        self.record["seconds"] = time.monotonic() - self.began
        page.write(self.record, self.settings.output)

    def say(self, text):
        print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", flush=True)
