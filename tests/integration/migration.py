"""bitsieve migrate, as tests run it."""

import json
import signal
import subprocess

from harness import ENVIRONMENT, PATIENCE, Server, wait_until

SECONDS = 60 * PATIENCE


def url(server):
    return f"redis://127.0.0.1:{server.port}"


def migrate(*words, **variables):
    command = [Server.find_program(), "migrate", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False,
                          env={**ENVIRONMENT, **variables})


def moved(test, *words, **variables):
    """The report of a migration that moves all."""
    done = migrate(*words, "--json", **variables)
    test.assertEqual(done.returncode, 0, done.stderr + done.stdout)
    return json.loads(done.stdout)


def dry_run(test, *words, status=0, **variables):
    """The report of a migration that is only looked at."""
    done = migrate(*words, "--dry-run", "--json", **variables)
    test.assertEqual(done.returncode, status, done.stderr + done.stdout)
    return json.loads(done.stdout)


def check_sizes(test, report, client):
    """That the report says what the new server's filters take, now that they are there."""
    test.assertEqual(sum(each["memory_after"] for each in report["filters"]), report["all"]["memory_after"])
    for each in report["filters"]:
        with test.subTest(each["filter"]):
            usage = client.memory_usage(each["filter"])
            if each["is_estimate"]:
                test.assertAlmostEqual(each["memory_after"], usage, delta=0.03 * usage + 200)
            else:
                test.assertEqual(each["memory_after"], usage)


class Live:
    """One that continues until it is ended."""

    def __init__(self, *words):
        command = [Server.find_program(), "migrate", *map(str, words), "--live", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=ENVIRONMENT)

    def clean_up(self):
        self.process.kill()
        self.process.communicate()

    def wait_for(self, changes):
        """Until the new server has so many changes and there are no more."""
        def done():
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError("it ended: " + self.process.stdout.read())
            shown = json.loads(line) if line.startswith("{") else {"live_changes": -1}
            return shown["live_changes"] >= changes and not shown["behind_bytes"]
        wait_until(done, SECONDS, f"{changes} changes are made")

    def end(self, test, status=0):
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=SECONDS)
        test.assertEqual(self.process.returncode, status, err + out)
        return json.loads(out)
