"""The Unix socket: clients, permissions, and what becomes of its file."""

import os
import socket
import stat
import subprocess

import redis
from harness import REPLY_SECONDS, OwnServerTest, binary, main


class UnixSocket(OwnServerTest):
    def server(self, **options):
        server = self.make_server(**options)
        self.path = os.path.join(server.home, "bitsieve.sock")
        server.options["unixsocket"] = self.path
        return server

    def client(self):
        client = redis.Redis(unix_socket_path=self.path, socket_timeout=REPLY_SECONDS)
        self.addCleanup(client.close)
        return client

    def ping(self, *arguments):
        return subprocess.run([binary(), "ping", *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env={"PATH": os.environ["PATH"]})

    def assert_does_not_start(self, server, message):
        server.spawn()
        self.assertEqual(server.wait(), 1)
        self.assertIn(message, server.log())

    def test_clients(self):
        server = self.server().start()
        self.assertEqual(server.cli("-s", self.path, "BF.ADD", "k", "a"), "1\n")
        client = self.client()
        self.assertEqual(client.bf().mexists("k", "a", "b"), [1, 0])
        with client.pipeline(transaction=False) as pipeline:
            for i in range(20_000):
                pipeline.echo(str(i))
            self.assertEqual(pipeline.execute(), [str(i).encode() for i in range(20_000)])
        self.assertEqual(len(client.echo("x" * (8 << 20))), 8 << 20)
        done = self.ping("-s", self.path)
        self.assertEqual((done.returncode, done.stdout), (0, "PONG\n"), done.stderr)
        self.assert_stops_well(server)
        self.assertFalse(os.path.exists(self.path))

    def test_client_list_shows_the_path(self):
        server = self.server().start()
        client = self.client()
        client.ping()
        entry = next(each for each in client.client_list() if each["addr"] == self.path + ":0")
        self.assertEqual((entry["laddr"], entry["flags"]), (self.path + ":0", "U"))
        self.assertIn("flags=N", server.cli("CLIENT", "INFO"))

    def test_permissions(self):
        server = self.server(unixsocketperm="700").start()
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o700)
        self.assert_stops_well(server)
        for wrong in ("8", "0777", "rwx", "-1"):
            server.options["unixsocketperm"] = wrong
            server.spawn()
            self.assertEqual(server.wait(), 2)
            self.assertIn("unixsocketperm must be octal digits from 0 to 777", server.log())

    def test_the_only_way_in(self):
        server = self.server(port="off")
        server._announced_port = lambda: "Ready after" in server.log()  # pylint: disable=protected-access
        server._answers_ping = lambda: self.ping("-s", self.path).returncode == 0  # pylint: disable=protected-access
        server.start()
        self.assertEqual(self.client().info("server")["tcp_port"], 0)
        self.assertEqual(self.client().config_get("port"), {"port": "off"})
        self.assertEqual(server.log().count("Listening on"), 1)
        self.assert_stops_well(server)
        del server.options["unixsocket"]
        server.spawn()
        self.assertEqual(server.wait(), 2)
        self.assertIn("port off leaves no way to connect: set tls-port or unixsocket", server.log())

    def test_the_file_of_a_dead_server_is_replaced(self):
        server = self.server().start()
        server.kill()
        self.assertTrue(os.path.exists(self.path))
        server.start()
        self.assertTrue(self.client().ping())

    def test_a_living_server_keeps_its_file(self):
        server = self.server().start()
        second = self.make_server(unixsocket=self.path)
        self.assert_does_not_start(second, f"unixsocket {self.path}: a running server listens there; stop it")
        self.assertTrue(self.client().ping())
        self.assert_stops_well(server)

    def test_what_is_no_socket_stays(self):
        server = self.server()
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("precious")
        self.assert_does_not_start(server, f"unixsocket {self.path}: there is a file that is not a socket")
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")

    def test_a_file_that_another_has_put_there_stays_at_the_end(self):
        server = self.server().start()
        os.rename(self.path, self.path + ".old")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(self.path)
            self.assert_stops_well(server)
        self.assertTrue(os.path.exists(self.path))

    def test_places_where_no_socket_can_be(self):
        server = self.server()
        server.options["unixsocket"] = os.path.join(server.home, "x" * 120)
        self.assert_does_not_start(server, "a socket path can have at most 107")
        server.options["unixsocket"] = os.path.join(server.home, "none", "sock")
        self.assert_does_not_start(server, "No such file or directory")


if __name__ == "__main__":
    main()
