"""RedisBloom's cuckoo filter in plain Python, from its description: what bytes it has after which commands."""

STEP = 0x5BD1E995
MASK = (1 << 64) - 1
FACTOR = 0xC6A4A7935BD1E995


def murmur64a(data, seed=0):
    """MurmurHash64A, which is in the public domain."""
    result = seed ^ (len(data) * FACTOR & MASK)
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at:at + 8], "little") * FACTOR & MASK
        word = (word ^ word >> 47) * FACTOR & MASK
        result = (result ^ word) * FACTOR & MASK
    if len(data) != whole:
        result = (result ^ int.from_bytes(data[whole:], "little")) * FACTOR & MASK
    result = (result ^ result >> 47) * FACTOR & MASK
    return result ^ result >> 47


class CuckooModel:
    """CF.RESERVE with a capacity whose quotient by the bucket size is a power of two."""

    def __init__(self, capacity, *, bucket_size=2, max_iterations=20, expansion=1):
        self.bucket_size, self.max_iterations, self.expansion = bucket_size, max_iterations, expansion
        self.buckets = capacity // bucket_size
        self.tables = [bytearray(self.buckets * bucket_size)]
        self.items = self.deletes = self.compactions = 0

    @staticmethod
    def hash_of(item):
        full = murmur64a(str(item).encode())
        fingerprint = full % 255 + 1
        return fingerprint, full, full ^ fingerprint * STEP

    def place(self, table, fingerprint, first, second):
        """True if one of the two buckets had a free slot."""
        buckets = len(table) // self.bucket_size
        for at in (first, second):
            begin = at % buckets * self.bucket_size
            free = table.find(0, begin, begin + self.bucket_size)
            if free >= 0:
                table[free] = fingerprint
                return True
        return False

    def kick(self, table, fingerprint, first):
        buckets = len(table) // self.bucket_size
        before, bucket, victim = bytes(table), first % buckets, 0
        for _ in range(self.max_iterations):
            slot = bucket * self.bucket_size + victim
            fingerprint, table[slot] = table[slot], fingerprint
            bucket = (bucket ^ fingerprint * STEP) % buckets
            begin = bucket * self.bucket_size
            free = table.find(0, begin, begin + self.bucket_size)
            if free >= 0:
                table[free] = fingerprint
                return True
            victim = (victim + 1) % self.bucket_size
        table[:] = before
        return False

    def add(self, item):
        fingerprint, first, second = self.hash_of(item)
        self.items += 1
        if any(self.place(table, fingerprint, first, second) for table in reversed(self.tables)):
            return
        if not self.kick(self.tables[-1], fingerprint, first):
            self.tables.append(bytearray(len(self.tables[-1]) * self.expansion))
            self.place(self.tables[-1], fingerprint, first, second)

    def remove(self, item):
        fingerprint, first, second = self.hash_of(item)
        for table in reversed(self.tables):
            buckets = len(table) // self.bucket_size
            for at in (first, second):
                begin = at % buckets * self.bucket_size
                found = table.find(fingerprint, begin, begin + self.bucket_size)
                if found >= 0:
                    table[found] = 0
                    self.items -= 1
                    self.deletes += 1
                    if len(self.tables) > 1 and self.deletes > self.items * 0.1:
                        self.compact()
                    return 1
        return 0

    def compact(self):
        """From the newest sub-filter on, up to the first that keeps a fingerprint."""
        self.compactions += 1
        for index in range(len(self.tables) - 1, 0, -1):
            table = self.tables[index]
            buckets = len(table) // self.bucket_size
            for slot in range(len(table)):
                if table[slot]:
                    bucket = slot // self.bucket_size
                    other = bucket ^ table[slot] * STEP
                    if any(self.place(older, table[slot], bucket, other) for older in self.tables[:index]):
                        table[slot] = 0
            if any(table):
                break
            del self.tables[index]
        self.deletes = 0

    def info(self):
        return {"Number of items inserted": self.items, "Number of items deleted": self.deletes,
                "Number of filters": len(self.tables)}
