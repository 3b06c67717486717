"""For each known difference of docs/compatibility.md a function that says whether a Case is this difference.

The functions of differences from valkey-bloom are in valkey_excuses.py.
"""

import math
import re

from replies import elements, is_error, parsed
from settled import compaction_is_due
from subjects import MODULE, REDISBLOOM, SERVER

FUNCTIONS = {}
KEEP_CONTENT = {"usage", "doubles", "sizes", "changes-of-loaded", "equal-buckets", "scan-within", "valkey-booleans",
                "valkey-info-field"}  # of these only replies differ
OPTIONS = (b"EXPANSION", b"NONSCALING", b"BUCKETSIZE", b"MAXITERATIONS")
ARITY = b"-ERR wrong number of arguments"
OK = b"+OK\r\n"
CHUNK_ERRORS = (b"-ERR invalid chunk - Too big for current filter\r\n", b"-Couldn't load chunk!\r\n")


def excuse(function):
    FUNCTIONS[function.__name__.replace("_", "-")] = function
    return function


def differs_from(role):
    """Of a function of Bitsieve's reply and the other, which excuses differences from this product only."""
    def of_function(function):
        def excuses(case):
            other, ours = case.of(role), case.bitsieve
            return other is not None and ours is not None and function(case, ours, other)
        excuses.__name__ = function.__name__
        return excuse(excuses)
    return of_function


from_redisbloom = differs_from(REDISBLOOM)


def as_number(word):
    try:
        return float(word)
    except ValueError:
        return math.nan


# ---- options and arguments


@from_redisbloom
def unknown_option(case, ours, _):
    return case.name in ("BF.RESERVE", "CF.RESERVE") and ours.startswith(b"-ERR unknown option")


@from_redisbloom
def short_option(case, ours, _):
    return "INSERT" in case.name and ours == b"-Unknown argument received\r\n"


@from_redisbloom
def expansion_twice(case, _, theirs):
    twice = [word.upper() for word in case.words].count(b"EXPANSION") > 1
    return case.name == "BF.RESERVE" and twice and theirs.startswith(ARITY)


@from_redisbloom
def key_like_option(case, _, __):
    return case.name == "BF.RESERVE" and case.words[1].upper() in OPTIONS


@from_redisbloom
def low_error_rate(case, ours, theirs):
    return is_error(ours) and not is_error(theirs) and any(0 < as_number(word) < 1e-9 for word in case.words[2:])


@from_redisbloom
def cuckoo_bounds(case, ours, theirs):
    text = b"value must be in the range"
    return case.name == "CF.RESERVE" and text in ours and text in theirs


# ---- lookups and removals


@from_redisbloom
def bloom_on_cuckoo(case, _, theirs):
    if not case.name.startswith("BF.") or case.type_of_key() != b"MBbloomCF":
        return False
    found = parsed(theirs)
    absent = found == 0 or isinstance(found, list) and not any(found)
    return absent if case.name in ("BF.EXISTS", "BF.MEXISTS") else theirs.startswith(b"-WRONGTYPE")


@from_redisbloom
def equal_buckets(case, ours, theirs):
    return case.name == "CF.COUNT" and not is_error(ours) and 0 < parsed(ours) and parsed(theirs) == 2 * parsed(ours)


CUCKOO_COUNTS = {"CF.INFO": (b"Number of items inserted", b"Number of items deleted"),
                 "CF.DEBUG": (b"items", b"deletes")}


def items_and_deletions(case, reply):
    """The two numbers of a cuckoo filter in a reply of CF.INFO or CF.DEBUG."""
    found = parsed(reply)
    if case.name == "CF.DEBUG":
        fields = dict(field.split(b":") for field in found.split())
    else:
        fields = dict(zip(found[::2], found[1::2]))
    return tuple(int(fields[name]) for name in CUCKOO_COUNTS[case.name])


@excuse
def compacted_later(case):
    """The server still counts the removals that make it compact; the other has compacted when it replies."""
    server, other = case.of(SERVER), case.of(REDISBLOOM) or case.of(MODULE)
    if case.name not in CUCKOO_COUNTS or server is None or other is None or is_error(server) or is_error(other):
        return False
    (our_items, our_deletions), (their_items, their_deletions) = (
        items_and_deletions(case, reply) for reply in (server, other))
    return our_items == their_items and their_deletions < our_deletions and compaction_is_due(our_items, our_deletions)


# ---- chunks


def is_load(case):
    return case.name.endswith(".LOADCHUNK")


@excuse
def load_begun(case):
    """The server has the filter with its last chunk, the others with its header; a header begins a load again."""
    begins_again = is_load(case) and case.words[2:3] == (b"1",)
    return case.loading and case.of(SERVER) is not None and (begins_again or not is_load(case))


