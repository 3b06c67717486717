"""What a server holds, and how far into a client's stream that is.

A reference that was never killed takes the stream step by step until it holds what the victim held after its restart.
"""

import dataclasses
import re
import time

from crash_shapes import bulk
from crash_stream import FAR, ITEMS
from harness import REPLY_SECONDS, encode

AT_ONCE = 200  # requests whose replies have not been read


class Mismatch(AssertionError):
    pass


@dataclasses.dataclass(frozen=True)
class Held:
    """What a name means. `content` is equal for equal filters; `dump` is for making another server hold the same."""

    content: bytes
    expiry: bytes
    dump: bytes = dataclasses.field(compare=False, repr=False)

    def __str__(self):
        return f"{len(self.dump)} bytes ({hash(self.content) & 0xffffffff:08x}), expiry {self.expiry[1:-2].decode()}"


def check_log(server):
    """A killed process has no exit status that would show what sanitizers reported."""
    if re.search(r"Sanitizer|runtime error:", server.log()):
        raise Mismatch(server.log())


def ask_all(connection, requests):
    """Their replies, in order."""
    replies = []
    for begin in range(0, len(requests), AT_ONCE):
        chunk = requests[begin:begin + AT_ONCE]
        connection.send(b"".join(encode(*request) for request in chunk))
        replies += [connection.reply() for _ in chunk]
    return replies


def look(connection, names):
    """What there is under these names. Waits until no filter is being frozen."""
    deadline = time.monotonic() + REPLY_SECONDS
    while True:
        asked = [(verb, name, *more) for name in names
                 for verb, *more in (("BF.INFO", "WINDOW"), ("BF.INFO", "STATE"), ("BF.DUMP",), ("PEXPIRETIME",),
                                     ("BF.INFO", "TTL"))]
        replies = ask_all(connection, asked)
        if not any(b"building" in state for state in replies[1::5]):
            break
        if time.monotonic() > deadline:
            raise Mismatch(f"filters are being frozen for too long: {names}")
        time.sleep(0.001)
    held = {}
    for i, name in enumerate(names):
        window, _, dump, expiry, ttl = replies[5 * i:5 * i + 5]
        if dump[:1] == b"$":
            content = membership(connection, name) if b"\r\n1d\r\n" in window + ttl else dump
            held[name] = Held(content, expiry, bulk(dump))
    return held


def all_names(connection):
    return {name.decode() for name in connection.command("KEYS", "*").split(b"\r\n")[2::2]}


def membership(connection, name):
    """All answers of a filter, for one whose bytes depend on the time."""
    items = [f"i{i}" for i in range(ITEMS)]
    return b"".join(ask_all(connection, [("BF.MEXISTS", name, *items), ("BF.CARD", name)]))


def hold(connection, names, held):
    """Makes a server hold exactly this under these names."""
    requests = []
    for name in names:
        if name not in held:
            requests.append(("DEL", name))
            continue
        requests.append(("BF.RESTORE", name, held[name].dump, "REPLACE"))
        if held[name].expiry != b":-1\r\n":
            requests.append(("PEXPIREAT", name, held[name].expiry[1:-2]))
    for request, reply in zip(requests, ask_all(connection, requests)):
        if reply[:1] == b"-":
            raise Mismatch(f"{request[:2]}: {reply!r}")


def marks(connection, mark):
    """How far a server has come, by the expiry of this name; None if it is not there."""
    expiry = int(connection.command("PEXPIRETIME", mark)[1:-2])
    return expiry - FAR if expiry >= FAR else None


