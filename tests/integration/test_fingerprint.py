"""Filters of the kind fingerprint through the real server: errors, growth, several clients, and restarts."""

import threading

from filter_types import type_names, types_that_can
from harness import OwnServerTest, ServerTest, lasting_info, main, option

OK = b"+OK\r\n"


def error(text):
    return b"-" + text.encode() + b"\r\n"


class Replies(ServerTest):
    def test_in_both_protocols(self):
        for version, yes, no in ((2, b":1\r\n", b":0\r\n"), (3, b"#t\r\n", b"#f\r\n")):
            self.setUp()
            self.assert_replies(version, [
                ("BF.RESERVE k 0.000001 3 TYPE fingerprint NONSCALING", OK),
                ("BF.MADD k a b a c", b"*4\r\n" + yes + yes + no + yes),
                ("BF.MEXISTS k a b c d", b"*4\r\n" + yes + yes + yes + no),
                ("BF.ADD k d", error("ERR non scaling filter is full")),
                ("BF.CARD k", b":3\r\n"),
                ("BF.DEL k a", error(f"ERR a fingerprint filter cannot remove items; {types_that_can('removes')}")),
                ("BF.MDEL k a b", error(f"ERR a fingerprint filter cannot remove items; {types_that_can('removes')}")),
                ("BF.COUNT k a", error(f"ERR a fingerprint filter cannot count items; {types_that_can('counts')}")),
                ("BF.ESTIMATE k", error("ERR cannot merge: a fingerprint filter cannot be merged; "
                                        f"{types_that_can('merges')}")),
                ("BF.INFO k FINGERPRINTBITS",
                 b"*1\r\n:22\r\n" if version == 2 else b"%1\r\n+Fingerprint bits\r\n:22\r\n"),
                ("BF.RESERVE h 0.01 100 TYPE fingerprint HASH sip",
                 error(f"ERR HASH is for TYPE {' or '.join(type_names(any_hash=True))} only")),
                ("BF.INSERT s ERROR 0.000000001 TYPE fingerprint ITEMS a",
                 error("ERR could not create filter: error rate is too small for fingerprints of 32 bits; the smallest "
                       "of a fingerprint filter such as this is 2.4e-09")),
                ("BF.INSERT s ERROR 0.000000001 TYPE fingerprint NONSCALING ITEMS a", b"*1\r\n" + yes),
            ])


class Clients(ServerTest):
    def test_new_is_told_once_to_clients_that_add_the_same(self):
        self.client().execute_command("BF.RESERVE", "k", 0.000001, 100, "TYPE", "fingerprint")
        told = []

        def add():
            client = self.client()
            mine = []
            for begin in range(0, 20000, 100):
                mine += client.bf().madd("k", *range(begin, begin + 100))
            told.append(mine)

        threads = [threading.Thread(target=add) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client = self.client()
        added = [sum(each) for each in zip(*told)]
        self.assertEqual(max(added), 1)
        self.assertGreaterEqual(sum(added), 19998)
        self.assertEqual(client.execute_command("BF.CARD", "k"), sum(added))
        self.assertTrue(all(client.bf().mexists("k", *range(20000))))
        # 0.05 are expected to be found wrongly.
        self.assertLessEqual(sum(client.bf().mexists("k", *range(20000, 70000))), 3)


class Restart(OwnServerTest):
    def test_a_chain_survives(self):
        server = self.make_server().start()
        client = server.client()
        client.execute_command("BF.RESERVE", "k", 0.001, 1000, "TYPE", "fingerprint")
        client.bf().madd("k", *range(10000))
        client.config_set(option("default-type"), "fingerprint")
        client.bf().add("small", "a")
        answers = client.bf().mexists("k", *range(30000))
        info = lasting_info(server.connect(), "k")
        self.assertTrue(client.save())
        server.kill()
        client = server.start().client()
        self.assertEqual(lasting_info(server.connect(), "k"), info)
        self.assertEqual(client.bf().mexists("k", *range(30000)), answers)
        self.assertTrue(all(answers[:10000]))
        self.assertLess(sum(answers[10000:]), 20 + 4 * 5)
        self.assertEqual(server.connect().command("BF.INFO", "small", "TYPE"), b"*1\r\n$11\r\nfingerprint\r\n")
        client.bf().madd("k", *range(10000, 20000))
        self.assertTrue(all(client.bf().mexists("k", *range(20000))))


if __name__ == "__main__":
    main()
