"""Everything but BF.*: names, transactions, connections, introspection, snapshots by command."""

import re
import time

from harness import (REPLY_SECONDS, OwnServerTest, ServerTest, arity, encode, lasting_info, main,
                     wait_until)

OK = b"+OK\r\n"
QUEUED = b"+QUEUED\r\n"


class Names(ServerTest):
    def make(self, *names):
        connection = self.connect()
        for name in names:
            self.assertEqual(connection.command("BF.ADD", name, "x"), b":1\r\n")

    def test_del_unlink_exists(self):
        self.make("a", "b", "c", "d")
        self.assert_replies(2, [
            ("EXISTS a b none a", b":3\r\n"),
            ("DEL a none b a", b":2\r\n"),
            ("UNLINK c c", b":1\r\n"),
            ("EXISTS a b c d", b":1\r\n"),
            ("BF.EXISTS a x", b":0\r\n"),
            ("DBSIZE", b":1\r\n"),
            ("DEL", arity("del")), ("UNLINK", arity("unlink")), ("EXISTS", arity("exists")),
        ])

    def test_type(self):
        self.make("a")
        self.assert_replies(2, [("TYPE a", b"+MBbloom--\r\n"), ("TYPE none", b"+none\r\n"), ("TYPE", arity("type"))])

    def test_rename(self):
        self.make("a", "b")
        self.assert_replies(2, [
            ("BF.ADD a mark", b":1\r\n"),
            ("RENAME a b", OK),
            ("BF.EXISTS b mark", b":1\r\n"),
            ("EXISTS a", b":0\r\n"),
            ("RENAME a b", b"-ERR no such key\r\n"),
            ("RENAME b b", OK),
            ("BF.ADD c x", b":1\r\n"),
            ("RENAMENX b c", b":0\r\n"),
            ("RENAMENX b d", b":1\r\n"),
            ("RENAMENX b d", b"-ERR no such key\r\n"),
            ("BF.EXISTS d mark", b":1\r\n"),
            ("RENAME d", arity("rename")),
        ])

    def test_keys(self):
        self.make("user:1", "user:2", "item:1", b"\x00\xff")
        client = self.client()
        self.assertEqual(set(client.keys("user:*")), {b"user:1", b"user:2"})
        self.assertEqual(set(client.keys("?ser:[13-9]")), {b"user:1"})
        self.assertEqual(len(client.keys()), 4)
        self.assertEqual(client.keys("none*"), [])

    def test_scan_finds_every_name(self):
        names = {f"name:{i}".encode() for i in range(1000)}
        with self.client().pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.execute_command("BF.RESERVE", name, 0.01, 1)
            pipeline.execute()
        client = self.client()
        for count in (None, 1, 7, 100, 100_000):
            self.assertEqual(set(client.scan_iter(count=count)), names, count)
        self.assertEqual(set(client.scan_iter(match="name:99*")), {b"name:99", *(b"name:99%d" % i for i in range(10))})
        self.assertEqual(set(client.scan_iter(_type="MBbloom--", count=500)), names)
        self.assertEqual(list(client.scan_iter(_type="string", count=500)), [])

    def test_scan_survives_changes_underneath(self):
        client = self.client()
        stay = {b"stay:%d" % i for i in range(300)}
        for name in stay:
            client.execute_command("BF.RESERVE", name, 0.01, 1)
        seen = set()
        for i, name in enumerate(client.scan_iter(count=10)):
            seen.add(name)
            client.execute_command("BF.RESERVE", f"new:{i}", 0.01, 1) if i < 500 else None
            client.delete(f"new:{i // 2}")
        self.assertLessEqual(stay, seen)

    def test_scan_errors(self):
        self.assert_replies(2, [
            ("SCAN x", b"-ERR invalid cursor\r\n"), ("SCAN -1", b"-ERR invalid cursor\r\n"),
            ("SCAN 0 COUNT 0", b"-ERR syntax error\r\n"), ("SCAN 0 COUNT", b"-ERR syntax error\r\n"),
            ("SCAN 0 COUNT x", b"-ERR value is not an integer or out of range\r\n"),
            ("SCAN 0 FOO", b"-ERR syntax error\r\n"), ("SCAN", arity("scan")),
            ("SCAN 0", b"*2\r\n$1\r\n0\r\n*0\r\n"),
            ("SCAN 18446744073709551615", b"*2\r\n$1\r\n0\r\n*0\r\n"),
        ])

    def test_flush(self):
        for command in ("FLUSHALL", "FLUSHALL ASYNC", "FLUSHALL SYNC", "FLUSHDB", "FLUSHDB ASYNC"):
            self.make("a", "b")
            self.assert_replies(2, [(command, OK), ("DBSIZE", b":0\r\n"), ("BF.EXISTS a x", b":0\r\n")])
        self.assert_replies(2, [("FLUSHALL FOO", b"-ERR syntax error\r\n")])

    def test_expiry(self):
        self.make("a", "b")
        client = self.client()
        self.assertEqual([client.ttl("a"), client.ttl("none")], [-1, -2])
        self.assertTrue(client.expire("a", 100, nx=True))
        self.assertFalse(client.expire("a", 50, gt=True))
        self.assertIn(client.ttl("a"), (99, 100))
        self.assertTrue(client.expireat("a", 4_000_000_000))
        self.assertEqual([client.expiretime("a"), client.pexpiretime("a")], [4_000_000_000, 4_000_000_000_000])
        self.assertEqual(client.info("keyspace")["db0"]["expires"], 1)
        self.assertTrue(client.persist("a"))
        self.assertEqual(client.pttl("a"), -1)
        before = client.info("stats")["expired_keys"]
        self.assertTrue(client.pexpire("b", 20))
        wait_until(lambda: client.info("stats")["expired_keys"] == before + 1, REPLY_SECONDS, "it is swept away")
        self.assertEqual([client.exists("b"), client.dbsize(), client.bf().exists("b", "x")], [0, 1, 0])
        self.assert_replies(2, [
            ("EXPIRE a x", b"-ERR value is not an integer or out of range\r\n"),
            ("EXPIRE a 9223372036854775807", b"-ERR invalid expire time in 'expire' command\r\n"),
            ("EXPIRE a 1 FOO", b"-ERR Unsupported option FOO\r\n"), ("EXPIRE a", arity("expire")),
        ])

    def test_copy_and_the_like(self):
        client = self.client()
        self.assertIsNone(client.randomkey())
        client.bf().create("a", 0.01, 100_000)
        client.bf().madd("a", *range(20_000))
        self.assertTrue(client.copy("a", "b"))
        self.assertFalse(client.copy("a", "b"))
        self.assertTrue(client.copy("a", "b", replace=True))
        connection = self.connect()
        self.assertEqual(lasting_info(connection, "a"), lasting_info(connection, "b"))
        self.assertEqual(client.bf().mexists("a", *range(40_000)), client.bf().mexists("b", *range(40_000)))
        client.bf().add("b", "only in b")
        self.assertEqual(client.bf().exists("a", "only in b"), 0)
        self.assertIn(client.randomkey(), (b"a", b"b"))
        self.assertEqual(client.touch("a", "b", "none"), 2)
        self.assertEqual(client.memory_usage("a"), client.memory_usage("b"))
        self.assertGreater(client.memory_usage("a"), 100_000)
        self.assertIsNone(client.memory_usage("none"))

    def test_memory_of_expired_filters_is_given_back(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "big", 0.01, 100_000_000)
        self.assertGreater(client.info("memory")["used_memory"], 100 << 20)
        client.pexpire("big", 10)
        wait_until(lambda: client.info("memory")["used_memory"] < 1 << 20, REPLY_SECONDS, "expiry frees memory")

    def test_memory_of_large_filters_is_given_back(self):
        client = self.client()
        for command in ("FLUSHALL", "FLUSHALL ASYNC", "DEL big", "UNLINK big"):
            client.execute_command("BF.RESERVE", "big", 0.01, 100_000_000)
            self.assertGreater(client.info("memory")["used_memory"], 100 << 20)
            client.execute_command(*command.split())
            wait_until(lambda: client.info("memory")["used_memory"] < 1 << 20, REPLY_SECONDS, f"{command} frees memory")


