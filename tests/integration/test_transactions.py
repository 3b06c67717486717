"""WATCH as clients use it: redis-py's transaction() and watching pipelines, and raw bytes."""

import threading

import redis

from harness import REPLY_SECONDS, ServerTest, encode, main


class Watching(ServerTest):
    OPTIONS = {"io_threads": 2}

    def test_bytes_of_both_protocols(self):
        for version, null in ((2, b"*-1\r\n"), (3, b"_\r\n")):
            connection, other = self.connect(version), self.connect()
            self.assertEqual(connection.command("WATCH", "k", "another"), b"+OK\r\n")
            self.assertEqual(other.command("BF.ADD", "k", f"by {version}"), b":1\r\n")
            self.assertEqual(connection.command("MULTI"), b"+OK\r\n")
            self.assertEqual(connection.command("BF.ADD", "k", "mine"), b"+QUEUED\r\n")
            self.assertEqual(connection.command("EXEC"), null)
            self.assertEqual(other.command("BF.EXISTS", "k", "mine"), b":0\r\n")

    def test_a_watching_pipeline(self):
        client, other = self.client(), self.client()
        with client.pipeline() as pipeline:
            pipeline.watch("k")
            self.assertEqual(pipeline.exists("k"), 0)
            other.execute_command("BF.ADD", "k", "x")
            pipeline.multi()
            pipeline.execute_command("BF.ADD", "k", "y")
            with self.assertRaises(redis.WatchError):
                pipeline.execute()
            pipeline.watch("k")
            pipeline.multi()
            pipeline.execute_command("BF.ADD", "k", "y")
            self.assertEqual(pipeline.execute(), [1])
            pipeline.watch("k")
            pipeline.unwatch()
            other.delete("k")
            pipeline.multi()
            pipeline.ping()
            self.assertEqual(pipeline.execute(), [True])

    def test_transaction_is_repeated_until_it_holds(self):
        client, other = self.client(), self.client()
        looks = []

        def add_unless_there(pipeline):
            looks.append(pipeline.execute_command("BF.EXISTS", "k", "x"))
            if len(looks) < 3:
                other.execute_command("BF.ADD", "k", f"meanwhile {len(looks)}")
            pipeline.multi()
            pipeline.execute_command("BF.ADD", "k", "x")

        self.assertEqual(client.transaction(add_unless_there, "k"), [1])
        self.assertEqual(looks, [0, 0, 0])

    def test_one_of_many_takes_the_last_place(self):
        """Look, then write if no other client was faster. Clients on both event loops; none is one too many."""
        rounds, clients = 40, 6
        wins = []
        client = self.client()
        for name in ("taken", "winners"):
            client.execute_command("BF.RESERVE", name, 0.000001, 1000, "TYPE", "counting")

        def take_places():
            client = self.server.client()
            for place in range(rounds):
                def take(pipeline, place=place):
                    free = pipeline.execute_command("BF.EXISTS", "taken", place) == 0
                    pipeline.multi()
                    if free:
                        pipeline.execute_command("BF.ADD", "taken", place)
                        pipeline.execute_command("BF.ADD", "winners", place)
                if client.transaction(take, "taken") == [1, 1]:
                    wins.append(place)
            client.close()

        threads = [threading.Thread(target=take_places) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(wins), list(range(rounds)))
        for place in range(rounds):  # a second winner would be counted
            self.assertEqual(client.execute_command("BF.COUNT", "winners", place), 1)

    def test_expiry_is_a_touch(self):
        connection = self.connect()
        connection.command("BF.ADD", "k", "x")
        connection.command("PEXPIRE", "k", 1000)  # not before WATCH, however slow the machine is
        connection.command("WATCH", "k")
        other = self.client()
        while other.exists("k"):
            pass
        connection.command("MULTI")
        self.assertEqual(connection.command("EXEC"), b"*-1\r\n")

    def test_a_pipeline_in_one_write(self):
        connection = self.connect()
        connection.socket.settimeout(REPLY_SECONDS)
        connection.send(encode("WATCH", "k") + encode("BF.ADD", "k", "x") + encode("MULTI") + encode("PING") +
                        encode("EXEC") + encode("MULTI") + encode("PING") + encode("EXEC"))
        self.assertEqual([connection.reply() for _ in range(8)],
                         [b"+OK\r\n", b":1\r\n", b"+OK\r\n", b"+QUEUED\r\n", b"*-1\r\n", b"+OK\r\n", b"+QUEUED\r\n",
                          b"*1\r\n+PONG\r\n"])


if __name__ == "__main__":
    main()
