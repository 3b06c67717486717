"""A command to which two servers have replied differently."""

from dataclasses import dataclass

from replies import shown
from subjects import as_lines

MOST_SHOWN = 1000  # characters of a command


@dataclass(frozen=True)
class Case:
    """A command and two replies that differ. Each reply is `of` a role; that of Bitsieve is either role's."""
    words: tuple
    subjects: tuple
    replies: tuple
    loading: bool = False  # chunks have been loaded into its key, and not all servers have the filter yet

    @property
    def name(self):
        return self.words[0].upper().decode("latin-1")

    def of(self, role):
        """The reply of the server with this role, None if there is none."""
        return next((reply for subject, reply in zip(self.subjects, self.replies) if subject.role == role), None)

    @property
    def bitsieve(self):
        return next((reply for subject, reply in zip(self.subjects, self.replies) if subject.is_bitsieve), None)

    def type_of_key(self):
        """What TYPE says of the first key, after the command."""
        return self.subjects[0].ask("TYPE", self.words[1]) if len(self.words) > 1 else b"none"

    def lines(self):
        command = as_lines([self.words])[0]
        return [command if len(command) < MOST_SHOWN else command[:MOST_SHOWN] + " …",
                *(f"  {subject.name}: {shown(reply)}" for subject, reply in zip(self.subjects, self.replies))]
