"""`bitsieve cli` at a prompt: typing, Tab, hints, history, Ctrl-C, and servers that stop."""

import contextlib
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import tempfile
import termios
import time

from harness import ENVIRONMENT, HOST, PATIENCE, OwnServerTest, binary, main, wait_until
from pages import MARK, in_own_machine


class Terminal:
    """The program at the other end of a terminal of 100 columns."""

    def __init__(self, test, home, port, *arguments, **variables):
        environment = {**ENVIRONMENT, "HOME": home, "TERM": "xterm", "LC_ALL": "C.UTF-8", **variables}
        environment.pop("XDG_STATE_HOME", None)
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execve(binary(), [binary(), "cli", "-p", str(port), *arguments], environment)
        self.output = ""
        test.addCleanup(os.close, self.terminal)
        test.addCleanup(self.end)
        self.is_running = True

    def end(self):
        if self.is_running:
            os.kill(self.process, signal.SIGKILL)
            self.wait()

    def wait(self):
        """The exit status."""
        status = wait_until(self.poll, 20 * PATIENCE, "the shell ends\n" + self.output)
        self.is_running = False
        return os.waitstatus_to_exitcode(status[0])

    def poll(self):
        self.read()
        process, status = os.waitpid(self.process, os.WNOHANG)
        return [status] if process else None

    def read(self):
        with contextlib.suppress(OSError):  # the program has ended
            while select.select([self.terminal], [], [], 0.01)[0]:
                self.output += os.read(self.terminal, 65536).decode(errors="replace")

    def type(self, keys, expected):
        """Returns what is shown from the keys on, up to the pattern."""
        self.output = ""
        os.write(self.terminal, keys.encode())
        return self.wait_for(expected)

    def wait_for(self, expected):
        def found():
            self.read()
            return re.search(expected, self.output)
        try:
            wait_until(found, 20 * PATIENCE, expected)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.output!r}") from None
        return self.output


