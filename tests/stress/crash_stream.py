"""What clients send: random commands, and what each of them does to which names.

A Stream belongs to one client, which owns its names. The commands that change names keep a model of which names there
are, so that nothing is made by accident: a filter that is made without a seed differs from every other.
"""

import dataclasses
import time

from crash_shapes import FROZEN
from harness import encode

FAR = 4_102_444_800_000  # ms; no expiry from here on passes
SOON_MS = 150
RETIRED = 2  # names of a client, at most, that expire within a round
ITEMS = 2000  # that a client knows
NAMES = 8
LONGEST_PIPELINE = 40
MARK_EVERY = 10


# How often a client does what: the methods of Stream by these names.
WEIGHTS = {
    "make": 8, "add": 60, "remove": 16, "note": 8, "ask": 6,
    "rename": 3, "copy": 3, "delete": 2, "clear": 2, "expire_far": 4,
    "expire_soon": 1, "persist": 2, "merge": 4, "fold": 3, "restore": 2, "load": 2, "compact": 2, "freeze": 2,
    "transaction": 2, "save": 0.3, "background_save": 1,
}


@dataclasses.dataclass(frozen=True)
class Step:
    """The smallest unit that is done or not done: what the reference is sent, and what that does."""

    requests: tuple
    touched: tuple = ()  # names that may be another, or hold other bytes, after it
    replaced: tuple = ()  # those of them that mean another filter then, or none
    moved: tuple = ()  # (from, to)
    mark: int = 0
    names: dict = dataclasses.field(default_factory=dict)  # the model, after it


@dataclasses.dataclass(frozen=True)
class Command:
    """What the victim is sent at once, and the steps of it."""

    wire: bytes
    replies: int
    steps: tuple
    compared: bool = True  # its last reply must be the reference's
    saves: bool = False


