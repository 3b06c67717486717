"""What connections may take: replies that are not read, requests that are not finished, queues that are not run.
RSS is bounded by the limit and a margin, whatever clients do, and comes back."""

import pathlib
import re
import time

from harness import PATIENCE, OwnServerTest, encode, main, wait_until

MB = 1 << 20
MARGIN = 64 * MB


def send_what_fits(connection, data):
    """As far as the server takes it; a client that is closed before the end is no error."""
    connection.socket.settimeout(2 * PATIENCE)
    try:
        connection.socket.sendall(data)
    except (TimeoutError, ConnectionError):
        pass


class ClientMemory(OwnServerTest):
    def start(self, **options):
        self.server = self.make_server(appendonly="no", **options).start()
        self.other = self.server.connect()

    def make_filter(self, megabytes):
        bits = megabytes * MB * 8
        self.assertEqual(self.other.command("BF.RESERVE", "f", 0.01, bits // 10, "NONSCALING"), b"+OK\r\n")

    def info(self, name):
        found = re.search(rb"\r\n%s:(\d+)\r\n" % name.encode(), self.other.command("INFO", "everything"))
        return int(found.group(1))

    def begin(self):
        """From here on the peak is measured."""
        pathlib.Path(f"/proc/{self.server.process.pid}/clear_refs").write_text("5")
        self.rss = self.server.rss_bytes()

    def peak_growth(self):
        self.server.check_alive()
        status = pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * 1024 - self.rss

    def assert_bounded(self, limit):
        for _ in range(20):
            self.assertEqual(self.other.command("PING"), b"+PONG\r\n")
            time.sleep(0.02)
        self.assertLess(self.peak_growth(), (limit + MARGIN) * PATIENCE)

    def assert_given_back(self):
        wait_until(lambda: self.info("mem_clients_normal") < MB, 20 * PATIENCE, "the connections' memory is free")
        wait_until(lambda: self.server.rss_bytes() - self.rss < 32 * MB * PATIENCE, 20 * PATIENCE,
                   "the memory is back with the system")


class DeletedFilters(ClientMemory):
    """Nothing is asked for: MEMORY PURGE is for those who cannot wait some seconds."""

    NAMES = 400_000  # more than 64 MB

    def fill(self):
        for first in range(0, self.NAMES, 5_000):
            names = range(first, first + 5_000)
            self.other.send(b"".join(encode("BF.ADD", f"user:{i:06d}", "item") for i in names))
            for _ in names:
                self.assertEqual(self.other.reply(), b":1\r\n")

    def assert_that_memory_goes_back(self, *command):
        self.start()
        self.begin()
        self.fill()
        self.assertGreater(self.server.rss_bytes() - self.rss, 64 * MB)
        self.assertEqual(self.other.command(*command), b"+OK\r\n")
        self.assertEqual(self.other.command("DBSIZE"), b":0\r\n")
        self.assert_given_back()

    def test_goes_back_after_flushall(self):
        self.assert_that_memory_goes_back("FLUSHALL")

    def test_goes_back_after_flushall_sync(self):
        self.assert_that_memory_goes_back("FLUSHALL", "SYNC")


class Replies(ClientMemory):
    def test_of_a_transaction_that_is_not_read(self):
        self.start(client_output_buffer_limit="1mb")
        self.make_filter(1)
        deaf = self.server.connect()
        self.assertEqual(deaf.command("MULTI"), b"+OK\r\n")
        deaf.send(encode("BF.DUMP", "f") * 2000)
        for _ in range(2000):
            self.assertEqual(deaf.reply(), b"+QUEUED\r\n")
        self.begin()
        deaf.send(encode("EXEC"))
        self.assert_bounded(MB)
        self.assertIn("client-output-buffer-limit", self.server.log())

    def test_of_pipelines_that_are_not_read(self):
        self.start(client_output_buffer_limit="256mb", maxmemory_clients="64mb")
        self.make_filter(1)
        self.begin()
        deaf = [self.server.connect() for _ in range(20)]
        for connection in deaf:
            connection.send(encode("BF.DUMP", "f") * 50)
        wait_until(lambda: self.info("evicted_clients") > 0, 20 * PATIENCE, "a client is closed")
        self.assert_bounded(64 * MB)
        self.assertLessEqual(self.info("mem_clients_normal"), 64 * MB)
        for connection in deaf:
            connection.close()
        self.assert_given_back()

    def test_that_alone_are_too_large_are_not_made(self):
        self.start(client_output_buffer_limit="1mb")
        self.make_filter(30)
        self.begin()
        for command in (("BF.DUMP", "f"), ("BF.SCANDUMP", "f", 0), ("ECHO", "x" * 2 * MB)):
            connection = self.server.connect()
            send_what_fits(connection, encode(*command))
            self.assertTrue(connection.is_closed(), command[0])
        self.assert_bounded(MB)

    def test_are_without_limit_for_a_client_that_reads(self):
        self.start(client_output_buffer_limit="8mb")
        self.make_filter(1)
        dump = self.other.command("BF.DUMP", "f")
        reader = self.server.connect()
        self.begin()
        reader.send(encode("BF.DUMP", "f") * 300)
        for _ in range(300):
            self.assertEqual(reader.reply(), dump)
        self.assert_bounded(8 * MB)

    def test_of_a_client_that_sends_all_before_it_reads(self):
        self.start(client_output_buffer_limit="8mb")
        client = self.server.connect()
        client.send(encode("ECHO", "x" * 1000) * 7000)
        for _ in range(7000):
            self.assertEqual(len(client.reply()), 1009)


class Requests(ClientMemory):
    def test_that_are_never_finished(self):
        self.start(maxmemory="10mb", maxmemory_clients="64mb")
        self.begin()
        head = b"*3\r\n$6\r\nBF.ADD\r\n$1\r\nk\r\n$500000000\r\n"
        halves = [self.server.connect() for _ in range(20)]
        for connection in halves:
            send_what_fits(connection, head + b"x" * (30 * MB))
        self.assert_bounded(64 * MB)
        self.assertGreater(self.info("evicted_clients"), 0)
        for connection in halves:
            connection.close()
        self.assert_given_back()

    def test_of_very_many_arguments(self):
        self.start(maxmemory_clients="16mb")
        self.begin()
        for _ in range(8):
            send_what_fits(self.server.connect(), b"*1000000\r\n" + b"$1\r\nx\r\n" * 900000)
        self.assert_bounded(16 * MB)

    def test_that_are_queued_and_never_run(self):
        self.start(maxmemory_clients="16mb")
        self.begin()
        for _ in range(8):
            send_what_fits(self.server.connect(), b"MULTI\r\n" + encode("ECHO", "x" * 10000) * 600)
        self.assert_bounded(16 * MB)
        self.assertGreater(self.info("evicted_clients"), 0)

    def test_that_wait_for_the_end_of_a_pause(self):
        self.start(maxmemory_clients="16mb")
        self.begin()
        self.assertEqual(self.other.command("CLIENT", "PAUSE", 600000, "WRITE"), b"+OK\r\n")
        for _ in range(8):
            send_what_fits(self.server.connect(), encode("PUBLISH", "c", "x" * 200000) * 30)
        self.assertEqual(self.other.command("CLIENT", "UNPAUSE"), b"+OK\r\n")
        self.assert_bounded(16 * MB)


class Accounts(ClientMemory):
    def test_a_client_may_be_exempt(self):
        self.start(maxmemory_clients="16mb", io_threads=1)
        exempt, first = self.server.connect(), self.server.connect()
        self.assertEqual(exempt.command("CLIENT", "NO-EVICT", "ON"), b"+OK\r\n")
        exempt.send(b"*2\r\n$4\r\nECHO\r\n$12000000\r\n" + b"x" * 11999999)
        send_what_fits(first, b"*2\r\n$4\r\nECHO\r\n$9000000\r\n" + b"x" * 8999999)
        self.assertTrue(first.is_closed())
        exempt.send(b"x\r\n")
        self.assertEqual(len(exempt.reply()), 12000000 + 13)

    def test_the_list_tells_what_each_takes(self):
        self.start(io_threads=1)
        busy = self.server.connect()
        busy.command("CLIENT", "SETNAME", "busy")
        busy.send(b"MULTI\r\n" + encode("ECHO", "x" * 100000))
        self.assertEqual(busy.reply() + busy.reply(), b"+OK\r\n+QUEUED\r\n")
        busy.send(b"*2\r\n$4\r\nECHO\r\n$200000\r\n" + b"x" * 150000)

        def fields():
            line = next(line for line in self.server.client().client_list() if line["name"] == "busy")
            return {name: int(line[name]) for name in ("qbuf", "qbuf-free", "multi-mem", "omem", "tot-mem", "multi")}

        wait_until(lambda: fields()["qbuf"] >= 150000, 20 * PATIENCE, "the request's bytes are told")
        told = fields()
        self.assertGreaterEqual(told["multi-mem"], 100000)
        self.assertEqual(told["multi"], 1)
        self.assertGreaterEqual(told["tot-mem"], told["qbuf"] + told["qbuf-free"] + told["multi-mem"])
        self.assertGreaterEqual(self.info("mem_clients_normal"), told["tot-mem"])

    def test_a_percentage_is_of_maxmemory(self):
        self.start(maxmemory="2gb", maxmemory_clients="25%")
        self.assertEqual(self.info("maxmemory_clients"), 512 * MB // 100 * 100)


class Http(ClientMemory):
    def test_a_post_closes_before_its_body_runs(self):
        self.start()
        self.make_filter(1)
        for request in (b"POST / HTTP/1.1\r\nHost: a\r\n\r\nFLUSHALL\r\n", b"x\r\nhost: a\r\nFLUSHALL\r\n",
                        encode("POST", "/") + encode("FLUSHALL"), b"MULTI\r\nFLUSHALL\r\nPoSt\r\nEXEC\r\n"):
            connection = self.server.connect()
            connection.send(request)
            self.assertTrue(connection.is_closed(), request)
        self.assertEqual(self.other.command("EXISTS", "f"), b":1\r\n")
        self.assertEqual(self.server.log().count("Possible SECURITY ATTACK"), 1)


class Control(ClientMemory):
    def test_clients_are_killed_by_address_and_by_filter(self):
        self.start()
        one, two, client = self.server.connect(), self.server.connect(), self.server.client()
        address = "%s:%d" % one.socket.getsockname()
        self.assertTrue(client.client_kill(address))
        self.assertTrue(one.is_closed())
        self.assertEqual(client.client_kill_filter(_id=two.command("CLIENT", "ID")[1:-2].decode()), 1)
        self.assertTrue(two.is_closed())
        self.assertEqual(client.client_kill_filter(_id="99999"), 0)
        self.assertEqual(self.other.command("CLIENT", "KILL", address), b"-ERR No such client\r\n")
        self.assertEqual(self.other.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")[:1], b":")
        self.assertTrue(self.other.is_closed())

    def test_a_pause_holds_writes_and_not_reads(self):
        self.start()
        writer, client = self.server.connect(), self.server.client()
        self.assertTrue(client.client_pause(600000, all=False))
        writer.send(encode("BF.ADD", "f", "x") + encode("BF.EXISTS", "f", "x"))
        self.assertEqual(self.other.command("BF.EXISTS", "f", "x"), b":0\r\n")
        self.assertTrue(client.client_unpause())
        self.assertEqual(writer.reply() + writer.reply(), b":1\r\n:1\r\n")

    def test_a_paused_server_stops(self):
        self.start()
        self.assertEqual(self.other.command("CLIENT", "PAUSE", 600000), b"+OK\r\n")
        waiting = self.server.connect()
        waiting.send(encode("PING"))
        time.sleep(0.1)
        self.assert_stops_well(self.server)
        self.assertEqual(waiting.rest(), b"+PONG\r\n")

    def test_replies_can_be_switched_off(self):
        self.start()
        client = self.server.connect()
        client.send(encode("CLIENT", "REPLY", "OFF") + encode("PING") + encode("NOSUCH") + encode("BF.ADD", "f", "x") +
                    encode("CLIENT", "REPLY", "ON") + encode("BF.EXISTS", "f", "x"))
        client.send(encode("CLIENT", "REPLY", "SKIP") + encode("SAVE") + encode("ECHO", "a"))
        self.assertEqual(client.reply() + client.reply() + client.reply(), b"+OK\r\n:1\r\n$1\r\na\r\n")


if __name__ == "__main__":
    main()
