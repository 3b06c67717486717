"""npm's `redis` and `ioredis`, with their defaults and in both protocol versions; the tests are in node/*.js."""

from functools import partial

from harness import ServerTest, main
from node_packages import require_packages, run_node, skip_without

setUpModule = partial(skip_without, require_packages)


class NodeClients(ServerTest):
    def test_redis(self):
        run_node(self, "node_redis_test.js")

    def test_ioredis(self):
        run_node(self, "ioredis_test.js")


if __name__ == "__main__":
    main()
