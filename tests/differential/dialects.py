"""Which commands and options are compared: all that Bitsieve has, or those of a reference."""

import functools
from dataclasses import dataclass

from filter_types import type_names
from grammar import read_syntax
from streams import SKETCHES, FilterStream, SketchStream
from subjects import REDISBLOOM, VALKEY_BLOOM

FAMILIES = ("BF.", "CF.")
# Only replicas and files have these.
INTERNAL = {"BF.MADE", "BF.AT", "BF.CONTENT"}
FILTER_STREAMS = 4  # for each stream of a family of sketches


@dataclass(frozen=True)
class Dialect:
    """Commands with their options; None for all. `default_type` is that of Bitsieve's servers in the comparison."""
    name: str
    default_type: str
    commands: dict | None
    types: tuple = ()

    @property
    def seeded_default(self):
        """Whether servers make the same filter of the same command, without SEED."""
        return self.default_type == "redisbloom"

    def filter_commands(self, subjects):
        """The commands of filters that are compared: those that all have, and none else may have."""
        names = {name for name in next(each for each in subjects if each.is_bitsieve).names
                 if name.startswith(FAMILIES) and name not in INTERNAL}
        if self.commands is not None:
            names &= set(self.commands)
        for subject in subjects:
            lacking = names - set(subject.names)
            if subject.is_bitsieve and lacking:
                raise AssertionError(f"{subject.name} does not have {sorted(lacking)}")
            names -= lacking
        return names

    def syntax(self, subjects):
        bitsieve = next(subject for subject in subjects if subject.is_bitsieve)
        found = read_syntax(bitsieve.ask, sorted(self.filter_commands(subjects)))
        if self.commands is None:
            return found
        return {name: each.without(each.tokens() - self.commands[name]) for name, each in found.items()}

    def streams(self, subjects):
        """Functions that make a stream from a seed."""
        others = all(subject.has_other_values for subject in subjects)
        filters = functools.partial(FilterStream, syntax=self.syntax(subjects), types=self.types, other_values=others,
                                    bitsieve_only=self.commands is None, seeded_default=self.seeded_default)
        return [filters] * FILTER_STREAMS + [functools.partial(SketchStream, family=family)
                                             for family in self.families(subjects)]

    @staticmethod
    def families(subjects):
        return [family for family in SKETCHES
                if all(any(name.startswith(family + ".") for name in subject.names) for subject in subjects)]

    def words(self, subjects):
        """The commands that streams must contain sooner or later, and their options."""
        expected = self.filter_commands(subjects)
        families = tuple(family + "." for family in self.families(subjects))
        expected |= {name for name in subjects[-1].names if families and name.startswith(families)}
        tokens = {f"{name} {token}" for name, each in self.syntax(subjects).items() for token in each.tokens()}
        return expected | tokens


def commands(text):
    """One command a line, with its options."""
    return {words[0]: frozenset(words[1:]) for words in map(str.split, text.strip().splitlines())}


BITSIEVE = Dialect("Bitsieve", "redisbloom", None, tuple(type_names(by_reserve=True)))
OF_REDISBLOOM = Dialect(REDISBLOOM, "redisbloom", commands("""
    BF.RESERVE EXPANSION NONSCALING
    BF.ADD
    BF.MADD
    BF.INSERT CAPACITY ERROR EXPANSION NOCREATE NONSCALING ITEMS
    BF.EXISTS
    BF.MEXISTS
    BF.CARD
    BF.INFO CAPACITY SIZE FILTERS ITEMS EXPANSION
    BF.SCANDUMP
    BF.LOADCHUNK
    BF.DEBUG
    CF.RESERVE BUCKETSIZE MAXITERATIONS EXPANSION
    CF.ADD
    CF.ADDNX
    CF.INSERT CAPACITY NOCREATE ITEMS
    CF.INSERTNX CAPACITY NOCREATE ITEMS
    CF.EXISTS
    CF.MEXISTS
    CF.COUNT
    CF.DEL
    CF.COMPACT
    CF.INFO
    CF.SCANDUMP
    CF.LOADCHUNK
    CF.DEBUG"""))
OF_VALKEY_BLOOM = Dialect(VALKEY_BLOOM, "valkeybloom", commands("""
    BF.RESERVE EXPANSION NONSCALING
    BF.ADD
    BF.MADD
    BF.INSERT CAPACITY ERROR EXPANSION NOCREATE NONSCALING SEED TIGHTENING VALIDATESCALETO ITEMS
    BF.EXISTS
    BF.MEXISTS
    BF.CARD
    BF.INFO CAPACITY SIZE FILTERS ITEMS ERROR EXPANSION TIGHTENING MAXSCALEDCAPACITY
    BF.LOAD"""))
DIALECTS = {REDISBLOOM: OF_REDISBLOOM, VALKEY_BLOOM: OF_VALKEY_BLOOM}


def dialect_of(references):
    """That of the references, which must be of one product."""
    roles = {subject.role for subject in references if not subject.is_bitsieve}
    if len(roles) > 1:
        raise SystemExit("references of different products cannot be compared in one run")
    return DIALECTS[roles.pop()] if roles else BITSIEVE
