"""docker/: the nodes that compose.cluster.yaml and cluster.yaml describe, with their arguments and valkey.conf, and
join-cluster, on loopback addresses of this machine instead of containers. Addresses change, as those of pods do."""

import pathlib
import re
import subprocess

import yaml

from cluster import Node
from engine import EngineTest, free_port, main, module_path
from harness import PATIENCE, wait_until

DOCKER = pathlib.Path(__file__).parents[2] / "docker"
PATHS = ("loadmodule", "dir", "bind")  # of the container


def options_of(lines):
    """Names and values: arguments are lines of a configuration that begin with two dashes."""
    pairs = (line.removeprefix("--").split(None, 1) for line in lines)
    return {name: value for name, value in pairs if name not in PATHS}


def of_image():
    lines = (DOCKER / "valkey.conf").read_text().splitlines()
    return options_of(line for line in lines if line and not line.startswith("#"))


def of_compose():
    services = yaml.safe_load((DOCKER / "compose.cluster.yaml").read_text())["services"]
    nodes = [name for name in services if name != "join"]
    return options_of(services[nodes[0]]["command"]), services["join"]["entrypoint"], nodes


def of_kubernetes():
    documents = list(yaml.safe_load_all((DOCKER / "cluster.yaml").read_text()))
    pods = {document["kind"]: document["spec"]["template"]["spec"]["containers"][0]
            for document in documents if "template" in document["spec"]}
    stateful, = (document for document in documents if document["kind"] == "StatefulSet")
    name, service = stateful["metadata"]["name"], stateful["spec"]["serviceName"]
    hosts = [f"{name}-{number}.{service}" for number in range(stateful["spec"]["replicas"])]
    return options_of(pods["StatefulSet"]["args"]), pods["Deployment"]["command"], hosts


class ClusterFiles(EngineTest):
    def test_compose(self):
        self.create(*of_compose())
        self.add("item", 1)

    def test_kubernetes_where_pods_get_other_addresses(self):
        self.create(*of_kubernetes())
        self.add("before", 1)
        wait_until(lambda: all(self.is_replicated(node) for node in self.nodes), 30 * PATIENCE, "replicas have all")
        for node in self.nodes:
            node.stop()
        self.start_at(addresses=[f"127.77.1.{number + 1}" for number in range(6)])
        self.join()
        self.add("before", 0)
        self.add("after", 1)

    def create(self, options, join, hosts):
        self.assertEqual(join, ["join-cluster", "1", *hosts])
        self.assertEqual(len(hosts), 6)
        merged = {**of_image(), **options}
        self.assertEqual((merged["cluster-enabled"], merged["appendonly"]), ("yes", "yes"))
        self.nodes = [Node(**{name.replace("-", "_"): value for name, value in merged.items()}) for _ in hosts]
        for node in self.nodes:
            self.addCleanup(node.clean_up)
        self.start_at(addresses=[f"127.77.0.{number + 1}" for number in range(6)])
        self.join()
        self.assertEqual(sorted(node.is_master() for node in self.nodes), [False] * 3 + [True] * 3)

    def start_at(self, addresses):
        self.addresses = addresses
        for node, address in zip(self.nodes, addresses, strict=True):
            node.options["bind"], node.options["bind-source-addr"] = f"{address} 127.0.0.1", address
            node.port = free_port()
            node.start()

    def join(self):
        hosts = [f"{address}:{node.port}" for address, node in zip(self.addresses, self.nodes, strict=True)]
        done = subprocess.run([DOCKER / "join-cluster", "--once", "1", *hosts], capture_output=True, text=True,
                              timeout=120 * PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for node in self.nodes:
            self.assertEqual(node.state()["cluster_slots_ok"], "16384")
            self.assertEqual({fields[1].split(":")[0] for fields in node.table()}, set(self.addresses))

    def add(self, item, expected):
        """To filters of all masters, through redis-cli, which follows redirections."""
        for number in range(6):
            reply = self.nodes[0].cli("-c", "-h", self.addresses[0], "BF.ADD", f"filter:{number}", item).split()
            self.assertEqual(reply[-1], str(expected))

    def is_replicated(self, node):
        with node.client() as client:
            info = client.info("replication")
            return info["role"] == "slave" or client.execute_command("WAIT", 1, 1000) == 1

    def test_join_cluster_refuses_what_it_cannot_join(self):
        done = subprocess.run([DOCKER / "join-cluster", "1", "one"], capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 2)
        self.assertIn("three hosts", done.stderr)

    def test_the_image_loads_the_module(self):
        dockerfile = (DOCKER / "Dockerfile.valkey").read_text()
        path = re.search(r"^loadmodule (\S+)$", (DOCKER / "valkey.conf").read_text(), re.MULTILINE)[1]
        self.assertIn(f"/{pathlib.Path(module_path()).name} {path}\n", dockerfile)


if __name__ == "__main__":
    main()
