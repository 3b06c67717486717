"""docs/cluster.md on a cluster of three masters and three replicas: its clients run as they stand, only with fewer
items, also while masters die, and what it quotes from files of docker/ is in them."""

import pathlib
import re
import subprocess
import sys
import threading

from cluster import Cluster
from engine import EngineTest, engine_binary, main
from harness import PATIENCE, wait_until
from node_packages import NODE, require_packages, skip_without

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cluster.md").read_text()
ITEMS = 200_000
CAPACITY = 500_000
ABSENT = 200_000
BATCH = 10_000
FROM_PYTHON = """
def batches(name, count):
    items = [f"{name}:{i}" for i in range(count)]
    return [items[first:first + BATCH] for first in range(0, count, BATCH)]
print(sum(sum(seen.run("BF.MADD", batch)) for batch in batches("python", ITEMS)),
      sum(sum(seen.run("BF.MEXISTS", batch)) for batch in batches("python", ITEMS)),
      sum(sum(seen.run("BF.MEXISTS", batch)) for batch in batches("absent", ABSENT)))
"""
FROM_NODE = """
async function count(command, name, items) {
  let sum = 0;
  for (let first = 0; first < items; first += BATCH) {
    const answers = await seen.run(command, Array.from({ length: BATCH }, (_, i) => `${name}:${first + i}`));
    sum += answers.reduce((a, b) => a + b, 0);
  }
  return sum;
}
console.log(await count('BF.MADD', 'node', ITEMS), await count('BF.MEXISTS', 'node', ITEMS),
            await count('BF.MEXISTS', 'python', ITEMS), await count('BF.MEXISTS', 'absent', ABSENT));
"""
# Adds all the while a master dies; each batch until it is taken.
THROUGH_FAILOVER_PYTHON = """
import time
for number in range(BATCHES):
    while True:
        try:
            seen.run("BF.MADD", [f"failover:{number}:{i}" for i in range(500)])
            break
        except Exception:
            time.sleep(0.1)
    print("batch", number, flush=True)
    time.sleep(0.05)
"""
THROUGH_FAILOVER_NODE = """
cluster.on('error', () => {});
for (let number = 0; number < BATCHES; number++) {
  for (;;) {
    try {
      await seen.run('BF.MADD', Array.from({ length: 500 }, (_, i) => `failover:${number}:${i}`));
      break;
    } catch { await new Promise((done) => setTimeout(done, 100)); }
  }
  console.log('batch', number);
  await new Promise((done) => setTimeout(done, 50));
}
"""
BATCHES = 40


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def smaller(code, port):
    """With room for fewer items, and on this cluster."""
    for large in ("1_000_000_000", "1e9"):
        code = code.replace(large, str(CAPACITY))
    return code.replace("6379", str(port))


def with_values(code):
    for name, value in (("ITEMS", ITEMS), ("ABSENT", ABSENT), ("BATCH", BATCH), ("BATCHES", BATCHES)):
        code = re.sub(rf"\b{name}\b", str(value), code)
    return code


class ClusterPage(EngineTest):
    @classmethod
    def setUpClass(cls):
        engine_binary()
        skip_without(require_packages)
        cls.cluster = Cluster(masters=3)
        cls.addClassCleanup(cls.cluster.clean_up)
        cls.cluster.start()

    def run_code(self, command, code):
        code = with_values(code)
        done = subprocess.run([*command, code], cwd=NODE, capture_output=True, text=True, timeout=120 * PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def test_the_clients(self):
        port = self.cluster.nodes[0].port
        (python,), (node,) = blocks("python"), blocks("js")
        example, counts = self.run_code([sys.executable, "-c"], smaller(python, port) + FROM_PYTHON)
        self.assertEqual(example, "[1, 0]")
        new, found, wrong = map(int, counts.split())
        self.assertGreater(new, 0.998 * ITEMS)
        self.assertEqual(found, ITEMS)
        self.assertLess(wrong, 0.001 * ABSENT)

        close = "await cluster.close();\n"
        self.assertIn(close, node)
        code = smaller(node, port).replace(close, FROM_NODE + close)
        example, counts = self.run_code(["node", "--input-type=module", "-e"], code)
        self.assertEqual(example, "[ 1, 0 ]")
        new, found, found_of_python, wrong = map(int, counts.split())
        self.assertGreater(new, 0.998 * ITEMS)
        self.assertEqual((found, found_of_python), (ITEMS, ITEMS))
        self.assertLess(wrong, 0.0015 * ABSENT)

        self.assert_spread_evenly()

    def assert_spread_evenly(self):
        masters = self.cluster.masters()
        keys = [master.client().dbsize() for master in masters]
        self.assertEqual(sorted(keys), [21, 21, 22])
        items = [sum(master.client().execute_command("BF.CARD", key) for key in master.client().keys())
                 for master in masters]
        self.assertLess(max(items) / (sum(items) / 3), 22 / (64 / 3) * 1.02)
        for master in masters:
            (replica,) = self.cluster.replicas_of(master)
            names = [key.decode() for key in master.client().keys()]
            with replica.client() as client:
                client.execute_command("READONLY")
            wait_until(lambda m=master, r=replica, n=names: m.digests(n) == r.digests(n), 30 * PATIENCE,
                       "replicas are equal")

    def test_the_clients_follow_a_failover(self):
        port = self.cluster.nodes[0].port
        (python,), (node,) = blocks("python"), blocks("js")
        close = "await cluster.close();\n"
        self.kill_a_master_under([sys.executable, "-c"], smaller(python, port) + THROUGH_FAILOVER_PYTHON)
        self.kill_a_master_under(["node", "--input-type=module", "-e"],
                                 smaller(node, port).replace(close, THROUGH_FAILOVER_NODE + close))

    def kill_a_master_under(self, command, code):
        """The client, started before, adds to all filters once more before it ends."""
        self.cluster.set_node_timeout(2000)
        wait_until(self.cluster.is_whole, 60 * PATIENCE, "the cluster is whole")
        with subprocess.Popen([*command, with_values(code)], cwd=NODE, stdout=subprocess.PIPE, text=True) as client:
            stop = threading.Timer(120 * PATIENCE, client.kill)
            stop.start()
            lines = iter(client.stdout.readline, "")
            self.assertTrue(any(line == "batch 5\n" for line in lines), "it does not begin")
            victim = next(master for master in self.cluster.masters() if master is not self.cluster.nodes[0])
            victim.kill()
            self.assertTrue(any(line == f"batch {BATCHES - 1}\n" for line in lines), "it does not go on")
            client.wait()
            stop.cancel()
        self.assertEqual(client.returncode, 0)
        victim.start()

    def test_what_is_quoted(self):
        quotes = re.findall(r"From \[`(docker/[^`]+)`\].*?^```\w*\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        self.assertEqual({path for path, _ in quotes}, {"docker/compose.cluster.yaml", "docker/cluster.yaml"})
        for path, quote in quotes:
            for part in quote.split("...\n"):
                self.assertIn(part, (ROOT / path).read_text(), path)


if __name__ == "__main__":
    main()
