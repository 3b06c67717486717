"""The admin port: health, metrics, and how it fares with clients that mean no good."""

import base64
import os
import socket
import subprocess

import admin
from admin import COLLECTED_SECONDS, AdminPortTest
from harness import PATIENCE, REPLY_SECONDS, Server, main, wait_until

class Health(AdminPortTest):
    def test_alive_and_ready(self):
        self.assertEqual((self.request("/healthz").status, self.request("/healthz").body), (200, "alive\n"))
        self.assertEqual((self.request("/readyz").status, self.request("/readyz").body), (200, "ready\n"))

    def test_not_ready_after_a_snapshot_failed(self):
        server = admin.make()
        self.addCleanup(server.clean_up)
        server.start()
        client = server.client()
        client.bf().add("a", "1")
        os.rename(server.directory, server.directory + ".gone")
        with self.assertRaises(Exception):
            client.save()
        response = admin.request(server, "/readyz")
        self.assertEqual(response.status, 503)
        self.assertRegex(response.body, "snapshot|log")
        self.assertEqual(admin.request(server, "/healthz").status, 200)

    def test_a_port_in_use_ends_the_start(self):
        second = Server(admin_port=self.server.admin_port)
        self.addCleanup(second.clean_up)
        second.spawn()
        self.assertEqual(second.wait(), 1)
        self.assertIn("admin port: cannot listen on 127.0.0.1", second.log())


