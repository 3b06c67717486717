"""RedisBloom's sketches in plain Python, from their description: what each command answers after which others.

Where the module differs from RedisBloom on purpose, the model is as the module: TOPK.INCRBY answers every pair, and the
draws of a Top-K are its own, in a known order.

A reply is a str for a simple string, bytes or None for a bulk string, an int, a float, a bool, a list, a dict for the
fields of INFO, or an Error, also inside a list. Replies do not depend on the version of the protocol.
"""

import ctypes
import math

from counting_models import FULL, CountMin, TopK, shown
from engine_numbers import LARGEST, SMALLEST, double, integer
from harness import as_bytes
from t_digest_model import TDigest

MOST_BYTES, MOST_BYTES_OF_TOP_K = 1 << 46, 1 << 36  # more than these there are not; tests ask for far less or far more
MOST_INCREMENT = 100_000  # of a Top-K
MOST_COMPRESSION = 357_913_939
log10f = ctypes.CDLL("libm.so.6").log10f  # of numbers that are made floats, not doubles
log10f.restype, log10f.argtypes = ctypes.c_float, [ctypes.c_float]


class Error(Exception):
    def __eq__(self, other):
        return isinstance(other, Error) and self.args == other.args

    __hash__ = Exception.__hash__


def require(condition, text):
    if not condition:
        raise Error(text)


def existing(keys, key, kind):
    require(key in keys, kind.MISSING)
    require(isinstance(keys[key], kind), "WRONGTYPE Operation against a key holding the wrong kind of value")
    return keys[key]


# ---- Count-Min Sketches

