"""What of a reply does not depend on when the command was run, or on an identity that a server drew at random."""

import re

from replies import elements, parsed
from subjects import OWN_ITERATORS

# Fields of BF.INFO that are measured by the clock.
CLOCK_FIELDS = (b"NEXTEXPIRY", b"EPOCHEND", b"EPOCHITEMS", b"LASTUSE", b"OLDEST", b"PROGRESS")
CLOCK_VALUES = re.compile(rb"(\+(?:Next expiry in milliseconds|Epoch ends in milliseconds|Items per epoch|Last use|"
                          rb"Oldest[^\r]*)\r\n)(?:[:,][^\r]*|_|\$-1|\$\d+\r\n[^\r]*)\r\n")
MILLISECONDS = re.compile(rb"-?\d+ ms from now")


def settled(words, reply):
    """The reply, or what must be the same of it."""
    name, key = words[0].upper(), words[1] if len(words) > 1 else b""
    if reply[:1] in (b"-", b"+"):
        return MILLISECONDS.sub(b"", reply)
    if name == b"BF.CHANGES":
        _, changes, more = map(parsed, elements(reply))
        return by_content(key, changes), more
    if name == b"BF.TTL":
        return [left is not None and left > 0 for left in parsed(reply)]
    if name in (b"BF.SCANDUMP", b"BF.FOLLOW"):
        iterator, chunk, *position = map(parsed, elements(reply))
        return min(iterator, OWN_ITERATORS), by_content(key, chunk), len(position)
    if name == b"BF.DUMP":
        return by_content(key, reply)
    if name == b"BF.INFO":
        if len(words) == 3 and words[2].upper() in CLOCK_FIELDS:
            return len(elements(reply) or ())
        return without_clock(words, reply)
    return reply


def without_clock(words, reply):
    """A reply of BF.INFO with zeros in place of what is measured by the clock; any other as it is."""
    return CLOCK_VALUES.sub(rb"\1:0\r\n", reply) if words[0].upper() == b"BF.INFO" else reply


def by_content(key, data):
    """Bytes of a filter, or how many if they contain times."""
    return len(data) if key.startswith(b"t") else data


def compaction_is_due(items, deletions):
    """Of a cuckoo filter with several sub-filters: a server compacts a large one some time after the removal."""
    return deletions > items // 10
