"""RedisBloom's Count-Min Sketch and Top-K in plain Python, from their description."""

import functools
import struct

MASK = (1 << 32) - 1
FULL = MASK  # of a counter
FINGERPRINT_SEED = 1919


@functools.cache
def murmur2(data, seed):
    """MurmurHash2 of 32 bits, which is in the public domain."""
    factor = 0x5BD1E995
    result = seed ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at:at + 4], "little") * factor & MASK
        result = result * factor & MASK ^ (word ^ word >> 24) * factor & MASK
    if len(data) != whole:
        result = (result ^ int.from_bytes(data[whole:], "little")) * factor & MASK
    result = (result ^ result >> 13) * factor & MASK
    return result ^ result >> 15


def index_of(item, row, width):
    return row * width + murmur2(item, row) % width


class CountMin:
    MISSING = "CMS: key does not exist"

    def __init__(self, width, depth):
        self.width, self.depth, self.count, self.cells = width, depth, 0, {}  # by index; others are 0

    @property
    def shape(self):
        return self.width, self.depth

    def indexes(self, item):
        return [index_of(item, row, self.width) for row in range(self.depth)]

    def increase(self, item, increment):
        for index in self.indexes(item):
            sum_ = (self.cells.get(index, 0) + increment) & MASK
            self.cells[index] = FULL if sum_ < increment else sum_
        self.count = (self.count + increment) % (1 << 64)

    def estimate(self, item):
        return min(self.cells.get(index, 0) for index in self.indexes(item))

    def fields(self):
        cells = [self.cells.get(index, 0) for index in range(self.width * self.depth)]
        return [self.width, self.depth, self.count, struct.pack(f"<{len(cells)}I", *cells)]

    @classmethod
    def from_fields(cls, fields):
        sketch = cls(*fields[:2])
        sketch.count = fields[2]
        sketch.cells = dict(enumerate(cell for cell, in struct.iter_unpack("<I", fields[3])))
        return sketch


def shown(item):
    return item and item.split(b"\0")[0]


class TopK:
    MISSING = "TopK: key does not exist"
    UNUSED = (0, 0, None)  # fingerprint, count and item of an entry

    def __init__(self, k, width, depth, decay):
        self.k, self.width, self.depth, self.decay, self.draws = k, width, depth, decay, 0
        self.buckets = {}  # [fingerprint, count] by index
        self.heap = [self.UNUSED] * k
        self.chances = [decay ** i for i in range(256)]

    def chance(self, count):
        if count < 256:
            return self.chances[count]
        return self.chances[255] ** (count // 255) * self.chances[count % 255]

    def draw(self):
        self.draws += 1
        mask = (1 << 64) - 1
        z = self.draws * 0x9E3779B97F4A7C15 & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return ((z ^ z >> 31) >> 11) * 2.0 ** -53

    def add_to_row(self, bucket, fingerprint, increment):
        """What the item counts in its row afterwards; 0 if it has no bucket there."""
        if bucket[1] == 0:
            bucket[:] = fingerprint, increment
            return increment
        if bucket[0] == fingerprint:
            bucket[1] = (bucket[1] + increment) & MASK
            return bucket[1]
        for left in range(increment, 0, -1):
            if self.draw() < self.chance(bucket[1]):
                bucket[1] -= 1
                if bucket[1] == 0:
                    bucket[:] = fingerprint, left
                    return left
        return 0

    def add(self, item, increment):
        """The item that is no longer listed, as it is shown."""
        least, best, fingerprint = self.heap[0][1], 0, murmur2(item, FINGERPRINT_SEED)
        for row in range(self.depth):
            bucket = self.buckets.setdefault(index_of(item, row, self.width), [0, 0])
            best = max(best, self.add_to_row(bucket, fingerprint, increment))
        if best < least:
            return None
        at = self.find(item)
        expelled = None if at is not None else self.heap[0][2]
        at = at or 0
        self.heap[at] = fingerprint, best, item
        self.sift_down(at)
        return shown(expelled)

    def find(self, item):
        entry = murmur2(item, FINGERPRINT_SEED), item
        return next((at for at in range(self.k - 1, -1, -1) if self.heap[at][::2] == entry), None)

    def sift_down(self, at):
        heap, swapped = self.heap, False
        while 2 * at + 1 < self.k:
            child = min(range(2 * at + 1, min(2 * at + 3, self.k)), key=lambda each: heap[each][1])
            if heap[child][1] > heap[at][1] or swapped and heap[child][1] == heap[at][1]:
                return
            heap[at], heap[child] = heap[child], heap[at]
            at, swapped = child, True

    def count(self, item):
        fingerprint = murmur2(item, FINGERPRINT_SEED)
        least = 0 if self.find(item) is None else self.heap[0][1]
        own = (self.buckets.get(index_of(item, row, self.width), (0, 0)) for row in range(self.depth))
        return max((count for each, count in own if each == fingerprint and count >= least), default=0)

    def listed(self):
        return [entry for entry in sorted(self.heap, key=lambda entry: -entry[1]) if entry[1]]

    def fields(self):
        buckets = [self.buckets.get(index, (0, 0)) for index in range(self.width * self.depth)]
        heap = [struct.pack("<IIQII", fingerprint, len(item or b""), 0, count, 0)
                for fingerprint, count, item in self.heap]
        return [self.k, self.width, self.depth, self.decay, b"".join(struct.pack("<II", *each) for each in buckets),
                b"".join(heap), *((item or b"") + b"\0" for _, _, item in self.heap)]

    @classmethod
    def from_fields(cls, fields):
        sketch = cls(*fields[:4])
        sketch.buckets = {index: list(each) for index, each in enumerate(struct.iter_unpack("<II", fields[4]))}
        entries = struct.iter_unpack("<IIQII", fields[5])
        sketch.heap = [(fingerprint, count, item[:-1]) if fingerprint else cls.UNUSED
                       for (fingerprint, _, _, count, _), item in zip(entries, fields[6:])]
        return sketch
