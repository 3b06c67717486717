"""RedisBloom's t-digest in plain Python, from its description: with doubles, and each step in the order it has."""

import math

MOST_DOUBLE = float.fromhex("0x1.fffffffffffffp+1023")
SMALL_RANGE = 16  # nodes less one of a range that is sorted at once


def mean_of(node):
    return node[0]


def sift_down(nodes, at, size):
    """Moves a node down until no child is larger; of equal children the left one is taken."""
    while at < size // 2:
        child = 2 * at + 1
        if child + 1 < size and nodes[child][0] < nodes[child + 1][0]:
            child += 1
        if not nodes[at][0] < nodes[child][0]:
            return
        nodes[at], nodes[child] = nodes[child], nodes[at]
        at = child


def heap_sort(nodes):
    for at in range(len(nodes) // 2 - 1, -1, -1):
        sift_down(nodes, at, len(nodes))
    for last in range(len(nodes) - 1, 0, -1):
        nodes[0], nodes[last] = nodes[last], nodes[0]
        sift_down(nodes, 0, last)
    return nodes


def partition(nodes, low, high):
    """Where the nodes begin and end that are equal to the pivot, between smaller and larger ones."""
    middle = low + (high - low) // 2
    for first, second in ((low, middle), (low, high), (middle, high)):
        if nodes[second][0] < nodes[first][0]:
            nodes[first], nodes[second] = nodes[second], nodes[first]
    pivot, begin, at, end = nodes[middle][0], low, low, high
    while at <= end:
        mean = nodes[at][0]
        if mean < pivot:
            nodes[at], nodes[begin] = nodes[begin], nodes[at]
            at, begin = at + 1, begin + 1
        elif mean > pivot:
            nodes[at], nodes[end] = nodes[end], nodes[at]
            end -= 1
        else:
            at += 1
    return begin, end


def sort(nodes, low, high, limit):
    """Sorts the nodes from low to high by mean: which of equal means come first depends on each step."""
    while high - low > SMALL_RANGE:
        if limit == 0:
            nodes[low:high + 1] = heap_sort(nodes[low:high + 1])
            return
        limit -= 1
        begin, end = partition(nodes, low, high)
        if begin - low < high - end:
            if begin - low > 1:
                sort(nodes, low, begin - 1, limit)
            low = end + 1
        else:
            if high - end > 1:
                sort(nodes, end + 1, high, limit)
            high = begin - 1
    nodes[low:high + 1] = sorted(nodes[low:high + 1], key=mean_of)


def joined(nodes, total, compression):
    """Sorted nodes, neighbours of which are made one while their share of the total is small where they are."""
    norm = compression / (2 * math.pi * total * math.log(total))
    out, so_far = [nodes[0]], 0.0
    for mean, weight in nodes[1:]:
        current, current_weight = out[-1]
        sum_ = current_weight + weight
        z, before, after = sum_ * norm, so_far / total, (so_far + sum_) / total
        if z <= before * (1 - before) and z <= after * (1 - after):
            out[-1] = current + ((mean - current) * weight) / sum_, sum_
        else:
            so_far += current_weight
            out.append((mean, weight))
    return out


def quotient(a, b):
    """As C divides."""
    if b != 0:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a)


def average(x1, w1, x2, w2):
    if x1 > x2:
        x1, w1, x2, w2 = x2, w2, x1, w1
    return max(x1, min((x1 * w1 + x2 * w2) / (w1 + w2), x2))


