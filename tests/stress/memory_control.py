"""The other side of tests/support/failing_memory.h: refuses allocations of a whole server, and names where it died."""

import collections
import mmap
import os
import re
import struct
import subprocess

EVERYTHING = 1 << 62
KEPT = 64  # records
WIDTH = 200  # of a line, since names of templates are long
FRAMES = 40
HEAD = struct.Struct("<II16sQQQQQQQ")
RECORD = struct.Struct(f"<QQII16s{FRAMES}Q")
ARMED, COUNTERS = struct.Struct("<II16sQQQQQ"), struct.Struct("<Q")
SEEN_AT, REFUSED_AT, RECORDS_AT, DEAD_AT = 24, 56, 64, 72

NOBODY, ALL_THREADS, NAMED_THREADS = 0, 3, 4  # of enum Whose

Record = collections.namedtuple("Record", "number bytes thread_id thread addresses")


class MemoryControl:
    """One server's. `library` is failing_memory as a library; variables() are to be in the server's environment."""

    def __init__(self, library, path):
        self.library = library
        self.path = path
        size = HEAD.size + (1 + KEPT) * RECORD.size
        with open(path, "wb") as file:
            file.truncate(size)
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), size)
        self.mappings = []  # of the process: (begin, end, offset, file)

    def variables(self):
        return {"LD_PRELOAD": self.library, "TEST_MEMORY_CONTROL": self.path}

    def started(self, process_id):
        """Notes where the process has its files, for addresses to be named once it is gone."""
        self.memory[RECORDS_AT:HEAD.size] = bytes(HEAD.size - RECORDS_AT)
        self.mappings = []
        with open(f"/proc/{process_id}/maps", encoding="utf-8") as maps:
            for line in maps:
                found = re.match(r"(\w+)-(\w+) r\S+ (\w+) \S+ \S+ +(/.*)", line)
                if found:
                    begin, end, offset = (int(number, 16) for number in found.groups()[:3])
                    self.mappings.append((begin, end, offset, found[4]))

    # ---- refusing

    def refuse_every(self, period, first=0):
        """Of all threads, each so-many-th allocation, until allow()."""
        self._arm(ALL_THREADS, "", first, EVERYTHING, period)

    def refuse_one(self, thread, number):
        """The allocation of this number, from 0 on, of the threads of this name; of all, if it is empty."""
        self._arm(NAMED_THREADS if thread else ALL_THREADS, thread, number, number + 1, 1)

    def refuse_some(self, number, count):
        """So many allocations of all threads, from the one of this number on."""
        self._arm(ALL_THREADS, "", number, number + count, 1)

    def allow(self):
        """Refuses no more. Returns how many allocations counted, and how many of them were refused."""
        self.memory[0:4] = struct.pack("<I", NOBODY)
        return self.seen(), self.refused()

    def seen(self):
        return COUNTERS.unpack_from(self.memory, SEEN_AT)[0]

    def refused(self):
        return COUNTERS.unpack_from(self.memory, REFUSED_AT)[0]

    def _arm(self, whose, thread, first, end, every):
        self.memory[0:4] = struct.pack("<I", NOBODY)
        self.memory[:RECORDS_AT] = ARMED.pack(NOBODY, 0, thread.encode(), 0, first, end, every, 0)
        self.memory[0:4] = struct.pack("<I", whose)

    # ---- naming

    def explain(self, newest=3):
        """The last refusals, and where the process died if it did, with the names of functions."""
        count = COUNTERS.unpack_from(self.memory, RECORDS_AT)[0]
        lines = []
        if COUNTERS.unpack_from(self.memory, DEAD_AT)[0]:
            death = self._record(HEAD.size)
            lines += [f"died by signal {death.number} in thread {death.thread}:", *self._frames(death)]
            kept = [self._record(HEAD.size + (1 + i) * RECORD.size) for i in range(min(count, KEPT))]
            own = [each for each in kept if each.thread_id == death.thread_id]
            chosen = sorted(own, key=lambda each: each.number)[-newest:]
        else:
            numbers = range(max(0, count - newest), count)
            chosen = [self._record(HEAD.size + (1 + i % KEPT) * RECORD.size) for i in numbers]
        for each in chosen:
            lines += [f"refusal {each.number} of {count}: {each.bytes} bytes in thread {each.thread}:",
                      *self._frames(each)]
        return "\n".join(lines) or "nothing was refused"

    def _record(self, at):
        number, size, thread_id, frames, thread, *addresses = RECORD.unpack_from(self.memory, at)
        return Record(number, size, thread_id, thread.split(b"\0")[0].decode(), addresses[:frames])

    def _frames(self, record):
        return ["    " + self._name(address)[:WIDTH] for address in record.addresses[2:]]

    def _name(self, address):
        """Of a return address: the call is before it."""
        for begin, end, offset, file in self.mappings:
            if begin <= address < end:
                return name_in_file(file, address - 1 - begin + offset)
        return hex(address)


def name_in_file(file, offset, known={}):  # pylint: disable=dangerous-default-value
    """The offsets of position-independent files are their addresses."""
    if (file, offset) not in known:
        known[file, offset] = os.path.basename(file) + " " + hex(offset)
        address = offset_to_address(file, offset)
        done = subprocess.run(["addr2line", "-Cfpe", file, hex(address)], capture_output=True, text=True, check=False)
        name = done.stdout.strip()
        if done.returncode == 0 and not name.startswith("??"):
            known[file, offset] = re.sub(r" at \?\?:[0?]+$", "", name)
    return known[file, offset]


def offset_to_address(file, offset, segments={}):  # pylint: disable=dangerous-default-value
    """By the program headers: a file's code may be mapped at another address than its offset."""
    if file not in segments:
        with open(file, "rb") as elf:
            head = elf.read(64)
            table, size, count = *struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54)
            elf.seek(table)
            raw = [elf.read(size) for _ in range(count)]
        segments[file] = [struct.unpack_from("<QQ", each, 8) + struct.unpack_from("<Q", each, 32)
                          for each in raw if struct.unpack_from("<I", each)[0] == 1]
    for begin, address, length in segments[file]:
        if begin <= offset < begin + length:
            return offset - begin + address
    return offset
