"""The wire: RESP2, RESP3, plain lines, pipelines, broken and hostile streams."""

import random
import re
import socket
import time

from harness import REPLY_SECONDS, OwnServerTest, ServerTest, arity, encode, main, wait_until

PONG = b"+PONG\r\n"


def bulk(data):
    return b"$%d\r\n%s\r\n" % (len(data), data)


class PlainLines(ServerTest):
    def test_a_telnet_session(self):
        self.assert_replies(2, [
            ("PING", PONG),
            ("ping", PONG),
            ("BF.ADD seen alice", b":1\r\n"),
            ("bf.add seen alice", b":0\r\n"),
            ("  BF.EXISTS \t seen   alice ", b":1\r\n"),
            ("BF.EXISTS seen bob", b":0\r\n"),
            ("BF.MEXISTS seen alice bob", b"*2\r\n:1\r\n:0\r\n"),
        ])

    def test_quotes_and_escapes(self):
        self.assert_replies(2, [
            (r'ECHO "two words"', bulk(b"two words")),
            (r'ECHO ""', bulk(b"")),
            (r'ECHO "\n\r\t\b\a\x00\xff\\\"\q"', bulk(b'\n\r\t\b\a\x00\xff\\"q')),
            (r"ECHO 'it\'s \n'", bulk(rb"it's \n")),
            (r"ECHO ''", bulk(b"")),
            (r'ECHO ab"c d"', bulk(b"abc d")),
            (r"ECHO a\nb", bulk(rb"a\nb")),
        ])

    def test_lines_are_binary_safe(self):
        self.assertEqual(self.connect().ask(b"ECHO a\x00b\xff\r\n"), bulk(b"a\x00b\xff"))

    def test_line_ends(self):
        self.assertEqual(self.connect().ask(b"PING\n"), PONG)
        self.assertEqual(self.connect().ask(b'ECHO "a"\r\n'), bulk(b"a"))

    def test_nothing_answers_nothing(self):
        connection = self.connect()
        connection.send(b"\r\n\n   \r\n*0\r\n*-1\r\n\r\nPING\r\n")
        self.assertEqual(connection.reply(), PONG)

    def test_unbalanced_quotes_close_the_connection(self):
        for line in (b'ECHO "a', b"ECHO 'a", b'ECHO "a"b', b"ECHO 'a'b"):
            with self.subTest(line=line):
                connection = self.connect()
                connection.send(b"PING\r\n" + line + b"\r\nPING\r\n")
                self.assertEqual(connection.rest(),
                                 PONG + b"-ERR Protocol error: unbalanced quotes in request\r\n")

    def test_longest_line(self):
        item = b"x" * (64 * 1024 - len(b"ECHO "))
        self.assertEqual(self.connect().ask(b"ECHO " + item + b"\r\n"), bulk(item))
        connection = self.connect()
        connection.send(b"ECHO x" + item + b"\r\n")
        self.assertRegex(connection.rest(), rb"^-ERR Protocol error: too big inline request: .*65536.*\r\n$")


class Arrays(ServerTest):
    def test_arguments_are_binary_safe(self):
        every_byte = bytes(range(256))
        connection = self.connect()
        self.assertEqual(connection.command("ECHO", every_byte), bulk(every_byte))
        self.assertEqual(connection.command("BF.ADD", every_byte, every_byte), b":1\r\n")
        self.assertEqual(connection.command("BF.ADD", b"", b""), b":1\r\n")
        self.assertEqual(connection.command("BF.MEXISTS", every_byte, every_byte, b"", every_byte[:-1]),
                         b"*3\r\n:1\r\n:0\r\n:0\r\n")
        self.assertEqual(connection.command("BF.EXISTS", b"", b""), b":1\r\n")

    def test_large_arguments(self):
        connection = self.connect()
        for size in (99, 100, 16 * 1024, 1 << 20, 9 << 20):
            data = random.Random(size).randbytes(size)
            with self.subTest(size=size):
                self.assertTrue(connection.command("ECHO", data) == bulk(data))

    def test_many_arguments(self):
        items = [b"%d" % i for i in range(50_000)]
        connection = self.connect()
        connection.command("BF.RESERVE", "k", "0.001", len(items))
        self.assertEqual(connection.command("BF.MADD", "k", *items[:10]), b"*10\r\n" + b":1\r\n" * 10)
        connection.command("BF.MADD", "k", *items)
        self.assertEqual(connection.command("BF.MEXISTS", "k", *items), b"*50000\r\n" + b":1\r\n" * 50_000)

    def test_unknown_commands_are_told_and_survived(self):
        connection = self.connect()
        self.assertEqual(connection.command("NOSUCH", "a", "b"),
                         b"-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' \r\n")
        self.assertEqual(connection.command("FOO\r\n+OK"),
                         b"-ERR unknown command 'FOO  +OK', with args beginning with: \r\n")
        reply = connection.command("x" * 10_000, "y" * 10_000)
        self.assertTrue(reply.startswith(b"-ERR unknown command 'xxx"))
        self.assertLess(len(reply), 512)
        self.assertEqual(connection.command("PING"), PONG)


