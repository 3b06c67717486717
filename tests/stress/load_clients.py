"""Thousands of connections in one process, none of which ever blocks: the loop that serves them, and what they have in
common. What they do is in load_manners.py."""

import collections
import errno
import heapq
import itertools
import random
import select
import socket
import struct
import time

GONE = select.EPOLLHUP | select.EPOLLERR


class Load:
    """All clients, their events and timers, what they did and what went wrong."""

    def __init__(self, port):
        self.address = ("127.0.0.1", port)
        self.epoll = select.epoll()
        self.clients = {}  # by descriptor
        self.timers = []
        self.numbers = itertools.count()
        self.did = collections.Counter()
        self.failures = []
        self.ending = False  # no client connects any more

    def after(self, seconds, act):
        heapq.heappush(self.timers, (time.monotonic() + seconds, next(self.numbers), act))

    def serve(self, seconds, until=lambda: False):
        """Serves events for so long, or until the condition holds; whether it does."""
        end = time.monotonic() + seconds
        while not until():
            now = time.monotonic()
            if now >= end:
                return False
            next_timer = self.timers[0][0] if self.timers else end
            for descriptor, events in self.epoll.poll(max(0, min(0.05, next_timer - now))):
                if client := self.clients.get(descriptor):
                    client.on_event(events)
            while self.timers and self.timers[0][0] <= time.monotonic():
                heapq.heappop(self.timers)[2]()
        return True

    def fail(self, client, what):
        self.did["failures"] += 1
        if len(self.failures) < 20:
            self.failures.append(f"{type(client).__name__}: {what}")

    def source(self):
        """An address of loopback to come from: each has ports of its own, so that none is ever wanting."""
        return f"127.0.0.{2 + next(self.numbers) % 100}"


class Client:
    """A connection. Subclasses define what happens on it."""

    receive_buffer = 0  # 0: the system's choice

    def __init__(self, load):
        self.load = load
        self.random = random.Random(next(load.numbers))
        self.socket = None
        self.connect()

    # ---- for subclasses

    def on_connected(self):
        pass

    def on_data(self, data):
        self.load.fail(self, f"bytes that were not asked for: {data[:80]!r}")

    def on_closed(self):
        """The server closed, or reset, the connection."""
        self.load.fail(self, "the server closed the connection")

    def after(self, seconds, act):
        """As Load.after, unless this connection is gone by then."""
        mine = self.socket
        self.load.after(seconds, lambda: act() if self.socket is mine and mine is not None else None)

    def send(self, data):
        self.out.append(memoryview(data))
        self.flush()

    def read(self, wanted):
        """From now on bytes are read as they come, or not at all."""
        self.reads = wanted
        self.watch()

    def leave(self, reset=False):
        if self.socket is None:
            return
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        del self.load.clients[self.socket.fileno()]
        self.socket.close()
        self.socket = None
        self.out.clear()
        self.load.did["disconnects"] += 1

    def connect(self):
        if self.load.ending or self.socket is not None:
            return
        self.out = collections.deque()
        self.reads = True
        self.connected = False
        self.socket = socket.socket()
        self.socket.setblocking(False)
        if self.receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.bind((self.load.source(), 0))
        status = self.socket.connect_ex(self.load.address)
        self.load.clients[self.socket.fileno()] = self
        self.load.epoll.register(self.socket, select.EPOLLOUT)
        if status not in (0, errno.EINPROGRESS):
            self.refuse(status)

    def receive(self, size=1 << 18):
        try:
            data = self.socket.recv(size)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if data:
            self.load.did["bytes received"] += len(data)
            self.on_data(data)
        else:
            self.lose()

    # ---- the machinery

    def refuse(self, status):
        self.load.fail(self, f"cannot connect: {errno.errorcode[status]}")
        self.leave()

    def lose(self):
        self.leave()
        self.on_closed()

    def watch(self):
        if self.socket is None:
            return
        wanted = select.EPOLLIN if self.reads else 0
        if self.out or not self.connected:
            wanted |= select.EPOLLOUT
        self.load.epoll.modify(self.socket, wanted)

    def on_event(self, events):
        if not self.connected:
            return self.finish_connecting()
        if events & select.EPOLLOUT:
            self.flush()
        if self.socket is not None and (events & GONE or (events & select.EPOLLIN and self.reads)):
            self.receive()

    def finish_connecting(self):
        if status := self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return self.refuse(status)
        self.connected = True
        self.load.did["connects"] += 1
        self.watch()
        self.on_connected()

    def flush(self):
        while self.out and self.connected:
            try:
                sent = self.socket.send(self.out[0][:1 << 20])
            except BlockingIOError:
                break
            except ConnectionError:
                return self.lose()
            self.load.did["bytes sent"] += sent
            self.out[0] = self.out[0][sent:]
            if not self.out[0]:
                self.out.popleft()
        self.watch()
