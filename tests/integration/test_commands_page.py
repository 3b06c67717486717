"""docs/commands.md and docs/server_commands.md have a section for each command and subcommand of a running server, and
for nothing else."""

import re

from harness import ServerTest, main
from pages import ROOT

PAGES = ("docs/commands.md", "docs/server_commands.md")


def names_of(client):
    """As the pages write them; a container that does nothing of its own stands for its subcommands."""
    names = set()
    listed = [name.decode() for name in client.execute_command("COMMAND LIST")]
    for name in listed:
        (row,) = client.execute_command("COMMAND", "INFO", name)
        subcommands = {each[0].decode().replace("|", " ").upper() for each in row[9]}
        needs_subcommand = subcommands and row[1] == -2
        names |= subcommands | (set() if needs_subcommand else {name.upper()})
    return names


class CommandPages(ServerTest):
    def test_they_describe_what_the_server_has(self):
        text = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
        described = re.findall(r"^### (.*)$", text, re.MULTILINE)
        # redis-py parses the reply of COMMAND INFO, and would lose the subcommands.
        client = self.client()
        client.response_callbacks.clear()
        names = names_of(client)
        self.assertGreater(len([name for name in names if name.startswith("CF.")]), 10)
        self.assertEqual(sorted(described), sorted(names))


if __name__ == "__main__":
    main()
