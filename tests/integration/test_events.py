"""Channels and keyspace events, with redis-py, redis-cli and raw bytes."""

import socket
import subprocess
import threading
import time

from harness import PATIENCE, REPLY_SECONDS, ServerTest, encode, main, wait_until


def push(*parts, version=2):
    """The bytes of a message or a confirmation."""
    out = b"%s%d\r\n" % (b">" if version == 3 else b"*", len(parts))
    for part in parts:
        if isinstance(part, int):
            out += b":%d\r\n" % part
        else:
            data = part if isinstance(part, bytes) else part.encode()
            out += b"$%d\r\n%s\r\n" % (len(data), data)
    return out


def read(connection, expected):
    got = connection.file.read(len(expected))
    return got


class Channels(ServerTest):
    OPTIONS = {"io_threads": 2, "client_output_buffer_limit": "1mb"}

    def test_messages_across_event_loops(self):
        for version in (2, 3):
            listeners = [self.connect(version) for _ in range(6)]
            for listener in listeners:
                listener.send(encode("SUBSCRIBE", "news"))
                self.assertEqual(read(listener, push("subscribe", "news", 1, version=version)),
                                 push("subscribe", "news", 1, version=version))
            publishers = [self.connect() for _ in range(3)]
            for number in range(100):
                for which, publisher in enumerate(publishers):
                    self.assertEqual(publisher.command("PUBLISH", "news", f"{which} {number}"), b":6\r\n")
            for listener in listeners:
                seen = {0: 0, 1: 0, 2: 0}
                for _ in range(300):
                    length = len(push("message", "news", "0 0", version=version))
                    data = read(listener, b"x" * length)
                    while not data.endswith(b"\r\n"):
                        data += listener.file.read(1)
                    payload = data.rstrip(b"\r\n").split(b"\r\n")[-1]
                    which, number = map(int, payload.split())
                    self.assertEqual(number, seen[which])
                    seen[which] += 1
                listener.close()

    def test_redis_py(self):
        client, publisher = self.client(), self.client()
        pubsub = client.pubsub()
        pubsub.subscribe("a", "b")
        pubsub.psubscribe("c*")
        self.assertEqual([pubsub.get_message(timeout=REPLY_SECONDS)["data"] for _ in range(3)], [1, 2, 3])
        self.assertEqual(publisher.publish("a", "x"), 1)
        self.assertEqual(publisher.publish("c1", "y"), 1)
        self.assertEqual(publisher.publish("d", "z"), 0)
        message = pubsub.get_message(timeout=REPLY_SECONDS)
        self.assertEqual((message["type"], message["channel"], message["data"]), ("message", b"a", b"x"))
        message = pubsub.get_message(timeout=REPLY_SECONDS)
        self.assertEqual((message["type"], message["pattern"], message["channel"], message["data"]),
                         ("pmessage", b"c*", b"c1", b"y"))
        pubsub.ping()
        self.assertEqual(pubsub.get_message(timeout=REPLY_SECONDS)["type"], "pong")
        self.assertEqual(sorted(publisher.pubsub_channels()), [b"a", b"b"])
        self.assertEqual(publisher.pubsub_numsub("a", "none"), [(b"a", 1), (b"none", 0)])
        self.assertEqual(publisher.pubsub_numpat(), 1)
        [listed] = [each for each in publisher.client_list() if each["flags"] == "P"]
        self.assertEqual((listed["sub"], listed["psub"]), ("2", "1"))
        self.assertEqual(publisher.info("stats")["pubsub_channels"], 2)
        pubsub.unsubscribe()
        pubsub.punsubscribe()
        for _ in range(3):
            pubsub.get_message(timeout=REPLY_SECONDS)
        self.assertFalse(pubsub.subscribed)
        pubsub.close()
        wait_until(lambda: publisher.pubsub_numpat() == 0, REPLY_SECONDS, "the subscriptions end")

    def test_redis_cli(self):
        command = ["redis-cli", "-p", str(self.server.port), "--csv", "SUBSCRIBE", "c"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as cli:
            try:
                self.assertIn("Reading messages", cli.stdout.readline())
                self.assertEqual(cli.stdout.readline().strip(), '"subscribe","c",1')
                self.assertEqual(self.server.cli("PUBLISH", "c", "hello"), "1\n")
                self.assertEqual(cli.stdout.readline().strip(), '"message","c","hello"')
            finally:
                cli.kill()
        wait_until(lambda: self.server.cli("PUBSUB", "NUMSUB", "c") == "c\n0\n", REPLY_SECONDS, "it is unsubscribed")

    def test_a_pipeline_with_replies_and_messages(self):
        """In RESP3 messages come between replies, never within one."""
        connection, publisher = self.connect(3), self.connect()
        connection.command("BF.ADD", "k", "x")
        connection.AGGREGATES = {b"*": 1, b"~": 1, b"%": 2, b">": 1}
        connection.ask(encode("SUBSCRIBE", "c"))
        rounds, stop = 50, threading.Event()

        def publish():
            while not stop.is_set():
                publisher.command("PUBLISH", "c", "m" * 100)

        thread = threading.Thread(target=publish)
        thread.start()
        messages = 0
        try:
            for _ in range(rounds):
                connection.send(encode("BF.MEXISTS", "k", *["x"] * 50) * 20)
                replies = 0
                while replies < 20:
                    reply = connection.reply()
                    if reply.startswith(b">"):
                        self.assertEqual(reply, push("message", "c", "m" * 100, version=3))
                        messages += 1
                    else:
                        self.assertEqual(reply, b"*50\r\n" + b"#t\r\n" * 50)
                        replies += 1
        finally:
            stop.set()
            thread.join()
        # All that was published has arrived or does so now.
        connection.send(encode("UNSUBSCRIBE"))
        while connection.reply() != push("unsubscribe", "c", 0, version=3):
            messages += 1
        self.assertGreater(messages, 0)

    def test_who_does_not_read_is_closed_and_costs_no_more_than_the_limit(self):
        count = 100
        listeners = [self.connect() for _ in range(count)]
        for listener in listeners:
            listener.command("SUBSCRIBE", "c")
        publisher = self.connect()
        reader = self.connect()
        reader.command("SUBSCRIBE", "c")
        before = self.server.rss_bytes()
        text, most = "x" * 10_000, 0
        published = 0
        deadline = time.monotonic() + 60 * PATIENCE
        # One by one, as fast as the one who reads takes them; those who do not are closed.
        while publisher.command("PUBSUB", "NUMSUB", "c") != b"*2\r\n$1\r\nc\r\n:1\r\n":
            self.assertLess(time.monotonic(), deadline, "no client is closed")
            publisher.command("PUBLISH", "c", text)
            published += 1
            self.assertEqual(read(reader, push("message", "c", text)), push("message", "c", text))
            most = max(most, self.server.rss_bytes())
        # A megabyte each would be 100 MB; messages are shared as long as they wait in an inbox.
        self.assertLess(most - before, 200 * (1 << 20) * PATIENCE)
        self.assertEqual(publisher.command("PING"), b"+PONG\r\n")
        self.assertIn("messages unread", self.server.log())

    def test_closing_while_publishing(self):
        stop = threading.Event()
        errors = []

        def publish(channel):
            connection = self.server.connect()
            try:
                while not stop.is_set():
                    if not connection.command("PUBLISH", channel, "m" * 500).startswith(b":"):
                        errors.append("publish")
            except Exception as error:  # reported below
                errors.append(error)

        threads = [threading.Thread(target=publish, args=(f"c{i % 2}",)) for i in range(3)]
        for thread in threads:
            thread.start()
        for i in range(150):
            connection = socket.create_connection(("127.0.0.1", self.server.port))
            connection.sendall(encode("SUBSCRIBE", "c0", "c1") + encode("PSUBSCRIBE", "c*"))
            if i % 3 == 0:
                connection.recv(1000)
            connection.close()
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        asker = self.connect()
        wait_until(lambda: asker.command("PUBSUB", "NUMSUB", "c0") == b"*2\r\n$2\r\nc0\r\n:0\r\n", REPLY_SECONDS,
                   "all are unsubscribed")


class LoggedReplies(ServerTest):
    """Confirmations that wait for the log come before messages."""

    OPTIONS = {"io_threads": 2, "appendfsync": "always"}

    def test_confirmation_first(self):
        publisher = self.connect()
        for number in range(50):
            listener = self.connect()
            listener.send(encode("BF.ADD", "k", number) + encode("SUBSCRIBE", "c"))
            while publisher.command("PUBLISH", "c", "m") == b":0\r\n":
                pass
            expected = b":1\r\n" + push("subscribe", "c", 1) + push("message", "c", "m")
            self.assertEqual(read(listener, expected), expected)
            listener.send(encode("UNSUBSCRIBE"))
            while listener.reply() != push("unsubscribe", "c", 0):
                pass
            listener.close()


class Events(ServerTest):
    OPTIONS = {"io_threads": 2}

    def listen(self, letters):
        client = self.client()
        client.config_set("notify-keyspace-events", letters)
        self.addCleanup(client.config_set, "notify-keyspace-events", "")
        pubsub = client.pubsub(ignore_subscribe_messages=True)
        pubsub.psubscribe("__key*@0__:*")
        self.assertIsNone(pubsub.get_message(timeout=REPLY_SECONDS))
        self.addCleanup(pubsub.close)
        return client, pubsub

    def next(self, pubsub):
        message = pubsub.get_message(timeout=REPLY_SECONDS)
        self.assertIsNotNone(message)
        return message["channel"].split(b":", 1)[1].decode() + " " + message["data"].decode()

    def test_events_of_names_and_filters(self):
        client, pubsub = self.listen("Egxdn")
        client.execute_command("BF.RESERVE", "f", 0.01, 2)
        client.execute_command("BF.MADD", "f", *range(100))
        client.rename("f", "g")
        client.pexpire("g", 20)
        self.assertEqual([self.next(pubsub) for _ in range(8)],
                         ["new f", "bf.reserve f", "bf.madd f", "grown f", "rename_from f", "rename_to g", "expire g",
                          "expired g"])  # by itself: no command asks for it

    def test_frozen(self):
        client, pubsub = self.listen("Kd")
        client.execute_command("BF.RESERVE", "f", 0.01, 100, "TYPE", "ribbon")
        client.execute_command("BF.ADD", "f", "x")
        client.execute_command("BF.FREEZE", "f")
        events = [self.next(pubsub) for _ in range(4)]
        self.assertEqual(events, ["f bf.reserve", "f bf.add", "f bf.freeze", "f frozen"])

    def test_the_option(self):
        client = self.client()
        self.assertEqual(client.config_get("notify-keyspace-events"), {"notify-keyspace-events": ""})
        client.config_set("notify-keyspace-events", "KEA")
        self.assertEqual(client.config_get("notify-keyspace-events"), {"notify-keyspace-events": "KEA"})
        with self.assertRaisesRegex(Exception, "must be letters of KEgxdnA"):
            client.config_set("notify-keyspace-events", "KQ")
        client.config_set("notify-keyspace-events", "")


if __name__ == "__main__":
    main()
