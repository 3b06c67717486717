"""Replies of the Redis protocol: whole as bytes, taken apart, and parsed."""

AGGREGATES = {b"*": 1, b"~": 1, b"%": 2}
BULKS = (b"$", b"=")


class Error(str):
    """The text of an error."""

    __slots__ = ()


def end_of(raw, at=0):
    """Where the reply that begins there ends."""
    line_end = raw.index(b"\r\n", at) + 2
    kind, count = raw[at:at + 1], raw[at + 1:line_end - 2]
    if kind in BULKS:
        return line_end + (int(count) + 2 if count != b"-1" else 0)
    for _ in range(int(count) * AGGREGATES[kind] if kind in AGGREGATES and count != b"-1" else 0):
        line_end = end_of(raw, line_end)
    return line_end


def elements(raw):
    """The elements of an array or a map as bytes; None if the reply is something else."""
    line_end = raw.index(b"\r\n") + 2
    if raw[:1] not in AGGREGATES or raw[1:line_end - 2] == b"-1":
        return None
    found = []
    while line_end < len(raw):
        end = end_of(raw, line_end)
        found.append(raw[line_end:end])
        line_end = end
    return found


def parsed(raw):
    """A reply as a Python value: strings of both forms are bytes, maps are lists as in RESP2."""
    parts = elements(raw)
    if parts is not None:
        return [parsed(part) for part in parts]
    line_end = raw.index(b"\r\n")
    kind, text = raw[:1], raw[1:line_end]
    if kind == b"-":
        return Error(text.decode("latin-1"))
    if kind == b":":
        return int(text)
    if kind == b"#":
        return int(text == b"t")
    if kind == b"_" or text == b"-1" and kind in b"$*":
        return None
    if kind in BULKS:
        return raw[line_end + 2:-2]
    return text


def is_error(raw):
    return raw.startswith(b"-")


def shown(raw):
    """A reply in one line for people."""
    value = parsed(raw)
    text = f"(error) {value}" if isinstance(value, Error) else repr(value)
    return text if len(text) <= 500 else f"{text[:250]} … {text[-200:]} ({len(raw)} bytes)"
