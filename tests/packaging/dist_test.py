#!/usr/bin/python3
"""Installs and uses each thing that scripts/release wrote, as its user would.

  dist_test.py DIST

Each is unpacked into a Debian that has what the thing says it needs, and nothing else: for amd64 in a chroot, for arm64
with an emulator. Needs root, for the chroot.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time

import redis

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))

from filter_types import needed_options, type_names  # noqa: E402 (from the folder of the integration tests)

ARCHITECTURES = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}
DEBIAN_PACKAGES = ("bitsieve", "bitsieve-module", "libbitsieve1", "libbitsieve-dev", "python3-bitsieve")
# What docs/operations/install.md says that the tarball needs, by Debian's names.
NEEDED_BY_TARBALL = ("libc6", "libstdc++6", "libssl3", "libarchive13")
# Where the root is no mount, as in a chroot, unshare cannot keep mounts to itself, and nothing shares them.
PROPAGATION = [] if os.path.ismount("/") else ["--propagation", "unchanged"]
IN_PYTHON = """
from array import array
from bitsieve import Filter
filter = Filter(capacity=1000, error_rate=0.01)
filter.add("alice")
filter.add_many(array("q", [1, 2]))
print("alice" in filter, "bob" in filter, filter.may_contain_many(array("q", [2, 3])).tolist())
"""
PYTHON_PRINTS = "True False [True, False]\n"


def output_of(*command, **more):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            check=False, **more)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def expect(what, value, wanted):
    if value != wanted:
        sys.exit(f"{what}: {value!r}, not {wanted!r}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Machine:
    """A Debian of some architecture with these packages and what they need, unpacked in a folder."""

    def __init__(self, work, name, architecture, packages):
        self.architecture = architecture
        self.root = work / f"{name}-{architecture}"
        repository = output_of(ROOT / "scripts/packages", "--repository").strip()
        output_of("mmdebstrap", "--quiet", "--variant=extract", f"--architectures={architecture}",
                  f"--include={','.join(packages)}", "bookworm", self.root, f"deb {repository} main")
        for folder in ("tmp", "proc"):
            (self.root / folder).mkdir(exist_ok=True)

    def command(self, program, *arguments, **variables):
        """`program` is a path within; its arguments may be as well."""
        words = [f"{name}={value}" for name, value in variables.items()]
        if self.architecture == "amd64":
            return ["env", "-i", f"PATH={os.environ['PATH']}", *words, "unshare", "--mount", *PROPAGATION, "sh", "-c",
                    'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', self.root, program, *arguments]
        return ["env", "-i", *words, "/usr/bin/qemu-aarch64", "-L", self.root, f"{self.root}{program}", *arguments]

    def path(self, path):
        """The path by which what runs within finds a file: the emulator reads the libraries within, and no others."""
        return path if self.architecture == "amd64" else f"{self.root}{path}"


class Serving:
    """A program that serves on a port of its own until the end of the block; a client of it."""

    def __init__(self, command, port):
        self.command, self.port = [str(word) for word in command], port

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        client = redis.Redis(port=self.port)
        for _ in range(600):
            try:
                client.ping()
                return client
            except redis.RedisError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.1)
        self.process.kill()
        sys.exit(f"{' '.join(self.command)} does not serve:\n{self.process.communicate()[0]}")

    def __exit__(self, *_):
        self.process.terminate()
        expect("the status at the end", self.process.wait(60), 0)


class Release:
    def __init__(self, dist, work):
        self.dist, self.work = dist, work
        (bill,) = dist.glob("*.cdx.json")
        self.bill = json.loads(bill.read_text(encoding="utf-8"))
        self.version = self.bill["metadata"]["component"]["version"]

    # ---- what there is

    def check_files(self):
        expected = {"SHA256SUMS", "THIRD-PARTY.md"} | {f"bitsieve-{self.version}{end}" for end in (
            ".cdx.json", ".tgz", "-source.tar.gz", "-linux-amd64.tar.gz", "-linux-arm64.tar.gz")}
        for architecture, triplet in ARCHITECTURES.items():
            expected |= {f"{package}_{self.version}_{architecture}.deb" for package in DEBIAN_PACKAGES}
            glibc = os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_")
            expected.add(f"bitsieve-{self.version}-py3-none-manylinux_{glibc}_{triplet.split('-', maxsplit=1)[0]}.whl")
        found = {path.name for path in self.dist.iterdir() if "-image-" not in path.name}
        expect("the files of dist", sorted(found), sorted(expected))
        sums = dict(reversed(line.split("  ")) for line in
                    (self.dist / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
        for path in self.dist.iterdir():
            if path.name != "SHA256SUMS":
                expect(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), sums.pop(path.name))
        expect("the sums of files that are not there", sums, {})

    def check_source(self):
        with tarfile.open(self.dist / f"bitsieve-{self.version}-source.tar.gz") as archive:
            inside = sorted(member.name.split("/", 1)[1] for member in archive if not member.isdir())
            archive.extractall(self.work / "source")
        expect("the source", inside, sorted(output_of("git", "-C", ROOT, "ls-files").splitlines()))
        source = self.work / "source" / f"bitsieve-{self.version}"
        output_of("cmake", "--preset", "server", cwd=source)

    def check_bill(self):
        """What the binaries need, and what lies beside them, is of a package in the bill, except for the C library."""
        names = {each["name"] for each in self.bill["components"]} | {"glibc"}
        for each in self.bill["components"]:
            if not each["version"] or not each["licenses"][0]["license"]["name"]:
                sys.exit(f"the bill says too little of {each['name']}")
        page = (self.dist / "THIRD-PARTY.md").read_text(encoding="utf-8")
        for each in names - {"glibc"}:
            if f"\n## {each}\n" not in page:
                sys.exit(f"THIRD-PARTY.md lacks {each}")
        folder = self.work / "bill"
        output_of("dpkg-deb", "-x", self.dist / f"bitsieve_{self.version}_amd64.deb", folder)
        output_of("dpkg-deb", "-x", self.dist / f"bitsieve-module_{self.version}_amd64.deb", folder)
        output_of("dpkg-deb", "-x", self.dist / f"libbitsieve1_{self.version}_amd64.deb", folder)
        libraries = set()
        for binary in ("usr/bin/bitsieve", "usr/lib/bitsieve/bitsieve.so", "usr/lib/libbitsieve.so.1"):
            libraries |= set(re.findall(r"NEEDED\s+(\S+)", output_of("objdump", "-p", folder / binary)))
        with tarfile.open(self.dist / f"bitsieve-{self.version}-linux-amd64.tar.gz") as archive:
            libraries |= {path.rsplit("/", 1)[1] for path in archive.getnames() if ".so." in path}
        for library in libraries:
            package = output_of("dpkg", "-S", f"*/{ARCHITECTURES['amd64']}/{library}").split(":")[0]
            source = output_of("dpkg-query", "-W", "-f", "${source:Package}\n", package).split("\n", maxsplit=1)[0]
            if source not in names:
                sys.exit(f"the bill lacks {source}, whose {library} is needed")

    # ---- what it does

    def deb(self, package, architecture):
        return self.dist / f"{package}_{self.version}_{architecture}.deb"

    def depends(self, architecture):
        """What the packages need, as names; Debian's own tools for their scripts are not run here."""
        names = set()
        for package in DEBIAN_PACKAGES:
            line = output_of("dpkg-deb", "-f", self.deb(package, architecture), "Depends")
            names |= {re.sub(r"[ (].*", "", name.strip()) for name in line.split(",")}
        return sorted(names - {"libbitsieve1"})

    def check_debian_packages(self, architecture):
        machine = Machine(self.work, "debian", architecture, [*self.depends(architecture), "redis-server"])
        for package in DEBIAN_PACKAGES:
            expect(f"the architecture of {package}",
                   output_of("dpkg-deb", "-f", self.deb(package, architecture), "Architecture").strip(), architecture)
            output_of("dpkg-deb", "-x", self.deb(package, architecture), machine.root)
        expect("the version", output_of(*machine.command("/usr/bin/bitsieve", "version")).split()[1], self.version)
        dumps = self.check_server(machine, "/usr/bin/bitsieve")
        self.check_module(machine, "/usr/lib/bitsieve/bitsieve.so")
        expect("the Python library", output_of(*machine.command(
            "/usr/bin/python3", "-c", IN_PYTHON,
            PYTHONPATH=machine.path("/usr/lib/python3/dist-packages"))), PYTHON_PRINTS)
        program = machine.root / "tmp/in_c"
        output_of(f"{ARCHITECTURES[architecture]}-gcc", f"-I{machine.root}/usr/include",
                  ROOT / "tests/packaging/consumer/in_c.c", "-o", program, f"-L{machine.root}/usr/lib", "-lbitsieve",
                  "-Wl,--unresolved-symbols=ignore-in-shared-libs")
        expect("a program in C", output_of(*machine.command("/tmp/in_c")), "found 1 of 1; in C\n")
        return dumps

    def check_server(self, machine, program):
        """Serves; returns the dump of a filter of each type, made the same way everywhere."""
        port = free_port()
        dumps = {}
        with Serving(machine.command(program, "serve", "--port", port, "--dir", machine.path("/tmp/data"),
                                     "--admin-port", 0), port) as client:
            types = type_names(by_reserve=True)
            for name in types:
                seed = () if name == "redisbloom" else ("SEED", 7)  # that has RedisBloom's own
                client.execute_command("BF.RESERVE", name, 0.001, 1000, "TYPE", name, *seed, *needed_options(name))
                client.execute_command("BF.MADD", name, *range(500))
                expect(name, client.execute_command("BF.MEXISTS", name, *range(500)), [1] * 500)
                if name in type_names(forgets=False):  # the others hold times
                    dumps[name] = client.execute_command("BF.DUMP", name)
            client.execute_command("CF.RESERVE", "rediscuckoo", 1000)
            client.execute_command("CF.INSERT", "rediscuckoo", "ITEMS", *range(500))
            dumps["rediscuckoo"] = client.execute_command("BF.DUMP", "rediscuckoo")
            output_of(*machine.command(program, "ping", "--port", port))
            client.save()
        with Serving(machine.command(program, "serve", "--port", port, "--dir", machine.path("/tmp/data")),
                     port) as client:
            for name in (*types, "rediscuckoo"):
                expect(name, client.execute_command("BF.MEXISTS", name, *range(500)), [1] * 500)
        return dumps

    def check_module(self, machine, module):
        port = free_port()
        with Serving(machine.command("/usr/bin/redis-server", "--port", port, "--save", "", "--loadmodule",
                                     machine.path(module)), port) as client:
            expect("BF.ADD", client.execute_command("BF.ADD", "seen", "a"), 1)
            expect("BF.EXISTS", client.execute_command("BF.EXISTS", "seen", "a"), 1)

    def check_tarball(self, architecture):
        name = f"bitsieve-{self.version}-linux-{architecture}"
        machine = Machine(self.work, "tarball", architecture, NEEDED_BY_TARBALL)
        output_of("tar", "-C", machine.root, "-xf", self.dist / f"{name}.tar.gz")
        self.check_server(machine, f"/{name}/bin/bitsieve")
        engine = Machine(self.work, "engine", architecture, ["redis-server"])
        output_of("tar", "-C", engine.root, "-xf", self.dist / f"{name}.tar.gz")
        self.check_module(engine, f"/{name}/lib/bitsieve/bitsieve.so")
        for page in ("README.md", "THIRD-PARTY.md"):
            if not list((machine.root / name).rglob(page)):
                sys.exit(f"{name} lacks {page}")

    def check_wheel(self, architecture):
        machine = Machine(self.work, "wheel", architecture, ["python3", "libstdc++6"])
        tag = next(path for path in self.dist.glob("*.whl") if ARCHITECTURES[architecture].split("-")[0] in path.name)
        platform = tag.name.removesuffix(".whl").split("-")[-1]
        output_of("/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-index", "--only-binary=:all:",
                  f"--platform={platform}", "--target", machine.root / "tmp/site", tag)
        expect("the wheel", output_of(*machine.command("/usr/bin/python3", "-c", IN_PYTHON,
                                                       PYTHONPATH=machine.path("/tmp/site"))), PYTHON_PRINTS)
        if architecture == "amd64":
            self.check_virtual_environment(tag)

    def check_virtual_environment(self, wheel):
        venv = self.work / "venv"
        output_of("/usr/bin/python3", "-m", "venv", venv)
        output_of(venv / "bin/pip", "install", "--quiet", "--no-index", wheel)
        expect("the wheel in a virtual environment", output_of(venv / "bin/python", "-c", IN_PYTHON, env={}),
               PYTHON_PRINTS)
        output_of(venv / "bin/pip", "uninstall", "--quiet", "--yes", "bitsieve")
        left = [str(path) for path in venv.rglob("*bitsieve*")]
        expect("what is left of the wheel", left, [])

    def check_npm_package(self, dump):
        folder = self.work / "node"
        folder.mkdir()
        (folder / "dump.bsf").write_bytes(dump)
        output_of("npm", "install", "--offline", "--no-audit", "--no-fund", self.dist / f"bitsieve-{self.version}.tgz",
                  cwd=folder)
        (folder / "program.mjs").write_text(
            "import { readFileSync } from 'node:fs';\nimport { Filter } from 'bitsieve';\n"
            "const filter = Filter.fromBytes(new Uint8Array(readFileSync('dump.bsf')).buffer);\n"
            "console.log(filter.mayContain('7'), filter.mayContain('absent'));\n", encoding="utf-8")
        expect("the npm package", output_of("node", "program.mjs", cwd=folder), "true false\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=pathlib.Path)
    dist = parser.parse_args().dist.resolve()
    if os.geteuid() != 0:
        sys.exit("dist_test.py: only root can run programs in another root")
    work = pathlib.Path(tempfile.mkdtemp(prefix="dist-test-"))
    try:
        release = Release(dist, work)
        release.check_files()
        release.check_source()
        release.check_bill()
        dumps = {}
        for architecture in ARCHITECTURES:
            print(f"== {architecture}: Debian packages", flush=True)
            dumps[architecture] = release.check_debian_packages(architecture)
            print(f"== {architecture}: tarball", flush=True)
            release.check_tarball(architecture)
            print(f"== {architecture}: wheel", flush=True)
            release.check_wheel(architecture)
        for name in dumps["amd64"]:
            expect(f"{name} has the same bytes on both", dumps["amd64"][name] == dumps["arm64"][name], True)
        print("== npm", flush=True)
        release.check_npm_package(dumps["amd64"]["blocked"])
        print("all of dist is as it should be")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
