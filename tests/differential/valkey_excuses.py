"""Known differences from valkey-bloom, as excuses.py has those from RedisBloom."""

import re

from excuses import FUNCTIONS, OK, as_number, differs_from, excuse
from replies import elements, is_error, parsed
from subjects import MODULE, SERVER, VALKEY_BLOOM

__all__ = ["FUNCTIONS"]  # with those of this module

MOST_CAPACITY = 1 << 50
FOUND_OR_ADDED = ("BF.ADD", "BF.MADD", "BF.INSERT", "BF.EXISTS", "BF.MEXISTS")
from_valkey_bloom = differs_from(VALKEY_BLOOM)


def option(case, name):
    """The word after an option; b"" if there is none."""
    words = [word.upper() for word in case.words]
    return case.words[words.index(name) + 1] if name in words[:-1] else b""


@from_valkey_bloom
def valkey_capacity(case, ours, _):
    stated = case.words[3] if case.name == "BF.RESERVE" and len(case.words) > 3 else option(case, b"CAPACITY")
    return is_error(ours) and as_number(stated) > MOST_CAPACITY


@from_valkey_bloom
def valkey_expansion(case, _, theirs):
    return is_error(theirs) and as_number(option(case, b"EXPANSION")) == 0


@from_valkey_bloom
def valkey_booleans(case, ours, theirs):
    as_integers = re.sub(rb"#([tf])\r\n", lambda found: b":1\r\n" if found[1] == b"t" else b":0\r\n", ours)
    return case.name in FOUND_OR_ADDED and ours != theirs == as_integers


@from_valkey_bloom
def valkey_other_type(case, ours, theirs):
    return case.name in ("BF.EXISTS", "BF.MEXISTS") and theirs.startswith(b"-WRONGTYPE") and not is_error(ours)


@excuse
def development_values(case):
    return case.name == "RESTORE" and case.of(SERVER) == OK and case.of(MODULE) == b"-ERR Bad data format\r\n"


def texts(name, theirs, ours):
    """A difference in the text of an error only: both are patterns of the beginning."""
    def excuses(case, our_reply, their_reply):
        return bool(re.match(ours, our_reply) and re.match(theirs, their_reply))
    excuses.__name__ = name
    from_valkey_bloom(excuses)


texts("valkey_error_rate", rb"-ERR \(0 < error rate range < 1\)",
      rb"-(ERR error rate must be in the range|Bad error rate)")
texts("valkey_capacity_0", rb"-ERR \(capacity should be larger than 0\)",
      rb"-(ERR capacity must be in the range|Bad capacity)")
texts("valkey_tightening", rb"-ERR \(0 < tightening ratio range < 1\)", rb"-ERR bad tightening ratio: ")
texts("valkey_insert_number", rb"-ERR bad (capacity|error rate|expansion)", rb"-Bad (capacity|error rate|expansion)")
texts("valkey_unknown_option", rb"-(ERROR|ERR unknown argument received)",
      rb"-(ERR unknown option|Unknown argument received)")
texts("valkey_info_field", rb"-ERR invalid information value", rb"-Invalid information value")
texts("valkey_too_large", rb"-ERR operation exceeds bloom object memory limit", rb"-OOM ")
texts("valkey_load", rb"-ERR \(0 < (error rate|tightening ratio) range < 1\)",
      rb"-ERR (error rate|tightening ratio) must be in the range \(0, 1\)")


def errors_in(reply):
    parts = elements(reply)
    return [parsed(each) for each in ([reply] if parts is None else parts) if is_error(each)]


@from_valkey_bloom
def valkey_cannot_grow(_, ours, theirs):
    """Arrays of both end differently: there with the first error, here with one for each further new item."""
    our_errors = errors_in(ours)
    return bool(errors_in(theirs)) and bool(our_errors) and all(
        error.startswith("ERR problem inserting into filter: ") for error in our_errors)
