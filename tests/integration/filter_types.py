"""The table of filter types, as the program has it: filter_types.json, which scripts/docs writes."""

import json
import pathlib

TABLE = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
# A value for each option that must be given.
VALUES = {"WINDOW": "1h", "TTL": "1h"}


def type_names(**properties):
    """Names of the types with these properties, as in type_names(by_reserve=True, removes=False), in their order."""
    return [row["name"] for row in TABLE if all(row[each] == value for each, value in properties.items())]


def needed_options(name, **values):
    """What BF.RESERVE and BF.INSERT need besides TYPE, with `values` in place of VALUES."""
    (row,) = (row for row in TABLE if row["name"] == name)
    return [word for option in row["needs"] for word in (option, {**VALUES, **values}[option])]


def types_that_can(ability):
    """The end of the error for a type that cannot: "removes", "counts", "freezes", "denies" or "merges"."""
    return "types that can: " + ", ".join(type_names(**{ability: True}))
