"""TLS: real clients, good and bad certificates, reloading under traffic, and what strangers send."""

import contextlib
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import warnings

import redis
from certificates import Authority
from harness import HOST, PATIENCE, REPLY_SECONDS, OwnServerTest, binary, encode, main, wait_until
from node_packages import needs, require_packages, run_node


def setUpModule():
    Files.home = tempfile.mkdtemp(prefix="bitsieve-tls-")
    Files.authority = Authority(Files.home)
    Files.other = Authority(Files.home, "other-ca")
    Files.server = Files.authority.sign("server")
    Files.client = Files.authority.sign("client")
    Files.expired = Files.authority.sign("expired", days=-1)
    Files.elsewhere = Files.authority.sign("elsewhere", names="DNS:elsewhere.example.com")
    Files.stranger = Files.other.sign("stranger")
    Files.locked = Files.authority.sign("locked", password="open sesame")
    Files.ca = Files.authority.certificate("ca")
    Files.other_ca = Files.authority.certificate("other-ca")


def tearDownModule():
    shutil.rmtree(Files.home, ignore_errors=True)


class Files:
    """Certificate and key of each, made once."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class TlsTest(OwnServerTest):
    def make_tls_server(self, pair=None, **options):
        certificate, key = pair or Files.server
        self.tls_port = free_port()
        return self.make_server(**{"tls_port": self.tls_port, "tls_cert_file": certificate, "tls_key_file": key,
                                   "tls_ca_cert_file": Files.ca, "tls_auth_clients": "no", **options})

    def client(self, pair=(None, None), ca=None, **options):
        client = redis.Redis(host=HOST, port=self.tls_port, ssl=True, ssl_ca_certs=ca or Files.ca, ssl_certfile=pair[0],
                             ssl_keyfile=pair[1], socket_timeout=REPLY_SECONDS, **options)
        self.addCleanup(client.close)
        return client

    def connect(self, context=None, session=None):
        """A raw connection by Python's ssl."""
        if context is None:
            context = ssl.create_default_context(cafile=Files.ca)
        plain = socket.create_connection(("127.0.0.1", self.tls_port), timeout=REPLY_SECONDS)
        self.addCleanup(plain.close)
        connection = context.wrap_socket(plain, server_hostname="localhost", session=session)
        self.addCleanup(connection.close)
        return connection

    def plain(self):
        connection = socket.create_connection(("127.0.0.1", self.tls_port), timeout=REPLY_SECONDS)
        self.addCleanup(connection.close)
        return connection

    def ask(self, connection, data, size):
        connection.sendall(data)
        return self.receive(connection, size)

    def receive(self, connection, size):
        received = bytearray()
        while len(received) < size:
            some = connection.recv(1 << 16)
            if not some:
                break
            received += some
        return bytes(received)

    def exchange(self, connection, data, size):
        """Sends and receives at the same time, by one thread: more do not go together with Python's ssl."""
        connection.setblocking(False)
        rest, received = memoryview(data), bytearray()
        while len(received) < size:
            moved = 0
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                moved += connection.send(rest[:1 << 16]) if rest else 0
                rest = rest[moved:]
            with contextlib.suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
                some = connection.recv(1 << 16)
                if not some:
                    break
                received += some
                moved += len(some)
            if moved == 0:
                select.select([connection], [connection] if rest else [], [], REPLY_SECONDS)
        connection.settimeout(REPLY_SECONDS)
        return bytes(received)

    def assert_refused(self, action, error=(redis.ConnectionError, OSError)):
        with self.assertRaises(error):
            action()

    def ping(self, *arguments):
        return subprocess.run([binary(), "ping", "--tls", "--port", str(self.tls_port), *arguments],
                              capture_output=True, text=True, timeout=60, check=False, env={})


