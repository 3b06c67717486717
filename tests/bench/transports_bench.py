"""What a command costs by each way to the server: `scripts/bench --transports`.

One server without a log and with one event loop, pinned to core 0, is reached by plain TCP, by TLS (1.3, AES-256-GCM,
a P-256 key) and through its Unix socket. redis-benchmark drives it from core 1 with 50 connections; what connecting
them costs is left out, and is a row of its own. Measured is the CPU time of the server per command, as the median of
several rounds; the ratio is to plain TCP in the same round.
"""

import shutil
import socket
import ssl
import statistics
import subprocess
import tempfile

from bench_server import CONNECTIONS, KEY, Door, Workload, describe_machine, free_port, make_filter, progress, \
    start_bitsieve

PIPELINES = (1, 64)
COMMANDS = (("PING", ["PING"]), ("BF.ADD", ["BF.ADD", "f", KEY]), ("BF.EXISTS", ["BF.EXISTS", "f", KEY]))


class OtherDoor(Door):
    """A further way to a server that runs."""

    def __init__(self, server, name, load_arguments, connect):
        self.name, self.load_arguments, self.connect = name, load_arguments, connect
        self.process, self.ask = server.process, server.ask


def make_certificate(directory):
    """Files of a certificate that signs itself, and of its key."""
    certificate, key = directory + "/crt", directory + "/key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key,
                    "-out", certificate], check=True, capture_output=True)
    return certificate, key


def connect_to_unix_socket(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def doors_of(binary, directory):
    certificate, key = make_certificate(directory)
    tls_port, path = free_port(), directory + "/socket"
    server = start_bitsieve(binary, "--appendonly", "no", "--tls-port", str(tls_port), "--tls-cert-file", certificate,
                            "--tls-key-file", key, "--tls-auth-clients", "no", "--unixsocket", path)
    server.name = "TCP"
    context = ssl.create_default_context(cafile=certificate)

    def connect_by_tls():
        return context.wrap_socket(socket.create_connection(("127.0.0.1", tls_port)), server_hostname="localhost")
    by_tls = OtherDoor(server, "TLS", ["-p", str(tls_port), "--tls", "--cacert", certificate], connect_by_tls)
    local = OtherDoor(server, "Unix socket", ["-s", path], lambda: connect_to_unix_socket(path))
    return server, [server, by_tls, local]


def report(rows, doors):
    print(f"\n{'command':<12} {'-P':>3} {'way':<12} {'ns/op':>9} {'ops/s':>12} {'ratio':>6}")
    for row in rows:
        print(f"{row.label:<12} {row.pipeline:>3} {row.server.name:<12} {statistics.median(row.cpu):>9.1f} "
              f"{statistics.median(row.rate):>12,.0f} {statistics.median(row.ratio):>6.3f}")
    print("\nconnecting, in microseconds of the server per connection: " +
          ", ".join(f"{door.name} {door.connecting_ns / CONNECTIONS / 1000:.0f}" for door in doors))


def run(binary, rounds, quick):
    describe_machine()
    operations = {1: 30_000, 64: 300_000} if quick else {1: 150_000, 64: 2_000_000}
    directory = tempfile.mkdtemp(prefix="bitsieve-bench-")
    server, doors = doors_of(binary, directory)
    try:
        make_filter(server, "f", 1_000_000, "0.01")
        groups = [[Workload(door, label, command, pipeline) for door in doors]
                  for label, command in COMMANDS for pipeline in PIPELINES]
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}")
            for group in groups:
                for row in group:
                    row.run(operations[row.pipeline])
                    row.ratio.append(row.cpu[-1] / group[0].cpu[-1])
        report([row for group in groups for row in group], doors)
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