@excuse
def load_existing(case):
    server = case.of(SERVER)
    return is_load(case) and not case.loading and server is not None and is_error(server)


@excuse
def load_order(case):
    server = case.of(SERVER)
    return is_load(case) and case.loading and server is not None and is_error(server)


@excuse
def load_across(case):
    server, other = case.of(SERVER), case.of(REDISBLOOM) or case.of(MODULE)
    return is_load(case) and case.loading and server == OK and other in CHUNK_ERRORS


@from_redisbloom
def load_past_end(case, ours, theirs):
    return case.name == "CF.LOADCHUNK" and ours == b"-Couldn't load chunk!\r\n" and theirs == OK


@from_redisbloom
def load_bad_header(case, ours, _):
    return case.name == "BF.LOADCHUNK" and case.words[2] == b"1" and ours.startswith(b"-ERR received bad data: ")


@from_redisbloom
def scan_within(case, ours, theirs):
    if case.name != "CF.SCANDUMP" or is_error(ours) or is_error(theirs):
        return False
    (_, our_chunk), (_, their_chunk) = parsed(ours), parsed(theirs)
    return bool(our_chunk and their_chunk) and len(our_chunk) < len(their_chunk) and their_chunk.endswith(our_chunk)


# ---- sketches


def is_reply_of_top_k(case):
    return case.name in ("TOPK.ADD", "TOPK.INCRBY", "TOPK.QUERY", "TOPK.COUNT", "TOPK.LIST")


@from_redisbloom
def draws(case, ours, theirs):
    return is_reply_of_top_k(case) and not is_error(ours) and not is_error(theirs)


@from_redisbloom
def bad_increment(case, ours, _):
    return case.name == "TOPK.INCRBY" and b"TopK: increment must be an integer" in ours


# ---- between the server and the module


@excuse
def usage(case):
    one, other = (re.sub(rb"; usage: [^\r]*", b"", reply) for reply in case.replies)
    return one == other and one.startswith(ARITY)


@excuse
def refused_in_multi(case):
    """The server checks all of the syntax when a command is queued, an engine only its number of arguments."""
    server = case.of(SERVER)
    if server is None:
        return False
    other, = (reply for subject, reply in zip(case.subjects, case.replies) if subject.role != SERVER)
    return (other == b"+QUEUED\r\n" and server.startswith(ARITY) or
            server.startswith(b"-EXECABORT") and case.name == "EXEC" and elements(other) is not None)


def same_but_for_digits(one, other):
    """Whether two replies are the same if numbers with a fraction are read as such."""
    parts, others = elements(one), elements(other)
    if parts is not None or others is not None:
        return (parts is not None and others is not None and len(parts) == len(others) and
                all(map(same_but_for_digits, parts, others)))
    return one == other or one[:1] == other[:1] and one[:1] in b"$," and is_same_number(parsed(one), parsed(other))


def is_same_number(one, other):
    has_fraction = one is not None and other is not None and re.search(rb"[.e]", one + other)
    return bool(has_fraction) and as_number(one) == as_number(other)


@excuse
def doubles(case):
    return same_but_for_digits(*case.replies)


SIZE = re.compile(rb"(\+Size\r\n):\d+|\$\d+\r\n(bytes:)\d+( bits:)\d+")


def without_size(found):
    return found[1] + b":0" if found[1] else b"$0\r\n" + found[2] + found[3]


@excuse
def sizes(case):
    if case.name not in ("BF.INFO", "BF.DEBUG") or case.of(SERVER) is None or case.of(MODULE) is None:
        return False
    if len(case.words) == 3 and case.words[2].upper() == b"SIZE":
        return not any(map(is_error, case.replies))
    return same_but_for_digits(*(SIZE.sub(without_size, reply) for reply in case.replies))


HASH_BYTES, ADDED = 16, 1  # docs/formats/changes.md


def added_hashes(reply):
    """The hashes of added items in a reply of BF.CHANGES, in their order; None if there are other changes."""
    run, found = parsed(elements(reply)[1]), []
    while run:
        if run[0] != ADDED:
            return None
        end = 3 + HASH_BYTES * int.from_bytes(run[1:3], "little")
        found += [run[at:at + HASH_BYTES] for at in range(3, end, HASH_BYTES)]
        run = run[end:]
    return found


@excuse
def changes_of_loaded(case):
    """The module has the server's changes among others. With COUNT a reply may have none of them yet."""
    server, module = case.of(SERVER), case.of(MODULE)
    if case.name != "BF.CHANGES" or server is None or module is None or is_error(server) or is_error(module):
        return False
    fewer, more = added_hashes(server), added_hashes(module)
    if fewer is None or more is None:
        return False
    matched = 0
    for each in more:
        matched += matched < len(fewer) and each == fewer[matched]
    is_cut = parsed(module)[2] == 1
    return is_cut or matched == len(fewer)
