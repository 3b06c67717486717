"""The rules of the house that a machine can check, each a function from the sources to complaints.

  house_rules.py RULE      runs one (see RULES at the end); exit status 1 and one line a complaint if it is broken
"""
import collections
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from layers import includes, layer_complaints

ROOT = Path(__file__).resolve().parents[2]
MAX_COLUMNS = 120
MAX_SUBJECT_COLUMNS = 72  # of commits after this one
LAST_UNCHECKED_COMMIT = "818abb54"
MAX_SUBJECTLESS_COMMENTS = 0  # falls, never rises
MAX_LINES = 500  # the style says "about 400"; beyond this a file surely has two subjects

# What names the version beside CMakeLists.txt.
VERSIONED_PAGES = ("clients/js/package.json", "clients/python/pyproject.toml", "docker/Dockerfile",
                   "docker/cluster.yaml", "docker/kubernetes/kustomization.yaml", "docker/sidecar.yaml",
                   "docs/upgrading.md")

# Of the standard library and of libraries that are large: without a suffix, or named here.
OUTSIDE_HEADER = re.compile(r"^#include <([a-z_]+|(?:asio|nlohmann|tl|CLI)/[\w/]+\.hpp|spdlog/[\w/]+\.h|httplib\.h)>",
                            re.MULTILINE)

# The two forms in which functions report errors.
RESULT_HEADER = "core/base/result.h"

# What has each line of the log that is for people to act on.
TROUBLE_PAGE = "docs/operations/troubleshoot.md"

# What describes each thread by its name, in a table and in a picture.
THREADS_PAGE = "docs/architecture.md"
THREADS_PICTURE = "docs/pictures/threads.svg"

# Declared where it is needed, defined where the families are, which core/filter does not know.
DEFINED_ELSEWHERE = {"FilterTypes"}
DECLARED_CLASS = re.compile(r"^ *(?:class|struct)(?: \w+\([^)]*\))? (\w+)(?: final)?(?: :[^;]*)? \{", re.M)
# At the beginning of a line, so of a namespace: a type, a name, arguments.
TYPE = r"^(?!using |return |template|namespace|static|inline |constexpr |extern|#|//)[\w\[:<][\w\[\]:<>,&* ]*?[ &*]"
DECLARED_FUNCTION = re.compile(TYPE + r"(\w+)\([^;{}]*\)[^;{}]*;", re.M)
DEFINED_FUNCTION = re.compile(TYPE.replace("[ &*]", "") + r"((?:\w+::)*~?\w+)\([^;{}]*\)[^;{}]*\{", re.M)
# Of tests: a function with its parameters, a type.
TEST_FUNCTION = re.compile(TYPE + r"(\w+)\(([^;{}]*)\)(?: const)? \{", re.M)
TEST_TYPE = re.compile(r"^(?:class|struct|enum class) (\w+)[^;]*? \{", re.M)

# Of files that programs made.
DATA_FOLDERS = ("tests/fuzz/corpus/", "tests/golden/")

# Folders whose headers tests include, and the headers that none includes so far: this list loses lines, and gains none.
TESTED_FOLDERS = ("core/", "protocol/", "commands/", "config/", "server/", "cli/", "clients/", "module/")
UNTESTED_HEADERS = "tests/lint/untested_headers.txt"

# Words of unfinished work, and of places outside of this repository. Written so that they do not find themselves.
BANNED = re.compile(r"\bT[O]DO\b|\bF[I]XME\b|\bX[X]X\b|/w[o]rk/|\b[Ii]ssue #?\d")


def tracked_files(root=ROOT):
    """Paths that git knows; without git, all but what is built."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True)
    if listed.returncode == 0:
        paths = [path for path in listed.stdout.split("\0") if path]
    else:
        skipped = {"build", "data", "node_modules", "__pycache__", ".git"}
        paths = [str(path.relative_to(root)) for path in root.rglob("*")
                 if path.is_file() and not skipped & set(path.relative_to(root).parts)]
    return sorted(path for path in paths if (root / path).is_file())


def read_sources(suffixes):
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in tracked_files() if path.endswith(suffixes)}


def text_complaints(path, text):
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield f"{path}:{number}: {len(line)} columns, {MAX_COLUMNS} at most"
        if line != line.rstrip() or "\t" in line:
            yield f"{path}:{number}: a tab, or blanks at the end"
    if text and not text.endswith("\n"):
        yield f"{path}: the last line does not end"
    if len(lines) > MAX_LINES and path.endswith((".h", ".cc", ".py")):
        yield f"{path}: {len(lines)} lines, {MAX_LINES} at most: it has two subjects"


def source_complaints(path, text):
    code = re.sub(r"//[^\n]*", "", text)
    if path.endswith(".h") and not code.lstrip().startswith("#pragma once"):
        yield f"{path}: #pragma once must come before all other code"
    if path.endswith(".h") and not text.startswith("// " + Path(path).name + ": "):
        yield f'{path}: must begin by saying what it is for: "// {Path(path).name}: ..."'
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"^\s*using\s+namespace\s+std\s*;", line):
            yield f"{path}:{number}: using namespace std"
        if "tl::expected<" in line and path != RESULT_HEADER:
            yield f"{path}:{number}: a function returns a core::Result or a core::Outcome ({RESULT_HEADER})"


def subjectless_comments(path, text):
    """Comments whose first word leaves their subject to be guessed."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"\s*//\s*(.*)", line)
        if found and not inside and re.match(r"(Of|As|That|What|Whose|Who)\b", found[1]):
            yield f"{path}:{number}: {found[0].strip()}"
        inside = found is not None


