#!/usr/bin/python3
"""Writes what Bitsieve's binaries contain and need of others: a bill of materials, and a page with the licences.

  third_party.py --version VERSION --bill FILE --page FILE

The bill is CycloneDX 1.4 in JSON. Versions and licences are those of the Debian packages installed on this machine,
against which the binaries were just built. Both files are the same for the same packages.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import uuid

# How a binary has each library, by the Debian package that brings its licence. A package of scripts/packages that is
# missing here is an error, and so is one that is here and not installed.
COMPILED_IN = "compiled in"
BESIDE = "in the tarball and the wheel; the Debian packages depend on it"
SYSTEM = "of the system"
LIBRARIES = {
    "libasio-dev": COMPILED_IN, "libcli11-dev": COMPILED_IN, "libexpected-dev": COMPILED_IN,
    "nlohmann-json3-dev": COMPILED_IN, "libstdc++-12-dev": "compiled in, and of the system",
    "libspdlog-dev": BESIDE, "libfmt-dev": BESIDE, "libxxhash-dev": BESIDE, "libcpp-httplib-dev": BESIDE,
    "libbrotli1": BESIDE, "libedit-dev": BESIDE, "libbsd0": BESIDE, "libmd0": BESIDE, "libtinfo6": BESIDE,
    "libhiredis-dev": BESIDE, "liblzf-dev": BESIDE,
    "libarchive-dev": SYSTEM, "libssl-dev": SYSTEM, "zlib1g-dev": SYSTEM}
# Licences whose files are not in the form that names them.
NAMED = {"libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1", "libedit-dev": "BSD-3-Clause",
         "libbsd0": "BSD-3-Clause and others", "libmd0": "BSD-3-Clause and others",
         "libtinfo6": "X11-distribute-modifications-variant"}
# What Debian calls the licences that SPDX calls so.
SPDX = {"Boost": "BSL-1.0", "Expat": "MIT", "BSD-3-clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause",
        "Apache-2.0": "Apache-2.0", "CC0-1.0": "CC0-1.0", "MIT": "MIT", "BSD-3-Clause": "BSD-3-Clause",
        "Expat with embedded exception": "LicenseRef-fmt-exception"}


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def source_of(package):
    """The name and the version of the source that the package was built from."""
    return output_of("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\n", package).split("\n")[0].split()


def copyright_of(package):
    return pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(encoding="utf-8")


def licence_of(package):
    """That of all files of the source but those with one of their own, such as Debian's rules and tests."""
    if package in NAMED:
        return NAMED[package]
    found = re.search(r"^Files: \*\n(?:.*\n)*?License: (.*)$", copyright_of(package), re.MULTILINE)
    if not found:
        raise SystemExit(f"third_party.py: the copyright file of {package} does not name its licence")
    return SPDX.get(found[1], found[1])


def components():
    for package, how in sorted(LIBRARIES.items()):
        name, version = source_of(package)
        yield {"package": package, "name": name, "version": version, "licence": licence_of(package), "how": how}


def bill_of(version, libraries):
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    product = {"type": "application", "bom-ref": "bitsieve", "name": "bitsieve", "version": version}
    parts = [{"type": "library", "bom-ref": each["name"], "name": each["name"], "version": each["version"],
              "licenses": [{"license": {"name": each["licence"]}}],
              "purl": f"pkg:deb/debian/{each['name']}@{each['version']}?arch=source",
              "properties": [{"name": "bitsieve:linkage", "value": each["how"]}]} for each in libraries]
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([product, parts]))
    return {"bomFormat": "CycloneDX", "specVersion": "1.4", "serialNumber": f"urn:uuid:{identity}", "version": 1,
            "metadata": {"timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": product},
            "components": parts,
            "dependencies": [{"ref": "bitsieve", "dependsOn": [each["name"] for each in libraries]}]}


def page_of(version, libraries):
    lines = [f"# Software of others in Bitsieve {version}", "",
             "The versions are those of Debian 12's packages; the complete texts follow, as Debian has them.", "",
             "| library | version | licence | where |", "|---|---|---|---|"]
    lines += [f"| {each['name']} | {each['version']} | {each['licence']} | {each['how']} |" for each in libraries]
    for each in libraries:
        lines += ["", f"## {each['name']}", "", "````", copyright_of(each["package"]).strip(), "````"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--version", "--bill", "--page"):
        parser.add_argument(flag, required=True)
    arguments = parser.parse_args()
    packages = pathlib.Path(__file__).parents[1] / "scripts/packages"
    unknown = set(output_of(packages, "--list", "libraries").split()) - set(LIBRARIES)
    if unknown:
        raise SystemExit(f"third_party.py: LIBRARIES lacks {', '.join(sorted(unknown))} of scripts/packages")
    libraries = list(components())
    pathlib.Path(arguments.bill).write_text(json.dumps(bill_of(arguments.version, libraries), indent=2) + "\n",
                                            encoding="utf-8")
    pathlib.Path(arguments.page).write_text(page_of(arguments.version, libraries), encoding="utf-8")


if __name__ == "__main__":
    main()
