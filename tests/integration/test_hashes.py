"""HASH: filters under each hash function, through the real server and across a restart."""

from filter_types import type_names
from harness import OwnServerTest, main

HASHES = ("xxh3", "murmur3", "fnv1a", "sip")
KINDS = type_names(any_hash=True)


class Restart(OwnServerTest):
    def test_each_hash_answers_alike_afterwards(self):
        server = self.make_server().start()
        client = server.client()
        keys = [f"{kind}:{name}" for kind in KINDS for name in HASHES]
        for key in keys:
            kind, name = key.split(":")
            client.execute_command("BF.RESERVE", key, 0.01, 1000, "TYPE", kind, "HASH", name)
            client.bf().madd(key, *range(1000))
            self.assertTrue(all(client.bf().mexists(key, *range(1000))))
        absent = range(1000, 21000)
        before = {key: client.bf().mexists(key, *absent) for key in keys}
        for key in keys:
            self.assertLess(sum(before[key]), 0.01 * len(absent) + 4 * 15, key)
        self.assertEqual(len(set(map(tuple, before.values()))), len(keys), "each filter errs in its own way")
        self.assertTrue(client.save())
        server.kill()
        client = server.start().client()
        for key in keys:
            name = key.split(":")[1].encode()
            told = server.connect().command("BF.INFO", key, "HASH")
            self.assertEqual(told, b"*1\r\n$%d\r\n%s\r\n" % (len(name), name))
            self.assertTrue(all(client.bf().mexists(key, *range(1000))))
            self.assertEqual(client.bf().mexists(key, *absent), before[key])


if __name__ == "__main__":
    main()