class TDigest:
    MISSING = "ERR T-Digest: key does not exist"

    def __init__(self, compression):
        self.compression, self.capacity = compression, 6 * compression + 10
        self.reset()

    def reset(self):
        self.nodes, self.merged = [], 0  # (mean, weight); merged ones first
        self.merged_weight = self.unmerged_weight = self.compressions = 0
        self.low, self.high = MOST_DOUBLE, -MOST_DOUBLE

    @property
    def total(self):
        return self.merged_weight + self.unmerged_weight

    @property
    def unmerged(self):
        return len(self.nodes) - self.merged

    def add(self, x, weight=1):
        if len(self.nodes) >= self.capacity - 1:
            self.compress()
        self.nodes.append((x, weight))
        self.unmerged_weight += weight
        self.low, self.high = min(self.low, x), max(self.high, x)

    def compress(self):
        if self.unmerged == 0:
            return
        count = len(self.nodes)
        sort(self.nodes, 0, count - 1, 2 * (count.bit_length() - 1))
        if self.total > 1:
            self.nodes = joined(self.nodes, self.total, self.compression)
        self.merged, self.merged_weight, self.unmerged_weight = len(self.nodes), self.total, 0
        self.compressions += 1

    def take(self, other):
        self.compress()
        other.compress()
        for mean, weight in list(other.nodes):
            self.add(mean, weight)

    def at_index(self, index, *, by_rank):
        """The value before which there is as much weight; of one that is compressed."""
        nodes, total = self.nodes, self.total
        if not nodes:
            return math.nan
        if len(nodes) == 1:
            return nodes[0][0]
        if by_rank and index < 1:
            return self.low
        (first, first_weight), (last, last_weight) = nodes[0], nodes[-1]
        if first_weight > 1 and index < first_weight / 2:
            return self.low + quotient(index - 1, first_weight / 2 - 1) * (first - self.low)
        if index > total - 1:
            return self.high
        if last_weight > 1 and total - index <= last_weight / 2:
            return self.high - quotient(total - index - 1, last_weight / 2 - 1) * (self.high - last)
        so_far = first_weight / 2
        for (a, weight_a), (b, weight_b) in zip(nodes, nodes[1:]):
            step, left, right = (weight_a + weight_b) / 2, 0.0, 0.0
            if so_far + step > index:
                if weight_a == 1:
                    if index - so_far < 0.5:
                        return a
                    left = 0.5
                if weight_b == 1:
                    if so_far + step - index <= 0.5:
                        return b
                    right = 0.5
                return average(a, so_far + step - index - right, b, index - so_far - left)
            so_far += step
        z1 = index - total - last_weight / 2
        return average(last, z1, self.high, last_weight / 2 - z1)

    def quantile(self, q):
        self.compress()
        return self.at_index(q * self.total, by_rank=False)

    def by_rank(self, rank, *, reverse):
        if not self.nodes:
            return math.nan
        if rank == 0:
            return self.high if reverse else self.low
        if rank >= self.total:
            return -math.inf if reverse else math.inf
        self.compress()
        before = self.total - rank - 1 if reverse else rank
        return self.at_index(before / self.total * self.total, by_rank=True)

    def cdf(self, x):
        self.compress()
        nodes, total = self.nodes, self.total
        if not nodes:
            return math.nan
        if x < self.low or x > self.high:
            return 0.0 if x < self.low else 1.0
        if len(nodes) == 1:
            return 0.5
        (first, first_weight), (last, last_weight) = nodes[0], nodes[-1]
        if x < first:
            if x == self.low:
                return 0.5 / total
            return (1 + (x - self.low) / (first - self.low) * (first_weight / 2 - 1)) / total
        if x > last:
            if x == self.high:
                return 1 - 0.5 / total
            return 1 - (1 + (self.high - x) / (self.high - last) * (last_weight / 2 - 1)) / total
        so_far = 0.0
        for at, ((a, weight_a), (b, weight_b)) in enumerate(zip(nodes, nodes[1:])):
            if a == x:
                return (so_far + sum(weight for mean, weight in nodes[at:] if mean == x) / 2) / total
            if a < x < b:
                if weight_a == 1 and weight_b == 1:
                    return (so_far + 1) / total
                left, right = (0.5 if weight == 1 else 0.0 for weight in (weight_a, weight_b))
                step = (weight_a + weight_b) / 2
                return (so_far + weight_a / 2 + left + (step - left - right) * (x - a) / (b - a)) / total
            so_far += weight_a
        return 1 - 0.5 / total

    def rank(self, x, *, reverse):
        if not self.nodes:
            return -2
        if x < self.low or x > self.high:
            return self.total if (x < self.low) == reverse else -1
        value = self.cdf(x) * self.total
        whole, part = math.floor(value), value - math.floor(value)
        return self.total - whole - (part >= 0.5) if reverse else whole + (part > 0.5)

    def trimmed_mean(self, low, high):
        self.compress()
        if len(self.nodes) < 2:
            return self.nodes[0][0] if self.nodes else math.nan
        begin, end = float(math.floor(self.total * low)), float(math.ceil(self.total * high))
        done = sum_ = count = 0.0
        for mean, weight in self.nodes:
            part = weight - min(max(0.0, begin - done), weight)
            part = min(max(0.0, end - done), part)
            done += weight
            sum_ += mean * part
            count += part
            if done >= end:
                break
        return sum_ / count if count else math.nan

    def fields(self):
        self.compress()
        return [float(self.compression), self.low, self.high, self.capacity, len(self.nodes), 0, self.compressions,
                float(self.merged_weight), 0.0, *(mean for mean, _ in self.nodes),
                *(float(weight) for _, weight in self.nodes)]

    @classmethod
    def from_fields(cls, fields):
        digest, count = cls(int(fields[0])), fields[4]
        digest.low, digest.high = fields[1:3]
        digest.merged, digest.compressions, digest.merged_weight = count, fields[6], int(fields[7])
        digest.nodes = list(zip(fields[9:9 + count], map(int, fields[9 + count:])))
        return digest