class Versions(ServerTest):
    def test_hello(self):
        for version, head in ((2, rb"\*14"), (3, rb"%7")):
            reply = self.connect().command("HELLO", version)
            self.assertRegex(reply, rb"^" + head + rb"\r\n\$6\r\nserver\r\n\$8\r\nbitsieve\r\n\$7\r\nversion\r\n"
                             rb"\$\d+\r\n\S+\r\n\$5\r\nproto\r\n:%d\r\n\$2\r\nid\r\n:\d+\r\n"
                             rb"\$4\r\nmode\r\n\$10\r\nstandalone\r\n"
                             rb"\$4\r\nrole\r\n\$6\r\nmaster\r\n\$7\r\nmodules\r\n\*1\r\n" % version)

    def test_replies_follow_the_version(self):
        connection = self.connect()
        for version, yes, nil in ((2, b":1\r\n", b"$-1\r\n"), (3, b"#t\r\n", b"_\r\n"), (2, b":1\r\n", b"$-1\r\n")):
            connection.command("HELLO", version)
            self.assertEqual(connection.command("BF.ADD", "k", f"item{random.random()}"), yes)
            self.assertEqual(connection.command("CLIENT", "GETNAME"), nil)

    def test_version_changes_within_a_pipeline(self):
        connection = self.connect()
        connection.send(b"BF.ADD k a\r\nHELLO 3\r\nBF.EXISTS k a\r\nHELLO 2\r\nBF.EXISTS k a\r\n")
        replies = [connection.reply() for _ in range(5)]
        self.assertEqual(replies[0::2], [b":1\r\n", b"#t\r\n", b":1\r\n"])
        self.assertEqual([replies[1][:1], replies[3][:1]], [b"%", b"*"])

    def test_hello_without_version_keeps_it(self):
        connection = self.connect(3)
        self.assertEqual(connection.command("HELLO")[:1], b"%")

    def test_versions_that_are_not(self):
        self.assert_replies(2, [
            ("HELLO 1", b"-NOPROTO unsupported protocol version\r\n"),
            ("HELLO 4", b"-NOPROTO unsupported protocol version\r\n"),
            ("HELLO x", b"-ERR Protocol version is not an integer or out of range\r\n"),
            ("HELLO 3 FOO", b"-ERR Syntax error in HELLO option 'FOO'\r\n"),
            ("CLIENT GETNAME", b"$-1\r\n"),
        ])

    def test_hello_with_auth_and_name(self):
        connection = self.connect()
        self.assertEqual(connection.command("HELLO", "3", "AUTH", "default", "any", "SETNAME", "me")[:1], b"%")
        self.assertEqual(connection.command("CLIENT", "GETNAME"), bulk(b"me"))
        self.assertRegex(connection.command("HELLO", "3", "AUTH", "other", "any"), rb"^-WRONGPASS ")

    def test_reset_goes_back_to_resp2(self):
        connection = self.connect(3)
        connection.command("CLIENT", "SETNAME", "me")
        self.assertEqual(connection.command("RESET"), b"+RESET\r\n")
        self.assertEqual(connection.command("CLIENT", "GETNAME"), b"$-1\r\n")


