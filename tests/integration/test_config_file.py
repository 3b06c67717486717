"""The configuration file of a running server: read again by SIGHUP, written by CONFIG REWRITE, and checked alone."""

import json
import os
import pathlib
import signal
import stat
import subprocess

import redis
from harness import ENVIRONMENT, REPLY_SECONDS, OwnServerTest, binary, main, wait_until

FILE = """{
  // why there are so few
  "maxclients": 200, /* and so on */
  "timeout": 0
}
"""


class ConfigFile(OwnServerTest):
    def started(self, text=FILE, **options):
        server = self.make_server(**options)
        self.path = pathlib.Path(server.home, "bitsieve.json")
        self.path.write_text(text)
        server.options["config"] = str(self.path)
        return server.start()

    def reload(self, server, expected):
        """Sends SIGHUP and waits for a line of the log."""
        before = server.log().count(expected)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.log().count(expected) > before, REPLY_SECONDS, expected)

    def check(self, *arguments):
        environment = dict(ENVIRONMENT)
        return subprocess.run([binary(), "check-config", *arguments], capture_output=True, text=True, timeout=60,
                              check=False, env=environment)


class Reload(ConfigFile):
    def test_what_changed_in_the_file_is_applied_and_logged(self):
        server = self.started()
        client = server.client()
        client.config_set("maxmemory-clients", "50mb")
        self.path.write_text(FILE.replace("200", "150").replace('"timeout": 0', '"timeout": 7'))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "maxclients is now 150, it was 200" in server.log(), REPLY_SECONDS, "maxclients")
        wait_until(lambda: "timeout is now 7, it was 0" in server.log(), REPLY_SECONDS, "timeout")
        self.assertEqual(client.config_get("maxclients"), {"maxclients": "150"})
        self.assertEqual(client.config_get("timeout"), {"timeout": "7"})
        self.assertEqual(client.config_get("maxmemory-clients"), {"maxmemory-clients": "50mb"}, "stays as it was set")
        self.assert_stops_well(server)

    def test_what_is_read_at_the_start_alone_is_named(self):
        server = self.started()
        self.path.write_text(FILE.replace('"timeout": 0', '"io-threads": 3'))
        self.reload(server, "io-threads stays 0 until the server is restarted, and will then be 3")
        self.reload(server, "io-threads stays 0")
        self.assert_stops_well(server)

    def test_a_flag_wins_over_the_file(self):
        server = self.started(timeout=9)
        self.path.write_text(FILE.replace('"timeout": 0', '"timeout": 5').replace("200", "100"))
        self.reload(server, "maxclients is now 100")
        self.assertEqual(server.client().config_get("timeout"), {"timeout": "9"})
        self.assert_stops_well(server)

    def test_an_invalid_file_changes_nothing(self):
        server = self.started()
        self.path.write_text('{\n"maxclients": 100,\n"timeout": -1,\n"prot": 1}')
        self.reload(server, "not reloaded, all values are unchanged")
        self.assertIn(f"{self.path}:3: timeout must be", server.log())
        self.assertIn(f"{self.path}:4: unknown option \"prot\"", server.log())
        self.assertEqual(server.client().config_get("maxclients"), {"maxclients": "200"})
        # Valid one by one, and not together.
        self.path.write_text('{"maxclients": 100, "cf-initial-size": 100}')
        server.client().config_set("cf-bucket-size", "255", "cf-initial-size", "1000")
        self.reload(server, "cf-initial-size must be at least twice cf-bucket-size")
        self.assertEqual(server.client().config_get("maxclients"), {"maxclients": "200"})
        self.path.unlink()
        self.reload(server, "cannot be read: No such file or directory")
        self.assert_stops_well(server)

    def test_what_was_set_at_run_time_stays_until_the_file_changes_it(self):
        server = self.started()
        client = server.client()
        client.config_set("maxclients", "123")
        self.reload(server, "Received SIGHUP")
        self.assertEqual(client.config_get("maxclients"), {"maxclients": "123"})
        self.path.write_text(FILE.replace("200", "100"))
        self.reload(server, "maxclients is now 100, it was 123")
        self.assert_stops_well(server)

    def test_templates_are_replaced(self):
        def with_capacity(capacity):
            return json.dumps({"templates": [{"pattern": "t:*", "capacity": capacity}]})
        server = self.started(with_capacity(1000))
        client = server.client()
        client.bf().add("t:1", "x")
        self.path.write_text(with_capacity(5000))
        self.reload(server, "the templates were replaced")
        client.bf().add("t:2", "x")
        self.assertEqual([client.bf().info(name).capacity for name in ("t:1", "t:2")], [1000, 5000])
        self.path.write_text(json.dumps({"templates": [{"pattern": "t:*", "capacity": -1}]}))
        self.reload(server, "templates[0]")
        client.bf().add("t:3", "x")
        self.assertEqual(client.bf().info("t:3").capacity, 5000)
        self.assert_stops_well(server)


