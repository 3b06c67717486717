"""What happens to a master: each function makes a fault, waits until the cluster has replaced the master if that is to
be expected, and undoes the fault."""

import time

from cluster_network import CLIENTS, join, part
from engine import SYNC_SECONDS
from harness import PATIENCE, wait_until

SHORT_SECONDS = 1.5 * PATIENCE  # more than the timeout of nodes
STEPS = (-3600, -5, 5, 3600)    # of clocks, in seconds


def wait_for_another(nodes):
    wait_until(lambda: any(node.is_master() for node in nodes), SYNC_SECONDS, "a replica is promoted")


def hosts(nodes):
    return [node.number for node in nodes]


def kill_master(shard, _):
    master, replicas = shard.master(), shard.replicas()
    master.kill()
    wait_for_another(replicas)
    master.start()


def pause_master(shard, _):
    """It continues in the belief that it is the master still."""
    master, replicas = shard.master(), shard.replicas()
    master.pause()
    wait_for_another(replicas)
    master.resume()


def pause_replica(shard, random):
    replica = random.choice(shard.replicas())
    replica.pause()
    time.sleep(SHORT_SECONDS)
    replica.resume()


def parted(some, others, seconds=None, until_another=()):
    part(hosts(some), others)
    try:
        if until_another:
            wait_for_another(until_another)
        time.sleep(seconds or SHORT_SECONDS)
    finally:
        join({*hosts(some), *others})


def part_master_from_nodes(shard, _):
    """Clients still reach it, and add to it until it notices that it is in the minority."""
    replicas = shard.replicas()
    parted([shard.master()], hosts([*replicas, *shard.voters]), until_another=replicas)


def part_master_from_all(shard, _):
    replicas = shard.replicas()
    parted([shard.master()], [CLIENTS, *hosts([*replicas, *shard.voters])], until_another=replicas)


def part_master_from_replicas(shard, _):
    """All others see both, so no master is replaced."""
    parted([shard.master()], hosts(shard.replicas()))


def part_master_from_clients(shard, _):
    parted([shard.master()], [CLIENTS])


def part_master_and_kill_it(shard, _):
    """The replica has not heard from it for a while when it dies."""
    master, replicas = shard.master(), shard.replicas()
    part([master.number], hosts(replicas))
    time.sleep(SHORT_SECONDS / 2)
    master.kill()
    join([master.number, *hosts(replicas)])
    wait_for_another(replicas)
    master.start()


def step_clock_of_master(shard, random):
    step_clock(shard.master(), random)


def step_clock_of_replica(shard, random):
    step_clock(random.choice(shard.replicas()), random)


def step_clock(node, random):
    step = random.choice(STEPS)
    node.set_clock(step)
    ahead = node.seconds_ahead()
    if abs(ahead - step) > 2 * PATIENCE:
        raise AssertionError(f"the clock is {ahead} s ahead, not {step}")
    time.sleep(SHORT_SECONDS)
    node.set_clock(0)


def take_over(shard, random):
    """As an operator may tell a replica to, without asking anyone else."""
    replica = random.choice(shard.replicas())
    replica.raw("CLUSTER", "FAILOVER", "TAKEOVER")
    wait_for_another([replica])


def part_with_one_replica(shard, random):
    """The master and one of its replicas are in the minority together, and the other replica takes its place."""
    master = shard.master()
    one, other = random.sample(shard.replicas(), 2)
    parted([master, one], hosts([other, *shard.voters]), until_another=[other])


FAULTS = [kill_master, pause_master, part_master_from_nodes, step_clock_of_master, part_master_from_replicas,
          part_master_from_all, part_master_and_kill_it, pause_replica, part_master_from_clients,
          step_clock_of_replica, take_over]
OF_TWO_REPLICAS = [part_with_one_replica]
OF_CLOCKS = [step_clock_of_master, step_clock_of_replica]
