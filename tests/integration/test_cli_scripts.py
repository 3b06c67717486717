"""`bitsieve cli` with one command or a script: replies byte for byte as redis-cli shows them, and exit statuses."""

import shutil
import signal
import socket
import socketserver
import subprocess
import tempfile
import threading
import time

from harness import ENVIRONMENT, HOST, PATIENCE, ServerTest, binary, main, wait_until

STYLES = [(version, style) for version in ((), ("-3",)) for style in ("--raw", "--no-raw")]
# What they reply depends on nothing but the commands before.
COMMANDS = r'''
PING
BF.RESERVE seen 0.01 1000 SEED 7
BF.RESERVE seen 0.01 1000 SEED 7
BF.ADD seen a
BF.MADD seen a b "c d" "\x00\xff\"\\\n\t\a\b\r" 'single \'quoted\' \n'
BF.EXISTS seen b
BF.MEXISTS seen a z
BF.INFO seen
BF.INFO none
BF.CARD seen
CF.RESERVE counted 1000
CF.ADD counted a
CF.INFO counted
CF.MEXISTS counted a b
KEYS *
SCAN 0 MATCH s* COUNT 100
TYPE seen
GET seen
EXISTS none
ECHO ""
ECHO "two words"
ECHO ångström
CONFIG GET maxmemory*
CONFIG GET nosuch
COMMAND DOCS BF.ADD
COMMAND INFO BF.ADD NOSUCH
COMMAND COUNT
ACL WHOAMI
ACL LIST
ACL GETUSER default
CLIENT GETNAME
CLIENT LIST ID 999999
SLOWLOG GET 0
NOSUCH
NOSUCH a b
BF.ADD
MULTI
PING
BF.EXISTS seen a
EXEC
EXEC
BF.DUMP seen
EXPIRE seen 1000
PUBLISH channel message
DEL seen counted
'''.strip().splitlines()
# Of Redis, for kinds of replies that Bitsieve does not send.
REDIS_COMMANDS = r'''
RPUSH l a b c d e f g h i j k
LRANGE l 0 -1
LRANGE none 0 -1
SADD s one
SMEMBERS s
SMEMBERS none
HSET h f v g w
HGETALL h
HGETALL none
ZADD z 1.5 a 2.25 b
ZRANGE z 0 -1 WITHSCORES
ZSCORE z a
ZADD z +inf c
ZSCORE z c
GEOADD g 13.361389 38.115556 Palermo
GEOPOS g Palermo none
XADD x 1-1 field value
XRANGE x - +
XINFO STREAM x FULL
EVAL "return {1,{2,{3,'x'}},false,{}}" 0
EVAL "redis.setresp(3); return redis.call('HGETALL', 'h')" 0
EVAL "return redis.error_reply('MY error')" 0
SELECT 3
DBSIZE
LATENCY DOCTOR
LOLWUT VERSION 1
'''.strip().splitlines()
REPLIES = {
    "nested": b"*3\r\n*2\r\n:1\r\n*1\r\n$1\r\na\r\n*0\r\n*-1\r\n",
    "ten": b"*11\r\n" + b"*2\r\n:1\r\n+x\r\n" * 11,
    "nil": b"$-1\r\n",
    "multi-line error": b"-ERR what\ttab \"quoted\"\r\n",
    "map in map": b"%2\r\n+a\r\n%1\r\n+b\r\n*2\r\n:1\r\n:2\r\n$1\r\nc\r\n%0\r\n",
    "map in array": b"*2\r\n%2\r\n+a\r\n:1\r\n+b\r\n_\r\n~2\r\n,1.5\r\n#f\r\n",
    "maps of one": b"%3\r\n+a\r\n*1\r\n*2\r\n:1\r\n:2\r\n+b\r\n"
                   b"%1\r\n*2\r\n:1\r\n:2\r\n:3\r\n~2\r\n:1\r\n:2\r\n*1\r\n+c\r\n",
    "long map": b"%10\r\n" + b"$3\r\nkey\r\n~1\r\n*1\r\n:7\r\n" * 10,
    "empty set": b"~0\r\n",
    "empty map": b"%0\r\n",
    "doubles": b"*4\r\n,3\r\n,-0.25\r\n,inf\r\n,1e+300\r\n",
    "booleans": b"*2\r\n#t\r\n#f\r\n",
    "verbatim": b"=9\r\ntxt:a \"b\"\r\n",
    "blob": b"$6\r\n\x00\xc3\xa4\x7f\x1b\"\r\n",
}


