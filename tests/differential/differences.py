"""The known differences, which docs/compatibility.md and docs/sketches.md list, and what recognises each of them.

The tables of these pages have a name in their first column for each difference that replies to commands can show. For
each there is a function of the same name, which says whether a Case is exactly this difference. A row without a
function, or a function without a row, is an error. What the difference is and why is on the page only.
"""

import pathlib
import re
from dataclasses import dataclass
from typing import Callable

import excuses
import valkey_excuses

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGES = ("compatibility.md", "sketches.md")
ROW = re.compile(r"^\| `([a-z0-9-]+)` \|", re.MULTILINE)


@dataclass(frozen=True)
class Excuse:
    id: str
    excuses: Callable
    keeps_content: bool  # the keys of the command are the same afterwards


def rows():
    """The names of the differences, in the order of the pages."""
    return [name for page in PAGES for name in ROW.findall((DOCS / page).read_text(encoding="utf-8"))]


def unmatched(listed, recognised):
    """What is wrong with the list and the functions: each must be in both."""
    return [*(f"docs list the difference {name}, which no function recognises" for name in listed
              if name not in recognised),
            *(f"a function recognises the difference {name}, which docs do not list" for name in recognised
              if name not in listed),
            *(f"docs list the difference {name} twice" for name in set(listed) if listed.count(name) > 1)]


def known_differences():
    listed = rows()
    functions = {**excuses.FUNCTIONS, **valkey_excuses.FUNCTIONS}
    if problems := unmatched(listed, functions):
        raise SystemExit("\n".join(problems))
    return [Excuse(name, functions[name], name in excuses.KEEP_CONTENT) for name in listed]