class Pieces(ServerTest):
    STREAM = (b"PING\r\n" + encode("ECHO", b"a\r\nb") + b'ECHO "c \\x41"\n\r\n' +
              encode("BF.MADD", "k", "a", "b" * 120) + b"*0\r\n" +
              encode("BF.MEXISTS", "k", "a", "c") + encode("NOSUCH") + encode("PING", "end"))

    def replies(self, pieces):
        with self.server.connect() as connection:
            connection.command("FLUSHALL")
            for piece in pieces:
                connection.send(piece)
            return [connection.reply() for _ in range(7)]

    def test_every_cut_gives_the_same_replies(self):
        expected = self.replies([self.STREAM])
        self.assertEqual(expected[-1], bulk(b"end"))
        for cut in range(1, len(self.STREAM)):
            self.assertEqual(self.replies([self.STREAM[:cut], self.STREAM[cut:]]), expected, f"cut at {cut}")

    def test_byte_by_byte(self):
        expected = self.replies([self.STREAM])
        self.assertEqual(self.replies(bytes([byte]) for byte in self.STREAM), expected)

    def test_a_slow_sender_is_waited_for(self):
        connection = self.connect()
        for piece in (b"*2\r\n$4\r", b"\nECHO\r\n$5", b"\r\nhel", b"lo\r", b"\n"):
            connection.send(piece)
            time.sleep(0.02)
        self.assertEqual(connection.reply(), bulk(b"hello"))


class Pipelines(ServerTest):
    def test_replies_come_in_order(self):
        connection = self.connect()
        count = 20_000
        connection.send(b"".join(encode("ECHO", i) for i in range(count)))
        for i in range(count):
            self.assertEqual(connection.reply(), bulk(b"%d" % i))

    def test_each_command_sees_those_before_it(self):
        connection = self.connect()
        commands = []
        for i in range(500):
            commands += [encode("BF.EXISTS", "k", i), encode("BF.ADD", "k", i), encode("BF.EXISTS", "k", i),
                         encode("DEL", "k")]
        connection.send(b"".join(commands))
        for i in range(500):
            self.assertEqual([connection.reply() for _ in range(4)], [b":0\r\n", b":1\r\n", b":1\r\n", b":1\r\n"], i)

    def test_errors_do_not_disturb_their_neighbours(self):
        connection = self.connect()
        connection.send(encode("BF.ADD", "k", "a") + encode("BF.ADD", "k") + encode("NOSUCH") +
                        encode("BF.EXISTS", "k", "a"))
        self.assertEqual(connection.reply(), b":1\r\n")
        self.assertEqual(connection.reply(), arity("bf.add"))
        self.assertTrue(connection.reply().startswith(b"-ERR unknown command 'NOSUCH'"))
        self.assertEqual(connection.reply(), b":1\r\n")

    def test_quit_ends_the_pipeline(self):
        connection = self.connect()
        connection.send(b"PING\r\nQUIT\r\nPING\r\n")
        self.assertEqual(connection.rest(), PONG + b"+OK\r\n")

    def test_half_closed_client_gets_all_its_replies(self):
        connection = self.connect()
        connection.send(encode("ECHO", b"x" * 100_000) * 50)
        connection.socket.shutdown(socket.SHUT_WR)
        self.assertTrue(connection.rest() == bulk(b"x" * 100_000) * 50)


