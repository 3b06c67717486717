"""Runs the commands of a page as they stand: nothing of the text is changed. The test has a machine of its own instead:
a network, in which the documented ports are free, its processes, a /run, terminals, and other hosts by the names that
pages use.

Call in_own_machine() before anything else of the program.
"""

import fcntl
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

import redis

from harness import ENVIRONMENT, PATIENCE, OwnServerTest, wait_until

ROOT = pathlib.Path(__file__).parents[2]
PORT = 7379
SKIPPED = 77  # ctest's SKIP_RETURN_CODE
MARK = "TEST_OWN_MACHINE"  # no variable of ours begins with BITSIEVE_
# What the pages call other machines, each with an address of its own.
PASSWORD = "password"
HOSTS = {"other": "127.0.0.2", "old": "127.0.0.3", "new": "127.0.0.4"}
NAMESPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
# In a chroot whose root is no mount, unshare cannot keep mounts to itself. They stay where they are if none is shared.
MOUNTS = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
IN_CHROOT = [["--propagation", "unchanged"]] if " shared:" not in MOUNTS else []
BLOCKS = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ERRORS = re.compile(r"^(?:\(error\) )?(?:ERR|NOPERM|NOAUTH|WRONGTYPE|WRONGPASS|OOM|MISCONF) .*", re.MULTILINE)


def unsharing():
    """The command that runs another in namespaces of its own; None where the system does not allow it."""
    for options in ([], ["--user", "--map-root-user"], *IN_CHROOT):
        command = ["unshare", *options, *NAMESPACES]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    return None


def in_own_machine():
    """Starts the program again in namespaces of its own, unless that was done; skips the test where that cannot be."""
    if MARK in os.environ:
        furnish()
        return
    command = unsharing()
    if command is None:
        print("skipped: unshare cannot make namespaces here, in which pages run on their documented ports")
        sys.exit(SKIPPED)
    os.execvpe("unshare", [*command, sys.executable, *sys.argv], {**os.environ, MARK: "yes"})


def furnish():
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
    subprocess.run(["mount", "-t", "tmpfs", "run", "/run"], check=True)
    subprocess.run(["mount", "-t", "devpts", "-o", "newinstance,ptmxmode=0666", "devpts", "/dev/pts"], check=True)
    for folder in ("/run/bitsieve", "/run/files"):
        os.mkdir(folder)
    hosts = pathlib.Path("/run/files/hosts")
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in HOSTS.items()))
    subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)


def blocks_of(page):
    """Of each code block its language and its text."""
    return BLOCKS.findall((ROOT / page).read_text(encoding="utf-8"))


class PageTest(OwnServerTest):
    """Each test has a folder in which `bitsieve`, `sudo` and `ssh` are found, and `build` and `scripts` as pages have
    them. sudo installs nothing, and ssh leads to that host."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.addCleanup(shutil.rmtree, self.home)
        self.served = None
        self.addCleanup(self.stop_serving)
        self.program = os.environ["BITSIEVE_BINARY"]
        self.put("build/release/bitsieve", link=self.program)
        self.put("bin/bitsieve", link=self.program)
        self.put("bin/sudo", script='[ "$1 $2" = "apt-get install" ] || exec "$@"')
        self.put("bin/ssh", script=f'export BITSIEVE_BIND=$(sed -n "s/ $1$//p" /etc/hosts)\n'
                                    f"export BITSIEVE_REQUIREPASS={PASSWORD}; shift; exec \"$@\"")
        self.put("scripts/serve", script='exec bitsieve serve "$@"')
        shutil.copytree(ROOT / "examples", f"{self.home}/examples")
        self.environment = {**ENVIRONMENT, "PATH": f"{self.home}/bin:{os.environ['PATH']}"}

    def put(self, name, script=None, link=None, content=None):
        path = pathlib.Path(self.home) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if link:
            path.symlink_to(link)
        else:
            path.write_text(f"#!/bin/sh\n{script}\n" if script else content, encoding="utf-8")
            path.chmod(0o755)
        return path

    def start_server(self, **options):
        """On the documented port, with its data where pages have it."""
        return self.make_server(port=PORT, dir=f"{self.home}/data", **options).start()

    def start_on_host(self, name):
        """A server on another host, with the password that pages have."""
        server = self.make_server(port=PORT, bind=HOSTS[name], requirepass=PASSWORD)
        server.spawn()
        wait_until(lambda: "Ready after" in server.log(), 60 * PATIENCE, f"the server on {name} is ready")
        return redis.Redis(HOSTS[name], PORT, password=PASSWORD)

    # ---- running

    def run_command(self, command, code, status=0, **options):
        done = subprocess.run([*command, code], cwd=options.pop("cwd", self.home), capture_output=True, text=True,
                              timeout=120 * PATIENCE, env=self.environment, check=False, **options)
        self.assertEqual(done.returncode, status, code + done.stdout + done.stderr)
        self.assertNotRegex(done.stdout, ERRORS, code)
        return done.stdout

    def run_shell(self, code):
        """As it stands. Numbers in comments at the ends of lines are what the last lines print."""
        printed = ""
        served = None
        for part in re.split(r"^(bitsieve serve [^&\n]*(?:\\\n[^&\n]*)*)\n", code, flags=re.MULTILINE):
            if part.startswith("bitsieve serve "):
                self.serve(part)
                served = part
            elif part.strip():
                printed += self.run_command(["bash", "-eo", "pipefail", "-c"], part)
        expected = re.findall(r"  # (\d+)\b", code)
        numbers = re.findall(r"^(?:\(integer\) )?(\d+)$", printed, re.MULTILINE)
        self.assertEqual(numbers[len(numbers) - len(expected):], expected, code + printed)
        return printed or served

    def serve(self, line):
        """A server that the page starts in the foreground, as in a terminal of its own: it stays until the next one."""
        self.stop_serving()
        log = open(f"{self.home}/log", "ab")  # the process has it, too
        self.served = subprocess.Popen(["bash", "-c", "exec " + line], cwd=self.home, env=self.environment, stdout=log,
                                       stderr=log, start_new_session=True)
        log.close()
        wait_until(lambda: self.is_ready(log.name), 60 * PATIENCE, line)

    def is_ready(self, log):
        text = pathlib.Path(log).read_text(encoding="utf-8")
        self.assertIsNone(self.served.poll(), text)
        return text.count("Ready after") > text.count("Stopped")

    def stop_serving(self):
        if self.served is not None and self.served.poll() is None:
            self.served.send_signal(signal.SIGTERM)
            self.assertEqual(self.served.wait(60 * PATIENCE), 0)
        self.served = None
        pathlib.Path(self.home, "log").unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(None if unsharing() else "unshare cannot make namespaces here, in which they have their documented ports")
