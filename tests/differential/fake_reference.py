"""A server that passes commands on to another one and answers some of them differently, for tests of the comparison."""

import contextlib
import socket
import threading

from harness import HOST, Connection, encode


def read_command(lines):
    """The words of the next command, which is an array of bulk strings; none at the end."""
    head = lines.readline()
    return [lines.read(int(lines.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))] if head else []


class FakeReference:
    """`ask` sends words to the other server and returns its reply; `answer(words, ask)` is the reply of this one."""

    def __init__(self, port, answer):
        self.upstream, self.answer = port, answer
        self.listener = socket.create_server((HOST, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError, EOFError), connection, Connection(self.upstream) as upstream:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            lines = connection.makefile("rb")
            while words := read_command(lines):
                connection.sendall(self.answer(words, lambda *words: upstream.ask(encode(*words))))
