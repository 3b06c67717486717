"""One run of a program with a seed, what it printed, and the bundle that repeats it if it failed.

Commands and environments name paths by {root}, the tree, and {folder}, where the program may leave files; so a bundle
works in another clone, too.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DESCRIPTION = "bundle.json"
LOG = "log.txt"
FILES = "files"
KEPT_TEMPORARY_BYTES = 64 << 20  # of what a failed program left behind


@dataclasses.dataclass(frozen=True)
class Batch:
    part: str
    label: str
    seed: int
    command: tuple
    patience_seconds: float  # after which it counts as hung
    environment: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Result:
    status: str  # "" if it succeeded
    seconds: float
    output: str


def filled(text, folder):
    return str(text).replace("{root}", str(ROOT)).replace("{folder}", str(folder))


def end_group(process):
    """Ends what the program started as well."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def verdict(process, seconds):
    """Why the program failed; empty if it did not."""
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return f"it did not end within {seconds:.0f} s"
    if code == 0:
        return ""
    return f"exit status {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"


def run(batch, work):
    """Runs the batch; in the folder `work` are its log and its files afterwards."""
    files = work / FILES
    files.mkdir(parents=True, exist_ok=True)
    command = [filled(word, files) for word in batch.command]
    own = {name: filled(value, files) for name, value in batch.environment.items()}
    # Paths of Unix sockets must be short, so this is not in the output folder.
    temporary = pathlib.Path(tempfile.mkdtemp(prefix="soak-"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BITSIEVE_", "TEST_"))}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(temporary), **own}
    begin = time.monotonic()
    with open(work / LOG, "wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=log, start_new_session=True)
        try:
            status = verdict(process, batch.patience_seconds)
        finally:
            end_group(process)
            keep_temporary(temporary, files)
    output = (work / LOG).read_text(encoding="utf-8", errors="replace")
    return Result(status, time.monotonic() - begin, output)


def keep_temporary(temporary, files):
    """Programs remove what they no longer need: what is left belongs to a failure."""
    left = [path for path in temporary.rglob("*") if path.is_file() and not path.is_symlink()]
    if left and sum(path.stat().st_size for path in left) <= KEPT_TEMPORARY_BYTES:
        for path in left:
            target = files / "temporary" / path.relative_to(temporary)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    shutil.rmtree(temporary, ignore_errors=True)


def write_bundle(batch, replay, result, versions, work, bundle):
    """Moves the work folder of a failed batch to `bundle`, with all that repeats it. `replay` is its command."""
    bundle.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(work, bundle)
    description = {**dataclasses.asdict(batch), "command": list(replay), "first_command": list(batch.command),
                   "status": result.status, "versions": versions}
    (bundle / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")


def replay(bundle, environment):
    """Runs a bundle again, on a copy of its files. Returns the result."""
    description = json.loads((bundle / DESCRIPTION).read_text(encoding="utf-8"))
    names = {field.name for field in dataclasses.fields(Batch)}
    batch = Batch(**{name: value for name, value in description.items() if name in names})
    batch.environment.update(environment)
    print(f"{batch.part} with seed {batch.seed}, which failed ({description['status']}) with "
          f"{description['versions'].get('Bitsieve', 'an unknown version')}", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-replay-") as folder:
        work = pathlib.Path(folder) / "work"
        shutil.copytree(bundle / FILES, work / FILES)
        return run(batch, work)