class Clients(TlsTest):
    def test_clients(self):
        server = self.make_tls_server().start()
        trusted = ("-p", self.tls_port, "--tls", "--cacert", Files.ca)
        self.assertEqual(server.cli(*trusted, "BF.ADD", "k", "a"), "1\n")
        self.assertEqual(self.client().bf().mexists("k", "a", "b"), [1, 0])
        done = self.ping("--cacert", Files.ca)
        self.assertEqual((done.returncode, done.stdout), (0, "PONG\n"), done.stderr)
        self.assertEqual(server.client().info("stats")["total_tls_connections_received"], 3)
        self.assert_stops_well(server)

    @needs(require_packages)
    def test_clients_of_node(self):
        self.server = self.make_tls_server().start()
        run_node(self, "tls_test.js", PORT=str(self.tls_port), CA=Files.ca)
        self.assert_stops_well(self.server)

    def test_tls_alone(self):
        server = self.make_tls_server(port="off")
        server._answers_ping = lambda: self.ping("--cacert", Files.ca).returncode == 0  # pylint: disable=W0212
        server.start()
        self.assertEqual(self.client().info("server")["tcp_port"], self.tls_port)
        self.assert_stops_well(server)

    def test_the_certificate_of_the_server_must_be_good(self):
        for pair, ca, reason in ((Files.expired, Files.ca, "certificate has expired"),
                                 (Files.server, Files.other_ca, "unable to get local issuer|self-signed"),
                                 (Files.elsewhere, Files.ca, "mismatch")):
            with self.subTest(reason=reason):
                server = self.make_tls_server(pair).start()
                self.assert_refused(self.client(ca=ca, ssl_check_hostname=True).ping)
                done = self.ping("--cacert", ca)
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, reason)
                self.assertEqual(self.ping("--insecure").stdout, "PONG\n")
                self.assertEqual("HAS EXPIRED" in server.log(), pair is Files.expired)
                self.assert_stops_well(server)
        self.assertEqual(self.make_tls_server(Files.elsewhere).start().alive(), True)
        self.assertEqual(self.ping("--cacert", Files.ca, "--sni", "elsewhere.example.com").stdout, "PONG\n")

    def test_certificates_of_clients(self):
        none = (None, None)
        bad = (Files.stranger, Files.expired)
        for setting, let_in, kept_out in (("yes", [Files.client], [none, *bad]),
                                          ("optional", [none, Files.client], bad), ("no", [none, *bad], [])):
            server = self.make_tls_server(tls_auth_clients=setting).start()
            for pair in let_in:
                self.assertTrue(self.client(pair).ping(), (setting, pair))
            for pair in kept_out:
                self.assert_refused(self.client(pair).ping)
            stats = server.client()
            wait_until(lambda: stats.info("stats")["tls_handshakes_failed"] >= len(kept_out), REPLY_SECONDS, setting)
            self.assert_stops_well(server)

    def test_versions(self):
        server = self.make_tls_server(tls_protocols="TLSv1.3").start()

        def context(version):
            made = ssl.create_default_context(cafile=Files.ca)
            made.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                made.minimum_version = made.maximum_version = version
            return made
        current, old, older = ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_1
        self.assertEqual(self.connect(context(current)).version(), "TLSv1.3")
        self.assert_refused(lambda: self.connect(context(old)), ssl.SSLError)
        client = server.client()
        self.assertTrue(client.config_set("tls-protocols", ""))
        self.assertEqual(self.connect(context(old)).version(), "TLSv1.2")
        self.assert_refused(lambda: self.connect(context(older)), ssl.SSLError)
        self.assertTrue(client.config_set("tls-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"))
        self.assertEqual(self.connect(context(current)).cipher()[0], "TLS_CHACHA20_POLY1305_SHA256")
        self.assertTrue(client.config_set("tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"))
        self.assertEqual(self.connect(context(old)).cipher()[0], "ECDHE-ECDSA-AES128-GCM-SHA256")

    def test_sessions_are_resumed(self):
        server = self.make_tls_server(tls_auth_clients="optional").start()
        context = ssl.create_default_context(cafile=Files.ca)
        first = self.connect(context)
        self.assertEqual(self.ask(first, b"PING\r\n", 7), b"+PONG\r\n")
        again = self.connect(context, first.session)
        self.assertTrue(again.session_reused)
        self.assertEqual(self.ask(again, b"PING\r\n", 7), b"+PONG\r\n")
        self.assert_stops_well(server)


