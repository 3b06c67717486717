"""Finds the fewest commands that still show a difference, by delta debugging."""

import time

from comparison import ENDED
from streams import Step

IDLE_SECONDS = 1.1  # after so long a server ends dumps and loads in favour of new ones


def singles(steps):
    """The same commands, each sent by itself."""
    return [Step(step.version, (words,)) for step in steps for words in step.commands]


def is_like(found, case):
    """Of a connection that ended, the command matters less: replies to commands before it may be lost."""
    return found.subjects == case.subjects and (found.name == case.name or found.replies == case.replies == (ENDED,))


def shows(comparison, steps, case):
    """The first difference in a replay, if it is in the same command and the same server; else None."""
    found = replayed(comparison, steps)
    if found is None and comparison.was_busy:
        time.sleep(IDLE_SECONDS)
        found = replayed(comparison, steps)
    return found if found is not None and is_like(found, case) else None


def replayed(comparison, steps):
    comparison.clear()
    for step in steps:
        _, found = comparison.run(step)
        if found is not None:
            return found
    return None


def smallest(parts, still_shows):
    """Removes parts as long as the rest still shows the difference: halves first, then ever smaller parts."""
    size = max(1, len(parts) // 2)
    while True:
        at = 0
        while at < len(parts):
            fewer = parts[:at] + parts[at + size:]
            if fewer and still_shows(fewer):
                parts = fewer
            else:
                at += size
        if size == 1:
            return parts
        size = max(1, size // 2)


def reduced(comparison, steps, case):
    """The steps, as few as possible, and the difference that they show. None if a replay does not show it."""
    for candidate in (singles(steps), list(steps)):
        if shows(comparison, candidate, case):
            break
    else:
        return list(steps), None
    candidate = smallest(candidate, lambda fewer: shows(comparison, fewer, case))
    candidate = smallest(shorter_commands(comparison, candidate, case), lambda fewer: shows(comparison, fewer, case))
    return candidate, shows(comparison, candidate, case)


def shorter_commands(comparison, steps, case):
    """Without words of commands that do not matter."""
    for number, step in enumerate(steps):
        if len(step.commands) > 1 or len(step.commands[0]) < 4:
            continue

        def still_shows(words, number=number, version=step.version):
            changed = [*steps[:number], Step(version, (tuple(words),)), *steps[number + 1:]]
            return shows(comparison, changed, case)
        words = step.commands[0]
        kept = smallest(list(words[2:]), lambda rest, words=words: still_shows((*words[:2], *rest)))
        steps = [*steps[:number], Step(step.version, ((*words[:2], *kept),)), *steps[number + 1:]]
    return steps
