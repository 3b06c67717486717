"""Talks to the admin port: servers that have one, and requests to it."""

import http.client
import socket

from harness import PATIENCE, REPLY_SECONDS, Server, ServerTest, wait_until

# What a pass over the filters takes to begin and end.
COLLECTED_SECONDS = 30 * PATIENCE


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make(**options):
    """A server with an admin port, whose number is its `admin_port`."""
    port = free_port()
    server = Server(admin_port=port, **options)
    server.admin_port = port
    return server


def request(server, path, method="GET", headers=None, address="127.0.0.1"):
    """The response; its body is in `body`, as text."""
    connection = http.client.HTTPConnection(address, server.admin_port, timeout=REPLY_SECONDS)
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        response.body = response.read().decode()
        return response
    finally:
        connection.close()


def raw(server):
    return socket.create_connection(("127.0.0.1", server.admin_port), timeout=REPLY_SECONDS)


def samples(text):
    """{'name{labels}': value} of metrics."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


class AdminPortTest(ServerTest):
    OPTIONS = {}

    @classmethod
    def setUpClass(cls):
        cls.server = make(**cls.OPTIONS)
        cls.addClassCleanup(cls.server.clean_up)
        cls.server.start()

    def request(self, path, **options):
        return request(self.server, path, **options)

    def metrics(self):
        return samples(self.request("/metrics").body)

    def wait_for_metric(self, name, value):
        wait_until(lambda: self.metrics().get(name) == value, COLLECTED_SECONDS, f"{name} is {value}")
