"""What operators and their tools see of commands: SLOWLOG, LATENCY, MONITOR, the sections of INFO about commands, and
the programs that read them (Debian's prometheus-redis-exporter, the requests of RedisInsight)."""

import re
import shutil
import socket
import subprocess
import threading
import unittest
import urllib.request

import redis

from harness import REPLY_SECONDS, ServerTest, main, wait_until


class Slow(ServerTest):
    def setUp(self):
        super().setUp()
        self.r = self.client(decode_responses=True)
        self.addCleanup(self.r.config_set, "slowlog-log-slower-than", 10_000)
        self.addCleanup(self.r.config_set, "latency-monitor-threshold", 0)

    def test_slow_log(self):
        self.assertEqual(self.r.config_get("slowlog-*"),
                         {"slowlog-log-slower-than": "10000", "slowlog-max-len": "128"})
        self.r.client_setname("operator")
        self.r.config_set("slowlog-log-slower-than", 0)
        self.r.slowlog_reset()
        self.r.execute_command("BF.ADD", "f", "a")
        entry = next(e for e in self.r.slowlog_get(10) if e["command"].startswith(b"BF.ADD"))
        self.assertEqual(entry["command"], b"BF.ADD f a")
        self.assertGreaterEqual(self.r.slowlog_len(), 1)
        shown = self.server.cli("SLOWLOG", "GET", 10)
        self.assertIn("BF.ADD", shown)
        self.assertIn("operator", shown)
        self.r.config_set("slowlog-log-slower-than", -1)
        self.r.slowlog_reset()
        self.r.execute_command("BF.ADD", "f", "b")
        self.assertEqual(self.r.slowlog_len(), 0)
        self.assertIn("SLOWLOG <subcommand>", self.server.cli("SLOWLOG", "HELP"))

    def test_latency_events(self):
        self.r.config_set("latency-monitor-threshold", 1)
        self.r.execute_command("BF.RESERVE", "f", "0.0001", 5_000_000)
        while not self.r.execute_command("LATENCY", "LATEST"):
            self.r.execute_command("BF.MADD", "f", *range(50_000))  # runs aside
        name, _, last_ms, most_ms = self.r.execute_command("LATENCY", "LATEST")[0]
        self.assertIn(name, ("command", "log-sync", "fast-command", "event-loop"))
        self.assertLessEqual(1, last_ms)
        self.assertLessEqual(last_ms, most_ms)
        self.assertGreaterEqual(self.r.execute_command("LATENCY", "RESET"), 1)

    def test_histogram(self):
        for i in range(100):
            self.r.execute_command("BF.ADD", "f", i)
        with self.server.client(decode_responses=True) as client:
            name, (_, calls, _, buckets) = client.execute_command("LATENCY", "HISTOGRAM", "bf.add")
        self.assertEqual(name, "bf.add")
        self.assertGreaterEqual(calls, 100)
        self.assertEqual(buckets[-1], calls)
        self.assertEqual(buckets[::2], sorted(buckets[::2]))


class Monitor(ServerTest):
    OPTIONS = {"io_threads": 3}

    def watch(self):
        monitor = self.connect()
        self.assertEqual(monitor.command("MONITOR"), b"+OK\r\n")
        return monitor

    def test_shows_commands_of_all_loops(self):
        monitor = self.watch()
        threads, commands = 6, 200

        def work(number):
            with self.server.connect() as connection:
                for i in range(commands):
                    connection.command("BF.ADD", f"f{number}", i)

        workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        for worker in workers:
            worker.start()
        seen = {}
        for _ in range(threads * commands):
            line = monitor.reply().decode()
            found = re.fullmatch(r'\+\d+\.\d{6} \[0 127\.0\.0\.1:\d+\] "BF\.ADD" "f(\d)" "(\d+)"\r\n', line)
            self.assertIsNotNone(found, line)
            seen.setdefault(found[1], []).append(int(found[2]))
        for worker in workers:
            worker.join()
        self.assertEqual(sorted(seen), [str(i) for i in range(threads)])
        self.assertTrue(all(items == list(range(commands)) for items in seen.values()))

    def test_comes_and_goes_under_load(self):
        stop = threading.Event()

        def work():
            with self.server.client() as client:
                while not stop.is_set():
                    pipe = client.pipeline(transaction=False)
                    for i in range(64):
                        pipe.execute_command("BF.EXISTS", "f", i)
                    pipe.execute()

        worker = threading.Thread(target=work)
        worker.start()
        try:
            for i in range(20):
                monitor = self.watch()
                wait_until(lambda m=monitor: b'"BF.EXISTS"' in m.reply(), REPLY_SECONDS, "a line")
                if i % 2:
                    monitor.close()
                    continue
                monitor.send(b"RESET\r\n")
                wait_until(lambda m=monitor: m.reply() == b"+RESET\r\n", REPLY_SECONDS, "the end of the lines")
                self.assertEqual(monitor.command("ECHO", "x"), b"$1\r\nx\r\n", "no line comes any more")
        finally:
            stop.set()
            worker.join()

    def test_quit_ends_it(self):
        monitor = self.watch()
        self.assertTrue(monitor.command("QUIT").startswith(b"+"))
        monitor.rest()

    def test_a_monitor_that_does_not_read_is_closed(self):
        admin = self.client(decode_responses=True)
        admin.config_set("client-output-buffer-limit", 100_000)
        self.addCleanup(admin.config_set, "client-output-buffer-limit", 256 << 20)
        monitor = socket.create_connection(("127.0.0.1", self.server.port))
        self.addCleanup(monitor.close)
        monitor.sendall(b"MONITOR\r\n")
        watched = wait_until(lambda: [c for c in admin.client_list() if "O" in c["flags"]], REPLY_SECONDS, "a monitor")

        def is_gone():
            pipe = admin.pipeline(transaction=False)
            for _ in range(500):
                pipe.execute_command("ECHO", "x" * 900)
            pipe.execute()
            return watched[0]["id"] not in [c["id"] for c in admin.client_list()]

        wait_until(is_gone, REPLY_SECONDS, "the monitor is closed")


