"""Rules, categories and the state of a connection, next to a real redis-server, which says what is right."""

import contextlib
import random
import re
import shutil
import socket
import subprocess
import tempfile

import redis
from harness import HOST, REPLY_SECONDS, Connection, ServerTest, main, wait_until


class AsRedis(ServerTest):
    """The same rules given to redis-server make the same users."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = shutil.which("redis-server")
        if program is None:
            raise AssertionError("redis-server is not installed: apt-get install redis-server")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.redis = subprocess.Popen([program, "--port", str(port), "--save", "", "--dir", cls.folder],
                                     stdout=subprocess.DEVNULL)
        cls.addClassCleanup(cls.redis.wait)
        cls.addClassCleanup(cls.redis.kill)
        cls.theirs = redis.Redis(host=HOST, port=port, socket_timeout=REPLY_SECONDS)
        wait_until(cls.answers, REPLY_SECONDS, "redis-server answers")

    @classmethod
    def answers(cls):
        with contextlib.suppress(redis.exceptions.ConnectionError):
            return cls.theirs.ping()
        return False

    def outcome(self, client, *command):
        try:
            return client.execute_command(*command)
        except redis.ResponseError as error:
            return self.masked(str(error))

    COMMANDS = ("ping", "echo", "config", "config|get", "config|set", "client", "client|kill", "del", "exists",
                "rename", "publish", "subscribe", "multi", "flushall", "acl|whoami")
    CATEGORIES = ("read", "write", "keyspace", "pubsub", "connection", "transaction", "dangerous", "admin")

    def random_rules(self, chance):
        rules = []
        for _ in range(chance.randrange(1, 9)):
            rules.append(chance.choice((
                "on", "off", "nopass", "resetpass", ">one", ">two", "<one", "reset", "allkeys", "resetkeys", "~a:*",
                "~b", "%R~c:*", "%W~d:*", "%RW~e", "%Q~e", "allchannels", "resetchannels", "&news", "&a.*",
                "allcommands", "nocommands", "clearselectors", "(+ping ~x)", "(~y", "nonsense", "+nothing", "+@nothing",
                chance.choice("+-") + chance.choice(self.COMMANDS),
                chance.choice("+-") + chance.choice(self.COMMANDS),
                chance.choice("+-") + "@" + chance.choice(self.CATEGORIES))))
        return rules

    def described(self, client):
        """Without rules about commands: each version of Redis words them in its own way."""
        reply = self.as_it_comes(client, "ACL", "GETUSER", "bob")
        fields = dict(zip(reply[::2], reply[1::2]))
        fields[b"flags"] = [flag for flag in fields[b"flags"] if not flag.endswith(b"sanitize-payload")]
        fields[b"selectors"] = [dict(zip(each[::2], each[1::2])) for each in fields[b"selectors"]]
        for each in (fields, *fields[b"selectors"]):
            del each[b"commands"]
            # Redis shows it as ~*, which would be another rule.
            each[b"keys"] = each[b"keys"].replace(b"%RW~*", b"~*")
        return fields

    DRY_RUNS = (("ping",), ("config", "get", "x"), ("client", "kill", "x"), ("del", "a:1"), ("del", "b", "c:1"),
                ("del", "d:1"), ("exists", "a:1"), ("rename", "c:1", "d:1"), ("rename", "a:1", "b"),
                ("publish", "news", "m"), ("publish", "a.b", "m"), ("subscribe", "x"), ("multi",), ("acl", "whoami"))

    def setUp(self):
        super().setUp()
        self.ours = self.client()

    def both(self, *command):
        return [self.outcome(client, *command) for client in (self.ours, self.theirs)]

    @staticmethod
    def as_it_comes(client, *command):
        """The reply, not made into something else by redis-py."""
        connection = client.connection_pool.get_connection(command[0])
        connection.send_command(*command)
        reply = connection.read_response()
        client.connection_pool.release(connection)
        return reply

    def common_commands(self):
        """The commands, subcommands included, that both have, each with as many arguments as it needs."""
        found = [dict(self.commands_in(self.as_it_comes(client, "COMMAND"))) for client in (self.ours, self.theirs)]
        common = sorted(found[0].keys() & found[1].keys())
        self.assertGreater(len(common), 100)
        return [name.split("|") + ["1"] * (max(abs(found[0][name]), abs(found[1][name])) - len(name.split("|")))
                for name in common]

    def commands_in(self, rows):
        for row in rows:
            yield row[0].decode(), row[1]
            yield from self.commands_in(row[9])

    def test_what_each_category_allows_and_forbids(self):
        if not self.theirs.info()["redis_version"].startswith("7.0."):
            self.skipTest("the facts are those of Redis 7.0")
        commands = self.common_commands()
        categories = [name.decode() for name in self.theirs.execute_command("ACL", "CAT")]
        self.assertIn("keyspace", categories)
        for category in categories:
            for rules in (["+@all", "-@" + category], ["+@" + category]):
                self.assertEqual(self.both("ACL", "SETUSER", "cat", "reset", "allkeys", "allchannels", *rules),
                                 [b"OK", b"OK"])
                for command in commands:
                    ours, theirs = self.both("ACL", "DRYRUN", "cat", *command)
                    self.assertEqual(ours == b"OK", theirs == b"OK", (rules, command, ours, theirs))

    # Each rule, or list of rules, for a new user.
    RULES = [[""], ["%R"], ["%W"], ["%RW"], ["%"], ["%~"], ["%~x"], ["%R~"], ["%RR~x"], ["%WW~x"], ["%RWR~x"], ["%RR~"],
             ["%rw~x"], ["%r~x"], ["%RW~*"], ["%RW~*", "~x"], ["%R~*"], ["%R~*", "%W~*"], ["%R~*", "%W~*", "~x"],
             ["%R~x", "%W~x"], ["%R~x", "~x"], ["~x", "%R~x"], ["~"], ["~*", "~x"], ["~*", "%R~x"], ["~*", "~*"],
             ["~x", "~*"], ["allkeys", "~y"], ["&"], ["&*", "&x"], ["&x", "&*"], ["&x", "&x"], ["+"], ["-"], ["+@"],
             ["-@"], ["+@ALL"], ["+@nope"], ["+nope"], ["+config"], ["+config|nope"], ["+config|"], ["+|"], ["+|get"],
             ["-config|get"], ["+@all", "-config|get"], ["-select|0"], ["+client|id|x"], ["+config|get|x"],
             ["+@read|x"],
             ["ON"], ["Off"], ["NOPASS"], [">"], ["<"], [">x", "<x"], [">x", ">x"], ["#"], ["!"], ["#" + "0" * 64],
             ["#" + "A" * 64], ["#" + "0" * 63], ["#" + "0" * 64, "!" + "0" * 64], ["!" + "0" * 64], ["nopass", ">x"],
             [">x", "nopass"], ["on", "reset"], ["()"], ["( )"], ["(+ping)"], ["(+ping", "~x)"], ["(+ping"],
             ["(+ping", "~x"], ["+ping)"], [")"], ["("], ["(on)"], ["(nopass)"], ["((+ping))"], ["(+ping)(+ping)"],
             ["(+ping)", "(+ping)"], ["(+nope)"], ["(~*", "~x)"], ["(%R~a", "%W~a)"], ["(reset)"], ["what"], ["@read"],
             ["~a b"], [">a b"], ["&a b"], ["%R~a b"], ["+ping "], [" +ping"], ["+p ing"], ["~a\tb"], ["on "],
             ["+client", "-client|kill"], ["+client|kill", "+client"], ["+client|kill", "-client"],
             ["+@connection", "-client"], ["+ping", "+@all"], ["+@all", "-@admin", "+config|get"], ["%Q~x"], ["%RQ~x"],
             ["%%~x"], ["%R%W~x"], ["% ~x"], [b"~\xff"], ["SANITIZE-PAYLOAD"], ["skip-sanitize-payload"]]
    PIECES = ("+", "-", "@", "|", "~", "%", "&", "<", ">", "#", "!", "(", ")", "R", "W", "r", "w", "*", "a", "b", " ",
              "ping", "client", "kill", "read", "all", "on", "off", "nopass", "reset", "keys", "channels", "\t", "é")

    def own_way(self, rules, error):
        """Whether it is known that this is refused here and not by Redis."""
        if "command's first argument" in str(error):
            return True
        # Where a selector is read from a file it ends with the first word that ends in a parenthesis.
        return any(word.endswith(")") for rule in rules if str(rule).startswith("(")
                   for word in str(rule)[1:-1].split(" ")) and "Syntax error" in str(error)

    def test_rule_strings(self):
        chance = random.Random(1)
        cases = list(self.RULES)
        for _ in range(3000):
            cases.append(["".join(chance.choices(self.PIECES, k=chance.randrange(1, 6)))
                          for _ in range(chance.choice((1, 1, 1, 2)))])
        for rules in cases:
            self.both("ACL", "DELUSER", "bob")
            ours, theirs = self.both("ACL", "SETUSER", "bob", *rules)
            if ours != theirs and self.own_way(rules, ours):
                continue
            with self.subTest(rules=rules):
                self.assertEqual(ours, theirs)
                if theirs == b"OK":
                    users = [self.described(client) for client in (self.ours, self.theirs)]
                    self.assertEqual(*users)
                    for command in self.DRY_RUNS:
                        allowed = [outcome == b"OK" for outcome in self.both("ACL", "DRYRUN", "bob", *command)]
                        self.assertEqual(*allowed, (users, command))

    @staticmethod
    def masked(error):
        """Redis shows passwords in errors."""
        return re.sub(r"^(Error in ACL SETUSER modifier '|.*starting at ')([<>]|\([^']*?(?<=[( ])[<>])[^']*'",
                      r"\1\2***'", error)

    def test_a_refused_exec(self):
        for commands in ((("SUBSCRIBE", "c"), ("EXEC",)), (("EXEC", "x"),), (("MULTI",), ("EXEC", "x"), ("EXEC",)),
                         (("MULTI",), ("ECHO",), ("EXEC",), ("EXEC",))):
            replies = []
            for port in (self.server.port, self.theirs.connection_pool.connection_kwargs["port"]):
                with contextlib.closing(Connection(port)) as connection:
                    replies.append([connection.command(*command) for command in commands])
            self.assertEqual(*replies)

    def test_reset_and_replies(self):
        for data in (b"CLIENT REPLY OFF\r\nRESET\r\nPING\r\n", b"CLIENT REPLY SKIP\r\nRESET\r\nPING\r\n",
                     b"CLIENT REPLY OFF\r\nCLIENT REPLY SKIP\r\nRESET\r\nPING\r\n",
                     b"CLIENT REPLY SKIP\r\nPING\r\nRESET\r\nPING\r\n"):
            replies = []
            for port in (self.server.port, self.theirs.connection_pool.connection_kwargs["port"]):
                with socket.create_connection(("127.0.0.1", port), timeout=REPLY_SECONDS) as connection:
                    connection.sendall(data + b"QUIT\r\n")
                    with connection.makefile("rb") as file:
                        replies.append(file.read())
            self.assertEqual(*replies, data)
            self.assertIn(b"PONG", replies[0])

    def test_random_rules(self):
        ours = self.client()
        for seed in range(150):
            chance = random.Random(seed)
            for client in (ours, self.theirs):
                self.outcome(client, "ACL", "DELUSER", "bob")
            for _ in range(3):
                rules = self.random_rules(chance)
                with self.subTest(seed=seed, rules=rules):
                    self.assertEqual(self.outcome(ours, "ACL", "SETUSER", "bob", *rules),
                                     self.outcome(self.theirs, "ACL", "SETUSER", "bob", *rules))
            if b"bob" not in self.theirs.execute_command("ACL", "USERS"):
                continue
            with self.subTest(seed=seed):
                users = [self.described(client) for client in (ours, self.theirs)]
                self.assertEqual(*users)
                for command in self.DRY_RUNS:
                    allowed = [self.outcome(client, "ACL", "DRYRUN", "bob", *command) == b"OK"
                               for client in (ours, self.theirs)]
                    self.assertEqual(*allowed, (users, command))


if __name__ == "__main__":
    main()
