"""The parts of a soak: each turns a seed and a time into runs of a program, and their output into figures."""

import ast
import collections
import json
import pathlib
import random
import re
import subprocess
import tarfile

from batch import ROOT, Batch

PYTHON = "/usr/bin/python3"
RELEASE = ROOT / "build" / "release"
FUZZERS = ROOT / "build" / "fuzz" / "tests" / "fuzz"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
ENGINES = {"redis": pathlib.Path("/usr/bin/redis-server"),
           "valkey": ROOT / "build" / "engines" / "usr" / "bin" / "valkey-server"}
MODULE = "{root}/build/release/bitsieve.so"
GRACE_SECONDS = 600  # beyond its time, until a program counts as hung
LEAST_SECONDS = 5  # of a run that ends by the clock
FUZZ_SECONDS = 120  # of one target in turn
MAX_INPUT_BYTES = 1 << 20
# Tests that drive the server or the module by the clients that users have.
CLIENT_SUITES = re.compile(
    r"integration\.(node_clients|library_clients|clients_page|redis_cli|cli_\w+|python_\w+|javascript_follower|tls|"
    r"unix_socket|access_as_redis|events|migrate\w*|(bloom_commands|cuckoo|dumps|filter_types|redis_cuckoo|"
    r"server_commands|transactions|follow\w*|module_\w+)(\.\w+)?)")
# Deadlines of the programs: the machine may be busy.
PATIENCE = {"BITSIEVE_TEST_PATIENCE": "3"}


def relative(path):
    """The path as bundles have it."""
    return str(path).replace(str(ROOT), "{root}")


def last_json(output):
    """The figures that a program prints as its last line; none if it broke off."""
    lines = output.strip().splitlines()
    try:
        figures = json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}
    return figures if isinstance(figures, dict) else {}


class Part:
    """`weight` is its share of the time. Figures that are numbers are added up over all runs of the part."""

    name = ""
    title = ""
    weight = 1

    def missing(self):
        """Why the part cannot run here; empty if it can."""
        return ""

    def batch(self, seed, seconds):
        """The next run, when `seconds` of the part's time are left."""
        raise NotImplementedError

    def figures(self, batch, result):
        return last_json(result.output)

    def replay(self, batch, files):
        """The command that repeats a failure, from what the program left in `files`."""
        del files
        return batch.command

    def make(self, seed, command, patience_seconds=GRACE_SECONDS, label="", **environment):
        return Batch(self.name, label or self.name, seed, tuple(map(str, command)), patience_seconds,
                     {**PATIENCE, **environment})


class Simulation(Part):
    name, title, weight = "simulation", "whole server in simulated time", 3
    program = RELEASE / "tests" / "simulation" / "simulation"

    def missing(self):
        return "" if self.program.exists() else "build/release/tests/simulation/simulation is not built"

    def batch(self, seed, seconds):
        seconds = max(LEAST_SECONDS, int(seconds))
        return self.make(seed, [relative(self.program), "--seed", seed, "--seconds", seconds, "--bundle", "{folder}"],
                         seconds + GRACE_SECONDS)

    def figures(self, batch, result):
        found = last_json(result.output)
        names = ("seeds", "simulated_seconds", "crashes", "stops", "commands", "lookups", "without_memory",
                 "thread_switches")
        return {name: found[name] for name in names if name in found}

    def replay(self, batch, files):
        scripts = sorted(path.name for path in files.glob("*.script"))
        return (batch.command[0], "--script", "{folder}/" + scripts[0]) if scripts else batch.command


class Differential(Part):
    name, title, weight = "differential", "random commands compared with other servers", 3

    def __init__(self, settings):
        self.settings = settings

    def missing(self):
        return "" if (ROOT / "tests" / "differential" / "run.py").exists() else "there is no tests/differential/run.py"

    def batch(self, seed, seconds):
        minutes = max(LEAST_SECONDS, seconds) / 60
        command = [PYTHON, "tests/differential/run.py", "--seed", seed, "--minutes", f"{minutes:.3f}", "--bundle",
                   "{folder}", "--server", self.settings.server_path or "{root}/build/release/bitsieve"]
        engines = [relative(path) for path in ENGINES.values() if path.exists()]
        command += ["--module", MODULE, *(word for engine in engines for word in ("--engine", engine))]
        if self.settings.reference:
            command += ["--reference", self.settings.reference]
        return self.make(seed, command, minutes * 60 + GRACE_SECONDS)

    def figures(self, batch, result):
        found = last_json(result.output)
        return {"commands compared": found.get("commands", 0) - found.get("not_compared", 0),
                "known differences": sum(found.get("differences_excused", {}).values())}


class Crash(Part):
    """Rounds of a program of tests/stress, which prints a dictionary of what it counted."""

    def __init__(self, name, title, program, arguments, settings):
        self.name, self.title, self.program = name, title, program
        self.arguments, self.settings = arguments, settings

    def batch(self, seed, seconds):
        del seconds
        arguments = [str(word).replace("{shift}", str(1 + seed % 21)) for word in self.arguments]
        return self.make(seed, [PYTHON, f"tests/stress/{self.program}", *arguments, "--seed", seed],
                         **self.settings.server(),
                         BITSIEVE_FAULT_SERVER="{root}/build/release/tests/stress/fault_server",
                         TEST_FAILING_MEMORY="{root}/build/release/tests/stress/libfailing_memory.so")

    def figures(self, batch, result):
        """Those of the line of all, or else the sum of those of each line. Rounds end by a kill, unless by a fault."""
        found = collections.Counter()
        lines = result.output.splitlines()
        lines = [line for line in lines if line.startswith("all: ")] or lines
        for line in lines:
            if match := re.match(r"[\w-]+: (\{.*?\})", line):
                found.update({name: count for name, count in ast.literal_eval(match[1]).items()
                              if not name.startswith("longest")})
            elif match := re.match(r"(\d+) rounds, (\d+) commands; (\d+) lookups", line):
                found.update(dict(zip(("rounds", "commands", "lookups"), map(int, match.groups()))))
        if "refused" not in found and "faults" not in found:
            found["kills"] = found.pop("rounds", 0)
        return dict(found)