class BrokenStreams(ServerTest):
    ERRORS = [
        (b"*a\r\n", b"invalid multibulk length"),
        (b"*+1\r\n", b"invalid multibulk length"),
        (b"*01\r\n", b"invalid multibulk length"),
        (b"*1\n", b"invalid multibulk length"),
        (b"*3000000000\r\n", b"invalid multibulk length: at most 1048576 arguments (max-arguments)"),
        (b"*1\r\n:1\r\n", b"expected '$', got ':'"),
        (b"*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n", b"expected '$', got 'f'"),
        (b"*1\r\n$-10\r\n", b"invalid bulk length"),
        (b"*1\r\n$x\r\n", b"invalid bulk length"),
        (b"*1\r\n$2000000000\r\n", b"invalid bulk length: at most 536870912 bytes an argument (max-argument-bytes)"),
        (b"*" + b"1" * 30, b"too big mbulk count string"),
        (b"*1\r\n$" + b"1" * 30, b"too big bulk count string"),
        (b"*1\r\n$3\r\nabcd\r\n", b"bulk string longer than its length: expected CRLF after 3 bytes"),
    ]

    def test_the_error_is_told_and_the_connection_closed(self):
        for stream, error in self.ERRORS:
            with self.subTest(stream=stream):
                connection = self.connect()
                connection.send(stream)
                self.assertEqual(connection.rest(), b"-ERR Protocol error: " + error + b"\r\n")

    def test_commands_before_the_error_are_answered_and_those_behind_it_are_not_run(self):
        connection = self.connect()
        connection.send(encode("BF.ADD", "k", "before") + b"*x\r\n" + encode("BF.ADD", "k", "behind"))
        self.assertEqual(connection.rest(), b":1\r\n-ERR Protocol error: invalid multibulk length\r\n")
        self.assertEqual(self.connect().command("BF.MEXISTS", "k", "before", "behind"), b"*2\r\n:1\r\n:0\r\n")

    def test_error_is_read_by_a_client_that_goes_on_sending(self):
        connection = self.connect()
        connection.send(b"*x\r\n" + b"x" * 100_000)
        self.assertEqual(connection.rest(), b"-ERR Protocol error: invalid multibulk length\r\n")

    def test_garbage(self):
        generator = random.Random(7)
        alphabet = b"\r\n*$-+0123456789 \"'\\x"
        for i in range(150):
            size = generator.randrange(1, 3000)
            data = generator.randbytes(size) if i % 2 else bytes(generator.choices(alphabet, k=size))
            with self.server.connect() as connection:
                # It may close the connection while this sends.
                try:
                    connection.send(data)
                    connection.socket.shutdown(socket.SHUT_WR)
                    connection.rest()
                except ConnectionError:
                    pass
            self.server.check_alive()
        self.assertEqual(self.connect().command("PING"), PONG)

    def test_tls_hello_and_http(self):
        connection = self.connect()
        connection.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 40 + b"\n")
        self.assertTrue(connection.reply().startswith(b"-ERR "))
        connection = self.connect()
        connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(connection.is_closed())

    def test_clients_that_go_away_in_the_middle(self):
        whole = encode("BF.MADD", "k", *range(100))
        for cut in range(1, len(whole), 37):
            with self.server.connect() as connection:
                connection.send(whole[:cut])
        self.assertEqual(self.connect().command("EXISTS", "k"), b":0\r\n")

    def test_declared_lengths_take_no_memory(self):
        before = self.server.rss_bytes()
        connections = [self.connect() for _ in range(50)]
        for connection in connections:
            connection.send(b"*1048576\r\n$4\r\nECHO\r\n$536870912\r\nabc")
        self.assertEqual(self.connect().command("PING"), PONG)
        time.sleep(0.3)
        self.assert_grew_less(before, 100 << 20)

    def test_memory_of_a_large_command_is_given_back(self):
        items = [b"%06d" % i for i in range(300_000)]
        connection = self.connect()
        connection.command("BF.RESERVE", "k", "0.01", 1000)
        before = self.server.rss_bytes()
        for _ in range(3):
            self.assertEqual(len(connection.command("BF.MEXISTS", "k", *items)), 9 + 4 * len(items))
        connection.command("PING")
        # One such command holds its bytes, its arguments and its reply: about 12 MB.
        self.assert_grew_less(before, 200 << 20)