class Replay:
    """One client's steps of a round, taken by the reference."""

    def __init__(self, connection, names, steps):
        self.connection = connection
        self.names = names
        self.steps = steps
        self.replies = []  # of each step's last request
        self.states = {}  # what is held after so many steps

    def skip_to(self, count):
        """Without recording the states on the way."""
        skipped = self.steps[len(self.replies):count]
        if not skipped and self.states:
            return
        replies = ask_all(self.connection, [request for step in skipped for request in step.requests])
        at = -1
        for step in skipped:
            at += len(step.requests)
            self.replies.append(replies[at])
        self.states[count] = look(self.connection, self.names)

    def state(self, count):
        """After so many steps; they only go on."""
        while max(self.states) < count:
            now = dict(self.states[max(self.states)])
            step = self.steps[len(self.replies)]
            self.replies.append(ask_all(self.connection, step.requests)[-1])
            for name in step.touched:
                now.pop(name, None)
            now.update(look(self.connection, step.touched))
            self.states[len(self.replies)] = now
        return self.states[count]

    def find(self, found, floor, first, last):
        """The largest number of steps after which the reference holds what was `found`: `floor` at least, and within
        [first, last]. A filter may hold what further steps did to it, since its image may be younger than the log
        that leads there. None if there is no such number."""
        self.state(last)
        counts = range(last, max(first, floor) - 1, -1)
        exact = [count for count in counts if self.state(count) == found]
        return next(iter(exact or (count for count in counts if self.fits(found, count))), None)

    def fits(self, found, count):
        state = self.state(count)
        return found.keys() == state.keys() and all(
            held.expiry == state[name].expiry and held.content in self.contents(name, count)
            for name, held in found.items())

    def contents(self, name, count):
        """All that the filter under this name holds from there on, wherever it moves, until it is replaced."""
        yield self.state(count)[name].content
        for at in range(count, len(self.steps)):
            step = self.steps[at]
            if step.moved and step.moved[0] == name:
                name = step.moved[1]
            elif name in step.replaced:
                return
            held = self.state(at + 1).get(name)
            if held is None:
                return
            yield held.content

    def describe(self, found, floor, first, last):
        """For people: what was expected and what was found, where they are closest."""
        def differing(count):
            state = self.state(count)
            return [name for name in self.names if state.get(name) != found.get(name)]
        counts = range(first, len(self.steps) + 1)
        closest = min(counts, key=lambda count: len(differing(count)))
        lines = [f"{floor} of {len(self.steps)} steps must be there; by the mark it is {first} to {last}",
                 f"closest after {closest} steps, where there differ:"]
        for name in differing(closest):
            right = [count for count in counts if self.state(count).get(name) == found.get(name)]
            shape = self.steps[closest - 1].names.get(name) if closest else None
            lines.append(f"  {name} ({shape}): expected {self.state(closest).get(name)}, found {found.get(name)}, "
                         f"which is right after steps {right[:20]}")
        for at in range(max(0, closest - 3), min(len(self.steps), closest + 6)):
            lines.append(f"  step {at + 1}: " + "; ".join(str(request)[:200] for request in self.steps[at].requests))
        return "\n".join(lines)


def marked(mark, steps):
    """The first and the last number of steps that a server with this mark can have taken."""
    if mark is None:
        return 0, len(steps)
    after = [at + 1 for at, step in enumerate(steps) if 0 < step.mark <= mark]
    before = [at for at, step in enumerate(steps) if step.mark > mark]
    return max(after, default=0), min(before, default=len(steps))


def compare_replies(client, replies):
    at = -1
    for command, reply in zip(client.commands, client.replies):
        at += len(command.steps)
        if command.steps and command.compared and replies[at] != reply:
            raise Mismatch(f"{str(command.steps[-1].requests[-1])[:300]} (step {at + 1}) was answered {reply!r}, "
                           f"and {replies[at]!r} by the reference")


@dataclasses.dataclass(frozen=True)
class Settled:
    count: int  # steps that the victim has taken
    found: dict  # what it holds
    expected: dict  # what it would hold exactly then: some of `found` may be younger
    reached: dict  # what the reference holds, after all steps


def settle(client, floor, connection, referee):
    """How many of a client's steps the restarted victim has taken: `floor` at least, or it is a Mismatch."""
    stream, steps = client.stream, client.steps(None)
    names = stream.every_name()
    found = look(connection, names)
    first, last = marked(marks(connection, stream.mark), steps)
    first = min(first, floor)
    replay = Replay(referee, names, steps)
    replay.skip_to(first)
    count = replay.find(found, floor, first, last)
    if count is None:
        raise Mismatch(replay.describe(found, floor, first, last))
    expected = replay.state(count)
    replay.skip_to(len(steps))
    compare_replies(client, replay.replies)
    return Settled(count, found, expected, replay.state(len(steps)))
