"""Servers that tests make up: a port, a thread for each connection, and the commands that come."""

import contextlib
import socket
import threading

from harness import HOST


def read_command(lines):
    """The words of the next command: an array of bulk strings, or a line; none at the end."""
    head = lines.readline()
    if not head.startswith(b"*"):
        return head.split()
    return [lines.read(int(lines.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]


class FakeServer:
    """Calls serve(connection) in a thread for each connection, and closes the connection afterwards."""

    def __init__(self):
        self.listener = socket.create_server((HOST, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.guarded, args=[connection], daemon=True).start()

    def guarded(self, connection):
        with contextlib.suppress(OSError, EOFError), connection:
            self.serve(connection)

    def serve(self, connection):
        raise NotImplementedError
