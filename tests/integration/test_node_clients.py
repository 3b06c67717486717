"""npm's `redis` and `ioredis`, with their defaults and in both protocol versions; the tests are in node/*.js."""

import fcntl
import os
import pathlib
import shutil
import subprocess

from harness import PATIENCE, ServerTest, main

NODE = pathlib.Path(__file__).parent / "node"
LOCK = NODE / "package-lock.json"
INSTALLED = NODE / "node_modules" / ".package-lock.json"  # npm writes it last


def install_clients():
    """npm ci, unless what is installed is as new as the lock file. Test runs side by side wait for each other."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise AssertionError(f"{tool} is not installed: apt-get install nodejs npm")
    with open(NODE / "package.json", "rb") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if INSTALLED.exists() and INSTALLED.stat().st_mtime >= LOCK.stat().st_mtime:
            return
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=NODE, capture_output=True, text=True,
                              timeout=300)
        if done.returncode != 0:
            raise AssertionError(f"npm ci failed in {NODE}:\n{done.stdout}{done.stderr}")


setUpModule = install_clients


def run_node(case, name, **variables):
    """Runs a script of tests against the server of the test case."""
    environment = {**os.environ, "PORT": str(case.server.port), **variables}
    done = subprocess.run(["node", "--test-reporter=tap", name], cwd=NODE, env=environment, capture_output=True,
                          text=True, timeout=120 * PATIENCE)
    case.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    case.assertRegex(done.stdout, r"# pass [1-9]")
    case.assertIn("# fail 0", done.stdout)


class NodeClients(ServerTest):
    def test_redis(self):
        run_node(self, "node_redis_test.js")

    def test_ioredis(self):
        run_node(self, "ioredis_test.js")


if __name__ == "__main__":
    main()