def comment_complaints(sources, limit):
    found = [comment for path, text in sources.items() for comment in subjectless_comments(path, text)]
    if len(found) > limit:
        yield "\n".join([f"{len(found)} comments begin without a subject, {limit} at most. A comment is a sentence "
                         'with a subject, or begins with "Returns":', *found])
    elif len(found) < limit:
        yield f"{len(found)} comments begin without a subject: MAX_SUBJECTLESS_COMMENTS can fall to that"


def commit_complaints(subjects):
    for subject in subjects:
        if len(subject) > MAX_SUBJECT_COLUMNS:
            yield f'commit "{subject}": {len(subject)} columns, {MAX_SUBJECT_COLUMNS} at most'
        if not re.match(r"[A-Z`]|[a-z]+: \S", subject) or subject.endswith("."):
            yield f'commit "{subject}": begins with a capital letter and ends without a period'


def word_complaints(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = BANNED.search(line)
        if found:
            yield f'{path}:{number}: "{found[0]}" has no place here'


def dead_file_complaints(paths, read):
    """Sources that no CMakeLists.txt names, headers that no file includes."""
    lists = {os.path.dirname(path): read(path) for path in paths if os.path.basename(path) == "CMakeLists.txt"}
    included = {target for path in paths if path.endswith((".h", ".cc")) for _, _, target in includes(read(path))}
    for path in paths:
        if path.endswith(".cc") and not any(names_source(text, folder, path) for folder, text in lists.items()):
            yield f"{path}: in no CMake target"
        if path.endswith(".h") and path not in included:
            yield f"{path}: nobody includes it"


def untested_header_complaints(paths, read, exceptions):
    """Headers that no test includes by itself, so that a test of each part stands where it is looked for."""
    tested = {target for path in paths if path.startswith("tests/") and path.endswith((".h", ".cc", ".c"))
              for _, _, target in includes(read(path))}
    untested = {path for path in paths if path.endswith(".h") and path.startswith(TESTED_FOLDERS)} - tested
    for path in sorted(untested - set(exceptions)):
        yield f"{path}: no test includes it"
    for path in sorted(set(exceptions) - untested):
        yield f"{UNTESTED_HEADERS}: {path} is tested, or no longer there: the line can go"
    if exceptions != sorted(set(exceptions)):
        yield f"{UNTESTED_HEADERS}: its lines are not sorted, or a line is there twice"


def shared_name_complaints(cmake_text, read):
    """Functions and types that two tests of a target define: a build that compiles both as one file is broken."""
    for target, arguments in re.findall(r"^bitsieve_test\((\w+)([^)]*)\)", cmake_text, re.M):
        definers = collections.defaultdict(list)
        for path in re.findall(r"(?<![\w./}])[\w./]+\.cc", arguments):
            text = read(path)
            functions = {(name, re.sub(r"\w+(?=,|$)", "", parameters))
                         for name, parameters in TEST_FUNCTION.findall(text)}
            for definition in functions | {(name, None) for name in TEST_TYPE.findall(text)}:
                definers[definition].append(path)
        for (name, _), paths in definers.items():
            if len(paths) > 1:
                yield f"{target}: {name} is defined in {' and in '.join(paths)}"


def names_source(cmake_text, folder, path):
    """By its path from the list's folder or from the root; as an argument of a function also without its suffix."""
    names = ["${PROJECT_SOURCE_DIR}/" + path]
    if not folder or path.startswith(folder + "/"):
        relative = os.path.relpath(path, folder or ".")
        names += [relative, relative.removesuffix(".cc")]
    return any(re.search(r"(?<![\w./-])" + re.escape(name) + r"(?![\w./-])", cmake_text) for name in names)


def alone_complaints(compiler, flags, files, jobs):
    """Compiles each file by itself, so that nothing has to be included before it."""
    waiting, running = list(files), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            path = waiting.pop()
            command = [compiler, *flags, "-fsyntax-only", "-x", "c++", "-"]
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            process.stdin.write(f'#include "{path}"\n')
            process.stdin.close()
            process.stdin = None
            running[path] = process
        path, process = next(iter(running.items()))
        errors = process.communicate()[1]
        del running[path]
        if process.returncode != 0:
            yield f"{path}: does not compile alone:\n{errors}"


def version_complaints(cmake_text, pages):
    version = re.search(r"project\(bitsieve VERSION ([\d.]+)", cmake_text)[1]
    for path, text in pages.items():
        if not re.search(r"(?<![\d.])" + re.escape(version) + r"(?![\d.])", text):
            yield f"{path}: does not name version {version}, which CMakeLists.txt has"


def log_line_complaints(path, text, page):
    """Lines of the log at warning and above that the page does not have, by their longest part without a value."""
    for found in re.finditer(r'spdlog::(?:warn|error|critical)\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', text):
        line = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', found[1]))
        part = max(line.split("{}"), key=len)
        if len(part) > len(": ") and part not in page:
            number = text.count("\n", 0, found.start()) + 1
            yield f'{path}:{number}: {TROUBLE_PAGE} does not have the line "{line}"'


def thread_name_complaints(sources, page, picture):
    """Threads whose names are in the code and not in the page and its picture, or the other way round."""
    named = {name for text in sources.values() for name in re.findall(r'NameThread\("([\w-]+)"\)', text)}
    section = re.search(r"^## Threads\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
    described = {
        THREADS_PAGE: set(re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)),
        THREADS_PICTURE: set(re.findall(r'font-weight="bold">([a-z-]+)<', picture)) - {"bitsieve"},
    }
    for path, names in described.items():
        for name in sorted(named - names):
            yield f'{path}: does not have the thread "{name}"'
        for name in sorted(names - named):
            yield f'{path}: has a thread "{name}", which no code names'


def thread_local_complaints(path, text):
    """Variables whose destructors the C library has to register: it ends the process if memory is refused for that."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if not re.search(r"^\s*(?:\w+ )*thread_local ", line) or "constinit" in line:
            continue
        following = " ".join(lines[number:number + 2])
        if not re.search(r"\bthread_local (?:const )?(?:bool|int|size_t|u?int\d+_t)\b", line) and \
                "is_trivially_destructible_v" not in following:
            yield f"{path}:{number}: thread_local without a static_assert that its type is_trivially_destructible_v"


def home_complaints(sources):
    """What a header declares is defined in its folder or below, or includes do not show which part needs which."""
    classes, functions = collections.defaultdict(set), collections.defaultdict(set)
    for path, text in sources.items():
        if path.endswith(".h"):
            folder = path.rpartition("/")[0]
            for name in DECLARED_CLASS.findall(text):
                classes[name].add(folder)
            for name in DECLARED_FUNCTION.findall(text):
                functions[name].add(folder)
    defined = collections.defaultdict(set)
    for path, text in sources.items():
        if path.endswith(".cc"):
            for name in DEFINED_FUNCTION.findall(text):
                outermost, is_member, _ = name.partition("::")
                homes = classes.get(outermost) if is_member else None
                if not is_member:
                    defined[name].add(path)
                elif homes and not any(path.startswith(home + "/") for home in homes):
                    yield f"{path}: {name} is a function of a class in {', '.join(sorted(homes))}"
    for name, homes in functions.items():
        paths = defined.get(name, set()) if name not in DEFINED_ELSEWHERE else set()
        if paths and not any(path.startswith(home + "/") for path in paths for home in homes):
            yield f"{', '.join(sorted(paths))}: {name} is declared in {', '.join(sorted(homes))}"


def check_homes():
    sources = read_sources((".h", ".cc"))
    yield from home_complaints({path: text for path, text in sources.items()
                                if not path.startswith(("tests/", "examples/", "clients/"))})


def check_thread_locals():
    for path, text in read_sources((".h", ".cc")).items():
        if path.startswith(("core/", "protocol/", "commands/", "config/", "server/", "module/")):
            yield from thread_local_complaints(path, text)


def check_log_lines():
    page = (ROOT / TROUBLE_PAGE).read_text(encoding="utf-8")
    for path, text in read_sources((".cc",)).items():
        if path.startswith("server/"):
            yield from log_line_complaints(path, text, page)


def check_thread_names():
    page, picture = ((ROOT / path).read_text(encoding="utf-8") for path in (THREADS_PAGE, THREADS_PICTURE))
    # The threads of clients/ are of other programs.
    sources = {path: text for path, text in read_sources((".h", ".cc")).items()
               if not path.startswith(("tests/", "clients/"))}
    yield from thread_name_complaints(sources, page, picture)


def check_layers():
    for path, text in read_sources((".h", ".cc")).items():
        yield from layer_complaints(path, text, lambda target: (ROOT / target).is_file())


def check_text():
    suffixes = (".h", ".cc", ".py", ".js", ".json", ".yaml", "CMakeLists.txt")
    skipped = ("package-lock.json", "config/bitsieve.example.json", "docker/grafana/bitsieve.json",
               "tests/integration/filter_types.json")
    for path in tracked_files():
        if path.startswith(DATA_FOLDERS) or path.endswith(skipped):
            continue
        if path.endswith(suffixes) or path.startswith(("docker/", "scripts/")):
            yield from text_complaints(path, (ROOT / path).read_text(encoding="utf-8"))


def check_sources():
    for path, text in read_sources((".h", ".cc")).items():
        yield from source_complaints(path, text)


def check_commits():
    """Nothing to say where the history is not there: in an archive, or a clone without its past."""
    listed = subprocess.run(["git", "log", "--no-merges", "--format=%s", f"{LAST_UNCHECKED_COMMIT}..HEAD"], cwd=ROOT,
                            capture_output=True, text=True)
    yield from commit_complaints(listed.stdout.splitlines() if listed.returncode == 0 else [])


def check_comments():
    yield from comment_complaints(read_sources((".h", ".cc")), MAX_SUBJECTLESS_COMMENTS)


def check_words():
    for path in tracked_files():
        if not path.startswith(DATA_FOLDERS) and not path.endswith("package-lock.json"):
            yield from word_complaints(path, (ROOT / path).read_text(encoding="utf-8", errors="replace"))


def check_dead_files():
    yield from dead_file_complaints(tracked_files(), lambda path: (ROOT / path).read_text(encoding="utf-8"))


def check_untested_headers():
    exceptions = (ROOT / UNTESTED_HEADERS).read_text(encoding="utf-8").split()
    yield from untested_header_complaints(tracked_files(), lambda path: (ROOT / path).read_text(encoding="utf-8"),
                                          exceptions)


def check_shared_names():
    for path in tracked_files():
        if path.startswith("tests/") and path.endswith("CMakeLists.txt"):
            folder = (ROOT / path).parent
            yield from shared_name_complaints((ROOT / path).read_text(encoding="utf-8"),
                                              lambda name, folder=folder: (folder / name).read_text(encoding="utf-8"))


def check_version():
    pages = {path: (ROOT / path).read_text(encoding="utf-8") for path in VERSIONED_PAGES}
    yield from version_complaints((ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), pages)


def is_compiled_first(header, sources):
    """Whether a source has it as its first include."""
    source = header.removesuffix(".h") + ".cc"
    return source in sources and next(includes(sources[source]))[2] == header


def check_alone():
    """Sources are built in batches, where one may live on what another includes. Headers from outside take most of the
    time, so they are precompiled: that nothing of the house is missing is what this shows. Kernels are left out, since
    each needs the flags of its instruction set."""
    compiler = ["clang++-16", "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Wthread-safety", "-Werror", "-I.",
                '-DBITSIEVE_VERSION="0"', "-DASIO_STANDALONE", "-DSPDLOG_COMPILED_LIB", "-DSPDLOG_FMT_EXTERNAL"]
    all_sources = read_sources((".cc", ".h"))
    sources = {path: text for path, text in all_sources.items() if path.endswith(".cc") and "_kernel_" not in path and
               not path.startswith(("tests/", "clients/", "examples/"))}
    headers = [path for path in all_sources if path.endswith(".h") and not is_compiled_first(path, sources)]
    outside = {found for text in all_sources.values() for found in OUTSIDE_HEADER.findall(text)}
    with tempfile.TemporaryDirectory() as folder:
        text, precompiled = Path(folder, "outside.h"), Path(folder, "outside.pch")
        text.write_text("".join(f"#include <{header}>\n" for header in sorted(outside)), encoding="utf-8")
        subprocess.run([*compiler, "-fpch-instantiate-templates", "-x", "c++-header", text, "-o", precompiled],
                       cwd=ROOT, check=True)
        yield from alone_complaints(compiler[0], [*compiler[1:], "-include-pch", str(precompiled)],
                                    [*sources, *headers], os.cpu_count() or 1)


RULES = {
    "layers": check_layers,
    "homes": check_homes,
    "text": check_text,
    "sources": check_sources,
    "comments": check_comments,
    "commits": check_commits,
    "words": check_words,
    "dead_files": check_dead_files,
    "untested_headers": check_untested_headers,
    "shared_names": check_shared_names,
    "version": check_version,
    "log_lines": check_log_lines,
    "thread_locals": check_thread_locals,
    "thread_names": check_thread_names,
    "alone": check_alone,
}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in RULES:
        sys.exit(f"usage: house_rules.py {'|'.join(RULES)}")
    complaints = list(RULES[sys.argv[1]]())
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