class Start(TlsTest):
    def assert_does_not_start(self, message, status, **options):
        server = self.make_tls_server(**options)
        server.spawn()
        self.assertEqual(server.wait(), status)
        self.assertIn(message, server.log())

    def test_what_is_wrong_is_named(self):
        missing = os.path.join(Files.home, "missing")
        empty = os.path.join(Files.home, "empty")
        with open(empty, "w", encoding="utf-8"):
            pass
        certificate, key = Files.server
        for option, value, reason in (
                ("tls_cert_file", missing, f"tls-cert-file {missing}: No such file or directory"),
                ("tls_cert_file", empty, f"tls-cert-file {empty}: does not contain a certificate in PEM format"),
                ("tls_cert_file", "/dev/zero", "tls-cert-file /dev/zero: is not a file"),
                ("tls_key_file", certificate,
                 f"tls-key-file {certificate}: does not contain a private key in PEM format"),
                ("tls_key_file", Files.client[1], f"does not belong to the certificate of tls-cert-file {certificate}"),
                ("tls_key_file", Files.locked[1], "is encrypted, and tls-key-file-pass is empty"),
                ("tls_ca_cert_file", key, f"tls-ca-cert-file {key}: does not contain a certificate in PEM format"),
                ("tls_ciphers", "none", 'tls-ciphers "none": no cipher match')):
            with self.subTest(reason=reason):
                self.assert_does_not_start(reason, 1, **{option: value})
        for option, value, reason in (
                ("tls_key_file", "", "tls-port needs tls-cert-file and tls-key-file"),
                ("tls_protocols", "TLSv1.1", "tls-protocols must be TLSv1.2, TLSv1.3 or both")):
            with self.subTest(reason=reason):
                self.assert_does_not_start(reason, 2, **{option: value})
        self.assert_does_not_start("tls-auth-clients yes needs tls-ca-cert-file", 2, tls_auth_clients="yes",
                                   tls_ca_cert_file="")

    def test_the_password_of_a_key_is_never_shown(self):
        server = self.make_tls_server(Files.locked, loglevel="trace")
        server.variables["BITSIEVE_TLS_KEY_FILE_PASS"] = "open sesame"
        server.start()
        self.assertTrue(self.client().ping())
        self.assertEqual(server.client().config_get("tls-key*"),
                         {"tls-key-file": Files.locked[1], "tls-key-file-pass": "***"})
        with self.assertRaisesRegex(redis.ResponseError, "tls-key-file-pass is not its password"):
            server.client().config_set("tls-key-file-pass", "guess")
        self.assertTrue(self.client().ping())
        shown = subprocess.run([binary(), "serve", "--print-config"], env=server.variables, capture_output=True,
                               text=True, timeout=60, check=True)
        self.assert_stops_well(server)
        self.assertNotIn("sesame", server.log() + shown.stdout + shown.stderr)


class Reload(TlsTest):
    def serial(self):
        """Which certificate the server shows."""
        return self.connect().getpeercert()["serialNumber"]

    def test_under_traffic(self):
        """Certificates change by SIGHUP and CONFIG SET while clients come, work and go; none of them is dropped."""
        home = tempfile.mkdtemp(dir=Files.home)
        pair = os.path.join(home, "now.crt"), os.path.join(home, "now.key")

        def put(source):
            for new, place in zip(source, pair):
                shutil.copy(new, place + ".new")
                os.rename(place + ".new", place)
        put(Files.server)
        server = self.make_tls_server(pair).start()
        stop, problems = threading.Event(), []

        def work(stays):
            try:
                client = self.client(Files.client)
                while not stop.is_set():
                    client.bf().madd("k", *range(50))
                    assert client.bf().exists("k", 7) == 1
                    if not stays:
                        client.connection_pool.disconnect()
            except Exception as error:  # pylint: disable=broad-except
                problems.append(error)
        workers = [threading.Thread(target=work, args=(stays,)) for stays in (True, True, False)]
        for worker in workers:
            worker.start()
        try:
            self.change_certificates(server, put, pair)
        finally:
            stop.set()
            for worker in workers:
                worker.join()
        self.assertEqual(problems, [])
        self.assert_stops_well(server)

    def change_certificates(self, server, put, pair):
        first = self.serial()
        put(Files.client)
        server.process.send_signal(signal.SIGHUP)
        second = wait_until(lambda: self.serial() != first and self.serial(), REPLY_SECONDS, "SIGHUP changes it")
        with open(pair[0], "w", encoding="utf-8") as file:
            file.write("half a certificate")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: f"are unchanged: tls-cert-file {pair[0]}: does not contain" in server.log(),
                   REPLY_SECONDS, "the log says what is wrong")
        control = server.client()
        with self.assertRaisesRegex(redis.ResponseError, "does not contain a certificate in PEM format"):
            control.config_set("tls-cert-file", pair[0])
        self.assertTrue(control.config_set("timeout", 0), "what has nothing to do with TLS is not refused for it")
        self.assertEqual(self.serial(), second)
        put(Files.server)
        self.assertTrue(control.config_set("tls-cert-file", pair[0]))  # the same name: read anew
        self.assertEqual(self.serial(), first)
        with self.assertRaisesRegex(redis.ResponseError, "tls-auth-clients optional needs tls-ca-cert-file"):
            control.config_set("tls-auth-clients", "optional", "tls-ca-cert-file", "")
        self.assertTrue(control.config_set("tls-auth-clients", "yes"))
        self.assert_refused(lambda: self.ask(self.connect(), b"PING\r\n", 7).decode("ascii").index("PONG"),
                            (OSError, ValueError))
        self.assertTrue(control.config_set("tls-auth-clients", "no"))