class Transactions(ServerTest):
    def test_exec(self):
        connection = self.connect()
        self.assertEqual(connection.command("MULTI"), OK)
        for command in (("BF.ADD", "k", "a"), ("BF.EXISTS", "k", "a"), ("PING",), ("BF.INFO", "none")):
            self.assertEqual(connection.command(*command), QUEUED)
        self.assertEqual(self.connect().command("EXISTS", "k"), b":0\r\n")
        self.assertEqual(connection.command("EXEC"), b"*4\r\n:1\r\n:1\r\n+PONG\r\n-ERR not found\r\n")
        self.assertEqual(connection.command("EXISTS", "k"), b":1\r\n")

    def test_in_resp3_and_in_one_write(self):
        connection = self.connect(3)
        connection.send(b"MULTI\r\nBF.MADD k a b\r\nBF.EXISTS k a\r\nEXEC\r\nPING\r\n")
        self.assertEqual([connection.reply() for _ in range(5)],
                         [OK, QUEUED, QUEUED, b"*2\r\n*2\r\n#t\r\n#t\r\n#t\r\n", b"+PONG\r\n"])

    def test_binary_arguments_are_kept(self):
        connection = self.connect()
        item = bytes(range(256))
        connection.command("MULTI")
        connection.command("ECHO", item)
        connection.command("ECHO", b"")
        self.assertEqual(connection.command("EXEC"), b"*2\r\n$256\r\n" + item + b"\r\n$0\r\n\r\n")

    def test_discard_and_empty(self):
        self.assert_replies(2, [
            ("MULTI", OK), ("BF.ADD k a", QUEUED), ("DISCARD", OK), ("EXISTS k", b":0\r\n"),
            ("MULTI", OK), ("EXEC", b"*0\r\n"),
        ])

    def test_errors(self):
        self.assert_replies(2, [
            ("EXEC", b"-ERR EXEC without MULTI\r\n"),
            ("DISCARD", b"-ERR DISCARD without MULTI\r\n"),
            ("MULTI", OK),
            ("MULTI", b"-ERR MULTI calls can not be nested\r\n"),
            ("BF.ADD k a", QUEUED),
            ("BF.ADD k", arity("bf.add")),
            ("EXEC", b"-EXECABORT Transaction discarded because of previous errors.\r\n"),
            ("EXISTS k", b":0\r\n"),
            ("MULTI", OK),
            ("NOSUCH", b"-ERR unknown command 'NOSUCH', with args beginning with: \r\n"),
            ("EXEC", b"-EXECABORT Transaction discarded because of previous errors.\r\n"),
            ("PING", b"+PONG\r\n"),
        ])

    def test_hello_in_a_transaction(self):
        connection = self.connect()
        connection.send(b"MULTI\r\nHELLO 3\r\nBF.ADD k a\r\nEXEC\r\n")
        replies = [connection.reply() for _ in range(4)]
        self.assertEqual(replies[:3], [OK, QUEUED, QUEUED])
        self.assertTrue(replies[3].endswith(b"#t\r\n"), replies[3])


