"""The types of the JavaScript reader: bitsieve.d.mts declares what bitsieve.mjs exports, package.json names all files,
and TypeScript accepts and refuses the lines of a program as they say."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
READER = ROOT / "clients" / "js"
TYPES = READER / "bitsieve.d.mts"
PROGRAM = ROOT / "tests" / "lint" / "typed" / "uses_bitsieve.mts"
EXPORTS = """
const exported = await import(process.argv[1]);
const membersOf = (each) => Object.entries(Object.getOwnPropertyDescriptors(each)).filter(([name, { value }]) =>
  typeof value === 'function' && name !== 'constructor').map(([name]) => name);
console.log(JSON.stringify(Object.fromEntries(Object.entries(exported).map(([name, value]) =>
  [name, [...membersOf(value), ...(value === exported.FilterError ? ['name'] : membersOf(value.prototype))]]))));
"""


class JavaScriptTypes(unittest.TestCase):
    def test_what_is_exported_is_declared_and_nothing_else(self):
        done = subprocess.run(["node", "--input-type=module", "-e", EXPORTS, READER / "bitsieve.mjs"],
                              capture_output=True, text=True, timeout=60, check=True)
        exported = json.loads(done.stdout)
        declared = {name: re.findall(r"^  (?:static |get )*(\w+)\(", body, re.MULTILINE) for name, body in
                    re.findall(r"^export class (\w+)[^{]*\{\n(.*?)^\}", TYPES.read_text(), re.MULTILINE | re.DOTALL)}
        self.assertIn("mayContain", declared["Filter"])
        self.assertEqual({name: sorted(members) for name, members in declared.items()},
                         {name: sorted(members) for name, members in exported.items()})

    def test_the_package_has_all_files(self):
        package = json.loads((READER / "package.json").read_text())
        files = sorted(path.name for path in READER.iterdir() if path.is_file() and path.name != "package.json")
        self.assertEqual(package["files"], files)
        self.assertEqual(set(package["exports"]["."].values()), {f"./{name}" for name in files if "bitsieve" in name})

    @unittest.skipUnless(shutil.which("tsc"), "there is no tsc: apt-get install node-typescript")
    def test_typescript_reads_them(self):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)
            shutil.copy(PROGRAM, home)
            shutil.copytree(READER, home, dirs_exist_ok=True)
            shutil.copytree(READER, home / "node_modules" / "bitsieve")
            done = subprocess.run(["tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "node16",
                                   PROGRAM.name], cwd=home, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((done.stdout, done.returncode), ("", 0))


if __name__ == "__main__":
    unittest.main()
