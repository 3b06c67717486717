"""docs/commands.md has a section for each command and subcommand of a running server, and for nothing else."""

import pathlib
import re

from harness import ServerTest, main

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "commands.md"


def names_of(client):
    """As the page writes them; a container that does nothing of its own stands for its subcommands."""
    names = set()
    listed = [name.decode() for name in client.execute_command("COMMAND LIST")]
    for name in listed:
        (row,) = client.execute_command("COMMAND", "INFO", name)
        subcommands = {each[0].decode().replace("|", " ").upper() for each in row[9]}
        needs_subcommand = subcommands and row[1] == -2
        names |= subcommands | (set() if needs_subcommand else {name.upper()})
    return names


class CommandsPage(ServerTest):
    def test_it_describes_what_the_server_has(self):
        described = re.findall(r"^### (.*)$", PAGE.read_text(), re.MULTILINE)
        # redis-py parses the reply of COMMAND INFO, and would lose the subcommands.
        client = self.client()
        client.response_callbacks.clear()
        names = names_of(client)
        self.assertGreater(len([name for name in names if name.startswith("CF.")]), 10)
        self.assertEqual(sorted(described), sorted(names))


if __name__ == "__main__":
    main()
