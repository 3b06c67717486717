"""Commands that take long, and so run beside the event loop: replies, their order, and what may happen until then."""

import threading

from harness import Connection, OwnServerTest, ServerTest, encode, main

ITEMS = 20_000
LARGE = 4_000_000  # items of a filter of some 5 MB


def items(prefix, count=ITEMS):
    return [f"{prefix}:{i}" for i in range(count)]


def array_of(reply, count):
    return b"*%d\r\n" % count + reply * count


class Order(ServerTest):
    OPTIONS = {"io_threads": 1}

    def test_replies_of_a_pipeline_keep_their_order(self):
        connection = self.connect()
        pipeline = [
            (("BF.RESERVE", "f", "0.0001", ITEMS), b"+OK\r\n"),
            (("BF.MEXISTS", "f", *items("a")), array_of(b":0\r\n", ITEMS)),
            (("ECHO", "1"), b"$1\r\n1\r\n"),
            (("BF.RESERVE", "big", "0.01", LARGE), b"+OK\r\n"),
            (("BF.ADD", "big", "x"), b":1\r\n"),
            (("COPY", "big", "copy"), b":1\r\n"),
            (("BF.EXISTS", "copy", "x"), b":1\r\n"),
            (("BF.MERGE", "copy", "big"), b"+OK\r\n"),
            (("COPY", "big"), b"-ERR wrong number of arguments for 'copy' command\r\n"),
            (("BF.CLEAR", "copy"), b"+OK\r\n"),
            (("BF.EXISTS", "copy", "x"), b":0\r\n"),
            (("BF.EXISTS", "copy", "y" * 1_000_000), b":0\r\n"),
            (("DEL", *items("none"), "copy"), b":1\r\n"),
            (("EXISTS", "copy", "big", *items("none")), b":1\r\n"),
            (("ECHO", "2"), b"$1\r\n2\r\n"),
        ]
        connection.send(b"".join(encode(*command) for command, _ in pipeline))
        for command, reply in pipeline:
            self.assertEqual(connection.reply(), reply, command[:3])

    def test_exec_waits_for_each_of_its_commands(self):
        connection, other = self.connect(), self.connect()
        connection.send(encode("MULTI"))
        queued = [("BF.MADD", "f", *items("a", 2_000)), ("BF.CARD", "f"), ("BF.RESERVE", "big", "0.01", LARGE),
                  ("COPY", "big", "copy"), ("KEYS", "none*"), ("EXISTS", "copy")]
        queued += [("BF.EXISTS", "f", f"a:{i}") for i in range(500)]
        for command in queued:
            connection.send(encode(*command))
        connection.send(encode("EXEC") + encode("ECHO", "behind"))
        for _ in range(1 + len(queued)):
            connection.reply()
        replies = connection.reply()
        card = other.command("BF.CARD", "f")
        head, rest = replies.split(b"\r\n", 1)
        self.assertEqual(head, b"*%d" % len(queued))
        self.assertTrue(rest.startswith(b"*2000\r\n"), rest[:100])
        tail = card + b"+OK\r\n:1\r\n*0\r\n:1\r\n" + b":1\r\n" * 500
        self.assertEqual(rest[-len(tail):], tail)
        self.assertEqual(connection.reply(), b"$6\r\nbehind\r\n")

    def test_all_names_are_found_and_removed(self):
        connection = self.connect()
        names = items("name", 5_000)
        connection.send(b"".join(encode("BF.RESERVE", name, "0.01", 10) for name in names))
        for _ in names:
            self.assertEqual(connection.reply(), b"+OK\r\n")
        found = connection.command("KEYS", "name:*")
        self.assertEqual(sorted(line for line in found.split(b"\r\n") if line.startswith(b"name:")),
                         sorted(name.encode() for name in names))
        self.assertIn(b"bf_bloom_num_objects:5000", connection.command("INFO", "everything"))
        self.assertEqual(connection.command("DEL", *names[:3_000]), b":3000\r\n")
        self.assertEqual(connection.command("DBSIZE"), b":2000\r\n")
        connection.send(encode("FLUSHALL") + encode("DBSIZE"))
        self.assertEqual((connection.reply(), connection.reply()), (b"+OK\r\n", b":0\r\n"))

    def test_others_are_answered_meanwhile(self):
        connection, other = self.connect(), self.connect()
        connection.command("BF.RESERVE", "big", "0.01", LARGE)
        # The reply to the last of these shows that the first have run; PINGs in between are answered in any case.
        connection.send(encode("COPY", "big", "copy") * 1 + encode("BF.MERGE", "copy", "big") * 20)
        for _ in range(100):
            self.assertEqual(other.command("PING"), b"+PONG\r\n")
        self.assertEqual(connection.reply(), b":1\r\n")
        for _ in range(20):
            self.assertEqual(connection.reply(), b"+OK\r\n")

    def test_many_clients_with_long_commands_at_once(self):
        setup = self.connect()
        setup.command("BF.RESERVE", "big", "0.01", LARGE // 4)
        wrong = []

        def work(number):
            with Connection(self.server.port) as connection:
                for turn in range(5):
                    name = f"copy:{number}:{turn}"
                    expected = [(("COPY", "big", name), b":1\r\n"), (("ECHO", name), None),
                                (("BF.MADD", f"f{number}", *items(turn, 3_000)), None), (("DEL", name), b":1\r\n")]
                    connection.send(b"".join(encode(*command) for command, _ in expected))
                    for command, reply in expected:
                        got = connection.reply()
                        if reply not in (None, got):
                            wrong.append((command[:2], got))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_clients_that_close_meanwhile(self):
        setup = self.connect()
        setup.command("BF.RESERVE", "big", "0.01", LARGE)
        for turn in range(20):
            with Connection(self.server.port) as connection:
                connection.send(encode("COPY", "big", f"left:{turn % 2}", "REPLACE") +
                                encode("BF.MADD", f"left:f{turn}", *items("a")))
        self.assertEqual(setup.command("BF.EXISTS", "big", "x"), b":0\r\n")


class Endings(OwnServerTest):
    def test_a_stop_while_workers_work(self):
        server = self.make_server(io_threads=2)
        server.start()
        connections = [server.connect() for _ in range(8)]
        connections[0].command("BF.RESERVE", "big", "0.01", LARGE)
        for number, connection in enumerate(connections):
            for turn in range(5):
                connection.send(encode("COPY", "big", f"copy:{number}:{turn}"))
        self.assert_stops_well(server)

    def test_what_was_acknowledged_under_always_survives(self):
        server = self.make_server(appendonly="yes", appendfsync="always")
        server.start()
        connection = server.connect()
        connection.command("BF.RESERVE", "f", "0.0001", 10 * ITEMS)
        connection.command("BF.RESERVE", "big", "0.01", LARGE // 4)
        self.assertTrue(connection.command("BF.MADD", "f", *items("a")).startswith(b"*%d\r\n" % ITEMS))
        self.assertEqual(connection.command("COPY", "big", "copy"), b":1\r\n")
        self.assertEqual(connection.command("BF.ADD", "copy", "y" * 1_000_000), b":1\r\n")
        connection.send(encode("MULTI") + encode("BF.MADD", "f", *items("b")) + encode("EXEC"))
        for _ in range(3):
            connection.reply()
        server.kill()
        server.start()
        connection = server.connect()
        for prefix in "ab":
            self.assertEqual(connection.command("BF.MEXISTS", "f", *items(prefix)), array_of(b":1\r\n", ITEMS))
        self.assertEqual(connection.command("BF.EXISTS", "copy", "y" * 1_000_000), b":1\r\n")


if __name__ == "__main__":
    main()