def run(*arguments, stdin="", **options):
    return subprocess.run([binary(), "cli", *map(str, arguments)], input=stdin.encode(), capture_output=True,
                          env=ENVIRONMENT, timeout=60 * PATIENCE, check=False, **options)


def same_as_redis_cli(test, port, arguments, what, **options):
    command = ["redis-cli", "-p", str(port), *arguments]
    expected = subprocess.run(command, capture_output=True, env={**ENVIRONMENT, "TERM": "dumb"}, check=False,
                              timeout=60 * PATIENCE, **options).stdout
    shown = run("-p", port, *arguments).stdout
    test.assertEqual(shown, expected, what)


class AnsweringServer:
    """Replies to each HELLO with an empty map and to all else with the same bytes, and closes then if `closes`."""

    def __init__(self, test, reply, hello=b"%0\r\n", closes=False):
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while line := self.rfile.readline():
                    words = []
                    for _ in range(int(line[1:])):
                        words.append(self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2])
                    self.wfile.write(hello if words[0] == b"HELLO" else reply)
                    if closes and words[0] != b"HELLO":
                        return

        self.server = socketserver.ThreadingTCPServer((HOST, 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)
        self.port = self.server.server_address[1]


class SameAsRedisCli(ServerTest):
    def compare(self, commands, port, flush):
        """Each tool sends all commands to a server that is empty at first."""
        for options in STYLES:
            with self.subTest(options=options):
                script = "\n".join(commands) + "\n"
                flush()
                options = [*options[0], options[1]]
                expected = subprocess.run(["redis-cli", "-p", str(port), *options], input=script.encode(),
                                          capture_output=True, env={**ENVIRONMENT, "TERM": "dumb"}, check=True,
                                          timeout=60 * PATIENCE).stdout
                flush()
                shown = run("-p", port, *options, stdin=script).stdout
                self.assertGreater(len(shown.splitlines()), len(commands))
                self.assertEqual(shown.splitlines(keepends=True), expected.splitlines(keepends=True))

    def test_commands(self):
        self.compare(COMMANDS, self.server.port, self.client().flushall)

    def test_commands_of_redis(self):
        folder = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.addCleanup(shutil.rmtree, folder)
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = probe.getsockname()[1]
        engine = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--dir", folder],
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(engine.wait)
        self.addCleanup(engine.kill)
        wait_until(lambda: run("-p", port, "PING").stdout == b"PONG\n", 30 * PATIENCE, "redis-server answers")
        self.compare(REDIS_COMMANDS, port, lambda: run("-p", port, "FLUSHALL"))
        messages = run("-p", port, "-3", stdin="CLIENT TRACKING ON\nGET t\nSET t 1\nPING\n")
        self.assertEqual(messages.stdout, b"OK\n\nOK\ninvalidate\nt\nPONG\n")

    def test_each_kind_of_reply(self):
        for name, reply in REPLIES.items():
            server = AnsweringServer(self, reply)
            for version, style in STYLES:
                same_as_redis_cli(self, server.port, [*version, style, "GET", "x"], (name, version, style))

    def test_pages_of_text(self):
        server = AnsweringServer(self, b"$16\r\n# Server\r\na:1\r\nb\r\n")
        for command in (["INFO"], ["info", "server"], ["CLIENT", "LIST"], ["MEMORY", "doctor"], ["CLUSTER", "NODES"]):
            for style in ("--raw", "--no-raw"):
                same_as_redis_cli(self, server.port, [style, *command], command)

    def test_arguments_from_the_command_line(self):
        for arguments in (["ECHO", "two words"], ["ECHO", ""], ["ECHO", "-p"], ["ECHO", "--x="], ["ECHO", "[a,b]"],
                          ["ECHO", "\\n"], ["BF.MEXISTS", "none", "--help", "-3"], ["NOSUCH"], ["-r", "3", "PING"]):
            same_as_redis_cli(self, self.server.port, arguments, arguments)

    def test_subscription(self):
        for options in (["--raw"], ["--no-raw"], ["-3", "--no-raw"]):
            shown = []
            for program in (["redis-cli"], [binary(), "cli"]):
                with subprocess.Popen([*program, "-p", str(self.server.port), *options, "SUBSCRIBE", "a", "b"],
                                      env=ENVIRONMENT, stdout=subprocess.PIPE) as process:
                    client = self.client()
                    wait_until(lambda: client.publish("b", 'say "yes"') == 1, 20 * PATIENCE, "it subscribes")
                    output = b""
                    while b"yes" not in output:
                        output += process.stdout.read1()
                    process.send_signal(signal.SIGINT)
                    shown.append(output + process.stdout.read())
            self.assertEqual(shown[1], shown[0], options)


class Scripts(ServerTest):
    def cli(self, *arguments, **options):
        return run("-p", self.server.port, *arguments, **options)

    def test_exit_status(self):
        for arguments, stdin, status in ((["PING"], "", 0), (["NOSUCH"], "", 1), ([], "PING\n\n", 0),
                                         ([], "NOSUCH\nPING\n", 1), ([], "quit\nNOSUCH\n", 0), (["--nosuch"], "", 2),
                                         (["-x"], "", 2), (["--raw", "--no-raw", "PING"], "", 2)):
            self.assertEqual(self.cli(*arguments, stdin=stdin).returncode, status, (arguments, stdin))

    def test_an_open_quote_names_its_line(self):
        done = self.cli(stdin='PING\n\nECHO "a\nECHO b\n')
        self.assertEqual((done.returncode, done.stdout), (1, b"PONG\nb\n"))
        self.assertIn(b"line 3: a quote is not closed", done.stderr)

    def test_last_argument_from_standard_input(self):
        self.assertEqual(self.cli("-x", "BF.ADD", "seen", stdin="a\n").stdout, b"1\n")
        self.assertEqual(self.cli("BF.MEXISTS", "seen", "a\n", "a").stdout, b"1\n0\n")

    def test_a_dump_goes_through(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "seen", "0.001", 8_000_000, "SEED", 1, "TYPE", "blocked")
        client.execute_command("BF.MADD", "seen", *range(100_000))
        dump = client.execute_command("BF.DUMP", "seen")
        self.assertGreater(len(dump), 10 << 20)
        self.assertEqual(self.cli("BF.DUMP", "seen").stdout, dump + b"\n")
        with tempfile.TemporaryFile() as file:
            file.write(dump)
            file.seek(0)
            done = subprocess.run([binary(), "cli", "-p", str(self.server.port), "-x", "BF.RESTORE", "copy"],
                                  stdin=file, capture_output=True, env=ENVIRONMENT, check=True)
        self.assertEqual(done.stdout, b"OK\n")
        self.assertEqual(client.execute_command("BF.DUMP", "copy"), dump)

    def test_repetitions(self):
        begin = time.monotonic()
        self.assertEqual(self.cli("-r", 3, "-i", 0.1, "PING").stdout, b"PONG\n" * 3)
        self.assertGreaterEqual(time.monotonic() - begin, 0.2)

    def test_help(self):
        done = self.cli("help", "bf.reserve")
        self.assertTrue(done.stdout.startswith(b"BF.RESERVE key error_rate capacity [EXPANSION expansion]"))
        self.assertIn(b"CLIENT LIST [TYPE type]", self.cli(stdin="HELP client\n").stdout)
        self.assertIn(b"BF.MEXISTS", self.cli("help").stdout)

    def test_no_server(self):
        done = run("-p", 1, "PING")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"127.0.0.1 port 1: cannot connect: Connection refused", done.stderr)

    def test_replies_that_are_none(self):
        for reply in (b"HTTP/1.1 400 Bad Request\r\n", b"$x\r\n", b"*1\r\n:x\r\n", b"$3\r\nabcd\r\n", b"$3\r\nabc",
                      b"*99999999999999\r\n", b"*1\r\n" * 1000, b"#x\r\n", b"=3\r\nabc\r\n", b"+OK\n",
                      b"$9223372036854775807\r\nabc"):
            done = run("-p", AnsweringServer(self, reply, closes=True).port, "PING")
            self.assertEqual((done.returncode, done.stdout), (1, b""), reply)
            self.assertRegex(done.stderr, rb"does not speak RESP: |closed without a reply|larger than the memory",
                             reply)

    def test_hello_is_sent_only_if_asked_for(self):
        server = AnsweringServer(self, b"+PONG\r\n", hello=b"-ERR unknown command 'HELLO'\r\n")
        self.assertEqual(run("-p", server.port, "PING").stdout, b"PONG\n")
        done = run("-p", server.port, "-3", "PING")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"HELLO failed: ERR unknown command", done.stderr)


class Access(ServerTest):
    OPTIONS = {"requirepass": "secret"}

    def setUp(self):
        self.server.check_alive()

    def test_password(self):
        self.assertEqual(run("-p", self.server.port, "-a", "secret", "PING").stdout, b"PONG\n")
        self.assertEqual(run("-u", f"redis://:secret@{HOST}:{self.server.port}", "PING").stdout, b"PONG\n")
        self.assertIn(b"NOAUTH", run("-p", self.server.port, "PING").stdout)
        done = run("-p", self.server.port, "-a", "wrong", "PING")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"wrong password", done.stderr)


if __name__ == "__main__":
    main()