class Limits(ServerTest):
    OPTIONS = {"max_line_bytes": 100, "max_arguments": 20, "max_argument_bytes": 1024, "max_request_bytes": 4096,
               "client_output_buffer_limit": 65536}

    def assert_refused(self, stream, pattern):
        connection = self.connect()
        connection.send(stream)
        self.assertRegex(connection.rest(), rb"^-ERR Protocol error: " + pattern + rb"\r\n$")

    def test_line(self):
        self.assertEqual(self.connect().ask(b"ECHO " + b"x" * 95 + b"\r\n"), bulk(b"x" * 95))
        self.assert_refused(b"ECHO " + b"x" * 96 + b"\r\n",
                            rb"too big inline request: at most 100 bytes \(max-line-bytes\)")
        self.assert_refused(b"x" * 200, rb"too big inline request: .*")

    def test_arguments(self):
        self.assertEqual(self.connect().command("BF.MEXISTS", "k", *range(18)), b"*18\r\n" + b":0\r\n" * 18)
        self.assert_refused(encode("BF.MEXISTS", "k", *range(19)),
                            rb"invalid multibulk length: at most 20 arguments \(max-arguments\)")
        self.assert_refused(b"a " * 21 + b"\r\n", rb"too big inline request: at most 20 arguments \(max-arguments\)")

    def test_argument_bytes(self):
        self.assertEqual(self.connect().command("ECHO", b"x" * 1024), bulk(b"x" * 1024))
        self.assert_refused(encode("ECHO", b"x" * 1025), rb"invalid bulk length: at most 1024 bytes an argument .*")

    def test_request_bytes(self):
        self.assertEqual(self.connect().command("BF.MEXISTS", "k", *[b"x" * 1000] * 4), b"*4\r\n" + b":0\r\n" * 4)
        self.assert_refused(encode("BF.MEXISTS", "k", *[b"x" * 1024] * 4),
                            rb"too big request: at most 4096 bytes \(max-request-bytes\)")

    def test_a_pipeline_is_not_one_request(self):
        connection = self.connect()
        connection.send(encode("ECHO", b"x" * 1000) * 20)
        for _ in range(20):
            self.assertEqual(len(connection.reply()), 1009)

    def test_a_multi_queue_is_bounded(self):
        connection = self.connect()
        connection.command("MULTI")
        self.assertEqual(connection.command("ECHO", b"x" * 1000), b"+QUEUED\r\n")
        replies = b"".join(connection.command("ECHO", b"x" * 1000) for _ in range(4))
        self.assertRegex(replies, rb"-ERR the commands queued by MULTI exceed .* \(max-request-bytes\)\r\n")
        self.assertRegex(connection.command("EXEC"), rb"^-EXECABORT ")
        self.assertEqual(connection.command("PING"), PONG)

    def test_a_client_that_does_not_read_is_closed(self):
        connection = self.connect()
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = encode("ECHO", b"x" * 1000) * 100
        with self.assertRaises(ConnectionError):
            for _ in range(2000):  # 200 MB of replies, unless it is stopped
                connection.send(request)
        wait_until(lambda: "client-output-buffer-limit" in self.server.log(), REPLY_SECONDS, "the log tells why")


class Connections(OwnServerTest):
    def test_maxclients(self):
        server = self.make_server(maxclients=3).start()
        connections = [server.connect()]
        wait_until(lambda: b"connected_clients:1\r\n" in connections[0].command("INFO", "clients"), REPLY_SECONDS,
                   "the connection that start() made is gone")
        connections += [server.connect() for _ in range(2)]
        for connection in connections:
            self.assertEqual(connection.command("PING"), PONG)
        refused = server.connect()
        self.assertEqual(refused.rest(), b"-ERR max number of clients reached\r\n")
        connections.pop().close()

        def let_in():
            with server.connect() as connection:
                try:
                    return connection.ask(b"PING\r\n") == PONG
                except (EOFError, ConnectionError):
                    return False
        wait_until(let_in, REPLY_SECONDS, "a place is free again")
        self.assert_stops_well(server)

    def test_idle_connections_are_closed(self):
        server = self.make_server(timeout=1).start()
        idle, busy = server.connect(), server.connect()
        deadline = time.monotonic() + 2.5
        while time.monotonic() < deadline:
            self.assertEqual(busy.command("PING"), PONG)
            time.sleep(0.1)
        self.assertTrue(idle.is_closed())
        self.assertEqual(busy.command("PING"), PONG)
        self.assert_stops_well(server)

    def test_many_connections_on_several_loops(self):
        server = self.make_server(io_threads=3).start()
        connections = [server.connect() for _ in range(200)]
        for i, connection in enumerate(connections):
            connection.send(encode("BF.ADD", "k", i) + encode("BF.EXISTS", "k", i))
        for connection in connections:
            self.assertRegex(connection.reply(), rb"^:[01]\r\n$")
            self.assertEqual(connection.reply(), b":1\r\n")
        ids = {int(re.search(rb":(\d+)", connection.command("CLIENT", "ID")).group(1)) for connection in connections}
        self.assertEqual(len(ids), 200)
        self.assert_stops_well(server)

    def test_stops_while_clients_talk(self):
        server = self.make_server().start()
        connections = [server.connect() for _ in range(20)]
        for connection in connections:
            connection.send(encode("BF.ADD", "k", "a") * 1000)
        self.assert_stops_well(server)


if __name__ == "__main__":
    main()
