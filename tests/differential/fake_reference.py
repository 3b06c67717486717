"""A server that passes commands on to another one and answers some of them differently, for tests of the comparison."""

from fake_server import FakeServer, read_command
from harness import Connection, encode


class FakeReference(FakeServer):
    """`ask` sends words to the other server and returns its reply; `answer(words, ask)` is the reply of this one."""

    def __init__(self, port, answer):
        self.upstream, self.answer = port, answer
        super().__init__()

    def serve(self, connection):
        lines = connection.makefile("rb")
        with Connection(self.upstream) as upstream:
            while words := read_command(lines):
                connection.sendall(self.answer(words, lambda *words: upstream.ask(encode(*words))))