class Rewrite(ConfigFile):
    def test_values_change_where_they_are(self):
        server = self.started()
        self.path.chmod(0o640)
        client = server.client()
        client.config_set("maxclients", "199", "maxmemory", "1gb")
        self.assertTrue(client.config_rewrite())
        self.assertEqual(self.path.read_text(), FILE.replace("200", "199").replace(
            '"timeout": 0\n', '"timeout": 0,\n  "maxmemory": "1gb"\n'))
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o640)
        self.assertEqual(os.listdir(self.path.parent).count(self.path.name + ".tmp"), 0)
        server.restart()
        self.assertEqual(server.client().config_get("max*")["maxmemory"], str(1 << 30))
        # Back to what it was before, which the file does not give any more.
        server.client().config_set("maxclients", "200")
        server.client().config_rewrite()
        self.assertIn('"maxclients": 200, /* and so on */', self.path.read_text())
        self.assert_stops_well(server)

    def test_only_what_was_set_at_run_time_is_written(self):
        server = self.started(maxmemory="20mb", timeout=9)
        client = server.client()
        edited = FILE.replace('"timeout": 0', '"tcp-keepalive": 77')
        self.path.write_text(edited)
        self.assertTrue(client.config_rewrite())
        self.assertEqual(self.path.read_text(), edited)
        client.config_set("timeout", "11")
        self.assertTrue(client.config_rewrite())
        self.assertEqual(self.path.read_text(), edited.replace("77\n", '77,\n  "timeout": 11\n'))
        wait_until(lambda: "timeout will be 9 at the next start despite the file, because of --timeout" in server.log(),
                   REPLY_SECONDS, "a warning")
        self.assert_stops_well(server)

    def test_a_link_to_the_file_stays(self):
        server = self.make_server()
        target = pathlib.Path(server.home, "real.json")
        target.write_text(FILE)
        link = pathlib.Path(server.home, "link.json")
        link.symlink_to(target)
        server.options["config"] = str(link)
        server.start()
        server.client().config_set("timeout", "3")
        self.assertTrue(server.client().config_rewrite())
        self.assertTrue(link.is_symlink())
        self.assertIn('"timeout": 3', target.read_text())
        self.assert_stops_well(server)

    def test_errors_are_named(self):
        server = self.make_server().start()
        with self.assertRaisesRegex(redis.ResponseError, "^The server is running without a config file$"):
            server.client().config_rewrite()
        self.assert_stops_well(server)
        server = self.started()
        server.client().config_set("timeout", "3")
        broken = FILE.replace("timeout", "timeuot")
        self.path.write_text(broken)
        with self.assertRaisesRegex(redis.ResponseError, "Rewriting config file: .*line 4: unknown option"):
            server.client().config_rewrite()
        self.assertEqual(self.path.read_text(), broken)
        self.path.unlink()
        with self.assertRaisesRegex(redis.ResponseError, "Rewriting config file: .*No such file"):
            server.client().config_rewrite()
        self.assert_stops_well(server)


class CheckConfig(ConfigFile):
    def file(self, text):
        server = self.make_server()
        path = pathlib.Path(server.home, "c.json")
        path.write_text(text)
        return path

    def test_a_good_one(self):
        path = self.file(FILE)
        done = self.check(str(path), "--port", "7000", "--dir", str(path.parent / "new"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[0], "OK")
        self.assertIn("port: 7000, from --port", done.stdout)
        self.assertIn(f"maxclients: 200, from {path}", done.stdout)
        self.assertNotIn("timeout", done.stdout)
        self.assertFalse((path.parent / "new").exists())

    def test_every_problem_has_its_place(self):
        path = self.file('{\n  "port": 70000,\n  "templates": [\n    {"capacity": 5}],\n  "timeout": []\n}')
        done = self.check(str(path), "--loglevel", "loud")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        for line in (f"{path}:2: port must be", f"{path}:3: templates[0] has no pattern", f"{path}:5: timeout must be",
                     "--loglevel: loglevel must be one of"):
            self.assertIn("bitsieve check-config: " + line, done.stderr)
        self.assertEqual(self.check(str(path) + ".none").returncode, 1)
        self.assertEqual(self.check(str(path), "--prot", "1").returncode, 2)

    def test_what_a_start_would_fail_on(self):
        path = self.file("{}")
        done = self.check(str(path), "--dir", str(path), "--logfile", str(path.parent / "no" / "log"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"dir: {path} is not a directory", done.stderr)
        self.assertIn("logfile: ", self.check(str(path), "--logfile", str(path / "log")).stderr)


if __name__ == "__main__":
    main()
