"""The syntax of commands, as COMMAND DOCS of a running Bitsieve has it, and words that follow it."""

import dataclasses

COMMANDS_PER_REQUEST = 50


def fields(reply):
    """A map of RESP2, by names."""
    return {name.decode(): value for name, value in zip(reply[::2], reply[1::2])}


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument. `parts` are those of a block, or the choices of a oneof."""
    name: str
    type: str
    token: str
    flags: frozenset
    parts: tuple

    @classmethod
    def read(cls, reply):
        found = fields(reply)
        return cls(found["name"].decode(), found["type"].decode(), found.get("token", b"").decode(),
                   frozenset(flag.decode() for flag in found.get("flags", ())),
                   tuple(map(cls.read, found.get("arguments", ()))))

    def words(self, random, values):
        """One occurrence, with its token."""
        words = [self.token] if self.token else []
        for _ in range(random.choice((1, 1, 2, 3, 8)) if "multiple" in self.flags else 1):
            words += self.value(random, values)
        return words

    def value(self, random, values):
        if self.type == "pure-token":
            return []
        if self.type == "oneof":
            choice = random.choice(self.parts)
            # A choice without a token is a word that is written as it is called.
            return choice.words(random, values) if choice.token else [choice.name]
        if self.type == "block":
            return [word for part in self.parts for word in part.words(random, values)]
        return [values(self)]

    def tokens(self):
        return ({self.token} if self.token else set()).union(*(part.tokens() for part in self.parts))

    def without(self, unwanted):
        """This argument without choices that have one of these tokens; None if nothing is left of it."""
        if self.token in unwanted:
            return None
        kept = tuple(part for part in (part.without(unwanted) for part in self.parts) if part)
        return dataclasses.replace(self, parts=kept) if kept or not self.parts else None


@dataclasses.dataclass(frozen=True)
class Syntax:
    name: str
    arguments: tuple

    def words(self, random, values, option_share=0.25):
        """A command with some of its options, which are in any order except that items come last."""
        needed, options, items = [], [], []
        for argument in self.arguments:
            if argument.token == "ITEMS":
                is_left_out = "optional" in argument.flags and random.random() < 0.03
                items = [] if is_left_out else argument.words(random, values)
            elif "optional" not in argument.flags:
                needed += argument.words(random, values)
            elif random.random() < option_share:
                options.append(argument.words(random, values))
        if random.random() < 0.5:
            random.shuffle(options)
        return [self.name, *needed, *(word for option in options for word in option), *items]

    def tokens(self):
        return set().union(*(argument.tokens() for argument in self.arguments))

    def without(self, unwanted):
        kept = (argument.without(unwanted) for argument in self.arguments)
        return Syntax(self.name, tuple(argument for argument in kept if argument))


def read_syntax(ask, names):
    """The syntax of these commands by name. `ask` sends a command and returns its reply, parsed."""
    found = {}
    for begin in range(0, len(names), COMMANDS_PER_REQUEST):
        docs = fields(ask("COMMAND", "DOCS", *names[begin:begin + COMMANDS_PER_REQUEST]))
        for name, doc in docs.items():
            arguments = tuple(map(Argument.read, fields(doc).get("arguments", ())))
            found[name.upper()] = Syntax(name.upper(), arguments)
    return found
