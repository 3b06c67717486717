"""Numbers in the words of commands, as an engine reads them for a module; of doubles, decimal ones alone."""

import math
import re

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1  # of signed numbers
INTEGER = re.compile(rb"0|-?[1-9][0-9]*")
DOUBLE = re.compile(rb"[+-]?(?:(\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.IGNORECASE)


def integer(word):
    """None if the engine does not take the word for a signed number of 64 bits."""
    if not INTEGER.fullmatch(word):
        return None
    number = int(word)
    return number if SMALLEST <= number <= LARGEST else None


def double(word):
    """None if the engine does not take the word for a double: it is too large, or so small that it would be 0."""
    found = DOUBLE.fullmatch(word)
    if not found:
        return None
    number, digits = float(word), found[1]
    is_out_of_range = digits and (math.isinf(number) or number == 0 and digits.strip(b"0."))
    return None if is_out_of_range else number