class Bytes(TlsTest):
    """What is moved, and what strangers send."""

    def test_large_pipelines_and_replies(self):
        server = self.make_tls_server().start()
        count = 100_000
        connection = self.connect()
        commands = b"".join(encode("ECHO", i) for i in range(count))
        replies = b"".join(b"$%d\r\n%d\r\n" % (len(str(i)), i) for i in range(count))
        self.assertTrue(self.exchange(connection, commands, len(replies)) == replies)
        # More than the sockets hold: replies wait in the server, while it receives further commands.
        large = os.urandom(1 << 20)
        connection.sendall(encode("ECHO", large) * 20)
        reply = b"$%d\r\n%s\r\n" % (len(large), large)
        self.assertTrue(self.receive(connection, 20 * len(reply)) == reply * 20)
        for size in (16_383, 16_384, 16_385, 65_535, 65_536, 65_537):  # about those of records and of the server's room
            text = b"x" * size
            self.assertEqual(len(self.ask(connection, encode("ECHO", text), size + len(str(size)) + 5)),
                             size + len(str(size)) + 5)
        self.assert_stops_well(server)

    def test_a_client_that_has_sent_all_gets_its_replies_and_a_goodbye(self):
        server = self.make_tls_server().start()
        connection = self.connect()
        connection.sendall(encode("PING") * 1000)
        self.assertEqual(self.receive(connection, 7000), b"+PONG\r\n" * 1000)
        connection.sendall(encode("QUIT"))
        self.assertEqual(self.receive(connection, 100), b"+OK\r\n")  # and an end that TLS says, not a cut
        plain = self.connect()
        plain.sendall(encode("PING"))
        plain.unwrap() if self.receive(plain, 7) == b"+PONG\r\n" else self.fail("no reply")
        self.assert_stops_well(server)

    def test_plain_text_and_nonsense_are_closed_and_counted(self):
        server = self.make_tls_server().start()
        sent = (b"PING\r\n", encode("PING"), b"GET / HTTP/1.1\r\n\r\n", os.urandom(500), b"\x16\x03\x01" + b"\xff" * 50)
        for data in sent:
            connection = self.plain()
            connection.sendall(data)
            with contextlib.suppress(ConnectionResetError):
                self.assertNotIn(b"PONG", self.receive(connection, 100))
        failed = wait_until(lambda: server.client().info("stats")["tls_handshakes_failed"], REPLY_SECONDS, "counted")
        self.assertLessEqual(failed, len(sent))
        self.assertEqual(server.log().count("not a TLS connection"), 1, "further ones are not logged")
        self.assertIn("what it sent is not TLS", server.log())
        self.assert_stops_well(server)

    def test_clients_that_leave_anywhere_leave_nothing(self):
        """The client's bytes are cut after each of their first ones, and then at many places of a longer exchange."""
        server = self.make_tls_server().start()
        context = ssl.create_default_context(cafile=Files.ca)
        for last in (*range(1, 40), *range(40, 900, 37)):
            inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = context.wrap_bio(inward, outward, server_hostname="localhost")
            with self.plain() as connection:
                self.begin_exchange(connection, tls, inward, outward, last)
        client = self.client()
        self.assertTrue(client.ping())
        wait_until(lambda: client.info("clients")["connected_clients"] == 1, REPLY_SECONDS, "all are gone")
        self.assert_stops_well(server)

    def begin_exchange(self, connection, tls, inward, outward, last):
        """Does the handshake and commands, until `last` bytes are sent."""
        done = False
        while last > 0:
            try:
                if not done:
                    tls.do_handshake()
                    done = True
                tls.write(encode("PING") * 5)
                tls.read(1000)
            except ssl.SSLWantReadError:
                pass
            data = outward.read()[:last]
            last -= len(data)
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                connection.sendall(data)
                if last > 0:
                    inward.write(connection.recv(1 << 16))

    def test_slow_handshakes_keep_nobody_waiting(self):
        server = self.make_tls_server(maxclients=300).start()
        control = server.client()

        def connected():
            return control.info("clients")["connected_clients"]
        slow = [self.plain() for _ in range(200)]
        for connection in slow:
            connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00")  # the head of a handshake
        client = self.client()
        self.assertTrue(client.ping())
        client.connection_pool.disconnect()
        wait_until(lambda: connected() > 200, REPLY_SECONDS, "all are there")
        more = [self.plain() for _ in range(150)]  # some of them are beyond maxclients
        wait_until(lambda: control.info("stats")["rejected_connections"], REPLY_SECONDS, "some are refused")
        for connection in slow + more:
            connection.close()
        wait_until(lambda: connected() == 1, REPLY_SECONDS, "all are gone")
        control.close()
        self.assert_stops_well(server)


if __name__ == "__main__":
    main()
