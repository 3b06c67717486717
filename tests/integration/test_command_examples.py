"""The examples and the tables of replies in docs/commands.md and docs/server_commands.md: what they show is so.

Each reply of a table is one that an example shows, or that command_errors.py provokes; what is rare, such as a failing
disk, is at least a text of the sources.
"""

import itertools
import re
import unittest

from command_errors import DEFAULTS, ERRORS
from harness import OwnServerTest, ServerTest, main
from pages import ROOT

PAGES = ("docs/commands.md", "docs/server_commands.md")
SECTION = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```(console|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REPLY = re.compile(r"^\| (?:element )?`(.+)` \|", re.MULTILINE)
SAME_AS = re.compile(r"^\|.*\[([A-Z .]+)\]\(#", re.MULTILINE)
LITERALS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')
ERROR = "(error) "
ANYTHING = "..."  # in a reply, a part that varies; as an error, the errors of another command
ELAPSED = re.compile(r"^\(\d+\.\d+s\)\n", re.MULTILINE)  # redis-cli adds it to a reply that took half a second


def sections():
    """The text of each command's section."""
    return dict(itertools.chain.from_iterable(SECTION.findall((ROOT / page).read_text(encoding="utf-8"))
                                              for page in PAGES))


def steps_of(example):
    """Each command of an example with its reply."""
    return [step.partition("\n")[::2] for step in re.split(r"^> ", example, flags=re.MULTILINE)[1:]]


def replies_in(table, marker="| Reply | When |"):
    return REPLY.findall(table.partition(marker)[2].partition("\n\n")[0])


class Examples(OwnServerTest):
    def assert_replies_as_shown(self, example):
        server = self.make_server().start()
        steps = steps_of(example)
        printed = server.cli("--no-raw", stdin="".join(command + "\n" for command, _ in steps))
        shown = "".join(reply for _, reply in steps)
        pattern = ".*?".join(re.escape(part) for part in shown.split(ANYTHING))
        self.assertRegex(ELAPSED.sub("", printed), re.compile(rf"\A{pattern}\Z", re.DOTALL))
        self.assert_stops_well(server)

    def test_they_reply_as_shown(self):
        run = 0
        for command, text in sections().items():
            language, example = EXAMPLE.search(text).groups()
            if language == "text":
                continue  # redis-cli waits for ever, or the reply depends on the machine
            with self.subTest(command=command):
                self.assert_replies_as_shown(example)
            run += 1
        self.assertGreater(run, 130)


class Errors(ServerTest):
    def test_commands_return_them(self):
        for error, *commands in ERRORS:
            with self.subTest(commands=commands):
                connection = self.connect()
                connection.command("FLUSHALL")
                connection.command(*DEFAULTS)
                replies = [connection.ask(command.encode() + b"\r\n") for command in commands]
                self.assertTrue(replies[-1].startswith(b"-" + error.encode()), replies[-1])


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sections = sections()
        cls.tables = {command: replies_in(text) for command, text in cls.sections.items()}
        introduction = (ROOT / PAGES[0]).read_text(encoding="utf-8").partition("\n## ")[0]
        cls.general = [ERROR + error for error in replies_in(introduction, "| Error | When |")]
        cls.steps = [(cls.command_of(line), reply) for text in cls.sections.values()
                     for line, reply in steps_of(EXAMPLE.search(text)[2])]

    @classmethod
    def command_of(cls, line):
        words = line.upper().split()
        return next((name for name in (" ".join(words[:2]), words[0]) if name in cls.sections), None)

    def texts_in_sources(self):
        texts = set()
        for folder in ("commands", "core", "protocol", "server"):
            for path in (ROOT / folder).rglob("*.[ch]*"):
                for found in LITERALS.findall(path.read_text(encoding="utf-8")):
                    texts.add("".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', found)))
        return texts

    def errors_of(self, command):
        """Those of its table, of tables that it names, and of every command."""
        if command is None:
            return self.general
        others = SAME_AS.findall(self.sections[command].partition("| Reply | When |")[2])
        return [*self.general, *(reply for name in (command, *others) for reply in self.tables[name])]

    def test_errors_in_examples_are_in_the_tables(self):
        found = 0
        for command, reply in self.steps:
            for error in re.findall(r"^(?: *\d+\) )*(\(error\) .*)$", reply, re.MULTILINE):
                with self.subTest(command=command, error=error):
                    self.assertTrue(error.startswith(tuple(self.errors_of(command))))
                found += 1
        self.assertGreater(found, 100)

    def test_provoked_errors_are_in_the_tables(self):
        for error, *commands in ERRORS:
            with self.subTest(commands=commands):
                self.assertIn(ERROR + error, self.tables[self.command_of(commands[-1])])

    def test_what_tables_say_is_shown_or_provoked_or_in_the_sources(self):
        texts = self.texts_in_sources()
        provoked = {(self.command_of(commands[-1]), ERROR + error) for error, *commands in ERRORS}
        for command, replies in self.tables.items():
            shown = "".join(reply for name, reply in self.steps if name == command)
            for reply in replies:
                if reply in shown or (command, reply) in provoked or reply == ERROR + ANYTHING:
                    continue
                with self.subTest(command=command, reply=reply):
                    self.assert_begins_a_text(reply, texts)

    def test_general_errors_are_in_the_sources(self):
        texts = self.texts_in_sources()
        self.assertGreater(len(self.general), 5)
        for error in self.general:
            with self.subTest(error=error):
                self.assert_begins_a_text(error, texts)

    def assert_begins_a_text(self, reply, texts):
        """Some errors are written without ERR, which is added to all of their kind, and OK as it goes over the wire."""
        text = reply.removeprefix(ERROR)
        written = (text, text.removeprefix("ERR "), "+" + text)
        self.assertTrue(any(each.startswith(written) for each in texts))


if __name__ == "__main__":
    main()