class Stream:
    """Random commands of one client. `names` maps those there are to shapes, as far as is known."""

    def __init__(self, prefix, dumps, weights):
        self.prefix = prefix
        self.dumps = dumps
        self.mark = f"{prefix}:mark"
        self.marks = 0
        self.names = {}
        self.retired = {}  # name: when it expires, in ms; not used any more in this round
        self.unsure = set()  # names that may not be there
        self.random = None
        self.actions = [getattr(self, name) for name in weights]
        self.weights = list(weights.values())

    def begin_round(self, random, names):
        self.random = random
        self.names = dict(names)
        self.retired.clear()
        self.unsure.clear()

    def pipelines(self):
        """Without end: commands to be sent at once."""
        while True:
            self.now_ms = int(time.time() * 1000)
            yield [command for command in self.some_actions() if command]

    def some_actions(self):
        count = self.random.choice((1, 2, 5, LONGEST_PIPELINE))
        for i, action in enumerate(self.random.choices(self.actions, self.weights, k=count)):
            if i % MARK_EVERY == 0:
                yield self.set_mark()
            yield action()

    # ---- choices

    def every_name(self):
        return [f"{self.prefix}:{i}" for i in range(NAMES)]

    def all_names(self):
        return [name for name in self.every_name() if name not in self.retired]

    def some(self, fits=lambda shape: True):
        """A name that is there, and its shape; nothing if there is none that fits."""
        known = [(name, shape) for name, shape in self.names.items() if fits(shape) and name not in self.retired]
        return self.random.choice(known) if known else (None, None)

    def free(self):
        names = [name for name in self.all_names() if name not in self.names]
        return self.random.choice(names) if names else None

    def items(self, most=30):
        return [f"i{self.random.randrange(ITEMS)}" for _ in range(self.random.choice((1, 1, 5, most)))]

    # ---- what a step does to the model

    def step(self, *requests, **what):
        return Step(requests, names=dict(self.names), **what)

    def command(self, *arguments, **what):
        return Command(encode(*arguments), 1, (self.step(arguments, **what),))

    def bind(self, name, shape, sure=True):
        self.names[name] = shape
        (self.unsure.discard if sure else self.unsure.add)(name)

    def unbind(self, name):
        self.names.pop(name, None)
        self.unsure.discard(name)

    # ---- actions: each gives a command, or nothing if there is nothing to do it with

    def set_mark(self):
        """Its expiry shows how far a server has come."""
        self.marks += 1
        return self.command("PEXPIREAT", self.mark, FAR + self.marks, mark=self.marks)

    def make(self):
        name, shape = self.free(), self.random.choice(self.dumps).shape
        if name is None:
            return self.delete()
        if self.random.random() < 0.5:
            self.bind(name, shape)
            return self.command(*shape.make(name), touched=(name,), replaced=(name,))
        # Made first, and then added to: a kill may come between.
        insert = shape.insert(name, self.items())
        self.bind(name, shape)
        empty = self.step(insert, ("BF.CLEAR", name), touched=(name,), replaced=(name,))
        return Command(encode(*insert), 1, (empty, self.step(insert, touched=(name,))))

    def add(self):
        name, shape = self.some()
        if name is None:
            return self.make()
        items = self.items()
        verbs = ("CF.ADD", "CF.ADDNX", "CF.INSERT", "CF.INSERTNX") if shape.redis_cuckoo else ("BF.INSERT",)
        verb = self.random.choice(verbs + ("BF.ADD", "BF.MADD"))
        if name in self.unsure:
            verb = shape.verb("INSERT")
        if "INSERT" in verb:
            return self.command(verb, name, "NOCREATE", "ITEMS", *items, touched=(name,))
        return self.command(verb, name, *(items if verb == "BF.MADD" else items[:1]), touched=(name,))

    def remove(self):
        name, shape = self.some(lambda shape: shape.removes)
        if name is None:
            return None
        verb = self.random.choice(("BF.DEL", "BF.MDEL") + (("CF.DEL",) * 3 if shape.redis_cuckoo else ()))
        items = self.items()
        return self.command(verb, name, *(items if verb == "BF.MDEL" else items[:1]), touched=(name,))

    def note(self):
        """Whatever is noted: here it only matters that nothing is forgotten."""
        name, _ = self.some(lambda shape: shape.denies)
        return name and self.command("BF.FPADD", name, *self.items(), touched=(name,))

    def ask(self):
        name, _ = self.some(lambda shape: shape != FROZEN)
        return name and self.random.choice((self.command("BF.MEXISTS", name, *self.items()),
                                            self.command("BF.CARD", name)))

    def rename(self):
        source, shape = self.some()
        target = self.random.choice(self.all_names() or [None])
        if source is None or source == target:
            return None
        if source in self.unsure or target in self.unsure:
            return None
        verb = self.random.choice(("RENAME", "RENAMENX"))
        if verb == "RENAMENX" and target in self.names:
            return self.command(verb, source, target)
        self.unbind(source)
        self.bind(target, shape)
        return self.command(verb, source, target, touched=(source, target), replaced=(source, target),
                            moved=(source, target))

    def copy(self):
        source, shape = self.some(lambda shape: shape != FROZEN)
        target = self.random.choice(self.all_names() or [None])
        if source is None or source == target or {source, target} & self.unsure:
            return None
        replace = ("REPLACE",) if self.random.random() < 0.5 else ()
        if target in self.names and not replace:
            return self.command("COPY", source, target)
        self.bind(target, shape)
        return self.command("COPY", source, target, *replace, touched=(target,), replaced=(target,))

    def delete(self):
        names = [name for name in self.all_names() if name in self.names]
        if not names:
            return None
        names = self.random.sample(names, min(len(names), self.random.choice((1, 1, 2))))
        steps = []
        for name in names:
            self.unbind(name)
            steps.append(self.step(("DEL", name), touched=(name,), replaced=(name,)))
        return Command(encode(self.random.choice(("DEL", "UNLINK")), *names), 1, tuple(steps), len(names) == 1)

    def clear(self):
        name, _ = self.some()
        return name and self.command("BF.CLEAR", name, touched=(name,), replaced=(name,))

    def expire_far(self):
        name, _ = self.some()
        if name is None:
            return None
        condition = self.random.choice(((), (), ("NX",), ("XX",), ("GT",), ("LT",)))
        verb, unit = self.random.choice((("PEXPIREAT", 1), ("EXPIREAT", 1000)))
        until = FAR // unit + self.random.randrange(10_000)
        return self.command(verb, name, until, *condition, touched=(name,))

    def expire_soon(self):
        """The name is not used again before that moment, which may have passed on the reference."""
        name, _ = self.some()
        if name is None or len(self.retired) == RETIRED:
            return None
        until = self.now_ms + self.random.randrange(SOON_MS)
        self.retired[name] = until
        self.unbind(name)
        return self.command("PEXPIREAT", name, until, touched=(name,), replaced=(name,))

    def persist(self):
        name, _ = self.some()
        return name and self.command("PERSIST", name, touched=(name,))

    def merge(self):
        first, shape = self.some(lambda shape: shape.merges)
        if first is None:
            return None
        if self.random.random() < 0.5:
            target = self.free()
            if target is None or first in self.unsure:
                return None
            self.bind(target, shape, sure=False)
            return self.command("BF.MERGE", target, first, touched=(target,), replaced=(target,))
        second, _ = self.some(lambda other: other == shape)
        return self.command("BF.MERGE", first, second, touched=(first,))

    def fold(self):
        """Larger ones are refused, and so are those that hold more items."""
        name, _ = self.some(lambda shape: shape.kind in ("blocked", "classic"))
        return name and self.command("BF.FOLD", name, self.random.choice((10, 50, 200, 500)), touched=(name,))

    def restore(self):
        dump = self.random.choice(self.dumps)
        name = self.random.choice(self.all_names() or [None])
        if name is None or name in self.unsure:
            return None
        replace = ("REPLACE",) if self.random.random() < 0.5 else ()
        if name in self.names and not replace:
            return self.command("BF.RESTORE", name, dump.data)
        self.bind(name, dump.shape)
        return self.command("BF.RESTORE", name, dump.data, *replace, touched=(name,), replaced=(name,))

    def load(self):
        name, dump = self.free(), self.random.choice(self.dumps)
        if name is None:
            return None
        chunks = [(dump.shape.verb("LOADCHUNK"), name, *chunk) for chunk in dump.chunks]
        if len(chunks) == 1:
            # Of a dump in one piece two are made; the first is larger than any head.
            (verb, _, iterator, data), = chunks
            cut = self.random.randrange(len(data) // 2, len(data))
            chunks = [(verb, name, iterator, data[:cut]), (verb, name, iterator + 1, data[cut:])]
        begun = [self.step(chunk) for chunk in chunks[:-1]]
        self.bind(name, dump.shape)
        last = self.step(chunks[-1], touched=(name,), replaced=(name,))
        return Command(b"".join(encode(*chunk) for chunk in chunks), len(chunks), (*begun, last))

    def compact(self):
        name, _ = self.some(lambda shape: shape.redis_cuckoo)
        return name and self.command("CF.COMPACT", name, touched=(name,))

    def freeze(self):
        name, _ = self.some(lambda shape: shape.kind == "ribbon")
        if name is None:
            return None
        self.bind(name, FROZEN, name not in self.unsure)
        return self.command("BF.FREEZE", name, touched=(name,))

    def transaction(self):
        commands = [command for command in (self.add(), self.remove(), self.add()) if command]
        if not commands:
            return None
        wire = encode("MULTI") + b"".join(command.wire for command in commands) + encode("EXEC")
        steps = tuple(step for command in commands for step in command.steps)
        return Command(wire, 2 + len(commands), steps, compared=False)

    def save(self):
        return Command(encode("SAVE"), 1, (), saves=True)

    def background_save(self):
        return Command(encode("BGSAVE"), 1, ())

    def open(self):
        """Comes before all else: the name that marks are set on."""
        return self.command("BF.RESERVE", self.mark, 0.01, 10, "SEED", 1)

    def flush(self):
        """Of a client that owns all names."""
        self.names.clear()
        self.unsure.clear()
        everything = tuple(self.every_name())
        flushed = self.step(("FLUSHALL",), touched=everything, replaced=everything)
        opened = self.open()
        return Command(encode("FLUSHALL") + opened.wire, 2, (flushed, *opened.steps))
