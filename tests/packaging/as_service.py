"""Runs what a unit of systemd starts, inside of another root, as systemd would: user, directory, environment, limits,
notification and, by the kernel, the filter of system calls. A call that the unit refuses ends the process here, so that
it cannot go unnoticed.

  as_service.py ROOT UNIT NOTIFY_SOCKET     the unit's path and the socket's are seen from ROOT
"""
import contextlib
import os
import pathlib
import pwd
import resource
import shlex
import subprocess
import sys

import seccomp


def settings(text):
    """Each key's values, in order; all sections together, since their keys are different."""
    values = {}
    for line in text.splitlines():
        if line and line[0] not in "#[":
            key, value = line.split("=", 1)
            values.setdefault(key, []).append(value)
    return values


def system_calls(sets, name):
    """What a name in SystemCallFilter stands for."""
    if not name.startswith("@"):
        return {name}
    return set().union(*(system_calls(sets, member) for member in sets[name]))


def system_call_sets():
    """By systemd's own list: the name of a set, and its members below."""
    listed = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter"], capture_output=True, text=True,
                            check=True).stdout
    sets = {}
    for line in listed.splitlines():
        if line.startswith("@"):
            members = sets.setdefault(line.strip(), [])
        elif line.startswith("    ") and not line.lstrip().startswith("#"):
            members.append(line.strip())
    return sets


def allowed_calls(lines):
    sets = system_call_sets()
    allowed = set()
    for line in lines:
        named = set().union(*(system_calls(sets, name) for name in line.lstrip("~").split()))
        allowed = allowed - named if line.startswith("~") else allowed | named
    # Even without a word of it, systemd allows what every process needs.
    return allowed | system_calls(sets, "@default")


def restrict(allowed):
    restriction = seccomp.SyscallFilter(seccomp.KILL_PROCESS)
    for name in sorted(allowed):
        with contextlib.suppress(RuntimeError):  # a name that this library does not know
            restriction.add_rule(seccomp.ALLOW, name)
    restriction.load()


def enter(root, unit, notify_socket):
    os.chroot(root)
    os.chdir(unit["WorkingDirectory"][0])
    os.umask(int(unit["UMask"][0], 8))
    # A machine for tests may allow for fewer.
    limit = min(int(unit["LimitNOFILE"][0]), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    user = pwd.getpwnam(unit["User"][0])
    runtime = pathlib.Path("/run", unit["RuntimeDirectory"][0])
    runtime.mkdir(exist_ok=True)
    os.chown(runtime, user.pw_uid, user.pw_gid)
    os.initgroups(user.pw_name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    watchdog = int(unit["WatchdogSec"][0].removesuffix("s")) * 1_000_000
    environment = {"NOTIFY_SOCKET": notify_socket, "WATCHDOG_USEC": str(watchdog), "PATH": "/usr/bin"}
    for path in unit["EnvironmentFile"]:
        file = pathlib.Path(path.removeprefix("-"))
        if file.exists() or not path.startswith("-"):
            environment.update(line.split("=", 1) for line in file.read_text().splitlines())
    return environment


def main(root, unit_path, notify_socket):
    unit = settings(pathlib.Path(root + unit_path).read_text())
    allowed = allowed_calls(unit["SystemCallFilter"])
    environment = enter(root, unit, notify_socket)
    restrict(allowed)
    command = shlex.split(unit["ExecStart"][0])
    os.execve(command[0], command, environment)


main(*sys.argv[1:])
