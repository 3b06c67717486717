"""Versions of everything that a soak runs with."""

import re
import shutil
import subprocess

from batch import ROOT
from parts import ENGINES, RELEASE


def first_line(*command):
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().split("\n")[0]


def compiler():
    cache = RELEASE / "CMakeCache.txt"
    text = cache.read_text(encoding="utf-8") if cache.exists() else ""
    found = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", text, re.M)
    return first_line(found[1], "--version") if found else ""


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{model}, {first_line('nproc')} cores"


def python_module(name):
    return first_line("/usr/bin/python3", "-c", f"import {name}; print({name}.__version__)")


def versions(server):
    """By name; what is not there is left out."""
    changed = " with changes" if first_line("git", "status", "--porcelain", "--untracked-files=no") else ""
    engines = {name: first_line(str(path), "--version").split(" sha=")[0] for name, path in ENGINES.items()}
    found = {
        "Bitsieve": first_line(server, "--version"),
        "commit": (first_line("git", "rev-parse", "HEAD") or "unknown") + changed,
        "compiler": compiler(),
        "compiler of the fuzzers": first_line("clang++-16", "--version"),
        "Linux": first_line("uname", "-r"),
        "machine": processor(),
        **engines,
        "redis-cli": first_line("redis-cli", "--version"),
        "redis-py": python_module("redis"),
        "hiredis for Python": python_module("hiredis"),
        "Node": first_line("node", "--version") if shutil.which("node") else "",
    }
    return {name: version for name, version in found.items() if version}
