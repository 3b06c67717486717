"""Node and npm's packages for tests: the clients `redis` and `ioredis`, and playwright-core, which drives Chromium.

Where there is no Node, or npm's registry cannot be reached, tests that need them are skipped and say why. Run as a
program, it installs the packages and prints why it could not; scripts/test shows that, and gives it to the tests by
NO_NODE_PACKAGES, so that they do not try again.
"""

import fcntl
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from harness import PATIENCE

NODE = pathlib.Path(__file__).parent / "node"
LOCK = NODE / "package-lock.json"
INSTALLED = NODE / "node_modules" / ".package-lock.json"  # npm writes it last
OLDEST_NODE = 18  # Debian 12 has it
INSTALL_SECONDS = 300


class Unavailable(Exception):
    """Says what is missing."""


def require_node():
    if shutil.which("node") is None:
        raise Unavailable("Node is not installed: apt-get install nodejs")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    if int(re.match(r"v(\d+)", version)[1]) < OLDEST_NODE:
        raise Unavailable(f"Node {version.strip()} is too old: the oldest that works is {OLDEST_NODE}")


def require_packages():
    """npm ci, unless what is installed is as new as the lock file. Test runs side by side wait for each other."""
    if reason := os.environ.get("NO_NODE_PACKAGES"):
        raise Unavailable(reason)
    require_node()
    with open(NODE / "package.json", "rb") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if INSTALLED.exists() and INSTALLED.stat().st_mtime >= LOCK.stat().st_mtime:
            return
        if shutil.which("npm") is None:
            raise Unavailable("npm is not installed: apt-get install npm")
        command = ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", "--fetch-retries=1",
                   "--fetch-timeout=60000"]
        try:
            done = subprocess.run(command, cwd=NODE, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"npm ci took longer than {INSTALL_SECONDS} s") from None
        if done.returncode != 0:
            raise Unavailable(f"npm ci failed: {first_error(done.stderr)}")


def first_error(text):
    """Of npm's output, the line that says most."""
    lines = [line.split(maxsplit=2)[-1] for line in text.splitlines() if re.match(r"npm (ERR!|error) ", line)]
    told = [line for line in lines if "request to" in line or "network" in line]
    return (told or lines or ["it gave no reason"])[0].removeprefix("FetchError: ")


def skip_without(require):
    """Skips what runs it, if one of the two above finds something missing."""
    try:
        require()
    except Unavailable as reason:
        raise unittest.SkipTest(str(reason)) from None


def needs(require):
    """Skips the test below it, if one of the two above finds something missing."""
    def around(test):
        @functools.wraps(test)
        def run(*arguments):
            skip_without(require)
            return test(*arguments)
        return run
    return around


def run_node(case, name, **variables):
    """Runs a script of tests in node/ against the server of the test case."""
    environment = {**os.environ, "PORT": str(case.server.port), **variables}
    done = subprocess.run(["node", "--test-reporter=tap", name], cwd=NODE, env=environment, capture_output=True,
                          text=True, timeout=120 * PATIENCE)
    case.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    case.assertRegex(done.stdout, r"# pass [1-9]")
    case.assertIn("# fail 0", done.stdout)
    return done.stdout


def main():
    try:
        require_packages()
    except Unavailable as reason:
        sys.exit(str(reason))


if __name__ == "__main__":
    main()