class Fuzz(Part):
    name, title, weight = "fuzz", "parsers of foreign bytes, by libFuzzer", 4

    def __init__(self, settings):
        self.settings = settings
        self.targets = sorted(path.stem for path in CORPUS.glob("*.tar") if (FUZZERS / f"{path.stem}_fuzz").exists())
        self.turn = 0

    def missing(self):
        return "" if self.targets else "build/fuzz has no fuzzers"

    def batch(self, seed, seconds):
        target = self.targets[self.turn % len(self.targets)]
        self.turn += 1
        seconds = int(max(LEAST_SECONDS, min(FUZZ_SECONDS, seconds)))
        found = self.settings.output / "corpus" / target
        found.mkdir(parents=True, exist_ok=True)
        return self.make(seed, ["{root}/build/fuzz/tests/fuzz/" + f"{target}_fuzz", f"-max_total_time={seconds}",
                                f"-seed={seed or 1}", f"-max_len={MAX_INPUT_BYTES}", "-print_final_stats=1",
                                "-artifact_prefix={folder}/", found, self.stored(target)],
                         seconds + GRACE_SECONDS, label=f"fuzz {target}")

    def stored(self, target):
        """The kept corpus of the target, unpacked."""
        folder = self.settings.output / "stored" / target
        if not folder.exists():
            folder.mkdir(parents=True)
            with tarfile.open(CORPUS / f"{target}.tar") as archive:
                for member in archive:
                    (folder / pathlib.Path(member.name).name).write_bytes(archive.extractfile(member).read())
        return folder

    def figures(self, batch, result):
        counted = dict(re.findall(r"stat::(\w+): +(\d+)", result.output))
        return {"inputs": int(counted.get("number_of_executed_units", 0)),
                "new inputs kept": int(counted.get("new_units_added", 0)), "seconds of fuzzing": result.seconds}

    def replay(self, batch, files):
        """The input that failed, without fuzzing."""
        inputs = [path.name for path in files.iterdir() if path.is_file()]
        return (batch.command[0], *("{folder}/" + name for name in inputs)) if inputs else batch.command


class Clients(Part):
    name, title, weight = "clients", "client suites", 2

    def __init__(self):
        self.names = []

    def missing(self):
        return "" if (RELEASE / "CTestTestfile.cmake").exists() else "build/release is not configured"

    def batch(self, seed, seconds):
        del seconds
        if not self.names:
            listed = subprocess.run(["ctest", "--test-dir", RELEASE, "-N"], capture_output=True, text=True, check=True)
            self.names = [name for name in re.findall(r"Test +#\d+: (\S+)", listed.stdout)
                          if CLIENT_SUITES.fullmatch(name)]
            random.Random(seed).shuffle(self.names)
        name = self.names.pop()
        return self.make(seed, ["ctest", "--test-dir", "{root}/build/release", "-R", f"^{re.escape(name)}$",
                                "--output-on-failure", "--no-tests=error"], label=f"client suite {name}")

    def figures(self, batch, result):
        ran = re.findall(r"Test +#\d+: .*?(Passed|Skipped)", result.output)
        return {"suites passed": ran.count("Passed"), "suites skipped": ran.count("Skipped")}


class Churn(Part):
    """The server, or the module in one of the engines."""

    def __init__(self, engine, weight, settings):
        self.engine, self.weight, self.settings = engine, weight, settings
        self.name = f"churn-{engine}" if engine else "churn"
        self.title = f"churn of filters in the module in {engine}" if engine else "churn of filters and clients"

    def missing(self):
        if self.engine and not ENGINES[self.engine].exists():
            return f"there is no {self.engine}-server"
        if self.engine and not (RELEASE / "bitsieve.so").exists():
            return "the module is not built"
        return ""

    def batch(self, seed, seconds):
        seconds = int(max(LEAST_SECONDS, seconds))
        environment = self.settings.server()
        if self.engine:
            environment |= {"BITSIEVE_ENGINE": relative(ENGINES[self.engine]), "BITSIEVE_MODULE": MODULE}
        return self.make(seed, [PYTHON, "tests/soak/churn.py", "--seed", seed, "--seconds", seconds, "--bundle",
                                "{folder}"], seconds + GRACE_SECONDS, **environment)


def all_parts(settings):
    """In the order of their turns."""
    return [
        Simulation(),
        Differential(settings),
        Churn("", 3, settings),
        Crash("crash", "kill -9, and restarts compared byte for byte", "crash_test.py",
              ["--rounds", 40, "--jobs", 2], settings),
        Crash("disk-faults", "disk calls that fail or are the last", "disk_fault_test.py",
              ["--every", 21, "--first", "{shift}", "--jobs", 2], settings),
        Crash("expiry-crash", "kill -9 while items expire", "expiry_crash_test.py", ["--rounds", 10], settings),
        Crash("memory-refusal", "memory that is refused under load", "memory_refusal_test.py",
              ["--cycles", 4, "--each", 997, "--ends", 9999, "--jobs", 2], settings),
        Fuzz(settings),
        Clients(),
        Churn("redis", 1.5, settings),
        Churn("valkey", 1.5, settings),
    ]
