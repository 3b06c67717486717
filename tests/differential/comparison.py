"""Sends the same commands to all servers and compares their replies with those of the first.

A difference that the list of known differences excuses may have left the servers with different content. The keys of
such a command are deleted everywhere before the next step, and until then commands on them are not compared.
"""

import collections
import re
import time

from case import Case
from harness import PATIENCE
from replies import elements, is_error
from settled import compaction_is_due, settled, without_clock

KEY_BYTES = 2  # of the names of filters in values.py
FREEZE_SECONDS = 20 * PATIENCE
COMPACTION_SECONDS = PATIENCE
REMOVALS = (b"BF.DEL", b"BF.MDEL", b"CF.DEL")
BUSY = b"in progress"  # as many loads or dumps as a server keeps: it depends on their age
OK, QUEUED = b"+OK\r\n", b"+QUEUED\r\n"
ENDED = b"-the connection ended\r\n"
MAKERS = (b"BF.ADD", b"BF.MADD", b"BF.INSERT", b"BF.RESERVE")
NAMES_OF_NO_KEY = (b"MULTI", b"EXEC", b"DISCARD")


class Comparison:
    def __init__(self, subjects, excuses, *, seeded_default=True):
        self.subjects, self.excuses, self.seeded_default = subjects, excuses, seeded_default
        self.commands, self.batches, self.uncompared = 0, 0, 0
        self.excused, self.sent = collections.Counter(), collections.Counter()
        self.loading, self.broken = set(), False
        self.clear()

    def clear(self):
        """Empties all servers."""
        if self.broken:
            for subject in self.subjects:
                subject.reconnect()
            self.broken = False
        for subject in self.subjects:
            subject.clear(self.loading)
        self.tainted, self.loading, self.queued = set(), set(), {2: None, 3: None}
        self.was_busy = False  # since then

    # ---- one step

    def run(self, step):
        """Sends a step to all servers. Returns the replies by server, and the first unknown difference or None."""
        missing = set() if self.seeded_default else self.missing_keys(step)
        for subject in self.subjects:
            subject.send(step.version, step.commands)
        replies = []
        for subject in self.subjects:
            replies.append(list(self.received(subject, step)))
            if len(replies[-1]) < len(step.commands):
                self.broken = True
                return replies, Case(step.commands[len(replies[-1])], (subject,), (ENDED,))
        self.batches += 1
        self.commands += len(step.commands)
        found = None
        for words, of_all in zip(step.commands, zip(*replies)):
            self.note(words)
            found = found or self.compare(step.version, words, of_all, missing)
        self.settle(step)
        return replies, found

    @staticmethod
    def received(subject, step):
        """The replies to a step, until the connection ends."""
        for words in step.commands:
            try:
                yield subject.receive(step.version, words)
            except TimeoutError as error:
                raise TimeoutError(f"{subject.name} sent no reply to {words} of {step.commands}") from error
            except (EOFError, ConnectionError):
                return

    def note(self, words):
        name = words[0].upper().decode("latin-1")
        self.sent[name] += 1
        self.sent.update(f"{name} {word.upper().decode()}" for word in words[2:] if len(word) < 20 and word.isalnum())

    def missing_keys(self, step):
        """Keys of the step that do not exist before it."""
        return {key for key in {words[1] for words in step.commands if len(words) > 1}
                if not self.subjects[0].ask("EXISTS", key)}

    def compare(self, version, words, replies, missing):
        """The first difference in the replies to one command that nothing excuses."""
        queued = self.queued[version]
        self.track_transaction(version, words[0].upper())
        if words[0].upper() == b"EXEC" and queued:
            arrays = [elements(reply) for reply in replies]
            if all(each is not None and len(each) == len(queued) for each in arrays):
                pairs = [self.compare_one(each, of_all, missing) for each, of_all in zip(queued, zip(*arrays))]
                return next(filter(None, pairs), None)
            for each in queued:
                self.taint(each)
        return self.compare_one(words, replies, missing)

    def track_transaction(self, version, name):
        if name == b"MULTI":
            self.queued[version] = []
        elif name in (b"EXEC", b"DISCARD"):
            self.queued[version] = None

    def compare_one(self, words, replies, missing):
        if not self.is_comparable(words, replies, missing):
            self.uncompared += 1
            self.taint(words)
            return None
        self.track_load(words, replies)
        first = settled(words, replies[0])
        for subject, reply in zip(self.subjects[1:], replies[1:]):
            if reply == replies[0] or settled(words, reply) == first:
                continue
            pair = tuple(without_clock(words, each) for each in (replies[0], reply))
            case = Case(words, (self.subjects[0], subject), pair, not self.loading.isdisjoint(words))
            if not self.is_excused(case):
                return case
        return None

    def is_comparable(self, words, replies, missing):
        """Whether the servers had the same content, and have drawn no seeds of their own for it."""
        if replies[0] == QUEUED:
            self.queue(words)
            unseeded = False
        else:
            unseeded = not is_error(replies[0]) and self.makes_unseeded(words, missing)
            self.track_missing(words, missing)
        busy = any(BUSY in reply for reply in replies)
        self.was_busy = self.was_busy or busy
        for subject in self.subjects if busy else ():
            subject.followed.pop(words[1], None)  # else some would have a newer position than others
        return self.tainted.isdisjoint(words) and not unseeded and not busy

    def queue(self, words):
        for queued in self.queued.values():
            if queued is not None:
                queued.append(words)

    def track_load(self, words, replies):
        if words[0].upper().endswith(b".LOADCHUNK") and OK in replies:
            self.loading.add(words[1])
        elif not self.loading.isdisjoint(words):
            self.taint(words)  # some have the filter already, and others do not

    def is_excused(self, case):
        excuse = next((excuse for excuse in self.excuses if excuse.excuses(case)), None)
        if excuse is None:
            return False
        self.excused[excuse.id] += 1
        if not excuse.keeps_content:
            self.taint(case.words)
        return True

    def makes_unseeded(self, words, missing):
        """Whether the command has made a filter whose seed each server chose for itself, if it was not refused."""
        name, options = words[0].upper(), [word.upper() for word in words[2:]]
        if b"ITEMS" in options:
            options = options[:options.index(b"ITEMS")]
        if name in (b"BF.RESERVE", b"BF.INSERT") and b"TYPE" in options:
            return b"SEED" not in options and b"REDISBLOOM" not in options
        if self.seeded_default or name not in MAKERS:
            return False
        made = words[1] in missing and b"SEED" not in options
        missing.discard(words[1])
        return made

    @staticmethod
    def track_missing(words, missing):
        """A command about names may delete keys."""
        if not words[0].upper().startswith((b"BF.", b"CF.")):
            missing.update(words[1:])

    def taint(self, words):
        if words[0].upper() not in NAMES_OF_NO_KEY:
            self.tainted.update(words[1:2], (word for word in words[2:] if len(word) == KEY_BYTES))

    def settle(self, step):
        """Waits until what works in the background is done, and deletes what may differ."""
        for words in step.commands:
            if words[0].upper() == b"BF.FREEZE" and len(words) == 2:
                for subject in self.subjects:
                    self.wait_until_frozen(subject, words[1])
        if any(queued is not None for queued in self.queued.values()):
            return
        for key in {words[1] for words in step.commands if words[0].upper() in REMOVALS and len(words) > 1}:
            for subject in self.subjects:
                self.await_compaction(subject, key)
        if self.tainted:
            for subject in self.subjects:
                subject.delete(self.tainted, self.loading)
            self.loading -= self.tainted
            self.tainted.clear()
        self.loading = {key for key in self.loading if not all(subject.ask("EXISTS", key) for subject in self.subjects)}

    @staticmethod
    def wait_until_frozen(subject, key):
        deadline = time.monotonic() + FREEZE_SECONDS
        while b"building" in subject.links[2].command("BF.INFO", key, "STATE"):
            if time.monotonic() > deadline:
                raise AssertionError(f"{subject.name}: {key!r} was not frozen within {FREEZE_SECONDS} s")
            time.sleep(0.001)

    @staticmethod
    def await_compaction(subject, key):
        """Ends also if none comes: what a load says of removals before it leads to none."""
        deadline = time.monotonic() + COMPACTION_SECONDS
        while time.monotonic() < deadline:
            reply = subject.links[2].command("CF.DEBUG", key)
            counts = re.search(rb"items:(\d+) deletes:(\d+) filters:(\d+)", reply)
            if counts is None or counts[3] == b"1" or not compaction_is_due(int(counts[1]), int(counts[2])):
                return
            time.sleep(0.001)