class Prompt(OwnServerTest):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.addCleanup(shutil.rmtree, self.home)
        self.server = self.make_server().start()
        self.prompt = f"{HOST}:{self.server.port}> "

    def open(self, *arguments, **variables):
        terminal = Terminal(self, self.home, self.server.port, *arguments, **variables)
        terminal.wait_for(re.escape(self.prompt))
        return terminal

    def history(self):
        return pathlib.Path(self.home, ".local/state/bitsieve/history")

    def test_commands(self):
        terminal = self.open()
        terminal.type("BF.ADD seen 'a b'\r", r"\(integer\) 1\r\n" + re.escape(self.prompt))
        terminal.type('ECHO "x\r', "a quote is not closed")
        terminal.type("ECHO ä\x7fö\r", r'"\\xc3\\xb6"')
        terminal.type("MULTI\r", r"OK\r\n.*\(TX\)> ")
        terminal.type("EXEC\r", r"\(empty array\)\r\n" + re.escape(self.prompt))
        terminal.type("exit\r", "\n")
        self.assertEqual(terminal.wait(), 0)

    def test_end_of_input(self):
        terminal = self.open()
        terminal.type("\x04", "\n")
        self.assertEqual(terminal.wait(), 0)

    def test_tab(self):
        self.server.client().execute_command("BF.ADD", "crawled pages", "x")
        self.server.client().execute_command("BF.ADD", "seen:a", "x")
        self.server.client().execute_command("BF.ADD", "seen:b", "x")
        terminal = self.open()
        terminal.type("bf.ins\t", "BF.INSERT ")
        terminal.type("cr\t", '"crawled pages" ')
        terminal.type("cap\t", "CAPACITY ")
        terminal.type("1000 NOC\t", "REATE ")
        terminal.type("HASH \t", "fnv1a +murmur3 +sip +xxh3")
        terminal.type("x\t", "xh3 ")
        terminal.type("ITEMS y\r", r"1\) \(integer\) 1\r\n")
        terminal.type("BF.CARD se\t", "en:")
        terminal.type("\t", "seen:a +seen:b")
        terminal.type("b\r", r"\(integer\) 1\r\n")
        terminal.type("client li\t", "LIST ")

    def test_tab_while_the_server_hangs(self):
        terminal = self.open()
        self.server.process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        terminal.type("BF.CARD se\t", "\x07")
        self.assertLess(time.monotonic() - begin, 1 * PATIENCE)
        self.server.process.send_signal(signal.SIGCONT)
        terminal.type("\x15PING\r", "PONG")

    def test_hints(self):
        terminal = self.open()
        terminal.type("BF.RESERVE ", r"\x1b\[90mkey error_rate capacity \[EXPANSION")
        terminal.type("k 0.01", r"\x1b\[K.*\x1b\[90m capacity \[EXPANSION")
        terminal.type(" 1000 TYPE ", r"\x1b\[90mtype \[EXPANSION")
        self.assertNotIn("\x1b[90m", terminal.type("blocked\r", "OK\r\n").split("OK")[0].split("\x1b[K")[-1])

    def test_history(self):
        terminal = self.open()
        terminal.type("ECHO first\r", r'"first"')
        for secret in ("AUTH secret", "HELLO 3 AUTH default secret", "ACL SETUSER eve >secret", "auth secret",
                       "CONFIG SET requirepass secret", "MIGRATE host 1 k 0 1 AUTH secret", 'AUTH "secret'):
            terminal.type(secret + "\r", r"> $")
        terminal.type("CONFIG SET requirepass \"\"\r", "OK|NOAUTH")
        terminal.type("\x1b[A\r", '"first"')  # the line above has no secret
        terminal.type("ECHO second\r", '"second"')
        terminal.type("\x04", "\n")
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(self.history().read_text(), "ECHO first\nECHO first\nECHO second\n")
        self.assertEqual(self.history().stat().st_mode & 0o777, 0o600)
        again = self.open()
        again.type("\x1b[A", "ECHO second")
        again.type("\x1b[A", "first")
        again.type("\r", '"first"')

    def test_long_history_is_cut(self):
        self.history().parent.mkdir(parents=True)
        self.history().write_text("".join(f"ECHO {i}\n" for i in range(2001)))
        self.open().type("\x1b[A", "ECHO 2000")
        lines = self.history().read_text().splitlines()
        self.assertEqual((len(lines), lines[0], lines[-1]), (1000, "ECHO 1001", "ECHO 2000"))

    def test_interrupt_clears_the_line(self):
        terminal = self.open()
        terminal.type("BF.ADD seen", "seen")
        terminal.type("\x03", r"\^C\r\n" + re.escape(self.prompt))
        terminal.type("PING\r", "PONG")

    def test_interrupt_leaves_a_stream_and_a_wait(self):
        terminal = self.open()
        for command in ("SUBSCRIBE news", "MONITOR"):
            terminal.type(command + "\r", r"subscribe|OK")
            self.server.client().publish("news", "said")
            terminal.wait_for("said")
            terminal.type("\x03", re.escape(self.prompt))
            terminal.type("PING\r", "PONG")
        terminal.type("CLIENT REPLY SKIP\r", "SKIP\r\n")  # which has no reply
        terminal.type("\x03", re.escape(self.prompt))
        terminal.type("PING\r", "PONG")

    def test_stop_and_continue(self):
        """A shell with job control takes the terminal back with Ctrl-Z, and leaves it in its own mode."""
        terminal = self.open()
        terminal.type("BF.AD", "BF.AD")
        for_editing = termios.tcgetattr(terminal.terminal)
        self.assertFalse(for_editing[3] & termios.ICANON)
        os.kill(terminal.process, signal.SIGSTOP)
        for_lines = list(for_editing)
        for_lines[3] |= termios.ICANON | termios.ECHO
        termios.tcsetattr(terminal.terminal, termios.TCSANOW, for_lines)
        os.kill(terminal.process, signal.SIGCONT)
        wait_until(lambda: not termios.tcgetattr(terminal.terminal)[3] & termios.ICANON, 20 * PATIENCE, "it edits")
        terminal.type("D seen a\r", r"\(integer\) 1")

    def test_restart_of_the_server(self):
        terminal = self.open("-3")
        terminal.type("BF.ADD seen a\r", r"\(true\)")
        self.server.options["port"] = self.server.port
        self.server.restart()
        terminal.type("BF.EXISTS seen a\r", r"\((true|false)\)\r\n" + re.escape(self.prompt))
        terminal.type("MULTI\r", r"\(TX\)")
        self.server.kill()
        terminal.type("PING\r", r"the connection was lost, and the transaction with it\r\nnot connected> ")
        terminal.type("PING\r", r"Connection refused\r\nnot connected> ")
        self.server.start()
        terminal.type("PING\r", "PONG\r\n" + re.escape(self.prompt))

    def test_what_was_set_up_is_set_up_again(self):
        terminal = self.open()
        terminal.type("ACL SETUSER eve on >secret +@all ~*\r", "OK")
        terminal.type("AUTH eve secret\r", "OK")
        self.server.client().execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        terminal.type("ACL WHOAMI\r", '"eve"')

    def test_terminal_that_cannot_edit(self):
        terminal = self.open(TERM="dumb")
        self.assertNotIn("\x1b", terminal.type("BF.ADD seen a\r", r"\(integer\) 1\r\n" + re.escape(self.prompt)))
        self.assertFalse(self.history().exists())
        terminal.type("quit\r", "\n")
        self.assertEqual(terminal.wait(), 0)


def has_terminals():
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    if MARK in os.environ or not has_terminals():
        in_own_machine()  # that has some: a chroot may have none
    main()
