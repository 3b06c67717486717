"""Templates of the configuration file: which filters they make, and what is said of those that cannot work."""

import json
import os
import subprocess
import tempfile

from filter_types import type_names
from harness import ENVIRONMENT, OwnServerTest, binary, main


class Templates(OwnServerTest):
    def write(self, content):
        handle, path = tempfile.mkstemp(prefix="bitsieve-test-", suffix=".json")
        self.addCleanup(os.unlink, path)
        with open(handle, "w") as file:
            json.dump(content, file)
        return path

    def serve(self, *arguments):
        """Of a server that does not start, or only prints."""
        environment = dict(ENVIRONMENT)
        return subprocess.run([binary(), "serve", *arguments], capture_output=True, text=True, timeout=60,
                              env=environment)

    def info(self, server, key, field):
        return server.connect().command("BF.INFO", key, field).split(b"\r\n")[-2].lstrip(b":").decode()

    def test_filters_are_made_by_the_first_that_fits(self):
        path = self.write({"default-capacity": 55, "templates": [
            {"pattern": "seen:*", "type": "window", "window": "24h", "capacity": 1000},
            {"pattern": "login:*", "type": "classic", "hash": "sip", "error-rate": 0.001},
            {"pattern": "login:?", "capacity": 1},
            {"pattern": "user:[0-9]*", "type": "fingerprint", "error-rate": 1e-06, "capacity": 5000, "expansion": 4},
        ]})
        server = self.make_server(config=path).start()
        client = server.client()
        client.bf().add("seen:a", "x")
        client.bf().madd("login:a", "x", "y")
        client.bf().insert("user:1", ["x"])
        client.bf().add("user:x", "x")
        self.assertEqual(self.info(server, "seen:a", "WINDOW"), "1d")
        self.assertEqual(self.info(server, "login:a", "HASH"), "sip")
        self.assertEqual(self.info(server, "login:a", "TYPE"), "classic")
        self.assertEqual(self.info(server, "login:a", "CAPACITY"), "55")
        self.assertEqual(self.info(server, "user:1", "TYPE"), "fingerprint")
        self.assertEqual(self.info(server, "user:1", "EXPANSION"), "4")
        self.assertEqual(self.info(server, "user:1", "CAPACITY"), "5000")
        self.assertEqual(self.info(server, "user:x", "TYPE"), "blocked")
        client.execute_command("BF.INSERT", "user:2", "CAPACITY", 7, "TYPE", "classic", "ITEMS", "x")
        self.assertEqual(self.info(server, "user:2", "TYPE"), "classic")
        self.assertEqual(self.info(server, "user:2", "CAPACITY"), "7")
        self.assertEqual(self.info(server, "user:2", "ERROR"), "1e-06")
        client.execute_command("BF.RESERVE", "login:b", 0.01, 10)
        self.assertEqual(self.info(server, "login:b", "TYPE"), "blocked")

    def test_what_cannot_work_is_told_at_start_with_its_place(self):
        path = self.write({"templates": [
            {"pattern": "ok:*", "capacity": 5},
            {"pattern": "a:*", "capacity": "many", "sort": "classic"},
            {"pattern": "b:*", "type": "counting", "hash": "sip"},
        ]})
        for arguments in (["--config", path], ["--config", path, "--print-config"]):
            ran = self.serve(*arguments)
            self.assertEqual(ran.returncode, 2)
            for problem in ("[1], capacity 'many': capacity must be in the range [1, 1073741824]\n",
                            "[1], sort: unknown field",
                            f"[2]: HASH is for TYPE {' or '.join(type_names(any_hash=True))} only\n"):
                self.assertIn(f"{path}: templates{problem}", ran.stderr)
            self.assertNotIn("templates[0]", ran.stderr)
        path = self.write({"templates": [{"capacity": 5}]})
        ran = self.serve("--config", path)
        self.assertEqual(ran.returncode, 2)
        self.assertIn(f"{path}:1: templates[0] has no pattern", ran.stderr)

    def test_the_printed_configuration_has_them(self):
        templates = [{"pattern": "a:*", "type": "classic", "error-rate": 0.001, "capacity": 7, "hash": "sip"}]
        ran = self.serve("--config", self.write({"templates": templates}), "--print-config")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(json.loads(ran.stdout)["templates"], templates)
        again = self.serve("--config", self.write(json.loads(ran.stdout)), "--print-config")
        self.assertEqual(again.stdout, ran.stdout)


if __name__ == "__main__":
    main()
