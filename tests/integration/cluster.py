"""A cluster of engines with bitsieve.so on this machine, for tests and measurements."""

import subprocess

from engine import SYNC_SECONDS, Engine
from harness import wait_until

REDIS_CLI = "redis-cli"  # of either engine


NEVER_FAILED_MS = 60_000  # a node timeout that no busy machine reaches; tests that kill nodes set a shorter one


class Node(Engine):
    def __init__(self, **options):
        super().__init__(**{"cluster_enabled": "yes", "cluster_node_timeout": NEVER_FAILED_MS, **options})

    def state(self):
        """CLUSTER INFO; empty while the node loads."""
        return dict(line.split(":", 1) for line in self.raw("CLUSTER", "INFO").splitlines())

    def raw(self, *command):
        """The text of a reply, which redis-py would take apart."""
        with self.connect() as connection:
            return connection.command(*command).split(b"\r\n", 1)[1].decode().strip()

    def id(self):
        return self.raw("CLUSTER", "MYID")

    def is_master(self):
        """False also while it loads what a master has sent, when it does not answer."""
        return any({"myself", "master"} <= set(fields[2].split(",")) for fields in self.table())

    def own_line(self):
        return next(fields for fields in self.table() if "myself" in fields[2])

    def table(self):
        """The rows of CLUSTER NODES: id, address, flags, master and so on."""
        return [line.split() for line in self.raw("CLUSTER", "NODES").splitlines()]


class Cluster:
    """Masters, and `replicas` of each. Options are those of every node, which is a Node or what `make_node` returns."""

    def __init__(self, masters, replicas=1, make_node=Node, **options):
        self.nodes = [make_node(**options) for _ in range(masters * (1 + replicas))]
        self.replicas = replicas

    def start(self):
        for node in self.nodes:
            node.start()
        self.admin("create", *(f"{node.host}:{node.port}" for node in self.nodes), "--cluster-replicas", self.replicas)
        wait_until(self.is_whole, SYNC_SECONDS, "the cluster is up")
        return self

    def add_replica(self, node, master):
        """A further node, which becomes a replica of this master."""
        node.start()
        self.nodes.append(node)
        master.raw("CLUSTER", "MEET", node.host, node.port)
        own = master.id()
        with node.connect() as connection:
            wait_until(lambda: connection.command("CLUSTER", "REPLICATE", own) == b"+OK\r\n", SYNC_SECONDS,
                       "the node knows the master")
        wait_until(self.is_whole, SYNC_SECONDS, "the cluster is up")

    def clean_up(self):
        for node in self.nodes:
            node.clean_up()

    def admin(self, command, *arguments):
        """redis-cli --cluster; what it printed."""
        done = subprocess.run([REDIS_CLI, "--cluster", command, *map(str, arguments), "--cluster-yes"],
                              capture_output=True, text=True, timeout=10 * SYNC_SECONDS)
        if done.returncode != 0:
            raise AssertionError(f"redis-cli --cluster {command}: {done.stdout}{done.stderr}")
        return done.stdout

    def set_node_timeout(self, milliseconds):
        """How long a node may be silent before its replica takes its place."""
        for node in self.nodes:
            node.options["cluster_node_timeout"] = milliseconds  # when it is started again
            if node.alive():
                with node.client() as client:
                    client.config_set("cluster-node-timeout", milliseconds)

    def alive(self):
        return [node for node in self.nodes if node.alive()]

    def masters(self):
        return [node for node in self.alive() if node.is_master()]

    def is_whole(self):
        """Whether all who live see all slots served, and every replica is in sync."""
        return all(self.sees_all(node) for node in self.alive())

    def sees_all(self, node):
        state = node.state()
        if state.get("cluster_state") != "ok" or int(state["cluster_known_nodes"]) < len(self.nodes):
            return False
        with node.client() as client:
            info = client.info("replication")
        return info["role"] == "master" or info["master_link_status"] == "up"

    def replicas_of(self, master):
        own = master.id()
        replicas = {fields[0] for fields in master.table() if fields[3] == own}
        return [node for node in self.alive() if node.id() in replicas]
