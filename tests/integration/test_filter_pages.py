"""Filters over HTTP: dumps and changes at /filters/NAME of the admin port, directly and through a cache."""

import base64
import gzip
import http.client
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
from urllib.parse import quote

import admin
from admin import AdminPortTest, free_port
from filter_types import needed_options, type_names
from harness import HOST, PATIENCE, REPLY_SECONDS, main, wait_until

POSITION, MORE = "Bitsieve-Position", "Bitsieve-More"


class Response:
    """Status, headers and bytes of a response."""

    def __init__(self, port, path, method="GET", user=None, **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if user:
            headers["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        connection = http.client.HTTPConnection(HOST, port, timeout=REPLY_SECONDS)
        try:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            self.status, self.headers, self.body = response.status, response.headers, response.read()
        finally:
            connection.close()


class FilterPagesTest(AdminPortTest):
    OPTIONS = {"admin_filters": "yes"}

    def get(self, path, **headers):
        return Response(self.server.admin_port, path, **headers)

    def get_filter(self, name, **headers):
        return self.get("/filters/" + quote(name, safe=""), **headers)

    def changes(self, name, position, count=""):
        path = f"/filters/{quote(name, safe='')}/changes?since={position}"
        return self.get(path + (f"&count={count}" if count else ""))


class Dumps(FilterPagesTest):
    def make_filter(self, client, name):
        if name == "rediscuckoo":
            client.execute_command("CF.RESERVE", name, 1000)
            client.execute_command("CF.INSERT", name, "ITEMS", *range(500))
        else:
            client.execute_command("BF.RESERVE", name, 0.01, 1000, "TYPE", name, *needed_options(name))
            client.execute_command("BF.MADD", name, *range(500))

    def test_of_every_type_can_be_restored(self):
        client = self.client()
        for name in [*type_names(by_reserve=True), "rediscuckoo"]:
            with self.subTest(type=name):
                self.make_filter(client, name)
                response = self.get_filter(name)
                self.assertEqual((response.status, response.headers["Content-Type"]), (200, "application/octet-stream"))
                self.assertEqual(int(response.headers["Content-Length"]), len(response.body))
                self.assertEqual(response.body, client.execute_command("BF.DUMP", name))
                client.execute_command("BF.RESTORE", "copy", response.body, "REPLACE")
                items = [*range(400, 600)]
                exists = "CF.MEXISTS" if name == "rediscuckoo" else "BF.MEXISTS"
                self.assertEqual(client.execute_command(exists, "copy", *items),
                                 client.execute_command(exists, name, *items))
                head = self.get_filter(name, method="HEAD")
                self.assertEqual((head.status, head.body, head.headers["ETag"]), (200, b"", response.headers["ETag"]))
                self.assertEqual(head.headers["Content-Length"], response.headers["Content-Length"])

    def test_names_are_any_bytes(self):
        client = self.client()
        names = [b"a/b", b"a b", b"a+b", "caf\u00e9".encode(), b"nul\0nul", b"\xff\xfe", b"a?b=c#d%2F", b"changes",
                 b"a/changes", b".."]
        for name in names:
            client.bf().add(name, name)
        for name in names:
            with self.subTest(name=name):
                response = self.get_filter(name)
                self.assertEqual((response.status, response.body), (200, client.execute_command("BF.DUMP", name)))
                self.assertEqual(self.changes(name, response.headers[POSITION]).status, 200)
        self.assertEqual(self.get("/filters/a+b").body, client.execute_command("BF.DUMP", "a+b"))

    def test_an_unchanged_filter_is_not_sent_again(self):
        client = self.client()
        client.bf().add("f", 1)
        first = self.get_filter("f")
        tag = first.headers["ETag"]
        again = self.get_filter("f", If_None_Match=tag)
        self.assertEqual((again.status, again.body, again.headers["ETag"]), (304, b"", tag))
        self.assertNotIn("Content-Length", again.headers)
        client.bf().add("f", 1)
        self.assertEqual(self.get_filter("f", If_None_Match=tag).status, 304, "nothing was added")
        client.bf().add("f", 2)
        self.assertEqual(self.get_filter("f", If_None_Match=tag).status, 200)

    def test_ranges_put_together_are_the_dump(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "f", 0.01, 1_000_000)
        client.bf().madd("f", *range(1000))
        whole = self.get_filter("f")
        self.assertEqual(whole.headers["Accept-Ranges"], "bytes")
        size, step = len(whole.body), 300_000
        parts = [self.get_filter("f", Range=f"bytes={at}-{at + step - 1}", If_Range=whole.headers["ETag"])
                 for at in range(0, size, step)]
        self.assertEqual({part.status for part in parts}, {206})
        self.assertEqual(b"".join(part.body for part in parts), whole.body)
        self.assertEqual(self.get_filter("f", Range=f"bytes={size}-").status, 416)
        client.bf().add("f", "other")
        changed = self.get_filter("f", Range="bytes=5-9", If_Range=whole.headers["ETag"])
        self.assertEqual((changed.status, changed.body), (200, client.execute_command("BF.DUMP", "f")))

    def test_a_sparse_filter_is_compressed(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "f", 0.01, 1_000_000)
        client.bf().madd("f", *range(10_000))
        dump = client.execute_command("BF.DUMP", "f")
        packed = self.get_filter("f", Accept_Encoding="gzip")
        self.assertEqual((packed.headers["Content-Encoding"], packed.headers["Vary"]), ("gzip", "Accept-Encoding"))
        self.assertLess(len(packed.body), len(dump) / 4)
        self.assertEqual(gzip.decompress(packed.body), dump)
        plain = self.get_filter("f")
        self.assertNotIn("Content-Encoding", plain.headers)
        self.assertNotEqual(plain.headers["ETag"], packed.headers["ETag"])
        self.assertEqual(self.get_filter("f", Accept_Encoding="gzip", If_None_Match=packed.headers["ETag"]).status, 304)

    def test_curl_reads_it_whole_and_continues_a_download(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "f", 0.01, 1_000_000)
        client.bf().madd("f", *range(1000))
        dump = client.execute_command("BF.DUMP", "f")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "f")
            url = f"http://{HOST}:{self.server.admin_port}/filters/f"
            path.write_bytes(dump[:123_456])
            for options in (["--continue-at", "-"], ["--compressed"], []):
                subprocess.run(["curl", "--silent", "--fail", *options, "--output", path, url], check=True,
                               timeout=REPLY_SECONDS)
                self.assertEqual(path.read_bytes(), dump, options)


class Changes(FilterPagesTest):
    def test_follow_each_other(self):
        client = self.client()
        client.bf().create("f", 0.01, 1000)
        position = self.get_filter("f").headers[POSITION]
        self.assertEqual(self.changes("f", position).body, b"")
        client.bf().madd("f", *range(100))
        collected = b""
        for _ in range(10):
            page = self.changes("f", position, 30)
            collected += page.body
            position = page.headers[POSITION]
            if page.headers[MORE] == "0":
                break
        self.assertEqual(sum(self.hashes_of_runs(collected)), 100)
        self.assertEqual(position, self.get_filter("f").headers[POSITION])

    def hashes_of_runs(self, runs):
        """The number of hashes of each run of additions."""
        while runs:
            self.assertEqual(runs[0], 1)
            count = int.from_bytes(runs[1:3], "little")
            yield count
            runs = runs[3 + 16 * count:]

    def test_are_those_that_the_command_returns(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "f", 0.01, 1000, "TYPE", "cuckoo")
        position = self.get_filter("f").headers[POSITION]
        client.bf().madd("f", *range(10))
        client.execute_command("BF.DEL", "f", 3)
        end, runs, more = client.execute_command("BF.CHANGES", "f", position)
        page = self.changes("f", position)
        self.assertEqual((page.headers[POSITION].encode(), page.body, page.headers[MORE]), (end, runs, str(more)))

    def test_a_gap_is_gone(self):
        client = self.client()
        client.bf().add("f", 1)
        position = self.get_filter("f").headers[POSITION]
        client.execute_command("BF.CLEAR", "f")
        page = self.changes("f", position)
        self.assertEqual(page.status, 410)
        self.assertIn(b"read the filter again", page.body)
        self.assertEqual(self.changes("f", "nonsense").status, 400)
        self.assertEqual(self.changes("missing", position).status, 404)


class WhoMayReadThem(FilterPagesTest):
    OPTIONS = {"admin_filters": "yes", "requirepass": "secret"}

    def setUp(self):
        self.server.check_alive()

    def test_only_users_who_may_follow_the_filter(self):
        client = self.client(password="secret")
        client.bf().add("seen:a", 1)
        client.bf().add("other", 1)
        client.execute_command("ACL", "SETUSER", "reader", "on", ">letmein", "+bf.follow", "+bf.changes", "%R~seen:*")
        client.execute_command("ACL", "SETUSER", "looker", "on", ">letmein", "+bf.exists", "~*")
        position = self.get_filter("seen:a", user="default:secret").headers[POSITION]
        missing = self.get_filter("missing", user="reader:letmein")
        self.assertEqual(self.get_filter("seen:a").status, 401, "on loopback, too")
        self.assertEqual(self.get_filter("seen:a", user="reader:wrong").status, 401)
        for user, name, status in (("reader", "seen:a", 200), ("reader", "other", 404), ("reader", "missing", 404),
                                   ("looker", "seen:a", 404)):
            response = self.get_filter(name, user=user + ":letmein")
            self.assertEqual(response.status, status, (user, name))
            page = self.get(f"/filters/{name}/changes?since={position}", user=user + ":letmein")
            self.assertEqual(page.status, status, (user, name))
            if status == 404:
                self.assertEqual((response.body, page.body), (missing.body, missing.body))
            else:
                self.assertEqual(response.headers["Cache-Control"], "private, no-cache")
        log = [dict(zip(entry[::2], entry[1::2])) for entry in client.execute_command("ACL", "LOG")]
        self.assertEqual({entry[b"reason"] for entry in log if entry[b"username"] == b"reader"}, {b"auth", b"key"})

    def test_changes_at_run_time(self):
        client = self.client(password="secret")
        client.bf().add("f", 1)
        self.addCleanup(client.config_set, "admin-filters", "yes")
        client.config_set("admin-filters", "no")
        refused = self.get_filter("f", user="default:secret")
        self.assertEqual(refused.status, 404)
        self.assertIn(b"admin-filters", refused.body)

    def test_other_origins(self):
        client = self.client(password="secret")
        client.bf().add("f", 1)
        self.assertNotIn("Access-Control-Allow-Origin", self.get_filter("f", user="default:secret").headers)
        self.addCleanup(client.config_set, "admin-filters-origin", "")
        client.config_set("admin-filters-origin", "https://example.com")
        preflight = self.get_filter("f", method="OPTIONS", Origin="https://example.com",
                                    Access_Control_Request_Method="GET")
        self.assertEqual((preflight.status, preflight.headers["Access-Control-Allow-Origin"]),
                         (204, "https://example.com"))
        for response in (self.get_filter("f", user="default:secret"), self.get_filter("f")):
            self.assertEqual(response.headers["Access-Control-Allow-Origin"], "https://example.com")
            self.assertEqual(response.headers.get_all("Cross-Origin-Resource-Policy"), ["cross-origin"])
        with self.assertRaisesRegex(Exception, "origin"):
            client.config_set("admin-filters-origin", "https://example.com/path")

    def test_they_are_off_unless_the_option_says_so(self):
        server = admin.make()
        self.addCleanup(server.clean_up)
        server.start()
        server.client().bf().add("f", 1)
        self.assertEqual(Response(server.admin_port, "/filters/f").status, 404)


class LargeFilters(FilterPagesTest):
    ITEMS = 200_000_000  # 300 MB

    def make_large(self):
        client = self.client(socket_connect_timeout=REPLY_SECONDS)
        client.execute_command("BF.RESERVE", "large", 0.001, self.ITEMS, "NONSCALING")
        client.bf().madd("large", *range(10_000))
        return client

    def test_are_sent_in_little_memory(self):
        client = self.make_large()
        size = int(self.get_filter("large", method="HEAD").headers["Content-Length"])
        self.assertGreater(size, 280 << 20)
        # The pages of a new filter are zeros that take no memory until they are read.
        begin = time.monotonic()
        self.read_large(size)
        seconds = time.monotonic() - begin
        before = self.server.rss_bytes()
        readers = [threading.Thread(target=self.read_large, args=(size,)) for _ in range(4)]
        for reader in readers:
            reader.start()
        while any(reader.is_alive() for reader in readers):
            self.assert_grew_less(before, 64 << 20)
            self.assertEqual(self.request("/healthz").body, "alive\n")
            self.assertTrue(client.ping())
            time.sleep(0.02)
        print(f"{size >> 20} MiB in {seconds:.2f} s", flush=True)

    def read_large(self, size):
        connection = http.client.HTTPConnection(HOST, self.server.admin_port, timeout=REPLY_SECONDS)
        connection.request("GET", "/filters/large")
        response = connection.getresponse()
        read = 0
        while chunk := response.read(1 << 20):
            read += len(chunk)
        connection.close()
        assert read == size, (read, size)

    def test_all_bytes_are_of_one_moment(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "f", 0.01, 20_000_000)
        client.bf().madd("f", *range(10_000))
        dump = b"".join(self.chunks_of_follow(client, "f"))
        with admin.raw(self.server) as connection:
            connection.sendall(b"GET /filters/f HTTP/1.1\r\nHost: x\r\n\r\n")
            received = connection.recv(100_000)
            for at in range(10_000, 100_000, 10_000):
                client.bf().madd("f", *range(at, at + 10_000))
            while part := connection.recv(1 << 20):
                received += part
        self.assertEqual(received.partition(b"\r\n\r\n")[2], dump)

    def chunks_of_follow(self, client, name):
        cursor = 0
        while True:
            cursor, chunk, _ = client.execute_command("BF.FOLLOW", name, cursor)
            if not chunk:
                return
            yield chunk

    def test_slow_readers_keep_nobody_out(self):
        self.make_large()
        before = self.server.rss_bytes()
        slow = []
        for _ in range(200):
            connection = admin.raw(self.server)
            self.addCleanup(connection.close)
            connection.sendall(b"GET /filters/large HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n")
            slow.append(connection)
        for _ in range(20):
            for connection in slow[-100:]:
                connection.recv(100)
            begin = time.monotonic()
            self.assertEqual(self.request("/healthz").body, "alive\n")
            self.assertLess(time.monotonic() - begin, 2 * PATIENCE)
        self.assert_grew_less(before, 400 << 20)

    def test_a_client_that_does_not_read_is_closed(self):
        self.make_large()
        connection = admin.raw(self.server)
        self.addCleanup(connection.close)
        connection.sendall(b"GET /filters/large HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertTrue(connection.recv(100))
        time.sleep(10 + PATIENCE)
        received = 0
        try:
            while part := connection.recv(1 << 20):
                received += len(part)
        except ConnectionResetError:
            pass
        self.assertLess(received, 100 << 20, "it was closed before the end")


class BehindACache(FilterPagesTest):
    """nginx in front, as a content delivery network is."""

    CONFIGURATION = """
        {user} daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
        events {{}}
        http {{
          access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
          fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
          proxy_cache_path {folder}/cache keys_zone=filters:1m max_size=100m;
          server {{
            listen 127.0.0.1:{port};
            location / {{
              proxy_pass http://127.0.0.1:{origin}; proxy_http_version 1.1; proxy_cache filters;
              proxy_cache_revalidate on; proxy_set_header Accept-Encoding $http_accept_encoding;
              add_header X-Cache $upstream_cache_status always;
            }}
          }}
        }}"""

    def setUp(self):
        super().setUp()
        nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        if nginx is None:
            self.skipTest("nginx is not installed")
        self.folder = tempfile.mkdtemp(prefix="bitsieve-nginx-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.port = free_port()
        path = pathlib.Path(self.folder, "nginx.conf")
        # Started by root, it would serve as another user, who may not read every folder above its own.
        user = "user root;" if os.geteuid() == 0 else ""
        path.write_text(self.CONFIGURATION.format(user=user, folder=self.folder, port=self.port,
                                                  origin=self.server.admin_port))
        process = subprocess.Popen([nginx, "-p", self.folder, "-c", path], stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        wait_until(self.is_up, 20 * PATIENCE, "nginx listens")

    def is_up(self):
        try:
            return Response(self.port, "/healthz").status == 200
        except OSError:
            return False

    def cached(self, path, **headers):
        response = Response(self.port, path, **headers)
        return response.status, response.headers["X-Cache"], response

    def test_a_filter_that_changes_is_asked_for_and_not_sent_again(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "f", 0.01, 100_000)
        client.bf().add("f", 1)
        self.assertEqual(self.cached("/filters/f")[:2], (200, "MISS"))
        self.assertEqual(self.cached("/filters/f")[:2], (200, "HIT"))
        time.sleep(2)
        status, cache, response = self.cached("/filters/f")
        self.assertEqual((status, cache, response.body), (200, "REVALIDATED", client.execute_command("BF.DUMP", "f")))
        client.bf().add("f", 2)
        time.sleep(2)
        status, cache, response = self.cached("/filters/f")
        self.assertEqual((status, cache, response.body), (200, "EXPIRED", client.execute_command("BF.DUMP", "f")))
        self.assertEqual(self.cached("/filters/f", If_None_Match=response.headers["ETag"])[0], 304)
        page = Response(self.port, f"/filters/f/changes?since={response.headers[POSITION]}")
        self.assertEqual((page.status, page.body), (200, b""))

    def test_a_frozen_filter_is_sent_from_the_cache(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "frozen", 0.01, 1000, "TYPE", "ribbon")
        client.bf().madd("frozen", *range(1000))
        client.execute_command("BF.FREEZE", "frozen")
        wait_until(lambda: self.get_filter("frozen").headers["Cache-Control"] == "public, max-age=60",
                   REPLY_SECONDS, "the filter is frozen")
        self.assertEqual(self.cached("/filters/frozen")[:2], (200, "MISS"))
        status, cache, response = self.cached("/filters/frozen")
        self.assertEqual((status, cache, response.body), (200, "HIT", client.execute_command("BF.DUMP", "frozen")))
        status, cache, part = self.cached("/filters/frozen", Range="bytes=10-19")
        self.assertEqual((status, cache, part.body), (206, "HIT", response.body[10:20]))

    def test_names_are_passed_on(self):
        for name in ("a/b", "a b", "a%2Fb", "caf\u00e9"):
            self.client().bf().add(name, name)
            status, _, response = self.cached("/filters/" + quote(name, safe=""))
            self.assertEqual((status, response.body), (200, self.client().execute_command("BF.DUMP", name)), name)

    def test_a_filter_is_compressed_for_those_who_take_it(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "sparse", 0.01, 1_000_000)
        client.bf().madd("sparse", *range(100))
        dump = client.execute_command("BF.DUMP", "sparse")
        for _ in range(2):
            self.assertEqual(gzip.decompress(self.cached("/filters/sparse", Accept_Encoding="gzip")[2].body), dump)
            self.assertEqual(self.cached("/filters/sparse")[2].body, dump)


if __name__ == "__main__":
    main()