class ConnectionCommands(ServerTest):
    def test_small_ones(self):
        self.assert_replies(2, [
            ("PING", b"+PONG\r\n"), ("PING hi", b"$2\r\nhi\r\n"), ("PING a b", arity("ping")),
            ("ECHO hi", b"$2\r\nhi\r\n"), ("ECHO", arity("echo")),
            ("SELECT 0", OK), ("SELECT 1", b"-ERR DB index is out of range\r\n"),
            ("SELECT x", b"-ERR value is not an integer or out of range\r\n"),
            ("AUTH default any", OK),
            ("AUTH other any", b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"),
        ])

    def test_quit(self):
        connection = self.connect()
        self.assertEqual(connection.command("QUIT"), OK)
        self.assertTrue(connection.is_closed())

    def test_client(self):
        connection = self.connect()
        self.assertEqual(connection.command("CLIENT", "GETNAME"), b"$-1\r\n")
        self.assertEqual(connection.command("CLIENT", "SETNAME", "me"), OK)
        self.assertEqual(connection.command("CLIENT", "GETNAME"), b"$2\r\nme\r\n")
        self.assertEqual(connection.command("CLIENT", "SETNAME", "a b"),
                         b"-ERR Client names cannot contain spaces, newlines or special characters.\r\n")
        self.assertEqual(connection.command("CLIENT", "SETINFO", "LIB-NAME", "mylib"), OK)
        self.assertEqual(connection.command("CLIENT", "SETINFO", "lib-ver", "1.2"), OK)
        self.assertRegex(connection.command("CLIENT", "SETINFO", "FOO", "x"), rb"^-ERR Unrecognized option 'FOO'")
        own = connection.command("CLIENT", "INFO")
        for field in (b"name=me", b"lib-name=mylib", b"lib-ver=1.2", b"resp=2", b"cmd=client|info", b"db=0"):
            self.assertIn(field, own)
        self.assertEqual(connection.command("CLIENT", "SETNAME", ""), OK)
        self.assertEqual(connection.command("CLIENT", "GETNAME"), b"$-1\r\n")
        self.assertRegex(connection.command("CLIENT", "NOSUCH"), rb"^-ERR unknown subcommand 'NOSUCH'")
        self.assertEqual(connection.command("CLIENT"), arity("client"))

    def test_client_list(self):
        client = self.client(client_name="first")
        client.ping()  # connects
        other = self.connect(3)
        other.command("CLIENT", "SETNAME", "second")
        listed = {entry["name"]: entry for entry in client.client_list()}
        self.assertEqual((listed["first"]["resp"], listed["second"]["resp"]), ("2", "3"))
        self.assertLess(int(listed["first"]["id"]), int(listed["second"]["id"]))
        self.assertRegex(listed["second"]["addr"], r"^127\.0\.0\.1:\d+$")
        only = client.client_list(client_id=[listed["second"]["id"]])
        self.assertEqual([entry["name"] for entry in only], ["second"])
        other.close()
        wait_until(lambda: "second" not in str(client.client_list()), REPLY_SECONDS, "a closed client leaves the list")


class Introspection(ServerTest):
    def test_module_list(self):
        modules = self.client().module_list()
        self.assertEqual(len(modules), 1)
        self.assertEqual(modules[0][b"name"], b"bf")
        self.assertGreaterEqual(modules[0][b"ver"], 20800)
        self.assertEqual(self.connect(3).command("MODULE", "LIST")[:4], b"*1\r\n")

    def test_command(self):
        client = self.client()
        commands = client.command()
        self.assertEqual(client.command_count(), len(commands))
        listed = {name.decode() for name in client.execute_command("COMMAND LIST")}
        self.assertEqual({name.lower() for name in commands}, listed)
        arities = {"bf.reserve": -4, "bf.add": 3, "bf.madd": -3, "bf.insert": -4, "bf.exists": -3, "bf.mexists": -3,
                   "bf.card": 2, "bf.info": -2}
        for name, arity_of in arities.items():
            row = commands[name]
            self.assertEqual((row["arity"], row["first_key_pos"], row["last_key_pos"], row["step_count"]),
                             (arity_of, 1, 1, 1), name)
        self.assertIn("write", commands["bf.add"]["flags"])
        self.assertIn("readonly", commands["bf.exists"]["flags"])

    def test_every_command_has_documentation(self):
        names = self.client().execute_command("COMMAND LIST")
        for version, head in ((2, b"*%d\r\n" % (2 * len(names))), (3, b"%%%d\r\n" % len(names))):
            connection = self.connect(version)
            # The reply nests deeper than hiredis before 1.1 can read, as Redis' own does.
            docs = connection.command("COMMAND", "DOCS")
            self.assertTrue(docs.startswith(head), docs[:10])
            for name in names:
                self.assertIn(b"$%d\r\n%s\r\n%s" % (len(name), name, b"*" if version == 2 else b"%"), docs)
            self.assertIn(b"summary", connection.command("COMMAND", "DOCS", "bf.add"))

    def test_command_info(self):
        self.assert_replies(2, [("COMMAND INFO nosuch", b"*1\r\n*-1\r\n")])

    def test_info(self):
        client = self.client()
        client.bf().madd("k", *range(100))
        client.bf().mexists("k", 1, "no", "nope")
        info = client.info()
        self.assertEqual(info["role"], "master")
        self.assertEqual(info["redis_mode"], "standalone")
        self.assertEqual((info["loading"], info["cluster_enabled"]), (0, 0))
        self.assertEqual(info["process_id"], self.server.process.pid)
        self.assertEqual(info["tcp_port"], self.server.port)
        self.assertEqual(info["db0"]["keys"], 1)
        self.assertGreater(info["used_memory"], 100)
        self.assertGreater(info["total_commands_processed"], 2)
        self.assertGreater(info["total_connections_received"], 1)
        for name in ("redis_version", "uptime_in_seconds", "connected_clients", "keyspace_hits", "keyspace_misses",
                     "maxmemory"):
            self.assertIn(name, info)
        self.assertEqual(set(client.info("replication")),
                         {"role", "connected_slaves", "master_replid", "master_repl_offset"})
        self.assertEqual(client.info("bf")["bf_bloom_num_objects"], 1)
        self.assertEqual(self.connect(3).command("INFO", "replication")[:1], b"=")
        self.assertEqual(self.connect(2).command("INFO", "nosuch"), b"$0\r\n\r\n")

    def test_config_resetstat(self):
        client = self.client()
        for _ in range(10):
            client.ping()
        self.assertTrue(client.config_resetstat())
        self.assertLess(client.info("stats")["total_commands_processed"], 10)

    def test_time_and_lastsave(self):
        client = self.client()
        self.assertAlmostEqual(client.time()[0], time.time(), delta=5)
        self.assertAlmostEqual(client.lastsave().timestamp(), time.time(), delta=600)

    def test_what_clients_expect_to_fail_fails(self):
        connection = self.connect()
        for command in ("SENTINEL MASTERS", "CLUSTER INFO", "REPLCONF capa eof", "GET x"):
            self.assertRegex(connection.command(*command.split()), rb"^-ERR unknown command", command)
        self.assertEqual(connection.command("GET", "x"),
                         b"-ERR unknown command 'GET': this server holds filters, not values; add items with BF.ADD "
                         b"and look them up with BF.EXISTS\r\n")
        self.assertEqual(connection.command("BF.EXIST", "k", "x"),
                         b"-ERR unknown command 'BF.EXIST', did you mean BF.EXISTS?\r\n")

    def test_questions_about_the_server_and_its_names(self):
        self.connect().command("BF.ADD", "k", "a")
        self.assert_replies(2, [
            ("MEMORY PURGE", OK), ("SHUTDOWN ABORT", b"-ERR No shutdown in progress.\r\n"),
        ])
        client = self.client()
        of_module = client.execute_command("COMMAND LIST", "FILTERBY", "MODULE", "bf")
        self.assertTrue({b"bf.add", b"cf.add"} <= set(of_module))
        for container in ("CLIENT", "COMMAND", "CONFIG", "MEMORY", "MODULE"):
            help_lines = client.execute_command(f"{container} HELP")
            self.assertTrue(help_lines[0].startswith(container.encode()), help_lines)


class Saving(ServerTest):
    def test_save(self):
        client = self.client()
        before = time.time()
        client.execute_command("BF.ADD", "k", "a")
        self.assertGreater(client.info("persistence")["rdb_changes_since_last_save"], 0)
        self.assertTrue(client.save())
        self.assertGreaterEqual(client.lastsave().timestamp(), int(before))
        persistence = client.info("persistence")
        self.assertEqual((persistence["rdb_changes_since_last_save"], persistence["rdb_last_bgsave_status"]), (0, "ok"))

    def test_commands_behind_save_wait_for_it(self):
        connection = self.connect()
        connection.send(b"BF.ADD k a\r\nSAVE\r\nBF.EXISTS k a\r\nSAVE\r\nPING\r\n")
        self.assertEqual([connection.reply() for _ in range(5)], [b":1\r\n", OK, b":1\r\n", OK, b"+PONG\r\n"])

    def test_bgsave(self):
        client = self.client()
        client.execute_command("BF.ADD", "k", "a")
        self.assertRegex(self.connect().command("BGSAVE"), rb"^\+Background saving (started|scheduled)\r\n$")
        wait_until(lambda: client.info("persistence")["rdb_changes_since_last_save"] == 0, REPLY_SECONDS,
                   "BGSAVE saves")

    def test_save_in_a_transaction_is_refused(self):
        connection = self.connect()
        connection.command("MULTI")
        self.assertRegex(connection.command("SAVE"), rb"^-ERR .*transaction")
        self.assertRegex(connection.command("EXEC"), rb"^-EXECABORT ")

    def test_many_clients_save_at_once(self):
        connections = [self.connect() for _ in range(10)]
        for i, connection in enumerate(connections):
            connection.send(encode("BF.ADD", "k", i) + encode("SAVE"))
        for connection in connections:
            connection.reply()
            self.assertEqual(connection.reply(), OK)


class Shutdown(OwnServerTest):
    def test_with_and_without_a_last_snapshot(self):
        for argument, log, kept in (("", "no", 1), ("SAVE", "no", 1), ("NOSAVE", "no", 0), ("NOSAVE", "yes", 1)):
            with self.subTest(argument=argument, log=log):
                server = self.make_server(appendonly=log).start()
                connection = server.connect()
                connection.command("BF.ADD", "k", "a")
                connection.send(f"SHUTDOWN {argument}\r\n".encode())
                self.assertTrue(connection.is_closed())
                self.assertEqual(server.wait(), 0, server.log())
                server.start()
                self.assertEqual(server.connect().command("BF.EXISTS", "k", "a"), b":%d\r\n" % kept)
                self.assert_stops_well(server)

    def test_wrong_word(self):
        server = self.make_server().start()
        self.assertEqual(server.connect().command("SHUTDOWN", "FOO"), b"-ERR syntax error\r\n")
        self.assert_stops_well(server)

    def test_the_log_tells_the_start_and_the_stop(self):
        server = self.make_server().start()
        server.connect().command("BF.ADD", "k", "a")
        self.assert_stops_well(server)
        for pattern in (r"Bitsieve \d+\.\d+\.\d+", rf"Listening on 127\.0\.0\.1:{server.port}",
                        rf"Loaded 0 filters.* from {re.escape(server.directory)}", r"SIGTERM"):
            self.assertRegex(server.log(), pattern)


if __name__ == "__main__":
    main()
