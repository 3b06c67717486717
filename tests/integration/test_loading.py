"""The port is open before the filters are there: what clients get until then, and how the process may end."""

import os
import re
import signal

from harness import START_SECONDS, OwnServerTest, encode, main, wait_until

LOADING = b"-LOADING Bitsieve is loading its filters into memory\r\n"
FILTERS = 4
CAPACITY = 30_000_000  # some 40 MB a filter: loading them takes a while, and writing them does not take for ever


class Loading(OwnServerTest):
    """Each server is stopped in the middle of loading, so that the test has time to ask it."""

    def loaded_server(self):
        server = self.make_server().start()
        client = server.client()
        for i in range(FILTERS):
            client.execute_command("BF.RESERVE", f"f{i}", 0.01, CAPACITY)
            client.execute_command("BF.ADD", f"f{i}", "x")
        self.assert_stops_well(server)
        return server

    def freeze_while_loading(self, server):
        """Starts it, and lets it run until its port is open and no further."""
        for _ in range(20):
            server.spawn()
            server.port = int(wait_until(server._announced_port, START_SECONDS, "the port is open"))
            server.process.send_signal(signal.SIGSTOP)
            if "Ready after" not in server.log():
                return
            server.kill()  # it was faster than this test
        self.fail("the server loads too fast to be caught at it")

    def ask_all(self, server, *commands):
        """The reply to each, on a connection of its own, when the server runs again."""
        connections = [server.connect() for _ in commands]
        for connection, command in zip(connections, commands):
            connection.send(encode(*command))
        server.process.send_signal(signal.SIGCONT)
        return [connection.reply() for connection in connections]

    def test_commands_are_put_off_until_all_is_loaded(self):
        server = self.loaded_server()
        self.freeze_while_loading(server)
        info, *replies = self.ask_all(server, ("INFO", "persistence"), ("PING",), ("BF.EXISTS", "f0", "x"),
                                      ("BF.ADD", "new", "x"), ("SAVE",), ("CONFIG", "SET", "save-interval", 3000),
                                      ("CLIENT", "SETNAME", "me"))
        self.assertEqual(replies, [LOADING] * 4 + [b"+OK\r\n"] * 2)
        self.assertRegex(info, rb"\nloading:1\r\nasync_loading:0\r\nloading_start_time:\d+\r\n")
        wait_until(server._answers_ping, START_SECONDS, "all is loaded")
        connection = server.connect()
        self.assertRegex(connection.command("INFO", "persistence"), rb"\nloading:0\r\nasync_loading:0\r\nrdb_")
        for i in range(FILTERS):
            self.assertEqual(connection.command("BF.EXISTS", f"f{i}", "x"), b":1\r\n")
        self.assertEqual(connection.command("EXISTS", "new"), b":0\r\n")
        self.assertIn(b"3000", connection.command("CONFIG", "GET", "save-interval"))
        self.assertLess(server.log().index("Listening on"), server.log().index("Loaded 4 filters"))
        self.assert_stops_well(server)

    def assert_ended_at_once_and_unharmed(self, server):
        self.assertEqual(server.wait(), 0, server.log())
        self.assertNotIn("Ready after", server.log())
        server.start()
        self.assertEqual(server.client().execute_command("BF.EXISTS", f"f{FILTERS - 1}", "x"), 1)
        self.assert_stops_well(server)

    def test_a_signal_ends_it_at_once(self):
        server = self.loaded_server()
        self.freeze_while_loading(server)
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGCONT)
        self.assert_ended_at_once_and_unharmed(server)

    def test_shutdown_ends_it_at_once_without_a_snapshot(self):
        server = self.loaded_server()
        for command in (("SHUTDOWN",), ("SHUTDOWN", "NOSAVE")):
            with self.subTest(command=command):
                self.freeze_while_loading(server)
                connection = server.connect()
                connection.send(encode(*command))
                server.process.send_signal(signal.SIGCONT)
                self.assertTrue(connection.is_closed())
                self.assert_ended_at_once_and_unharmed(server)

    def test_damage_ends_it_with_the_reason(self):
        server = self.loaded_server()
        folder = os.path.join(server.directory, "filters")
        path = os.path.join(folder, sorted(os.listdir(folder))[0])
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - 1)
        server.spawn()
        self.assertEqual(server.wait(), 1)
        self.assertTrue(re.search(r"Listening on", server.log()))
        self.assertRegex(server.log(), rf"Cannot start: .*{re.escape(os.path.basename(path))}")
        self.assertNotIn("Ready after", server.log())


if __name__ == "__main__":
    main()