def own_address():
    """An address of this machine beyond loopback; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return probe.getsockname()[0]


class Passwords(AdminPortTest):
    OPTIONS = {"requirepass": "se+cret", "admin_bind": "0.0.0.0"}

    def setUp(self):
        self.server.check_alive()

    def ask(self, path, user=None, host=None):
        headers = {"Host": host} if host else {}
        if user:
            headers["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        return admin.request(self.server, path, headers=headers, address=self.address).status

    def test_beyond_loopback(self):
        self.address = own_address()
        if self.address.startswith("127."):
            self.skipTest("this machine has no address beyond loopback")
        client = self.client(password="se+cret")
        client.execute_command("ACL", "SETUSER", "reader", "on", ">letmein", "+info")
        client.execute_command("ACL", "SETUSER", "adder", "on", ">letmein", "+bf.add", "~*")
        for path in ("/", "/metrics", "/api/status", "/nothing"):
            self.assertEqual(self.ask(path), 401, path)
            self.assertEqual(self.ask(path, "default:wrong"), 401, path)
        for user, status in {"default:se+cret": 200, "reader:letmein": 200, "adder:letmein": 401}.items():
            self.assertEqual(self.ask("/metrics", user), status, user)
        self.assertEqual(self.ask("/metrics", "default:se+cret", host="bitsieve.example.com"), 200)
        self.assertEqual((self.ask("/healthz"), self.ask("/readyz", host="bitsieve.example.com")), (200, 200))

    def test_on_loopback(self):
        self.address = "127.0.0.1"
        self.assertEqual(self.ask("/metrics"), 200)
        self.assertEqual(self.ask("/metrics", host="evil.example.com"), 403)


class ProtectedMode(AdminPortTest):
    OPTIONS = {"admin_bind": "0.0.0.0"}

    def status(self, path, address):
        return admin.request(self.server, path, address=address).status

    def test_without_a_password_other_machines_see_health_alone(self):
        address = own_address()
        if address.startswith("127."):
            self.skipTest("this machine has no address beyond loopback")
        pages = ("/", "/metrics", "/api/status", "/api/filters", "/api/history", "/dashboard.js", "/nothing")
        for path in pages:
            self.assertEqual(self.status(path, address), 403, path)
            self.assertNotEqual(self.status(path, "127.0.0.1"), 403, path)
        self.assertIn("protected-mode", admin.request(self.server, "/metrics", address=address).body)
        self.assertEqual([self.status(path, address) for path in ("/healthz", "/readyz")], [200, 200])
        client = self.client()
        client.config_set("protected-mode", "no")
        self.assertEqual(self.status("/metrics", address), 200)
        client.config_set("protected-mode", "yes")
        self.assertEqual(self.status("/metrics", address), 403)


class Metrics(AdminPortTest):
    OPTIONS = {"metrics_largest_filters": 2, "metrics_filters": "chosen:*"}

    def test_agree_with_info(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "large", "0.001", 100000)
        client.bf().madd("large", *range(500))
        client.bf().exists("large", 1)
        # Clients of other tests may still be on their way out.
        wait_until(lambda: client.info()["connected_clients"] == 1, 20 * PATIENCE, "there is one client")
        info = client.info()
        metrics = self.metrics()
        for name, field in {"bitsieve_used_memory_bytes": "used_memory",
                            "bitsieve_connected_clients": "connected_clients",
                            "bitsieve_items_added_total": "items_added",
                            "bitsieve_keyspace_hits_total": "keyspace_hits",
                            "bitsieve_maxclients": "maxclients"}.items():
            self.assertEqual(metrics[name], info[field], name)

    def test_of_the_largest_filters_and_of_patterns(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "large", "0.001", 100000)
        client.bf().madd("large", *range(500))
        for name in ("chosen:a", "chosen:b", "other:c", b"chosen:\xff\"\n"):
            client.bf().add(name, 1)
        self.wait_for_metric("bitsieve_filters", 5)
        metrics = self.metrics()
        labels = {name.split("{")[1] for name in metrics if name.startswith("bitsieve_filter_items{")}
        self.assertEqual(labels, {'filter="large"}', 'filter="chosen:a"}', 'filter="chosen:b"}',
                                  r'filter="chosen:\\xff\"\\x0a"}'})
        for name, selector in {"items": "ITEMS", "capacity_items": "CAPACITY", "size_bytes": "SIZE",
                               "sub_filters": "FILTERS", "requested_error_rate": "ERROR",
                               "estimated_error_rate": "ESTIMATED"}.items():
            value = self.connect(3).command("BF.INFO", "large", selector).split(b"\r\n")[2][1:]
            self.assertAlmostEqual(metrics[f'bitsieve_filter_{name}{{filter="large"}}'], float(value), 9, name)
        self.assertEqual(metrics['bitsieve_filter_fill_ratio{filter="large"}'], 0.005)

    def test_which_filters_may_change(self):
        client = self.client()
        self.addCleanup(client.config_set, "metrics-filters", "chosen:*")
        client.bf().add("new:a", 1)
        client.bf().add("x", 1)
        client.bf().add("y", 1)
        client.config_set("metrics-filters", "new:* y")
        client.config_set("metrics-largest-filters", 0)
        self.addCleanup(client.config_set, "metrics-largest-filters", 2)
        wanted = {'bitsieve_filter_items{filter="new:a"}', 'bitsieve_filter_items{filter="y"}'}
        wait_until(lambda: {name for name in self.metrics() if name.startswith("bitsieve_filter_items")} == wanted,
                   COLLECTED_SECONDS, "only the filters that match have metrics")

    def test_promtool_finds_nothing_wrong(self):
        self.client().bf().add("chosen:a", 1)
        self.wait_for_metric('bitsieve_filter_items{filter="chosen:a"}', 1)
        checked = subprocess.run(["promtool", "check", "metrics"], input=self.request("/metrics").body, text=True,
                                 capture_output=True, timeout=60 * PATIENCE)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    def test_openmetrics_if_it_is_wanted(self):
        response = self.request("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
        self.assertIn("application/openmetrics-text; version=1.0.0", response.headers["Content-Type"])
        self.assertTrue(response.body.endswith("# EOF\n"))
        self.assertIn("# TYPE bitsieve_commands_processed counter\n", response.body)
        self.assertIn("text/plain; version=0.0.4", self.request("/metrics").headers["Content-Type"])


class HostileClients(AdminPortTest):
    def assert_responsive(self):
        self.assertEqual(self.request("/healthz").body, "alive\n")
        self.assertEqual(self.client().ping(), True)

    def answer(self, data):
        with admin.raw(self.server) as connection:
            connection.sendall(data)
            connection.settimeout(REPLY_SECONDS)
            answer = b""
            try:
                while part := connection.recv(65536):
                    answer += part
            except ConnectionResetError:
                pass
            return answer

    def test_requests_that_are_none(self):
        for data, status in {b"\r\n\r\n": b"400", b"\0\xff\r\n\r\n": b"400", b"GET\r\n\r\n": b"400",
                             b"*1\r\n$4\r\nPING\r\n\r\n\r\n": b"400", b"GET /%00%ff%zz HTTP/1.1\r\n\r\n": b"403",
                             b"BREW / HTTP/1.1\r\n\r\n": b"400", b"DELETE / HTTP/1.1\r\n\r\n": b"405",
                             b"GET /healthz HTTP/9.9\r\n\r\n": b"400",
                             b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n": b"414",
                             b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 500 + b"\r\n": b"431",
                             b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000: b"431",
                             b"y" * 1_000_000: b"431",
                             b"GET /healthz HTTP/1.1\r\nRange: bytes=" + b"0-1," * 2000 + b"\r\n\r\n": b"200",
                             b"POST /healthz HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\nbody": b"405"}.items():
            with self.subTest(data=data[:60]):
                answer = self.answer(data)
                # What was sent and not read may take the response away.
                self.assertTrue(answer == b"" and len(data) > 16384 or answer.startswith(b"HTTP/1.1 " + status), answer)
        self.assert_responsive()

    def test_clients_that_send_slowly(self):
        """More than there is room for: those that came first make room."""
        slow = [admin.raw(self.server) for _ in range(300)]
        for connection in slow:
            self.addCleanup(connection.close)
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX-a: ")
        self.assert_responsive()
        for _ in range(5):
            for connection in slow[-100:]:
                connection.sendall(b"b")
            self.assert_responsive()

    def test_clients_that_do_not_read(self):
        for _ in range(200):
            connection = admin.raw(self.server)
            self.addCleanup(connection.close)
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assert_responsive()

    def test_clients_that_come_and_go(self):
        for _ in range(1000):
            admin.raw(self.server).close()
        self.assert_responsive()


if __name__ == "__main__":
    main()