def cms_create(keys, key, width, depth):
    require(1 <= width and 1 <= depth and width <= LARGEST // depth, "CMS: invalid init arguments")
    require(4 * width * depth <= MOST_BYTES, "CMS: Insufficient memory to create the key")
    keys[key] = CountMin(width, depth)
    return "OK"


def cms_initbydim(keys, words):
    require(words[1] not in keys, "CMS: key already exists")
    width, depth = map(integer, words[2:])
    require(width is not None and width >= 1, "CMS: invalid width")
    require(depth is not None and depth >= 1, "CMS: invalid depth")
    return cms_create(keys, words[1], width, depth)


def cms_initbyprob(keys, words):
    require(words[1] not in keys, "CMS: key already exists")
    error, probability = map(double, words[2:])
    require(error is not None and 0 < error < 1, "CMS: invalid overestimation value")
    require(probability is not None and 0 < probability < 1, "CMS: invalid prob value")
    depth = ctypes.c_float(log10f(probability) / log10f(0.5)).value
    return cms_create(keys, words[1], math.ceil(2 / error), math.ceil(depth))


def cms_incrby(keys, words):
    sketch = existing(keys, words[1], CountMin)
    for word in words[3::2]:
        require(integer(word) is not None, "CMS: Cannot parse number")
        require(integer(word) >= 0, "CMS: Number cannot be negative")
    reply = []
    for item, word in zip(words[2::2], words[3::2]):
        sketch.increase(item, integer(word))
        count = sketch.estimate(item)
        reply.append(Error("CMS: INCRBY overflow") if count == FULL else count)
    return reply


def cms_query(keys, words):
    sketch = existing(keys, words[1], CountMin)
    return [sketch.estimate(item) for item in words[2:]]


def weighted_sum(numbers, weights, least, most):
    """The sum, if no step on the way to it leaves the signed numbers."""
    total = 0
    for number, weight in zip(numbers, weights):
        require(SMALLEST <= number * weight <= LARGEST, "CMS: MERGE overflow")
        total += number * weight
        require(SMALLEST <= total <= LARGEST, "CMS: MERGE overflow")
    require(least <= total <= most, "CMS: MERGE overflow")
    return total


def cms_merge(keys, words):
    target = existing(keys, words[1], CountMin)
    number, rest = integer(words[2]), words[3:]
    require(number is not None, "CMS: invalid numkeys")
    require(number > 0, "CMS: Number of keys must be positive")
    upper = [word.upper() for word in rest]
    weights = [b"1"] * len(rest)
    if b"WEIGHTS" in upper:
        require(upper.index(b"WEIGHTS") == number and len(rest) == 2 * number + 1, "CMS: wrong number of keys/weights")
        weights = rest[number + 1:]
    else:
        require(len(rest) == number, "CMS: wrong number of keys")
    sources = []
    for key, word in zip(rest, weights):
        require(integer(word) is not None, "CMS: invalid weight value")
        sources.append(existing(keys, key, CountMin))
        require(sources[-1].shape == target.shape, "CMS: width/depth is not equal")
    weights = [integer(word) for word in weights]
    cells = {index: weighted_sum([source.cells.get(index, 0) for source in sources], weights, 0, FULL)
             for index in set().union(*(source.cells for source in sources))}
    count = weighted_sum([source.count for source in sources], weights, 0, LARGEST)
    target.cells, target.count = cells, count
    return "OK"


def cms_info(keys, words):
    sketch = existing(keys, words[1], CountMin)
    return {"width": sketch.width, "depth": sketch.depth, "count": ctypes.c_int64(sketch.count).value}


# ---- Top-K

def topk_reserve(keys, words):
    require(words[1] not in keys, "TopK: key already exists")
    numbers = []
    for name, word in zip(("k", "width", "depth"), words[2:5] if len(words) > 3 else (words[2], b"8", b"7")):
        numbers.append(integer(word))
        require(numbers[-1] is not None and 1 <= numbers[-1] < 1 << 32, f"TopK: invalid {name}")
    decay = double(words[5]) if len(words) > 3 else 0.9
    require(decay is not None and 0 < decay <= 1, "TopK: invalid decay value. must be '<= 1' & '> 0'")
    k, width, depth = numbers
    require(8 * width * depth <= MOST_BYTES_OF_TOP_K and 24 * k <= MOST_BYTES_OF_TOP_K,
            "ERR Insufficient memory to create topk data structure")
    keys[words[1]] = TopK(k, width, depth, decay)
    return "OK"


def topk_add(keys, words):
    sketch = existing(keys, words[1], TopK)
    return [sketch.add(item, 1) for item in words[2:]]


def topk_incrby(keys, words):
    sketch = existing(keys, words[1], TopK)
    reply = [None] * (len(words) // 2 - 1)
    for at, (item, word) in enumerate(zip(words[2::2], words[3::2])):
        increment = integer(word)
        if increment is None or not 0 <= increment <= MOST_INCREMENT:
            reply[at] = Error("TopK: increment must be an integer greater or equal to 0" + " " * 28 +
                              "and smaller or equal to 100,000")
            break
        reply[at] = sketch.add(item, increment)
    return reply


def topk_query(keys, words):
    sketch = existing(keys, words[1], TopK)
    return [sketch.find(item) is not None for item in words[2:]]


def topk_count(keys, words):
    sketch = existing(keys, words[1], TopK)
    return [sketch.count(item) for item in words[2:]]


def topk_list(keys, words):
    require(len(words) == 2 or b"WITHCOUNT".startswith(words[2].upper()), "WITHCOUNT keyword expected")
    listed = [(shown(item), count) for _, count, item in existing(keys, words[1], TopK).listed()]
    return [part for entry in listed for part in entry[:len(words) - 1]]


def topk_info(keys, words):
    sketch = existing(keys, words[1], TopK)
    return {name: getattr(sketch, name) for name in ("k", "width", "depth", "decay")}


# ---- t-digests

def compression_of(word):
    number = integer(word)
    require(number is not None, "ERR T-Digest: error parsing compression parameter")
    require(number > 0, "ERR T-Digest: compression parameter needs to be a positive integer")
    return number


def tdigest_create(keys, words):
    if words[1] in keys:
        existing(keys, words[1], TDigest)
        raise Error("ERR T-Digest: key already exists")
    compression = 100
    if len(words) == 4:
        require(b"COMPRESSION" in (words[2].upper(), words[3].upper()), "ERR T-Digest: wrong keyword")
        compression = compression_of(words[3])
    require(compression <= MOST_COMPRESSION, "ERR T-Digest: allocation failed")
    keys[words[1]] = TDigest(compression)
    return "OK"


def tdigest_reset(keys, words):
    existing(keys, words[1], TDigest).reset()
    return "OK"


def tdigest_add(keys, words):
    digest = existing(keys, words[1], TDigest)
    for word in words[2:]:
        require(double(word) is not None, "ERR T-Digest: error parsing val parameter")
        require(math.isfinite(double(word)), "ERR T-Digest: val parameter needs to be a finite number")
    for word in words[2:]:
        digest.add(double(word))
    return "OK"


def tdigest_merge(keys, words):
    target = existing(keys, words[1], TDigest) if words[1] in keys else None
    number, rest = integer(words[2]), words[3:]
    require(number is not None, "ERR T-Digest: error parsing numkeys")
    require(number > 0, "ERR T-Digest: numkeys needs to be a positive integer")
    require(number <= len(rest), arity_error(words))
    options, compression = [word.upper() for word in rest[number:]], None
    if b"COMPRESSION" in options:
        values = options[options.index(b"COMPRESSION") + 1:]
        require(values, arity_error(words))
        compression = compression_of(values[0])
    require(not options or compression or b"OVERRIDE" in options, "ERR T-Digest: wrong keyword")
    inputs = [existing(keys, key, TDigest) for key in rest[:number]]
    kept = target if b"OVERRIDE" not in options else None
    compression = compression or (kept.compression if kept else max(each.compression for each in inputs))
    require(compression <= MOST_COMPRESSION, "ERR T-Digest: allocation of destination digest failed")
    result = TDigest(compression)
    for each in [kept, *inputs] if kept else inputs:
        result.take(each)
    keys[words[1]] = result
    return "OK"


def tdigest_end(end):
    def execute(keys, words):
        digest = existing(keys, words[1], TDigest)
        return end(digest) if digest.nodes else math.nan
    return execute


def tdigest_estimates(parse, checks, estimate):
    """A command with the numbers that `parse` takes: one must pass each of the checks, a function and an error."""
    def execute(keys, words):
        digest, numbers = existing(keys, words[1], TDigest), []
        for word in words[2:]:
            numbers.append(parse(word))
            for passes, error in checks:
                require(passes(numbers[-1]), f"ERR T-Digest: {error}")
        return [estimate(digest, number) for number in numbers]
    return execute


def is_number(number):
    return number is not None


def is_share(number):
    return 0 <= number <= 1


def tdigest_ranks(reverse):
    return tdigest_estimates(double, [(is_number, "error parsing value")],
                             lambda digest, x: digest.rank(x, reverse=reverse))


def tdigest_by_ranks(reverse):
    checks = [(is_number, "error parsing rank"), (lambda rank: rank >= 0, "rank needs to be non negative")]
    return tdigest_estimates(integer, checks, lambda digest, rank: digest.by_rank(rank, reverse=reverse))


def tdigest_trimmed_mean(keys, words):
    digest, (low, high) = existing(keys, words[1], TDigest), map(double, words[2:])
    require(low is not None, "ERR T-Digest: error parsing low_cut_percentile")
    require(high is not None, "ERR T-Digest: error parsing high_cut_percentile")
    require(is_share(low) and is_share(high),
            "ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]")
    require(low < high, "ERR T-Digest: low_cut_percentile should be lower than high_cut_percentile")
    return digest.trimmed_mean(low, high)


def tdigest_info(keys, words):
    digest = existing(keys, words[1], TDigest)
    return {"Compression": digest.compression, "Capacity": digest.capacity, "Merged nodes": digest.merged,
            "Unmerged nodes": digest.unmerged, "Merged weight": digest.merged_weight,
            "Unmerged weight": digest.unmerged_weight, "Observations": digest.total,
            "Total compressions": digest.compressions, "Memory usage": 80 + 16 * digest.capacity}


# ---- all

def set_text(keys, words):
    keys[words[1]] = words[2]
    return "OK"


def delete(keys, words):
    return 0 if keys.pop(words[1], None) is None else 1


def at_least(number, *, step=1):
    return lambda count: count >= number and count % step == 0


def one_of(*numbers):
    return lambda count: count in numbers


COMMANDS = {  # what each does, and with how many words
    "set": (set_text, one_of(3)), "del": (delete, one_of(2)),
    "cms.initbydim": (cms_initbydim, one_of(4)), "cms.initbyprob": (cms_initbyprob, one_of(4)),
    "cms.incrby": (cms_incrby, at_least(4, step=2)), "cms.query": (cms_query, at_least(3)),
    "cms.merge": (cms_merge, at_least(4)), "cms.info": (cms_info, one_of(2)),
    "topk.reserve": (topk_reserve, one_of(3, 6)), "topk.add": (topk_add, at_least(3)),
    "topk.incrby": (topk_incrby, at_least(4, step=2)), "topk.query": (topk_query, at_least(3)),
    "topk.count": (topk_count, at_least(3)), "topk.list": (topk_list, one_of(2, 3)),
    "topk.info": (topk_info, one_of(2)),
    "tdigest.create": (tdigest_create, one_of(2, 4)), "tdigest.reset": (tdigest_reset, one_of(2)),
    "tdigest.add": (tdigest_add, at_least(3)), "tdigest.merge": (tdigest_merge, at_least(4)),
    "tdigest.min": (tdigest_end(lambda digest: digest.low), one_of(2)),
    "tdigest.max": (tdigest_end(lambda digest: digest.high), one_of(2)),
    "tdigest.quantile": (tdigest_estimates(double, [(is_number, "error parsing quantile"),
                                                    (is_share, "quantile should be in [0,1]")], TDigest.quantile),
                         at_least(3)),
    "tdigest.cdf": (tdigest_estimates(double, [(is_number, "error parsing cdf")], TDigest.cdf), at_least(3)),
    "tdigest.rank": (tdigest_ranks(False), at_least(3)), "tdigest.revrank": (tdigest_ranks(True), at_least(3)),
    "tdigest.byrank": (tdigest_by_ranks(False), at_least(3)),
    "tdigest.byrevrank": (tdigest_by_ranks(True), at_least(3)),
    "tdigest.trimmed_mean": (tdigest_trimmed_mean, one_of(4)), "tdigest.info": (tdigest_info, one_of(2))}


def arity_error(words):
    return f"ERR wrong number of arguments for '{words[0].decode().lower()}' command"


def execute(keys, *words):
    """The reply to a command on `keys`: a dict of sketches by name, and bytes for what is none."""
    words = [as_bytes(word) for word in words]
    command, fits = COMMANDS[words[0].decode().lower()]
    try:
        require(fits(len(words)), arity_error(words))
        return command(keys, words)
    except Error as error:
        return error.with_traceback(None)