class Reports(ServerTest):
    def test_sections_of_info(self):
        r = self.client(decode_responses=True)
        r.config_resetstat()
        for i in range(10):
            r.execute_command("BF.ADD", "f", i)
        with self.assertRaises(redis.ResponseError):
            r.execute_command("BF.ADD", "f")
        with self.assertRaises(redis.ResponseError):
            r.execute_command("BF.INFO", "none")
        added = r.info("commandstats")["cmdstat_bf.add"]
        self.assertEqual((added["calls"], added["rejected_calls"], added["failed_calls"]), (10, 1, 0))
        self.assertEqual(r.info("commandstats")["cmdstat_bf.info"]["failed_calls"], 1)
        self.assertEqual(r.info("errorstats")["errorstat_ERR"], "count=2")
        self.assertLess(0, r.info("latencystats")["latency_percentiles_usec_bf.add"]["p50"])
        self.assertIn("errorstat_ERR", r.info())
        self.assertNotIn("cmdstat_bf.add", r.info())
        self.assertIn("cmdstat_bf.add", r.info("all"))

    def test_rates(self):
        r = self.client()

        def rate():
            for _ in range(200):
                r.execute_command("PING")
            info = r.info("stats")
            return info["instantaneous_ops_per_sec"] > 0 and info["instantaneous_input_kbps"] > 0

        wait_until(rate, REPLY_SECONDS, "the rate is sampled")

    def test_redis_insight_connects(self):
        """In the order in which it asks; SENTINEL must be an error, or it would take the server for one."""
        r = self.client(decode_responses=True)
        r.execute_command("BF.ADD", "f", "a")
        info = r.info()
        for field in ("redis_version", "used_memory", "connected_clients", "uptime_in_seconds", "keyspace_hits",
                      "keyspace_misses", "instantaneous_ops_per_sec", "instantaneous_input_kbps",
                      "instantaneous_output_kbps", "maxmemory_policy", "role", "db0", "run_id", "used_memory_peak",
                      "total_system_memory", "mem_fragmentation_ratio", "mem_allocator", "master_replid"):
            self.assertIn(field, info)
        self.assertRegex(info["run_id"], "^[0-9a-f]{40}$")
        self.assertEqual(r.module_list()[0]["name"], "bf")
        self.assertEqual(r.config_get("databases"), {"databases": "1"})
        self.assertIn(r.client_id(), [int(client["id"]) for client in r.client_list()])
        for command in (("CLUSTER", "INFO"), ("SENTINEL", "MASTERS")):
            with self.assertRaises(redis.ResponseError):
                r.execute_command(*command)
        self.assertEqual(r.dbsize(), 1)
        self.assertEqual(r.scan(0, match="*", count=500), (0, ["f"]))
        self.assertEqual(r.type("f"), "MBbloom--")
        self.assertEqual(r.ttl("f"), -1)
        self.assertGreater(r.execute_command("MEMORY", "USAGE", "f", "SAMPLES", 0), 0)
        self.assertIsInstance(r.slowlog_get(50), list)
        self.assertEqual(self.connect().command("MONITOR"), b"+OK\r\n")


@unittest.skipIf(shutil.which("prometheus-redis-exporter") is None, "apt-get install prometheus-redis-exporter")
class Exporter(ServerTest):
    def scrape(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=REPLY_SECONDS) as page:
            return page.read().decode()

    def test_exports(self):
        r = self.client()
        for i in range(7):
            r.execute_command("BF.ADD", "f", i)
        with self.assertRaises(redis.ResponseError):
            r.execute_command("BF.INFO", "none")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = ["prometheus-redis-exporter", "-redis.addr", f"redis://127.0.0.1:{self.server.port}",
                   "-web.listen-address", f"127.0.0.1:{self.port}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as exporter:
            self.addCleanup(exporter.kill)
            page = wait_until(self.try_scrape, REPLY_SECONDS, "the exporter answers")
            exporter.kill()
        for line in ('redis_up 1', 'redis_commands_total{cmd="bf.add"} 7', "redis_db_keys{db=\"db0\"} 1",
                     'redis_errors_total{err="ERR"}', "redis_slowlog_length ", "redis_memory_used_peak_bytes ",
                     "redis_mem_fragmentation_ratio ", "redis_commands_duration_seconds_total{cmd=\"bf.add\"}"):
            self.assertIn("\n" + line, page)
        self.assertRegex(page, r'redis_exporter_last_scrape_error\{err=""\} 0')

    def try_scrape(self):
        try:
            return self.scrape()
        except OSError:
            return None


if __name__ == "__main__":
    main()
